# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The preflight of a static pod's change: what would keep the component from coming up, found before anything is written.

Each finding names the remedy. A repair must stay possible: what is wrong already and is not touched by the change stops
it only while the component is healthy.
"""

from __future__ import annotations

import os
import typing as t

from ..._engine.probes import run_probe
from ..._engine.systemd_unit import unknown_health_reason
from ..._plan.common.errors import KubeadmError, Refusal
from ..._plan.static_pod import plan as static_pod
from ..._plan.static_pod import probe_targets
from ..._plan.static_pod.pod_fields import Probe
from ..etcd import etcd_client, etcd_preflight
from ..transaction.file_versions import refuse_unsafe
from . import api_server_files, certificates, cluster_preflight, pod_start, static_pods
from .certificates import Finding
from .component_files import (
    ComponentFiles,
    PreflightContext,
    is_healthy,
    is_running,
    refuse_unreachable_files,
    removed_files,
    retry_until_ready,
    warnings_of_single_files,
)
from .static_pods import API_SERVER, ETCD

_ISSUER = "service-account-issuer"
_OVERRIDES = "etcd-servers-overrides"
_STORE_FLAGS = ("etcd-servers", "etcd-prefix", _OVERRIDES)


def check(pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext) -> tuple[str, ...]:
    """Check for what would keep a changed component from coming up. Writes nothing.

    Returns warnings. Raises Refusal, or KubeadmError for a node that is not fit for any change.
    """
    refuse_unsafe([pod.path, *(change.path for change in plan.files)])
    refuse_unreachable_files(plan)
    static_pods.refuse_unmatched(pod, node.host)
    if plan.after.shell:
        node.unverified.append(
            f"whether its flags allow this change: {plan.after.shell} starts it, so they are not known"
        )
    running = ComponentFiles.running(pod, node.host)
    refuse_closed_probes(pod.name, running, plan)
    cluster_preflight.refuse_slow_renewal(pod.name, running, plan)
    forced = _refuse_removed(pod, plan, node)
    require_kubelet_healthz(node)
    files = ComponentFiles.planned(plan)
    unstartable, start_warnings = pod_start.check(pod, plan, node)
    found = [
        *_certificate_findings(pod, plan, files, node),
        *certificates.root_findings(pod, files, ComponentFiles(plan.before), node.unverified),
        *unstartable,
        *_full_etcd_findings(pod),
    ]
    warnings = [
        *forced,
        *start_warnings,
        *warnings_of_single_files(plan),
        *_refuse_findings(pod, found, node),
        *_refuse_unforced(pod, plan, node),
        *cluster_preflight.check_cluster(pod, plan, node),
    ]
    if pod.name == API_SERVER:
        warnings += [
            *_check_etcd_of_api_server(pod, files, node),
            *_refuse_other_store(pod, plan, node),
            *_refuse_lost_issuer(pod, plan, node),
        ]
    if pod.name == ETCD:
        warnings += etcd_preflight.check(pod, plan, node)
    return tuple(warnings)


def _refuse_removed(pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext) -> list[str]:
    """Refuse to stop what would not start again, unless it is forced. What is down already is not checked."""
    process = static_pods.running_process(pod, node.host)
    found = removed_files(pod.name, plan, process.pid, node.host) if process else []
    if found and not node.force:
        raise Refusal(f"refused before anything was written: {' '.join(found)} force: true changes it anyway.")
    return [f"forced: {finding}" for finding in found]


def refuse_closed_probes(name: str, running: ComponentFiles, plan: static_pod.StaticPodPlan) -> None:
    """Refuse probes that the authentication-config file would block; the plan refuses those that flags block. Raises Refusal."""
    if name != API_SERVER:
        return
    probes = probe_targets.own_probes(name, plan.before)
    former, found = (_closed_probe_paths(files, probes) for files in (running, ComponentFiles.planned(plan)))
    if found != former:
        probe_targets.refuse_closed_paths_of_file(found)


def _closed_probe_paths(files: ComponentFiles, probes: t.Sequence[Probe]) -> list[str]:
    """The paths of the probes that the file does not allow; the rehearsal refuses a file that cannot be read."""
    path = files.flag("authentication-config")
    try:
        return probe_targets.closed_paths(files.read(path), probes) if path else []
    except KubeadmError:
        return []


def require_kubelet_healthz(node: PreflightContext) -> None:
    """Refuse a kubelet that runs and is not healthy: it would start no new pod. Raises Refusal."""
    probe = node.kubelet.healthz
    if node.kubelet.problem:  # it is reported, and repaired before the change
        return
    ok, error = retry_until_ready(lambda: run_probe(probe), lambda result: result[0], node) if probe else (True, "")
    if not ok:
        raise Refusal(
            f"the kubelet on {os.uname().nodename} does not report that it is healthy ({error}), so it would not start the changed"
            " component. Nothing was changed. Check journalctl -u kubelet; systemctl restart kubelet restarts it."
        )
    mismatch = unknown_health_reason(node.host, node.kubelet.pid, probe)
    if mismatch:
        node.unverified.append(f"whether its kubelet is healthy: {mismatch}")


# ---- certificates ------------------------------------------------------------------------------------------------------


def _certificate_findings(
    pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, files: ComponentFiles, node: PreflightContext
) -> list[Finding]:
    probes = [probe["host"] for probe in plan.after.probes() if probe["kind"] == "http"]
    address = files.flag("advertise-address") or next(iter(probes), None)
    former = ComponentFiles(plan.before)
    return certificates.findings(
        pod.name, files, former, address=address, kubeconfig=node.kubeconfig, unverified=node.unverified
    )


def _refuse_findings(pod: static_pods.StaticPod, found: t.Sequence[Finding], node: PreflightContext) -> list[str]:
    """Refuse what the change introduces, and anything while the component is healthy; warn of the rest."""
    if any(finding.is_new for finding in found) or (found and is_healthy(pod, node)):
        raise Refusal(f"refused before anything was written: {' '.join(finding.message for finding in found)}")
    return [f"{finding.message} {pod.name} is not healthy, so the change is tried anyway." for finding in found]


def _refuse_unforced(pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext) -> list[str]:
    """Refuse what would leave an API server healthy and its clients locked out, unless it is forced."""
    found = api_server_files.findings(pod, plan, node.host)
    if found and not node.force:
        # Forcing what is unknown would switch off the checks of what is known, too.
        is_unread = any(map(api_server_files.is_unread, found))
        advice = "Repair what could not be read, and run again." if is_unread else "force: true changes it anyway."
        raise Refusal(f"refused before anything was written on {os.uname().nodename}: {' '.join(found)} {advice}")
    return [f"forced: {finding}" for finding in found]


# ---- the API server's etcd -------------------------------------------------------------------------------------------


def _check_etcd_of_api_server(pod: static_pods.StaticPod, files: ComponentFiles, node: PreflightContext) -> list[str]:
    """An API server becomes ready only with an etcd that responds; one address of several is enough."""
    addresses = retry_until_ready(lambda: _read_etcd_health(files), _may_become_ready, node)
    if not addresses:
        node.unverified.append("whether its etcd answers: --etcd-servers has no address with http or https")
        return []
    unhealthy = "; ".join(each.message for each in addresses if not each.ok)
    if _may_become_ready(addresses) and not any(each.ok for each in addresses):
        node.unverified.append(f"whether its etcd answers: {unhealthy}")
        return []
    if _may_become_ready(addresses):
        return [f"of the etcd that {pod.name} uses, {unhealthy}"] if unhealthy else []
    problem = f"no etcd that --etcd-servers names is healthy for {os.uname().nodename} ({unhealthy})"
    if is_running(pod, node):
        raise Refusal(
            f"refused before anything was written: {problem}, so a new {pod.name} would not become ready. Repair etcd, or name"
            " the right addresses and certificates (etcd-servers, etcd-cafile, etcd-certfile, etcd-keyfile)."
        )
    return [f"{problem}; {pod.name} does not run, so the change is tried anyway."]


def _refuse_other_store(
    pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext
) -> list[str]:
    """Refuse a running API server another store, unless it holds a cluster too. With an empty one it is healthy, the kubelets see no pods of theirs, and end
    every container of every node, which no rollback brings back (1.37.2, etcd-prefix)."""
    before, after = ComponentFiles(plan.before), ComponentFiles.planned(plan)
    changed = [flag for flag in _STORE_FLAGS if before.flags(flag) != after.flags(flag)]
    if not changed or not is_running(pod, node):
        return []
    elsewhere = [each for each in after.flags(_OVERRIDES) if each not in before.flags(_OVERRIDES)]
    try:
        is_there = etcd_client.holds_cluster(after)
    except KubeadmError as exc:
        node.unverified.append(f"whether its etcd holds the cluster with another {' and '.join(changed)}: {exc}")
        is_there = True
    if not is_there:
        raise Refusal(
            f"refused before anything was written: with another {' and '.join(changed)} {pod.name} finds no cluster in etcd, so every kubelet would end"
            " all its pods. Copy the keys of the cluster there before, while all API servers are stopped."
        )
    lost = [each for each in elsewhere if not each.startswith("/events#")]
    if lost and not node.force:
        raise Refusal(
            f"refused before anything was written: {_OVERRIDES} {', '.join(lost)} begins without the objects that there are of it. Copy their keys before,"
            " while all API servers are stopped; force: true changes it anyway."
        )
    return [f"forced: {_OVERRIDES} {each} begins without the objects that there are of it" for each in lost]


def _refuse_lost_issuer(
    pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext
) -> list[str]:
    """Refuse a running API server that does not know the issuer of the tokens that pods have, unless it is forced: all clients in pods would get 401."""
    before, after = (ComponentFiles(each).flags(_ISSUER) for each in (plan.before, plan.after))
    if not before or before[0] in after or not is_running(pod, node):
        return []
    problem = f"invalid {_ISSUER} {', '.join(after) or 'of none'}: must have {before[0]}, or every token that {before[0]} has issued answers 401."
    if node.force:
        return [f"forced: {problem}"]
    raise Refusal(
        f"refused before anything was written: {problem} Give the flag twice, the new issuer first, and remove the former one when its tokens have expired;"
        " force: true changes it anyway."
    )


def _full_etcd_findings(pod: static_pods.StaticPod) -> list[Finding]:
    """With a full etcd an API server does not become ready, and no controller manager or scheduler leads: nothing can be written."""
    problem = "" if pod.name == ETCD else etcd_preflight.full_etcd_problem(os.path.dirname(pod.path))
    if not problem:
        return []
    advice = "Compact and defragment it, then etcdctl alarm disarm."
    return [
        Finding(f"etcd takes no writes ({problem}), so a new {pod.name} would not become ready. {advice}", is_new=False)
    ]


def _read_etcd_health(files: ComponentFiles) -> list[etcd_client.Health]:
    try:
        return etcd_client.read_health_for_api_server(files)
    except KubeadmError as exc:
        return [etcd_client.Health(False, str(exc))]


def _may_become_ready(addresses: t.Sequence[etcd_client.Health]) -> bool:
    """An address whose health is unknown may be healthy."""
    return not addresses or any(each.ok is not False for each in addresses)

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The preflight of a static pod's change: what would keep the component from coming up, found before anything is written.

Each finding names the way out. A repair must stay possible: what is wrong already and is not touched by the change stops
it only while there is something to lose, which is a component that is healthy.
"""

from __future__ import annotations

import os
import typing as t

from ..._engine.probes import run_probe
from ..._engine.systemd_unit import health_doubt
from ..._plan.common.errors import KubeadmError, Refusal
from ..._plan.static_pod import leader_election, probe_targets
from ..._plan.static_pod import plan as static_pod
from ..._plan.static_pod.pod_fields import Probe
from ..etcd import etcd_client, etcd_preflight
from ..runtime.container_runtime import runtime_at
from ..transaction.file_versions import refuse_unsafe
from . import api_server_files, certificates, static_pods
from .certificates import Finding
from .component_files import (
    ComponentFiles,
    PreflightContext,
    is_healthy,
    patiently,
    refuse_unreachable_files,
    removed_files,
    runs,
    warnings_of_single_files,
)
from .static_pods import API_SERVER, ETCD


def check(pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext) -> tuple[str, ...]:
    """Look for what would keep a changed component from coming up. Writes nothing.

    Returns what the user should know. Raises Refusal, or KubeadmError for a node that is not fit for any change.
    """
    refuse_unsafe([pod.path, *(change.path for change in plan.files)])
    refuse_unreachable_files(plan)
    static_pods.refuse_unmatched(pod, node.host)
    running = ComponentFiles.running(pod, node.host)
    refuse_closed_probes(pod.name, running, plan)
    refuse_slow_renewal(pod.name, running, plan)
    forced = _removed_files(pod, plan, node)
    refuse_silent_kubelet(node)
    files = ComponentFiles.planned(plan)
    found = [*_certificates(pod, plan, files, node), *_image(pod, node)]
    warnings = [
        *forced,
        *warnings_of_single_files(plan),
        *_judge(pod, found, node),
        *_only_on_purpose(pod, plan, node),
    ]
    if pod.name == API_SERVER:
        warnings += _etcd_of_api_server(pod, files, node)
    if pod.name == ETCD:
        warnings += etcd_preflight.check(pod, plan, node)
    missing = runtime_at(node.kubelet.runtime, node.run).missing_program()
    if missing:
        needs = "the rehearsal of a component that is down, and an upgrade check, open its image"
        warnings.append(f"{os.uname().nodename}: {missing}; {needs}")
    return tuple(warnings)


def _removed_files(pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext) -> list[str]:
    """Refuse to stop what would not start again, unless it is forced. What is down already has nothing to lose."""
    process = static_pods.running_process(pod, node.host)
    found = removed_files(pod.name, plan, process.pid, node.host) if process else []
    if found and not node.force:
        raise Refusal(f"refused before anything was written: {' '.join(found)} force: true changes it anyway.")
    return [f"forced: {finding}" for finding in found]


def refuse_closed_probes(name: str, running: ComponentFiles, plan: static_pod.StaticPodPlan) -> None:
    """The same as the plan does with flags, for the file that decides about anonymous requests. Raises Refusal."""
    if name != API_SERVER:
        return
    probes = probe_targets.own_probes(name, plan.before)
    former, found = (_closed_probes(files, probes) for files in (running, ComponentFiles.planned(plan)))
    if found != former:
        probe_targets.refuse_closed_paths_of_file(found)


def _closed_probes(files: ComponentFiles, probes: t.Sequence[Probe]) -> list[str]:
    """The paths of the probes that the file does not let through; the rehearsal tells of one that cannot be read."""
    path = files.flag("authentication-config")
    try:
        return probe_targets.closed_paths(files.read(path), probes) if path else []
    except KubeadmError:
        return []


def refuse_slow_renewal(name: str, running: ComponentFiles, plan: static_pod.StaticPodPlan) -> None:
    """A limit on the requests of a leader that its lease does not survive. Raises Refusal."""
    if name not in leader_election.ELECTED:
        return
    former, found = map(_renewal, (running, ComponentFiles.planned(plan)))
    if found is not None and found != former:
        leader_election.refuse_slow(found)


def _renewal(files: ComponentFiles) -> leader_election.Renewal | None:
    """None for a file that cannot be read, of which the rehearsal tells."""
    path = files.flag("config")
    try:
        return leader_election.of_file(files.read(path), files.flag) if path else leader_election.of_flags(files.flag)
    except KubeadmError:
        return None


def refuse_silent_kubelet(node: PreflightContext) -> None:
    """A kubelet that runs and does nothing would start no new pod. Raises Refusal."""
    probe = node.kubelet.healthz
    if node.kubelet.problem:  # it is told, and repaired before the change
        return
    says_so, said = patiently(lambda: run_probe(probe), lambda answer: answer[0], node) if probe else (True, "")
    if not says_so:
        raise Refusal(
            f"the kubelet on {os.uname().nodename} does not report that it is healthy ({said}), so it would not start the changed"
            " component. Nothing was changed. Check journalctl -u kubelet; systemctl restart kubelet restarts it."
        )
    doubt = health_doubt(node.host, node.kubelet.pid, probe)
    if doubt:
        node.unverified.append(f"whether its kubelet is healthy: {doubt}")


# ---- certificates and image ------------------------------------------------------------------------------------------


def _certificates(
    pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, files: ComponentFiles, node: PreflightContext
) -> list[Finding]:
    probes = [probe["host"] for probe in plan.after.probes() if probe["kind"] == "http"]
    address = files.flag("advertise-address") or next(iter(probes), None)
    former = ComponentFiles(plan.before)
    return certificates.findings(
        pod.name, files, former, address=address, kubeconfig=node.kubeconfig, unverified=node.unverified
    )


def _image(pod: static_pods.StaticPod, node: PreflightContext) -> list[Finding]:
    image = str(pod.manifest.container.get("image"))
    runtime = runtime_at(node.kubelet.runtime, node.run)
    present = runtime.has_image(image)
    if present is None:
        node.unverified.append(runtime.unverified_image(image))
    if present is not False:
        return []
    message = (
        f"the image {image} is not on {os.uname().nodename}, so {pod.name} could start only after a pull that may fail."
        f" Pull it first: crictl pull {image}, or kubeadm config images pull."
    )
    return [Finding(message, brought=False)]


def _judge(pod: static_pods.StaticPod, found: t.Sequence[Finding], node: PreflightContext) -> list[str]:
    """Refuse what the change brings, and whatever else while the component is healthy; the rest is worth a warning."""
    if any(finding.brought for finding in found) or (found and is_healthy(pod, node)):
        raise Refusal(f"refused before anything was written: {' '.join(finding.message for finding in found)}")
    return [f"{finding.message} {pod.name} is not healthy, so the change is tried anyway." for finding in found]


def _only_on_purpose(pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext) -> list[str]:
    """Refuse what would leave an API server healthy and the cluster locked out, unless it is forced."""
    found = api_server_files.findings(pod, plan, node.host)
    if found and not node.force:
        # To force what is not known would switch off the checks of what is known, too.
        is_unread = any(map(api_server_files.is_unread, found))
        advice = "Repair what could not be read, and run again." if is_unread else "force: true changes it anyway."
        raise Refusal(f"refused before anything was written on {os.uname().nodename}: {' '.join(found)} {advice}")
    return [f"forced: {finding}" for finding in found]


# ---- the API server's etcd -------------------------------------------------------------------------------------------


def _etcd_of_api_server(pod: static_pods.StaticPod, files: ComponentFiles, node: PreflightContext) -> list[str]:
    """An API server becomes ready only with an etcd that answers; one address of several is enough."""
    answers = patiently(lambda: _ask_etcd(files), _is_enough, node)
    if not answers:
        node.unverified.append("whether its etcd answers: --etcd-servers has no address with http or https")
        return []
    bad = "; ".join(answer.message for answer in answers if not answer.ok)
    if _is_enough(answers) and not any(answer.ok for answer in answers):
        node.unverified.append(f"whether its etcd answers: {bad}")
        return []
    if _is_enough(answers):
        return [f"of the etcd that {pod.name} uses, {bad}"] if bad else []
    problem = f"no etcd that --etcd-servers names is healthy for {os.uname().nodename} ({bad})"
    if runs(pod, node):
        raise Refusal(
            f"refused before anything was written: {problem}, so a new {pod.name} would not become ready. Repair etcd, or name"
            " the right addresses and certificates (etcd-servers, etcd-cafile, etcd-certfile, etcd-keyfile)."
        )
    return [f"{problem}; {pod.name} does not run, so the change is tried anyway."]


def _ask_etcd(files: ComponentFiles) -> list[etcd_client.Health]:
    try:
        return etcd_client.read_health_for_api_server(files)
    except KubeadmError as exc:
        return [etcd_client.Health(False, str(exc))]


def _is_enough(answers: t.Sequence[etcd_client.Health]) -> bool:
    """What cannot be asked for its health may be healthy."""
    return not answers or any(answer.ok is not False for answer in answers)

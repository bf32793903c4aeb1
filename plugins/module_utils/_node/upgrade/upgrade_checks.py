# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The checks of a node before an upgrade besides its components: each raises KubeadmError where it cannot be made."""

from __future__ import annotations

import dataclasses
import functools
import glob
import json
import os
import pwd
import typing as t

from ..._engine.files import open_to_read
from ..._plan.common.errors import KubeadmError
from ..._plan.common.verdict import Verdict
from ..._plan.kubeadm_config.cluster_configuration import ClusterConfiguration
from ..._plan.upgrade import addons, findings, kubelets, prerequisites, refusals
from ..._plan.upgrade.findings import KUBE_PROXY, Finding, NotChecked, UpgradeFindings
from ..._plan.upgrade.kubelets import IdRange
from ..kubelet.kubelet_units import KUBELET_NAME, KubeletUnit
from ..runtime.container_runtime import Runtime
from ..runtime.programs import Program
from ..transaction.state import Run
from .upgrade_manifests import CONFIG, Kubeadm, failure_reason
from .upgrade_programs import GateTrial, NewPrograms, rehearse_all, start_program

_IDS_PER_POD = ("userNamespaces", "idsPerPod")
_NO_PROGRAM = 127


@dataclasses.dataclass(frozen=True)
class Node:
    """A node that is checked."""

    unit: KubeletUnit
    runtime: Runtime
    target: str
    run: Run


# ---- what is read --------------------------------------------------------------------------------------------------------


def container_runtime(node: Node) -> t.Iterator[Finding]:
    """A container runtime that does not report its cgroup driver."""
    name = node.runtime.name
    status, output, error = node.run([name, "--version"]) if name == "containerd" else (0, "", "")
    yield from prerequisites.runtime_findings(node.target, name, output if status == 0 else error)


def kubelet_manifests(node: Node) -> t.Iterator[Finding]:
    """Static pods that the new kubelet may refuse."""
    url = node.unit.layout.settings.field(("staticPodURL",))
    manifests = [*node.unit.manifests(), *([f"staticPodURL {url}"] if url else [])]
    yield from prerequisites.manifest_findings(node.target, node.unit.state.version, manifests)


def user_namespaces(node: Node) -> t.Iterator[Finding]:
    """ID ranges with which the new kubelet does not start."""
    paths = sorted(glob.glob(os.path.join(glob.escape(node.unit.root), "pods", "*", "userns")))
    pods = {path: ids for path in paths for ids in _read_ids(path)}
    ids_per_pod = node.unit.layout.settings.field(_IDS_PER_POD) or kubelets.IDS_PER_POD
    yield from kubelets.user_namespace_findings(_configured_ids(node.run), int(ids_per_pod), pods)


def _configured_ids(run: Run) -> IdRange | None:
    """The range of the user kubelet, read as a kubelet reads it; None where that has a default: without the user, or without getsubids."""
    try:
        pwd.getpwnam(KUBELET_NAME)
    except KeyError:
        return None
    results = [run(["getsubids", *option, KUBELET_NAME]) for option in ((), ("-g",))]
    if results[0][0] == _NO_PROGRAM:
        return None
    printed = [output.strip() or error.strip() for _status, output, error in results]
    fields = printed[0].split()
    if any(status for status, *_printed in results) or printed[0] != printed[1] or len(fields) != 4:
        raise NotChecked(
            f"getsubids {KUBELET_NAME} and getsubids -g {KUBELET_NAME} must print one range, which is the same: {' | '.join(printed)}"
        )
    return IdRange(int(fields[2]), int(fields[3]))


def _read_ids(path: str) -> list[IdRange]:
    """The range that an earlier kubelet allocated to a pod, if any."""
    try:
        with open_to_read(path) as stream:
            text = stream.read()
        mappings = json.loads(text)["uidMappings"] if text else []
        return [IdRange(int(each["hostId"]), int(each["length"])) for each in mappings]
    except FileNotFoundError:  # the pod ended meanwhile
        return []
    except (OSError, ValueError, LookupError, TypeError) as exc:
        raise NotChecked(f"{path} does not hold what a kubelet writes there ({exc})") from exc


OF_NODES: dict[str, t.Callable[[Node], t.Iterator[Finding]]] = {
    findings.RUNTIME: container_runtime,
    findings.KUBELET_MANIFESTS: kubelet_manifests,
    findings.USER_NAMESPACES: user_namespaces,
}


def check_certificates(kubeadm: Kubeadm, found: UpgradeFindings) -> None:
    """Add the certificates of a control plane that end too early, as the new kubeadm reads them."""
    found.check(findings.CERTIFICATES, _certificate_findings(kubeadm))


def _certificate_findings(kubeadm: Kubeadm) -> t.Iterator[Finding]:
    status, output = kubeadm(["certs", "check-expiration", f"--config={CONFIG}", "--output=json"])
    try:
        if status == 0:
            expiration, _end = json.JSONDecoder().raw_decode(output)
            yield from prerequisites.certificate_findings(expiration)
            return
    except (ValueError, LookupError, TypeError):
        pass
    raise NotChecked(f"{kubeadm.program} certs check-expiration: {failure_reason(output)}")


# ---- kube-proxy ----------------------------------------------------------------------------------------------------------


def rehearse_proxy(
    text: str | None,
    configuration: ClusterConfiguration,
    programs: NewPrograms,
    runtime: Runtime,
    clock: t.Callable[[], float],
    found: UpgradeFindings,
) -> None:
    """Add what the new kube-proxy refuses of its ConfigMap. text: its configuration; empty where the cluster has none, None when it was not given."""
    if text is None:
        found.skip(KUBE_PROXY, "its configuration was not given", "give the option kube_proxy_configuration")
    if not text:
        return
    refused: list[tuple[refusals.Setting | None, str]] = []
    gates: t.Mapping[str, t.Any] = {}
    try:
        data = addons.parse_proxy(text)
        gates = addons.proxy_gates(data)
        image = configuration.image(KUBE_PROXY, programs.target)
        with programs.component(KUBE_PROXY, image, KUBE_PROXY, runtime) as program:
            start = functools.partial(_start_proxy, data, program, programs.run)
            verdict, refused = rehearse_all(GateTrial(gates, start, clock))
        found.note(KUBE_PROXY, "today", verdict)
    except KubeadmError as exc:
        refused += refusals.removed_gates(gates, prerequisites.exact_version(programs.target) or ())
        found.skip(KUBE_PROXY, str(exc))
    found.findings += [addons.broken_proxy(text, setting, message) for setting, message in refused]


def _start_proxy(data: addons.Json, program: Program, run: Run, gates: t.Mapping[str, t.Any]) -> Verdict:
    files = {addons.PROXY_FILE: addons.proxy_config(data, gates)}
    return addons.proxy_verdict(
        *start_program(program, [KUBE_PROXY, f"--config={addons.PROXY_FILE}"], run, files=files)
    )

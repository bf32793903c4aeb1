# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the kubelet can start the pod of a changed manifest: its container runtime, the images, and the node's free resources;
and how long that takes.

The former pod needs the same, so a component that is stopped without them stays down, and a rollback does not help.
"""

from __future__ import annotations

import os
import typing as t

from ..._engine import probes
from ..._plan.common.errors import Refusal
from ..._plan.static_pod import admission, short_restarts
from ..._plan.static_pod import plan as static_pod
from ..kubelet import boot_facts
from ..runtime.container_runtime import Runtime, runtime_at
from ..runtime.cri import RuntimeStatus
from . import static_pods
from .certificates import Finding
from .component_files import ComponentFiles, PreflightContext


def check(
    pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext
) -> tuple[list[Finding], list[str]]:
    """What would keep the pod from being started, and warnings. Raises Refusal for a runtime that starts none."""
    runtime = runtime_at(node.kubelet.runtime, node.run)
    status = _require_ready(plan, runtime, node)
    capacity, warnings = _capacity_findings(pod, plan, node)
    warnings += _refuse_lost_files(pod.name, plan, node)
    missing = runtime.missing_program()
    if missing:
        needs = "the rehearsal of a component that is down, and an upgrade check, open its image"
        warnings.append(f"{os.uname().nodename}: {missing}; {needs}")
    return [
        *_images(pod.name, plan, runtime, node),
        *_sandbox_image(pod.name, runtime, status, node),
        *capacity,
    ], [*warnings, *filter(None, [short_restarts.restart_notice(pod.name, plan.before, plan.after)])]


def _require_ready(plan: static_pod.StaticPodPlan, runtime: Runtime, node: PreflightContext) -> RuntimeStatus:
    """A pod in the network of the node is started whether that of other pods is ready or not. Raises Refusal."""
    needs_network = plan.after.pod["spec"].get("hostNetwork") is not True
    status = runtime.await_ready(node.ready_timeout, needs_network=needs_network, clock=node.clock, sleep=node.sleep)
    problem = status.problem(needs_network=needs_network)
    if problem:
        raise Refusal(
            f"refused before anything was written on {os.uname().nodename}: {problem}. So the kubelet would start neither the changed component nor the"
            f" former one. {runtime.repair_advice}"
        )
    return status


def _images(name: str, plan: static_pod.StaticPodPlan, runtime: Runtime, node: PreflightContext) -> list[Finding]:
    spec = plan.after.pod["spec"]
    containers = [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]
    findings = []
    for image in dict.fromkeys(str(container.get("image")) for container in containers):
        present = runtime.has_image(image)
        if present is None:
            node.unverified.append(runtime.unverified_image(image))
        elif not present:
            findings.append(
                _missing(
                    f"the image {image}", name, f"Pull it first: crictl pull {image}, or kubeadm config images pull."
                )
            )
    pulled = {str(container.get("image")) for container in containers if container.get("imagePullPolicy") == "Always"}
    node.unverified.extend(
        f"whether its image {image} can be pulled, which its imagePullPolicy Always demands at each start"
        for image in sorted(pulled)
    )
    return findings


def _sandbox_image(name: str, runtime: Runtime, status: RuntimeStatus, node: PreflightContext) -> list[Finding]:
    """The runtime pulls it when it is gone, which fails without its registry (FailedCreatePodSandBox)."""
    image, present = runtime.find_sandbox_image(status.sandbox_image)
    node.facts["sandbox_image"] = image if present else ""
    if present is None:
        node.unverified.append(
            f"whether the image of the pod's sandbox is in {runtime.name}, which does not report which one it is"
        )
    if present is not False:
        return []
    advice = f"Pull it first: crictl pull {status.sandbox_image}."
    return [_missing(f"the image {status.sandbox_image}, with which {runtime.name} begins every pod,", name, advice)]


def _refuse_lost_files(name: str, plan: static_pod.StaticPodPlan, node: PreflightContext) -> list[str]:
    """Refuse new files that are gone after the next boot, unless it is forced: something may write them at each boot."""
    former = ComponentFiles(plan.before).required_files()
    written = {change.path: f"files: {change.path}" for change in plan.files if change.is_desired}
    new = {path: source for path, source in ComponentFiles.planned(plan).required_files().items() if path not in former}
    sources = {**new, **written}
    lost = boot_facts.lost_files(sources, node.host, node.run)
    found = [
        f"{sources[path]} on {os.uname().nodename}: {path} is in memory ({mount}), so it is gone after the next boot, and {name} would not start"
        " without it."
        for path, mount in lost.volatile.items()
    ]
    if found and not node.force:
        raise Refusal(f"refused before anything was written: {' '.join(found)} force: true changes it anyway.")
    return [*(f"forced: {finding}" for finding in found), *boot_facts.lost_files_warnings(lost)]


def _missing(image: str, name: str, advice: str) -> Finding:
    return Finding(
        f"{image} is not on {os.uname().nodename}, so {name} could start only after a pull that may fail. {advice}",
        is_new=False,
    )


def _capacity_findings(
    pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan, node: PreflightContext
) -> tuple[list[Finding], list[str]]:
    """Whether the node has the resources that the pod requests, where a change requests more."""
    requests = admission.more_requested(plan.before.pod, plan.after.pod)
    if not requests:
        return [], []
    this, others, problem = _read_node(pod, node)
    if this is None:
        node.unverified.append(f"whether its node has room for what it requests: {problem}")
        return [], []
    short = admission.problem(requests, this, others)
    if short:
        message = f"{pod.name} on {os.uname().nodename} would not be admitted by its kubelet: {short}."
        return [Finding(message, is_new=True)], []
    names = admission.displaces(requests, this, others)
    warning = f"{os.uname().nodename}: {pod.name} requests more {', '.join(names)} than is free, so its kubelet ends other pods to make room for it"
    return [], [warning] if names else []


def _read_node(
    pod: static_pods.StaticPod, node: PreflightContext
) -> tuple[dict[str, t.Any] | None, list[dict[str, t.Any]], str]:
    """The Node and its other pods, as the kubelet's own credential reads them; None, and the problem."""
    name, credential = node.kubelet.node_name, node.host.kubelet_conf
    this, node_problem = probes.api_get(credential, f"/api/v1/nodes/{name}")
    pod_list, pods_problem = probes.api_get(credential, f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name}")
    if this is None or pod_list is None:
        return None, [], node_problem or pods_problem
    own = f"{pod.name}-{name}"
    return this, [other for other in pod_list["items"] if other["metadata"]["name"] != own], ""

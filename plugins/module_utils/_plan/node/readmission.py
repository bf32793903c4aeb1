# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which running pods the kubelet would reject if it were restarted, and which it did.

A kubelet admits the pods of its node again when it starts. A pod that no longer fits then fails, although it ran until
that moment: its node selector or required affinity no longer matches the node's labels, an extended resource no longer
suffices, the kubelet's settings leave less to pods, or it does not tolerate a taint with the effect NoExecute.

Devices are an exception: the kubelet writes down which container holds which, and leaves these to one that runs. One that does
not run, such as an init container that is done or a container between two crashes, is given its devices again, and before their
plugin has registered with the restarted kubelet there are none (kubernetes 138446, 133382, 123971). A plugin that registers at once
may win that race: the bundled one did with 1.37.2.
"""

from __future__ import annotations

import dataclasses
import typing as t
from fractions import Fraction

from ..kubelet.limits import PODS
from ..kubernetes import pods
from ..kubernetes.pods import Labels, Pod, Taint


@dataclasses.dataclass(frozen=True)
class Conditions:
    """What a node offers to pods. allocatable: what is counted, by name; PODS among it bounds their number.

    forbids: whether it no longer allows a kernel parameter. devices: the names of what the kubelet's device manager gives out.
    reallocates: whether the kubelet gives CPUs and memory again at its start to pods that have them as a whole.
    """

    name: str
    labels: Labels
    taints: t.Sequence[Taint]
    allocatable: t.Mapping[str, Fraction]
    forbids: t.Callable[[str], bool] = lambda sysctl: False
    devices: t.Collection[str] = ()
    reallocates: bool = False


@dataclasses.dataclass(frozen=True)
class Rejection:
    """A pod that would fail, or did, and why."""

    pod: str
    reason: str

    def __str__(self) -> str:
        return f"{self.pod} ({self.reason})"


@dataclasses.dataclass(frozen=True)
class Losses:
    """What became of pods that ran before a restart. watched: how many those are. lost: that their kubelet rejected or stopped for good.
    restarted: with a container that it ended. deleted: the names of those that do not exist any more, which shows nothing of the kubelet:
    the controllers of DaemonSets and StatefulSets delete within a second what it rejected. unknown: the names of those with a container that
    ended, and nothing shows how: the node was restarted meanwhile, or the container was replaced more than once."""

    watched: int
    lost: t.Sequence[Rejection]
    restarted: t.Sequence[Rejection]
    deleted: t.Sequence[str]
    unknown: t.Sequence[str]


def find_rejected(found: t.Iterable[Pod], node: Conditions) -> list[Rejection]:
    """The pods of a node that a restarted kubelet would reject."""
    rejections = []
    left = dict(node.allocatable)
    # The kubelet takes them in the order in which they were made.
    for pod in sorted(found, key=lambda pod: (not pods.is_static(pod), pod["metadata"].get("creationTimestamp") or "")):
        if not pods.is_active(pod):
            continue
        needs = {name: amount for name, amount in {**pods.sum_requests(pod), PODS: Fraction(1)}.items() if name in left}
        reason = (
            _taint_reason(pod, node)
            or affinity_reason(pod, node.name, node.labels)
            or _sysctl_reason(pod, node)
            or _device_reason(pod, needs, node)
            or _pod_level_reason(pod, node)
            or _resource_reason({name: needs[name] for name in needs if name not in node.devices}, left)
        )
        if reason:
            rejections.append(Rejection(pods.full_name(pod), reason))
        else:
            left.update({name: left[name] - amount for name, amount in needs.items()})
    return rejections


def _taint_reason(pod: Pod, node: Conditions) -> str | None:
    if pods.is_static(pod):
        return None
    for taint in node.taints:
        if taint["effect"] == "NoExecute" and not pods.tolerations_of(pod, taint):
            return f"does not tolerate {taint['key']}:{taint['effect']}"
    return None


def _device_reason(pod: Pod, requests: t.Iterable[str], node: Conditions) -> str | None:
    for name in sorted(set(requests) & set(node.devices)):
        idle = sorted(pods.containers_requesting(pod, name) - pods.running_containers(pod))
        if idle:
            return (
                f"container {', '.join(idle)} does not run and requests {name}, which a restarted kubelet does not have until the device"
                " plugin has registered again"
            )
    return None


def _pod_level_reason(pod: Pod, node: Conditions) -> str | None:
    if node.reallocates and pod["spec"].get("resources"):
        return "has resources as a whole, and its kubelet gives it other CPUs and memory at its start (PodLevelResourceManagers, before 1.38)"
    return None


def _resource_reason(requests: t.Mapping[str, Fraction], left: t.Mapping[str, Fraction]) -> str | None:
    # A resource that the node does not have at all is none of the kubelet's business: it admits the pod.
    for name, amount in sorted(requests.items()):
        if amount > max(left[name], Fraction(0)):
            return f"requests {pods.format_amount(amount)} of {name}, {pods.format_amount(max(left[name], Fraction(0)))} are left"
    return None


def _sysctl_reason(pod: Pod, node: Conditions) -> str | None:
    names = [entry["name"] for entry in (pod["spec"].get("securityContext") or {}).get("sysctls") or []]
    found = [name for name in names if node.forbids(name)]
    return f"sets {', '.join(found)}, which is not allowed any more" if found else None


def affinity_reason(pod: Pod, name: str, labels: Labels) -> str | None:
    """Why a node with this name and these labels is none of those that a pod selects; None when it is one."""
    for key, value in (pod["spec"].get("nodeSelector") or {}).items():
        if labels.get(key) != value:
            return f"selects nodes with {key}={value}"
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required and not any(_term_matches(term, name, labels) for term in required.get("nodeSelectorTerms") or []):
        return "its required node affinity does not match the node's labels"
    return None


def _term_matches(term: t.Mapping[str, t.Any], name: str, labels: Labels) -> bool:
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False  # an empty term matches nothing
    return all(pods.matches_requirement(entry, labels) for entry in expressions) and all(
        pods.matches_requirement(entry, {"metadata.name": name}) for entry in fields
    )


# ---- after a restart -------------------------------------------------------------------------------------------------

Running = dict[str, dict[str, t.Any]]

_KILLED = (137, 143)  # 128 and SIGKILL or SIGTERM, with which a container is ended
_POD_REASONS = ("DeadlineExceeded",)  # reasons that a kubelet writes for what the pod itself requests


def collect_running(found: t.Iterable[Pod]) -> Running:
    """The pods that run, by UID, each with C(pod), its name, and C(containers), the IDs of those that run by name."""
    return {
        pod["metadata"]["uid"]: {
            "pod": pods.full_name(pod),
            "containers": {
                each["name"]: each.get("containerID", "")
                for each in pods.container_statuses(pod)
                if "running" in (each.get("state") or {})
            },
        }
        for pod in found
        if pods.is_active(pod) and not pods.is_ending(pod)
    }


def find_losses(before: Running, found: t.Iterable[Pod]) -> Losses:
    """What became of pods. before: as C(collect_running) had them. found: all that are on their node now."""
    lost, restarted, unknown = [], [], []
    now = {pod["metadata"]["uid"]: pod for pod in found}
    # A static pod that gets another identity is there again under its name, and its readiness is verified by the node.
    mirrored = {pods.full_name(pod) for pod in now.values() if pods.is_static(pod)}
    deleted = [
        entry["pod"]
        for uid, entry in before.items()
        if (uid not in now or pods.is_ending(now[uid])) and entry["pod"] not in mirrored
    ]
    for uid, entry in before.items():
        pod = now.get(uid)
        if pod is None or pods.is_ending(pod):
            continue
        reason = _loss_reason(pod)
        if reason:
            lost.append(Rejection(entry["pod"], reason))
            continue
        ended = sorted(name for name, container in entry["containers"].items() if _was_ended(pod, container))
        if ended:
            restarted.append(Rejection(entry["pod"], f"container {', '.join(ended)} was ended"))
        elif not all(_is_known(pod, container) for container in entry["containers"].values()):
            unknown.append(entry["pod"])
    return Losses(len(before), lost, restarted, deleted, unknown)


def _loss_reason(pod: Pod) -> str:
    """Why a pod that ran has ended, where it did not end by itself."""
    status, spec = pod.get("status", {}), pod["spec"]
    phase, reason = status.get("phase"), status.get("reason")
    if phase == "Failed" and reason:
        return "" if reason in _POD_REASONS else f"{reason}: {status.get('message') or 'no message'}"
    # The reason is lost when the containers of a rejected pod end well: seen with 1.37.2 and OutOfpods.
    restarts = spec.get("restartPolicy") == "Always" and not any("restartPolicy" in each for each in spec["containers"])
    return (
        f"{phase}, although its containers are to be restarted whenever they end"
        if restarts and phase in pods.ENDED
        else ""
    )


def _terminations(pod: Pod, container: str) -> list[dict[str, t.Any]]:
    """The terminated states of a container, by its ID."""
    states = [each.get(key) or {} for each in pods.container_statuses(pod) for key in ("state", "lastState")]
    ends = [state["terminated"] for state in states if "terminated" in state]
    return [end for end in ends if end.get("containerID") == container]


def _was_ended(pod: Pod, container: str) -> bool:
    """Whether a container, by its ID, ended and not by itself."""
    return any(
        end.get("reason") == "ContainerStatusUnknown"
        or (end.get("exitCode") in _KILLED and end.get("reason") != "OOMKilled")
        for end in _terminations(pod, container)
    )


def _is_known(pod: Pod, container: str) -> bool:
    """Whether a container, by its ID, still runs, or it is reported how it ended. containerd does not know that behind a reboot."""
    runs = any(
        "running" in (each.get("state") or {}) and each.get("containerID", "") == container
        for each in pods.container_statuses(pod)
    )
    return runs or any(end.get("reason") != "Unknown" for end in _terminations(pod, container))

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What became of a resize: what a pod's status says of it, and what the API server's refusal means."""

from __future__ import annotations

import dataclasses
import re
import typing as t
from fractions import Fraction

from ..kubernetes import quantities
from ..kubernetes.pods import Pod
from .resize import STEPS, Desired, amounts_of, containers_of

# Outcomes.
UNCHANGED, ACCEPTED, RESIZED, RESTARTED = "unchanged", "accepted", "resized", "restarted"
IN_PROGRESS, DEFERRED, INFEASIBLE = "in_progress", "deferred", "infeasible"
REFUSED, GONE, NOT_TRIED, UNKNOWN = "refused", "gone", "not_tried", "unknown"

_STATUSES = ("containerStatuses", "initContainerStatuses")
_PENDING, _PROGRESS = "PodResizePending", "PodResizeInProgress"
_WAITS = {"Deferred": DEFERRED, "Infeasible": INFEASIBLE}
_NO_ROOM = re.compile("node didn't have enough allocatable resources", re.IGNORECASE)  # of admission, from 1.36 on
# cgroups know no less, and the kubelet reports what they have.
_LEAST = {"requests.cpu": Fraction(2, 1000), "limits.cpu": Fraction(10, 1000)}

_QOS = re.compile(
    r'(?:Invalid value: "(?P<name>[A-Za-z]+)": )?Pod (?:QOS Class may not change|QoS is immutable)', re.IGNORECASE
)
_GUARANTEED, _BEST_EFFORT = "Guaranteed", "BestEffort"
_ADVICE_BY_CLASS = {
    _GUARANTEED: "A Guaranteed pod stays one: name requests and limits, and give both the same amounts, for cpu and memory of each"
    " container that changes",
    _BEST_EFFORT: "A pod without requests and limits cannot be given any: change the template, which creates new pods",
}
_ADVICE_BURSTABLE = (
    "A Guaranteed pod needs requests that equal the limits, for cpu and memory of all its containers, and a Burstable pod must not"
    " become one: leave one of its requests below its limit, or one of them without a limit"
)
# What there is to do about what the API server says.
_ADVICE = (
    (
        re.compile("memory limits cannot be decreased"),
        "Kubernetes 1.33 lowers a memory limit only where the container's resizePolicy for memory is RestartContainer, which a"
        " running pod cannot change; 1.34 and newer do it without. Or change the template, which creates new pods",
    ),
    (
        re.compile("pod updates may not change fields"),
        "This API server serves no pods/resize and takes no resize by the pod itself. Kubernetes 1.27 to 1.32 need the feature gate"
        " InPlacePodVerticalScaling in every component: the playbook nodecraft.kubeadm.feature_gates switches it on",
    ),
    (
        re.compile("without support for resize"),
        "The kubelet there is too old, or its feature gate InPlacePodVerticalScaling is off",
    ),
    (
        re.compile("must be less than or equal to (?:cpu|memory) limit"),
        "What a task does not name stays: name the limit, too",
    ),
)


@dataclasses.dataclass(frozen=True)
class ResizeState:
    """What the kubelet has made of a desired state. outcome: RESIZED when all is done. reason: else why not, mostly in its own words."""

    outcome: str
    reason: str = ""


def refusal(words: str, pod: Pod | None = None) -> tuple[str, str]:
    """What an API server's refusal means: the outcome, and its words with what there is to do. pod: the one that is not resized."""
    outcome = INFEASIBLE if _NO_ROOM.search(words) else REFUSED
    qos = _QOS.search(words)
    if qos:
        name = ((pod or {}).get("status") or {}).get("qosClass") or qos.group("name")
        advice = _ADVICE_BY_CLASS.get(name, _ADVICE_BURSTABLE)
    else:
        advice = next((text for pattern, text in _ADVICE if pattern.search(words)), "")
    return outcome, f"{words.rstrip('.')}. {advice}.".replace(". .", ".") if advice else words


def _pending(pod: Pod, doubted: t.Collection[t.Any]) -> ResizeState | None:
    """Why the kubelet has not made a pod what its spec says, as far as it tells; None when all that it tells is done.

    doubted: conditions from before the last change. Where a condition does not say to which generation it belongs, such a one may
    be the old one.
    """
    status = pod.get("status") or {}
    for condition in resize_conditions(pod):
        if not _is_fresh(condition, pod, doubted):
            continue
        reason, words = condition.get("reason") or "", condition.get("message") or ""
        told = ": ".join(filter(None, (reason, words)))
        if condition["type"] == _PENDING:
            return ResizeState(_WAITS.get(reason, IN_PROGRESS), told)
        return ResizeState(IN_PROGRESS, told or "the kubelet is resizing it")
    # Up to 1.32 there is this field, without words.
    former = status.get("resize")
    if former:
        return ResizeState(_WAITS.get(former, IN_PROGRESS), f"{former}, without a reason in this version of Kubernetes")
    observed, generation = status.get("observedGeneration"), pod["metadata"].get("generation")
    if observed and generation and observed < generation:
        return ResizeState(IN_PROGRESS, "the kubelet has not seen it yet")
    return None


def _is_fresh(condition: t.Mapping[str, t.Any], pod: Pod, doubted: t.Collection[t.Any]) -> bool:
    generation, observed = pod["metadata"].get("generation"), condition.get("observedGeneration")
    if generation and observed:
        return bool(observed >= generation)
    return condition not in doubted


def resize_conditions(pod: Pod) -> list[t.Any]:
    """What a pod says of resizes: first of one that waits, then of one under way."""
    found = (pod.get("status") or {}).get("conditions") or []
    return [condition for kind in (_PENDING, _PROGRESS) for condition in found if condition.get("type") == kind]


def state(pod: Pod, desired: Desired, doubted: t.Collection[t.Any] = ()) -> ResizeState:
    """Whether a pod's containers have what was asked for, by what the kubelet says of them."""
    told = _pending(pod, doubted)
    if told:
        return told
    missing = _missing(pod, desired)
    return ResizeState(IN_PROGRESS, "; ".join(missing)) if missing else ResizeState(RESIZED)


def _missing(pod: Pod, desired: Desired) -> list[str]:
    """What the containers do not have yet: one text for each amount."""
    lacks = []
    for container, amounts in desired.items():
        status = _container_statuses(pod).get(container) or {}
        if not amounts or _is_finished(pod, container, status):
            continue
        why = _why_unknown(status)
        if why:
            lacks.append(f"container {container} {why}")
            continue
        has = amounts_of(status)
        lacks += [
            f"{field} of {container} should be {wanted} and is {has.get(field, 'unset')}"
            for field, wanted in amounts.items()
            if not _shows(field, has.get(field), wanted)
        ]
    return lacks


def _is_finished(pod: Pod, container: str, status: t.Mapping[str, t.Any]) -> bool:
    """Whether an init container is done: its status says no more what it had. A sidecar never is, nor what failed and is tried again."""
    ended = (status.get("state") or {}).get("terminated") or {}
    return ended.get("exitCode") == 0 and any(
        entry["name"] == container and entry.get("restartPolicy") != "Always"
        for entry in pod["spec"].get("initContainers") or []
    )


def _why_unknown(status: t.Mapping[str, t.Any]) -> str:
    """Why it is unknown what a container has; empty when its status says."""
    states = status.get("state") or {}
    if "running" not in states:
        reason = next((entry.get("reason") for entry in states.values() if entry and entry.get("reason")), "")
        return f"does not run ({reason})" if reason else "does not run"
    return (
        ""
        if "resources" in status
        else "has no resources in its status: check that the kubelet's gate InPlacePodVerticalScaling is on"
    )


def overwritten(pod: Pod, desired: Desired) -> list[str]:
    """What a pod is not meant to have any more: one text for each amount that another client changed since it was sent."""
    found = containers_of(pod["spec"])
    return [
        f"{field} of {container} is {has.get(field, 'unset')}"
        for container, amounts in desired.items()
        for has in [amounts_of(found[container][1])]
        for field, wanted in amounts.items()
        if not _is(field, has.get(field), wanted)
    ]


def _is(field: str, has: str | None, wanted: str) -> bool:
    """Whether a specification has an amount. Templates may say what is finer than Kubernetes counts."""
    return quantities.parse(has or "0") in (quantities.parse(wanted), _counted(field, wanted))


def _shows(field: str, has: str | None, wanted: str) -> bool:
    """Whether a status shows an amount."""
    # A memory request is nothing that a running container has. Of one that is reverted the kubelet goes on to tell the former.
    if field == "requests.memory" and quantities.parse(wanted) == 0:
        return True
    least = max(_counted(field, wanted), _LEAST.get(field, Fraction(0)))
    return _is(field, has, wanted) or (has is not None and quantities.parse(has) == least)


def _counted(field: str, wanted: str) -> Fraction:
    return quantities.round_up(quantities.parse(wanted), STEPS[field.partition(".")[2]])


def _container_statuses(pod: Pod) -> dict[str, t.Mapping[str, t.Any]]:
    status = pod.get("status") or {}
    return {entry["name"]: entry for place in _STATUSES for entry in status.get(place) or []}


def restarted(before: Pod, after: Pod) -> list[str]:
    """The containers that were restarted in between."""
    earlier = _container_statuses(before)
    return [
        name
        for name, status in _container_statuses(after).items()
        if status.get("restartCount", 0) > earlier.get(name, {}).get("restartCount", 0)
    ]


def is_same(one: Pod, other: Pod) -> bool:
    """Whether this is the pod itself, and not another one that got its name."""
    return bool(one["metadata"].get("uid") == other["metadata"].get("uid"))

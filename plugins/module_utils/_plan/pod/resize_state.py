# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state of a resize: by the status of a pod, or by the refusal of the API server."""

from __future__ import annotations

import dataclasses
import re
import typing as t
from fractions import Fraction

from ..common.ownership import Change
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
# The advice on messages of the API server.
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
    """What the kubelet has made of a desired state. outcome: RESIZED when all is done. reason: else why not, mostly from its message."""

    outcome: str
    reason: str = ""


def interpret_refusal(message: str, pod: Pod | None = None) -> tuple[str, str]:
    """The meaning of a refusal by the API server: the outcome, and its message with advice. pod: the one that is not resized."""
    outcome = INFEASIBLE if _NO_ROOM.search(message) else REFUSED
    qos = _QOS.search(message)
    if qos:
        name = ((pod or {}).get("status") or {}).get("qosClass") or qos.group("name")
        advice = _ADVICE_BY_CLASS.get(name, _ADVICE_BURSTABLE)
    else:
        advice = next((text for pattern, text in _ADVICE if pattern.search(message)), "")
    return outcome, f"{message.rstrip('.')}. {advice}.".replace(". .", ".") if advice else message


def _pending_state(pod: Pod, stale_conditions: t.Collection[t.Any]) -> ResizeState | None:
    """Why the kubelet has not made a pod what its spec says, as far as it reports; None when all that it reports is done.

    stale_conditions: conditions from before the last change. Where a condition does not have its generation, such a one may
    be the old one.
    """
    status = pod.get("status") or {}
    for condition in resize_conditions(pod):
        if not _is_fresh(condition, pod, stale_conditions):
            continue
        reason, words = condition.get("reason") or "", condition.get("message") or ""
        message = ": ".join(filter(None, (reason, words)))
        if condition["type"] == _PENDING:
            return ResizeState(_WAITS.get(reason, IN_PROGRESS), message)
        return ResizeState(IN_PROGRESS, message or "the kubelet is resizing it")
    # Up to 1.32 there is this field, without words.
    former = status.get("resize")
    if former:
        return ResizeState(_WAITS.get(former, IN_PROGRESS), f"{former}, without a reason in this version of Kubernetes")
    observed, generation = status.get("observedGeneration"), pod["metadata"].get("generation")
    if observed and generation and observed < generation:
        return ResizeState(IN_PROGRESS, "the kubelet has not seen it yet")
    return None


def _is_fresh(condition: t.Mapping[str, t.Any], pod: Pod, stale_conditions: t.Collection[t.Any]) -> bool:
    generation, observed = pod["metadata"].get("generation"), condition.get("observedGeneration")
    if generation and observed:
        return bool(observed >= generation)
    return condition not in stale_conditions


def resize_conditions(pod: Pod) -> list[t.Any]:
    """The conditions of a pod about resizes: first of one that waits, then of one under way."""
    found = (pod.get("status") or {}).get("conditions") or []
    return [condition for kind in (_PENDING, _PROGRESS) for condition in found if condition.get("type") == kind]


def resize_state(pod: Pod, desired: Desired, stale_conditions: t.Collection[t.Any] = ()) -> ResizeState:
    """Whether a pod's containers have the desired amounts, by the status that the kubelet reports."""
    pending = _pending_state(pod, stale_conditions)
    if pending:
        return pending
    missing = _missing_amounts(pod, desired)
    return ResizeState(IN_PROGRESS, "; ".join(missing)) if missing else ResizeState(RESIZED)


def _missing_amounts(pod: Pod, desired: Desired) -> list[str]:
    """What the containers do not have yet: one text for each amount."""
    lacks = []
    for container, amounts in desired.items():
        status = container_statuses(pod).get(container) or {}
        if not amounts or _is_finished(pod, container, status):
            continue
        why = _why_unknown(status)
        if why:
            lacks.append(f"container {container} {why}")
            continue
        has = amounts_of(status)
        lacks += [
            f"{field} of {container} should be {desired_amount} and is {has.get(field, 'unset')}"
            for field, desired_amount in amounts.items()
            if not _displays_amount(field, has.get(field), desired_amount)
        ]
    return lacks


def _is_finished(pod: Pod, container: str, status: t.Mapping[str, t.Any]) -> bool:
    """Whether an init container is done: its status does not have its amounts any more. A sidecar never is, nor what failed and is tried again."""
    ended = (status.get("state") or {}).get("terminated") or {}
    return ended.get("exitCode") == 0 and any(
        entry["name"] == container and entry.get("restartPolicy") != "Always"
        for entry in pod["spec"].get("initContainers") or []
    )


def _why_unknown(status: t.Mapping[str, t.Any]) -> str:
    """Why it is unknown what a container has; empty when its status has it."""
    states = status.get("state") or {}
    if "running" not in states:
        reason = next((entry.get("reason") for entry in states.values() if entry and entry.get("reason")), "")
        return f"does not run ({reason})" if reason else "does not run"
    return (
        ""
        if "resources" in status
        else "has no resources in its status: check that the kubelet's gate InPlacePodVerticalScaling is on"
    )


def find_overwritten(pod: Pod, desired: Desired) -> list[str]:
    """The amounts of a pod that are not the desired ones any more: one text for each amount that another client changed since it was sent."""
    found = containers_of(pod["spec"])
    return [
        f"{field} of {container} is {has.get(field, 'unset')}"
        for container, amounts in desired.items()
        for has in [amounts_of(found[container][1])]
        for field, desired_amount in amounts.items()
        if not has_amount(field, has.get(field), desired_amount)
    ]


def has_amount(field: str, has: str | None, desired_amount: str) -> bool:
    """Whether a specification has an amount. Templates may have amounts finer than Kubernetes counts."""
    return quantities.parse(has or "0") in (quantities.parse(desired_amount), _rounded(field, desired_amount))


def _displays_amount(field: str, has: str | None, desired_amount: str) -> bool:
    """Whether a status shows an amount."""
    # A memory request is nothing that a running container has. Of one that is reverted the kubelet still reports the former.
    if field == "requests.memory" and quantities.parse(desired_amount) == 0:
        return True
    least = max(_rounded(field, desired_amount), _LEAST.get(field, Fraction(0)))
    return has_amount(field, has, desired_amount) or (has is not None and quantities.parse(has) == least)


def _rounded(field: str, desired_amount: str) -> Fraction:
    return quantities.round_up(quantities.parse(desired_amount), STEPS[field.partition(".")[2]])


def container_statuses(pod: Pod) -> dict[str, t.Mapping[str, t.Any]]:
    """What is reported of a pod's containers, by name."""
    status = pod.get("status") or {}
    return {entry["name"]: entry for place in _STATUSES for entry in status.get(place) or []}


def find_restarted(before: Pod, after: Pod) -> list[str]:
    """The containers that were restarted in between."""
    earlier = container_statuses(before)
    return [
        name
        for name, status in container_statuses(after).items()
        if status.get("restartCount", 0) > earlier.get(name, {}).get("restartCount", 0)
    ]


def find_starved(pod: Pod, restarted: t.Collection[str], operations: t.Iterable[Change]) -> list[str]:
    """Which of the restarted containers ended because they needed more memory than a new limit: one text for each."""
    limited = {operation.key for operation in operations if operation.field == "limits.memory"}
    statuses = container_statuses(pod)
    return [
        f"container {name}"
        for name in restarted
        if name in limited
        and ((statuses[name].get("lastState") or {}).get("terminated") or {}).get("reason") == "OOMKilled"
    ]


def is_same(one: Pod, other: Pod) -> bool:
    """Whether this is the pod itself, and not another one that got its name."""
    return bool(one["metadata"].get("uid") == other["metadata"].get("uid"))

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What has to be known of pods: whether they run, what they request, which taints they tolerate, what a drain moves, which a selector takes."""

from __future__ import annotations

import typing as t
from fractions import Fraction

from . import quantities

Pod = dict[str, t.Any]
Taint = t.Mapping[str, t.Any]

ENDED = ("Succeeded", "Failed")  # phases

_MIRROR = "kubernetes.io/config.mirror"


def full_name(pod: Pod) -> str:
    """Namespace and name."""
    return f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"


def is_active(pod: Pod) -> bool:
    """Whether a pod runs, or is about to."""
    return pod.get("status", {}).get("phase") not in ENDED


def is_ending(pod: Pod) -> bool:
    """Whether it was deleted, and has yet to go."""
    return bool(pod["metadata"].get("deletionTimestamp"))


def is_ready(pod: Pod) -> bool:
    """Whether it takes part in the service of what it belongs to."""
    conditions = pod.get("status", {}).get("conditions") or []
    return any(condition.get("type") == "Ready" and condition.get("status") == "True" for condition in conditions)


def is_unreported(pod: Pod) -> bool:
    """Whether its kubelet no longer reports it: the controller that then writes its condition gives no reason, a kubelet always does."""
    conditions = pod.get("status", {}).get("conditions") or []
    ready = [condition for condition in conditions if condition.get("type") == "Ready"]
    return any(condition.get("status") == "False" and not condition.get("reason") for condition in ready)


def running_containers(pod: Pod) -> set[str]:
    """The names of its containers that run at this moment, init containers among them."""
    return {str(each["name"]) for each in container_statuses(pod) if "running" in (each.get("state") or {})}


def container_statuses(pod: Pod) -> list[dict[str, t.Any]]:
    """What is reported of its containers, init containers among them."""
    status = pod.get("status", {})
    return [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]


def containers_requesting(pod: Pod, resource: str) -> set[str]:
    """The names of its containers that request a resource, init containers among them."""
    found = [*(pod["spec"].get("initContainers") or []), *(pod["spec"].get("containers") or [])]
    return {str(each["name"]) for each in found if _own_amounts(each, "requests").get(resource)}


def is_static(pod: Pod) -> bool:
    """Whether the kubelet runs it from a file: then it is not evicted."""
    return _MIRROR in (pod["metadata"].get("annotations") or {})


def priority(pod: Pod) -> int:
    """The pod's priority; that of a cluster's network and name service is higher than any other."""
    return int(pod["spec"].get("priority") or 0)


def controller_kind(pod: Pod) -> str:
    """The kind of object that made the pod; empty for none."""
    owners = pod["metadata"].get("ownerReferences") or []
    return next((str(owner["kind"]) for owner in owners if owner.get("controller")), "")


def sum_requests(pod: Pod) -> dict[str, Fraction]:
    """What a pod requests of each resource, as the scheduler and the kubelet count it.

    Containers run together, and so do init containers that stay (sidecars); other init containers run before them, one
    after the other, beside the sidecars that were started before. What a pod requests as a whole goes before that, and its
    overhead comes on top.
    """
    total = _sum_amounts(pod, "requests")
    _add_amounts(total, _amounts(pod["spec"].get("overhead")))
    return total


def sum_limits(pod: Pod) -> dict[str, Fraction]:
    """The most that a pod may use of each resource, as a quota counts it: of what its containers have limits, by the same rules."""
    total = _sum_amounts(pod, "limits")
    overhead = _amounts(pod["spec"].get("overhead"))
    _add_amounts(total, {name: amount for name, amount in overhead.items() if total.get(name)})
    return total


def _sum_amounts(pod: Pod, kind: str) -> dict[str, Fraction]:
    return {**_sum_containers(pod, kind), **_own_amounts(pod["spec"], kind)}


def _sum_containers(pod: Pod, kind: str) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for container in pod["spec"].get("containers") or []:
        _add_amounts(total, _own_amounts(container, kind))
    peak: dict[str, Fraction] = {}
    sidecars: dict[str, Fraction] = {}
    for container in pod["spec"].get("initContainers") or []:
        own = _own_amounts(container, kind)
        if container.get("restartPolicy") == "Always":
            _add_amounts(total, own)
            _add_amounts(sidecars, own)
            own = {}
        moment = dict(sidecars)
        _add_amounts(moment, own)
        peak = {name: max(peak.get(name, Fraction(0)), moment.get(name, Fraction(0))) for name in {*peak, *moment}}
    return {name: max(total.get(name, Fraction(0)), peak.get(name, Fraction(0))) for name in {*total, *peak}}


def _own_amounts(owner: t.Mapping[str, t.Any], kind: str) -> dict[str, Fraction]:
    """What a container requests or may use, or by its own field the specification of a pod, without its containers."""
    return _amounts((owner.get("resources") or {}).get(kind))


def _amounts(found: t.Mapping[str, t.Any] | None) -> dict[str, Fraction]:
    return {name: quantities.parse(str(amount)) for name, amount in (found or {}).items()}


def _add_amounts(total: dict[str, Fraction], more: t.Mapping[str, Fraction]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Fraction(0)) + amount


def total_requests(pods: t.Iterable[Pod]) -> dict[str, Fraction]:
    """What the active ones among pods request together."""
    total: dict[str, Fraction] = {}
    for pod in pods:
        if is_active(pod):
            _add_amounts(total, sum_requests(pod))
    return total


def format_amount(amount: Fraction) -> str:
    """An amount for a message: whole, or to three digits."""
    return str(amount) if amount.denominator == 1 else f"{float(amount):.3g}"


def tolerations_of(pod: Pod, taint: Taint) -> list[t.Mapping[str, t.Any]]:
    """The tolerations of a pod that a taint is tolerated by."""
    return [toleration for toleration in pod["spec"].get("tolerations") or [] if _tolerates(toleration, taint)]


def _tolerates(toleration: t.Mapping[str, t.Any], taint: Taint) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    # Without a key only Exists is allowed; other operators compare in ways that not every release knows.
    return (
        operator == "Equal"
        and bool(toleration.get("key"))
        and (toleration.get("value") or "") == (taint.get("value") or "")
    )


def why_not_drained(node: t.Mapping[str, t.Any], pods: t.Iterable[Pod]) -> str | None:
    """Why a node does not count as drained: it takes new pods, or runs some that kubectl drain would evict. pods: all of that node."""
    if not node["spec"].get("unschedulable"):
        return "it takes new pods (kubectl cordon or drain was not run)"
    left = sorted(full_name(pod) for pod in pods if _would_be_evicted(pod))
    return f"it runs {', '.join(left[:5])}{' and others' if len(left) > 5 else ''}" if left else None


def _would_be_evicted(pod: Pod) -> bool:
    return is_active(pod) and not is_static(pod) and controller_kind(pod) != "DaemonSet"


Labels = t.Mapping[str, str]


def selector_matches(selector: t.Mapping[str, t.Any] | None, labels: Labels) -> bool:
    """Whether a LabelSelector selects an object with these labels. One that is empty, or not there, selects all."""
    found = selector or {}
    match_labels = found.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in match_labels.items()) and all(
        matches_requirement(requirement, labels) for requirement in found.get("matchExpressions") or []
    )


def matches_requirement(requirement: t.Mapping[str, t.Any], labels: Labels) -> bool:
    """Whether labels meet one requirement of C(matchExpressions)."""
    value, values = labels.get(requirement["key"]), requirement.get("values") or []
    operator = requirement["operator"]
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    return _compare_numbers(operator, value, values)


def _compare_numbers(operator: str, value: str | None, values: t.Sequence[str]) -> bool:
    try:
        actual, limit = int(value or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return actual > limit if operator == "Gt" else actual < limit

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of one running pod's new size: the pod and a desired state in, a patch out.

An amount is known by its field, such as C(requests.cpu), and kept as it was written; amounts are compared by value.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t
from fractions import Fraction

from ..common.errors import Refusal
from ..common.ownership import Change
from ..kubernetes import option_values, pods, quantities
from ..kubernetes.pods import Pod

Amounts = t.Mapping[str, str]
Desired = t.Mapping[str, Amounts]  # by the name of the container
Container = t.Mapping[str, t.Any]

AMOUNT_KINDS = ("requests", "limits")
RESIZABLE = ("cpu", "memory")
# What is finer is rounded up.
STEPS = {"cpu": Fraction(1, 1000), "memory": Fraction(1)}
FIELDS = tuple(f"{kind}.{resource}" for kind in AMOUNT_KINDS for resource in RESIZABLE)

_LISTS = ("containers", "initContainers")
_PERCENT = re.compile(r"([0-9]+)%")


@dataclasses.dataclass(frozen=True)
class PodPlan:
    """What will be done to one pod.

    operations: what changes, for the user: the field, and the container as the key. patch: the same for the API, as a strategic
    merge patch that holds for the pod as it was read. restarts: the containers that resizePolicy restarts for it.
    """

    operations: tuple[Change, ...]
    patch: Pod
    restarts: tuple[str, ...]


# ---- the desired state -----------------------------------------------------------------------------------------------


def parse_desired(containers: t.Sequence[t.Mapping[str, t.Any]]) -> dict[str, dict[str, str]]:
    """The desired amounts by container. Raises Refusal for what no running pod can be given."""
    option_values.refuse_duplicates("containers", [entry["name"] for entry in containers])
    return {entry["name"]: _parse_amounts(entry["name"], entry.get("resources") or {}) for entry in containers}


def _parse_amounts(container: str, resources: t.Mapping[str, t.Any]) -> dict[str, str]:
    found = {
        f"{kind}.{resource}": _parse_amount(container, kind, resource, value)
        for kind in AMOUNT_KINDS
        for resource, value in (resources.get(kind) or {}).items()
    }
    if not found:
        raise Refusal(
            f"containers: {container} gets nothing; set cpu or memory in requests or limits of its resources."
        )
    for resource in RESIZABLE:
        request, limit = found.get(f"requests.{resource}"), found.get(f"limits.{resource}")
        if request and limit and quantities.parse(request) > quantities.parse(limit):
            raise Refusal(
                f"containers: {container} requests {resource} {request} with a limit of {limit}; Kubernetes says of that: must be"
                f" less than or equal to {resource} limit of {limit}."
            )
    return found


def _parse_amount(container: str, kind: str, resource: str, value: t.Any) -> str:
    field = f"{kind}.{resource}"
    if resource not in RESIZABLE:
        raise Refusal(
            f"containers: {container} names {field}; Kubernetes says of running pods: only cpu and memory resources are mutable."
            " Leave it out, or change the template, which creates new pods."
        )
    if value is None:
        raise Refusal(
            f"containers: {container} has null as {field}; Kubernetes says of running pods: resource {kind} cannot be removed."
            " Write an amount, or leave it out to keep what is there."
        )
    name = f"{field} of {container}"
    amount = quantities.parse_amount("containers", name, value)
    _refuse_finer(name, resource, amount)
    return amount


def _refuse_finer(name: str, resource: str, amount: str) -> None:
    """Refuse what Kubernetes would round, for no pod would ever have it."""
    steps = quantities.parse(amount) / STEPS[resource]
    if steps.denominator == 1:
        return
    nearest = max(1, round(steps))
    if resource == "cpu":
        least, advice = "1m", f"{nearest}m"
    elif amount.endswith("m"):
        least, advice = "1 byte, of which m is a thousandth", f"{amount[:-1]}Mi"
    else:
        least, advice = "1 byte", str(nearest)
    raise Refusal(f"containers: {name} is {amount}; Kubernetes counts nothing finer than {least}. Write {advice}.")


def parse_max_unavailable(value: str, total: int) -> int:
    """How many of so many pods may be out of service at a time, 1 at least: a number, or a percentage, rounded down."""
    percent = _PERCENT.fullmatch(value.strip())
    if percent:
        return max(1, total * min(int(percent.group(1)), 100) // 100)
    if not value.strip().isdecimal() or int(value) < 1:
        raise Refusal(
            f"invalid max_unavailable {value!r}: must be a whole number from 1 on, or a percentage such as 25%."
        )
    return int(value)


# ---- the plan --------------------------------------------------------------------------------------------------------


def containers_of(spec: t.Mapping[str, t.Any]) -> dict[str, tuple[str, Container]]:
    """The containers of a pod or of a template by name, each with the list in which it stands."""
    return {entry["name"]: (place, entry) for place in _LISTS for entry in spec.get(place) or []}


def amounts_of(container: Container) -> dict[str, str]:
    """The amounts of a container that a resize can change."""
    resources = container.get("resources") or {}
    found = {
        f"{kind}.{name}": str(value) for kind in AMOUNT_KINDS for name, value in (resources.get(kind) or {}).items()
    }
    return {field: found[field] for field in FIELDS if field in found}


def plan(pod: Pod, desired: Desired, *, allow_restart: bool) -> PodPlan:
    """Work out a desired state against a pod. Raises Refusal, which leaves it to the caller to name the pod, for what cannot be done there."""
    if pods.is_static(pod):
        raise Refusal(
            "Kubernetes says: static pods cannot be resized. The kubelet runs this one from a file: change that, with the"
            " module static_pod."
        )
    if not pods.is_active(pod) or pods.is_ending(pod):
        why = "it is being deleted" if pods.is_ending(pod) else f"it has ended ({pod['status']['phase']})"
        raise Refusal(f"{why}, so that there is nothing to resize.")
    found = containers_of(pod["spec"])
    for container in desired:
        if container not in found:
            raise Refusal(f"it has no container {container}; its containers are {', '.join(found)}.")
    operations = _find_changes(found, desired)
    restarts = find_restarts(found, operations)
    if restarts and not allow_restart:
        containers_text = "; ".join(f"{container} (for {', '.join(why)})" for container, why in restarts.items())
        raise Refusal(
            f"this would restart its container {containers_text}, because resizePolicy says RestartContainer. Nothing was changed in"
            " this pod. Set allow_restart, with max_unavailable, or leave that resource out."
        )
    return PodPlan(operations, strategic_patch(pod, found, operations), tuple(restarts))


def _find_changes(found: t.Mapping[str, tuple[str, Container]], desired: Desired) -> tuple[Change, ...]:
    changes = []
    for container, amounts in desired.items():
        own = amounts_of(found[container][1])
        changing = {field: after for field, after in amounts.items() if not quantities.is_equal(own.get(field), after)}
        for resource in RESIZABLE:
            request, limit = f"requests.{resource}", f"limits.{resource}"
            if limit in changing and request not in {**own, **amounts}:
                changing[request] = changing[limit]  # so does the API server, where there is none
        changes += [Change(field, container, own.get(field), after) for field, after in changing.items()]
    return tuple(changes)


def find_restarts(found: t.Mapping[str, tuple[str, Container]], operations: t.Iterable[Change]) -> dict[str, list[str]]:
    """The containers that a change restarts, each with the resources because of which it does."""
    restarts: dict[str, list[str]] = {}
    for operation in operations:
        resource = operation.field.partition(".")[2]
        policies = found[operation.key][1].get("resizePolicy") or []
        if {"resourceName": resource, "restartPolicy": "RestartContainer"} in policies:
            why = restarts.setdefault(operation.key, [])
            why += [] if resource in why else [resource]
    return restarts


def strategic_patch(
    thing: Pod, found: t.Mapping[str, tuple[str, Container]], operations: t.Iterable[Change]
) -> dict[str, t.Any]:
    """The strategic merge patch of a pod, or of a pod's template, that makes changes; it holds for the thing as it was read."""
    spec: dict[str, dict[str, dict[str, t.Any]]] = {}
    for operation in operations:
        place = spec.setdefault(found[operation.key][0], {})
        kind, _dot, resource = operation.field.partition(".")
        resources = place.setdefault(operation.key, {"name": operation.key, "resources": {}})["resources"]
        resources.setdefault(kind, {})[resource] = operation.after
    return {
        "metadata": {"resourceVersion": thing["metadata"].get("resourceVersion")},
        "spec": {place: list(entries.values()) for place, entries in spec.items()},
    }


def amounts_after(pod: Pod, operations: t.Iterable[Change]) -> dict[str, dict[str, str]]:
    """The amounts of a pod's containers with changes."""
    after = {name: amounts_of(container) for name, (_place, container) in containers_of(pod["spec"]).items()}
    for operation in operations:
        after[operation.key][operation.field] = operation.after
    return after


def format_amounts(amounts: t.Mapping[str, Amounts]) -> dict[str, t.Any]:
    """Amounts of containers in Kubernetes' form, for a diff."""
    return {
        container: {
            kind: {name: own[f"{kind}.{name}"] for name in RESIZABLE if f"{kind}.{name}" in own}
            for kind in AMOUNT_KINDS
        }
        for container, own in amounts.items()
    }


# ---- one after the other ---------------------------------------------------------------------------------------------

Item = t.TypeVar("Item")


def next_batch(
    waiting: t.Sequence[Item], *, ready: t.Callable[[Item], bool], unavailable: int, limit: int
) -> list[Item]:
    """Which of the waiting pods may be restarted now.

    unavailable: how many pods of the task are not Ready. Those among the waiting cost nothing more, and go first.
    """
    broken = [item for item in waiting if not ready(item)]
    return broken + [item for item in waiting if ready(item)][: max(0, limit - unavailable)]

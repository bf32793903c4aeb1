# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a resize is taken back: three states of one pod in, a patch out, or why there is none."""

from __future__ import annotations

import copy
import dataclasses
import json
import shlex
import typing as t

from ..common.errors import Refusal
from ..common.ownership import Change
from ..kubernetes import quantities
from ..kubernetes.pods import Pod
from .resize import FIELDS, Amounts, amounts_after, containers_of, find_restarts, strategic_patch
from .resize_state import container_statuses, has_amount

AmountsByContainer = t.Mapping[str, Amounts]


@dataclasses.dataclass(frozen=True)
class UndoPlan:
    """What gives a pod its former amounts.

    operations, patch, restarts: as of C(PodPlan). remaining: what stays, because Kubernetes removes no limit from a running pod: one text
    for each limit that the pod did not have before.
    """

    operations: tuple[Change, ...]
    patch: Pod
    restarts: tuple[str, ...]
    remaining: tuple[str, ...]


def apply_changes(pod: Pod, operations: t.Iterable[Change]) -> Pod:
    """A pod as changes leave it."""
    after = copy.deepcopy(pod)
    known = containers_of(after["spec"])
    for operation in operations:
        kind, _dot, resource = operation.field.partition(".")
        resources = known[operation.key][1].setdefault("resources", {})  # type: ignore[attr-defined]
        amounts = resources[kind] = dict(resources.get(kind) or {})
        amounts[resource] = operation.after
    return after


def find_altered(pod: Pod, operations: t.Iterable[Change], stored: Pod) -> list[str]:
    """What the API server stored otherwise than it was sent, as admission makes it: one text for each amount.

    pod: as it was when the operations were planned. stored: the response to their patch.
    """
    expected, actual = amounts_after(pod, operations), amounts_after(stored, ())
    return [
        f"{field} of {container} should be {before or 'unset'} and is {after or 'unset'}"
        for container, field, before, after in _differences(expected, actual)
        if not (before and after and has_amount(field, after, before))
    ]


def plan(before: Pod, written: Pod, current: Pod) -> UndoPlan:
    """Work out what gives a pod the amounts back that it had before. A pod that has them already needs no operation.

    before: the pod when its resize was planned. written: as the API server stored that. current: as it is now. Raises Refusal when another
    client has changed an amount since, for whatever that is, it is not ours.
    """
    former, left, now = (amounts_after(pod, ()) for pod in (before, written, current))
    if not _differences(now, former):
        return UndoPlan((), {}, (), ())
    differences = _differences(left, former)
    operations = tuple(
        # Without a limit, no request is a request of nothing.
        Change(field, container, own, amount or "0")
        for container, field, own, amount in differences
        if not (amount is None and (_is_limit(field) or quantities.is_equal(own, "0")))
    )
    remaining = tuple(
        f"{field} of {container} stays {own}, for Kubernetes removes no limit from a running pod"
        for container, field, own, amount in differences
        if amount is None and _is_limit(field)
    )
    if not _differences(now, amounts_after(written, operations)):
        return UndoPlan((), {}, (), remaining)
    others = [
        f"{field} of {container} is {actual or 'unset'} and was left as {own or 'unset'}"
        for container, field, own, actual in _differences(left, now)
    ]
    if others:
        raise Refusal(f"another client changed it since: {'; '.join(others)}")
    found = containers_of(current["spec"])
    patch = strategic_patch(current, found, operations)
    return UndoPlan(operations, patch, tuple(find_restarts(found, operations)), remaining)


def _is_limit(field: str) -> bool:
    return field.startswith("limits.")


def added_limits(operations: t.Iterable[Change]) -> list[str]:
    """The limits that containers get that had none, which cannot be taken back."""
    return [
        f"{operation.field} of {operation.key}"
        for operation in operations
        if operation.before is None and _is_limit(operation.field)
    ]


def unfinished_changes(pod: Pod, containers: t.Collection[str]) -> tuple[Change, ...]:
    """What would make the spec of a pod what its containers run with, as far as its status has that: of a resize that is not done.

    containers: the names of those that matter.
    """
    requested, statuses = amounts_after(pod, ()), container_statuses(pod)
    running = {
        name: {f"{kind}.{key}": str(value) for kind, own in found.items() for key, value in (own or {}).items()}
        for name in containers
        for found in [(statuses.get(name) or {}).get("resources") or {}]
    }
    return tuple(
        Change(field, container, wanted, actual)
        for container, field, wanted, actual in _differences(requested, running)
        if container in running and wanted is not None and actual is not None
    )


def undo_command(pod: Pod, operations: t.Iterable[Change], subresource: str) -> str:
    """The command that gives a pod the amounts in operations. subresource: the one that resizes it, with its slash; empty for none."""
    patch = strategic_patch(pod, containers_of(pod["spec"]), operations)
    del patch["metadata"]
    if not patch["spec"]:
        return ""
    metadata = pod["metadata"]
    words = ["kubectl", "--namespace", metadata.get("namespace", "default"), "patch", "pod", metadata["name"]]
    words += [f"--subresource={subresource.lstrip('/')}"] if subresource else []
    return shlex.join([*words, "--patch", json.dumps(patch)])


def _differences(one: AmountsByContainer, other: AmountsByContainer) -> list[tuple[str, str, str | None, str | None]]:
    """Container, field and both amounts of what is not the same; only of containers that both have."""
    return [
        (container, field, amounts.get(field), other[container].get(field))
        for container, amounts in one.items()
        if container in other
        for field in FIELDS
        if not quantities.is_equal(amounts.get(field), other[container].get(field))
    ]

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of one node's labels, taints or extended resources: its object and a desired state in, a JSON Patch out.

What the three have in common stands here; what differs is a C(Kind), in a file of its own. The record of what we own is
an annotation of the node, written by the same patch as the values.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ..common import ownership
from ..common.errors import KubeadmError, Refusal
from ..common.ownership import Change, Owned
from ..documents import json_patch
from ..documents.json_patch import PatchOperation
from ..kubernetes import names as node_names

Node = dict[str, t.Any]
Keys = dict[str, t.Any]
OWNED = "owned"  # the field of an operation that changes our record alone


@dataclasses.dataclass(frozen=True)
class Kind:
    """What a node has of one kind.

    field: its name in options, operations and messages.
    annotation: where the record of what we own is kept.
    place: where the Node has it, from the top.
    subresource: where patches go; empty for the node itself.
    parse: checks the option's value, for a state, and returns the desired values by key, None to remove a key. Raises Refusal.
    live: what a node has, by key.
    part: what stands in that place for some keys, as the Node has it.
    edits: the operations that make changes of a node.
    visible: what is to be waited for: C(live), or what the kubelet makes of it.
    needs_kubelet: whether only a running kubelet makes it visible.
    foreign: the keys of a node that are not ours to change, each with the reason.
    warning: what a change means that users may not expect; empty for most.
    """

    field: str
    annotation: str
    place: tuple[str, str]
    subresource: str
    parse: t.Callable[[t.Any, str], Keys]
    live: t.Callable[[Node], Keys]
    part: t.Callable[[Node, t.Container[str]], t.Any]
    edits: t.Callable[[Node, t.Sequence[Change]], list[PatchOperation]]
    visible: t.Callable[[Node], Keys]
    needs_kubelet: bool = False
    foreign: t.Callable[[Node], t.Mapping[str, str]] = lambda _node: {}
    warning: t.Callable[[Change], str] = lambda _change: ""


@dataclasses.dataclass(frozen=True)
class Desired:
    """The desired state of one node. values: by key, None to remove. state: as in C(ownership.resolve).

    purge: whether everything that we own and the values do not name goes back. is_named: whether the task names anything for this node.
    """

    values: Keys
    state: str
    purge: bool
    is_named: bool = True


@dataclasses.dataclass(frozen=True)
class DesiredStates:
    """The desired states of all nodes: of those that a task selects, and of those it names one by one."""

    common: Desired
    per_node: t.Mapping[str, Desired]

    def of(self, node: str) -> Desired:
        """The desired state of one node."""
        return self.per_node.get(node, self.common)


@dataclasses.dataclass(frozen=True)
class NodePlan:
    """What will be done to one node.

    operations: what changes, for the user. patch: the same for the API. Both are empty when there is nothing to do.
    desired: what the node has to show in the end, by key, for everything that the task names or changes.
    left_alone: the keys that we own, and that stand there as we set them, where the task names nothing for the node.
    """

    node: str
    operations: tuple[Change, ...]
    patch: tuple[PatchOperation, ...]
    desired: Keys
    warnings: tuple[str, ...]
    left_alone: tuple[str, ...] = ()


def parse_desired(kind: Kind, params: t.Mapping[str, t.Any]) -> DesiredStates:
    """Turn module parameters into desired states. Raises Refusal for what no node could take."""
    common, per_node = params[kind.field], params["per_node"] or {}
    state, purge = params["state"], params["purge"]
    settings = {
        node_names.check_node("per_node", name): (entry or {}).get(kind.field) for name, entry in per_node.items()
    }
    if state == "present" and common is None and not per_node:
        raise Refusal(
            f"{kind.field} is required with state=present; an empty one together with purge removes what this collection owns."
        )
    shared = kind.parse(common, state) if common is not None else {}
    return DesiredStates(
        common=_desired(shared, common is not None, state, purge),
        per_node={
            name: _desired(
                {**shared, **(kind.parse(own, state) if own is not None else {})},
                common is not None or own is not None,
                state,
                purge,
            )
            for name, own in settings.items()
        },
    )


def _desired(values: Keys, given: bool, state: str, purge: bool) -> Desired:
    # An option that is not given means nothing, and with C(absent) everything; an empty one must not revert everything there.
    return Desired(values, state, (purge and given) or (state == "absent" and not given), given)


def plan(kind: Kind, node: Node, desired: Desired) -> NodePlan:
    """Work out a desired state against a node. Raises KubeadmError for what cannot be done there."""
    name = node_name(node)
    foreign, live = kind.foreign(node), kind.live(node)
    for key, value in desired.values.items():
        if key in foreign and desired.state == "present" and (kind.needs_kubelet or value != live.get(key)):
            raise Refusal(f"{name}: {kind.field} {key} is not changed: {foreign[key]}.")
    owned_keys = read_record(kind, node)
    record = {key: owned for key, owned in owned_keys.items() if key not in foreign}
    resolution = ownership.resolve(
        desired={kind.field: desired.values},
        live={kind.field: live},
        record={kind.field: record},
        state=desired.state,
        complete=(kind.field,) if desired.purge else (),
    )
    after = resolution.record.get(kind.field, {})
    changed = {change.key: change.after for change in resolution.changes}
    patch = [
        *json_patch.edit_members(("metadata", "annotations"), _annotations(node), {kind.annotation: _dump(after)}),
        *kind.edits(node, resolution.changes),
    ]
    return NodePlan(
        node=name,
        operations=(*resolution.changes, *_record_changes(owned_keys, after, changed)) if patch else (),
        patch=tuple(patch),
        desired={**{key: live.get(key) for key in desired.values if key not in foreign}, **changed},
        warnings=(
            *(f"{name}: {warning}" for warning in resolution.warnings),
            *(f"{name}: {text}" for text in map(kind.warning, resolution.changes) if text),
            *(f"{name}: {kind.field} {key} is left alone: {foreign[key]}." for key in owned_keys if key in foreign),
        ),
        left_alone=() if desired.is_named or desired.purge else _unchanged_keys(owned_keys, live),
    )


def _unchanged_keys(owned_keys: t.Mapping[str, Owned], live: Keys) -> tuple[str, ...]:
    """What we own that still stands there as we set it: what another has changed since does not stay ours."""
    return tuple(sorted(key for key, owned in owned_keys.items() if live.get(key) == owned.set))


def _record_changes(before: t.Mapping[str, Owned], after: t.Mapping[str, Owned], changed: Keys) -> list[Change]:
    """What we come to own, or no longer own, without a change of the value."""
    return [
        Change(OWNED, key, _owned_value(before.get(key)), _owned_value(after.get(key)))
        for key in sorted({*before, *after} - set(changed))
        if before.get(key) != after.get(key)
    ]


def _owned_value(owned: Owned | None) -> t.Any:
    return None if owned is None else owned.set


def node_name(node: Node) -> str:
    """The name of a node."""
    return str(node["metadata"]["name"])


def _annotations(node: Node) -> Keys | None:
    found: Keys | None = node["metadata"].get("annotations")
    return found


def read_record(kind: Kind, node: Node) -> dict[str, Owned]:
    """What we own of one kind on a node."""
    text = (_annotations(node) or {}).get(kind.annotation)
    if text is None:
        return {}
    try:
        return ownership.load_record({kind.field: json.loads(text)})[kind.field]
    except (ValueError, TypeError, KeyError, AttributeError):
        raise KubeadmError(
            f"{node_name(node)}: the annotation {kind.annotation} does not hold what this collection writes: {text!r:.200}."
            " Without it, what this collection owns is not known: repair it, or remove it to disown what it records."
        ) from None


def _dump(record: dict[str, Owned]) -> str | None:
    if not record:
        return None
    return json.dumps(ownership.dump_record({"": record})[""], separators=(",", ":"))


def diff_views(kind: Kind, before: Node, after: Node) -> tuple[Node, Node]:
    """Both sides of a diff: a Node with what changes of one kind, what of it is ours, and our record where that changes."""
    before_values, then = kind.live(before), kind.live(after)
    ours = {*read_record(kind, before), *read_record(kind, after)}
    keys = {key for key in {*before_values, *then} if key in ours or before_values.get(key) != then.get(key)}
    records = [(_annotations(node) or {}).get(kind.annotation) for node in (before, after)]
    changed_records = records if records[0] != records[1] else [None, None]
    return _diff_view(kind, before, keys, changed_records[0]), _diff_view(kind, after, keys, changed_records[1])


def _diff_view(kind: Kind, node: Node, keys: t.Container[str], record: str | None) -> Node:
    found: Node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node_name(node)}}
    if record is not None:
        found["metadata"]["annotations"] = {kind.annotation: record}
    section, field = kind.place
    part = kind.part(node, keys)
    if part:
        found.setdefault(section, {})[field] = part
    return found


def missing_values(kind: Kind, node: Node, desired: Keys) -> list[str]:
    """The desired values that a node does not have yet: one text for each key."""
    found = kind.visible(node)
    return [
        f"{key} should be {_as_text(value)} and is {_as_text(found.get(key))}"
        for key, value in desired.items()
        if found.get(key) != value
    ]


def _as_text(value: t.Any) -> str:
    return "unset" if value is None else repr(value)


def is_ready(node: Node) -> bool:
    """Whether a kubelet runs that keeps the node's status up to date."""
    conditions = node.get("status", {}).get("conditions") or []
    return any(condition.get("type") == "Ready" and condition.get("status") == "True" for condition in conditions)


def kubelet_version(node: Node) -> str:
    """The version that the node's kubelet reports; empty before one has reported."""
    return str(node.get("status", {}).get("nodeInfo", {}).get("kubeletVersion", ""))

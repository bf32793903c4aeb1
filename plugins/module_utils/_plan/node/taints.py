# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Taints of a node, and the pods that a new one evicts. A taint is known by key and effect together, written C(key:effect)."""

from __future__ import annotations

import dataclasses
import typing as t

from ..common.errors import Refusal
from ..common.ownership import Change
from ..documents import json_patch
from ..kubernetes import names as node_names
from ..kubernetes import pods
from ..kubernetes.pods import Pod, Taint
from .plan import Keys, Kind, Node

NO_EXECUTE = "NoExecute"


def taint_key(key: str, effect: str) -> str:
    """How a taint is known."""
    return f"{key}:{effect}"


def taint_of(identity: str, value: str) -> Taint:
    """A taint as Kubernetes writes it."""
    key, _colon, effect = identity.rpartition(":")
    return {"key": key, **({"value": value} if value else {}), "effect": effect}


def _parse(option: t.Sequence[t.Mapping[str, t.Any]], state: str) -> Keys:
    values: Keys = {}
    for entry in option:
        key = node_names.check_taint(entry["key"])
        value = _desired_value(key, entry)
        if value is not None and not entry["effect"] and state == "present":
            raise Refusal(f"taints: {key} needs an effect ({', '.join(node_names.EFFECTS)}) to be set.")
        for effect in _effects(entry):
            identity = taint_key(key, effect)
            if values.get(identity, value) != value:
                raise Refusal(f"taints: {identity} is set twice, with different values.")
            values[identity] = value
    return values


def _effects(entry: t.Mapping[str, t.Any]) -> t.Sequence[str]:
    """Which effects an entry is about: without one, all."""
    return [entry["effect"]] if entry.get("effect") else node_names.EFFECTS


def _desired_value(key: str, entry: t.Mapping[str, t.Any]) -> str | None:
    if entry["state"] == "absent":
        return None
    # A taint without a value and one with an empty value are the same to Kubernetes.
    return "" if entry["value"] is None else node_names.text_value("taints", key, entry["value"])


def without_preserved(
    option: t.Sequence[t.Mapping[str, t.Any]], preserved: t.Container[str]
) -> list[t.Mapping[str, t.Any]]:
    """The option without the removal of some taints. preserved: their identities."""
    found: list[t.Mapping[str, t.Any]] = []
    for entry in option:
        if entry.get("state") == "absent":
            named = [{**entry, "effect": effect} for effect in _effects(entry)]
            found += [each for each in named if taint_key(each["key"], each["effect"]) not in preserved]
        else:
            found.append(entry)
    return found


def of_node(node: Node) -> list[Taint] | None:
    """The taints of a node as it holds them; None when it has no such list."""
    found: list[Taint] | None = node.get("spec", {}).get("taints")
    return found


def live(node: Node) -> Keys:
    """The values of a node's taints."""
    return {taint_key(taint["key"], taint["effect"]): taint.get("value") or "" for taint in of_node(node) or []}


def _select(node: Node, keys: t.Container[str]) -> list[Taint]:
    return [taint for taint in of_node(node) or [] if taint_key(taint["key"], taint["effect"]) in keys]


def _make_edits(node: Node, changes: t.Sequence[Change]) -> list[json_patch.PatchOperation]:
    if not changes:
        return []
    before = of_node(node)
    changed = {change.key: change.after for change in changes}
    # Taints of others stay as they are, with what else they hold, such as the time they were added.
    after = [taint for taint in before or [] if taint_key(taint["key"], taint["effect"]) not in changed]
    after += [taint_of(identity, value) for identity, value in changed.items() if value is not None]
    return json_patch.edit_value(("spec", "taints"), before, after or None)


def new_no_execute(changes: t.Iterable[Change]) -> list[Taint]:
    """The taints among changes that evict pods."""
    return [
        taint_of(change.key, change.after)
        for change in changes
        if change.field == TAINTS.field and change.after is not None and change.key.endswith(f":{NO_EXECUTE}")
    ]


TAINTS = Kind(
    field="taints",
    annotation="nodecraft.kubeadm/owned-taints",
    place=("spec", "taints"),
    subresource="",
    parse=_parse,
    live=live,
    part=_select,
    edits=_make_edits,
    visible=live,
)


# ---- evictions -------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Eviction:
    """A pod that goes. after: seconds that it is left on the node, 0 for none. controller: the kind that made it."""

    pod: str
    after: int
    controller: str

    def __str__(self) -> str:
        notes = [f"of a {self.controller}" if self.controller else "that nothing recreates"]
        if self.after:
            notes.append(f"after {self.after} s")
        return f"{self.pod} ({', '.join(notes)})"


def find_evictions(found: t.Iterable[Pod], taints: t.Sequence[Taint]) -> list[Eviction]:
    """The pods of a node that new taints evict, the cluster's network and name service first."""
    evictions = []
    for pod in sorted(found, key=lambda pod: (-pods.priority(pod), pods.full_name(pod))):
        after = _tolerated_seconds(pod, taints)
        if after is not None and pods.is_active(pod):
            evictions.append(Eviction(pods.full_name(pod), after, pods.controller_kind(pod)))
    return evictions


def _tolerated_seconds(pod: Pod, taints: t.Sequence[Taint]) -> int | None:
    """Seconds that a pod stays beside taints; None: for ever."""
    limits: list[int] = []
    for taint in taints:
        tolerations = pods.tolerations_of(pod, taint)
        if not tolerations:
            return 0
        seconds = [toleration.get("tolerationSeconds") for toleration in tolerations]
        limits += [max(0, int(value)) for value in seconds if value is not None]
    return min(limits) if limits else None

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans of nodes, as values that tests compare."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node import plan as node_plan
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.plan import Desired, Kind, NodePlan
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json

D = "example.com/dongle"


def owned(**keys: t.Any) -> str:
    """A record, from C(key=(set, original))."""
    return json.dumps(
        {key: {"set": value[0], "original": value[1]} for key, value in keys.items()}, separators=(",", ":")
    )


def planned(kind: Kind, found: Json, values: t.Any, state: str = "present", *, purge: bool = False) -> NodePlan:
    """The plan of a desired state for a node."""
    return node_plan.plan(kind, found, Desired(kind.parse(values, state), state, purge))


def summarized(made: NodePlan) -> list[tuple[str, str, t.Any, t.Any]]:
    """Its operations as plain values."""
    return [(change.field, change.key, change.before, change.after) for change in made.operations]

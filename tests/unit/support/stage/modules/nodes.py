# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for modules that change nodes through the API: answers as the host's C(stub_nodes) says, and notes the call.

C(stub_nodes): module -> nothing (the default), changes, off (a label that goes), both, or fails (as a whole). A list: one for each call, the last for
all that follow.
"""

from __future__ import annotations

import typing as t

from ..module_utils import stand_in

ON = {"field": "labels", "key": "a", "before": None, "after": "b"}
OFF = {"field": "labels", "key": "c", "before": "d", "after": None}
OPERATIONS = {"changes": [ON], "off": [OFF], "both": [ON, OFF]}


def main() -> t.NoReturn:
    """Change no node."""
    call = stand_in.StandIn()
    call.reach_machine()
    behaviour = call.said("stub_nodes", {}).get(call.component, "nothing")
    if isinstance(behaviour, list):
        before = sum(len(call.calls(step, call.component, call.host)) for step in ("plan", "change"))
        behaviour = behaviour[min(before, len(behaviour) - 1)]
    call.note()
    if behaviour == "fails":
        stand_in.answer({"failed": True, "changed": False, "msg": "there are no usable credentials", "nodes": {}})
    operations = OPERATIONS.get(behaviour, [])
    changes = bool(operations)
    node = {"changed": changes, "failed": False, "msg": "", "operations": operations}
    stand_in.answer({"changed": changes, "nodes": dict.fromkeys(call.arguments["per_node"], node)})


if __name__ == "__main__":
    main()

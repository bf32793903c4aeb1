# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for modules that change nodes through the API: returns what the host's C(stub_nodes) sets, and records the call.

C(stub_nodes): module -> nothing (the default), changes, off (a label that goes), both, fails (as a whole), or refuses NODE, because of which no other
node is tried. A list: one for each call, the last for all that follow.
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
    behaviour = call.variable("stub_nodes", {}).get(call.component, "nothing")
    if isinstance(behaviour, list):
        before = sum(len(call.calls(step, call.component, call.host)) for step in ("plan", "change"))
        behaviour = behaviour[min(before, len(behaviour) - 1)]
    call.record()
    if behaviour == "fails":
        stand_in.exit_json({"failed": True, "changed": False, "msg": "there are no usable credentials", "nodes": {}})
    refused = behaviour.partition("refuses ")[2]
    operations = OPERATIONS["changes"] if refused else OPERATIONS.get(behaviour, [])
    changes = bool(operations) and not refused
    node = {"changed": changes, "failed": False, "msg": "not tried" if refused else "", "operations": operations}
    nodes = dict.fromkeys(call.arguments["per_node"], node)
    if refused:
        nodes[refused] = {**node, "failed": True, "msg": f"{refused}: there is no node of this name", "operations": []}
    headers = ({"before_header": f"node/{name}", "after_header": f"node/{name}"} for name in nodes)
    diffs = [{**header, "before": "", "after": "a: b\n"} for header in headers] if changes else []
    failure = {"failed": True, "msg": f"1 of {len(nodes)} nodes failed"} if refused else {}
    stand_in.exit_json({"changed": changes, "nodes": nodes, "diff": diffs, **failure})


if __name__ == "__main__":
    main()

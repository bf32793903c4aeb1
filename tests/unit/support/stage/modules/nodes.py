# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for modules that change nodes through the API: answers as the host's C(stub_nodes) says, and notes the call.

C(stub_nodes): module -> nothing (the default), changes, or fails (as a whole).
"""

from __future__ import annotations

import typing as t

from ..module_utils import stand_in


def main() -> t.NoReturn:
    """Change no node."""
    call = stand_in.StandIn()
    call.reach_machine()
    call.note()
    behaviour = call.said("stub_nodes", {}).get(call.component, "nothing")
    if behaviour == "fails":
        stand_in.answer({"failed": True, "changed": False, "msg": "there are no usable credentials", "nodes": {}})
    changes = behaviour == "changes"
    operations = [{"field": "labels", "key": "a", "before": None, "after": "b"}] if changes else []
    node = {"changed": changes, "failed": False, "msg": "", "operations": operations}
    stand_in.answer({"changed": changes, "nodes": dict.fromkeys(call.arguments["per_node"], node)})


if __name__ == "__main__":
    main()

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for modules that change nodes through the API: answers as the host's C(stub_nodes) says, and notes the call.

C(stub_nodes): module -> nothing (the default), changes, waits (nothing, when the file beside the log is there), fails (as a whole), or gone.
"""

from __future__ import annotations

import os
import time
import typing as t

from ..module_utils import stand_in


def wait_for(path: str) -> None:
    """Wait until a file is there, for a minute at most."""
    for _round in range(600):
        if os.path.exists(path):
            return
        time.sleep(0.1)
    raise AssertionError(f"{path} never came")


def main() -> t.NoReturn:
    """Change no node."""
    call = stand_in.StandIn()
    call.reach_machine()
    call.note()
    behaviour = call.said("stub_nodes", {}).get(call.component, "nothing")
    if behaviour == "gone":
        stand_in.lose_connection()
    if behaviour == "waits":
        wait_for(os.environ["STUB_LOG"] + ".go")
    if behaviour == "fails":
        stand_in.answer({"failed": True, "changed": False, "msg": "there are no usable credentials", "nodes": {}})
    changes = behaviour == "changes"
    operations = [{"field": "labels", "key": "a", "before": None, "after": "b"}] if changes else []
    node = {"changed": changes, "failed": False, "msg": "", "operations": operations}
    stand_in.answer({"changed": changes, "nodes": dict.fromkeys(call.arguments["per_node"], node)})


if __name__ == "__main__":
    main()

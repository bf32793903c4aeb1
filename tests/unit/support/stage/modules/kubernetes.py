# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for kubernetes.core's C(k8s) and C(k8s_info), and for C(device_plugin_info): answers as variables say, notes the call.

C(stub_objects): kind -> the objects that are there. C(stub_same): nothing that is written changes anything.
C(stub_selected): the nodes that get the plugin; none fails. C(stub_problems): what is wrong after the deployment.
"""

from __future__ import annotations

import os
import typing as t

from ..module_utils import stand_in


def deployment(call: stand_in.StandIn) -> dict[str, t.Any]:
    """What is said of a device plugin on all its nodes."""
    selected = call.said("stub_selected", ["node-w1", "node-w2"])
    if not selected:
        return {"failed": True, "msg": "no node gets the device plugin"}
    waits = call.arguments.get("wait")
    problems = call.said("stub_problems", []) if waits else [f"{name}: nothing" for name in selected]
    return {
        "changed": False,
        "selected": selected,
        "problems": problems,
        "waited_seconds": 300.0 if problems else 0.0,
        "summary": problems or [f"{name}: example.com/dongle 4" for name in selected],
        "nodes": {name: {"problem": ""} for name in selected},
    }


def main() -> t.NoReturn:
    """Look at no cluster, and write into none."""
    call = stand_in.StandIn()
    call.note(environment={name: value for name, value in os.environ.items() if name.startswith("K8S_AUTH_")})
    if call.component == "k8s_info":
        found = call.said("stub_objects", {}).get(call.arguments["kind"], [])
        stand_in.answer({"changed": False, "resources": found})
    if call.component == "k8s":
        stand_in.answer({"changed": not call.said("stub_same", False)})
    stand_in.answer(deployment(call))


if __name__ == "__main__":
    main()

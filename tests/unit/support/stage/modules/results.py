# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for modules that one host asks for all: answers as a variable says, and notes the call.

C(stub_pods), C(stub_guard): the result of the module.
The defaults are pods that were resized with a template that differs, and a guard for one node.
"""

from __future__ import annotations

import typing as t

from ..module_utils import stand_in

DEFAULTS: dict[str, tuple[str, dict[str, t.Any]]] = {
    "pod_resize": (
        "stub_pods",
        {
            "changed": True,
            "pods": {name: {"outcome": "resized", "msg": ""} for name in ("web-1", "web-2")},
            "templates": {"Deployment/web": {"changed": False, "differs": True}},
        },
    ),
    "placement_guard": (
        "stub_guard",
        {
            "changed": True,
            "enforced": True,
            **{name: [] for name in ("added", "removed", "stale", "untainted")},
            "nodes": ["w1"],
            "summary": ["guard refuses; protected: w1"],
        },
    ),
}


def main() -> t.NoReturn:
    """Write nothing."""
    call = stand_in.StandIn()
    call.note()
    stand_in.answer(call.said(*DEFAULTS[call.component]))


if __name__ == "__main__":
    main()

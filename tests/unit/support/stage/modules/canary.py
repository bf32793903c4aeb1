# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for C(node_canary): the pod starts, and the call is recorded."""

from __future__ import annotations

import typing as t

from ..module_utils import stand_in


def main() -> t.NoReturn:
    """Start no pod."""
    call = stand_in.StandIn()
    call.reach_machine()
    call.record("canary", call.arguments["node"])
    steps = dict.fromkeys(("the creation of a pod", "the start of the pod", "the pod's log"), "")
    stand_in.exit_json({"changed": False, "steps": steps, "unverified": ""})


if __name__ == "__main__":
    main()

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for C(access_info): the account lacks the rights to what C(stub_denied) of its host lists, and the call is recorded."""

from __future__ import annotations

import typing as t

from ..module_utils import stand_in


def main() -> t.NoReturn:
    """Review no account."""
    call = stand_in.StandIn()
    call.reach_machine()
    call.record("review", "access")
    denied = call.variable("stub_denied", [])
    missing = [right for right in call.arguments["rights"] if right["resource"] in denied]
    stand_in.exit_json({"changed": False, "user": "runner", "missing": missing})


if __name__ == "__main__":
    main()

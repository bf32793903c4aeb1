# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for C(node_transaction): returns how the last change ended, as the stand-in that changed has recorded."""

from __future__ import annotations

import typing as t

from ..module_utils import stand_in


def _waits(call: stand_in.StandIn) -> bool:
    """Whether the node has not been handed yet what was observed of its last change."""
    if call.arguments.get("observed"):
        call.record("observed", call.arguments["name"])
        return False
    handed = call.calls("observed", call.arguments["name"], call.host)
    return len(handed) < len(call.calls("change", call.arguments["name"], call.host))


def main() -> t.NoReturn:
    """Without an ending, the engine does not run any more. No call is recorded but what the node was handed: how often the follower polls is its own affair."""
    call = stand_in.StandIn()
    change = call.calls("change", call.arguments["name"], call.host)[-1]
    if change["arguments"].get("observation_timeout") and change["ending"] == "committed" and _waits(call):
        stand_in.exit_json(
            {
                "changed": False,
                "phase": "observing",
                "message": "is healthy, waits until the run has observed it",
                "running": True,
                "transaction": None,
                "busy": False,
            }
        )
    ending = change["ending"]
    transaction = {
        "id": call.arguments.get("id") or call.arguments["observed"],
        "outcome": ending,
        "reason": "" if ending == "committed" else change["reason"] or "it did not become healthy",
        "healthy": True,
        "seconds": 1.0,
        "outage_seconds": 1.0,
        "proof": {"pid": 1, "uid": "u"},
    }
    stand_in.exit_json(
        {
            "changed": False,
            "phase": "closed" if ending else "waiting",
            "message": ending or "stopped, waiting for the new one",
            "running": False,
            "transaction": transaction if ending else None,
            "busy": False,
        }
    )


if __name__ == "__main__":
    main()

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for C(rollout_lease): returns what the host's variable C(stub_lease) sets, and records the call.

C(stub_lease): state -> well (the default), overtaken or silent.
What is C(renewed) is a second C(held) of the same run, which does not say who may be pushed out.
"""

from __future__ import annotations

import typing as t

from ..module_utils import stand_in

SILENT: dict[str, t.Any] = {"msg": "the API server did not answer for 60 s.", "api_reachable": False}


def main() -> t.NoReturn:
    """Hold no Lease."""
    call = stand_in.StandIn()
    arguments = call.arguments
    state = "renewed" if arguments["state"] == "held" and "takeover" not in arguments else arguments["state"]
    call.record("read" if call.dry else state, "lease")
    behaviour = call.variable("stub_lease", {}).get(state, "well")
    result = {
        "changed": True,
        "api_reachable": True,
        "holder": arguments["holder"] if state in ("held", "renewed") and not call.dry else None,
        "taken_over_from": "them" if behaviour == "overtaken" else None,
        "stale": behaviour == "overtaken",
        "waited_seconds": 0.0,
    }
    if behaviour == "silent":
        result.update(holder=None, failed=True, changed=False, **SILENT)
    stand_in.exit_json(result)


if __name__ == "__main__":
    main()

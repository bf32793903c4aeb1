# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for kubernetes.core's C(k8s): records the call.

C(stub_same): nothing that is written changes anything. C(stub_unwritable): the kind that cannot be written.
"""

from __future__ import annotations

import os
import typing as t

from ..module_utils import stand_in


def main() -> t.NoReturn:
    """Write into no cluster."""
    call = stand_in.StandIn()
    call.record(environment={name: value for name, value in os.environ.items() if name.startswith("K8S_AUTH_")})
    if call.variable("stub_unwritable", "") in [each["kind"] for each in call.arguments["definition"]]:
        stand_in.exit_json({"failed": True, "msg": "it cannot be written"})
    stand_in.exit_json({"changed": not call.variable("stub_same", False)})


if __name__ == "__main__":
    main()

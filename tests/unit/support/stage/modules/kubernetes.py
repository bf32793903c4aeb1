# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for kubernetes.core's C(k8s): notes the call.

C(stub_same): nothing that is written changes anything. C(stub_unwritable): the kind that cannot be written.
"""

from __future__ import annotations

import os
import typing as t

from ..module_utils import stand_in


def main() -> t.NoReturn:
    """Write into no cluster."""
    call = stand_in.StandIn()
    call.note(environment={name: value for name, value in os.environ.items() if name.startswith("K8S_AUTH_")})
    if call.said("stub_unwritable", "") in [each["kind"] for each in call.arguments["definition"]]:
        stand_in.answer({"failed": True, "msg": "it cannot be written"})
    stand_in.answer({"changed": not call.said("stub_same", False)})


if __name__ == "__main__":
    main()

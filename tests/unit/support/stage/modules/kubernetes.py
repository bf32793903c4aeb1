# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for kubernetes.core's C(k8s): notes the call.

C(stub_same): nothing that is written changes anything.
"""

from __future__ import annotations

import os
import typing as t

from ..module_utils import stand_in


def main() -> t.NoReturn:
    """Write into no cluster."""
    call = stand_in.StandIn()
    call.note(environment={name: value for name, value in os.environ.items() if name.startswith("K8S_AUTH_")})
    stand_in.answer({"changed": not call.said("stub_same", False)})


if __name__ == "__main__":
    main()

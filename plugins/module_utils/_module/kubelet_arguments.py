# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The argument specs of the modules about kubelets."""

from __future__ import annotations

import typing as t

_TAINT = {
    "key": {"type": "str", "required": True, "no_log": False},
    "value": {"type": "raw"},
    "effect": {"type": "str", "required": True, "choices": ["NoSchedule", "PreferNoSchedule", "NoExecute"]},
}


def kubelet_settings() -> dict[str, t.Any]:
    """What is set of a kubelet, and whether the rest of ours goes."""
    return {
        "feature_gates": {"type": "dict"},
        "config": {"type": "dict"},
        "args": {"type": "dict"},
        "register_with_taints": {"type": "list", "elements": "dict", "options": _TAINT},
        "purge": {"type": "bool", "default": False},
        "adopt": {"type": "bool", "default": False},
    }

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files in which a kubelet remembers the policies of its resource managers."""

from __future__ import annotations

from .engine_errors import Damaged
from .files import read_json


def named_policy(path: str) -> str | None:
    """The policy that a kubelet's state file was written under, in small letters; None without a file, and empty for one
    that names none. Damaged ones are the kubelet's to judge."""
    try:
        data = read_json(path)
    except (Damaged, OSError):
        return ""
    if data is None:
        return None
    name = data.get("policyName") if isinstance(data, dict) else None
    return name.lower() if isinstance(name, str) else ""

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Argument specs that several modules share. The doc fragment C(transaction) describes them."""

from __future__ import annotations

import typing as t


def transaction_options() -> dict[str, t.Any]:
    """How a change of a node is rehearsed, waited for and ended."""
    return {
        "rehearse": {"type": "bool", "default": True},
        "rollback": {"type": "bool", "default": True},
        "wait_timeout": {"type": "int", "default": 300},
        "min_ready_seconds": {"type": "int", "default": 10},
        "confirm": {"type": "bool", "default": False},
        "confirm_timeout": {"type": "int", "default": 60},
        "confirm_url": {"type": "str"},
        "confirm_ca_cert": {"type": "path"},
        "lock_timeout": {"type": "int", "default": 0},
    }

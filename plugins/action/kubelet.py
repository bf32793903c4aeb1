# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the module C(kubelet) and follows the node's transaction to its end."""

from __future__ import annotations

from ..plugin_utils._controller.transaction_follower import TransactionFollower


class ActionModule(TransactionFollower):
    """The follower, under the name by which Ansible loads it."""

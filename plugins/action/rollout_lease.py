# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the module C(rollout_lease) with the credentials that the controller knows of, and shows whom it waits for."""

from __future__ import annotations

from ..plugin_utils._controller.lease_holder import LeaseWaiter


class ActionModule(LeaseWaiter):
    """The waiter, under the name by which Ansible loads it."""

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the module C(static_pod_plan) when nothing else is at work on the node."""

from __future__ import annotations

from ..plugin_utils._controller.confirmer import StaticPodPlanner


class ActionModule(StaticPodPlanner):
    """The planner, under the name by which Ansible loads it."""

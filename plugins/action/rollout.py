# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Takes one step of a rollout, which the module C(rollout) documents."""

from __future__ import annotations

from ..plugin_utils._controller.rollout_steps import RolloutSteps


class ActionModule(RolloutSteps):
    """The steps, under the name by which Ansible loads it."""

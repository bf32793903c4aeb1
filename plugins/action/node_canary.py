# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the module C(node_canary) with the credentials that the controller knows of."""

from __future__ import annotations

from ..plugin_utils._controller.api_credentials import ApiCredentials


class ActionModule(ApiCredentials):
    """The credentials, under the name by which Ansible loads it."""

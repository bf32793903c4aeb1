# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: desired_state
short_description: (internal) Read the desired state that variables name
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
description:
  - Reads the settings of a role for which there is a variable. The roles use it, because what no variable names is left alone.
  - With C(short_restarts), C(control_planes) is how many control planes the inventory has.
  - The name of a variable tells whether it is there. One that cannot be worked out is an error, while the test C(defined) takes it for one that
    is not there.
options:
  _terms:
    description: The role.
    type: list
    elements: str
    choices:
      - control_plane
      - node_kubelet
      - node_resources
    required: true
"""

EXAMPLES = r"""
- name: Show what variables name of the kubelet
  ansible.builtin.debug:
    msg: "{{ lookup('nodecraft.kubeadm.desired_state', 'node_kubelet') }}"
  vars:
    node_kubelet_config:
      maxPods: 200
"""

RETURN = r"""
_list:
  description: By setting, which is the name of the variable without that of the role, its value.
  type: list
  elements: dict
  sample:
    - config:
        maxPods: 200
"""

import typing as t

from ansible.plugins.lookup import LookupBase

from ..module_utils._plan.common import role_variables
from ..module_utils._plan.common.plain import to_plain
from ..module_utils._plan.kubernetes import control_plane_nodes

_SHORT_RESTARTS = "short_restarts"  # a setting whose meaning depends on the number of control planes


class LookupModule(LookupBase):
    """The lookup, under the name that Ansible looks for."""

    def run(
        self, terms: t.Sequence[str], variables: t.Mapping[str, t.Any] | None = None, **_options: t.Any
    ) -> list[dict[str, t.Any]]:
        """The settings of each role."""
        known = variables or {}
        templar: t.Any = self._templar
        found = [
            {
                name.removeprefix(f"{role}_"): to_plain(templar.template(known[name]))
                for name in role_variables.SETTINGS[role]
                if name in known
            }
            for role in terms
        ]
        for settings in found:
            if _SHORT_RESTARTS in settings:
                group = templar.template(known.get(control_plane_nodes.GROUP_VARIABLE, control_plane_nodes.GROUP))
                settings["control_planes"] = len(control_plane_nodes.of_inventory(known["groups"], str(group)))
        return found

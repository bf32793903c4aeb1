# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ..module_utils._plan.kubernetes import coverage

DOCUMENTATION = r"""
name: unreachable_objection
short_description: Tell why hosts that cannot be reached must not be left out of a run
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
description:
  - Some workers of many may be left out of a run. A control plane never is.
positional: grouped
options:
  _input:
    description: The hosts that cannot be reached, each with the reason.
    type: dict
    required: true
  grouped:
    description: Hosts that the inventory names as control planes, whether they take part or not.
    type: list
    elements: str
    required: true
  hosts:
    description: All hosts of the run.
    type: list
    elements: str
    required: true
  limit:
    description: How many hosts may be left out.
    type: int
    required: true
  variable:
    description: The variable that says so, for the message.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Ensure that enough hosts can be reached
  ansible.builtin.assert:
    that: objection == ''
    fail_msg: "{{ objection }}"
  vars:
    objection: >-
      {{ {'w7': 'timed out'} | nodecraft.kubeadm.unreachable_objection(groups['kube_control_plane'], hosts=ansible_play_hosts, limit=1,
                                                                      variable='max_unreachable') }}
"""

RETURN = r"""
_value:
  description: The hosts and what to do; empty when they may be left out.
  type: str
"""


class FilterModule:
    """The filter, under the name that Ansible looks for."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """By name."""
        return {"unreachable_objection": coverage.objection}

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import dataclasses
import typing as t

from ..module_utils._plan.kubernetes import control_planes

DOCUMENTATION = r"""
name: control_plane_absence
short_description: Judge a run in which no host is a control plane
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
description:
  - Settings of control planes reach nobody when the inventory names no control plane.
positional: grouped, settings
options:
  _input:
    description: Names of the control planes that the API knows.
    type: list
    elements: str
    required: true
  grouped:
    description: Hosts that the inventory names as control planes, whether they take part or not.
    type: list
    elements: str
    required: true
  settings:
    description: Variables that are for control planes, with their values. An empty one asks for nothing.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Ensure that the settings reach the control planes
  ansible.builtin.assert:
    that: absence.refusal == ''
    fail_msg: "{{ absence.refusal }}"
  vars:
    absence: "{{ ['cp1'] | nodecraft.kubeadm.control_plane_absence([], {'control_plane_feature_gates': {'A': true}}) }}"
"""

RETURN = r"""
_value:
  description: What to tell, as C(warning), and why the run has to be refused, as C(refusal). Both are empty when there is nothing to tell.
  type: dict
"""


class FilterModule:
    """The filter, under the name that Ansible looks for."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """By name."""
        return {"control_plane_absence": _absence}


def _absence(found: t.Sequence[str], grouped: t.Sequence[str], settings: t.Mapping[str, t.Any]) -> dict[str, str]:
    return dataclasses.asdict(control_planes.absence(found, grouped, settings))

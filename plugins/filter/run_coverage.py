# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import dataclasses
import typing as t

from ..module_utils._plan.kubernetes import coverage

DOCUMENTATION = r"""
name: run_coverage
short_description: Judge which nodes of its cluster a run reaches
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
description:
  - Settings of control planes have no effect when the inventory names no control plane, and a control plane that cannot be reached must not be
    left out.
positional: reached
options:
  _input:
    description: All nodes that the API knows, as C(nodes) of M(nodecraft.kubeadm.node_resource_info). V(null) when it does not tell.
    type: dict
    required: true
  reached:
    description: Names of the nodes of the run.
    type: list
    elements: str
    required: true
  left_out:
    description: Hosts of the run that cannot be reached.
    type: list
    elements: str
    default: []
  grouped:
    description: Hosts that the inventory names as control planes, whether they take part or not.
    type: list
    elements: str
    default: []
  has_control_plane:
    description: Whether a node of the run is a control plane.
    type: bool
    default: false
  settings:
    description: Variables that are for control planes, with their values. An empty one asks for nothing.
    type: dict
"""

EXAMPLES = r"""
- name: Ask the API for all nodes
  nodecraft.kubeadm.node_resource_info:
    requested: false
  register: found

- name: Show which of them this run does not name
  ansible.builtin.debug:
    msg: "{{ coverage.missing }}"
  vars:
    coverage: "{{ found.nodes | nodecraft.kubeadm.run_coverage(['cp1', 'w1'], has_control_plane=true) }}"
"""

RETURN = r"""
_value:
  description: >-
    What to tell, as C(warning), why the run has to be refused, as C(refusal), the nodes that it does not name, as C(missing), and a line about
    them, as C(told). Each is empty when there is nothing to tell.
  type: dict
"""


class FilterModule:
    """The filter, under the name that Ansible looks for."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """By name."""
        return {"run_coverage": _judge}


def _judge(
    nodes: t.Mapping[str, t.Mapping[str, t.Any]] | None, reached: t.Collection[str], **more: t.Any
) -> dict[str, t.Any]:
    found = coverage.judge(nodes, reached, **more)
    return {
        **dataclasses.asdict(found),
        "missing": list(found.missing),
        "told": coverage.told_missing(found.missing),
    }

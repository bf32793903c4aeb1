# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ..module_utils._plan.common.plain import plain
from ..module_utils._plan.node import report

DOCUMENTATION = r"""
name: node_outcome
short_description: Tell what became of one node in tasks for many nodes
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
description:
  - A task that failed as a whole says nothing of single nodes, so its message stands for each of them.
positional: results
options:
  _input:
    description: Name of the node.
    type: str
    required: true
  results:
    description:
      - The results of P(nodecraft.kubeadm.node_taint#module), P(nodecraft.kubeadm.node_extended_resource#module) and
        P(nodecraft.kubeadm.node_label#module), each under a name that is free. Empty for a task that did not run.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Keep what became of w1
  ansible.builtin.set_fact:
    outcome: "{{ 'w1' | nodecraft.kubeadm.node_outcome({'taints': tainted, 'labels': labelled}) }}"
"""

RETURN = r"""
_value:
  description: The name of the node as C(node), and under the name of each result what it says of the node; V(null) for a task that did not run.
  type: dict
"""


class FilterModule:
    """The filter, under the name that Ansible looks for."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """By name."""
        return {"node_outcome": _outcome}


def _outcome(node: str, results: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return report.outcome(node, plain(results))

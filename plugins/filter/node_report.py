# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ..module_utils._plan.common.plain import plain
from ..module_utils._plan.node import report

DOCUMENTATION = r"""
name: node_report
short_description: Tell what became of nodes, as lines
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
description:
  - One line for each operation and each message. The role C(node_resources) ends with it.
options:
  _input:
    description: What became of each node, as P(nodecraft.kubeadm.node_outcome#filter) tells it.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Show what became of the node
  ansible.builtin.debug:
    msg: "{{ [node_resources_report] | nodecraft.kubeadm.node_report }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""


class FilterModule:
    """The filter, under the name that Ansible looks for."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """By name."""
        return {"node_report": _lines}


def _lines(reports: t.Sequence[t.Any]) -> list[str]:
    return report.lines(plain(reports))

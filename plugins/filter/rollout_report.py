# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ..module_utils._plan.common.plain import plain
from ..module_utils._plan.transaction import report

DOCUMENTATION = r"""
name: rollout_report
short_description: Tell what a rollout came to, as lines
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
description:
  - One line for each change, and one for each of its operations. The roles C(control_plane) and C(node_kubelet) end with it.
positional: kind
options:
  _input:
    description:
      - The report of each host, by its name. That of a kubelet is the result of the module P(nodecraft.kubeadm.kubelet#module); that of static
        pods has the results of P(nodecraft.kubeadm.static_pod#module) by component.
    type: dict
    required: true
  kind:
    description: Of what the reports are.
    type: str
    choices:
      - kubelets
      - static_pods
    required: true
  lost:
    description: The hosts whose connection broke in the middle of their change.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Show what became of the kubelets
  ansible.builtin.debug:
    msg: "{{ {inventory_hostname: node_kubelet_report} | nodecraft.kubeadm.rollout_report('kubelets') }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""

_KINDS = {"static_pods": report.static_pods, "kubelets": report.kubelets}


class FilterModule:
    """The filter, under the name that Ansible looks for."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """By name."""
        return {"rollout_report": _lines}


def _lines(reports: t.Mapping[str, t.Any], kind: str, lost: t.Sequence[str] = ()) -> list[str]:
    return _KINDS[kind](plain(reports), lost)

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ..module_utils._plan.common.plain import to_plain
from ..module_utils._plan.transaction.lease import slow_digest

DOCUMENTATION = r"""
name: desired_state_digest
short_description: (internal) Calculate a digest of a desired state
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
description:
  - Calculates a digest by which two runs recognize the same desired state. Calculating it is slow on purpose, so that secret values in
    it cannot be guessed. The role C(control_plane) uses it for the mark of a failed rollout.
options:
  _input:
    description: The desired state, as JSON can represent it.
    type: raw
    required: true
"""

EXAMPLES = r"""
- name: Show the digest
  ansible.builtin.debug:
    msg: "{{ {'kube-scheduler': {'args': {'v': '3'}}} | nodecraft.kubeadm.desired_state_digest }}"
"""

RETURN = r"""
_value:
  description: The digest, in hexadecimal digits.
  type: str
"""


class FilterModule:
    """The filter, under the name by which Ansible loads it."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """By name."""
        return {"desired_state_digest": _digest}


def _digest(desired: t.Any) -> str:
    return slow_digest(to_plain(desired))

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ..module_utils._plan.kubernetes import clusters

DOCUMENTATION = r"""
name: cluster_conflict
short_description: Tell why nodes cannot be changed in one run, because they belong to several clusters
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
description:
  - Nodes belong to one cluster when their kubelets trust a certificate in common. Where a kubelet names none, the servers have to be the same.
options:
  _input:
    description:
      - Names of hosts, each with the C(cluster) that M(nodecraft.kubeadm.kubelet), M(nodecraft.kubeadm.kubelet_info), M(nodecraft.kubeadm.static_pod)
        or M(nodecraft.kubeadm.static_pod_info) returned there. An empty one is passed over.
    type: dict
    required: true
notes:
  - Clusters whose kubelets trust the same certificate cannot be told apart by it.
"""

EXAMPLES = r"""
- name: Read the kubelets
  nodecraft.kubeadm.kubelet_info:
  register: found

- name: Ensure that all hosts of the play belong to one cluster
  ansible.builtin.assert:
    that: conflict == ''
    fail_msg: "{{ conflict }}"
  vars:
    conflict: "{{ dict(ansible_play_hosts | zip(ansible_play_hosts | map('extract', hostvars, ['found', 'cluster']))) | nodecraft.kubeadm.cluster_conflict }}"
"""

RETURN = r"""
_value:
  description: The clusters with their hosts, and what to do; empty when all hosts belong to one cluster.
  type: str
"""


class FilterModule:
    """The filter, under the name that Ansible looks for."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """By name."""
        return {"cluster_conflict": clusters.conflict}

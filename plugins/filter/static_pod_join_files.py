# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ..module_utils._plan.common.plain import to_plain
from ..module_utils._plan.static_pod import join_files

DOCUMENTATION = r"""
name: static_pod_join_files
short_description: (internal) List the files that a control plane needs before it joins
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
description:
  - Determines, from the desired state of each static pod, the files and directories that have to be on a node before C(kubeadm join) makes a control plane
    of it. The playbook C(nodecraft.kubeadm.join_files) uses it.
options:
  _input:
    description: What the filter P(nodecraft.kubeadm.static_pod_requests#filter) returns.
    type: dict
    required: true
seealso:
  - plugin: nodecraft.kubeadm.static_pod_requests
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show the paths
  ansible.builtin.debug:
    msg: "{{ (desired | nodecraft.kubeadm.static_pod_requests | nodecraft.kubeadm.static_pod_join_files).files | list }}"
  vars:
    desired:
      state: present
      static_pods: [kube-apiserver]
      feature_gates: {}
      admission_plugins: {}
      components:
        kube-apiserver:
          files:
            - path: /etc/kubernetes/audit/policy.yaml
              content: {apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata}]}
"""

RETURN = r"""
_value:
  description: >-
    C(files), by path with C(text), C(mode), C(owner), C(group) and C(sensitive); and C(directories), outermost first,
    each with the mode of one that is missing.
  type: dict
"""


class FilterModule:
    """The filter, under the name by which Ansible loads it."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """By name."""
        return {"static_pod_join_files": _join_files}


def _join_files(requests: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return join_files.join_files(to_plain(requests))

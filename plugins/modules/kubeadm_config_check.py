#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kubeadm_config_check
short_description: Verify a new kubeadm-config
description:
  - Verifies a new text of kubeadm-config on a control plane, and writes nothing. The role P(nodecraft.kubeadm.control_plane#role) uses it on
    every control plane before M(nodecraft.kubeadm.kubeadm_config).
  - The node's own kubeadm generates the manifests of its control plane from the present and from the new text, offline. They must differ in
    exactly O(changes), and O(settings) must be generated as they are in the node's manifests now.
  - Each static pod that changes is then rehearsed with the generated manifest by the program that it runs now.
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
extends_documentation_fragment:
  - nodecraft.kubeadm.transaction.info
  - nodecraft.kubeadm.transaction.actiongroup_node
  - nodecraft.kubeadm.versions
requirements:
  - PyYAML on the node, for C(ansible_python_interpreter) or for C(/usr/bin/python3)
  - systemd, and kubeadm's layout of kubelet and static pods
  - kubeadm on the node, of the version of its API server
options:
  before:
    description: Text of the key C(ClusterConfiguration) in the ConfigMap C(kube-system/kubeadm-config).
    type: str
    required: true
  after:
    description: The new text.
    type: str
    required: true
  settings:
    description: The settings to keep there, by static pod, field and key, each with its value as M(nodecraft.kubeadm.static_pod_info) returns it.
    type: dict
    required: true
  changes:
    description: The settings that differ between both texts.
    type: list
    elements: dict
    required: true
    suboptions:
      component:
        description: The static pod.
        type: str
        required: true
      field:
        description: Such as V(args).
        type: str
        required: true
      key:
        description: Such as V(audit-log-maxage).
        type: str
        required: true
seealso:
  - module: nodecraft.kubeadm.kubeadm_config
  - module: nodecraft.kubeadm.upgrade_check
"""

EXAMPLES = r"""
- name: Verify that kubeadm would generate only the argument that the node has now
  nodecraft.kubeadm.kubeadm_config_check:
    before: "{{ lookup('ansible.builtin.file', 'today.yaml') }}"
    after: "{{ lookup('ansible.builtin.file', 'new.yaml') }}"
    settings:
      kube-apiserver:
        args:
          audit-log-maxage: ["30"]
    changes:
      - component: kube-apiserver
        field: args
        key: audit-log-maxage
"""

RETURN = r"""
node:
  description: Name of the node.
  returned: success
  type: str
  sample: cp1
version:
  description: Version of its API server and of its kubeadm.
  returned: success
  type: str
  sample: v1.37.2
rehearsed:
  description: The static pods that were rehearsed, each with C(component), C(verdict), C(message) and C(seconds).
  returned: success
  type: list
  elements: dict
seconds:
  description: How long it took.
  returned: success
  type: float
"""

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.node_module import NodeModule
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.pyyaml import require_yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade.kubeadm_config_check import Check


def main() -> t.NoReturn:
    """Pass the reader to the runner."""
    # The key of a setting is its name, no secret.
    place = {name: {"type": "str", "required": True, "no_log": False} for name in ("component", "field", "key")}
    module = NodeModule(
        argument_spec={
            "before": {"type": "str", "required": True},
            "after": {"type": "str", "required": True},
            "settings": {"type": "dict", "required": True},
            "changes": {"type": "list", "elements": "dict", "options": place, "required": True},
        }
    )
    require_yaml(module)
    runner.run_info(module, Check(module.params, run=module.run).read_all)


if __name__ == "__main__":
    main()

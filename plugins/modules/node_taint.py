#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_taint
short_description: Manage taints of nodes
description:
  - Sets, changes and removes taints of many nodes at once. The role P(nodecraft.kubeadm.node_resources#role) runs it together with
    M(nodecraft.kubeadm.node_extended_resource) and M(nodecraft.kubeadm.node_label) for the hosts of a play.
  - Key and effect together identify a taint.
  - What a task does not name stays as it is. What this module sets is recorded in an annotation of
    the node, written by the same patch as the taints, so that it can be reverted.
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
extends_documentation_fragment:
  - nodecraft.kubeadm.auth
  - nodecraft.kubeadm.api
  - nodecraft.kubeadm.api.nodes
  - nodecraft.kubeadm.api.actiongroup_api
  - nodecraft.kubeadm.versions
notes:
  - The account needs the verbs C(get), C(list) and C(patch) on C(nodes), and C(list) on C(pods) for taints with the effect
    V(NoExecute).
options:
  taints:
    description:
      - The taints to set or to remove.
      - Taints that the node lifecycle controller or a cloud controller sets, such as C(node.kubernetes.io/not-ready), are refused.
    type: list
    elements: dict
    suboptions:
      key:
        description: Key of the taint.
        type: str
        required: true
      value:
        description: Value of the taint; none by default.
        type: raw
      effect:
        description:
          - What happens to pods that do not tolerate the taint. Required to set a taint; without it all effects of the key are
            removed.
        type: str
        choices:
          - NoSchedule
          - PreferNoSchedule
          - NoExecute
      state:
        description: V(absent) removes the taint, also one that something else set.
        type: str
        choices:
          - present
          - absent
        default: present
  per_node:
    description:
      - Settings of single nodes, by the node's name, each with a mapping that holds O(taints) in the form of that option.
      - It is merged over O(taints) key by key. The nodes need not be in O(nodes).
    type: dict
  allow_eviction:
    description:
      - Whether a new taint with the effect V(NoExecute) may evict pods. Otherwise a node where it would is refused, with the list
        of these pods.
    type: bool
    default: false
seealso:
  - module: nodecraft.kubeadm.node_label
  - module: nodecraft.kubeadm.node_extended_resource
  - module: nodecraft.kubeadm.node_resource_info
"""

EXAMPLES = r"""
- name: Keep pods away that do not tolerate the taint
  nodecraft.kubeadm.node_taint:
    nodes:
      - w1
    taints:
      - key: example.com/dongle
        effect: NoSchedule

- name: Evict all pods from a node that do not tolerate the taint
  nodecraft.kubeadm.node_taint:
    nodes:
      - w1
    taints:
      - key: example.com/maintenance
        effect: NoExecute
    allow_eviction: true

- name: Revert what this module set under one key
  nodecraft.kubeadm.node_taint:
    nodes:
      - w1
    taints:
      - key: example.com/maintenance
    state: absent

- name: Remove a taint, also one that something else set
  nodecraft.kubeadm.node_taint:
    nodes:
      - cp1
    taints:
      - key: node-role.kubernetes.io/control-plane
        state: absent
"""

RETURN = r"""
api:
  description: The API server that was used.
  returned: always
  type: dict
  contains:
    host:
      description: Name of the machine that sent the requests.
      type: str
    server:
      description: URL of the API server that answered last; V(null) when none did.
      type: str
  sample:
    host: cp1
    server: https://10.0.0.10:6443
nodes:
  description: The result of every node, by name.
  returned: always
  type: dict
  contains:
    changed:
      description: Whether the node was changed, or would be in check mode.
      type: bool
    failed:
      description: Whether the node failed.
      type: bool
    msg:
      description: Why it failed, or why it was not tried or not waited for. Empty otherwise.
      type: str
    operations:
      description: Every value that changes.
      type: list
      elements: dict
      contains:
        field:
          description: V(taints), or V(owned) for something that this collection no longer owns.
          type: str
        key:
          description: Key and effect of the taint, with a colon between them.
          type: str
        before:
          description: The former value; V(null) when it was not set.
          type: str
        after:
          description: The new value; V(null) when it is not set any more.
          type: str
        no_longer_desired:
          description: Whether it is reverted only because O(purge) is set and the task does not name it any more.
          returned: when it is so
          type: bool
    left_alone:
      description: The keys that this collection set earlier, where the task names nothing of the node, so that they stay.
      type: list
      elements: str
  sample:
    w1:
      changed: true
      failed: false
      msg: ""
      operations:
        - field: taints
          key: example.com/dongle:NoSchedule
          before:
          after: ""
unverified:
  description: What could not be verified, each entry with the reason. Each is a warning, too.
  returned: always
  type: list
  elements: str
  sample: []
diff:
  description:
    - The difference of each node that changes, as Nodes in YAML. Empty unless diff mode is on.
    - They have the taints that this collection set or that change, and the annotation that records the former, where it changes.
  returned: always
  type: list
  elements: dict
  contains:
    before_header:
      description: Which node it is, as kubectl names it. RV(diff[].after_header) is the same.
      type: str
    after_header:
      description: See RV(diff[].before_header).
      type: str
    before:
      description: The Node as it was read.
      type: str
    after:
      description: The Node as it is then.
      type: str
  sample:
    - before_header: node/w1
      after_header: node/w1
      before: |
        apiVersion: v1
        kind: Node
        metadata:
          name: w1
      after: |
        apiVersion: v1
        kind: Node
        metadata:
          annotations:
            nodecraft.kubeadm/owned-taints: '{"example.com/dongle:NoSchedule":{"set":"","original":null}}'
          name: w1
        spec:
          taints:
          - effect: NoSchedule
            key: example.com/dongle
rehearsal:
  description: Verdict of the API server on the change, from a dry run; in check mode only.
  returned: always
  type: dict
  contains:
    verdict:
      description: V(accepted), V(refused), V(skipped) or V(not_needed).
      type: str
    message:
      description: Its own message, or why there was no dry run.
      type: str
    seconds:
      description: How long it took.
      type: float
    command:
      description: Always empty here.
      type: list
      elements: str
    warnings:
      description: Always empty here. What the API server warns of is in C(warnings) of the result.
      type: list
      elements: str
"""

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.connection import connect
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.node_steps import NodeSteps
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.api_module import ApiModule, node_options
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.taints import TAINTS

_OPTION = {
    "type": "list",
    "elements": "dict",
    "options": {
        "key": {"type": "str", "required": True, "no_log": False},
        "value": {"type": "raw"},
        "effect": {"type": "str", "choices": ["NoSchedule", "PreferNoSchedule", "NoExecute"]},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    },
}


def main() -> t.NoReturn:
    """Pass the steps to the runner."""
    module = ApiModule(
        argument_spec={
            **node_options(TAINTS.field, _OPTION),
            "allow_eviction": {"type": "bool", "default": False},
        },
        required_one_of=[("nodes", "label_selector", "per_node")],
    )
    module.check_per_node(TAINTS.field, _OPTION)
    steps = NodeSteps(TAINTS, module.params, connect=lambda: connect(module), diff=module._diff)
    runner.run_steps(module, steps, rehearse=True)


if __name__ == "__main__":
    main()

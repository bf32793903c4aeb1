#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_extended_resource
short_description: Manage extended resources of nodes
description:
  - Sets, changes or removes the amounts of extended resources that nodes advertise, on many nodes at once. The role
    P(nodecraft.kubeadm.node_resources#role) runs it together with M(nodecraft.kubeadm.node_label) and M(nodecraft.kubeadm.node_taint) for the
    hosts of a play.
  - What a task does not name stays as it is. What this module sets is recorded in an annotation of the node, written by the
    same patch as the value, so that it can be reverted.
  - Amounts are compared by value, so V(1k) and V(1000) are the same.
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
  - The account needs the verbs C(get) and C(list) on C(nodes) and C(patch) on C(nodes/status), and C(list) on C(pods) for
    the warning of pods that no longer fit. With C(list) on C(leases) in C(kube-node-lease) it learns that the kubelet of a node has just stopped,
    whose Node is still Ready; without it a node that shows from the start what is desired is told as not verified.
  - The kubelet makes what a node advertises available to pods at its next update of the status, ten seconds later by default.
  - A smaller amount takes nothing from running pods, but a restarted kubelet rejects those that no longer fit. The module warns of them.
options:
  resources:
    description:
      - Amounts by name of the resource; whole numbers from 0 on. V(null) removes the resource, also one that something else set.
      - Names without a domain, or with C(kubernetes.io/) in it, are refused, because no pod could request them. So are resources that a device
        plugin advertises, because the kubelet would overwrite the number.
    type: dict
  per_node:
    description:
      - Settings of single nodes, by the node's name, each with a mapping that holds O(resources) in the form of that option.
      - It is merged over O(resources) key by key. The nodes need not be in O(nodes).
    type: dict
seealso:
  - module: nodecraft.kubeadm.node_label
  - module: nodecraft.kubeadm.node_taint
  - module: nodecraft.kubeadm.node_resource_info
"""

EXAMPLES = r"""
- name: Advertise four dongles on a node
  nodecraft.kubeadm.node_extended_resource:
    nodes:
      - w1
    resources:
      example.com/dongle: 4
    wait: true

- name: Advertise different amounts, and nothing else that this module set earlier
  nodecraft.kubeadm.node_extended_resource:
    per_node:
      w1:
        resources:
          example.com/dongle: 4
      w2:
        resources:
          example.com/dongle: 2
          example.com/licence: 10
    purge: true

- name: Revert everything that this module set on the nodes of a rack
  nodecraft.kubeadm.node_extended_resource:
    label_selector: example.com/rack=r7
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
          description: V(resources), or V(owned) for something that this collection no longer owns.
          type: str
        key:
          description: Name of the resource.
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
        - field: resources
          key: example.com/dongle
          before:
          after: "4"
unverified:
  description: What could not be verified, each entry with the reason. Each is a warning, too.
  returned: always
  type: list
  elements: str
  sample: []
diff:
  description:
    - The difference of each node that changes, as Nodes in YAML. Empty unless diff mode is on.
    - They have the extended resources that this collection set or that change, and the annotation that records the former, where it changes.
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
            nodecraft.kubeadm/owned-extended-resources: '{"example.com/dongle":{"set":"4","original":null}}'
          name: w1
        status:
          capacity:
            example.com/dongle: "4"
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
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.extended_resources import RESOURCES

_OPTION = {"type": "dict"}


def main() -> t.NoReturn:
    """Pass the steps to the runner."""
    module = ApiModule(
        argument_spec=node_options(RESOURCES.field, _OPTION),
        required_one_of=[("nodes", "label_selector", "per_node")],
    )
    module.check_per_node(RESOURCES.field, _OPTION)
    steps = NodeSteps(RESOURCES, module.params, connect=lambda: connect(module), diff=module._diff)
    runner.run_steps(module, steps, rehearse=True)


if __name__ == "__main__":
    main()

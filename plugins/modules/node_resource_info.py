#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_resource_info
short_description: Gather information about resources, labels and taints of nodes
description:
  - Reads for many nodes at once what they advertise, how much of it running pods request, their labels and taints, and what of it this
    collection set.
  - With O(readmission=true) it also returns the running pods that a restarted kubelet would reject.
  - With O(kubelets) it also returns the configuration that kubelets really use, and where it differs from what is expected.
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
extends_documentation_fragment:
  - nodecraft.kubeadm.auth
  - nodecraft.kubeadm.api.info
  - nodecraft.kubeadm.api.selection
  - nodecraft.kubeadm.api.actiongroup_api
  - nodecraft.kubeadm.versions
notes:
  - The account needs the verbs C(get) and C(list) on C(nodes), C(list) on C(pods) unless O(requested=false) and no other option needs
    them, and for O(kubelets) the verb C(get) on C(nodes/proxy).
options:
  requested:
    description:
      - Count what pods request of extended resources. With V(false) no pods are read, unless another option needs them.
    type: bool
    default: true
  readmission:
    description:
      - Check for pods that a restarted kubelet would reject.
    type: bool
    default: false
  restarted_nodes:
    description:
      - Nodes whose kubelets are to be restarted. They must be among the nodes that are read.
      - Used with O(readmission=true) only. By default these are all nodes that are read.
    type: list
    elements: str
  limits:
    description:
      - What kubelets will leave to pods after their next start, by node, as C(limits) of M(nodecraft.kubeadm.kubelet) in check mode.
        A node without an entry, or with V(null), keeps what it has.
      - Used with O(readmission=true) only.
    type: dict
  running:
    description:
      - Read the pods that run, to see after a restart of their kubelet what became of them.
    type: bool
    default: false
  running_before:
    description:
      - By node the pods that ran before its kubelet was restarted, as O(running) gave them. The result tells which of them were lost.
    type: dict
  kubelets:
    description:
      - Nodes whose running kubelets are queried for their configuration, by name, in addition to O(nodes). The API server proxies C(/configz) of
        the kubelet. Without O(nodes) only these nodes are read, or all of them with O(readmission=true).
      - The task fails when one of them cannot be read. The result has what could be read all the same.
      - For each node a mapping with C(feature_gates) and C(config), as in M(nodecraft.kubeadm.kubelet), of what the kubelet
        should have. It may be empty.
    type: dict
seealso:
  - module: nodecraft.kubeadm.kubelet
  - module: nodecraft.kubeadm.node_extended_resource
  - module: nodecraft.kubeadm.node_label
  - module: nodecraft.kubeadm.node_taint
"""

EXAMPLES = r"""
- name: Read what all nodes advertise
  nodecraft.kubeadm.node_resource_info:
  register: found

- name: Ensure that a restarted kubelet would reject no pod
  nodecraft.kubeadm.node_resource_info:
    nodes:
      - w1
    readmission: true
  register: found
  failed_when: found.nodes.w1.readmission | length > 0

- name: Ensure that the kubelet of a node really uses a setting
  nodecraft.kubeadm.node_resource_info:
    kubelets:
      w1:
        config:
          maxPods: 200
  register: found
  failed_when: found.nodes.w1.kubelet.differences | length > 0
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
  description: The nodes, by name. A task that failed has them, too, when only kubelets of O(kubelets) could not be read.
  returned: success
  type: dict
  contains:
    ready:
      description: Whether the node is Ready, which it is only while its kubelet runs.
      type: bool
    labels:
      description: All labels.
      type: dict
    taints:
      description: All taints, as the node has them.
      type: list
      elements: dict
    extended_resources:
      description: >-
        Extended resources by name, each with C(capacity), C(allocatable) and C(requested) (by the pods of the node), which are
        numbers as text, or V(null), as C(requested) is with O(requested=false); and C(device_plugin), whether the kubelet has it
        from a device plugin.
      type: dict
    owned:
      description: What this collection set, as C(labels), C(taints) (key and effect) and C(resources); the names only.
      type: dict
    readmission:
      description: >-
        The pods that a restarted kubelet would reject, each with C(pod) (namespace and name) and C(reason);
        V(null) unless O(readmission=true), and for nodes that are not in O(restarted_nodes).
      type: list
      elements: dict
    running:
      description: >-
        By UID the pods that run, each with C(pod) (namespace and name) and C(containers) (the IDs of those that run, by name);
        V(null) unless O(running=true).
      type: dict
    losses:
      description: What became of the pods that ran before; V(null) for nodes that O(running_before) does not name.
      type: dict
      contains:
        watched:
          description: How many ran before.
          type: int
        lost:
          description: Those that the kubelet rejected or stopped for good, each with C(pod) and C(reason).
          type: list
          elements: dict
        restarted:
          description: Those of which a container was ended and did not end by itself, each with C(pod) and C(reason).
          type: list
          elements: dict
        deleted:
          description: >-
            The names of those that do not exist any more. Why is not known: the controllers of DaemonSets and StatefulSets delete a pod
            that the kubelet rejected at once.
          type: list
          elements: str
        unknown:
          description: >-
            The names of those with a container that ended, and nothing shows how: the node was restarted meanwhile, or the container was
            replaced more than once.
          type: list
          elements: str
    kubelet:
      description: Configuration of the node's kubelet; V(null) for nodes that O(kubelets) does not name.
      type: dict
      contains:
        config:
          description: >-
            Its KubeletConfiguration with all defaults, and with flags and feature gates merged in; V(null) when it could not be read.
          type: dict
        differences:
          description: >-
            Where that is not what was expected, each with C(field) and C(key) as in M(nodecraft.kubeadm.kubelet), C(expected) and
            C(found). Durations and quantities are compared by value. What is expected to be V(null) is not compared.
          type: list
          elements: dict
        problem:
          description: Why the configuration could not be read, so that nothing was compared; V(null) when it was read.
          type: str
  sample:
    w1:
      ready: true
      labels:
        kubernetes.io/hostname: w1
      taints: []
      extended_resources:
        example.com/dongle:
          capacity: "4"
          allocatable: "4"
          requested: "3"
          device_plugin: false
      owned:
        labels: []
        taints: []
        resources:
          - example.com/dongle
      readmission:
      running:
      losses:
      kubelet:
"""

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.connection import connect
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.node_report import read_all
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.api_module import (
    ApiModule,
    concurrency_option,
    selection_options,
)


def main() -> t.NoReturn:
    """Pass the reader to the runner."""
    module = ApiModule(
        argument_spec={
            **selection_options(),
            "requested": {"type": "bool", "default": True},
            "readmission": {"type": "bool", "default": False},
            "restarted_nodes": {"type": "list", "elements": "str"},
            "limits": {"type": "dict"},
            "running": {"type": "bool", "default": False},
            "running_before": {"type": "dict"},
            "kubelets": {"type": "dict"},
            **concurrency_option(),
        }
    )
    runner.run_info(module, lambda: read_all(module.params, connect=lambda: connect(module), warn=module.warn))


if __name__ == "__main__":
    main()

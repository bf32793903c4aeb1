#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: device_plugin_info
short_description: Tell whether each node offers what its device plugin should make it offer
description:
  - Holds what nodes can give to pods against what is expected of them, and says of each node that differs why it does.
  - A DaemonSet that is rolled out tells nothing of the devices. A plugin may run and not be registered, have lost devices, or
    still be of an earlier revision.
  - The role P(nodecraft.kubeadm.device_plugin#role) ends with it. Use the module for plugins that something else deploys.
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
extends_documentation_fragment:
  - nodecraft.kubeadm.auth
  - nodecraft.kubeadm.api.info
  - nodecraft.kubeadm.api.actiongroup_api
  - nodecraft.kubeadm.versions
notes:
  - For V(nodes) of O(gather_subset) the account needs the verb C(list) on C(nodes), and in O(namespace) C(get) on C(daemonsets), and C(list)
    on C(pods) and C(controllerrevisions). With C(list) on C(events) and C(get) on C(pods/proxy) the reasons tell more.
  - For V(objects) and V(others) it needs C(get) on the namespace, on C(daemonsets) and C(secrets), and C(list) on C(configmaps). For V(others)
    of a namespace that the role made it needs C(list) on all kinds that are read. Of Secrets and of most other objects only the metadata is asked for.
  - The API hears of a kubelet that stops only after about a minute. Until then nodes seem to offer what they did; the plugin of this
    collection, asked through C(pods/proxy), says at once that it is not registered any more.
options:
  name:
    description: Name of the plugin's DaemonSet.
    type: str
    default: nodecraft-device-plugin
  namespace:
    description: Its namespace.
    type: str
    default: nodecraft-device-plugin
  gather_subset:
    description:
      - What is read. With V(nodes), what nodes offer, held against what is expected.
      - With V(objects), the objects of the plugin's deployment, as the role P(nodecraft.kubeadm.device_plugin#role) makes them.
      - With V(others), what else is in O(namespace), if that role made it. When nothing is there that the role did not make, it removes the
        namespace with the plugin.
    type: list
    elements: str
    choices:
      - nodes
      - objects
      - others
    default:
      - nodes
  node_selector:
    description:
      - Labels, with their values, of the nodes that get the plugin, as C(nodeSelector) of the DaemonSet. Every node when it is empty.
      - When no node has them, the task fails.
    type: dict
    default: {}
  tolerations:
    description: Tolerations of the DaemonSet. Nodes with other taints get no plugin.
    type: list
    elements: dict
    default:
      - operator: Exists
  expected:
    description:
      - What nodes are expected to offer. Of two entries for one node and resource the later one counts.
      - A selector that matches no node, and a node that gets no plugin, fail the task.
      - Of nodes without an entry it is only expected that the plugin is ready.
    type: list
    elements: dict
    default: []
    suboptions:
      resources:
        description:
          - Amounts by the names of extended resources, of what pods can be given (C(allocatable)).
          - A number is meant exactly; C(">=1") means at least so many.
        type: dict
        required: true
      nodes:
        description: Names of nodes. Without this and O(expected[].label_selector), the entry is for every node that gets the plugin.
        type: list
        elements: str
      label_selector:
        description: Selects nodes by their labels, in Kubernetes' syntax, besides O(expected[].nodes).
        type: str
  cdi:
    description:
      - Whether the plugin hands devices out by CDI, the Container Device Interface.
      - A node that gets the plugin and runs containerd before 1.7, which would start containers without them, fails the task. Of one
        before 2.0 it is warned that C(enable_cdi) has to be set in its configuration. Other runtimes are not judged.
    type: bool
    default: false
  wait:
    description: Wait until every node offers what is expected.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds to wait. They begin anew each time that there are fewer nodes left, because a rollout takes one after the other.
      - What is wrong then is told in RV(problems), and is no failure of this module.
    type: int
    default: 300
seealso:
  - module: nodecraft.kubeadm.node_resource_info
"""

EXAMPLES = r"""
- name: See that another vendor's plugin works on every node
  nodecraft.kubeadm.device_plugin_info:
    namespace: kube-system
    name: dongle-device-plugin
    node_selector:
      example.com/rack: r7
    expected:
      - resources:
          example.com/dongle: 4
      - nodes:
          - w3
        resources:
          example.com/dongle: ">=1"
    wait: true
  register: found
  failed_when: found.problems | length > 0
"""

RETURN = r"""
api:
  description: Who was asked.
  returned: always
  type: dict
  contains:
    host:
      description: Name of the machine that asked.
      type: str
    server:
      description: URL of the API server that answered last; V(null) when none did.
      type: str
  sample:
    host: cp1
    server: https://10.0.0.10:6443
selected:
  description: Names of the nodes that get the plugin. This and what else is said of nodes is empty without V(nodes) in O(gather_subset).
  returned: success
  type: list
  elements: str
problems:
  description: What is wrong, one text for each node with its name, what is expected, what was found and why. Empty when nothing is.
  returned: success
  type: list
  elements: str
summary:
  description: One line for each node.
  returned: success
  type: list
  elements: str
waited_seconds:
  description: How long it took until the last look.
  returned: success
  type: float
nodes:
  description: The selected nodes, by name.
  returned: success
  type: dict
  contains:
    pod:
      description: Namespace and name of the plugin's pod; V(null) when there is none.
      type: str
    expected:
      description: What is expected, by resource.
      type: dict
    capacity:
      description: How many devices the kubelet knows, healthy or not, of what is expected. A resource that is not registered is missing.
      type: dict
    allocatable:
      description: How many of them pods can be given.
      type: dict
    problem:
      description: What is wrong; empty when nothing is.
      type: str
  sample:
    w1:
      pod: nodecraft-device-plugin/nodecraft-device-plugin-x7k2p
      expected:
        example.com/dongle: "4"
      capacity:
        example.com/dongle: "4"
      allocatable:
        example.com/dongle: "3"
      problem: "example.com/dongle: expected 4, found 3: 1 of 4 devices are unhealthy (usb-A6008isP: it is not there any more)"
objects:
  description: >-
    The objects of the deployment that are there, with V(objects) in O(gather_subset): the namespace, the DaemonSet, the ConfigMaps with the
    plugin's files, also former ones, and the Secret with its token.
  returned: success
  type: list
  elements: dict
  contains:
    kind:
      description: Its kind.
      type: str
    name:
      description: Its name.
      type: str
    labels:
      description: Its labels.
      type: dict
    config_maps:
      description: Names of the ConfigMaps that the pods of the DaemonSet mount. Empty for other kinds.
      type: list
      elements: str
  sample:
    - kind: Namespace
      name: nodecraft-device-plugin
      labels:
        app.kubernetes.io/managed-by: nodecraft.kubeadm
      config_maps: []
others:
  description: What else is in the namespace, with V(others) in O(gather_subset), as in RV(objects). What the role made is listed, too.
  returned: success
  type: list
  elements: dict
"""

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.connection import connect
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.device_plugin_report import read
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.api_module import ApiModule, concurrency_option


def main() -> t.NoReturn:
    """Hand the reader to the runner."""
    module = ApiModule(
        argument_spec={
            "name": {"type": "str", "default": "nodecraft-device-plugin"},
            "namespace": {"type": "str", "default": "nodecraft-device-plugin"},
            "gather_subset": {
                "type": "list",
                "elements": "str",
                "choices": ["nodes", "objects", "others"],
                "default": ["nodes"],
            },
            "node_selector": {"type": "dict", "default": {}},
            "tolerations": {"type": "list", "elements": "dict", "default": [{"operator": "Exists"}]},
            "expected": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "resources": {"type": "dict", "required": True},
                    "nodes": {"type": "list", "elements": "str"},
                    "label_selector": {"type": "str"},
                },
            },
            "cdi": {"type": "bool", "default": False},
            "wait": {"type": "bool", "default": False},
            "wait_timeout": {"type": "int", "default": 300},
            **concurrency_option(),
        }
    )
    runner.run_info(module, lambda: read(module.params, connect=lambda: connect(module), warn=module.warn))


if __name__ == "__main__":
    main()

#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: device_plugin_info
short_description: Gather information about advertised devices
description:
  - Compares what nodes can give to pods with what is expected, and says why a node differs. The role
    P(nodecraft.kubeadm.device_plugin#role) ends with it; use the module for plugins that are deployed in another way.
  - A successful rollout of the DaemonSet does not mean that devices are there. A plugin may run and not be registered, have lost devices, or
    still be of an earlier revision.
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
    on C(pods) and C(controllerrevisions). With C(list) on all C(pods) it tells which of them ended. With C(list) on C(events) and C(get) on
    C(pods/proxy) the reasons are more detailed.
  - For V(objects) and V(others) it needs C(get) on the namespace, on C(daemonsets) and C(secrets), and C(list) on C(configmaps). For V(others)
    of a namespace that the role created it needs C(list) on all kinds that are read. Of Secrets and of most other objects only the metadata is
    read.
  - The API learns only after about a minute that a kubelet has stopped. Until then nodes seem to advertise what they did; the bundled plugin,
    queried through C(pods/proxy), says at once that it is no longer registered. For other plugins the module needs C(list) on C(leases) in
    C(kube-node-lease). A kubelet that runs renews the Lease of its node every ten seconds; one that was not renewed for longer is watched for
    12 seconds, and is a problem if it is not renewed then. So a kubelet that stopped less than 12 seconds ago may still count as running.
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
      - What is read. With V(nodes), what nodes advertise, compared with what is expected.
      - With V(objects), the objects of the plugin's deployment, as the role P(nodecraft.kubeadm.device_plugin#role) creates them.
      - With V(others), what else is in O(namespace), if that role created it. When the role created everything in it, it removes the namespace
        with the plugin.
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
      - What nodes are expected to advertise. Of two entries for one node and resource the later one counts.
      - A selector that matches no node, and a node that gets no plugin, fail the task.
      - On nodes without an entry the plugin is only expected to be ready.
    type: list
    elements: dict
    default: []
    suboptions:
      resources:
        description:
          - Amounts that pods can get (C(allocatable)), by the names of extended resources.
          - A number is exact; C(">=1") means at least 1.
        type: dict
        required: true
      nodes:
        description: Names of nodes. Without this and O(expected[].label_selector), the entry is for every node that gets the plugin.
        type: list
        elements: str
      label_selector:
        description: Selects nodes by their labels, in Kubernetes' syntax, in addition to O(expected[].nodes).
        type: str
  cdi:
    description:
      - Whether the plugin allocates devices by CDI, the Container Device Interface.
      - A node that gets the plugin and runs containerd before 1.7, which would start containers without them, fails the task. For one
        before 2.0 the task warns that C(enable_cdi) must be set in its configuration. Other runtimes are not checked.
    type: bool
    default: false
  wait:
    description: Wait until every node advertises what is expected.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds to wait. They start again whenever a node is done, because a rollout handles one after the other.
      - What is wrong then is in RV(problems), and does not fail this module.
    type: int
    default: 300
seealso:
  - module: nodecraft.kubeadm.node_resource_info
"""

EXAMPLES = r"""
- name: Check that a third-party plugin works on every node
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
selected:
  description: Names of the nodes that get the plugin. This and all other values about nodes are empty
    without V(nodes) in O(gather_subset).
  returned: success
  type: list
  elements: str
problems:
  description: What is wrong, one text for each node with its name, what is expected, what was found and why. Empty when nothing is.
  returned: success
  type: list
  elements: str
ended_pods:
  description: >-
    The pods on these nodes that ended with C(UnexpectedAdmissionError), one text for each: a kubelet that starts, after a reboot for instance,
    ends a pod whose devices no plugin offers yet. Its controller makes another one; delete it.
  returned: success
  type: list
  elements: str
  sample: []
unverified:
  description: >-
    What could not be verified, each entry with the reason, such as whether the kubelet of a node still runs. Each is a warning, too.
  returned: success
  type: list
  elements: str
  sample: []
summary:
  description: One line for each node, and one for each thing that was not verified.
  returned: success
  type: list
  elements: str
waited_seconds:
  description: How long the task waited until the last check.
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
      description: How many of the expected devices the kubelet knows, healthy or not. A resource that is not registered is missing.
      type: dict
    allocatable:
      description: How many of them pods can get.
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
      problem: "example.com/dongle: expected 4, found 3: 1 of 4 devices are unhealthy (usb-A6008isP: the device no longer exists)"
objects:
  description: >-
    The existing objects of the deployment, with V(objects) in O(gather_subset): the namespace, the DaemonSet, the ConfigMaps with the
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
  description: What else is in the namespace, with V(others) in O(gather_subset), as in RV(objects). What the role created is listed, too.
  returned: success
  type: list
  elements: dict
"""

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.connection import connect
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.device_plugin_report import read_all
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.api_module import ApiModule, concurrency_option


def main() -> t.NoReturn:
    """Pass the reader to the runner."""
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
    runner.run_info(module, lambda: read_all(module.params, connect=lambda: connect(module), warn=module.warn))


if __name__ == "__main__":
    main()

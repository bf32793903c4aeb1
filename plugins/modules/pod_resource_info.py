#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: pod_resource_info
short_description: Gather information about devices of pods
description:
  - Reads for all nodes which pod holds each device since when, which devices are free, and which allocations are on devices that are unhealthy
    or gone.
  - Queries the bundled device plugin on every node, through the API server, for the kubelet's PodResources, and joins the answer with the pods
    and nodes of the API. The role P(nodecraft.kubeadm.device_plugin#role) deploys the plugin.
  - A node that does not answer is in the result all the same, with the reason and what to do; and in a warning, when a device plugin runs or
    advertises something there, or when O(nodes) names it.
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
  - The account needs the verbs C(get) and C(list) on C(nodes), C(list) on C(pods), C(get) on C(pods/proxy) in O(namespace), and
    for O(plugin_token_secret) the verb C(get) on C(secrets) there.
  - One plugin on a node reports the devices of all plugins there. Of devices of other plugins it only knows whether the kubelet offers them,
    not their health.
options:
  namespace:
    description:
      - Namespace of the pods of the device plugin.
    type: str
    default: nodecraft-device-plugin
  pod_selector:
    description:
      - Selects these pods by their labels, in Kubernetes' syntax. When no pod is found the task fails.
    type: str
    default: app.kubernetes.io/name=nodecraft-device-plugin
  port:
    description:
      - Port at which the plugin serves its pages.
    type: int
    default: 9808
  path:
    description:
      - Page with the container that holds each device, as JSON.
    type: str
    default: /pod-resources
  plugin_token:
    description:
      - The token that the plugin has in the file C(podResources.tokenFile), for C(podResources.access) C(token).
    type: str
  plugin_token_secret:
    description:
      - Name of a Secret in O(namespace) that holds this token under the key C(token).
    type: str
seealso:
  - module: nodecraft.kubeadm.node_resource_info
"""

EXAMPLES = r"""
- name: Read which pod holds which device
  nodecraft.kubeadm.pod_resource_info:
    plugin_token_secret: nodecraft-device-plugin-token
  register: found

- name: Show allocations with problems
  ansible.builtin.debug:
    msg: "{{ found.allocations | selectattr('problems') }}"

- name: Ensure that no pod holds a device on a node before its maintenance
  nodecraft.kubeadm.pod_resource_info:
    nodes:
      - w1
    plugin_token_secret: nodecraft-device-plugin-token
  register: found
  failed_when: not found.nodes.w1.responded or found.allocations | length > 0
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
  description: The nodes, by name.
  returned: success
  type: dict
  contains:
    responded:
      description: Whether a plugin of the node answered.
      type: bool
    msg:
      description: Why a plugin did not answer, and what to do; empty when all answered.
      type: str
    resources:
      description: >-
        What device plugins advertise there, by resource: C(capacity), C(allocatable) and C(requested) (by the pods of the node), which
        are numbers as text, or V(null), by the API; C(devices), the ids of the devices that the kubelet can allocate, which are the healthy ones;
        and C(free), those of them that no pod holds. C(devices) and C(free) are V(null) when no plugin answered.
      type: dict
  sample:
    w1:
      responded: true
      msg: ""
      resources:
        example.com/dongle:
          capacity: "2"
          allocatable: "2"
          requested: "1"
          devices:
            - usb-FTDI_A6008isP
            - usb-FTDI_A6008isQ
          free:
            - usb-FTDI_A6008isQ
    w2:
      responded: false
      msg: >-
        no pod with the labels app.kubernetes.io/name=nodecraft-device-plugin in the namespace nodecraft-device-plugin is on w2. Let
        the DaemonSet of the device plugin select the node and tolerate its taints.
      resources: {}
allocations:
  description: The devices that containers hold, node by node, sorted by namespace, pod, container, resource and device.
  returned: success
  type: list
  elements: dict
  contains:
    node:
      description: Name of the node.
      type: str
    resource:
      description: Name of the extended resource.
      type: str
    device_id:
      description: Id of the device at the kubelet. Where a device is advertised several times, each has its own.
      type: str
    physical:
      description: The device itself, which several ids may share.
      type: str
    numa:
      description: Its NUMA nodes.
      type: list
      elements: int
    health:
      description: >-
        V(Healthy), V(Unhealthy) or V(Vanished) (the device no longer exists). V(Unknown) is a device of another plugin that the kubelet does not
        offer now.
      type: str
    namespace:
      description: Namespace of the pod.
      type: str
    pod:
      description: Name of the pod.
      type: str
    container:
      description: Name of the container.
      type: str
    phase:
      description: Phase of the pod; V(null) when the API has no such pod on the node.
      type: str
    since:
      description: When the kubelet accepted the pod, in ISO 8601 and UTC; V(null) when the API does not say.
      type: str
    problems:
      description: >-
        What is wrong with the allocation, in words: the device is unhealthy, gone or not offered, or the pod has ended or is gone.
        Mostly nothing.
      type: list
      elements: str
  sample:
    - node: w1
      resource: example.com/dongle
      device_id: usb-FTDI_A6008isP
      physical: usb-FTDI_A6008isP
      numa:
        - 0
      health: Healthy
      namespace: team
      pod: reader-0
      container: main
      phase: Running
      since: "2026-03-01T09:30:00Z"
      problems: []
"""

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.connection import connect
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.pod_resource_report import read_all
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
            "namespace": {"type": "str", "default": "nodecraft-device-plugin"},
            "pod_selector": {"type": "str", "default": "app.kubernetes.io/name=nodecraft-device-plugin"},
            "port": {"type": "int", "default": 9808},
            "path": {"type": "str", "default": "/pod-resources"},
            "plugin_token": {"type": "str", "no_log": True},
            "plugin_token_secret": {"type": "str", "no_log": False},
            **concurrency_option(),
        },
        mutually_exclusive=[("plugin_token", "plugin_token_secret")],
    )
    runner.run_info(module, lambda: read_all(module.params, connect=lambda: connect(module), warn=module.warn))


if __name__ == "__main__":
    main()

#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_canary
short_description: (internal) Start a pod on a node, read its log, and delete it
description:
  - Shows whether a node starts pods, and whether the API server reaches its kubelet. The role P(nodecraft.kubeadm.node_kubelet#role) runs it before
    and after the change of a kubelet; its options and its results may change with every release.
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
extends_documentation_fragment:
  - nodecraft.kubeadm.auth
  - nodecraft.kubeadm.api
  - nodecraft.kubeadm.api.actiongroup_api
  - nodecraft.kubeadm.versions
attributes:
  check_mode:
    support: full
    description: Makes no object, and returns no steps.
  diff_mode:
    support: N/A
    description: Nothing that it makes stays, except for O(namespace) and its ServiceAccount C(canary).
  idempotent:
    support: full
    description: Reports no change.
notes:
  - The account needs the verb C(create) on C(namespaces), and in O(namespace) C(create) on C(serviceaccounts), C(create), C(list) and
    C(deletecollection) on C(pods), C(get) on C(pods/log) and C(list) on C(events).
options:
  node:
    description: Name of the node.
    type: str
    required: true
  name:
    description: Name of the pod.
    type: str
    required: true
  image:
    description: Image of the pod, which the node has. It has to run without arguments until it is stopped, as user 65534.
    type: str
    required: true
  namespace:
    description: Namespace of the pod. It is made where it does not exist, and stays.
    type: str
    default: nodecraft-kubeadm
  timeout:
    description: Seconds for all steps together.
    type: int
    default: 60
seealso:
  - module: nodecraft.kubeadm.kubelet
  - module: nodecraft.kubeadm.rollout
"""

EXAMPLES = r"""
- name: Start a pod on a node
  nodecraft.kubeadm.node_canary:
    node: w1
    name: kubelet-before
    image: registry.k8s.io/pause:3.10
  register: canary
  failed_when: canary.steps.values() | select | length > 0
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
steps:
  description: The steps that were tried, in order, each with the reason why it does not work; empty where it works. Behind one that does not, none is tried.
  returned: success
  type: dict
  sample:
    the creation of a pod: ""
    the pod at the API: ""
    the start of the pod: "failed to create shim task, after 60 s"
unverified:
  description: Why the steps show nothing of the node, such as an image that cannot be pulled; empty otherwise.
  returned: success
  type: str
  sample: ""
"""

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.canary_report import observe
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.connection import connect
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.api_module import ApiModule, concurrency_option


def main() -> t.NoReturn:
    """Pass the reader to the runner."""
    module = ApiModule(
        argument_spec={
            "node": {"type": "str", "required": True},
            "name": {"type": "str", "required": True},
            "image": {"type": "str", "required": True},
            "namespace": {"type": "str", "default": "nodecraft-kubeadm"},
            "timeout": {"type": "int", "default": 60},
            **concurrency_option(),
        }
    )
    runner.run_follower(module, lambda dry: observe(module.params, connect=lambda: connect(module), dry=dry))


if __name__ == "__main__":
    main()

#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: access_info
short_description: Gather information about the rights of an account
description:
  - Reviews whether the account of the task has rights at the API, with a C(SelfSubjectAccessReview) for each, as C(kubectl auth can-i) does.
  - The roles review with it before their first write what they need after it, so that no rollout ends in the middle because a right is missing.
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
extends_documentation_fragment:
  - nodecraft.kubeadm.auth
  - nodecraft.kubeadm.api.info
  - nodecraft.kubeadm.api.actiongroup_api
  - nodecraft.kubeadm.versions
notes:
  - The account needs the verb C(create) on C(selfsubjectaccessreviews) of C(authorization.k8s.io), which the ClusterRole C(system:basic-user)
    gives to every account. Without it that is the only missing right in the result, because no other one can be reviewed.
options:
  rights:
    description: The rights, at least one.
    type: list
    elements: dict
    required: true
    suboptions:
      verb:
        description: The verb, such as V(get).
        type: str
        required: true
      resource:
        description: The resource, with its subresource if it has one, such as V(nodes/proxy).
        type: str
        required: true
      group:
        description: The API group of the resource; empty for the core group.
        type: str
        default: ''
      namespace:
        description: The namespace; empty for a resource without one, or for all namespaces.
        type: str
        default: ''
      names:
        description: >-
          The objects that are needed. A right that is granted for each of them is not missing, even if it is not granted for all objects.
        type: list
        elements: str
        default: []
seealso:
  - module: nodecraft.kubeadm.node_resource_info
  - module: nodecraft.kubeadm.rollout_lease
"""

EXAMPLES = r"""
- name: Ensure that the account may read what kubelets use
  nodecraft.kubeadm.access_info:
    rights:
      - verb: get
        resource: nodes/proxy
  register: access
  failed_when: access.missing | length > 0
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
user:
  description: Name of the account; V(null) when the API server does not tell.
  returned: success
  type: str
  sample: system:serviceaccount:automation:ansible
missing:
  description: >-
    The rights that the account lacks, as in O(rights). C(names) has those of the objects for which it lacks one that it has for others; otherwise
    it is empty.
  returned: success
  type: list
  elements: dict
  contains:
    verb:
      description: The verb.
      type: str
    resource:
      description: The resource, with its subresource.
      type: str
    group:
      description: Its API group.
      type: str
    namespace:
      description: The namespace.
      type: str
    names:
      description: The objects.
      type: list
      elements: str
  sample:
    - verb: get
      resource: nodes/proxy
      group: ""
      namespace: ""
      names: []
"""

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.access_report import read_all
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.connection import connect
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.api_module import ApiModule, concurrency_option


def main() -> t.NoReturn:
    """Pass the reader to the runner."""
    right = {
        "verb": {"type": "str", "required": True},
        "resource": {"type": "str", "required": True},
        "group": {"type": "str", "default": ""},
        "namespace": {"type": "str", "default": ""},
        "names": {"type": "list", "elements": "str", "default": []},
    }
    module = ApiModule(
        argument_spec={
            "rights": {"type": "list", "elements": "dict", "options": right, "required": True},
            **concurrency_option(),
        }
    )
    runner.run_info(module, lambda: read_all(module.params, connect=lambda: connect(module), warn=module.warn))


if __name__ == "__main__":
    main()

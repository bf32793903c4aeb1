# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: upgrade_info
short_description: Gather information for a kubeadm upgrade
description:
  - Reads from the API the ClusterConfiguration from which a kubeadm upgrade generates all manifests, and the versions of all kubelets, for
    M(nodecraft.kubeadm.upgrade_check).
  - With O(target) it also checks what that version would break in the cluster as a whole, such as removed APIs that clients still request,
    admission webhooks that fail closed and have no ready endpoint, and a Corefile that kubeadm does not know how to migrate.
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
extends_documentation_fragment:
  - nodecraft.kubeadm.auth
  - nodecraft.kubeadm.api.info
  - nodecraft.kubeadm.api.actiongroup_api
  - nodecraft.kubeadm.versions
notes:
  - The account needs the verb C(get) on the ConfigMap C(kube-system/kubeadm-config) and C(list) on C(nodes); with O(target) also C(get) on
    C(/metrics), on the namespace C(kube-system) and its ConfigMaps C(kube-proxy) and C(coredns), and C(list) on webhook configurations,
    EndpointSlices and DeviceClasses; where one of these two ConfigMaps does not exist, also on the DaemonSets or Deployments of that namespace.
    What may not be read is in RV(not_rehearsed).
options:
  target:
    description:
      - The version to upgrade to, such as V(1.37.2).
      - A version to which kubeadm cannot upgrade this cluster is an error.
    type: str
seealso:
  - module: nodecraft.kubeadm.upgrade_check
"""

EXAMPLES = r"""
- name: Read the ClusterConfiguration, and what an upgrade would break
  nodecraft.kubeadm.upgrade_info:
    target: 1.37.2
  register: cluster
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
cluster_configuration:
  description: Text of the key C(ClusterConfiguration) in the ConfigMap C(kube-system/kubeadm-config).
  returned: success
  type: str
kube_proxy_configuration:
  description: >-
    Text of the key C(config.conf) in the ConfigMap C(kube-system/kube-proxy); empty where the cluster has none, V(null) without O(target) and where
    it could not be read.
  returned: success
  type: str
server_version:
  description: Version of the API server that answered.
  returned: success
  type: str
  sample: v1.36.3
kubelets:
  description: The version of each kubelet, by node.
  returned: success
  type: dict
  sample:
    w1: v1.36.3
findings:
  description: >-
    What O(target) breaks in the cluster as a whole, as M(nodecraft.kubeadm.upgrade_check) returns it, with the component V(cluster); empty without
    O(target).
  returned: success
  type: list
  elements: dict
checks:
  description: The checks that were made, by their names, such as V(webhooks); empty without O(target).
  returned: success
  type: list
  elements: str
not_rehearsed:
  description: The checks that could not be made, as M(nodecraft.kubeadm.upgrade_check) returns them; empty without O(target).
  returned: success
  type: list
  elements: dict
"""

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.connection import connect
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.upgrade_facts import read_all
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.api_module import ApiModule, concurrency_option


def main() -> t.NoReturn:
    """Pass the reader to the runner."""
    module = ApiModule(argument_spec={"target": {"type": "str"}, **concurrency_option()})
    runner.run_info(module, lambda: read_all(module.params, connect=lambda: connect(module)))


if __name__ == "__main__":
    main()

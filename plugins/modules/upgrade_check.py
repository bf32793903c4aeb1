# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: upgrade_check
short_description: Check a node before a kubeadm upgrade
description:
  - Checks before a kubeadm upgrade, with the new version's own programs, which settings of a node it removes or breaks. Writes nothing. The
    playbook C(nodecraft.kubeadm.upgrade_check) runs this module on all nodes.
  - On a control plane the new kubeadm generates all manifests from the ClusterConfiguration, offline. Each is compared with the present one, and
    rehearsed by its new program; then the desired state is planned on top of them and rehearsed again.
  - The new kubeadm also finds the certificates of a control plane that end too early, and the new kube-proxy is rehearsed with its configuration.
  - On every node the new kubelet is rehearsed with the command line and the configuration of today, and with the desired state.
  - Rehearsals run in a sandbox without network. A kubelet that is newer than the tested versions is never started; the new C(kube-apiserver), which
    knows the same feature gates, validates those of the kubelet instead.
  - A finding is a result, not a failure, and so is what was not rehearsed. The playbook fails when something breaks or was not rehearsed.
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
options:
  target:
    description: The version to upgrade to, such as V(1.37.2).
    type: str
    required: true
  programs:
    description:
      - Directory on the node, by its absolute path, with the programs of that version, such as the unpacked packages of kubeadm and kubelet.
        On a control plane it must contain C(kubeadm) and C(kubelet), on any other node C(kubelet).
      - The programs of static pods, C(etcd) and C(kube-apiserver) for instance, are also taken from there; missing ones from their images, where the
        container runtime of the node has these.
      - A program of another version or architecture is an error.
    type: path
    required: true
  cluster_configuration:
    description: Text of the key C(ClusterConfiguration) in the ConfigMap C(kube-system/kubeadm-config), as M(nodecraft.kubeadm.upgrade_info) reads
      it.
    type: str
    required: true
  kube_proxy_configuration:
    description:
      - Text of the key C(config.conf) in the ConfigMap C(kube-system/kube-proxy), as M(nodecraft.kubeadm.upgrade_info) reads it; empty where the
        cluster has no such ConfigMap.
      - Used on control planes only. Without it kube-proxy is not rehearsed.
    type: str
  patches:
    description:
      - Directory, by its absolute path, with the patches for the upgrade (C(kubeadm upgrade apply --patches)).
      - Used on control planes only. A link is an error.
    type: path
  static_pods:
    description:
      - The desired state of each static pod, by its name, as O(nodecraft.kubeadm.static_pod_plan#module:static_pods).
      - Without it nothing sets again what the upgrade removes.
    type: dict
  purge:
    description: Whether the desired state purges, as O(nodecraft.kubeadm.static_pod#module:purge).
    type: bool
    default: false
  kubelet:
    description: The desired state of the kubelet. Without it nothing is planned.
    type: dict
    suboptions:
      feature_gates:
        description: As O(nodecraft.kubeadm.kubelet#module:feature_gates).
        type: dict
      config:
        description: As O(nodecraft.kubeadm.kubelet#module:config).
        type: dict
      args:
        description: As O(nodecraft.kubeadm.kubelet#module:args).
        type: dict
      register_with_taints:
        description: As O(nodecraft.kubeadm.kubelet#module:register_with_taints).
        type: list
        elements: dict
        suboptions:
          key:
            description: Key of the taint.
            type: str
            required: true
          value:
            description: Value of the taint.
            type: raw
          effect:
            description: Effect of the taint.
            type: str
            choices:
              - NoSchedule
              - PreferNoSchedule
              - NoExecute
            required: true
      purge:
        description: As O(nodecraft.kubeadm.kubelet#module:purge).
        type: bool
        default: false
      adopt:
        description: As O(nodecraft.kubeadm.kubelet#module:adopt).
        type: bool
        default: false
seealso:
  - module: nodecraft.kubeadm.upgrade_info
  - module: nodecraft.kubeadm.static_pod_info
"""

EXAMPLES = r"""
- name: Read the configuration of kubeadm and kube-proxy
  nodecraft.kubeadm.upgrade_info:
    target: 1.37.2
  register: cluster

- name: Check what the upgrade removes or breaks
  nodecraft.kubeadm.upgrade_check:
    target: 1.37.2
    programs: /opt/kubernetes-1.37.2
    cluster_configuration: "{{ cluster.cluster_configuration }}"
    kube_proxy_configuration: "{{ cluster.kube_proxy_configuration }}"
  register: checked
  failed_when: >-
    checked.findings | selectattr('impact', 'eq', 'broken') | length > 0
    or checked.not_rehearsed | length > 0
"""

RETURN = r"""
node:
  description: Name of the node, as its kubelet registers it.
  returned: success
  type: str
cluster:
  description: What identifies the cluster of the node, as RV(nodecraft.kubeadm.kubelet_info#module:cluster).
  returned: success
  type: dict
target:
  description: The version to upgrade to.
  returned: success
  type: str
is_control_plane:
  description: Whether the node has static pods of kubeadm, so that these were checked.
  returned: success
  type: bool
versions:
  description: The versions of today, of C(kubelet) and of C(kube-apiserver); the latter is V(null) where there is none.
  returned: success
  type: dict
seconds:
  description: How long the check took.
  returned: success
  type: float
findings:
  description: What the upgrade does to each setting that is no default of kubeadm, and other findings.
  returned: success
  type: list
  elements: dict
  contains:
    component:
      description: The static pod, V(kubelet), V(kubeadm), or V(node).
      type: str
    field:
      description: >-
        The option of M(nodecraft.kubeadm.static_pod) or M(nodecraft.kubeadm.kubelet) of the
        setting, V(certificates), or V(user-namespaces); empty for what is no single setting.
      type: str
    key:
      description: The setting in it; of a certificate the name that kubeadm gives it; of a user namespace the UID of the pod, or V(kubelet).
      type: str
    impact:
      description: >-
        V(kept); V(reapplied), the upgrade removes it and the desired state sets it again; V(removed), nothing sets it again; V(broken), the new
        component refuses it; or V(warns), for your information.
      type: str
    set_by:
      description: >-
        What set it, which is V(collection), V(kubeadm), V(kubeadm-config), V(patches), V(inventory) or V(other); empty where that does not
        apply.
      type: str
    file:
      description: The file that contains it, or the ConfigMap; empty when unknown.
      type: str
    line:
      description: The line there; V(null) when unknown.
      type: int
    message:
      description: What happens; where it breaks, in the component's own words.
      type: str
    variable:
      description: What to change; empty when there is nothing.
      type: str
rehearsed:
  description: The rehearsals.
  returned: success
  type: list
  elements: dict
  contains:
    component:
      description: The static pod, V(kubelet), V(kube-proxy), or V(kubelet-gates) for those of a kubelet that is not started.
      type: str
    verdict:
      description: V(accepted) or V(refused).
      type: str
    message:
      description: The component's own message.
      type: str
    seconds:
      description: How long it took.
      type: float
    what:
      description: V(generated) by the new kubeadm, V(today) for the kubelet and kube-proxy, or V(desired) state on top of these.
      type: str
checks:
  description: The checks besides rehearsals that were made, by their names, such as V(certificates).
  returned: success
  type: list
  elements: str
not_rehearsed:
  description: What was not rehearsed or not checked, and without which the node is not known to survive the upgrade.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The name under which the playbook accepts it, such as V(kubelet), V(kube-apiserver) or V(certificates).
      type: str
    reason:
      description: Why not.
      type: str
    remedy:
      description: How the next run comes to do it; empty where nothing does.
      type: str
"""

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.arguments import (
    check_entries,
    kubelet_settings,
    static_pod_settings,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.node_module import NodeModule
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.pyyaml import require_yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade.upgrade_report import read_all


def main() -> t.NoReturn:
    """Pass the reader to the runner."""
    module = NodeModule(
        argument_spec={
            "target": {"type": "str", "required": True},
            "programs": {"type": "path", "required": True},
            "cluster_configuration": {"type": "str", "required": True},
            "kube_proxy_configuration": {"type": "str"},
            "patches": {"type": "path"},
            "static_pods": {"type": "dict"},
            "purge": {"type": "bool", "default": False},
            "kubelet": {"type": "dict", "options": kubelet_settings()},
        },
    )
    require_yaml(module)
    check_entries(
        module, "static_pods", {**static_pod_settings(), "only_if_changed": {"type": "bool", "default": False}}
    )
    runner.run_info(module, lambda: read_all(module.params, run=module.run))


if __name__ == "__main__":
    main()

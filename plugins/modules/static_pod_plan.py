#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: static_pod_plan
short_description: Plan changes of static pods
description:
  - Plans and rehearses changes of several static pods of one node in one call, and changes no setting. The role
    P(nodecraft.kubeadm.control_plane#role) uses it before M(nodecraft.kubeadm.static_pod) makes the changes, each in its own transaction.
  - For each static pod it returns what M(nodecraft.kubeadm.static_pod) returns in check mode, and what a rollout needs from
    M(nodecraft.kubeadm.static_pod_info).
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
extends_documentation_fragment:
  - nodecraft.kubeadm.static_pod
  - nodecraft.kubeadm.transaction
  - nodecraft.kubeadm.transaction.info
  - nodecraft.kubeadm.transaction.actiongroup_node
  - nodecraft.kubeadm.versions
requirements:
  - PyYAML on the node, for C(ansible_python_interpreter) or for C(/usr/bin/python3)
  - systemd, and kubeadm's layout of kubelet and static pods
notes:
  - The kubelet is read once. Static pods are planned and rehearsed one after the other, each with its own lock, in the order of
    O(static_pods).
  - When one is refused, the task fails and names it; the others are planned all the same and are in the result.
  - Where nothing changes, values that this collection no longer owns are removed from its record, which is no change of the node; not in check
    mode.
  - Settings that kubeadm generated from C(kubeadm-config), where M(nodecraft.kubeadm.kubeadm_config) had written them, such as on a control plane
    that joined later, are added to the record as owned by this collection; not in check mode.
  - The outcome of an unreported transaction of an earlier run is a warning here, and counts as reported only after M(nodecraft.kubeadm.static_pod)
    or M(nodecraft.kubeadm.node_transaction) has returned it.
options:
  static_pods:
    description:
      - The desired state of each static pod, by its name. An entry may have the settings of M(nodecraft.kubeadm.static_pod), which are
        C(feature_gates), C(admission_plugins), C(args), C(env), C(volumes), C(resources), C(probes), C(priority) and C(files), with the
        same meaning. All other options apply to every static pod.
      - With C(only_if_changed) set to V(true) in an entry, a static pod that this collection has not changed on the node is skipped. With
        O(state=present) it counts as changed as long as this collection owns something of it, otherwise when it was ever changed.
        So what was set earlier is reverted where it was set, and a node without such a static pod is no error.
    type: dict
    required: true
  persist_env:
    description: >-
      Environment variables whose values RV(static_pods) may contain in C(persistable). When not given, those that this collection has put into
      C(kubeadm-config).
    type: list
    elements: str
seealso:
  - module: nodecraft.kubeadm.static_pod
  - module: nodecraft.kubeadm.static_pod_info
"""

EXAMPLES = r"""
- name: Plan a feature gate of two components, and revert all arguments of etcd
  nodecraft.kubeadm.static_pod_plan:
    static_pods:
      kube-apiserver:
        feature_gates:
          CrossNamespaceVolumeDataSource: true
        admission_plugins:
          ExtendedResourceToleration: enabled
      kube-scheduler:
        feature_gates:
          CrossNamespaceVolumeDataSource: true
      etcd:
        args: {}
        only_if_changed: true
    purge: true
  register: plan

- name: Show what would change
  ansible.builtin.debug:
    msg: "{{ plan.static_pods['kube-apiserver'].operations }}"
"""

RETURN = r"""
static_pods:
  description:
    - The plan of each static pod by its name, without those that C(only_if_changed) skips. It has all keys that
      M(nodecraft.kubeadm.static_pod) returns in check mode, with an empty C(diff), and those below.
    - Empty when the task failed before the kubelet was read.
  returned: always
  type: dict
  contains:
    changed:
      description: Whether the static pod would change.
      type: bool
    failed:
      description: Whether the change was refused, or could not be planned.
      type: bool
    msg:
      description: Why; V(null) when it did not fail.
      type: str
    ready:
      description: Whether the component runs what its manifest says and is ready now.
      type: bool
    problem:
      description: What is wrong with it; V(null) when it is ready.
      type: str
    open_transaction:
      description: >-
        The open transaction as M(nodecraft.kubeadm.static_pod_info) returns it, with C(id), C(phase), C(message) and C(requested); V(null)
        when there is none.
      type: dict
    leads:
      description: >-
        Whether it is the member that leads etcd, or holds the Lease of kube-controller-manager or kube-scheduler, so that it is changed last. V(false)
        when it does not change, or that is not known.
      type: bool
    persistable:
      description:
        - What of it could be kept in the ConfigMap C(kube-system/kubeadm-config) when the plan is applied; V(null) when there is no plan.
        - Under C(settings), by field and key, each with its C(value), the C(original) before this collection, whether this collection owns it
          (C(ours)),
          whether O(static_pods) names it (C(named)), and C(files), digests of the files that it names. Under C(others) what this collection owns and
          cannot be kept there.
      type: dict
kubeadm_config:
  description:
    - The ConfigMap C(kube-system/kubeadm-config) from the API server of the node, with C(problem), why it could not be read, C(text),
      C(record), what this collection wrote there, C(control_planes), the Nodes that generate their manifests from it, C(managers), other
      programs that render it, and C(immutable), the ConfigMaps among it and its record that cannot be changed.
    - C(version) is that of the node's API server.
  returned: always
  type: dict
others:
  description: >-
    The other static pods of the node by their names, each with C(ready), C(problem) and C(open_transaction) as in RV(static_pods), and
    C(unverified), what is not known of one that counts as ready. Empty when the task failed before the kubelet was read.
  returned: always
  type: dict
  sample:
    etcd:
      ready: true
      problem: null
      unverified: []
      open_transaction: null
unreadable_files:
  description: >-
    Paths of files in the directory of static pods that cannot be read as pods, or that directory itself. A rollout does not go on while one of
    them may be the API server or the etcd of the node.
  returned: always
  type: list
  elements: str
node:
  description: Name of the node, as its kubelet registers it. V(null) when the task failed before the kubelet was read.
  returned: always
  type: str
  sample: cp1
cluster:
  description: >-
    Identity of the node's cluster, as M(nodecraft.kubeadm.static_pod) returns it. Its values are empty when the task failed
    before the kubelet was read.
  returned: always
  type: dict
kubelet_problem:
  description: >-
    Why the node's kubelet does not work, with its last log lines; V(null) when it does, or when the task failed before it was read. Then
    everything is planned from the kubelet's files, and the kubelet must be repaired before any change.
  returned: always
  type: str
  sample: "kubelet on cp1 is activating (auto-restart); it logged last: panic: unrecognized feature gate: OldGate"
busy:
  description: >-
    Whether the task failed only because of another active run or an open transaction on the node. Retry the task when that has ended.
  returned: always
  type: bool
"""

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.arguments import (
    check_entries,
    static_pod_options,
    static_pod_settings,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.node_module import NodeModule
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.pyyaml import require_yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod.static_pod_plans import StaticPodPlans


def main() -> t.NoReturn:
    """Pass the plans to the runner."""
    module = NodeModule(
        argument_spec={
            "static_pods": {"type": "dict", "required": True},
            "persist_env": {"type": "list", "elements": "str"},
            **static_pod_options(),
        }
    )
    require_yaml(module)
    check_entries(
        module, "static_pods", {**static_pod_settings(), "only_if_changed": {"type": "bool", "default": False}}
    )
    runner.run_plans(module, StaticPodPlans(module.params, run=module.run), rehearse=module.params["rehearse"])


if __name__ == "__main__":
    main()

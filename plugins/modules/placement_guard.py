#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: placement_guard
short_description: Protect nodes from pods that bypass the scheduler
description:
  - Refuses pods that bypass the taints of protected nodes, with a ValidatingAdmissionPolicy of the API server, which Kubernetes has from 1.30 on.
    The role P(nodecraft.kubeadm.placement_guard#role) runs this module with variables.
  - Only the scheduler enforces a taint with the effect C(NoSchedule), so a pod that names its node, or is bound to one manually, bypasses it.
  - A pod may name a protected node when it requests one of O(resources). Only O(schedulers) may bind pods to
    protected nodes. Pods that name no node are never refused, unless O(require_request) is set.
  - Never refused are the static pods of the nodes, and everything in C(kube-system).
  - Policies that differ from those in force are first tried on dry-run pods, with a copy that applies to nothing else, and only then written.
    What is written is verified on dry-run pods, too. A guard that fails the verification is rolled back.
  - One guard is for one purpose. Nodes that are reserved for something else get another one, with another O(name). A node cannot have two that
    refuse, and two with O(require_request) cannot protect the same taint.
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
extends_documentation_fragment:
  - nodecraft.kubeadm.auth
  - nodecraft.kubeadm.api
  - nodecraft.kubeadm.api.actiongroup_api
  - nodecraft.kubeadm.versions
notes:
  - The account needs the verbs C(get), C(list), C(create), C(update) and C(delete) on C(validatingadmissionpolicies) and
    C(validatingadmissionpolicybindings) of C(admissionregistration.k8s.io), and on C(mutatingadmissionpolicies) and
    C(mutatingadmissionpolicybindings) where they are served; C(list) on C(nodes); C(list) on C(endpointslices) (C(discovery.k8s.io)) in
    C(default), to find each API server; C(create) on C(pods) in O(trial_namespace), for dry runs; and with O(require_request) C(list) on
    C(daemonsets), C(deployments), C(statefulsets) (C(apps)) and C(cronjobs) (C(batch)).
attributes:
  check_mode:
    support: full
    description: Sends the same objects as a dry run. Where the guard would be changed, its trial and its verification are skipped.
  diff_mode:
    support: full
    description: Returns the difference of every object that is created, changed or removed.
  idempotent:
    support: full
    description: A second run with the same options writes nothing, as long as the nodes are the same; it verifies the guard again.
options:
  state:
    description: With V(absent) everything that this module created under O(name) is removed.
    type: str
    choices:
      - present
      - absent
    default: present
  name:
    description: Name of the policies and their bindings. It may not end in C(-trial), which is the name of the copy for the trial.
    type: str
    default: nodecraft-placement-guard
  nodes:
    description:
      - Names of the nodes to protect. A name that is no node of the cluster is refused, unless the guard protected it before; then it stays
        protected and is reported.
      - When empty, all nodes with a taint of one of O(taint_keys) that keeps pods off, whoever set it, and those on which this
        collection set one or advertises one of O(resources), at the time of the run. When the last of them is removed, the guard
        stays, protects nothing and says so. Without a guard that is an error.
      - With O(enforce) a protected node stays as long as it has such a taint, and a run without it is refused.
    type: list
    elements: str
    default: []
  resources:
    description: >-
      Extended resources for which the nodes are reserved. A pod that requests one of them may name a protected node; without any, no pod may.
    type: list
    elements: str
    default: []
  taint_keys:
    description: Keys of the taints that keep other pods off the nodes. O(resources) when not set.
    type: list
    elements: str
  enforce:
    description: >-
      Whether to refuse pods. Otherwise there is only a warning to the client, and an entry in the API server's audit log.
    type: bool
    default: false
  on_node_name:
    description:
      - What happens to a pod that names a protected node. V(refuse) refuses it, unless it requests one of O(resources).
      - V(affinity) converts the name into a node affinity, so that the scheduler decides, with taints and resources. It needs a
        MutatingAdmissionPolicy, which Kubernetes has from 1.36 on, and takes effect with O(enforce=true) only.
    type: str
    choices:
      - refuse
      - affinity
    default: refuse
  require_request:
    description:
      - Whether to refuse pods, too, that tolerate a taint of the protected nodes and request none of O(resources), such as those that
        tolerate everything. The taints are read from the nodes.
      - DaemonSets that would lose their pods on the nodes, and Deployments, StatefulSets and CronJobs that would lose theirs anywhere,
        are named, and nothing is enforced then, see O(allow_refusals).
    type: bool
    default: false
  schedulers:
    description: >-
      Users that may bind pods to protected nodes. A custom scheduler that runs as a pod is C(system:serviceaccount:NAMESPACE:NAME).
    type: list
    elements: str
    default: ["system:kube-scheduler"]
  exempt_namespaces:
    description: Namespaces that the guard excludes, in addition to C(kube-system) and C(nodecraft-kubeadm), which it always excludes.
    type: list
    elements: str
    default: []
  exempt_daemon_sets:
    description: DaemonSets whose pods may run on protected nodes without a request, as C(namespace/name).
    type: list
    elements: str
    default: []
  exceptions:
    description:
      - Expressions in CEL. A pod for which one of them is true may name a protected node and tolerate its taint without a request.
      - They can use C(object), C(request), C(namespaceObject) and C(authorizer), as those of a ValidatingAdmissionPolicy.
      - With O(enforce) none may be true for the account that runs this module, or the trial fails.
      - With O(require_request) they are also evaluated for pods that name no node, for which C(object.spec.nodeName) alone fails.
    type: list
    elements: str
    default: []
  allow_refusals:
    description: Whether to enforce O(require_request) although workloads lose pods.
    type: bool
    default: false
  trial_namespace:
    description: Namespace of the dry-run pods on which the guard is tried.
    type: str
    default: default
  wait_timeout:
    description: Seconds to wait until a policy is in force.
    type: int
    default: 30
seealso:
  - module: nodecraft.kubeadm.node_taint
  - module: nodecraft.kubeadm.node_extended_resource
"""

EXAMPLES = r"""
- name: Warn of pods that bypass the taint of nodes with dongles
  nodecraft.kubeadm.placement_guard:
    resources:
      - example.com/dongle

- name: Refuse them
  nodecraft.kubeadm.placement_guard:
    resources:
      - example.com/dongle
    enforce: true

- name: Also refuse pods that tolerate the taint and request nothing
  nodecraft.kubeadm.placement_guard:
    nodes:
      - w1
      - w2
    resources:
      - example.com/dongle
    enforce: true
    require_request: true
    exempt_daemon_sets:
      - monitoring/node-exporter

- name: Leave pods that name a node to the scheduler
  nodecraft.kubeadm.placement_guard:
    resources:
      - example.com/dongle
    enforce: true
    on_node_name: affinity

- name: Remove the guard
  nodecraft.kubeadm.placement_guard:
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
enforced:
  description: Whether the guard refuses, or would in check mode. After a failure, whether the former one did.
  returned: always
  type: bool
nodes:
  description: The nodes that are protected, or would be in check mode.
  returned: always
  type: list
  elements: str
  sample:
    - w1
    - w2
added:
  description: Those of them that the guard in force did not protect.
  returned: always
  type: list
  elements: str
removed:
  description: Nodes that the guard in force protected and this one does not.
  returned: always
  type: list
  elements: str
stale:
  description: Nodes that are named, were protected, and no longer exist. They stay protected.
  returned: always
  type: list
  elements: str
untainted:
  description: Protected nodes without a taint that keeps pods off, on which the scheduler itself may place any pod.
  returned: always
  type: list
  elements: str
unverified:
  description: What could not be verified, each entry with the reason. Each is a warning, too.
  returned: always
  type: list
  elements: str
  sample: []
summary:
  description: The result in words. Empty after a failure.
  returned: always
  type: list
  elements: str
  sample:
    - "nodecraft-placement-guard refuses; protected: w1, w2"
    - "w2: protected from now on"
    - "ValidatingAdmissionPolicy nodecraft-placement-guard: changed"
diff:
  description: The difference of each object that is created, changed or removed. Empty unless diff mode is on.
  returned: always
  type: list
  elements: dict
rehearsal:
  description: Verdict of the API server on the objects, from a dry run before they were written.
  returned: always
  type: dict
  contains:
    verdict:
      description: V(accepted), V(refused), V(not_needed) when nothing changes, or V(skipped) when the run ended before.
      type: str
    message:
      description: The API server's own words where it refused.
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
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.placement_guard_steps import PlacementGuardSteps
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.api_module import ApiModule, concurrency_option

_NAMES = {"type": "list", "elements": "str", "default": []}


def main() -> t.NoReturn:
    """Pass the steps to the runner."""
    module = ApiModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "name": {"type": "str", "default": "nodecraft-placement-guard"},
            "nodes": _NAMES,
            "resources": _NAMES,
            "taint_keys": {"type": "list", "elements": "str", "no_log": False},
            "enforce": {"type": "bool", "default": False},
            "on_node_name": {"type": "str", "choices": ["refuse", "affinity"], "default": "refuse"},
            "require_request": {"type": "bool", "default": False},
            "schedulers": {"type": "list", "elements": "str", "default": ["system:kube-scheduler"]},
            "exempt_namespaces": _NAMES,
            "exempt_daemon_sets": _NAMES,
            "exceptions": _NAMES,
            "allow_refusals": {"type": "bool", "default": False},
            "trial_namespace": {"type": "str", "default": "default"},
            "wait_timeout": {"type": "int", "default": 30},  # seen: in effect within 3 s
            **concurrency_option(),
        },
    )
    steps = PlacementGuardSteps(module.params, connect=lambda: connect(module), diff=module._diff)
    runner.run_steps(module, steps, rehearse=True)


if __name__ == "__main__":
    main()

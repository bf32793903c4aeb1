#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet
short_description: Manage settings of a kubelet
description:
  - Changes the kubelet of one node. The role P(nodecraft.kubeadm.node_kubelet#role) runs this module on all nodes of a cluster.
  - It sets feature gates, fields of KubeletConfiguration, flags, and the taints with which a node registers. Everything that a task
    names is one transaction and one restart of the kubelet.
  - Running pods keep their containers, with three exceptions. A setting that changes the defaults of pods restarts static pods. Pods that
    no longer fit are rejected, see the notes. Settings of cgroups restart all containers, see O(config).
  - A change is rehearsed with the kubelet's own binary before anything is written, applied by a service on the node, verified
    on the running process and on the Node object, and rolled back by the node when the kubelet does not become healthy.
  - Everything is written into files of this collection, a drop-in of the kubelet's unit and a fragment in its C(--config-dir).
    The files of kubeadm and of the packages stay byte for byte as they are, and so do C(/etc/default/kubelet) and
    C(/etc/sysconfig/kubelet) unless O(adopt=true).
  - Arguments are passed in a variable that the unit's C(ExecStart) takes and that no environment file sets. For a unit without one, a
    systemd generator of this collection derives the command from the unit at every boot and every daemon-reload.
  - What a task does not name stays as it is. Mappings and feature gates are merged key by key, lists are replaced.
  - Another source that overrides the desired state, such as an entry of C(KUBELET_EXTRA_ARGS), is refused with its file and line.
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
extends_documentation_fragment:
  - nodecraft.kubeadm.transaction
  - nodecraft.kubeadm.transaction.attributes
  - nodecraft.kubeadm.transaction.actiongroup_node
  - nodecraft.kubeadm.versions
requirements:
  - PyYAML on the node, for C(ansible_python_interpreter) or for C(/usr/bin/python3)
  - systemd, and a C(kubelet.service) with one command in C(ExecStart)
notes:
  - A restarted kubelet admits the node's pods again and rejects those that no longer fit their node, for instance after a label was
    removed. This module does not check for such pods, because a node's credential does not see enough for that.
    The role C(nodecraft.kubeadm.node_kubelet) does, with M(nodecraft.kubeadm.node_resource_info).
  - Before Kubernetes 1.30 the kubelet has no C(--config-dir). Feature gates and taints are set as flags then, and
    O(config) is refused.
  - A kubelet that works is not restarted while its kubeconfig, or a file that it names, is missing, because it would not find its credential
    when it starts. Where its bootstrap kubeconfig exists, this is a warning.
options:
  feature_gates:
    description:
      - Feature gates to set, by name, with V(true) or V(false). V(null) removes a gate, also one that something else set in a file.
    type: dict
  config:
    description:
      - Fields of C(KubeletConfiguration) to set, nested as in the file. V(null) removes a field, so that the kubelet's own
        default applies.
      - A field that the kubelet does not know is refused; the kubelet itself would silently ignore it.
      - On ansible-core 2.18 a template with a filter gives text, which the kubelet refuses where a number is required. Use one template for the
        whole mapping there.
      - V(cpuManagerPolicy), V(memoryManagerPolicy) and V(topologyManagerPolicy) are changed on a drained node only, or with
        O(force=true), and so are the settings on which an active policy depends (its options, the reserved CPUs, V(reservedMemory),
        V(topologyManagerScope)). The kubelet's state file for the policy is moved aside while the kubelet is stopped, and back with a rollback;
        the change is committed only when the new state file names the new policy.
      - V(cgroupDriver), V(cgroupRoot) and V(cgroupsPerQOS) are changed on a drained node only, too, because every container is restarted
        with them.
      - V(staticPodPath), V(staticPodURL) and V(containerRuntimeEndpoint) are refused.
    type: dict
  args:
    description:
      - Flags to set, by name without leading dashes. V(null) removes a flag that this module set.
      - A list sets the flag several times.
      - Flags that determine the node's identity, such as C(--kubeconfig), are refused.
    type: dict
  register_with_taints:
    description:
      - Taints with which the node registers when its Node object is recreated. They do not change a Node that exists.
    type: list
    elements: dict
    suboptions:
      key:
        description: Key of the taint.
        type: str
        required: true
      value:
        description: Value of the taint; none by default. A boolean is written as Kubernetes writes it.
        type: raw
      effect:
        description: Effect of the taint.
        type: str
        required: true
        choices:
          - NoSchedule
          - PreferNoSchedule
          - NoExecute
  state:
    description:
      - With V(present) the named settings get their values.
      - With V(absent) the named settings are reverted, as far as this module set them. Without any setting named, everything that this
        module ever set is reverted, and its files are removed.
      - With V(previous) the last change of the kubelet that is still in effect is reverted, whichever task made it. Each of its files
        gets the bytes, mode and owner that it had before, in a transaction that is rehearsed and verified like every other. No setting
        may be given with it. It is refused when a file is not as that change left it. A second run changes nothing, and does not go
        back further.
    type: str
    choices:
      - present
      - absent
      - previous
    default: present
  purge:
    description:
      - Also revert what this module set earlier of an option that is given and that it does not name. An empty option reverts all of its
        own settings. An option that is not given is left alone.
    type: bool
    default: false
  adopt:
    description:
      - Move entries for a named setting from the files that set the unit's variables into those of this collection. Such files are
        C(/etc/default/kubelet), C(/etc/sysconfig/kubelet), C(/var/lib/kubelet/kubeadm-flags.env) and drop-ins below C(/etc) with
        C(Environment=) lines, among others. Nothing else in such a file changes, and it gets its former bytes
        back when the settings are reverted.
      - Files below C(/usr), C(/lib) and C(/run) and C(ExecStart) itself are never changed.
      - Without it an entry that differs from the task is refused, with its file and line.
    type: bool
    default: false
  observation_timeout:
    description:
      - Seconds for which the node waits, after it has verified the change, until the change is observed from elsewhere. The task ends before, with the
        transaction in phase V(observing); M(nodecraft.kubeadm.node_transaction) ends it with O(nodecraft.kubeadm.node_transaction#module:observed).
      - The role P(nodecraft.kubeadm.node_kubelet#role) sets it, and starts a pod on the node meanwhile. When the change is not observed, the node commits it,
        and the result says what was not verified.
    type: int
    default: 0
  observed_before:
    description: What such a run has observed before the change. It is returned with the transaction, for a later run where this one does not come back.
    type: dict
    suboptions:
      canary:
        description: The steps of M(nodecraft.kubeadm.node_canary) that worked.
        type: list
        elements: str
        default: []
      allocatable:
        description: Numbers of what device plugins offered, by resource.
        type: dict
        default: {}
  force:
    description:
      - Makes a change that is refused because it may lose the node or its pods. Each check that it turns off is a warning then.
      - Policies that need a drained node change on one that is not drained, a directory of fragments is used although it contains files that the
        kubelet has not read yet, and a kubelet is restarted although its files are newer than its process.
      - A kubelet is restarted although a file that it needs is missing or damaged, although it would not start after the next boot of the node, as
        with swap or kernel parameters that nothing sets again, and although it would renew its Lease too seldom for the controller manager.
    type: bool
    default: false
seealso:
  - module: nodecraft.kubeadm.kubelet_info
  - module: nodecraft.kubeadm.node_transaction
  - module: nodecraft.kubeadm.static_pod
"""

EXAMPLES = r"""
- name: Turn on a feature gate and allow more pods
  nodecraft.kubeadm.kubelet:
    feature_gates:
      QOSReserved: true
    config:
      maxPods: 200

- name: Adopt a feature gate from KUBELET_EXTRA_ARGS
  nodecraft.kubeadm.kubelet:
    feature_gates:
      QOSReserved: true
    adopt: true

- name: Set the static CPU manager policy on a drained node
  nodecraft.kubeadm.kubelet:
    config:
      cpuManagerPolicy: static
      reservedSystemCPUs: "0"

- name: Set the Static memory manager policy on a drained node
  nodecraft.kubeadm.kubelet:
    config:
      memoryManagerPolicy: Static
      topologyManagerPolicy: restricted
      kubeReserved:
        memory: 900Mi
      evictionHard:
        memory.available: 100Mi
      reservedMemory:
        - numaNode: 0
          limits:
            memory: 1000Mi

- name: Taint the node when it registers again
  nodecraft.kubeadm.kubelet:
    register_with_taints:
      - key: example.com/dongle
        effect: NoSchedule

- name: Revert everything that this collection set on the kubelet
  nodecraft.kubeadm.kubelet:
    state: absent

- name: Revert the last change of the kubelet
  nodecraft.kubeadm.kubelet:
    state: previous
"""

RETURN = r"""
name:
  description: Always V(kubelet).
  returned: always
  type: str
  sample: kubelet
node:
  description: Name of the node, as its kubelet registers it. V(null) when the task failed before the kubelet was read.
  returned: always
  type: str
  sample: worker1
control_plane:
  description:
    - Why the node counts as a control plane; empty when it does not, or when the task failed before the kubelet was read.
    - It does when its directory of static pods has a manifest of kube-apiserver or etcd, one of them runs in the host's network, or
      C(/var/lib/etcd) is in use. Otherwise its Node, read with the kubelet's own credential, counts when it has the label
      C(node-role.kubernetes.io/control-plane). Other static pods, such as a proxy in front of the API, do not count.
  returned: always
  type: list
  elements: str
  sample:
    - /etc/kubernetes/manifests/etcd.yaml is a manifest of etcd
    - etcd runs in the host's network as process 1234
problem:
  description: >-
    Why the kubelet does not work before the change, with its last log lines; V(null) when it does, or when there is nothing to change.
  returned: always
  type: str
  sample: "kubelet on w1 is activating (auto-restart); it logged last: panic: unrecognized feature gate: OldGate"
sandbox_image:
  description: >-
    Image with which the container runtime begins every pod; V(null) when it is not known to be on the node, and when there is nothing to change.
  returned: always
  type: str
  sample: registry.k8s.io/pause:3.10.1
cluster:
  description: >-
    Identity of the node's cluster, as its kubelet sees it. A value is empty where it cannot be read, and when the task
    failed before it was read.
  returned: always
  type: dict
  contains:
    ca_sha256:
      description: >-
        SHA-256 digest of the certificate of the authority that the kubelet's kubeconfig trusts, over its DER form. The digests of several
        are sorted and joined with commas.
      type: str
    server:
      description: URL of the API server in the kubelet's kubeconfig. It may differ between nodes of one cluster.
      type: str
    machine_id:
      description: Machine id of the node, as its kubelet reports it.
      type: str
  sample:
    ca_sha256: 2f1b4c0f6b7d3f5e8c9a0d1e2f3a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c
    server: https://10.0.0.10:6443
    machine_id: 9d0f3ae1c2b44f6c8a7e5d3b1f02c4e6
files:
  description: The files that change.
  returned: always
  type: list
  elements: str
  sample:
    - /etc/kubernetes/kubelet.conf.d/zz-nodecraft-kubeadm.conf
    - /etc/systemd/system/kubelet.service.d/20-nodecraft-kubeadm.conf
diff:
  description: The difference of each file. Empty unless diff mode is on.
  returned: always
  type: list
  elements: dict
left_alone:
  description: >-
    With O(purge), what this collection set earlier of options that are not given, so that it stays; the names only.
  returned: always
  type: dict
  sample:
    args: [v]
operations:
  description: Every setting that changes.
  returned: always
  type: list
  elements: dict
  contains:
    field:
      description: >-
        The option the setting belongs to; V(adopted) for an entry that is moved out of another file or back, V(unit) for a drop-in
        that is updated to the unit.
      type: str
    key:
      description: Its name. Fields of C(config) have slashes between their parts.
      type: str
    before:
      description: The former value; V(null) when it was not set.
      type: raw
    after:
      description: The new value; V(null) when it is not set any more.
      type: raw
    no_longer_desired:
      description: Whether it is reverted only because O(purge) is set and the task does not name it any more.
      returned: when it is so
      type: bool
  sample:
    - field: config
      key: maxPods
      before: 110
      after: 200
limits:
  description: >-
    What the kubelet leaves to pods afterwards; V(null) when this change does not affect it. A restarted kubelet rejects running pods
    beyond it; M(nodecraft.kubeadm.node_resource_info) finds these with it.
  returned: always
  type: dict
  contains:
    max_pods:
      description: The largest number of pods.
      type: int
    pods_per_core:
      description: The largest number of pods for each CPU; 0 for no limit.
      type: int
    reserved:
      description: By resource, the amounts that are subtracted from the capacity, as quantities or as percentages of it.
      type: dict
    unsafe_sysctls:
      description: The patterns of kernel parameters that pods may set in addition to the safe ones.
      type: list
      elements: str
    pod_level_managers:
      description: Whether CPUs or memory are given to pods as a whole, by the gate C(PodLevelResourceManagers) and a static policy.
      type: bool
    withdrawn_sysctls:
      description: Those that were allowed before this change only.
      type: list
      elements: str
  sample:
    max_pods: 200
    pods_per_core: 0
    reserved:
      cpu: []
      memory:
        - 100Mi
      ephemeral-storage:
        - 10%
    unsafe_sysctls: []
    pod_level_managers: false
    withdrawn_sysctls: []
rehearsal:
  description: The component's own verdict on the change before anything was written.
  returned: always
  type: dict
  contains:
    verdict:
      description: V(accepted), V(refused), V(skipped) or V(not_needed).
      type: str
    message:
      description: The component's own message, or why there was no rehearsal.
      type: str
    seconds:
      description: How long it took.
      type: float
    command:
      description: The command line that was run; empty when none was.
      type: list
      elements: str
    warnings:
      description: What it says of a change that it accepts, such as a feature gate or a flag that will be removed, or a field that it ignores.
      type: list
      elements: str
transaction:
  description: What the node did; V(null) when nothing was changed.
  returned: always
  type: dict
  contains:
    id:
      description: Its id.
      type: str
    requested:
      description: When (C(at)) and from where (C(from)) it was requested, which is the address of the connection or else the user.
      type: dict
    reverts:
      description: Id of the transaction that it reverted; V(null) when it was another change.
      type: str
    outcome:
      description:
        - V(committed) when the kubelet is healthy with the change, V(rolled_back) when the change was rolled back and the kubelet is as healthy
          as it was, V(aborted) when nothing was written, V(unhealthy) when O(rollback=false), V(alarm) when the former state could not be
          verified.
        - V(null) when the task failed before the transaction ended. The other keys are RV(transaction.id), RV(transaction.requested) and
          RV(transaction.longest_seconds) then.
        - V(alarm) also when the journal cannot be read. Most other keys are V(null) then.
      type: str
    reason:
      description: Why the change was not committed; V(null) when it was.
      type: str
    healthy:
      description: >-
        Whether the kubelet was healthy at the end. With V(rolled_back) it is not when it was not before the change either.
        V(null) when it was not checked.
      type: bool
    longest_seconds:
      description: The longest time that it takes until it ends by itself.
      returned: when the task failed before the transaction ended
      type: int
    ended:
      description: When it ended, UTC.
      type: str
    seconds:
      description: How long it took; V(null) when the node was rebooted meanwhile.
      type: float
    restart_seconds:
      description: From the restart until the component was healthy; V(null) when it never was, or this was not measured.
      type: float
    outage_seconds:
      description:
        - From the first failed health check until it was healthy again. Pods keep running meanwhile.
        - V(null) when it was not measured, because no probe could be made, or the engine ended in the middle of the change and another one went on.
      type: float
    proof:
      description: >-
        What was verified on the running process: C(uid), which is systemd's id of this start, C(pid), C(arguments), and the results of
        C(probes) and the Node object. C(unverified) lists what could not be verified, each entry with the reason.
        C(observed) lists what the component is for that worked before the change and after it.
      type: dict
    observed:
      description: >-
        Whether it was observed from elsewhere, with O(nodecraft.kubeadm.node_transaction#module:observed); V(null) when
        O(observation_timeout) was 0.
      type: bool
    observed_before:
      description: The option O(observed_before) of the task; V(null) where it had none.
      type: dict
    confirmed:
      description: Whether the controller confirmed the change; V(null) when O(confirm) was off.
      type: bool
    notes:
      description: What was noticed during the transaction, such as a restart of the kubelet, or what was not verified and why. Each is a warning, too.
      type: list
      elements: str
    log:
      description: The last log lines of a kubelet that did not become healthy.
      type: list
      elements: str
reverts:
  description: Id of the transaction that this task reverts, with O(state=previous); V(null) otherwise.
  returned: always
  type: str
open_transaction:
  description:
    - C(id) and C(phase) of an open transaction whose engine does not run; V(null) when there is none.
    - Only check mode returns one, and a run that fails because its O(confirm_url) is unreachable. Any other run ends it before it plans.
  returned: always
  type: dict
unverified:
  description:
    - What could not be verified, each entry with the reason. Each is a warning, too. Empty when all that this module verifies was verified.
    - Of a change, what is in C(unverified) of RV(transaction.proof). In check mode, what will not be verified, as far as that is known before.
  returned: always
  type: list
  elements: str
  sample: []
previous_transaction:
  description: >-
    The RV(transaction) of an earlier run that ended after that run had stopped waiting; V(null) when there is none.
  returned: always
  type: dict
busy:
  description:
    - Whether the task failed only because of another active run or an open transaction on the node. Retry the task when that has ended.
  returned: always
  type: bool
"""

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.arguments import (
    kubelet_settings,
    transaction_options,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.node_module import NodeModule
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.pyyaml import require_yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet.kubelet_steps import KubeletSteps


def main() -> t.NoReturn:
    """Pass the steps to the runner."""
    module = NodeModule(
        argument_spec={
            **kubelet_settings(),
            "state": {"type": "str", "choices": ["present", "absent", "previous"], "default": "present"},
            "force": {"type": "bool", "default": False},
            **transaction_options(),
            "observation_timeout": {"type": "int", "default": 0},
            "observed_before": {
                "type": "dict",
                "options": {
                    "canary": {"type": "list", "elements": "str", "default": []},
                    "allocatable": {"type": "dict", "default": {}},
                },
            },
        },
    )
    require_yaml(module)
    steps = KubeletSteps(module.params, diff=module._diff, run=module.run)
    runner.run_steps(module, steps, rehearse=module.params["rehearse"])


if __name__ == "__main__":
    main()

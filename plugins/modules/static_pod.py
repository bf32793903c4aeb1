#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: static_pod
short_description: Manage settings of a static pod
description:
  - Changes one static pod of a node, such as kube-apiserver, kube-controller-manager or kube-scheduler. The role
    P(nodecraft.kubeadm.control_plane#role) runs this module on all control planes of a cluster.
  - It sets feature gates, admission plugins, flags, environment variables, volumes, resources, probe settings, the priority and policy
    files, and changes nothing else in the manifest.
  - A change is rehearsed with the component's own binary before anything is written, applied as one transaction by a
    service on the node, verified on the running process, and rolled back by the node when the component does not become healthy. A
    transaction does not depend on the connection or on Ansible.
  - What a task does not name stays as it is. Flags that hold lists of feature gates or admission plugins are merged entry
    by entry.
  - What this module sets is recorded on the node together with the former values, so that it can be reverted.
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
extends_documentation_fragment:
  - nodecraft.kubeadm.static_pod
  - nodecraft.kubeadm.transaction
  - nodecraft.kubeadm.transaction.attributes
  - nodecraft.kubeadm.transaction.actiongroup_node
  - nodecraft.kubeadm.versions
requirements:
  - PyYAML on the node, for C(ansible_python_interpreter) or for C(/usr/bin/python3)
  - systemd, and kubeadm's layout of kubelet and static pods
notes:
  - Run it with root permissions, one control plane node at a time. The role P(nodecraft.kubeadm.control_plane#role) does so. A task
    acquires no Lease, so use the role, or M(nodecraft.kubeadm.rollout_lease) before and after it, where runs may overlap.
  - C(kubeadm upgrade) rewrites the manifests, so the change is lost unless kubeadm-config has it, see M(nodecraft.kubeadm.kubeadm_config);
    run the task again after an upgrade.
  - Before anything is written, also in check mode, the preflight checks for what would keep the component from becoming healthy, such as an
    expired certificate, an image that is not on the node, or an etcd that does not answer. A problem that exists already and that the change
    does not touch is only a warning when the component is not healthy, so that it can be repaired.
  - Of C(etcd) only the flags are rehearsed, because a second etcd would open the live database.
  - A member of etcd is stopped only when its cluster has no alarm and no learner, the other members have caught up, and they have a majority
    without it; see O(force) for exceptions. Afterwards a key is written through the changed member and deleted again. There may be no new alarm,
    and every other member that answers must reach that revision.
  - Flags by which the cluster of C(etcd) knows the member (C(name), C(initial-*), C(discovery*), C(listen-peer-urls), C(data-dir), C(wal-dir) and
    C(config-file)) are not changed, and neither is C(quota-backend-bytes) to less than 1.2 times the size of the database.
  - An C(etcd) that is not a static pod on the node of its kube-apiserver is external, and refused.
options:
  name:
    description:
      - Name of the static pod.
      - V(kube-apiserver), V(kube-controller-manager), V(kube-scheduler) and V(etcd) are rehearsed.
      - Another static pod is changed without a rehearsal.
      - Of one without a C(command) in its manifest, such as kube-vip, the flags cannot be changed, because only its image knows what is started.
        O(env), O(volumes) and O(files) can.
    type: str
    required: true
  feature_gates:
    description:
      - Feature gates to set, by name, with V(true) or V(false). V(null) removes a gate from the command line.
    type: dict
  admission_plugins:
    description:
      - Admission plugins of kube-apiserver, by name, with V(enabled), V(disabled) or V(default).
      - V(default), and V(null) too, removes the plugin from both lists, so that Kubernetes' own default applies.
    type: dict
  args:
    description:
      - Flags to set, by name without leading dashes.
      - A list sets the flag several times, in that order. V(null) removes the flag.
      - Of a component behind another program, such as C(/go-runner) of kube-log-runner, only its own flags are meant.
      - Feature gates and admission plugins have options of their own.
    type: dict
  env:
    description:
      - Environment variables to set, by name. V(null) removes a variable. Values are never shown.
    type: dict
  volumes:
    description:
      - Directories and files of the node that are mounted into the component.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the volume in the manifest.
        type: str
        required: true
      host_path:
        description: Absolute path on the node. Required with O(volumes[].state=present).
        type: str
      mount_path:
        description: Absolute path in the component. Required with O(volumes[].state=present).
        type: str
      read_only:
        description: Whether the component may only read.
        type: bool
        default: true
      path_type:
        description: Kubernetes' type of the host path. Without it the path must exist on the node.
        type: str
        choices:
          - DirectoryOrCreate
          - Directory
          - FileOrCreate
          - File
          - Socket
          - CharDevice
          - BlockDevice
      state:
        description: Whether the volume is there.
        type: str
        choices:
          - present
          - absent
        default: present
  resources:
    description:
      - Amounts of V(cpu), V(memory) and V(ephemeral-storage) below V(requests) and V(limits), as in the manifest. V(null) removes one.
      - An amount that equals the manifest's is no change.
    type: dict
  probes:
    description:
      - V(initialDelaySeconds), V(periodSeconds), V(timeoutSeconds) and V(failureThreshold) of V(startupProbe), V(livenessProbe) and
        V(readinessProbe), as in the manifest. V(null) removes one, so that Kubernetes' default applies.
      - A probe that the manifest does not have is not added.
    type: dict
  priority:
    description:
      - The pod's V(priorityClassName) and V(priority), the number of that class. Kubernetes does not look the class
        up for a static pod, so they must agree. V(null) removes one.
    type: dict
  files:
    description:
      - Files that the flags name, such as an audit policy. They are written in the same transaction as the manifest, and rolled
        back with it.
      - A changed content restarts the component, so that it is verified like any other change. An annotation in the manifest with a
        checksum of the files ensures that.
    type: list
    elements: dict
    suboptions:
      path:
        description:
          - Absolute path on the node. A volume of the pod must mount it or a directory above it, see O(volumes).
          - Only root may own, or write to, the directories on the way to it. Otherwise their owner could plant a link there, so the task is
            refused. A link of root's own is followed.
        type: path
        required: true
      content:
        description:
          - The whole content. Required with O(files[].state=present).
          - A mapping or a list is written as JSON, which is YAML as well.
        type: raw
      mode:
        description: Permissions, as four octal digits in quotes. Without quotes YAML reads another number.
        type: str
        default: '0600'
      owner:
        description:
          - Name or number of the user that owns the file; a name is looked up on the node.
          - Without it an existing file keeps its owner, and a new one belongs to root.
        type: str
      group:
        description: Name or number of the group that owns the file, as O(files[].owner).
        type: str
      sensitive:
        description:
          - Never show the content in a diff.
          - An C(EncryptionConfiguration) is never shown, whatever the value of this option.
        type: bool
        default: false
      state:
        description: Whether the file is there.
        type: str
        choices:
          - present
          - absent
        default: present
seealso:
  - module: nodecraft.kubeadm.static_pod_info
  - module: nodecraft.kubeadm.static_pod_plan
  - module: nodecraft.kubeadm.node_transaction
"""

EXAMPLES = r"""
- name: Turn on a feature gate and an admission plugin
  nodecraft.kubeadm.static_pod:
    name: kube-apiserver
    feature_gates:
      CrossNamespaceVolumeDataSource: true
    admission_plugins:
      ExtendedResourceToleration: enabled

- name: Write an audit log, with its policy
  nodecraft.kubeadm.static_pod:
    name: kube-apiserver
    args:
      audit-policy-file: /etc/kubernetes/audit/policy.yaml
      audit-log-path: /var/log/kubernetes/audit.log
      audit-log-maxage: 30
    volumes:
      - name: audit-policy
        host_path: /etc/kubernetes/audit
        mount_path: /etc/kubernetes/audit
        path_type: DirectoryOrCreate
      - name: audit-log
        host_path: /var/log/kubernetes
        mount_path: /var/log/kubernetes
        read_only: false
        path_type: DirectoryOrCreate
    files:
      - path: /etc/kubernetes/audit/policy.yaml
        content: |
          apiVersion: audit.k8s.io/v1
          kind: Policy
          rules:
            - level: Metadata

- name: Raise resources and probe settings of the API server
  nodecraft.kubeadm.static_pod:
    name: kube-apiserver
    resources:
      requests:
        cpu: 500m
        memory: 2Gi
      limits:
        memory: 6Gi
    probes:
      startupProbe:
        failureThreshold: 48
      livenessProbe:
        timeoutSeconds: 30

- name: Raise the quota of etcd
  nodecraft.kubeadm.static_pod:
    name: etcd
    args:
      quota-backend-bytes: 8589934592

- name: Revert everything that this collection set on the scheduler
  nodecraft.kubeadm.static_pod:
    name: kube-scheduler
    state: absent

- name: Revert the last change of the API server
  nodecraft.kubeadm.static_pod:
    name: kube-apiserver
    state: previous
"""

RETURN = r"""
name:
  description: Name of the static pod.
  returned: always
  type: str
  sample: kube-apiserver
node:
  description: Name of the node, as its kubelet registers it. V(null) when the task failed before the kubelet was asked.
  returned: always
  type: str
  sample: cp1
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
manifest:
  description: Path of the manifest. V(null) when the task failed before it was found.
  returned: always
  type: str
  sample: /etc/kubernetes/manifests/kube-apiserver.yaml
snapshot:
  description: >-
    Path on the node of the verified snapshot of etcd that was saved before a forced change of it. V(null) when none was saved. It contains
    the whole cluster, including its Secrets; remove it when you no longer need it.
  returned: always
  type: str
  sample: /var/lib/nodecraft-kubeadm/etcd/snapshots/20260101T000000.000000Z.db
lost:
  description: >-
    What this collection set and was lost when a kubeadm upgrade rewrote the manifest, by option; the names only. What the task names of it
    is set again. With O(purge) the rest of an option that is given is removed from the record, otherwise it stays in this list.
  returned: always
  type: dict
  sample:
    args: [audit-log-path, audit-policy-file]
    feature_gates: [CrossNamespaceVolumeDataSource]
diff:
  description: The difference of the manifest and of each file. Empty unless diff mode is on.
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
  description: Every setting that changes. Values of environment variables are hidden.
  returned: always
  type: list
  elements: dict
  contains:
    field:
      description: The option the setting belongs to.
      type: str
    key:
      description: Its name. Of a file that is reached through a link, the path, C( -> ), and where that leads.
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
    - field: feature_gates
      key: CrossNamespaceVolumeDataSource
      before:
      after: true
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
        - V(committed) when the component is healthy with the change, V(rolled_back) when the change was rolled back and the component is
          as healthy as it was, V(aborted) when nothing was written, V(unhealthy) when it is not healthy and O(rollback=false), V(alarm) when
          the former state could not be verified, or something else changed the files.
        - V(null) when the task failed before the transaction ended. The other keys are RV(transaction.id), RV(transaction.requested) and
          RV(transaction.longest_seconds) then.
        - V(alarm) also when the journal cannot be read. Most other keys are V(null) then.
      type: str
    reason:
      description: Why the change was not committed; V(null) when it was.
      type: str
    healthy:
      description: >-
        Whether the component was healthy at the end. With V(rolled_back) it is not when it was not before the change either.
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
      description: From the write of the manifest until the component was healthy; V(null) when it never was, or this was not measured.
      type: float
    outage_seconds:
      description:
        - From the first failed probe until all probes passed again.
        - V(null) when it was not measured, because no probe could be made, or the engine ended in the middle of the change and another one went on.
      type: float
    proof:
      description: >-
        What was verified on the running process: C(uid) of the pod, C(pid), C(container_id), C(arguments), C(probes), and
        C(feature_gates) as the process itself reports them; V(null) when there are none, or they could not be read. C(unverified) lists what could
        not be verified, each entry with the reason.
        C(observed) lists what the component is for that worked before the change and after it. C(leader), of kube-controller-manager and
        kube-scheduler, is the C(node) that led then, C(is_own), whether that is this one, C(is_changed), whether it has the same settings, and
        C(is_proof), whether all worked under it, without which nothing is proven yet; V(null) where that was not observed. C(acting_seconds) is the
        time from the first failed probe until a Deployment had its pod, which includes O(min_ready_seconds). Of an API server also
        C(clients), the kubeconfigs of this node with the status of each answer, and C(config_hash) of the mirror pod. Of
        etcd also C(etcd), with the C(revision) of a write through this member, the C(members) that have reached it, those that are
        C(unreachable), and the C(alarms).
      type: dict
    confirmed:
      description: Whether the controller confirmed the change; V(null) when O(confirm) was off.
      type: bool
    observed:
      description: Always V(null). The node makes its observations itself, see O(canary).
      type: bool
    observed_before:
      description: Always V(null), as C(observed).
      type: dict
    notes:
      description: What was noticed during the transaction, such as a restart of the kubelet, or what was not verified and why. Each is a warning, too.
      type: list
      elements: str
    log:
      description: The last log lines of a component that did not become healthy.
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
    - With nothing to change, the feature gates of the running process, when they cannot be read.
  returned: always
  type: list
  elements: str
  sample:
    - "whether feature gates ContextualLogging are as desired: /etc/kubernetes/admin.conf does not exist, and /metrics answers only an administrator"
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
    static_pod_options,
    static_pod_settings,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.node_module import NodeModule
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.pyyaml import require_yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod.static_pod_steps import StaticPodSteps


def main() -> t.NoReturn:
    """Pass the steps to the runner."""
    module = NodeModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            **static_pod_settings(),
            **static_pod_options(),
        },
    )
    require_yaml(module)
    steps = StaticPodSteps(
        module.params,
        diff=module._diff,
        run=module.run,
    )
    runner.run_steps(module, steps, rehearse=module.params["rehearse"])


if __name__ == "__main__":
    main()

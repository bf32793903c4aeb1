#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_info
short_description: Gather information about a kubelet
description:
  - Reads the unit, the configuration files and the process of the kubelet of a node, and returns the resulting settings, with the files and
    lines that set each. M(nodecraft.kubeadm.kubelet) changes them.
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
extends_documentation_fragment:
  - nodecraft.kubeadm.transaction.info
  - nodecraft.kubeadm.transaction.actiongroup_node
  - nodecraft.kubeadm.versions
requirements:
  - PyYAML on the node, for C(ansible_python_interpreter) or for C(/usr/bin/python3)
  - systemd
notes:
  - The result is from the files. It does not contain the kubelet's own defaults; the API server's C(/configz) of the node has them.
seealso:
  - module: nodecraft.kubeadm.kubelet
"""

EXAMPLES = r"""
- name: Read the kubelet
  nodecraft.kubeadm.kubelet_info:
  register: found

- name: Show which files set the number of pods
  ansible.builtin.debug:
    msg: "{{ found.sources.config.maxPods | default([]) }}"
"""

RETURN = r"""
node:
  description: Name of the node, as its kubelet registers it.
  returned: success
  type: str
control_plane:
  description:
    - Why the node counts as a control plane; empty when it does not.
    - It does when its directory of static pods has a manifest of kube-apiserver or etcd, one of them runs in the host's network, or
      C(/var/lib/etcd) is in use. Otherwise its Node, read with the kubelet's own credential, counts when it has the label
      C(node-role.kubernetes.io/control-plane). Other static pods, such as a proxy in front of the API, do not count.
  returned: success
  type: list
  elements: str
  sample:
    - /etc/kubernetes/manifests/etcd.yaml is a manifest of etcd
    - etcd runs in the host's network as process 1234
cluster:
  description: >-
    Identity of the node's cluster, as its kubelet sees it. A value is empty where it cannot be read.
  returned: success
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
version:
  description: Minor version of the kubelet's binary.
  returned: success
  type: str
  sample: '1.36'
files:
  description: The unit's file and its drop-ins, the configuration file, and the fragments that are merged into it, in order.
  returned: success
  type: list
  elements: str
arguments:
  description: The command line that results from the unit, each C(argument) with its C(source).
  returned: success
  type: list
  elements: dict
config:
  description: The merged configuration files.
  returned: success
  type: dict
feature_gates:
  description: Feature gates of files and command line.
  returned: success
  type: dict
sources:
  description: Files and lines that set a feature gate (C(feature_gates)) or a field (C(config)); the last one counts.
  returned: success
  type: dict
resource_managers:
  description: >-
    By field (V(cpuManagerPolicy), V(memoryManagerPolicy), V(topologyManagerPolicy)) the policy in the
    files, and in the kubelet's state file. Policies are in lower case.
  returned: success
  type: dict
  contains:
    policy:
      description: The policy in the files, or the kubelet's default.
      type: str
    state_file:
      description: Where the kubelet keeps its allocations; V(null) for the Topology Manager, which has no such file.
      type: str
    state_policy:
      description: The policy that the state file was written under; empty when it names none, V(null) without a file.
      type: str
    mismatch:
      description: Why a kubelet would not start with its state file; V(null) when both name the same policy.
      type: str
  sample:
    cpuManagerPolicy:
      policy: static
      state_file: /var/lib/kubelet/cpu_manager_state
      state_policy: none
      mismatch: cpu_manager_state names the policy none, but cpuManagerPolicy is static
owned:
  description: What this collection set, by option; the names only.
  returned: success
  type: dict
rejoined:
  description: >-
    Set when the node was joined to its cluster again after the last change by this collection, such as after C(kubeadm reset), which leaves
    the files of this collection; V(null) otherwise. The kubelet's oldest client certificate and its kubeconfig show it.
  returned: success
  type: dict
  contains:
    at:
      description: When the node was joined, UTC.
      type: str
    overrides:
      description: >-
        Settings of this collection that still override what C(kubeadm join) wrote, each with C(field), C(key), the value that is C(used),
        and C(below) for that of the other files, V(null) when these do not set it.
      type: list
      elements: dict
  sample:
    at: "2026-01-01T00:05:00Z"
    overrides:
      - field: config
        key: maxPods
        used: 120
        below: 121
process:
  description: >-
    The running process with C(pid), C(arguments) and C(started) (seconds since 1970); V(null) when the kubelet is down.
  returned: success
  type: dict
in_sync:
  description: >-
    Whether the process has the command line that results from the unit, and started after its files were last changed, those of this collection
    too. The inode counts, so a file that was copied back with its former time, or got another mode, counts as changed.
  returned: success
  type: bool
blocked_by:
  description: Why M(nodecraft.kubeadm.kubelet) would refuse to change this unit; V(null) when it would not.
  returned: success
  type: str
open_transaction:
  description: >-
    C(id), C(phase), C(message) and C(requested) (with C(at) and C(from)) of the open transaction; V(null) when there is none.
    All but C(message) are V(null) when its journal cannot be read.
  returned: success
  type: dict
last_transaction:
  description: How the last transaction ended, as M(nodecraft.kubeadm.kubelet) returns it; V(null) without one.
  returned: success
  type: dict
last_known_good:
  description: Id of the last committed transaction with an intact journal; V(null) without one.
  returned: success
  type: str
undo:
  description: >-
    What O(nodecraft.kubeadm.kubelet#module:state=previous) would do; V(null) when there is nothing to revert.
  returned: success
  type: dict
  contains:
    transaction:
      description: Id of the change that would be reverted; V(null) when that is unknown.
      type: str
    requested:
      description: When (C(at)) and from where (C(from)) that change was requested; V(null) when that is unknown.
      type: dict
    ended:
      description: When that change ended, UTC; V(null) when that is unknown.
      type: str
    files:
      description: >-
        The files that would change, each with C(path), C(change) (V(changed), V(created) or V(removed)) and C(diff). A C(diff) is
        V(null) where the content may be confidential: of environment files and of this collection's record.
      type: list
      elements: dict
    operations:
      description: Every setting that would change, as M(nodecraft.kubeadm.kubelet) returns it.
      type: list
      elements: dict
    blocked_by:
      description: Why it would be refused, such as a file that was changed since; V(null) when it would not.
      type: str
unreadable_journals:
  description: What is wrong with each journal without a usable copy, and what to do.
  returned: success
  type: list
  elements: str
"""

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.node_module import NodeModule
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.pyyaml import require_yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet.kubelet_report import read_all


def main() -> t.NoReturn:
    """Pass the reader to the runner."""
    module = NodeModule(argument_spec={})
    require_yaml(module)
    runner.run_info(module, lambda: read_all(run=module.run, warn=module.warn))


if __name__ == "__main__":
    main()

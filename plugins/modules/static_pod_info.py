#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: static_pod_info
short_description: Gather information about static pods
description:
  - Reads the static pods of a node, with their manifests, the processes that really run, what this collection set, stray files in the
    directory of manifests, and open or past transactions. M(nodecraft.kubeadm.static_pod) changes them.
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
  name:
    description: Read this static pod only; the list is empty when the node has none of that name. By default all of them.
    type: str
  manifest_dir:
    description: Directory of the manifests. By default the kubelet's own C(staticPodPath).
    type: path
seealso:
  - module: nodecraft.kubeadm.static_pod
"""

EXAMPLES = r"""
- name: Read all static pods
  nodecraft.kubeadm.static_pod_info:
  register: found

- name: Show which feature gates the API server has
  ansible.builtin.debug:
    msg: "{{ (found.static_pods | selectattr('name', 'eq', 'kube-apiserver') | first).feature_gates }}"
"""

RETURN = r"""
node:
  description: Name of the node, as its kubelet registers it.
  returned: success
  type: str
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
kubelet_problem:
  description: >-
    Why the node's kubelet does not work, with its last log lines; V(null) when it does. The static pods are then read from its files.
  returned: success
  type: str
  sample: "kubelet on cp1 is activating (auto-restart); it logged last: panic: unrecognized feature gate: OldGate"
manifest_dir:
  description: The directory that was read.
  returned: success
  type: str
unreadable_files:
  description: Files in the directory that declare no pod. The kubelet tries to read them all the same.
  returned: success
  type: list
  elements: str
static_pods:
  description: The static pods, sorted by name.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name in the manifest.
      type: str
    manifest:
      description: Path of the manifest.
      type: str
    image:
      description: The container's image.
      type: str
    arguments:
      description: The command line in the manifest.
      type: list
      elements: str
    feature_gates:
      description: Feature gates on the command line.
      type: dict
    admission_plugins:
      description: Admission plugins on the command line, V(enabled) or V(disabled).
      type: dict
    args:
      description: All other flags, each with the list of its values.
      type: dict
    env:
      description: Names of the environment variables. Values are never shown.
      type: list
      elements: str
    volumes:
      description: Volumes with a host path and one mount, by name.
      type: dict
    resources:
      description: Requests and limits, such as C(requests.cpu), by key.
      type: dict
    probes:
      description: Times of probes that are set, such as C(livenessProbe.periodSeconds).
      type: dict
    priority:
      description: C(priorityClassName) and C(priority), where they are set.
      type: dict
    owned:
      description: What this collection set and is still there as it was set, by option; the names only.
      type: dict
    lost:
      description: >-
        What this collection set and was lost when a kubeadm upgrade rewrote the manifest, by option; the names only. A run with it sets it
        again, see RV(nodecraft.kubeadm.static_pod#module:lost).
      type: dict
    removed:
      description: >-
        What this collection set and something else has removed from the manifest, which was not rewritten as a whole, by option; the names only.
        It stops the next change with it, see O(nodecraft.kubeadm.static_pod#module:restore_removed).
      type: dict
    process:
      description: >-
        The running process with C(uid) (of the pod), C(pid), C(container_id), C(arguments) and C(started) (seconds since
        1970); V(null) when the component does not run.
      type: dict
    in_sync:
      description: Whether the running process has the command line of the manifest.
      type: bool
    ready:
      description: Whether exactly the process of the manifest runs, alone, and passes the probes of its container.
      type: bool
    problem:
      description: Why it is not ready; V(null) when it is.
      type: str
    unverified:
      description: >-
        What of a component that is ready is not known, such as an exec probe while the API does not tell what the kubelet reports, or that its
        manifest has no probe.
      type: list
      elements: str
    stray_files:
      description: Other files that the kubelet reads as the same pod. Nothing is changed while there are any.
      type: list
      elements: str
    open_transaction:
      description: >-
        C(id), C(phase), C(message) and C(requested) (with C(at) and C(from)) of the open transaction; V(null) when there is none.
        All but C(message) are V(null) when its journal cannot be read.
      type: dict
    last_transaction:
      description: How the last transaction ended, as M(nodecraft.kubeadm.static_pod) returns it; V(null) without one.
      type: dict
    last_known_good:
      description: Id of the last committed transaction with an intact journal; V(null) without one.
      type: str
    undo:
      description: >-
        What O(nodecraft.kubeadm.static_pod#module:state=previous) would do; V(null) when there is nothing to revert.
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
            V(null) where the content may be confidential: of all files but the manifest, whose environment variables are hidden.
          type: list
          elements: dict
        operations:
          description: Every setting that would change, as M(nodecraft.kubeadm.static_pod) returns it.
          type: list
          elements: dict
        blocked_by:
          description: Why it would be refused, such as a file that was changed since; V(null) when it would not.
          type: str
    unreadable_journals:
      description: What is wrong with each journal without a usable copy, and what to do.
      type: list
      elements: str
    error:
      description: Why the manifest cannot be read, and so cannot be changed; V(null) when it can. Most other keys are V(null) then.
      type: str
"""

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.node_module import NodeModule
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.pyyaml import require_yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod.static_pod_report import read_all


def main() -> t.NoReturn:
    """Pass the reader to the runner."""
    module = NodeModule(
        argument_spec={"name": {"type": "str"}, "manifest_dir": {"type": "path"}},
    )
    require_yaml(module)
    name, directory = module.params["name"], module.params["manifest_dir"]
    runner.run_info(module, lambda: read_all(name, directory, run=module.run, warn=module.warn))


if __name__ == "__main__":
    main()

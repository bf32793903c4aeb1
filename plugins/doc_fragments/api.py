# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options and attributes of the modules that ask the Kubernetes API."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation that several modules share."""

    DOCUMENTATION = r"""
options:
  concurrency:
    description:
      - How many requests are sent at a time, on persistent connections.
    type: int
    default: 8
requirements:
  - PyYAML
  - kubernetes >= 24.2.0, only for a kubeconfig whose user is an exec plugin or an auth provider
notes:
  - Runs on a control plane as root, where the cluster's own C(/etc/kubernetes/admin.conf) needs no setup, or wherever there are credentials.
  - Credentials come from the options, otherwise from the variables E(K8S_AUTH_KUBECONFIG), E(K8S_AUTH_HOST) and so on, otherwise from
    O(admin_conf). C(~/.kube/config) and the service account of a pod are used only where you name them.
  - The task waits for an API server that restarts, for 60 seconds, or for C(wait_timeout) seconds with C(wait=true).
"""

    INFO = r"""
options:
  concurrency:
    description:
      - How many requests are sent at a time, on persistent connections.
    type: int
    default: 8
requirements:
  - PyYAML
  - kubernetes >= 24.2.0, only for a kubeconfig whose user is an exec plugin or an auth provider
notes:
  - Runs on a control plane as root, where the cluster's own C(/etc/kubernetes/admin.conf) needs no setup, or wherever there are credentials.
  - Credentials come from the options, otherwise from the variables E(K8S_AUTH_KUBECONFIG), E(K8S_AUTH_HOST) and so on, otherwise from
    O(admin_conf). C(~/.kube/config) and the service account of a pod are used only where you name them.
attributes:
  check_mode:
    support: full
    description: Changes nothing.
  diff_mode:
    support: N/A
    description: Changes nothing.
  idempotent:
    support: full
    description: Changes nothing.
"""

    # Which nodes are read.
    SELECTION = r"""
options:
  nodes:
    description:
      - Names of nodes. A name that the cluster does not know is an error.
      - Without this and O(label_selector) all nodes are read.
    type: list
    elements: str
  label_selector:
    description:
      - Selects nodes by their labels, in Kubernetes' syntax, in addition to O(nodes).
    type: str
"""

    NODES = r"""
options:
  nodes:
    description:
      - Names of nodes. O(label_selector) and O(per_node) add more.
      - A name that the cluster does not know fails the task after the other nodes are done.
    type: list
    elements: str
  label_selector:
    description:
      - Selects nodes by their labels, in Kubernetes' syntax.
      - With O(state=present) a selector that matches no node is an error; with O(state=absent) there is nothing to do.
    type: str
  state:
    description:
      - With V(present) what is named gets its value. What the task does not name stays as it is.
      - With V(absent) what is named is reverted, as far as this collection set it. Without anything named, everything that this collection set
        with this module is reverted. What others set stays.
    type: str
    choices:
      - present
      - absent
    default: present
  purge:
    description:
      - Also revert what this module set earlier on these nodes and this task does not name. A node for which the task names nothing at all is left
        alone.
      - What others set is never reverted, and neither is an owned value that was changed since.
    type: bool
    default: false
  on_error:
    description:
      - With V(continue) every node is tried, and the task fails in the end when one of them failed.
      - With V(stop) nothing is sent to further nodes after the first failure.
    type: str
    choices:
      - continue
      - stop
    default: continue
  wait:
    description:
      - Wait until every node shows the desired state, also when nothing had to be changed.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds to wait, with O(wait=true).
    type: int
    default: 120
attributes:
  check_mode:
    support: full
    description: Sends the same patches as a dry run.
  diff_mode:
    support: full
    description: Returns the difference of every node that changes.
  idempotent:
    support: full
    description: A second run with the same options sends no patch.
"""

    ACTIONGROUP_API = r"""
options: {}
attributes:
  action_group:
    support: full
    description: >-
      C(group/nodecraft.kubeadm.api) in C(module_defaults) sets the credentials for all modules that use the API, and for those of
      kubernetes.core, too.
    membership:
      - nodecraft.kubeadm.api
"""

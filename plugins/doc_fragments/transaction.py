# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options and attributes of the modules that change a node in a transaction."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation that several modules share."""

    DOCUMENTATION = r"""
options:
  rehearse:
    description:
      - Start the component's own binary with the new settings in a sandbox before anything is written, and refuse the
        change when the component refuses it. This also happens in check mode.
      - With V(false) a bad setting is found only when the component does not become healthy, which causes an outage.
    type: bool
    default: true
  rollback:
    description:
      - Write the former files again when the component does not become healthy, and verify the former state.
      - With V(false) an unhealthy component is left as it is and the task fails.
    type: bool
    default: true
  wait_timeout:
    description:
      - Seconds for the component to become healthy after the change.
      - A rollback has at least 300 seconds in addition, so a failing task may take that much longer.
    type: int
    default: 300
  min_ready_seconds:
    description:
      - Seconds for which the component must stay healthy without a break before the change is committed. They are added to
        O(wait_timeout). A kube-controller-manager is watched for 20 seconds more, until it may lead.
    type: int
    default: 10
  confirm:
    description:
      - Commit the change only when the controller has confirmed that it reaches the API server. When the node has verified the change, it waits
        for the confirmation for O(confirm_timeout) seconds; without it the change is rolled back, as after any other failure.
      - The controller tries O(confirm_url) before anything is changed, and the task fails when it is already unreachable.
      - It cannot be combined with O(rollback=false).
    type: bool
    default: false
  confirm_timeout:
    description:
      - Seconds for the confirmation by the controller, with O(confirm=true).
    type: int
    default: 60
  confirm_url:
    description:
      - Address at which the controller reaches the API server, such as C(https://10.0.0.11:6443/readyz). Required with
        O(confirm=true).
      - Every answer with a status below 500 counts, also "forbidden".
      - Use the address of the node that changes, because a load balancer lets another API server answer. For the kubelet of a worker use that
        of a control plane.
    type: str
  confirm_ca_cert:
    description:
      - File on the controller with the CA certificates for O(confirm_url). Without it no certificate is verified.
    type: path
  lock_timeout:
    description:
      - Seconds to wait for another active run or an open transaction on the node. By default the task fails at once.
      - The node waits. The task shows what it waits for, and fails with RV(busy=true) when the time is over.
      - The call that waited changes nothing, and the controller starts another one when the node is free. So nothing is changed when the
        connection or the controller is lost during the wait, either.
    type: int
    default: 0
  acknowledge:
    description:
      - Note on the node that the outcome was returned, so that later runs do not report it again.
      - With V(false) the next run returns it as C(previous_transaction), unless M(nodecraft.kubeadm.node_transaction) has returned it before.
        Use this when the playbook verifies more after this task, and call that module behind it. The roles do so when they report.
    type: bool
    default: true
"""

    ATTRIBUTES = r"""
options: {}
attributes:
  check_mode:
    support: full
    description: Returns the changes that it would make, rehearsed.
  async:
    support: none
    description: The node carries the change out by itself; the task only waits for it.
  diff_mode:
    support: full
    description: Returns the difference of every file, except values of environment variables and sensitive contents.
  idempotent:
    support: full
    description: A second run with the same options changes nothing and restarts nothing.
  platform:
    platforms: posix
    support: full
    description: Needs a node that kubeadm set up, with systemd.
"""

    INFO = r"""
options: {}
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
  platform:
    platforms: posix
    support: full
    description: Needs a node that kubeadm set up, with systemd.
"""

    ACTIONGROUP_NODE = r"""
options: {}
attributes:
  action_group:
    support: full
    description: >-
      C(group/nodecraft.kubeadm.node) in C(module_defaults) sets defaults for all modules that run on nodes. These
      must be options that all of these modules have.
    membership:
      - nodecraft.kubeadm.node
"""

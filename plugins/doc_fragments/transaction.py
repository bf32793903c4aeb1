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
      - With V(false) a bad setting is found only when the component does not come up, which costs an outage.
    type: bool
    default: true
  rollback:
    description:
      - Put the former files back when the component does not become healthy, and verify that the former state is back.
      - With V(false) an unhealthy component is left as it is and the task fails.
    type: bool
    default: true
  wait_timeout:
    description:
      - Seconds for the component to become healthy after the change.
      - A restore has at least 300 seconds of its own, so a task that fails may take that much longer.
    type: int
    default: 300
  min_ready_seconds:
    description:
      - Seconds for which the component has to stay healthy without a break before the change is committed. They come on
        top of O(wait_timeout).
    type: int
    default: 10
  confirm:
    description:
      - Commit the change only when the controller, too, reaches the API server. When the node has verified the change on itself, it
        waits for O(confirm_timeout) seconds for that word; without it the former files are put back, as after any other failure.
      - The controller tries O(confirm_url) before anything is changed, and the task fails when it is out of reach already.
      - It cannot go with O(rollback=false).
    type: bool
    default: false
  confirm_timeout:
    description:
      - Seconds for the word of the controller, with O(confirm=true).
    type: int
    default: 60
  confirm_url:
    description:
      - Address by which the controller reaches the API server, such as C(https://lb.example.com:6443/readyz). Required with
        O(confirm=true).
      - Every answer with a status below 500 counts, also that one may not ask.
      - With several control planes the address of a load balancer tells nothing of the API server of one node, because another
        one answers. Name that of the node itself where it is the one that changes.
    type: str
  confirm_ca_cert:
    description:
      - File on the controller with the certificates that O(confirm_url) has to be verified by. Without it no certificate is verified.
    type: path
  lock_timeout:
    description:
      - Seconds to wait for another run or an open transaction that is at work on the node. By default the task fails at once.
      - The wait is on the node. What is waited for is shown, and when the time is over the task fails with RV(busy=true) and says so.
      - The call that waited changes nothing, and the controller starts another one when the node is free. So nothing is changed
        either when the connection or the controller is lost during the wait.
    type: int
    default: 0
"""

    ATTRIBUTES = r"""
options: {}
attributes:
  check_mode:
    support: full
    description: Can run in check mode and return the changes that it would make, rehearsed.
  async:
    support: none
    description: The node works by itself; the task only follows it.
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
      C(group/nodecraft.kubeadm.node) in C(module_defaults) sets defaults for all modules that run on nodes. They have to be of
      options that all of these modules take.
    membership:
      - nodecraft.kubeadm.node
"""

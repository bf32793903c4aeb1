#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rollout
short_description: (internal) Run one step of a rollout
description:
  - Decides in the roles and playbooks of this collection which node has its turn, what stops a rollout and what is reported of it. Only they use it; its
    options and its results may change with every release.
  - Runs on the controller. Some steps run other modules of this collection on the host to which the task is delegated, with their
    C(module_defaults).
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
requirements:
  - Python 3.9 or newer where the module runs
options:
  role:
    description: The role, or the playbook, whose rollout it is.
    type: str
    choices:
      - control_plane
      - device_plugin
      - node_kubelet
      - node_resources
      - placement_guard
      - pod_resize
      - rollback
      - site
      - upgrade_check
    required: true
  step:
    description:
      - V(begin) checks the variables of the role, plans the host, and shares what the other hosts need to know of it. In C(site) it checks the groups of the
        inventory, too, for all playbooks.
      - V(plan) plans a host again, where another run may have changed something since.
      - V(decide) determines from all plans which hosts have a turn, on the coordinator.
      - V(split) determines for the playbook C(site), which adds in a first pass and removes in a second one, what the first one preserves on a host.
      - V(record) records what a host has changed before a role runs once more.
      - V(admit) checks through the API what blocks the rollout, and acquires the Lease.
      - V(observe) checks whether another host is ready.
      - V(turn) begins the turn of a host when those before it are done.
      - V(trace) finds, behind a change that failed, the other hosts on which it has to be reverted; without any it fails again.
      - V(revert) reverts it on one of them.
      - V(verify) checks that the change of a host has the desired effect.
      - V(conclude) has the node of a host commit its change, or roll it back, as it was verified.
      - V(apply) changes the nodes of all hosts through the API, on the coordinator. What fails of a node fails its own host at the V(end).
      - V(compare) checks that kubelets with nothing to change use what is desired.
      - V(end) determines the outcome of each host, fails one with what was not done on its node, and releases the Lease.
      - V(acknowledge) notes on the node which outcomes are reported, so that later runs do not report them again.
      - V(report) fails a host on which a kubeadm upgrade breaks something, or that was not checked.
      - V(summary) prints what became of all hosts, on one of them, unless the output of the callback is read by programs.
    type: str
    choices:
      - begin
      - plan
      - decide
      - split
      - record
      - admit
      - observe
      - turn
      - trace
      - revert
      - verify
      - conclude
      - apply
      - compare
      - end
      - acknowledge
      - report
      - summary
    required: true
  settings:
    description: Values of variables of the role that the step needs.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Acquires no Lease and does not wait.
  diff_mode:
    support: full
    description: For what O(step=apply) changes. Nothing else is changed but a Lease.
  idempotent:
    support: full
    description: For what O(step=apply) changes. Nothing else is changed but a Lease.
"""

EXAMPLES = r"""
- name: Plan a kubelet at the beginning of a rollout, as the role node_kubelet does
  nodecraft.kubeadm.rollout:
    role: node_kubelet
    step: begin
    settings: "{{ __node_kubelet_settings }}"
  register: __node_kubelet_begin
"""

RETURN = r"""
pass_id:
  description: The pass of the role to which the result belongs. A pass is one run of the role from begin to end; a play can have several.
  returned: with the steps of roles and of C(site) that others read, not with O(step=acknowledge)
  type: str
  sample: 5f3c9a17
at_work:
  description: Whether the host takes part in a pass that has not ended.
  returned: with O(step=begin)
  type: bool
settings:
  description: What the other hosts need to know of this one.
  returned: with O(step=begin)
  type: dict
plan:
  description: What the module returned that plans the host.
  returned: with O(step=begin) in the roles control_plane and node_kubelet
  type: dict
excluded:
  description: Why the host is excluded from the rollout; empty when it takes part.
  returned: with O(step=begin)
  type: str
check_mode:
  description: Whether the host is only planned, because of the command line or a keyword.
  returned: with O(step=observe) in the role device_plugin
  type: bool
coordinator:
  description: The host that decides and sends the API requests for all.
  returned: with O(step=decide) in roles
  type: str
api:
  description: The hosts that may send API requests, best first, or the one that does, each with C(host) and C(become).
  returned: with most steps
  type: raw
api_reachable:
  description: Whether the API answered this host. If not, the next one is used.
  returned: with steps that use the API
  type: bool
cluster:
  description: By what the API is verified to be that of the nodes.
  returned: with O(step=admit) in some roles
  type: dict
report:
  description: The outcome of the host.
  returned: with O(step=end)
  type: dict
reports:
  description: The outcome of the host, by role.
  returned: with O(step=end) of C(site)
  type: dict
lines:
  description: The outcome of all hosts as lines to print; with O(step=end) remarks about the run as a whole.
  returned: with O(step=end) and O(step=summary)
  type: list
  elements: str
outcome:
  description: What the run came to, C(unchanged), C(changed), C(pending) or C(failed).
  returned: with O(step=summary) in roles and C(site)
  type: str
  sample: changed
hosts:
  description: By host, how many operations were made (C(changed)) and were not (C(pending)), and whether it C(failed).
  returned: with O(step=summary) in roles and C(site)
  type: dict
"""

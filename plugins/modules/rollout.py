#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rollout
short_description: Take one step of a rollout in a role of this collection
description:
  - Decides who has a turn, what stops a rollout and what is reported. Only the roles of this collection use it; its options and its results may
    change with every release.
  - Runs on the controller. Some steps run other modules of this collection, where the task is delegated to, with what C(module_defaults) says
    for these.
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
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
      - With V(begin) the variables of the role are checked, and every host tells the others what they have to know of it.
      - With V(decide) the host that coordinates works out from all plans who has a turn.
      - With V(split) the playbook C(site) works out what a host adds, without what it takes away.
      - With V(admit) it asks the API what speaks against that, and keeps other runs out.
      - With V(look) it asks another host whether that is ready.
      - With V(turn) a host begins when those before it are done.
      - With V(verify) it sees that its change has the effect that was asked for.
      - With V(apply) the host that coordinates changes the nodes of all hosts through the API.
      - With V(end) what became of it is worked out, and other runs are let in again.
      - With V(report) one host shows the lines of all, and a host whose turn did not come fails.
    type: str
    choices:
      - begin
      - decide
      - split
      - admit
      - look
      - turn
      - verify
      - apply
      - end
      - report
    required: true
  settings:
    description: Values of variables of the role, as far as the step needs them.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Nothing is held and nothing is waited for.
  diff_mode:
    support: full
    description: Of what O(step=apply) changes. Nothing else is changed but a Lease.
  idempotent:
    support: full
    description: Of what O(step=apply) changes. Nothing else is changed but a Lease.
"""

EXAMPLES = r"""
- name: Begin a rollout, as the role node_kubelet does
  nodecraft.kubeadm.rollout:
    role: node_kubelet
    step: begin
    settings: "{{ __node_kubelet_settings }}"
  register: __node_kubelet_pass
"""

RETURN = r"""
pass:
  description: The pass of the role to which the result belongs, which each host names differently.
  returned: with all steps but O(step=report)
  type: str
  sample: 5f3c9a17
at_work:
  description: Whether the host takes part in a pass that has not ended.
  returned: with O(step=begin) and O(step=end)
  type: bool
settings:
  description: What the other hosts have to know of this one.
  returned: with O(step=begin)
  type: dict
left_out:
  description: Why the host is left out; empty when it takes part.
  returned: with O(step=begin)
  type: str
check_mode:
  description: Whether the host is only planned, by the option of the command line or a keyword.
  returned: with O(step=look) in the role device_plugin
  type: bool
coordinator:
  description: The host that decides and asks for all.
  returned: with O(step=decide) in roles
  type: str
api:
  description: Which hosts may ask the API, best first, or who does, each with C(host) and C(become).
  returned: with most steps
  type: raw
answered:
  description: Whether the host that was asked for the API has answered. If not, the next one is asked.
  returned: with steps that ask the API
  type: bool
cluster:
  description: By what the API has to verify to be that of the nodes.
  returned: with O(step=admit) in some roles
  type: dict
report:
  description: What became of the host.
  returned: with O(step=end)
  type: dict
lines:
  description: What became of all hosts, as lines, on the host that tells it.
  returned: with O(step=end)
  type: list
  elements: str
"""

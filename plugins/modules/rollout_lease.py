#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rollout_lease
short_description: Let one run at a time change a control plane
description:
  - Acquires, renews and releases the Lease O(name) in the namespace C(kube-system). The run that holds it may change the nodes that it is for;
    all others wait.
  - The roles P(nodecraft.kubeadm.control_plane#role) and P(nodecraft.kubeadm.node_kubelet#role) do this by themselves. Use
    the module for plays of your own that change static pods with M(nodecraft.kubeadm.static_pod).
  - A roll-out that failed leaves a mark on the Lease, so that the same wish is not tried on the next node before somebody looked.
  - Whether a Lease has run out is told by the clock of the API server, never by that of the controller.
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
extends_documentation_fragment:
  - nodecraft.kubeadm.auth
  - nodecraft.kubeadm.api.actiongroup_api
  - nodecraft.kubeadm.versions
requirements:
  - PyYAML
  - kubernetes >= 24.2.0, only for a kubeconfig whose user is an exec plugin or an auth provider
notes:
  - Runs on a control plane as root, where the cluster's own C(/etc/kubernetes/admin.conf) needs no other set-up, or wherever there are
    credentials.
  - Credentials come from the options, or else from the variables E(K8S_AUTH_KUBECONFIG), E(K8S_AUTH_HOST) and so on, or else from
    O(admin_conf). C(~/.kube/config) and the account of a pod are used only where they are named.
  - An API server that restarts is waited for, for 60 seconds.
  - The account needs the verbs C(get), C(create) and C(update) on C(leases) of C(coordination.k8s.io) in C(kube-system).
options:
  name:
    description:
      - Name of the Lease. That of the role P(nodecraft.kubeadm.node_kubelet#role) is V(nodecraft-kubeadm-kubelets).
      - Runs that must not change nodes at the same time must name the same one.
    type: str
    default: nodecraft-kubeadm-control-plane
  state:
    description:
      - With V(held) the Lease is taken, or renewed when O(holder) holds it already.
      - With V(released) it is let go. Nothing is done when somebody else holds it.
      - With V(halted) it is let go and marked with O(node), O(reason) and the one digest in O(wishes). Nothing is done when somebody
        else holds it.
    type: str
    choices:
      - held
      - released
      - halted
    default: held
  holder:
    description: Who asks. It has to be another one for every run, and should say who and where that is.
    type: str
    required: true
  duration:
    description: Seconds from now on for which the Lease is needed, at least as long as the longest change that is made before it is renewed.
    type: int
    default: 900
  wishes:
    description:
      - Digests of what the run is going to change, one for each node or one for all, in any form.
      - A Lease that was marked with one of them is refused, unless O(resume=true).
    type: list
    elements: str
    default: []
  open_transactions:
    description:
      - Changes that nodes still have open, in words. With any of them, a Lease that ran out is not taken over.
      - M(nodecraft.kubeadm.static_pod_info) tells of them.
    type: list
    elements: str
    default: []
  planned_ago:
    description: Seconds since the caller looked at the nodes. RV(stale) says whether somebody else held the Lease since.
    type: int
    default: 0
  wait_timeout:
    description: Seconds to wait for a run that holds the Lease. What is waited for is shown on standard error.
    type: int
    default: 600
  takeover:
    description: Take the Lease from whoever holds it. Only for a human who knows that the other run is dead.
    type: bool
    default: false
  resume:
    description: Take a Lease that is marked with the same wish. The cause should be mended.
    type: bool
    default: false
  completed:
    description: With O(state=released), whether the roll-out came to its end, so that the mark of an earlier one goes.
    type: bool
    default: true
  node:
    description: With O(state=halted), where the roll-out failed.
    type: str
  reason:
    description: With O(state=halted), why.
    type: str
  concurrency:
    description: How many connections to the API server are kept. One is enough.
    type: int
    default: 1
attributes:
  check_mode:
    support: full
    description: The API server judges the write without keeping it. A run that holds the Lease is named in a warning, and not waited for.
  diff_mode:
    support: none
    description: The operations say all.
  idempotent:
    support: partial
    details: A Lease that is held is renewed each time.
    description: A Lease that is let go already is left alone.
seealso:
  - module: nodecraft.kubeadm.static_pod
  - module: nodecraft.kubeadm.static_pod_info
"""

EXAMPLES = r"""
- name: Give this run a name that no other run has
  ansible.builtin.set_fact:
    this_run: "ops@bastion/{{ lookup('ansible.builtin.password', '/dev/null', length=8, chars=['ascii_lowercase', 'digits']) }}"

- name: Change the scheduler while no other run changes anything
  block:
    - name: Keep other runs out
      nodecraft.kubeadm.rollout_lease:
        holder: "{{ this_run }}"
        duration: 1200

    - name: Change the scheduler
      nodecraft.kubeadm.static_pod:
        name: kube-scheduler
        args:
          v: "4"

  always:
    - name: Let them in again, and leave the mark of a roll-out that failed
      nodecraft.kubeadm.rollout_lease:
        holder: "{{ this_run }}"
        state: released
        completed: false
"""

RETURN = r"""
api:
  description: Who was asked.
  returned: always
  type: dict
  contains:
    host:
      description: Name of the machine that asked.
      type: str
    server:
      description: URL of the API server that answered last; V(null) when none did.
      type: str
  sample:
    host: cp1
    server: https://10.0.0.10:6443
answered:
  description: Whether an API server answered; V(null) when none was asked, such as without credentials.
  returned: always
  type: bool
holder:
  description: Who holds the Lease now; V(null) for nobody.
  returned: always
  type: str
taken_over_from:
  description: Who held the Lease until it ran out, or until O(takeover); V(null) when nobody did.
  returned: always
  type: str
stale:
  description: Whether somebody else held the Lease since the caller planned (see O(planned_ago)), so that it should plan anew.
  returned: always
  type: bool
waited_seconds:
  description: How long another run was waited for.
  returned: always
  type: float
busy:
  description: Whether the task failed only because another run held the Lease until the end of O(wait_timeout).
  returned: always
  type: bool
operations:
  description: What changes of the Lease. Its time always does.
  returned: always
  type: list
  elements: dict
  contains:
    field:
      description: Always V(lease).
      type: str
    key:
      description: V(holderIdentity) or V(halted).
      type: str
    before:
      description: The former value; V(null) when there was none.
      type: raw
    after:
      description: The new value; V(null) when there is none.
      type: raw
rehearsal:
  description: What the API server said to the write before it was made, which is asked in check mode only.
  returned: always
  type: dict
  contains:
    verdict:
      description: V(accepted), V(refused), V(skipped) or V(not_needed).
      type: str
    message:
      description: Its own words, or why it was not asked.
      type: str
    seconds:
      description: How long it took.
      type: float
    command:
      description: Always empty here.
      type: list
      elements: str
"""

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.connection import connect
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.lease_steps import LeaseSteps
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.api_module import ApiModule
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.lease import LEASE_NAME, WAIT_TIMEOUT


def main() -> t.NoReturn:
    """Hand the steps to the runner."""
    module = ApiModule(
        argument_spec={
            "name": {"type": "str", "default": LEASE_NAME},
            "state": {"type": "str", "choices": ["held", "released", "halted"], "default": "held"},
            "holder": {"type": "str", "required": True},
            "duration": {"type": "int", "default": 900},
            "wishes": {"type": "list", "elements": "str", "default": []},
            "open_transactions": {"type": "list", "elements": "str", "default": []},
            "planned_ago": {"type": "int", "default": 0},
            "wait_timeout": {"type": "int", "default": WAIT_TIMEOUT},
            "takeover": {"type": "bool", "default": False},
            "resume": {"type": "bool", "default": False},
            "completed": {"type": "bool", "default": True},
            "node": {"type": "str"},
            "reason": {"type": "str"},
            "concurrency": {"type": "int", "default": 1},
        },
        required_if=[("state", "halted", ("node", "reason", "wishes"))],
    )
    params = module.params
    if not params["holder"].strip():
        module.fail_json(msg="holder is empty; set a name that no other run has.")
    if params["duration"] < 1:
        module.fail_json(msg=f"duration is {params['duration']}; it has to be 1 or more.")
    if params["state"] == "halted" and len(params["wishes"]) != 1:
        module.fail_json(
            msg=f"wishes: with state=halted give the one digest of what failed, not {len(params['wishes'])} of them."
        )
    steps = LeaseSteps(params, connect=lambda: connect(module), dry=module.check_mode)
    runner.run(module, steps, rehearse=True)


if __name__ == "__main__":
    main()

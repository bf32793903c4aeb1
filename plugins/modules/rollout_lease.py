#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rollout_lease
short_description: Manage the Lease of a rollout
description:
  - Acquires, renews and releases the Lease O(name) in the namespace C(kube-system). Only the run that holds it changes nodes; all others wait.
  - The roles P(nodecraft.kubeadm.control_plane#role) and P(nodecraft.kubeadm.node_kubelet#role) use it. Use it yourself in your own plays that change
    static pods with M(nodecraft.kubeadm.static_pod).
  - A failed rollout marks the Lease as halted, so that the same desired state is not tried on the next node before the cause is fixed.
  - The clock of the API server decides whether a Lease has expired, never that of the controller.
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
  - Runs on a control plane as root, where the cluster's own C(/etc/kubernetes/admin.conf) needs no setup, or wherever there are credentials.
  - Credentials come from the options, otherwise from the variables E(K8S_AUTH_KUBECONFIG), E(K8S_AUTH_HOST) and so on, otherwise from
    O(admin_conf). C(~/.kube/config) and the service account of a pod are used only where you name them.
  - The task waits for an API server that restarts, for 60 seconds.
  - The account needs the verbs C(get), C(create) and C(update) on C(leases) of C(coordination.k8s.io) in C(kube-system).
options:
  name:
    description:
      - Name of the Lease. That of the role P(nodecraft.kubeadm.node_kubelet#role) is V(nodecraft-kubeadm-kubelets).
      - Runs that must not change nodes at the same time must use the same name.
    type: str
    default: nodecraft-kubeadm-control-plane
  state:
    description:
      - With V(held) the Lease is acquired, or renewed when O(holder) holds it already.
      - With V(released) it is released. Nothing is done when another holder has it.
      - With V(halted) it is released and marked with O(node), O(reason) and the one digest in O(intents). Nothing is done when another holder
        has it.
    type: str
    choices:
      - held
      - released
      - halted
    default: held
  holder:
    description: Identity of this run. It must be unique for every run, and should contain user and host.
    type: str
    required: true
  duration:
    description: Seconds from now on for which the Lease is needed, at least as long as the longest change that is made before it is renewed.
    type: int
    default: 1500
  intents:
    description:
      - Digests of the desired state of the run, one for each node or one for all, in any form.
      - A Lease that was marked with one of them is refused, unless O(resume=true).
    type: list
    elements: str
    default: []
  open_transactions:
    description:
      - Open transactions on nodes, in words. With any of them, an expired Lease is not taken over.
      - M(nodecraft.kubeadm.static_pod_info) returns them.
    type: list
    elements: str
    default: []
  plan_age:
    description: Age of the plan in seconds. RV(stale) says whether another holder had the Lease since.
    type: int
    default: 0
  wait_timeout:
    description: Seconds to wait for a run that holds the Lease. The task shows its holder on standard error.
    type: int
    default: 600
  gone:
    description:
      - A holder that is known to have ended. Its Lease counts as expired.
      - The task finds that out by itself for a run of a role that was killed on the same controller, and sets it then.
    type: str
  takeover:
    description: Take the Lease over from its holder. Use it only when you know that the other run is dead.
    type: bool
    default: false
  resume:
    description: Acquire a Lease that is marked with the same digest. Use it when the cause is fixed.
    type: bool
    default: false
  completed:
    description: With O(state=released), whether the rollout completed, so that the mark of an earlier one is removed.
    type: bool
    default: true
  proofs:
    description:
      - With O(state=released) and O(state=halted), by the name of a static pod that has a leader and that the run has changed, C(nodes), where it was
        changed, and C(leader), who led then, so that the change is not proven; V(null) for one that is.
      - This stays on the Lease, see RV(missing_proofs), until a run has proven a change of this static pod.
    type: dict
    default: {}
  node:
    description: With O(state=halted), where the rollout failed.
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
    description: Sends the write as a dry run. Warns of a run that holds the Lease, and does not wait for it.
  diff_mode:
    support: none
    description: The operations contain everything.
  idempotent:
    support: partial
    details: A Lease that is held is renewed each time.
    description: A released Lease is left alone.
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
    - name: Acquire the Lease
      nodecraft.kubeadm.rollout_lease:
        holder: "{{ this_run }}"
        duration: 1200

    - name: Change the scheduler
      nodecraft.kubeadm.static_pod:
        name: kube-scheduler
        args:
          v: "4"

  always:
    - name: Release the Lease, and keep the mark of a failed rollout
      nodecraft.kubeadm.rollout_lease:
        holder: "{{ this_run }}"
        state: released
        completed: false
"""

RETURN = r"""
api:
  description: The API server that was used.
  returned: always
  type: dict
  contains:
    host:
      description: Name of the machine that sent the requests.
      type: str
    server:
      description: URL of the API server that answered last; V(null) when none did.
      type: str
  sample:
    host: cp1
    server: https://10.0.0.10:6443
api_reachable:
  description: Whether an API server answered; V(null) when none was contacted, such as without credentials.
  returned: always
  type: bool
holder:
  description: The present holder of the Lease; V(null) when there is none.
  returned: always
  type: str
taken_over_from:
  description: The holder from which an expired Lease was taken over, or one with O(takeover); V(null) when there was none.
  returned: always
  type: str
stale:
  description: Whether another holder had the Lease since the plan (see O(plan_age)), so that the caller should plan again.
  returned: always
  type: bool
missing_proofs:
  description:
    - What the Lease keeps of changes that are not proven, by the name of the static pod, with C(nodes), C(leader), C(by), the run, and C(at), when.
    - Nothing is refused for it.
  returned: always
  type: dict
  sample:
    kube-scheduler:
      nodes: [cp1, cp2]
      leader: cp3
      by: "ops@bastion/1"
      at: "2026-07-31T10:15:00.000000Z"
waited_seconds:
  description: How long the task waited for another run.
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
  description: Verdict of the API server on the write, from a dry run; in check mode only.
  returned: always
  type: dict
  contains:
    verdict:
      description: V(accepted), V(refused), V(skipped) or V(not_needed).
      type: str
    message:
      description: Its own message, or why there was no dry run.
      type: str
    seconds:
      description: How long it took.
      type: float
    command:
      description: Always empty here.
      type: list
      elements: str
    warnings:
      description: Always empty here. What the API server warns of is in C(warnings) of the result.
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
    """Pass the steps to the runner."""
    module = ApiModule(
        argument_spec={
            "name": {"type": "str", "default": LEASE_NAME},
            "state": {"type": "str", "choices": ["held", "released", "halted"], "default": "held"},
            "holder": {"type": "str", "required": True},
            "duration": {"type": "int", "default": 1500},  # a change with default timeouts takes 1400 s at most
            "intents": {"type": "list", "elements": "str", "default": []},
            "open_transactions": {"type": "list", "elements": "str", "default": []},
            "plan_age": {"type": "int", "default": 0},
            "wait_timeout": {"type": "int", "default": WAIT_TIMEOUT},
            "gone": {"type": "str"},
            "takeover": {"type": "bool", "default": False},
            "resume": {"type": "bool", "default": False},
            "completed": {"type": "bool", "default": True},
            "proofs": {"type": "dict", "default": {}},
            "node": {"type": "str"},
            "reason": {"type": "str"},
            "concurrency": {"type": "int", "default": 1},
        },
        required_if=[("state", "halted", ("node", "reason", "intents"))],
    )
    steps = LeaseSteps(module.params, connect=lambda: connect(module))
    runner.run_steps(module, steps, rehearse=True)


if __name__ == "__main__":
    main()

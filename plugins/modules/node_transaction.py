#!/usr/bin/python

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_transaction
short_description: Wait for or confirm a transaction on a node
description:
  - Waits until a transaction of M(nodecraft.kubeadm.static_pod) or M(nodecraft.kubeadm.kubelet) ends or progresses, and returns its state. The
    action plugin of these modules uses it, also after a lost connection. Use it yourself after the controller died.
  - A service on the node carries out the transaction. It ends by itself, with a commit or a rollback, also when no task waits for it.
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
extends_documentation_fragment:
  - nodecraft.kubeadm.transaction.info
  - nodecraft.kubeadm.transaction.actiongroup_node
requirements:
  - Python 3.9 or newer where the module runs
attributes:
  check_mode:
    support: full
    description: Confirms nothing, hands on no observation, and does not note that the outcome was returned.
  diff_mode:
    support: N/A
    description: Has no difference to show.
  idempotent:
    support: full
    description: Changes something only when it gives a confirmation or an observation, with O(confirm) or O(observed), that the node does not have yet.
notes:
  - When this module has returned the outcome of a transaction, later runs do not report it again, unless O(acknowledge) is V(false).
options:
  name:
    description: Name of the static pod that is changed, or V(kubelet).
    type: str
    required: true
  id:
    description: Id of the transaction. By default the open one, otherwise the last one.
    type: str
  wait:
    description: Seconds to wait for the end of the transaction, or, with O(seen), until it progresses.
    type: int
    default: 0
  seen:
    description: The known RV(message). The module returns as soon as there is another one. Without it only the end is waited for.
    type: str
  confirm:
    description:
      - Id of a transaction to confirm, which is in phase V(confirming) because its task set C(confirm). The node then commits it.
      - That task does so itself when its controller reaches C(confirm_url). Use this option only when the controller died meanwhile.
      - When the transaction has ended, this only returns its outcome. In check mode nothing is confirmed.
    type: str
  observed:
    description:
      - Id of a transaction in phase V(observing), whose task set C(observation_timeout) and which was observed from elsewhere. The node then commits it,
        or rolls it back for O(losses).
      - The role P(nodecraft.kubeadm.node_kubelet#role) does so. When the transaction has ended, this only returns its outcome.
    type: str
  losses:
    description: What worked before the change of O(observed) and does not now; empty for nothing.
    type: str
    default: ''
  problem:
    description: Why the transaction, which stands, does not count as verified. The next run gets it with the outcome, which counts as not reported.
    type: str
    default: ''
  acknowledge:
    description: Note on the node that the outcome was returned, so that later runs do not report it again.
    type: bool
    default: true
seealso:
  - module: nodecraft.kubeadm.kubelet
  - module: nodecraft.kubeadm.static_pod
  - module: nodecraft.kubeadm.static_pod_info
"""

EXAMPLES = r"""
- name: Wait for the end of the last change of the API server
  nodecraft.kubeadm.node_transaction:
    name: kube-apiserver
    wait: 300

- name: Read how far the last change of the API server is
  nodecraft.kubeadm.node_transaction:
    name: kube-apiserver
  register: change

- name: Confirm it when its controller died, within its confirm_timeout
  nodecraft.kubeadm.node_transaction:
    name: kube-apiserver
    confirm: "{{ change.id }}"
    wait: 10
  when: change.phase == "confirming"
"""

RETURN = r"""
name:
  description: Name of the static pod, or V(kubelet).
  returned: success
  type: str
id:
  description: Id of the transaction; V(null) when there never was one.
  returned: success
  type: str
  sample: 20260731T101500-7f3a
changed:
  description: Whether the node was given a confirmation or an observation that it did not have, or, in check mode, would be.
  returned: always
  type: bool
phase:
  description: >-
    Phase of the transaction; V(closed) when it ended; V(null) when there never was one, or its journal cannot be read.
  returned: success
  type: str
  sample: waiting
message:
  description: The phase in words, or the outcome.
  returned: success
  type: str
  sample: stopped, waiting for the new one
running:
  description:
    - Whether the engine runs. When it does not, because the service was stopped, the next run of the module that began the transaction
      continues it.
  returned: success
  type: bool
transaction:
  description: The outcome, as M(nodecraft.kubeadm.static_pod) returns it; V(null) while the transaction is open.
  returned: success
  type: dict
busy:
  description: >-
    Whether the task failed only because of another active run or an open transaction on the node. This module acquires no lock, so it is always
    V(false).
  returned: always
  type: bool
"""

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.node_module import NodeModule
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import transaction_progress


def main() -> t.NoReturn:
    """Pass the reader to the runner."""
    module = NodeModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "id": {"type": "str"},
            "wait": {"type": "int", "default": 0},
            "seen": {"type": "str"},
            "confirm": {"type": "str"},
            "observed": {"type": "str"},
            "losses": {"type": "str", "default": ""},
            "problem": {"type": "str", "default": ""},
            "acknowledge": {"type": "bool", "default": True},
        },
    )
    params = module.params
    runner.run_follower(
        module,
        lambda dry: transaction_progress.report_progress(
            params["name"],
            params["id"],
            wait=params["wait"],
            seen=params["seen"],
            dry=dry,
            run=module.run,
            confirmed=params["confirm"],
            observed=params["observed"],
            losses=params["losses"],
            problem=params["problem"],
            acknowledges=params["acknowledge"],
        ),
        busy=False,
    )


if __name__ == "__main__":
    main()

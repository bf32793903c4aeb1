# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ..module_utils._plan.transaction import api_host

DOCUMENTATION = r"""
name: api_host
short_description: Tell which host asks the Kubernetes API
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
description:
  - A host that is named asks. Else the controller does where its environment names credentials. Else a control plane of the inventory does, with
    its own C(/etc/kubernetes/admin.conf).
  - Of the control planes one is preferred whose API server is ready, then one that is known to be reachable, then one that is not being changed.
positional: named
options:
  _input:
    description: The control planes of the cluster, as hosts of the inventory.
    type: list
    elements: str
    required: true
  named:
    description: The host that the user names. Empty for none.
    type: str
    default: ""
  variables:
    description: The values of the variables of the controller that name credentials, E(K8S_AUTH_KUBECONFIG) and E(K8S_AUTH_HOST).
    type: list
    elements: str
    default: []
  hostvars:
    description: The variables of all hosts. C(ansible_become) of the host that asks counts there.
    type: dict
    required: true
  reachable:
    description: The hosts that answered in this run.
    type: list
    elements: str
    default: []
  changing:
    description: The hosts that have their turn, so that their API servers may restart.
    type: list
    elements: str
    default: []
  impaired:
    description: The hosts whose API servers are not ready.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Label a node
  nodecraft.kubeadm.node_label:
    nodes: ["w1"]
    labels:
      example.com/rack: r7
  delegate_to: "{{ asker.host }}"
  vars:
    ansible_become: "{{ asker.become }}"
    asker: "{{ groups['kube_control_plane'] | nodecraft.kubeadm.api_host(hostvars=hostvars, reachable=ansible_play_hosts) }}"
"""

RETURN = r"""
_value:
  description: The host, as C(host), and whether it asks as root, as C(become). The host is C(localhost) where no control plane is known.
  type: dict
"""


def _elect(
    candidates: t.Sequence[str], named: str = "", *, hostvars: t.Mapping[str, t.Any], **more: t.Any
) -> dict[str, t.Any]:
    return api_host.elect(candidates, named, hostvars=hostvars, **more)._asdict()


class FilterModule:
    """The filter, under the name that Ansible looks for."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """By name."""
        return {"api_host": _elect}

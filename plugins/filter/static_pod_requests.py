# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ..module_utils._plan.common import role_variables
from ..module_utils._plan.common.errors import Refusal
from ..module_utils._plan.common.plain import to_plain
from ..module_utils._plan.static_pod import requests

DOCUMENTATION = r"""
name: static_pod_requests
short_description: (internal) Derive the desired state of each static pod
version_added: 0.1.0
author:
  - nodecraft.kubeadm contributors (@nodecraft)
description:
  - Derives, from the desired state of a control plane as a whole, the option O(nodecraft.kubeadm.static_pod_plan#module:static_pods). The
    role C(control_plane) uses it.
  - With C(short_restarts) the API server, the controller manager and the scheduler get the flags that make restarts of the API server short.
  - V(etcd) gets C(only_if_changed) where the desired state does not name it.
positional: preserved
options:
  _input:
    description:
      - The desired state of the control plane. C(static_pods) and C(state) have to be there; what none of the other keys names is left alone.
      - C(static_pods), the names of the static pods, as a list or as text with commas.
      - C(state), as O(nodecraft.kubeadm.static_pod_plan#module:state). Where it is not V(present), no settings are desired.
      - C(feature_gates) of all components of Kubernetes, and C(admission_plugins) of the API server.
      - C(components), what a single component gets besides, by its name; it wins over the others.
      - C(short_restarts), whether flags for short restarts are set, and C(control_planes), how many the cluster has.
    type: dict
    required: true
  preserved:
    description:
      - What a pass that only adds leaves as it is, as the step C(split) returns it. A static pod with C(waits) set to V(true) has no request.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Plan a feature gate of all components
  nodecraft.kubeadm.static_pod_plan:
    static_pods: "{{ desired | nodecraft.kubeadm.static_pod_requests }}"
  vars:
    desired:
      state: present
      static_pods: [kube-apiserver, kube-scheduler]
      feature_gates:
        CrossNamespaceVolumeDataSource: true
"""

RETURN = r"""
_value:
  description: The desired state, by static pod.
  type: dict
"""


class FilterModule:
    """The filter, under the name by which Ansible loads it."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """By name."""
        return {"static_pod_requests": _requests}


_SHORT_RESTARTS = "short_restarts"


def _requests(
    desired: t.Mapping[str, t.Any], preserved: t.Mapping[str, t.Any] | None = None
) -> dict[str, dict[str, t.Any]]:
    given = to_plain(desired)
    for name in role_variables.SETTINGS["control_plane"]:
        option = name.removeprefix("control_plane_")
        if option == _SHORT_RESTARTS:
            continue
        for objection in role_variables.value_errors(name, given.get(option, {}), {"type": "dict"}):
            raise Refusal(objection)
    if _SHORT_RESTARTS in given:
        given[_SHORT_RESTARTS] = requests.parse_switch(f"control_plane_{_SHORT_RESTARTS}", given[_SHORT_RESTARTS])
    return requests.build_requests(**given, preserved=to_plain(preserved or {}).get("control_plane", {}))

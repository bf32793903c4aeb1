# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for modules that one host runs for all: returns what a variable sets, and records the call.

C(stub_pods), C(stub_guard), C(stub_upgrade), C(stub_upgrade_info), C(stub_written), C(stub_proof): the result of the module. C(stub_machine): see
C(reach_machine).
C(again) in C(stub_upgrade_info): what the second call has, without a target.
The defaults are pods that were resized with a template that differs, a guard for one node, and a node on which an upgrade breaks nothing.
"""

from __future__ import annotations

import typing as t

from ..module_utils import stand_in

DEFAULTS: dict[str, tuple[str, dict[str, t.Any]]] = {
    "pod_resize": (
        "stub_pods",
        {
            "changed": True,
            "pods": {name: {"outcome": "resized", "msg": ""} for name in ("web-1", "web-2")},
            "templates": {"Deployment/web": {"changed": False, "differs": True}},
        },
    ),
    "placement_guard": (
        "stub_guard",
        {
            "changed": True,
            "enforced": True,
            **{name: [] for name in ("added", "removed", "stale", "untainted")},
            "nodes": ["w1"],
            "summary": ["guard refuses; protected: w1"],
        },
    ),
    "upgrade_check": (
        "stub_upgrade",
        {
            "changed": False,
            "is_control_plane": True,
            "versions": {"kube-apiserver": "v1.36.3", "kubelet": "Kubernetes v1.36.3"},
            **{name: [] for name in ("findings", "rehearsed", "checks", "not_rehearsed")},
        },
    ),
    "kubeadm_config": (
        "stub_written",
        {"changed": True, "operations": [{"field": "kube-apiserver", "key": "args v", "before": None, "after": ["5"]}]},
    ),
    "kubeadm_config_check": ("stub_proof", {"changed": False, "version": "v1.37.2", "rehearsed": []}),
    "upgrade_info": (
        "stub_upgrade_info",
        {
            "changed": False,
            "cluster_configuration": "kind: ClusterConfiguration",
            "kube_proxy_configuration": None,
            "kubelets": dict.fromkeys(("cp1", "w1"), "v1.36.3"),
            **{name: [] for name in ("findings", "checks", "not_rehearsed")},
        },
    ),
}


def main() -> t.NoReturn:
    """Write nothing."""
    call = stand_in.StandIn()
    call.record()
    call.reach_machine()
    result = dict(call.variable(*DEFAULTS[call.component]))
    second_result = result.pop("again", {})
    stand_in.exit_json({"node": call.host, **result, **({} if "target" in call.arguments else second_result)})


if __name__ == "__main__":
    main()

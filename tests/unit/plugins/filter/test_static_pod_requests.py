# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter, by its name."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.filter.static_pod_requests import FilterModule
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal


def test_it_hands_over() -> None:
    requests = FilterModule().filters()["static_pod_requests"]
    settings = {"state": "present", "feature_gates": {"A": True}, "admission_plugins": {}, "components": {}}
    assert requests({"static_pods": "kube-scheduler", **settings})["kube-scheduler"]["feature_gates"] == {"A": True}
    preserved = {"control_plane": {"kube-scheduler": {"waits": False, "feature_gates": {"B": False}}}}
    found = requests({"static_pods": "kube-scheduler", **settings}, preserved)
    assert found["kube-scheduler"]["feature_gates"] == {"A": True, "B": False}


@pytest.mark.parametrize("option", ["feature_gates", "admission_plugins", "components"])
def test_a_text_is_refused_by_the_name_of_its_variable(option: str) -> None:
    requests = FilterModule().filters()["static_pod_requests"]
    settings = {"state": "present", "feature_gates": {}, "admission_plugins": {}, "components": {}}
    with pytest.raises(Refusal, match=f"invalid control_plane_{option}: must be a mapping, not text"):
        requests({"static_pods": "kube-scheduler", **settings, option: '{"A": true}'})


@pytest.mark.parametrize(("value", "args"), [("yes", {"shutdown-send-retry-after": "true"}), ("false", {})])
def test_a_switch_may_be_a_text_of_the_command_line(value: str, args: dict[str, str]) -> None:
    requests = FilterModule().filters()["static_pod_requests"]
    found = requests({"static_pods": "kube-apiserver", "state": "present", "short_restarts": value})
    assert found["kube-apiserver"]["args"] == args


@pytest.mark.parametrize("value", [None, "maybe", {}])
def test_what_is_no_switch_is_refused(value: object) -> None:
    requests = FilterModule().filters()["static_pod_requests"]
    with pytest.raises(Refusal, match="invalid control_plane_short_restarts: must be true or false"):
        requests({"static_pods": "kube-apiserver", "state": "present", "short_restarts": value})

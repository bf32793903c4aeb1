# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rollout asks of each static pod."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.requests import build_requests

ALL = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"]


def built(static_pods: str | list[str], *, state: str = "present", **more: t.Any) -> dict[str, dict[str, t.Any]]:
    """The requests."""
    return build_requests(static_pods, state=state, **{"preserved": {}, **more})


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ({}, {}),
        ({"components": {}}, {}),
        ({"components": {"kube-scheduler": {}}}, {}),
        ({"components": {"kube-apiserver": {"args": {"v": 4}}}}, {}),
        ({"admission_plugins": {}}, {}),
        ({"feature_gates": {}}, {"feature_gates": {}}),
        ({"components": {"kube-scheduler": {"feature_gates": {}}}}, {"feature_gates": {}}),
        ({"components": {"kube-scheduler": {"args": {}, "volumes": []}}}, {"args": {}, "volumes": []}),
    ],
)
def test_only_what_a_variable_names_is_requested(named: dict[str, t.Any], found: dict[str, t.Any]) -> None:
    """What is there is all that there shall be of it; anything else stays as it is."""
    assert built("kube-scheduler", **named) == {"kube-scheduler": found}


def test_gates_go_to_all_components_but_etcd_and_plugins_to_the_api_server() -> None:
    found = built(ALL, feature_gates={"A": True}, admission_plugins={"P": "enabled"})
    assert found == {
        "etcd": {"only_if_changed": True},
        "kube-apiserver": {"feature_gates": {"A": True}, "admission_plugins": {"P": "enabled"}},
        "kube-controller-manager": {"feature_gates": {"A": True}},
        "kube-scheduler": {"feature_gates": {"A": True}},
    }


@pytest.mark.parametrize(("given", "found"), [({}, {}), ({"short_restarts": False}, {"args": {}})])
def test_short_restarts_are_named_or_left_alone(given: dict[str, t.Any], found: dict[str, t.Any]) -> None:
    assert built(["kube-apiserver"], **given) == {"kube-apiserver": found}


def test_short_restarts_change_no_etcd() -> None:
    found = built(ALL, short_restarts=True, control_planes=3)
    assert (found["etcd"], found["kube-apiserver"]["args"]) == (
        {"only_if_changed": True},
        {"shutdown-send-retry-after": "true"},
    )


def test_what_a_component_gets_besides_wins() -> None:
    own = {
        "feature_gates": {"A": None, "B": False},
        "admission_plugins": {"P": "disabled"},
        "args": {"v": 4},
    }
    found = built(
        ["kube-apiserver"],
        feature_gates={"A": True, "C": True},
        admission_plugins={"P": "enabled"},
        components={"kube-apiserver": own},
    )
    assert found["kube-apiserver"] == {
        "feature_gates": {"A": None, "B": False, "C": True},
        "admission_plugins": {"P": "disabled"},
        "args": {"v": 4},
    }


def test_a_pass_that_only_adds_keeps_what_goes_and_leaves_out_what_waits() -> None:
    preserved = {
        "kube-apiserver": {"waits": False, "feature_gates": {"B": True}, "admission_plugins": {"P": None}},
        "kube-scheduler": {"waits": True, "feature_gates": {"B": True}},
    }
    found = built(
        ["kube-apiserver", "kube-controller-manager", "kube-scheduler"],
        feature_gates={"A": True, "B": False},
        components={"kube-apiserver": {"feature_gates": {"B": False}, "args": {"v": 4}}},
        preserved=preserved,
    )
    assert found == {
        "kube-apiserver": {
            "feature_gates": {"A": True, "B": True},
            "admission_plugins": {"P": None},
            "args": {"v": 4},
        },
        "kube-controller-manager": {"feature_gates": {"A": True, "B": False}},
    }


@pytest.mark.parametrize(
    ("state", "static_pods", "components", "is_optional"),
    [
        ("present", ALL, {}, True),
        ("present", ALL, {"etcd": {"args": {"snapshot-count": 5}}}, False),
        # Named, so that an etcd that is no static pod is refused.
        ("present", ALL, {"etcd": {}}, False),
        ("previous", ALL, {}, True),
        ("previous", ["etcd"], {}, False),
        ("previous", "etcd, kube-apiserver", {}, False),
    ],
)
def test_etcd_takes_part_where_it_is_named(
    state: str, static_pods: str | list[str], components: dict[str, t.Any], is_optional: bool
) -> None:
    found = built(static_pods, state=state, components=components)
    assert found["etcd"].get("only_if_changed", False) is is_optional


def test_an_etcd_that_is_none_of_ours_stays_optional_while_others_wait() -> None:
    found = built(ALL, state="absent", preserved={"kube-apiserver": {"waits": True}})
    assert found == {
        "etcd": {"only_if_changed": True},
        "kube-controller-manager": {},
        "kube-scheduler": {},
    }


def test_a_rollback_requests_no_settings() -> None:
    found = built(
        "kube-apiserver", state="previous", feature_gates={"A": True}, components={"kube-apiserver": {"args": {}}}
    )
    assert found == {"kube-apiserver": {}}

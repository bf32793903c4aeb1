# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run asks for, and in which order it adds and removes."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import site

Json = dict[str, t.Any]


def test_what_is_named_by_any_host() -> None:
    assert site.named([["a", "x"], ["c"]], ["c", "b", "a"]) == ["c", "a"]
    assert site.nothing_named(["a"], ["a", "b"]) == ""
    assert site.nothing_named(["x"], ["a", "b"]).startswith("None of a, b is set for any host of this run.")


@pytest.mark.parametrize(
    ("roles", "found", "sets"),
    [
        (["control_plane"], [], True),
        (["control_plane"], ["control_plane_components"], True),
        (["control_plane"], ["node_kubelet_config"], False),
        (["node_kubelet"], [], False),
    ],
)
def test_whether_control_planes_are_set(roles: list[str], found: list[str], sets: bool) -> None:
    assert site.sets_control_planes(roles, found) is sets


def test_a_control_plane_outside_its_group() -> None:
    told = site.strayed("cp2", {"control_plane": ["etcd runs"]})
    assert told.startswith(
        "Nothing was changed. cp2 is a control plane (etcd runs), but the group kube_control_plane does not"
    )


def operation(field: str, after: t.Any) -> Json:
    return {"field": field, "key": "k", "before": None, "after": after}


def reports(*operations: Json, opened: bool = False) -> site.Reports:
    """One operation for each report in turn."""
    api = {
        "kube-apiserver": {"operations": list(operations[:1]), "open_transaction": {} if not opened else {"phase": "x"}}
    }
    kubelet = {"operations": list(operations[1:2])}
    node = {"taints": None, "labels": {"operations": list(operations[2:])}}
    return site.Reports(api, kubelet, node)


@pytest.mark.parametrize(
    ("operations", "decision"),
    [
        ([], (False, False, False)),
        ([operation("feature_gates", True)], (True, False, True)),
        ([operation("feature_gates", False)], (False, True, True)),
        ([operation("feature_gates", None), operation("admission_plugins", "enabled")], (True, True, True)),
        ([operation("admission_plugins", "disabled")], (False, True, True)),
        ([operation("labels", False)], (True, False, True)),
        ([operation("args", None), operation("config", None)], (False, False, True)),
        ([operation("args", None), operation("config", None), operation("labels", None)], (False, True, True)),
    ],
)
def test_what_is_added_and_what_goes(operations: list[Json], decision: tuple[bool, bool, bool]) -> None:
    assert site.decide([reports(*operations)]) == site.Decision(*decision)


def test_a_change_that_is_open_is_work() -> None:
    assert site.decide([reports(opened=True)]) == site.Decision(adds=False, removes=False, has_work=True)


def test_a_role_that_did_not_run_reports_nothing() -> None:
    assert site.Reports({}, {}, {}).results == []


def test_whether_a_kubelet_was_restarted() -> None:
    assert site.is_restarted([site.Reports({}, {"transaction": {"id": "1"}}, {})])
    assert not site.is_restarted([site.Reports({}, {"transaction": None}, {}), site.Reports({}, {}, {})])


WISH: Json = {
    "control_plane_feature_gates": {"A": True, "B": False, "C": None, "D": "no", "E": "yes", "F": 0},
    "control_plane_admission_plugins": {"P": "enabled", "Q": "disabled", "R": None},
    "node_kubelet_feature_gates": {"A": "true", "B": "Off"},
    "node_resources_extended_resources": {"a/b": 0, "a/c": None},
    "node_resources_labels": {"a": "", "b": None},
    "node_resources_taints": [{"key": "a"}, {"key": "b", "state": "absent"}, {"key": "c", "state": "present"}],
}


def test_a_wish_without_what_goes() -> None:
    assert site.additions(WISH) == {
        "control_plane_feature_gates": {"A": True, "E": "yes"},
        "control_plane_admission_plugins": {"P": "enabled"},
        "node_kubelet_feature_gates": {"A": "true"},
        "node_resources_extended_resources": {"a/b": 0},
        "node_resources_labels": {"a": ""},
        "node_resources_taints": [{"key": "a"}, {"key": "c", "state": "present"}],
    }

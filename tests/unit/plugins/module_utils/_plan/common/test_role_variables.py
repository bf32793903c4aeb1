# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables that a role does not know or cannot use."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import role_variables
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT
from ansible_collections.nodecraft.kubeadm.tests.unit.support.data import data_text

SPECS = {
    "main": {"options": {"my_role_feature_gates": {"type": "dict"}, "my_role_state": {"type": "str"}}},
    "other": {"options": {"my_role_image": {"type": "str"}}},
}


def test_all_entry_points_count() -> None:
    assert list(role_variables.options_of(SPECS)) == ["my_role_feature_gates", "my_role_state", "my_role_image"]


@pytest.mark.parametrize(
    "name", ["my_role_state", "my_role_image", "my_role_report", "other_role_state", "my_rolestate"]
)
def test_names_that_are_known_or_of_something_else(name: str) -> None:
    assert role_variables.name_errors("my_role", SPECS, [name]) == []


def test_a_name_that_is_nearly_known() -> None:
    assert role_variables.name_errors("my_role", SPECS, ["my_role_feature_gate"]) == [
        "The role my_role does not know my_role_feature_gate (did you mean my_role_feature_gates?); correct it, or list it in"
        " my_role_ignored_variables when it belongs to something else."
    ]


def test_names_that_are_like_none_all_at_once() -> None:
    found = role_variables.name_errors(
        "my_role", SPECS, ["my_role_zz", "my_role_yy", "my_role_xx"], ignored=["my_role_xx"]
    )
    assert [text.partition(";")[0] for text in found] == [
        "The role my_role does not know my_role_yy",
        "The role my_role does not know my_role_zz",
    ]


COMPONENTS = {
    "type": "dict",
    "options": {"etcd": {"type": "dict", "options": {"args": {"type": "dict"}, "files": {"type": "list"}}}},
}
NOT_NULL = "must not be null. Remove it to leave alone what is there, or set it to"


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ({"type": "dict"}, {}, []),
        ({"type": "dict"}, {"a": None}, []),  # a key of the user's own is removed like that
        ({"type": "list"}, [], []),
        ({"type": "list"}, "a, b", []),
        ({"type": "int"}, "10%", []),  # what the specification itself tells
        ({"type": "dict"}, None, [f"invalid a: {NOT_NULL} {{}}."]),
        ({"type": "list"}, None, [f"invalid a: {NOT_NULL} []."]),
        ({}, None, [f"invalid a: {NOT_NULL} a value."]),
        ({"type": "dict"}, [], ["invalid a: must be a mapping, not a list."]),
        ({"type": "list"}, {}, ["invalid a: must be a list, not a mapping."]),
        (
            {"type": "dict"},
            "{}",
            [
                "invalid a: must be a mapping, not text. Write it in YAML, or as JSON around the name too: -e '{\"a\": {}}'."
            ],
        ),
        (COMPONENTS, {"etcd": {"args": {"v": None}}}, []),
        (COMPONENTS, {"etcd": None}, [f"invalid a.etcd: {NOT_NULL} {{}}."]),
        (
            COMPONENTS,
            {"etcd": {"args": None, "files": None}},
            [f"invalid a.etcd.args: {NOT_NULL} {{}}.", f"invalid a.etcd.files: {NOT_NULL} []."],
        ),
    ],
)
def test_values_that_ansible_takes_and_a_role_cannot_use(option: t.Any, value: t.Any, expected: list[str]) -> None:
    assert role_variables.value_errors("a", value, option) == expected


def test_what_is_named_by_any_host() -> None:
    assert role_variables.find_set_variables([["a", "x"], ["c"]], ["c", "b", "a"]) == ["c", "a"]
    assert role_variables.no_settings_error(["a"], ["a", "b"]) == ""
    assert role_variables.no_settings_error(["x"], ["a", "b"]).startswith(
        "None of a, b is set for any host of this run."
    )


def test_a_guard_of_which_only_details_are_set_is_refused() -> None:
    specs = {
        "main": {
            "options": dict.fromkeys(["placement_guard_nodes", "placement_guard_enforce", "placement_guard_api_host"])
        }
    }
    names = ["placement_guard_enforce", "placement_guard_api_host"]
    error = role_variables.unused_options_error("placement_guard", names, specs)
    assert error.startswith("placement_guard_enforce without any of placement_guard_nodes, ")
    assert role_variables.unused_options_error("placement_guard", [*names, "placement_guard_nodes"], specs) == ""
    assert role_variables.unused_options_error("placement_guard", names[1:], specs) == ""


def known_variables() -> set[str]:
    return {
        name
        for role in role_variables.SETTINGS
        for name in role_variables.options_of(
            yaml.safe_load((ROOT / "roles" / role / "meta/argument_specs.yml").read_text())["argument_specs"]
        )
    }


def test_the_settings_are_variables_of_their_roles() -> None:
    assert {name for names in role_variables.SETTINGS.values() for name in names} <= known_variables()


@pytest.mark.parametrize(
    ("name", "likely"),
    [
        ("node_kublet_config", "node_kubelet_config"),
        ("nodekubelet_config", "node_kubelet_config"),
        ("controlplane_feature_gates", "control_plane_feature_gates"),
        ("control_plan_components", "control_plane_components"),
        ("placment_guard_nodes", "placement_guard_nodes"),
    ],
)
def test_misspelled_name_has_a_suggestion(name: str, likely: str) -> None:
    assert role_variables.find_misspelled([name, "something"], known_variables()) == {name: likely}


def test_no_variable_of_kubespray_is_nearly_one_of_ours() -> None:
    names = data_text("kubespray_variables.txt").split()
    assert len(names) > 1700
    assert role_variables.find_misspelled(names, known_variables()) == {}

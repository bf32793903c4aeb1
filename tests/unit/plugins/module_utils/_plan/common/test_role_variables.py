# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables that a role does not know or cannot use."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import role_variables

SPECS = {
    "main": {"options": {"my_role_feature_gates": {"type": "dict"}, "my_role_state": {"type": "str"}}},
    "other": {"options": {"my_role_image": {"type": "str"}}},
}


def test_all_entry_points_count() -> None:
    assert list(role_variables.options(SPECS)) == ["my_role_feature_gates", "my_role_state", "my_role_image"]
    assert role_variables.mappings(SPECS) == ["my_role_feature_gates"]


@pytest.mark.parametrize(
    "name", ["my_role_state", "my_role_image", "my_role_report", "other_role_state", "my_rolestate"]
)
def test_names_that_are_known_or_of_something_else(name: str) -> None:
    assert role_variables.objections("my_role", SPECS, [name]) == []


def test_a_name_that_is_nearly_known() -> None:
    assert role_variables.objections("my_role", SPECS, ["my_role_feature_gate"]) == [
        "This role does not know my_role_feature_gate (did you mean my_role_feature_gates?); correct it, or list it in"
        " my_role_ignored_variables when it belongs to something else."
    ]


def test_names_that_are_like_none_all_at_once() -> None:
    found = role_variables.objections(
        "my_role", SPECS, ["my_role_zz", "my_role_yy", "my_role_xx"], ignored=["my_role_xx"]
    )
    assert [text.partition(";")[0] for text in found] == [
        "This role does not know my_role_yy",
        "This role does not know my_role_zz",
    ]


@pytest.mark.parametrize("value", [{}, None, []])
def test_a_mapping_is_no_text(value: t.Any) -> None:
    assert role_variables.text_objection("a", value) == ""


def test_a_text_is_no_mapping() -> None:
    assert role_variables.text_objection("a", "{}") == (
        "invalid a: must be a mapping, not text. Write it in YAML, or as JSON around the name too: -e '{\"a\": {}}'."
    )

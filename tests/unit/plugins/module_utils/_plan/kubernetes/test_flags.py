# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines read as pflag reads them."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import flags
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.flags import Edit, Flag

PARSED = {
    "with a value": (["kube-apiserver", "--v=2"], [Flag("v", "2", 1)]),
    "value with an equals sign": (["--feature-gates=A=true"], [Flag("feature-gates", "A=true", 0)]),
    "empty value": (["--x="], [Flag("x", "", 0)]),
    "bare": (["--x", "--y=1"], [Flag("x", None, 0), Flag("y", "1", 1)]),
    "bare at the end": (["--y=1", "--x"], [Flag("y", "1", 0), Flag("x", None, 1)]),
    "split": (["--x", "1", "--y=2"], [Flag("x", "1", 0, split=True), Flag("y", "2", 2)]),
    "split, a dash": (["--x", "-", "--y=2"], [Flag("x", "-", 0, split=True), Flag("y", "2", 2)]),
    "split, a number below zero": (["--x", "-1"], [Flag("x", "-1", 0, split=True)]),
    "split, nothing": (["--x", ""], [Flag("x", "", 0, split=True)]),
    "bare before a short one": (["--x", "-v=1"], [Flag("x", None, 0), Flag("v", "1", 1)]),
    "underscores": (["--feature_gates=A=true"], [Flag("feature-gates", "A=true", 0)]),
    "underscores in a value stay": (["--x=a_b"], [Flag("x", "a_b", 0)]),
    "repeated": (["--x=1", "--x=2"], [Flag("x", "1", 0), Flag("x", "2", 1)]),
    "one dash": (["-v=2"], [Flag("v", "2", 0)]),
    "short, its value behind it": (
        ["--x", "-v4", "-v", "2"],
        [Flag("x", None, 0), Flag("v", "4", 1), Flag("v", "2", 2, split=True)],
    ),
    "end of flags": (["--", "-", "--x=1"], [Flag("x", "1", 2)]),
    "nothing": ([], []),
}


@pytest.mark.parametrize(("arguments", "found"), PARSED.values(), ids=PARSED)
def test_parse(arguments: list[str], found: list[Flag]) -> None:
    assert flags.parse(arguments) == found


def test_a_bare_flag_means_true() -> None:
    assert [flag.text for flag in flags.parse(["--x", "--y=false"])] == ["true", "false"]


def test_the_last_value_counts() -> None:
    arguments = ["--x=1", "--x", "2", "--y=3"]
    assert flags.last_value(arguments, "x") == "2"
    assert flags.last_value(arguments, "z") is None
    assert flags.last_value(arguments, "z", "4") == "4"
    assert flags.values(flags.parse(arguments), "x") == ["1", "2"]


@pytest.mark.parametrize(
    ("texts", "gates"),
    [
        ([], {}),
        (["A=true,B=false"], {"A": "true", "B": "false"}),
        ([" A = true , ,B=false,"], {"A": "true", "B": "false"}),
        (["A=true", "A=false,C=true"], {"A": "false", "C": "true"}),
        (["A"], {"A": ""}),
        (["kube:A=true"], {"kube:A": "true"}),
    ],
)
def test_gates_of_all_occurrences(texts: list[str], gates: dict[str, str]) -> None:
    assert flags.parse_gates(texts) == gates


EDITS = {
    "same": (["--x=1"], ["1"], []),
    "changed": (["--x=1"], ["2"], [Edit("replace", 0, "--x=2")]),
    "changed, its spelling kept": (["-x"], ["2"], [Edit("replace", 0, "-x=2")]),
    "changed, split": (["--x", "1"], ["2"], [Edit("replace", 1, "2")]),
    "tied to its flag": (["--x", "1"], ["-y"], [Edit("remove", 1), Edit("replace", 0, "--x=-y")]),
    "new, behind all": (["--y=1"], ["1", "2"], [Edit("add", 1, "--x=1"), Edit("add", 2, "--x=2")]),
    "one more, behind the last": (
        ["--x", "1", "--y=1"],
        ["2", "3"],
        [Edit("add", 2, "--x=3"), Edit("replace", 1, "2")],
    ),
    "removed": (["--x=1", "--y=1", "--x", "2"], [], [Edit("remove", 3), Edit("remove", 2), Edit("remove", 0)]),
}


@pytest.mark.parametrize(("arguments", "desired", "edits"), EDITS.values(), ids=EDITS)
def test_edits_go_from_back_to_front(arguments: list[str], desired: list[str], edits: list[Edit]) -> None:
    assert flags.plan_edits(arguments, flags.parse(arguments), "x", desired) == edits


def test_short_flag_gets_a_value_of_its_own() -> None:
    assert flags.plan_edits(["-v4"], flags.parse(["-v4"]), "v", ["6"]) == [Edit("replace", 0, "-v=6")]


@pytest.mark.parametrize(
    ("gates", "key"),
    [
        ({}, "A"),
        ({"B": "true"}, "A"),
        ({"A": "true"}, "A"),
        ({"kube:A": "true"}, "kube:A"),
        ({"kube:B": "true"}, "kube:A"),
        ({"A": "true", "kube:A": "true"}, "A"),
    ],
)
def test_a_gate_is_spelled_as_its_neighbours_are(gates: dict[str, str], key: str) -> None:
    assert flags.gate_key(gates, "A") == key


@pytest.mark.parametrize(
    ("text", "value"),
    [*((text, True) for text in ("1", "t", "T", "true", "TRUE", "True"))]
    + [*((text, False) for text in ("0", "f", "F", "false", "FALSE", "False"))]
    + [*((text, text) for text in ("yes", "", "tRUE"))],
)
def test_gate_values_are_what_go_reads(text: str, value: t.Any) -> None:
    assert flags.gate_value(text) == value
    assert flags.gate_values({"kube:A": text}) == {"A": value}


def test_gates_are_rendered_in_their_order() -> None:
    assert flags.render_gates({"B": "true", "A": "false"}) == "B=true,A=false"


def test_plugins_of_all_occurrences_each_once() -> None:
    assert flags.parse_plugins(["B, A,", "C,B"]) == ["B", "A", "C"]

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts may be excluded from a run, and which nodes it does not reach."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.coverage import (
    Coverage,
    check,
    missing_nodes,
    missing_nodes_line,
    unreachable_refusal,
)

HOSTS = ("cp1", "cp2", "w1", "w2")
GROUPED = ("cp1", "cp2")


def objects(
    *unreachable: str, limit: int = 1, grouped: t.Sequence[str] = GROUPED, hosts: t.Sequence[str] = HOSTS
) -> str:
    """What is objected to a run without these hosts."""
    return unreachable_refusal(
        dict.fromkeys(unreachable, "timed out."), grouped, hosts=hosts, limit=limit, variable="most"
    )


# ---- hosts that cannot be reached ------------------------------------------------------------------------------------


def test_as_many_workers_as_the_variable_reports_may_be_excluded() -> None:
    assert (objects(limit=0), objects("w1"), objects("w1", "w2", limit=2)) == ("", "", "")


@pytest.mark.parametrize(
    ("unreachable", "limit", "expected"),
    [
        (["w1"], 0, "cannot be reached: w1 (timed out). most is 0, and 1 would be skipped."),
        (["w1", "w2"], 1, "cannot be reached: w1 (timed out), w2 (timed out). most is 1, and 2 would be skipped."),
        (["w1"], -1, "most is -1"),
        (["cp2"], 1, "A control plane is never skipped, and cp2 is one."),
        (["w1", "cp1"], 4, "A control plane is never skipped, and cp1 is one."),
    ],
)
def test_more_of_them_or_a_control_plane_may_not(unreachable: list[str], limit: int, expected: str) -> None:
    assert expected in objects(*unreachable, limit=limit)


def test_where_the_inventory_names_no_control_plane_no_host_is_excluded() -> None:
    expected = "Whether that is a control plane, which is never skipped, is not known"
    assert expected in objects("w1", grouped=[])


def test_a_run_of_no_host_is_none() -> None:
    assert "No host of this run is left." in objects("w1", "w2", limit=2, hosts=["w1", "w2"])


# ---- nodes that the API knows ----------------------------------------------------------------------------------------


def nodes(*names: str) -> dict[str, dict[str, str]]:
    """Their labels; those called cp are control planes."""
    label = {"node-role.kubernetes.io/control-plane": ""}
    return {name: label if name.startswith("cp") else {} for name in names}


def test_a_run_that_reaches_all_reports_nothing() -> None:
    assert check(nodes("cp1", "w1"), ["cp1", "w1"], has_control_plane=True) == Coverage()


def test_nodes_that_it_does_not_name_are_reported() -> None:
    found = check(nodes("cp1", "w1", "w3", "w2"), ["cp1"], excluded=["w1"], grouped=["cp1"], has_control_plane=True)
    assert found == Coverage(missing=("w2", "w3"))


def test_without_a_control_plane_its_settings_are_judged() -> None:
    found = check(nodes("cp1", "w1"), ["w1"], settings={"gates": {"A": True}})
    assert "gates would have no effect: the cluster has the control planes cp1" in found.refusal
    assert "the cluster has cp1" in check(nodes("cp1", "w1"), ["w1"]).warning


def test_a_host_that_is_excluded_may_not_be_a_control_plane_under_another_name() -> None:
    known = nodes("cp1", "cp3", "w1")
    found = check(known, ["cp1"], excluded=["10.0.0.7"], grouped=["cp1"], has_control_plane=True)
    assert "10.0.0.7 cannot be reached, and the cluster has the control plane cp3" in found.refusal
    # One that the inventory names takes no part in this run, or would have been reached.
    assert check(known, ["cp1"], excluded=["w1"], grouped=["cp1", "cp3"], has_control_plane=True).refusal == ""
    assert check(known, ["cp1"], grouped=["cp1"], has_control_plane=True).refusal == ""


def test_a_long_list_is_cut() -> None:
    many = missing_nodes([f"w{number:03}" for number in range(500)], ["w000"])
    assert (len(many), missing_nodes_line(many)[-22:]) == (499, "w009, w010 and 489 more"[-22:])
    assert missing_nodes_line([]) == ""

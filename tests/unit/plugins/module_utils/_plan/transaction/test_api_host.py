# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who asks the API."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.api_host import (
    has_admin_conf,
    rank_api_hosts,
)

THREE = ["cp1", "cp2", "cp3"]


@pytest.mark.parametrize(
    ("options", "who"),
    [
        ({"reachable": THREE}, "cp1"),
        ({"reachable": THREE, "changing": ["cp1"]}, "cp2"),
        ({"reachable": ["cp2", "cp3"]}, "cp2"),
        ({"reachable": ["cp1", "cp3"], "changing": ["cp1"]}, "cp3"),
        ({"reachable": ["cp1"], "changing": ["cp1"]}, "cp1"),
        ({"reachable": ["cp1"], "impaired": ["cp1"]}, "cp2"),
        ({"reachable": THREE, "impaired": ["cp1", "cp2"]}, "cp3"),
        ({"reachable": [], "changing": ["cp1"]}, "cp2"),
    ],
)
def test_of_three_control_planes(options: dict[str, t.Any], who: str) -> None:
    assert rank_api_hosts(THREE, hostvars={}, **options)[0] == (who, True)


def test_with_one_control_plane_that_one_responds() -> None:
    assert rank_api_hosts(["cp1"], hostvars={}, changing=["cp1"], impaired=["cp1"])[0] == ("cp1", True)


def test_the_order() -> None:
    hostvars: dict[str, dict[str, t.Any]] = {"cp1": {}, "bastion": {}, "localhost": {"ansible_become": True}}
    assert rank_api_hosts(["cp1"], hostvars=hostvars)[0] == ("cp1", True)
    assert rank_api_hosts(["cp1"], variables=["", ""], hostvars=hostvars)[0] == ("cp1", True)
    assert rank_api_hosts(["cp1"], variables=["", "https://a"], hostvars=hostvars)[0] == ("localhost", False)
    assert rank_api_hosts(["cp1"], "bastion", variables=["/a"], hostvars=hostvars)[0] == ("bastion", False)
    assert rank_api_hosts(["cp1"], "cp1", variables=["/a"], hostvars=hostvars)[0] == ("cp1", True)
    assert rank_api_hosts(["cp1"], "localhost", hostvars=hostvars)[0] == ("localhost", False)
    assert rank_api_hosts([], hostvars=hostvars)[0] == ("localhost", False)
    # Unless the controller is a control plane itself.
    assert rank_api_hosts(["localhost"], hostvars={"localhost": {"ansible_become": False}})[0] == ("localhost", False)


@pytest.mark.parametrize(("value", "become"), [(True, True), ("yes", True), (False, False), ("false", False)])
def test_the_variable_of_the_host_counts(value: t.Any, become: bool) -> None:
    assert rank_api_hosts(["cp1"], hostvars={"cp1": {"ansible_become": value}})[0] == ("cp1", become)
    assert rank_api_hosts([], "bastion", hostvars={"bastion": {"ansible_become": value}})[0] == ("bastion", become)


@pytest.mark.parametrize(
    ("host", "is_local", "has"),
    [
        ("cp1", False, True),
        ("w1", False, True),
        ("localhost", True, False),
        ("cp1", True, True),
        ("w1", True, False),
        ("x", False, False),
    ],
)
def test_whose_admin_conf_is_the_clusters(host: str, is_local: bool, has: bool) -> None:
    groups = {"all": ["cp1", "w1", "localhost"], "kube_control_plane": ["cp1"], "kube_node": ["w1"]}
    assert has_admin_conf(host, groups, is_local=is_local) is has
    assert not has_admin_conf("cp1", {}, is_local=True)

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which pairs of observations without a change between count as different."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.observe_pairs import differences

BEFORE = {"port": {"the kubelet's server at 10.0.0.2": ""}, "dns": {"clusterDNS": ""}}


def pair(**values: t.Any) -> dict[str, t.Any]:
    return {"before": BEFORE, "losses": "", "unverified": [], **values}


def test_pairs_that_find_the_same_do_not_differ() -> None:
    assert differences([pair(), pair()]) == []


def test_an_api_of_another_server_may_come_and_go() -> None:
    away = "whether it works: aggregated API a/v1: what it needs besides this component is away"
    there, refused = {"aggregated API a/v1": ""}, {"aggregated API a/v1": "503"}
    pairs = [pair(), *(pair(before={**BEFORE, "aggregated": found}) for found in (there, refused, {}))]
    assert differences([*pairs, pair(unverified=[away])]) == []


DIFFERENT = {
    "lost": {"losses": "what worked before does not: clusterDNS (timed out)"},
    "not verified": {"unverified": ["whether it works: clusterDNS"]},
    "did not work before": {"before": {**BEFORE, "dns": {"clusterDNS": "timed out"}}},
    "other name": {"before": {**BEFORE, "port": {"the kubelet's server at 10.0.0.3": ""}}},
    "kind without a name": {"before": {**BEFORE, "dns": {}}},
}


@pytest.mark.parametrize("values", DIFFERENT.values(), ids=DIFFERENT)
def test_a_pair_that_finds_something_else_differs(values: dict[str, t.Any]) -> None:
    assert differences([pair(), pair(**values), pair()]) == [pair(**values)]


def test_the_first_pair_differs_where_it_finds_nothing() -> None:
    assert differences([pair(before={"dns": {}})]) == [pair(before={"dns": {}})]

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kubeadm generates from a new text differs in just what shall stand there."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.settings import (
    SettingKey,
    proof_errors,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.cluster_configurations import API_SERVER

V = SettingKey(API_SERVER, "args", "v")
SETTINGS = {API_SERVER: {"args": {"v": ["5"]}}}


def validate(
    after: t.Any, live: t.Any = ("5",), changes: t.Collection[SettingKey] = (V,), settings: t.Any = None
) -> list[str]:
    def manifests(args: t.Any) -> t.Any:
        return {API_SERVER: {"args": {name: list(value) for name, value in args.items()}}}

    return proof_errors(
        before=manifests({"w": "1"}),
        after=manifests(after),
        live=manifests({"v": live}),
        settings=SETTINGS if settings is None else settings,
        changes=changes,
    )


def test_it_holds() -> None:
    assert validate({"w": "1", "v": "5"}) == []
    assert validate({"w": "2"}, changes=[SettingKey(API_SERVER, "args", "w")], settings={}) == []
    # A static pod that kubeadm does not generate there, such as an external etcd.
    assert validate({"w": "1", "v": "5"}, settings={**SETTINGS, "etcd": {"args": {"x": ["1"]}}}) == []


@pytest.mark.parametrize(
    ("after", "live", "why"),
    [
        ({"w": "2", "v": "5"}, "5", "kube-apiserver args w would change as well"),
        ({"v": "5"}, "5", "kube-apiserver args w would change as well"),
        ({"w": "1", "v": "6"}, "5", "kube-apiserver args v would be generated as another value"),
        ({"w": "1"}, "5", "kube-apiserver args v would be generated as another value"),
        ({"w": "1", "v": "5"}, "6", "kube-apiserver args v is not what it was when the run planned"),
    ],
)
def test_it_does_not(after: t.Any, live: str, why: str) -> None:
    assert validate(after, live) == [why]

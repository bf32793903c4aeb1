# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that only checks: its parameters, and what it passes on."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.modules import upgrade_check

NEEDED = {"target": "1.37.2", "programs": "/new", "cluster_configuration": "a: 1"}


@pytest.fixture(name="given")
def fixture_given(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, t.Any]]:
    """The arguments of the reader."""
    given: list[dict[str, t.Any]] = []

    def read_all(params: dict[str, t.Any], **_options: t.Any) -> dict[str, t.Any]:
        given.append(params)
        if params["target"] == "1.40.0":
            raise Refusal("invalid target 1.40.0")
        return {"node": "cp1", "findings": []}

    monkeypatch.setattr(upgrade_check, "read_all", read_all)
    return given


def result(capsys: pytest.CaptureFixture[str]) -> dict[str, t.Any]:
    return dict(json.loads(capsys.readouterr().out))


def test_parameters_and_result(
    start: t.Callable[..., t.Any], given: list[dict[str, t.Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        start(
            upgrade_check.main,
            **NEEDED,
            static_pods={"etcd": {"args": {"v": 2}, "only_if_changed": True}, "kube-scheduler": None},
            kubelet={"config": {"maxPods": 5}},
            _ansible_check_mode=True,
        )
    found = result(capsys)
    assert (found["changed"], found["node"]) == (False, "cp1")
    (params,) = given
    assert params["static_pods"]["etcd"]["args"] == {"v": 2}
    assert params["static_pods"]["kube-scheduler"]["env"] is None
    assert (params["kubelet"]["config"], params["kubelet"]["adopt"]) == ({"maxPods": 5}, False)
    assert (params["patches"], params["purge"]) == (None, False)


def test_what_cannot_be_checked(
    start: t.Callable[..., t.Any], given: list[dict[str, t.Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        start(upgrade_check.main, **{**NEEDED, "target": "1.40.0"})
    assert given
    found = result(capsys)
    assert (found["failed"], found["msg"]) == (True, "invalid target 1.40.0")

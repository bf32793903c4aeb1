# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that only reads."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.plugins.modules import static_pod_info


def test_parameters_and_result(
    start: t.Callable[..., t.Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given: list[t.Any] = []

    def read_all(*arguments: t.Any, **options: t.Any) -> dict[str, t.Any]:
        given.append(arguments)
        return {"node": "cp1", "static_pods": []}

    monkeypatch.setattr(static_pod_info, "read_all", read_all)
    with pytest.raises(SystemExit):
        start(static_pod_info.main, name="etcd", manifest_dir="/m")
    result = json.loads(capsys.readouterr().out)
    assert given == [("etcd", "/m")]
    assert (result["changed"], result["node"], result["static_pods"]) == (False, "cp1", [])


def test_a_node_that_cannot_be_read(
    start: t.Callable[..., t.Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def read_all(*arguments: t.Any, **options: t.Any) -> dict[str, t.Any]:
        raise KubeadmError("no kubelet")

    monkeypatch.setattr(static_pod_info, "read_all", read_all)
    with pytest.raises(SystemExit):
        start(static_pod_info.main)
    result = json.loads(capsys.readouterr().out)
    assert (result["failed"], result["msg"]) == (True, "no kubelet")

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that reads a kubelet."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.plugins.modules import kubelet_info


def test_what_was_read_is_returned(
    start: t.Callable[..., t.Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kubelet_info, "read_all", lambda *, run, warn: {"node": "w1"})
    with pytest.raises(SystemExit):
        start(kubelet_info.main)
    result = json.loads(capsys.readouterr().out)
    assert (result["changed"], result["node"]) == (False, "w1")


def test_a_host_without_a_kubelet_is_named(
    start: t.Callable[..., t.Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def read_all(*, run: t.Any, warn: t.Any) -> t.NoReturn:
        raise KubeadmError("no kubelet here")

    monkeypatch.setattr(kubelet_info, "read_all", read_all)
    with pytest.raises(SystemExit):
        start(kubelet_info.main)
    result = json.loads(capsys.readouterr().out)
    assert (result["failed"], result["msg"]) == (True, "no kubelet here")

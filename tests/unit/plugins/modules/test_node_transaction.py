# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that follows a transaction."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import read_json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import save_journal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import state
from ansible_collections.nodecraft.kubeadm.plugins.modules import node_transaction


def test_a_node_without_transactions(
    start: t.Callable[..., t.Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(state, "STATE_DIR", str(tmp_path))
    with pytest.raises(SystemExit):
        start(node_transaction.main, name="kube-apiserver")
    result = json.loads(capsys.readouterr().out)
    assert (result["changed"], result["phase"], result["transaction"]) == (False, None, None)
    assert result["busy"] is False


def test_outcome_of_the_last_transaction_is_returned_and_acknowledged(
    start: t.Callable[..., t.Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(state, "STATE_DIR", str(tmp_path))
    directory = tmp_path / "kube-apiserver"
    closed: t.Any = {
        "format": 1,
        "id": "1",
        "phase": "closed",
        "requested": {},
        "result": {"outcome": "committed"},
        "files": [],
        "watch": "secret",
    }
    save_journal(str(directory), closed, "1")
    with pytest.raises(SystemExit):
        start(node_transaction.main, name="kube-apiserver", wait=5)
    result = json.loads(capsys.readouterr().out)
    assert result["transaction"] == {
        "id": "1",
        "requested": {},
        "reverts": None,
        "observed_before": None,
        "outcome": "committed",
    }
    assert read_json(str(directory / "followed.json")) == {"id": "1"}


@pytest.mark.parametrize(
    ("identifier", "message"),
    [
        ("7", "transaction 7 of kube-apiserver is not known"),
        ("a.b/c", "invalid id 'a.b/c': must be the id of a transaction"),
    ],
)
def test_refusal_is_not_busy(
    start: t.Callable[..., t.Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    identifier: str,
    message: str,
) -> None:
    monkeypatch.setattr(state, "STATE_DIR", str(tmp_path))
    with pytest.raises(SystemExit):
        start(node_transaction.main, name="kube-apiserver", id=identifier)
    result = json.loads(capsys.readouterr().out)
    assert result["failed"]
    assert result["busy"] is False
    assert message in result["msg"]

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine as the program that systemd starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import transaction
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import locked
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.program import STUCK, main


def test_the_program_needs_a_directory(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engine.pyz"]) == 2
    assert "usage" in capsys.readouterr().err


def test_the_program_without_a_journal_ends_well(tmp_path: Path) -> None:
    assert main(["engine.pyz", str(tmp_path)]) == 0


def test_the_program_reports_why_it_cannot_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "journal.json").write_text("{", encoding="ascii")
    assert main(["engine.pyz", str(tmp_path)]) == STUCK
    assert "journal.json is damaged" in capsys.readouterr().err


def test_a_lock_that_is_held_is_tried_again_by_systemd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(transaction, "LOCK_SECONDS", 0.0)
    clock = iter(range(100)).__next__
    with locked(str(tmp_path), seconds=0, clock=clock, sleep=lambda seconds: None):
        status = main(["engine.pyz", str(tmp_path)])
    assert status == 1 != STUCK
    assert "another process holds" in capsys.readouterr().err

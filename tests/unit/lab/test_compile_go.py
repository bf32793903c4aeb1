# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The build of a Go program tells how far it is, and nothing once it has ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.lab.files import compile_go

# Stands in for Go: lists three packages, compiles two of them, and keeps what the reader of the progress saw then.
GO = """#!/bin/sh
case $1 in
  list) printf 'a\\nb\\nc\\n' ;;
  build)
    echo a >&2; echo 'go: a warning' >&2; echo b >&2
    until grep -qs '^2 ' "$LAB_PROGRESS"; do :; done
    cp "$LAB_PROGRESS" "$LAB_PROGRESS.seen"
    exit 3 ;;
esac
"""


def test_the_note_of_progress_goes_with_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "go").write_text(GO, encoding="utf-8")
    (tmp_path / "go").chmod(0o755)
    progress = tmp_path / "log" / "lab.progress"
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("LAB_PROGRESS", str(progress))
    assert compile_go.main(str(tmp_path / "program")) == 3
    seen = progress.with_name("lab.progress.seen").read_text(encoding="utf-8")
    assert seen == "2 of up to 3 packages of Kubernetes compiled\n"
    assert not progress.exists()
    assert capfd.readouterr().err == "go: a warning\n"

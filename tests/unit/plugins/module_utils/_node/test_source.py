# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source of our programs, out of an archive like the one that Ansible ships modules in."""

from __future__ import annotations

import importlib
import zipfile
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import transaction as engine
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node import sandbox
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.source import source_of
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError


@pytest.mark.parametrize("program", [engine, sandbox])
def test_a_source_is_read_out_of_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: object) -> None:
    text = Path(str(getattr(program, "__file__", ""))).read_text(encoding="utf-8")
    package = f"shipped_{str(getattr(program, '__name__', '')).rpartition('.')[2]}"
    with zipfile.ZipFile(tmp_path / "payload.zip", "w") as archive:
        archive.writestr(f"{package}/__init__.py", "")
        archive.writestr(f"{package}/program.py", text)
    monkeypatch.syspath_prepend(str(tmp_path / "payload.zip"))
    assert source_of(importlib.import_module(f"{package}.program")) == text
    compile(text, "program.py", "exec")


def test_a_source_that_was_not_shipped_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "unshipped_folder").mkdir()
    (tmp_path / "unshipped_folder" / "program.py").write_text("", encoding="ascii")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(KubeadmError, match="is not in this module's archive"):
        source_of(importlib.import_module("unshipped_folder.program"))

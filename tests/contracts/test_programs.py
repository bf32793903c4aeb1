# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab only builds clusters: it knows nothing of the programs that work on one, and these know nothing of each other."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts.imports import imports_of, is_below
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

# Directory -> what its files may not import.
FOREIGN = {"lab": ("demo", "bench"), "demo": ("bench",), "bench": ("demo",)}


def findings(path: Path, source: str) -> list[str]:
    """The forbidden imports of a file; path: relative to the project."""
    imported = imports_of(ast.parse(source), ".".join(path.with_suffix("").parts))
    return [
        f"{path}:{entry.line}: {entry.name} may not be imported here"
        for entry in imported
        if any(is_below(entry.name.lstrip("."), foreign) for foreign in FOREIGN[path.parts[0]])
    ]


@pytest.mark.parametrize("directory", FOREIGN)
def test_directories_know_only_what_is_below_them(directory: str) -> None:
    files = [path for path in project_files(ROOT) if path.parts[0] == directory and path.suffix == ".py"]
    assert files
    assert [found for path in files for found in findings(path, (ROOT / path).read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("lab/a.py", "from ansible_collections.nodecraft.kubeadm.demo.story import Story"),
        ("lab/callback/a.py", "from ... import bench"),
        ("bench/a.py", "def f():\n    import ansible_collections.nodecraft.kubeadm.demo.pods"),
    ],
)
def test_a_breach_is_found(path: str, source: str) -> None:
    assert len(findings(Path(path), source)) == 1

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies of the collection, for tools that want a tree as Ansible has it or that write beside the sources."""

from __future__ import annotations

import shutil
import subprocess
import typing as t
from pathlib import Path

from ..contracts.project import project_files
from .places import ROOT, TREES


def collection_copy(name: str) -> Path:
    """A copy of what git knows or would take, in a tree as Ansible's own tools want it.

    What ansible-test made there stays: its venvs serve the next run.
    """
    tree = TREES / name / "ansible_collections" / "nodecraft" / "kubeadm"
    keep_only(tree, {"tests"})
    keep_only(tree / "tests", {"output"})
    return copy_project(tree)


def copy_project(directory: Path) -> Path:
    """Copy what git knows or would take into a directory, which becomes a repository; returns it."""
    for file in project_files(ROOT):
        (directory / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, directory / file)
    # Without a repository of its own the copy would be taken for a part of this one that git ignores.
    subprocess.run(["git", "init", "--quiet"], cwd=directory, check=True)
    return directory


def keep_only(directory: Path, names: t.Container[str]) -> None:
    """Remove all else from a directory; where there is none, nothing."""
    for path in directory.glob("*"):
        if path.name not in names:
            shutil.rmtree(path) if path.is_dir() else path.unlink()

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies of the collection, for tools that want a tree as Ansible has it or that write beside the sources."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from ..contracts.project import project_files
from .places import ROOT, TREES


def collection_copy(name: str) -> Path:
    """A copy of what git knows or would take, in a tree as Ansible's own tools want it.

    What ansible-test made there stays: its venvs serve the next run.
    """
    tree = TREES / name / "ansible_collections" / "nodecraft" / "kubeadm"
    for path in tree.glob("*"):
        if path.name != "tests":
            remove(path)
    for path in tree.glob("tests/*"):
        if path.name != "output":
            remove(path)
    for file in project_files(ROOT):
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, tree / file)
    # Without a repository of its own the copy would be taken for a part of this one that git ignores.
    subprocess.run(["git", "init", "--quiet"], cwd=tree, check=True)
    return tree


def remove(path: Path) -> None:
    """Remove a file or a directory."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()

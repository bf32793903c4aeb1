# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the project and what its sessions write is."""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ROOT / "tests" / "constraints.txt"
# Made from these versions, with hashes: of the same packages, and of nox with all that it needs.
CONSTRAINTS_LOCK = ROOT / "tests" / "constraints.lock"
NOX_LOCK = ROOT / "tests" / "nox.lock"
DEVICE_PLUGIN = ROOT / "roles" / "device_plugin" / "files" / "plugin"
BUILD = ROOT / "build"
# Scripts of venvs name their Python by its path: a clone that moves takes none of them along.
ENVS = BUILD / "envs"
TREES = BUILD / "trees"
COLLECTIONS = BUILD / "collections"
# By this name its files import each other: neither nox nor pytest puts the project on the path, and a package tests may be there.
LINK = COLLECTIONS / "ansible_collections" / "nodecraft" / "kubeadm"
RESULTS = BUILD / "results"
FAULTS = BUILD / "faults"


def link_collection() -> None:
    """Have Ansible and Python find this clone as a collection below COLLECTIONS. What calls this cannot import it: it runs this file by its path."""
    LINK.parent.mkdir(parents=True, exist_ok=True)
    # Relative, so that it holds as well where the clone is mounted at another place.
    target = os.path.relpath(ROOT, LINK.parent.resolve())
    if not LINK.is_symlink() or os.readlink(LINK) != target:
        own = LINK.with_name(f"{LINK.name}-{os.getpid()}")
        own.symlink_to(target, target_is_directory=True)
        own.replace(LINK)  # Another target may start at the same time.
    importlib.invalidate_caches()  # Python remembers that COLLECTIONS was not there.


def fresh_directory(path: Path) -> Path:
    """An empty directory."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the project and what its sessions write is."""

from __future__ import annotations

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
# A link there has the collection by its name.
COLLECTIONS = BUILD / "collections"
RESULTS = BUILD / "results"
FAULTS = BUILD / "faults"

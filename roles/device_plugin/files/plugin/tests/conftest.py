# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures of all tests."""

from __future__ import annotations

import tempfile
import typing as t
from pathlib import Path

import pytest
from running_plugin import plug


@pytest.fixture
def tmp_path() -> t.Iterator[Path]:
    """A directory with a short name: the path of a socket is limited, and pytest's own may be longer."""
    with tempfile.TemporaryDirectory(prefix="dp-") as directory:
        yield Path(directory)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A host with two dongles."""
    plug(tmp_path / "root", "usb-A", 0)
    plug(tmp_path / "root", "usb-B", 1)
    return tmp_path / "root"

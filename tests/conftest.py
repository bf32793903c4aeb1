# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all tests need before they are collected: the collection's name, and the identity that their session promised."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

runpy.run_path(str(Path(__file__).parent / "sessions" / "places.py"))["link_collection"]()

from ansible_collections.nodecraft.kubeadm.tests.sessions import identity


def pytest_configure() -> None:
    """Refuse to test as the machine itself where a session said that it does not."""
    if remaining := identity.remaining():
        raise pytest.UsageError(f"not under another identity than this machine's: the same {', '.join(remaining)}")

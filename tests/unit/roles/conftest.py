# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of all roles share."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Stage


@pytest.fixture(name="stage")
def fixture_stage(tmp_path: Path) -> Stage:
    """A folder of its own for the plays of a test."""
    return Stage(tmp_path)

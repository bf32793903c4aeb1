# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of all roles share."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.roles.mutations import CHOSEN, MUTATIONS
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Stage
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import served_web


@pytest.fixture(name="stage")
def fixture_stage(tmp_path: Path) -> Stage:
    """A directory of its own for the plays of a test, without the safeguard that the environment names, if it names one."""
    stage = Stage(tmp_path)
    if chosen := os.environ.get(CHOSEN):
        MUTATIONS[chosen].take_out(stage)
    return stage


@pytest.fixture(name="confirm_url")
def fixture_confirm_url() -> t.Iterator[str]:
    """An address that responds to the controller, as it has to before a change that it is to confirm."""
    with served_web() as web:
        yield f"http://127.0.0.1:{web.port}/readyz"

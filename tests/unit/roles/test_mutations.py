# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""With any one safeguard of a rollout taken out, the test that guards it fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.roles.mutations import CHOSEN, MUTATIONS
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import ROOT

FAILED = 1


@pytest.mark.slice
@pytest.mark.parametrize("name", MUTATIONS)
def test_without_a_safeguard_a_test_fails(name: str) -> None:
    mutation = MUTATIONS[name]
    tests = Path(__file__).parent / mutation.tests
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", f"{tests}", "-k", mutation.name],
        env={**os.environ, CHOSEN: name},
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == FAILED, f"nothing failed without: {mutation.safeguard}\n{done.stdout}{done.stderr}"
    # Not for another reason, such as a play that cannot be read.
    assert f"::{mutation.name}" in done.stdout.partition("\nFAILED ")[2], done.stdout

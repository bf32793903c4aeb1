# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""With any one safeguard taken out, the tests that are said to guard it fail. Otherwise their passing would prove nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.faults.conftest import Tally
from ansible_collections.nodecraft.kubeadm.tests.faults.mutations import MUTATIONS
from ansible_collections.nodecraft.kubeadm.tests.faults.processes import copy_code
from ansible_collections.nodecraft.kubeadm.tests.faults.reliability import PAGE, mutation_table, table_in
from ansible_collections.nodecraft.kubeadm.tests.faults.scenarios import WHOLE

FAILED = 1
HERE = Path(__file__).parent


@pytest.mark.parametrize("name", MUTATIONS)
def test_each_safeguard_is_still_found(tmp_path: Path, name: str) -> None:
    tree = copy_code(tmp_path / "code")
    MUTATIONS[name].remove_safeguard(tree)


def test_the_page_has_the_table() -> None:
    assert table_in(PAGE.read_text(encoding="utf-8")) == mutation_table()


@pytest.mark.skipif(not WHOLE, reason="a part of the whole: FAULTS_SCOPE=whole")
@pytest.mark.parametrize("name", MUTATIONS)
def test_without_a_safeguard_a_test_fails(name: str, tally: Tally) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "--numprocesses=0",
        "-k",
        MUTATIONS[name].test,
    ]
    tests = [str(path) for path in sorted(HERE.glob("test_*.py")) if path.name != Path(__file__).name]
    environment = {**os.environ, "FAULTS_MUTATION": name, "FAULTS_SCOPE": "slice", "FAULTS_RECORD": ""}
    done = subprocess.run(
        [*command, *tests], env=environment, cwd=HERE.parents[1], check=False, capture_output=True, text=True
    )
    assert done.returncode == FAILED, f"nothing failed without: {MUTATIONS[name].safeguard}\n{done.stdout}{done.stderr}"
    assert "\nFAILED " in done.stdout, done.stdout
    tally("safeguard taken out", "found")

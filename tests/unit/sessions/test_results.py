# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a session counts for in the last line of all checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.sessions.results import Count, count_of


def session(name: str, *, passed: bool) -> dict[str, object]:
    return {"signatures": [name, "other"], "result": "success" if passed else "failed"}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """What three sessions counted themselves."""
    suite = '<testsuites><testsuite tests="{}" failures="{}" errors="{}" skipped="{}"/></testsuites>'
    (tmp_path / "unit-3.13.xml").write_text(suite.format(10, 1, 2, 3), encoding="utf-8")
    (tmp_path / "contracts.xml").write_text(suite.format(10, 0, 0, 0), encoding="utf-8")
    (tmp_path / "scenarios.json").write_text(json.dumps({"1.32 a": True, "1.32 b": False}), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "passed", "count"),
    [
        ("ruff", True, Count(1, 0)),
        ("ruff", False, Count(0, 1)),
        ("contracts", True, Count(10, 0)),
        ("unit-3.13", False, Count(4, 3)),
        ("scenarios", False, Count(1, 1)),
    ],
)
def test_a_session_counts_its_own_checks_or_is_one(results: Path, name: str, passed: bool, count: Count) -> None:
    assert count_of(session(name, passed=passed), results) == count


def test_a_session_that_broke_outside_its_tests_has_failed(results: Path) -> None:
    assert count_of(session("contracts", passed=False), results) == Count(10, 1)


def test_counts_add_up() -> None:
    assert Count(1, 2) + Count(3, 4) == Count(4, 6)

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a session counts for in the last line of all checks."""

from __future__ import annotations

import atexit
import json
import os
import re
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.sessions import results as module
from ansible_collections.nodecraft.kubeadm.tests.sessions.results import BEHIND, Count, Watch, count_of, session_blocks

MOST_NICE = 19  # these tests may be nice themselves


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


# Stands in for nox: runs the sessions that it is told, of which the one called bad fails, and writes its report.
NOX = """
import json, os, sys
*_, names = " ".join(sys.argv).partition("--sessions ")
names = names.split()
for name in names:
    print(f"nox > Running session {name}")
    print(f"works with niceness {os.nice(0)}")
    print(f"nox > Session {name} {'failed' if name == 'bad' else 'was successful'}.")
(report,) = (argument.partition("=")[2] for argument in sys.argv if argument.startswith("--report="))
entry = lambda name: {"name": name, "signatures": [name], "result": "failed" if name == "bad" else "success", "duration": 2.0}
json.dump({"sessions": [entry(name) for name in names]}, open(report, "w"))
"""


class Checked:
    """A run of groups of sessions, by a nox that only notes them."""

    def __init__(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch, first: t.Sequence[t.Sequence[str]], **environment: str
    ) -> None:
        (directory / "nox.py").write_text(NOX, encoding="utf-8")
        monkeypatch.setenv("PYTHONPATH", str(directory))
        monkeypatch.delenv("KEEP_GOING", raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(module, "RESULTS", directory / "results")
        monkeypatch.setattr(module, "DURATIONS", directory / "durations.json")
        last: list[str] = []
        monkeypatch.setattr(atexit, "register", lambda _print, line, **_options: last.append(line))
        self.broken: list[str] = []
        session: t.Any = self
        module.run_counted(session, first, [["later-a", "later-b"], ["later-c"]], [])
        (self.last,) = last

    def warn(self, text: str) -> None:
        """As a session of nox."""

    def error(self, text: str) -> None:
        """As a session of nox."""
        self.broken.append(text)


def test_later_sessions_run_after_a_verdict_that_is_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    checked = Checked(tmp_path, monkeypatch, [["a"], ["b"]])
    assert (checked.last, checked.broken) == ("5 passed, 0 failed", [])
    output = capfd.readouterr().out
    assert "min: lint, types and the unit tests of one Python passed.\n" in output
    assert output.index("First verdict") < output.index("Running session later-a")
    assert "     2.0 s  later-c\n" in output
    assert json.loads((tmp_path / "durations.json").read_text(encoding="utf-8"))["a"] == 2.0


def test_the_first_group_has_the_processors_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    Checked(tmp_path, monkeypatch, [["a"]])
    found = dict(re.findall(r"session (\S+)\nworks with niceness (-?\d+)\n", capfd.readouterr().out))
    behind = min(os.nice(0) + BEHIND, MOST_NICE)
    assert [int(found[name]) for name in ("a", "later-a", "later-b", "later-c")] == [*[os.nice(0)] * 3, behind]


def test_later_sessions_do_not_run_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    checked = Checked(tmp_path, monkeypatch, [["a"], ["bad"]])
    assert (checked.last, checked.broken) == ("1 passed, 1 failed", ["not everything passed"])
    assert "bad failed, and no other session runs. KEEP_GOING=1 make test runs all.\n" in capfd.readouterr().out


def test_later_sessions_run_after_a_failure_where_that_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = Checked(tmp_path, monkeypatch, [["a"], ["bad"]], KEEP_GOING="1")
    assert (checked.last, checked.broken) == ("4 passed, 1 failed", ["not everything passed"])


def test_the_lines_of_a_session_stay_together() -> None:
    lines = ["nox > Running session a\n", "work\n", "nox > Session a was successful in 2 s.\n", "nox > Ran 1 session\n"]
    assert list(session_blocks(lines, Watch([], {}))) == ["".join(lines[:3]).rstrip("\n"), "nox > Ran 1 session"]


def test_sessions_without_a_duration_are_counted() -> None:
    watch = Watch([[["a"]], [["b"], ["c"]]], {"a": 60})
    assert watch.line == "about 1 min left; 2 to go that did not run here before; at work: "
    assert Watch([[["a"]]], {}).line == "1 to go that did not run here before; at work: "


def test_time_left_is_that_of_the_longest_group_of_each_phase() -> None:
    now = [0.0]
    watch = Watch(
        [[["a", "b"], ["c"]], [["d"], ["e"]]], {"a": 60, "b": 60, "c": 200, "d": 100, "e": 50}, lambda: now[0]
    )
    assert watch.line == "about 5 min left; at work: "
    for name in ("a", "c"):
        watch.begin(name)
    now[0] = 150.0
    assert watch.line == "about 3 min left; at work: a, c"
    watch.end("c")
    assert watch.line == "about 3 min left; at work: a"
    now[0] = 1000.0
    for name in ("a", "b"):
        watch.end(name)
    assert watch.line == "about 2 min left; at work: "

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of the lines that unit tests reach."""

from __future__ import annotations

import json
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.tests.sessions.coverage import LEAST, report_lines


def summary(percent: float, lines: int) -> dict[str, float]:
    return {"percent_covered": percent, "num_statements": lines}


def test_least_covered_files_are_named_but_for_the_smallest(tmp_path: Path) -> None:
    files = {f"plugins/{number:02d}.py": {"summary": summary(50 + number, 100)} for number in range(LEAST + 1)}
    files["plugins/small.py"] = {"summary": summary(0, 3)}
    report = tmp_path / "coverage.json"
    report.write_text(json.dumps({"files": files, "totals": summary(54.96, 1103)}), encoding="utf-8")
    first, *least = report_lines(report)
    assert first == "Coverage by unit tests: 55.0 % of 1103 lines of plugins/. Least:"
    assert [line.split()[-1] for line in least] == [f"plugins/{number:02d}.py" for number in range(LEAST)]
    assert least[0] == " 50.0 % of 100  plugins/00.py"


def test_run_without_a_report_says_that_nothing_was_measured(tmp_path: Path) -> None:
    assert report_lines(tmp_path / "coverage.json") == ["Coverage was not measured."]

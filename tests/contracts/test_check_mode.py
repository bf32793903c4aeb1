# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a module is in check mode, the runner alone reads; it tells the steps what they may do."""

from __future__ import annotations

import ast

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

RUNNER = "plugins/module_utils/_module/runner.py"
DIRECTORIES = ("plugins/modules/", "plugins/module_utils/")


def reads_check_mode(text: str) -> bool:
    """Whether code asks an object for its check mode."""
    return any(isinstance(node, ast.Attribute) and node.attr == "check_mode" for node in ast.walk(ast.parse(text)))


def test_the_runner_alone_reads_it() -> None:
    files = [str(path) for path in project_files(ROOT) if str(path).startswith(DIRECTORIES) and path.suffix == ".py"]
    assert [path for path in files if reads_check_mode((ROOT / path).read_text(encoding="utf-8"))] == [RUNNER]


@pytest.mark.parametrize(
    ("text", "reads"), [("run(module.check_mode)", True), ("check_mode = 1", False), ("'module.check_mode'", False)]
)
def test_reading_it_is_found(text: str, reads: bool) -> None:
    assert reads_check_mode(text) is reads

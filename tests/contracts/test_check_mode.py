# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every module knows check mode. Whether one is in it, the runner alone reads; it tells the steps what they may do."""

from __future__ import annotations

import ast

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

RUNNER = "plugins/module_utils/_module/runner.py"
CLASSES = ("plugins/module_utils/_module/api_module.py", "plugins/module_utils/_module/node_module.py")
DIRECTORIES = ("plugins/modules/", "plugins/module_utils/")


def reads_check_mode(text: str) -> bool:
    """Whether code asks an object for its check mode."""
    return any(isinstance(node, ast.Attribute) and node.attr == "check_mode" for node in ast.walk(ast.parse(text)))


def without_check_mode(text: str) -> list[int]:
    """The lines in which a class that is an AnsibleModule begins as one that has no check mode."""
    classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    begun = [
        node
        for found in classes
        if "AnsibleModule" in map(ast.unparse, found.bases)
        for node in ast.walk(found)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__"
    ]
    return [call.lineno for call in begun if "supports_check_mode=True" not in ast.unparse(call)]


def test_each_module_has_it() -> None:
    """All modules of nodes are of one class, and all that ask the API of another."""
    files = [path for path in project_files(ROOT) if path.parts[0] == "plugins" and path.suffix == ".py"]
    texts = {str(path): (ROOT / path).read_text(encoding="utf-8") for path in files}
    assert [path for path, text in texts.items() if "(AnsibleModule)" in text] == list(CLASSES)
    assert [path for path, text in texts.items() if "AnsibleModule(" in text] == []
    assert {path: lines for path in CLASSES if (lines := without_check_mode(texts[path]))} == {}


def test_a_module_without_it_is_found() -> None:
    text = "class A({0}):\n    def __init__(self):\n        super().__init__({1})\n"
    assert without_check_mode(text.format("AnsibleModule", "argument_spec={}")) == [3]
    assert without_check_mode(text.format("AnsibleModule", "argument_spec={}, supports_check_mode=True")) == []
    assert without_check_mode(text.format("B", "argument_spec={}")) == []


def test_the_runner_alone_reads_it() -> None:
    files = [str(path) for path in project_files(ROOT) if str(path).startswith(DIRECTORIES) and path.suffix == ".py"]
    assert [path for path in files if reads_check_mode((ROOT / path).read_text(encoding="utf-8"))] == [RUNNER]


@pytest.mark.parametrize(
    ("text", "reads"), [("run(module.check_mode)", True), ("check_mode = 1", False), ("'module.check_mode'", False)]
)
def test_reading_it_is_found(text: str, reads: bool) -> None:
    assert reads_check_mode(text) is reads

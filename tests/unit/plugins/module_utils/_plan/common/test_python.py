# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every module reports a Python that is too old."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import python

COLLECTION = Path(python.__file__).parents[4]
# One that is only documentation runs on the controller.
MODULES = sorted(
    path.stem
    for path in (COLLECTION / "plugins/modules").glob("*.py")
    if "def main" in path.read_text(encoding="utf-8")
)
START = """\
import sys

version = sys.version_info
sys.path.insert(0, {path!r})
sys.version_info = (3, 8, 10, "final", 0)
try:
    from ansible_collections.nodecraft.kubeadm.plugins.modules import {module}
finally:
    sys.version_info = version
    ours = sorted(name.rpartition(".")[2] for name in sys.modules if ".kubeadm.plugins.module_utils." in name)
    sys.stderr.write(" ".join(ours))
"""


@pytest.mark.parametrize("module", MODULES)
def test_each_module_ends_with_the_way_out_before_it_meets_what_an_old_python_does_not_know(module: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", START.format(path=str(COLLECTION.parents[2]), module=module)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stderr.split() == ["_plan", "common", "python"]
    found = json.loads(result.stdout)
    assert (result.returncode, found["failed"]) == (1, True)
    assert f"needs Python 3.9 or newer, and {sys.executable} is Python 3.8. Install" in found["msg"]
    assert "ansible_python_interpreter" in found["msg"]


@pytest.mark.parametrize(
    ("version", "is_too_old"), [((3, 6, 8), True), ((3, 8), True), ((3, 9, 0), False), ((3, 14), False)]
)
def test_what_is_too_old(version: tuple[int, ...], is_too_old: bool) -> None:
    assert (python.version_error(version, "/p", "w1") is not None) is is_too_old

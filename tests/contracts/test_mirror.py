# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A test of a plugin is found without a search: ``tests/unit/plugins`` mirrors ``plugins``, and each file there is named after what it tests."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

MIRROR = PurePosixPath("tests/unit")
MIRRORED = PurePosixPath("plugins")


def named_after(test: PurePosixPath, files: frozenset[PurePosixPath]) -> PurePosixPath | None:
    """The file that a test is named after: test_X.py after X.py, and so is test_X_of_some_kind.py, where it is one of several."""
    words = test.stem.removeprefix("test_").split("_")
    names = ("_".join(words[:number]) for number in range(len(words), 0, -1))
    directory = test.relative_to(MIRROR).parent
    return next((file for name in names if (file := directory / f"{name}.py") in files), None)


def test_each_test_of_a_plugin_is_named_after_a_file() -> None:
    files = frozenset(PurePosixPath(path) for path in project_files(ROOT))
    tests = [path for path in files if path.match("test_*.py") and path.is_relative_to(MIRROR / MIRRORED)]
    assert tests
    assert sorted(str(test) for test in tests if named_after(test, files) is None) == []


@pytest.mark.parametrize(
    ("test", "file"),
    [
        ("a/test_x.py", "a/x.py"),
        ("a/test_x_y.py", "a/x_y.py"),
        ("a/test_x_properties.py", "a/x.py"),
        ("a/test_xy.py", None),
        ("a/test_properties_x.py", None),
        ("test_x.py", None),
    ],
)
def test_a_breach_is_found(test: str, file: str | None) -> None:
    files = frozenset(MIRRORED / name for name in ("a/x.py", "a/x_y.py"))
    assert named_after(MIRROR / MIRRORED / test, files) == (MIRRORED / file if file else None)

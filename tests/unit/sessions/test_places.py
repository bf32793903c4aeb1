# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The link by which a clone is a collection: made where it is missing, and right again where the clone was moved."""

from __future__ import annotations

import runpy
import shutil
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.sessions import places

LINK = Path("build/collections/ansible_collections/nodecraft/kubeadm")


@pytest.fixture(name="clone")
def fixture_clone(tmp_path: Path) -> Path:
    """A clone with the file that is run before anything can be imported."""
    file = tmp_path / "a clone" / Path(places.__file__).resolve().relative_to(places.ROOT)
    file.parent.mkdir(parents=True)
    shutil.copy(places.__file__, file)
    return tmp_path / "a clone"


def link(clone: Path) -> Path:
    """The link, after noxfile.py or a conftest made it."""
    made: t.Any = runpy.run_path(str(clone / "tests" / "sessions" / "places.py"))
    made["link_collection"]()
    return clone / LINK


def test_link_in_fresh_clone_leads_to_it(clone: Path) -> None:
    assert link(clone).resolve() == clone
    assert [path.name for path in (clone / LINK).parent.iterdir()] == ["kubeadm"]


def test_link_holds_where_clone_is_moved(clone: Path) -> None:
    link(clone)
    relocate = clone.rename(clone.with_name("elsewhere"))
    assert (relocate / LINK).resolve() == relocate


@pytest.mark.parametrize("target", ["/", "../../../../../.."], ids=["absolute", "relative"])
def test_link_to_another_place_is_replaced(clone: Path, target: str) -> None:
    (clone / LINK).parent.mkdir(parents=True)
    (clone / LINK).symlink_to(target)
    assert link(clone).resolve() == clone


def test_link_is_right_where_build_is_on_another_disk(clone: Path, tmp_path: Path) -> None:
    (tmp_path / "disk" / "of builds").mkdir(parents=True)
    (clone / "build").symlink_to(tmp_path / "disk" / "of builds")
    assert link(clone).resolve() == clone

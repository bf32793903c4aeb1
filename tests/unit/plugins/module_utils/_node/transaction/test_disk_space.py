# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Space for a transaction is checked before anything of it is written."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import to_json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import version_of
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import disk_space
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError

BLOCK = 4096


def journal(directory: Path, size: int) -> t.Any:
    after = version_of(b"x" * size, 0o600, 0, 0)
    return {"name": "kubelet", "files": [{"path": str(directory / "new" / "file"), "before": None, "after": after}]}


def require(directory: Path, left: disk_space.Space, size: int = 10000) -> list[str]:
    read_mounts: list[str] = []

    def space_at(mount: str) -> disk_space.Space:
        read_mounts.append(mount)
        return left

    disk_space.require_space(journal(directory, size), str(directory), space_at)
    return read_mounts


def test_three_copies_of_all_that_is_written_have_to_fit(tmp_path: Path) -> None:
    blocks = 3 + len(to_json(journal(tmp_path, 10000))) // BLOCK + 1
    needed = disk_space.COPIES * blocks * BLOCK
    *_directories, mount = require(tmp_path, disk_space.Space(needed, BLOCK, None))
    assert os.path.ismount(mount)
    with pytest.raises(KubeadmError, match=f"file system of {mount} has {needed - 1} bytes free, .* needs {needed}"):
        require(tmp_path, disk_space.Space(needed - 1, BLOCK, None))


def test_files_are_counted_where_their_number_is_limited(tmp_path: Path) -> None:
    assert require(tmp_path, disk_space.Space(10**9, BLOCK, 6))
    with pytest.raises(KubeadmError, match="has 5 free inodes, and this change needs 6"):
        require(tmp_path, disk_space.Space(10**9, BLOCK, 5))


def test_what_is_mounted_read_only_is_named(tmp_path: Path) -> None:
    with pytest.raises(KubeadmError, match="mounted read-only"):
        require(tmp_path, disk_space.Space(10**9, BLOCK, None, read_only=True))


def test_directory_that_is_bound_read_only_is_named(tmp_path: Path) -> None:
    """Its file system is not: the flag is the mount's."""

    def space_at(directory: str) -> disk_space.Space:
        return disk_space.Space(10**9, BLOCK, None, read_only=directory == str(tmp_path / "bound"))

    (tmp_path / "bound").mkdir()
    with pytest.raises(KubeadmError, match=f"file system of {tmp_path}/bound is mounted read-only"):
        disk_space.require_space(journal(tmp_path / "bound", 1), str(tmp_path), space_at)


def test_this_machine_has_room(tmp_path: Path) -> None:
    disk_space.require_space(journal(tmp_path, 1), str(tmp_path / "not" / "there"))

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files are replaced whole, and errors name them."""

from __future__ import annotations

import errno
import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.errors import ForeignEdit
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import (
    json_object,
    named,
    read_bytes,
    read_json,
    remove,
    write_atomically,
    write_json,
)


def write(path: Path, content: bytes, **given: t.Any) -> None:
    write_atomically(str(path), content, **{"mode": 0o600, "uid": os.getuid(), "gid": os.getgid(), **given})


def test_a_file_is_replaced_with_mode_and_attributes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.nodecraft", b"kept")
    except OSError:  # a file system without attributes: then there are none to keep
        assert os.listxattr(path) == []
    attributes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    write(path, b"new", mode=0o640)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o7777 == 0o640
    assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == attributes
    assert os.listdir(tmp_path) == ["file"]


def test_what_a_killed_run_left_blocks_nothing(tmp_path: Path) -> None:
    (tmp_path / ".file.nodecraft-kubeadm").write_bytes(b"half")
    write(tmp_path / "file", b"new")
    assert os.listdir(tmp_path) == ["file"]


def test_a_link_in_the_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"untouched")
    (tmp_path / ".file.nodecraft-kubeadm").symlink_to(tmp_path / "other")
    write(tmp_path / "file", b"new")
    assert (tmp_path / "other").read_bytes() == b"untouched"


def test_the_last_look_before_the_rename_can_stop_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    seen: list[list[str]] = []

    def recheck() -> None:
        seen.append(sorted(os.listdir(tmp_path)))
        raise ForeignEdit("another program")

    with pytest.raises(ForeignEdit):
        write(path, b"new", recheck=recheck)
    assert seen == [[".file.nodecraft-kubeadm", "file"]]
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_symbolic_link_is_kept(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "directory" / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("directory/target")
    write(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "directory" / "target").read_bytes() == b"new"


def test_a_file_that_is_gone_may_be_removed_again(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    remove(str(path))
    remove(str(path))
    assert not path.exists()


def test_json_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    write_json(str(path), {"b": "ü", "a": None})
    assert path.stat().st_mode & 0o7777 == 0o600
    assert read_json(str(path)) == {"a": None, "b": "ü"}
    assert read_json(str(tmp_path / "none.json")) is None


@pytest.mark.parametrize("text", ["[]", b'"x"', "null", "{"])
def test_what_is_no_object_of_json_is_no_answer(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"no object|Expecting"):
        json_object(text)
    assert json_object(b'{"a": 1}') == {"a": 1}


# ---- errors name what was asked for ----------------------------------------------------------------------------------


def test_an_error_names_the_file_and_not_the_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.mkdir()
    (path / "x").touch()
    with pytest.raises(OSError, match=r"policy\.yaml") as error:
        write_atomically(str(path), b"x", mode=0o600, uid=os.getuid(), gid=os.getgid())
    assert (error.value.filename, error.value.filename2) == (str(path), None)
    assert "nodecraft" not in str(error.value)


def test_an_error_without_a_name_gets_one() -> None:
    with pytest.raises(OSError, match=r"No space left on device: '/etc/a'") as error, named("/etc/a"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert error.value.errno == errno.ENOSPC


@pytest.mark.parametrize("action", [read_bytes, remove])
def test_what_cannot_be_read_or_removed_is_named(tmp_path: Path, action: t.Callable[[str], t.Any]) -> None:
    with pytest.raises(IsADirectoryError) as error:
        action(str(tmp_path))
    assert error.value.filename == str(tmp_path)

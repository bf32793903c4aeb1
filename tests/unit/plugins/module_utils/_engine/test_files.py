# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files are replaced whole, and errors name them."""

from __future__ import annotations

import errno
import os
import stat
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.credentials import read_pem
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import etcd_member, files, kubeconfig, tls
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.engine_errors import (
    CredentialError,
    ForeignEdit,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import (
    json_object,
    make_directory,
    naming_path,
    read_bytes,
    read_json,
    remove,
    safe_path,
    write_atomically,
    write_json,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.owners import OTHER, Owners


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


def test_the_last_check_before_the_rename_can_stop_it(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("name", ["pipe", "link"])
def test_only_a_regular_file_is_replaced(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")  # stands for /dev/null, to which a masked drop-in leads
    (tmp_path / "link").symlink_to("pipe")
    with pytest.raises(OSError, match=r"pipe(, which)? is no regular file: nothing is written there"):
        write(tmp_path / name, b"new")
    assert stat.S_ISFIFO((tmp_path / "pipe").lstat().st_mode)
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]


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
def test_what_is_no_object_of_json_is_no_response(text: str | bytes) -> None:
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
    with pytest.raises(OSError, match=r"No space left on device: '/etc/a'") as error, naming_path("/etc/a"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert error.value.errno == errno.ENOSPC


@pytest.mark.parametrize("action", [read_bytes, remove])
def test_what_cannot_be_read_or_removed_is_named(tmp_path: Path, action: t.Callable[[str], t.Any]) -> None:
    with pytest.raises(IsADirectoryError) as error:
        action(str(tmp_path))
    assert error.value.filename == str(tmp_path)


# ---- links of others -----------------------------------------------------------------------------------------------------


@pytest.fixture(name="owners")
def fixture_owners(monkeypatch: pytest.MonkeyPatch) -> Owners:
    return Owners(monkeypatch)


@pytest.fixture(name="foreign")
def fixture_foreign(tmp_path: Path, owners: Owners) -> Path:
    """A directory of another user."""
    directory = tmp_path / "foreign"
    directory.mkdir()
    owners.give(directory)
    return directory


def test_a_planted_link_is_neither_written_nor_read(tmp_path: Path, foreign: Path, owners: Owners) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"untouched")
    target.chmod(0o644)
    link = foreign / "file"
    link.symlink_to(target)
    owners.give(link)
    with pytest.raises(PermissionError, match=r"foreign belongs to \w+ \(uid 65534\), who can replace what is in it"):
        write(link, b"new")
    with pytest.raises(PermissionError, match="is a link there, which is not followed"):
        read_bytes(str(link))
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"untouched", 0o644)


@pytest.mark.parametrize(
    "read",
    [
        lambda path: tls.read_pair(path, path),
        lambda path: etcd_member.tls_context_of({"url": "https://127.0.0.1:2379", "authority": path}),
        kubeconfig.load_config,
        read_pem,
    ],
)
def test_no_credential_is_read_through_a_planted_link(
    tmp_path: Path, foreign: Path, owners: Owners, read: t.Callable[[str], t.Any]
) -> None:
    (tmp_path / "secret").write_bytes(b"apiVersion: v1")
    (foreign / "ca.crt").symlink_to(tmp_path / "secret")
    owners.give(foreign / "ca.crt")
    with pytest.raises((PermissionError, CredentialError), match="which is not followed"):
        read(str(foreign / "ca.crt"))


def test_nothing_is_removed_or_made_in_a_directory_of_others(foreign: Path) -> None:
    (foreign / "file").write_bytes(b"kept")
    with pytest.raises(PermissionError, match="nothing is written or removed there"):
        remove(str(foreign / "file"))
    with pytest.raises(PermissionError, match="belongs to"):
        make_directory(str(foreign / "below" / "deeper"))
    assert os.listdir(foreign) == ["file"]


def test_owner_of_the_directory_of_kubernetes_is_as_good_as_root(
    foreign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_KUBERNETES", str(foreign))
    write(foreign / "manifests.yaml", b"new")
    assert read_bytes(str(foreign / "manifests.yaml")) == b"new"


def test_a_plain_file_in_a_directory_of_others_is_read(foreign: Path) -> None:
    (foreign / "file").write_bytes(b"theirs")
    assert read_bytes(str(foreign / "file")) == b"theirs"
    assert read_bytes(str(foreign / "other")) is None


def test_a_planted_directory_is_not_followed(tmp_path: Path, foreign: Path, owners: Owners) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "file").write_bytes(b"secret")
    (foreign / "below").symlink_to(tmp_path / "ours")
    owners.give(foreign / "below")
    with pytest.raises(PermissionError, match="which is not followed"):
        read_bytes(str(foreign / "below" / "file"))


@pytest.mark.parametrize(
    ("mode", "group", "words"),
    [(0o777, 0, "everybody can replace"), (0o775, OTHER, "can replace what is in"), (0o775, 0, "")],
)
def test_who_may_write_to_a_directory_can_replace_its_files(
    foreign: Path, owners: Owners, mode: int, group: int, words: str
) -> None:
    owners.give(foreign, 0, group)
    foreign.chmod(mode)
    if words:
        with pytest.raises(PermissionError, match=words):
            write(foreign / "file", b"new")
    else:
        write(foreign / "file", b"new")
        assert (foreign / "file").read_bytes() == b"new"


def test_in_a_sticky_directory_the_owner_counts(tmp_path: Path, foreign: Path, owners: Owners) -> None:
    owners.give(foreign, 0, 0)
    foreign.chmod(0o1777)
    target = tmp_path / "target"
    target.write_bytes(b"untouched")
    for name, owner in (("ours", 0), ("theirs", OTHER)):
        (foreign / name).symlink_to(target)
        owners.give(foreign / name, owner, owner)
    with pytest.raises(PermissionError, match=r"theirs belongs to \w+ \(uid 65534\), who can replace it"):
        write(foreign / "theirs", b"new")
    with pytest.raises(PermissionError, match="which is not followed"):
        read_bytes(str(foreign / "theirs"))
    write(foreign / "ours", b"new")
    assert target.read_bytes() == b"new"
    assert safe_path(str(foreign / "ours")) == str(target)


def test_links_of_root_are_followed_and_none_without_end(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "loop").symlink_to("loop")
    write(tmp_path / "link" / ".." / "link" / "file", b"new")
    assert read_bytes(str(tmp_path / "link" / "file")) == b"new"
    assert safe_path(str(tmp_path / "link" / "missing" / "file")) == str(tmp_path / "real" / "missing" / "file")
    with pytest.raises(OSError, match="Too many levels"):
        read_bytes(str(tmp_path / "loop"))


def test_the_root_of_a_process_is_its_own(tmp_path: Path) -> None:
    """The kernel's link leads where its text does not."""
    (tmp_path / "file").write_bytes(b"here")
    assert read_bytes(f"/proc/{os.getpid()}/root{tmp_path}/file") == b"here"
    assert read_bytes(f"/proc/{os.getpid()}/cwd/missing") is None


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_bytes(str(tmp_path / "pipe")) == b""


def test_a_new_directory_has_its_mode_whatever_the_umask(tmp_path: Path) -> None:
    former = os.umask(0o077)
    try:
        make_directory(str(tmp_path / "a" / "b"), 0o755)
        make_directory(str(tmp_path / "ours"))
    finally:
        os.umask(former)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "ours")] == [0o755, 0o755, 0o700]

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A snapshot is whole, or there is none."""

from __future__ import annotations

import hashlib
import json
import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.etcd import etcd_snapshot
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.etcd.etcd_client import Access
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import disk_space, state
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import Authority, Pair
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_etcd import FakeEtcd


@pytest.fixture(name="access")
def fixture_access(
    tmp_path: Path, member: FakeEtcd, authority: Authority, server: Pair, monkeypatch: pytest.MonkeyPatch
) -> Access:
    """The access to the member. Snapshots are saved in a directory of the test."""
    monkeypatch.setattr(state, "STATE_DIR", str(tmp_path / "state"))
    paths = []
    for name, content in (("crt", server.certificate), ("key", server.key), ("ca", authority.certificate)):
        (tmp_path / name).write_bytes(content)
        paths.append(str(tmp_path / name))
    return Access(member.url, *paths)


def test_a_snapshot_is_saved_whole_and_for_root_only(access: Access, member: FakeEtcd) -> None:
    path = Path(etcd_snapshot.save(access))
    assert path.parent == Path(etcd_snapshot.snapshot_directory())
    assert path.read_bytes() == member.snapshot + hashlib.sha256(member.snapshot).digest()
    assert path.stat().st_mode & 0o7777 == 0o600
    assert path.parent.stat().st_mode & 0o7777 == 0o700
    other = etcd_snapshot.save(access)
    assert sorted(os.listdir(path.parent)) == sorted([path.name, os.path.basename(other)])


# What a member sends for ever that cannot read its file.
ENDLESS = json.dumps({"result": {"remaining_bytes": "98304", "blob": ""}}).encode() + b"\n"


def other_byte(lines: list[bytes]) -> list[bytes]:
    """One letter of what is sent is another one."""
    return [lines[0].replace(b"ZGF0", b"ZGF1", 1), *lines[1:]]


@pytest.mark.parametrize(
    ("corrupt", "words"),
    [
        (lambda lines: lines[:-1], "and their digest, and sent 131072"),
        (lambda lines: lines[1:], "digest"),
        (lambda lines: lines[:2], "sent 65536"),
        (lambda lines: lines[:1] + lines, "sent"),
        (lambda lines: [lines[0], *[ENDLESS] * 1000], "cannot read its own database to the end"),
        (other_byte, "is not that of its content"),
        (lambda lines: lines[:2] + [json.dumps({"error": {"message": "no"}}).encode() + b"\n"], "ended with"),
        (lambda lines: [b"{"], "could not be saved"),
        (lambda lines: [], "announced 0 bytes"),
    ],
)
def test_what_is_not_whole_is_refused_and_leaves_nothing(
    access: Access, member: FakeEtcd, corrupt: t.Callable[[list[bytes]], list[bytes]], words: str
) -> None:
    member.corrupt = corrupt
    with pytest.raises(KubeadmError, match=words):
        etcd_snapshot.save(access)
    assert os.listdir(etcd_snapshot.snapshot_directory()) == []


def test_what_is_no_database_is_refused(access: Access, member: FakeEtcd) -> None:
    member.snapshot = b"short"
    with pytest.raises(KubeadmError, match="is not a database of 5"):
        etcd_snapshot.save(access)


def test_a_snapshot_for_which_there_is_no_space_is_refused(access: Access, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_space, "space_at", lambda directory: disk_space.Space(1024, 4096, None))
    with pytest.raises(KubeadmError, match=r"has 1024 bytes free, and the database has 131072\. Make space"):
        etcd_snapshot.save(access)
    assert os.listdir(etcd_snapshot.snapshot_directory()) == []


def test_a_member_that_does_not_respond_is_named(access: Access, member: FakeEtcd) -> None:
    member.close()
    with pytest.raises(KubeadmError, match=r"could not be saved: .*refused"):
        etcd_snapshot.save(access)

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who holds a lock, by the real kernel and about this very process."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import LOCK
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import engine_service, lock_holder
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction.state import state_directory
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Busy
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, FakeNode


def test_the_holder_of_a_lock_is_named(master: FakeNode) -> None:
    message = r"another run prepares a change of .*: process \d+, running since 20\d\d-\d\d-\d\dT.*Z, started from \S+"
    with (
        engine_service.hold_lock(NAME, dry=False),
        pytest.raises(Busy, match=message),
        engine_service.hold_lock(NAME, dry=True),
    ):
        pass


def test_what_cannot_be_read_of_a_holder_is_skipped(master: FakeNode) -> None:
    path = f"{state_directory(NAME)}/{LOCK}"
    assert lock_holder.describe_holder(path) == ""  # there is no such file
    with engine_service.hold_lock(NAME, dry=False):
        assert lock_holder.describe_holder(path, master.host) == ""  # /proc is not that of a kernel
        assert lock_holder.describe_holder(path) != ""
    assert lock_holder.describe_holder(path) == ""


def test_the_lock_of_another_file_with_the_same_number_is_not_meant(master: FakeNode) -> None:
    path = f"{state_directory(NAME)}/{LOCK}"
    with engine_service.hold_lock(NAME, dry=False):
        inode = master.state.joinpath(LOCK).stat().st_ino
        (master.proc / "locks").write_text(
            f"1: POSIX  ADVISORY  WRITE 60 00:16:{inode} 0 EOF\n"
            f"2: FLOCK  ADVISORY  WRITE 60 00:16:{inode} 0 EOF\n"
            f"2: -> FLOCK  ADVISORY  WRITE 61 00:16:{inode} 0 EOF\n",
            encoding="ascii",
        )
        for pid in (60, 61):
            directory = master.proc / str(pid) / "fd"
            directory.mkdir(parents=True)
            (directory / "3").symlink_to(master.manifest)
            (directory / "4").symlink_to("gone")
        assert lock_holder.describe_holder(path, master.host) == ""


@pytest.mark.parametrize(
    ("environment", "origin"),
    [
        ({"SSH_CLIENT": "10.0.0.9 4711 22", "SUDO_USER": "ann"}, "10.0.0.9"),
        ({"SUDO_USER": "ann"}, "ann"),
        ({}, "this host"),
    ],
)
def test_from_where_something_was_requested(environment: dict[str, str], origin: str) -> None:
    assert lock_holder.requester_of(environment) == origin

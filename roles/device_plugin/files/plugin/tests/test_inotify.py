# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Watched directories, also those that do not exist yet."""

from __future__ import annotations

import asyncio
import typing as t
from pathlib import Path

from nodecraft_device_plugin import inotify
from running_plugin import run


async def reports(event: asyncio.Event, change: t.Callable[[], object]) -> bool:
    """Whether a change is reported within a moment."""
    event.clear()
    change()
    try:
        await asyncio.wait_for(event.wait(), 0.5)
    except TimeoutError:
        return False
    return True


def test_changed_entries_are_reported(tmp_path: Path) -> None:
    async def test() -> None:
        event = asyncio.Event()
        watcher = inotify.Watcher(event.set)
        watcher.watch([tmp_path])
        assert await reports(event, (tmp_path / "a").touch)
        assert await reports(event, lambda: (tmp_path / "a").rename(tmp_path / "b"))
        # A write to a device is not a change of its directory.
        assert not await reports(event, lambda: (tmp_path / "b").write_text("x", encoding="utf-8"))
        assert await reports(event, (tmp_path / "b").unlink)
        watcher.close()

    run(test())


def test_the_parent_of_a_missing_directory_is_watched(tmp_path: Path) -> None:
    directory = tmp_path / "serial" / "by-id"

    async def test() -> None:
        event = asyncio.Event()
        watcher = inotify.Watcher(event.set)
        watcher.watch([directory])
        assert await reports(event, lambda: directory.mkdir(parents=True))
        watcher.watch([directory])
        assert await reports(event, (directory / "a").touch)
        # The end of a watch is reported as well.
        assert await reports(event, lambda: watcher.watch([]))
        assert not await reports(event, (directory / "b").touch)
        watcher.close()

    run(test())


def test_a_recreated_directory_is_watched_again(tmp_path: Path) -> None:
    directory = tmp_path / "x"
    directory.mkdir()

    async def test() -> None:
        event = asyncio.Event()
        watcher = inotify.Watcher(event.set)
        watcher.watch([directory])
        assert await reports(event, directory.rmdir)
        directory.mkdir()
        watcher.watch([directory])
        assert await reports(event, (directory / "a").touch)
        watcher.close()

    run(test())

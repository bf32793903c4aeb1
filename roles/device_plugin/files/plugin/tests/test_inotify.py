# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders that are watched, also those that are not there yet."""

from __future__ import annotations

import asyncio
import typing as t
from pathlib import Path

from nodecraft_device_plugin import inotify
from plugin_at_work import run


async def tells(event: asyncio.Event, change: t.Callable[[], object]) -> bool:
    """Whether a change is told of; what is not told of is waited for a moment only."""
    event.clear()
    change()
    try:
        await asyncio.wait_for(event.wait(), 0.5)
    except TimeoutError:
        return False
    return True


def test_entries_that_come_and_go_are_told_of(tmp_path: Path) -> None:
    async def test() -> None:
        event = asyncio.Event()
        watcher = inotify.Watcher(event.set)
        watcher.watch([tmp_path])
        assert await tells(event, (tmp_path / "a").touch)
        assert await tells(event, lambda: (tmp_path / "a").rename(tmp_path / "b"))
        # Whoever writes to a device does not change it.
        assert not await tells(event, lambda: (tmp_path / "b").write_text("x", encoding="utf-8"))
        assert await tells(event, (tmp_path / "b").unlink)
        watcher.close()

    run(test())


def test_a_folder_is_waited_for_above_it(tmp_path: Path) -> None:
    folder = tmp_path / "serial" / "by-id"

    async def test() -> None:
        event = asyncio.Event()
        watcher = inotify.Watcher(event.set)
        watcher.watch([folder])
        assert await tells(event, lambda: folder.mkdir(parents=True))
        watcher.watch([folder])
        assert await tells(event, (folder / "a").touch)
        # That a watch has ended is told of, too.
        assert await tells(event, lambda: watcher.watch([]))
        assert not await tells(event, (folder / "b").touch)
        watcher.close()

    run(test())


def test_a_folder_made_anew_is_watched_anew(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    folder.mkdir()

    async def test() -> None:
        event = asyncio.Event()
        watcher = inotify.Watcher(event.set)
        watcher.watch([folder])
        assert await tells(event, folder.rmdir)
        folder.mkdir()
        watcher.watch([folder])
        assert await tells(event, (folder / "a").touch)
        watcher.close()

    run(test())

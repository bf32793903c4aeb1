# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Work on many nodes at once."""

from __future__ import annotations

import threading
import typing as t
from concurrent.futures import ThreadPoolExecutor

Item = t.TypeVar("Item")


def for_each(
    items: t.Sequence[Item], work: t.Callable[[Item], bool], *, workers: int, stop_at_failure: bool = False
) -> None:
    """Do the work on every item, several at a time.

    work: returns whether it succeeded; what it raises is raised here. stop_at_failure: start no more items after either.
    """
    stopped = threading.Event()

    def run_unless_stopped(item: Item) -> None:
        if stopped.is_set():
            return
        succeeded = False
        try:
            succeeded = work(item)
        finally:
            if stop_at_failure and not succeeded:
                stopped.set()

    if items:
        with ThreadPoolExecutor(min(workers, len(items))) as pool:
            list(pool.map(run_unless_stopped, items))

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is printed while something takes long."""

from __future__ import annotations

import threading
import time
import typing as t

from ansible_collections.nodecraft.kubeadm.tests.sessions.console import say

FIRST = 5  # seconds until the first line
EVERY = 15  # seconds between the lines after it


class Waiting:
    """Prints what is waited for, as soon as that takes five seconds, and then every fifteen. state: how far it is.

    with Waiting("the lab starts", 60) as waiting:
        ...
        waiting.turn_to("the pods of the system become ready", 10)
        ...
    """

    def __init__(
        self,
        what: str,
        usually: float | None = None,
        *,
        tell: t.Callable[[str], None] = say,
        state: t.Callable[[], str] = str,
        clock: t.Callable[[], float] = time.monotonic,
    ) -> None:
        self._tell = tell
        self._state = state
        self._clock = clock
        self._guard = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.turn_to(what, usually)

    def turn_to(self, what: str, usually: float | None = None) -> None:
        """Something else is waited for: the seconds count from here. The same as before changes nothing."""
        with self._guard:
            if getattr(self, "_what", None) == what:
                return
            self._what, self._usually = what, usually
            self._began = self._clock()
            self._next = self._began + FIRST

    def tell_due(self) -> None:
        """Print the line that is due, if there is one."""
        with self._guard:
            now = self._clock()
            if now < self._next:
                return
            first, self._next = self._next == self._began + FIRST, now + EVERY
            usually = "" if self._usually is None else f" (usually {self._usually:.0f} s)"
            if first:
                line = f"   waiting: {self._what}{usually}"
            else:
                told = ", ".join(filter(None, (self._what, self._state(), f"{now - self._began:.0f} s")))
                line = f"   still waiting: {told}{usually}"
        self._tell(line)

    def _watch(self) -> None:
        while not self._over.wait(1):
            self.tell_due()

    def __enter__(self) -> Waiting:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._thread.join()

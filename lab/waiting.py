# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is printed while something takes long."""

from __future__ import annotations

import math
import os
import threading
import time
import typing as t

from ansible_collections.nodecraft.kubeadm.tests.sessions.console import echo

FIRST = 5  # seconds until the first line
EVERY = int(os.environ.get("SECONDS_BETWEEN_LINES", "15"))  # after it; make sets a minute where no terminal shows them


def minutes_left(seconds: float) -> str:
    """How long something still takes, for a person."""
    if seconds <= 0:
        return "longer than usual"
    return f"about {math.ceil(seconds / 60)} min left"


class Remaining:
    """How long the steps of a program still take. steps: the seconds that each usually takes on two idle cores, in their order.

    What is still to come is taken for as slow as what was.
    """

    def __init__(self, steps: t.Mapping[str, float], clock: t.Callable[[], float] = time.monotonic) -> None:
        self.steps = dict(steps)
        self._clock = clock
        self._ended: dict[str, float] = {}
        self._step, self._began = "", clock()

    def turn_to(self, step: str) -> None:
        """The step before has ended, and this one begins."""
        now = self._clock()
        if self._step:
            self._ended[self._step] = now - self._began
        self._step, self._began = step, now

    @property
    def seconds_after(self) -> float:
        """What the steps after this one usually take."""
        return sum(usual for step, usual in self.steps.items() if step not in self._ended and step != self._step)

    @property
    def seconds(self) -> float:
        """What this step and those after it will take."""
        usual = sum(self.steps[step] for step in self._ended)
        pace = sum(self._ended.values()) / usual if usual else 1.0
        step = pace * self.steps.get(self._step, 0) - (self._clock() - self._began)
        return max(step, 0) + pace * self.seconds_after


class Waiting:
    """Prints what is waited for, as soon as that takes five seconds, and then again and again. state: how far it is; left: how long it takes.

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
        print_line: t.Callable[[str], None] = echo,
        state: t.Callable[[], str] = str,
        left: t.Callable[[], str] = str,
        clock: t.Callable[[], float] = time.monotonic,
    ) -> None:
        self._print_line = print_line
        self._state = state
        self._left = left
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

    def print_due(self) -> None:
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
                details = ", ".join(filter(None, (self._what, self._state(), f"{now - self._began:.0f} s")))
                line = f"   still waiting: {details}{usually}"
        self._print_line("; ".join(filter(None, (line, self._left()))))

    def _watch(self) -> None:
        while not self._over.wait(1):
            self.print_due()

    def __enter__(self) -> Waiting:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._thread.join()

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the host of this machine gives it the time of its processors.

A cloud's machine can be left without for minutes. What does not come up within a timeout then proves nothing about the change,
so a test that fails meanwhile is tried again: nox has pytest repeat what ends with Starved, and count it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
import typing as t
from pathlib import Path

# The part of the time that was needed and not given, above which nothing can be learnt. A machine that is merely busy
# loses a twentieth.
MAX_STOLEN = 0.25
POLL_INTERVAL = 3.0
ATTEMPTS = 200


class Starved(Exception):
    """Something failed while the host took the processors away."""


@dataclasses.dataclass(frozen=True)
class Times:
    """What the kernel counts, over all processors since the boot, in its ticks. stolen: needed, and given to other machines."""

    used: int
    stolen: int

    @classmethod
    def now(cls) -> Times:
        """As they are."""
        return cls.parse(Path("/proc/stat").read_text(encoding="ascii"))

    @classmethod
    def parse(cls, text: str) -> Times:
        """From /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal."""
        fields = [int(field) for field in text.splitlines()[0].split()[1:9]]
        return cls(used=sum(fields[:3]) + sum(fields[5:7]), stolen=fields[7])

    def stolen_share(self, later: Times) -> float:
        """The part of what was needed between the two that the host gave to others."""
        used, stolen = later.used - self.used, later.stolen - self.stolen
        return stolen / (used + stolen) if used + stolen else 0.0


def share_now() -> float:
    """The part that the host takes at present. A cluster always needs some, so this needs no load of its own."""
    began = Times.now()
    time.sleep(POLL_INTERVAL)
    return began.stolen_share(Times.now())


def wait_for_processors(share: t.Callable[[], float] = share_now) -> None:
    """Wait, some minutes at the most, until the host gives this machine its processors."""
    for dummy in range(ATTEMPTS):
        if share() <= MAX_STOLEN:
            return


@contextlib.contextmanager
def detect_starvation(now: t.Callable[[], Times] = Times.now) -> t.Iterator[None]:
    """Make what fails meanwhile a Starved when the host took too much."""
    began = now()
    try:
        yield
    except Exception as exc:
        share = began.stolen_share(now())
        if share <= MAX_STOLEN:
            raise
        raise Starved(f"the host took {share:.0%} of this machine's processors meanwhile: {exc}") from exc

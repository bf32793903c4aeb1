# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a transaction asks of one kind of component."""

from __future__ import annotations

import typing as t

from .files import POLL_SECONDS, Json
from .journal import CONFIRMING, PREPARED, VERIFYING, WAITING, Former, Mark, Side
from .node import Process

# One failed answer of a busy node does not mean that something is wrong.
HICCUP_SECONDS = 10.0
# Which side of the journal's watch is looked for in which phase.
WANTED: dict[str, Side] = {PREPARED: "before", WAITING: "after", CONFIRMING: "after", VERIFYING: "before"}

Value = t.TypeVar("Value")


def retry_until(
    is_enough: t.Callable[[Value], bool],
    read: t.Callable[[], Value],
    clock: t.Callable[[], float],
    sleep: t.Callable[[float], None],
    *,
    seconds: float = HICCUP_SECONDS,
) -> Value:
    """The first value that is enough, or the last one within the seconds."""
    limit = clock() + seconds
    while True:
        value = read()
        if is_enough(value) or clock() >= limit:
            return value
        sleep(POLL_SECONDS)


class Observation(t.Protocol):
    """One look at a component, of whatever kind.

    process: the wanted one; None while there is none. probes_ok, probes: whether its probes pass, and what each said. is_probed: whether that is known.
    crashes: how often the wanted instance ended by itself.
    """

    @property
    def process(self) -> Process | None:
        """The process that is wanted, when it is there."""

    @property
    def probes_ok(self) -> bool:
        """Whether all probes pass."""

    @property
    def is_probed(self) -> bool:
        """Whether a probe could be made."""

    @property
    def probes(self) -> tuple[str, ...]:
        """What the probes said."""

    @property
    def crashes(self) -> int:
        """How often it ended since the change took effect."""

    @property
    def healthy(self) -> bool:
        """Whether all is well."""

    @property
    def hopeless(self) -> str:
        """Why to wait any longer would do harm; empty when it would not."""

    @property
    def logs(self) -> tuple[str, ...]:
        """The files with its words, oldest first, where it has its own."""

    @property
    def rest(self) -> int | None:
        """What stays the same as long as nothing starts a component of which no process is left; None when that may be waited for."""

    def missing(self) -> str:
        """What is not as it should be, in words."""


class Watcher(t.Protocol):
    """What the transaction has to know of one kind of component. Everything else of it stands in the journal."""

    max_crashes: int

    def what_runs(self) -> Former:
        """What is remembered of the former instance, to tell the new one from it. Raises EngineError where that cannot be told."""

    def observe(self) -> Observation:
        """Look once for the instance that the journal's phase wants."""

    def has_seen_change(self) -> bool:
        """Whether the component may have seen the new files, so that a restore has to be verified on it."""

    def mark(self) -> Mark | None:
        """What tells later whether the files were made to take effect; None when that needs no help."""

    def switch(self) -> None:
        """Make the files take effect, unless that happened since the mark. Raises EngineError."""

    def blocker(self) -> str:
        """Why nothing starts or stops the component, in words; empty when nothing is known of that."""

    def trigger(self) -> None:
        """Have what starts the component look at it again."""

    def verify(self) -> str | None:
        """What is wrong with an instance that is healthy; None when nothing is."""

    def unverified(self) -> list[str]:
        """What is not known of an instance that counts as healthy, each with the reason."""

    def log(self, observation: Observation) -> list[str]:
        """The component's last words."""

    def proof(self, observation: Observation) -> Json | None:
        """What was seen of it, for the result."""

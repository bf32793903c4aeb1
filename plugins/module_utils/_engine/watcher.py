# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The interface between a transaction and one kind of component, a static pod or a systemd unit."""

from __future__ import annotations

import typing as t

from .files import POLL_SECONDS, Json
from .journal import CONFIRMING, OBSERVING, PREPARED, VERIFYING, WAITING, PreviousState, RestartMarker, Side
from .node import Process

# One failed request on a busy node does not mean that something is wrong.
TRANSIENT_TIMEOUT = 10.0
# Which side of the journal's watch is expected to run in which phase.
SIDE_BY_PHASE: dict[str, Side] = {
    PREPARED: "before",
    WAITING: "after",
    CONFIRMING: "after",
    OBSERVING: "after",
    VERIFYING: "before",
}

Value = t.TypeVar("Value")


def retry_until(
    is_enough: t.Callable[[Value], bool],
    read: t.Callable[[], Value],
    clock: t.Callable[[], float],
    sleep: t.Callable[[float], None],
    *,
    seconds: float = TRANSIENT_TIMEOUT,
) -> Value:
    """The first value that is enough, or the last one within the seconds."""
    limit = clock() + seconds
    while True:
        value = read()
        if is_enough(value) or clock() >= limit:
            return value
        sleep(POLL_SECONDS)


class Observation(t.Protocol):
    """One observation of a component, of whatever kind."""

    @property
    def process(self) -> Process | None:
        """The expected process, when it runs."""

    @property
    def probes_ok(self) -> bool:
        """Whether all probes pass."""

    @property
    def is_probed(self) -> bool:
        """Whether a probe could be made."""

    @property
    def probes(self) -> tuple[str, ...]:
        """The result of each probe, as text."""

    @property
    def crashes(self) -> int:
        """How often the expected instance ended by itself."""

    @property
    def healthy(self) -> bool:
        """Whether all is well."""

    @property
    def unrecoverable(self) -> str:
        """Why to wait any longer would do harm; empty when it would not."""

    @property
    def logs(self) -> tuple[str, ...]:
        """Its log files, oldest first, where it has its own."""

    @property
    def idle_fingerprint(self) -> int | None:
        """Equal as long as nothing starts a component that has no process; None while one runs."""

    def missing(self) -> str:
        """What is not as it should be."""


class PlainStop:
    """Of a component with nothing to hand over, and no file that waits for its end."""

    def prepare_stop(self) -> None:
        """Nothing is done."""

    def has_ended(self) -> bool:
        """It is not waited for."""
        return True


class Watcher(t.Protocol):
    """One kind of component. All else of it is in the journal."""

    max_crashes: int

    @property
    def ends_without_api(self) -> bool:
        """Whether the component ends by itself when its API server is away, which is no crash."""

    def read_previous_state(self) -> PreviousState:
        """What identifies the instance that runs before the change. Raises EngineError where that is not known."""

    def prepare_stop(self) -> None:
        """Do what makes the stop of the instance that runs cost less. It may fail."""

    def observe(self) -> Observation:
        """Observe once the instance that is expected in the journal's phase."""

    def has_seen_change(self) -> bool:
        """Whether the component may have seen the new files, so that a restore has to be verified on it."""

    def has_ended(self) -> bool:
        """Whether the instance from before the change has no process any more."""

    def read_restart_marker(self) -> RestartMarker | None:
        """What shows later whether the files took effect; None when that needs no restart."""

    def activate_files(self) -> None:
        """Make the files take effect, unless that happened since the marker was read. Raises EngineError."""

    def find_blocker(self) -> str:
        """Why nothing starts or stops the component; empty when that is not known."""

    def retrigger(self) -> None:
        """Have what starts the component check it again."""

    def verify(self) -> str | None:
        """What is wrong with an instance that is healthy; None when nothing is."""

    def unverified(self) -> list[str]:
        """What is not known of an instance that counts as healthy, each with the reason."""

    def read_log(self, observation: Observation) -> list[str]:
        """The last lines of the component's log."""

    def proof(self, observation: Observation) -> Json | None:
        """What was observed of it, for the result."""

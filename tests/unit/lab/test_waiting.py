# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What demo, bench and the lab print while something takes long."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.lab.waiting import Waiting


class Clock:
    """A time that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def printed(waiting: Waiting, clock: Clock, lines: list[str], seconds: int) -> dict[int, str]:
    """What is printed in each of the next seconds."""
    found = {}
    for second in range(1, seconds + 1):
        clock.now += 1
        waiting.tell_due()
        if lines:
            found[second] = lines.pop()
    return found


def test_a_line_after_five_seconds_and_then_every_fifteen() -> None:
    clock, lines = Clock(), list[str]()
    waiting = Waiting("the API server restarts", 15, tell=lines.append, clock=clock)
    assert printed(waiting, clock, lines, 36) == {
        5: "   waiting: the API server restarts (usually 15 s)",
        20: "   still waiting: the API server restarts, 20 s (usually 15 s)",
        35: "   still waiting: the API server restarts, 35 s (usually 15 s)",
    }


def test_how_far_it_is() -> None:
    clock, lines = Clock(), list[str]()
    waiting = Waiting("the build", tell=lines.append, clock=clock, state=lambda: "7 of up to 9 packages compiled")
    assert printed(waiting, clock, lines, 20) == {
        5: "   waiting: the build",
        20: "   still waiting: the build, 7 of up to 9 packages compiled, 20 s",
    }


def test_the_seconds_count_again_for_another_thing() -> None:
    clock, lines = Clock(), list[str]()
    waiting = Waiting("one", tell=lines.append, clock=clock)
    assert printed(waiting, clock, lines, 4) == {}
    waiting.turn_to("one")
    assert printed(waiting, clock, lines, 4) == {1: "   waiting: one"}
    waiting.turn_to("two", 8)
    assert printed(waiting, clock, lines, 6) == {5: "   waiting: two (usually 8 s)"}


def test_what_is_quick_is_silent_and_its_thread_ends() -> None:
    lines: list[str] = []
    with Waiting("quick", tell=lines.append) as waiting:
        pass
    assert lines == []
    assert not waiting._thread.is_alive()

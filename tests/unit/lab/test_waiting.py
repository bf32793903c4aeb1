# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What demo, bench and the lab print while something takes long."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.lab import waiting
from ansible_collections.nodecraft.kubeadm.lab.waiting import Remaining, Waiting, minutes_left


@pytest.fixture(autouse=True)
def as_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "EVERY", 15)


class Clock:
    """A time that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def printed(waited: Waiting, clock: Clock, lines: list[str], seconds: int) -> dict[int, str]:
    """What is printed in each of the next seconds."""
    found = {}
    for second in range(1, seconds + 1):
        clock.now += 1
        waited.print_due()
        if lines:
            found[second] = lines.pop()
    return found


def test_a_line_after_five_seconds_and_then_every_fifteen() -> None:
    clock, lines = Clock(), list[str]()
    waited = Waiting("the API server restarts", 15, print_line=lines.append, clock=clock)
    assert printed(waited, clock, lines, 36) == {
        5: "   waiting: the API server restarts (usually 15 s)",
        20: "   still waiting: the API server restarts, 20 s (usually 15 s)",
        35: "   still waiting: the API server restarts, 35 s (usually 15 s)",
    }


def test_how_far_it_is() -> None:
    clock, lines = Clock(), list[str]()
    waited = Waiting("the build", print_line=lines.append, clock=clock, state=lambda: "7 of up to 9 packages compiled")
    assert printed(waited, clock, lines, 20) == {
        5: "   waiting: the build",
        20: "   still waiting: the build, 7 of up to 9 packages compiled, 20 s",
    }


def test_the_seconds_count_again_for_another_thing() -> None:
    clock, lines = Clock(), list[str]()
    waited = Waiting("one", print_line=lines.append, clock=clock)
    assert printed(waited, clock, lines, 4) == {}
    waited.turn_to("one")
    assert printed(waited, clock, lines, 4) == {1: "   waiting: one"}
    waited.turn_to("two", 8)
    assert printed(waited, clock, lines, 6) == {5: "   waiting: two (usually 8 s)"}


def test_what_is_quick_is_silent_and_its_thread_ends() -> None:
    lines: list[str] = []
    with Waiting("quick", print_line=lines.append) as waiting:
        pass
    assert lines == []
    assert not waiting._thread.is_alive()


def test_minutes_left_follow_each_line() -> None:
    clock, lines = Clock(), list[str]()
    waited = Waiting("the build", print_line=lines.append, clock=clock, left=lambda: minutes_left(90))
    assert printed(waited, clock, lines, 20) == {
        5: "   waiting: the build; about 2 min left",
        20: "   still waiting: the build, 20 s; about 2 min left",
    }


@pytest.mark.parametrize(
    ("seconds", "text"), [(1, "about 1 min left"), (61, "about 2 min left"), (0, "longer than usual")]
)
def test_minutes_left_are_rounded_up(seconds: float, text: str) -> None:
    assert minutes_left(seconds) == text


def test_remaining_steps_take_their_usual_time_at_first() -> None:
    clock = Clock()
    remaining = Remaining({"one": 10, "two": 20, "three": 30}, clock)
    assert remaining.seconds_after == 60
    remaining.turn_to("one")
    clock.now += 4
    assert (remaining.seconds, remaining.seconds_after) == (56, 50)


def test_remaining_steps_are_as_slow_as_those_before() -> None:
    clock = Clock()
    remaining = Remaining({"one": 10, "two": 20, "three": 30}, clock)
    remaining.turn_to("one")
    clock.now += 30
    remaining.turn_to("two")
    assert remaining.seconds == 3 * (20 + 30)
    clock.now += 100  # longer than this one should take
    assert remaining.seconds == 3 * 30

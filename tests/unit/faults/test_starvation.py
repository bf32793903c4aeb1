# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What fails for lack of processors is another error than what fails."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.starvation import (
    ATTEMPTS,
    Starved,
    Times,
    detect_starvation,
    wait_for_processors,
)

STAT = "cpu  100 20 30 4000 50 6 7 80 9 9\ncpu0 1 1 1 1 1 1 1 1 0 0\n"


def test_the_kernels_counts_are_read() -> None:
    assert Times.parse(STAT) == Times(used=163, stolen=80)


@pytest.mark.parametrize(
    ("later", "share"), [(Times(150, 60), 0.5), (Times(200, 10), 0.0), (Times(100, 10), 0.0), (Times(100, 60), 1.0)]
)
def test_the_share_is_of_what_was_wanted(later: Times, share: float) -> None:
    assert Times(100, 10).stolen_share(later) == share


def fail_while(used: int, stolen: int) -> None:
    counts = iter([Times(0, 0), Times(used, stolen)])
    with detect_starvation(lambda: next(counts)):
        raise AssertionError("it did not come up")


def test_what_fails_while_the_host_takes_the_processors_is_starved() -> None:
    with pytest.raises(Starved, match="took 60% of this machine's processors meanwhile: it did not come up"):
        fail_while(used=40, stolen=60)


def test_what_fails_on_a_busy_machine_fails() -> None:
    with pytest.raises(AssertionError):
        fail_while(used=90, stolen=10)


def test_nothing_begins_before_the_host_gives_time() -> None:
    shares = iter([0.9, 0.5, 0.1, 0.9])
    wait_for_processors(lambda: next(shares))
    assert list(shares) == [0.9]


def test_a_host_that_never_gives_time_is_not_waited_for_for_ever() -> None:
    reads: list[t.Any] = []

    def never() -> float:
        reads.append(None)
        return 1.0

    wait_for_processors(never)
    assert len(reads) == ATTEMPTS

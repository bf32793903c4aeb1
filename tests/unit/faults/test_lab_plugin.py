# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the fault tests of the device plugin make of what its sampler saw: each rule can be broken."""

from __future__ import annotations

import dataclasses
import json
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.plugin import (
    FAKE,
    IDS,
    UNIT,
    UNPLUGGED,
    Observation,
    Watch,
    check_observations,
    is_unaffected,
    recovery_seconds,
    socket_prefix,
)

SOCKETS = [f"{socket_prefix(name)}0123-1.sock" for name in IDS]
RIGHT = Observation(
    began=10, done=10.1, ready=200, message="ok", sockets=SOCKETS, kubelet=[7, 7], allocatable=dict(IDS)
)
DOWN = dataclasses.replace(RIGHT, ready=503, kubelet=None, allocatable=None)


@pytest.fixture(name="watch")
def fixture_watch(tmp_path: Path) -> t.Callable[..., Watch]:
    """A watch with these observations."""

    def watch(*observations: Observation) -> Watch:
        path = tmp_path / "observations.jsonl"
        path.write_text("".join(f"{json.dumps(dataclasses.asdict(seen))}\n" for seen in observations), encoding="utf-8")
        return Watch(path)

    return watch


def test_a_line_that_is_not_whole_yet_is_read_later(tmp_path: Path) -> None:
    path, line = tmp_path / "observations.jsonl", json.dumps(dataclasses.asdict(RIGHT))
    path.write_text(f"{line}\n{line[:20]}", encoding="utf-8")
    watch = Watch(path)
    assert watch.observations == [RIGHT]
    with path.open("a", encoding="utf-8") as stream:
        stream.write(f"{line[20:]}\n")
    assert watch.observations == [RIGHT, RIGHT]


def test_right_is_ready_with_exactly_these_devices() -> None:
    assert RIGHT.is_right(IDS)
    assert not DOWN.is_right(IDS)
    assert not dataclasses.replace(RIGHT, ready=503).is_right(IDS)
    assert not dataclasses.replace(RIGHT, allocatable={UNIT: IDS[UNIT]}).is_right(IDS)


def test_the_time_is_that_from_the_end_of_the_fault(watch: t.Callable[..., Watch]) -> None:
    observations = watch(dataclasses.replace(RIGHT, began=1), DOWN, dataclasses.replace(RIGHT, began=18, done=18.5))
    assert recovery_seconds(observations, 12) == 6.5
    with pytest.raises(AssertionError, match=r"after 14\.5 s"):
        recovery_seconds(observations, 4)


@pytest.mark.parametrize(
    "broken",
    [
        {"allocatable": {UNIT: [*IDS[UNIT], UNPLUGGED]}},
        {"allocatable": {FAKE: ["fake-7"]}},
        {"sockets": SOCKETS[:1]},
        {"sockets": []},
    ],
    ids=["false Healthy", "another id", "ready without a socket", "ready without any"],
)
def test_a_broken_promise_is_found(watch: t.Callable[..., Watch], broken: dict[str, t.Any]) -> None:
    check_observations(watch(RIGHT, DOWN, RIGHT))
    with pytest.raises(AssertionError):
        check_observations(watch(RIGHT, dataclasses.replace(RIGHT, **broken), RIGHT))


def test_a_resource_is_affected_when_it_was_missed_once(watch: t.Callable[..., Watch]) -> None:
    assert is_unaffected(watch(RIGHT, DOWN), FAKE)
    assert not is_unaffected(watch(RIGHT, dataclasses.replace(RIGHT, allocatable={UNIT: IDS[UNIT]})), FAKE)

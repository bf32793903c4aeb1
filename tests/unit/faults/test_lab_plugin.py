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
    Look,
    Watch,
    back,
    judge,
    stem,
    unaffected,
)

SOCKETS = [f"{stem(name)}0123-1.sock" for name in IDS]
RIGHT = Look(begun=10, done=10.1, ready=200, says="ok", sockets=SOCKETS, kubelet=[7, 7], offers=dict(IDS))
DOWN = dataclasses.replace(RIGHT, ready=503, kubelet=None, offers=None)


@pytest.fixture(name="watch")
def fixture_watch(tmp_path: Path) -> t.Callable[..., Watch]:
    """A watch that has seen these looks."""

    def watch(*looks: Look) -> Watch:
        path = tmp_path / "looks.jsonl"
        path.write_text("".join(f"{json.dumps(dataclasses.asdict(look))}\n" for look in looks), encoding="utf-8")
        return Watch(path)

    return watch


def test_a_line_that_is_not_whole_yet_is_read_later(tmp_path: Path) -> None:
    path, line = tmp_path / "looks.jsonl", json.dumps(dataclasses.asdict(RIGHT))
    path.write_text(f"{line}\n{line[:20]}", encoding="utf-8")
    watch = Watch(path)
    assert watch.looks == [RIGHT]
    with path.open("a", encoding="utf-8") as stream:
        stream.write(f"{line[20:]}\n")
    assert watch.looks == [RIGHT, RIGHT]


def test_right_is_ready_with_exactly_these_devices() -> None:
    assert RIGHT.is_right(IDS)
    assert not DOWN.is_right(IDS)
    assert not dataclasses.replace(RIGHT, ready=503).is_right(IDS)
    assert not dataclasses.replace(RIGHT, offers={UNIT: IDS[UNIT]}).is_right(IDS)


def test_the_time_is_that_from_the_end_of_the_fault(watch: t.Callable[..., Watch]) -> None:
    looks = watch(dataclasses.replace(RIGHT, begun=1), DOWN, dataclasses.replace(RIGHT, begun=18, done=18.5))
    assert back(looks, 12) == 6.5
    with pytest.raises(AssertionError, match=r"after 14\.5 s"):
        back(looks, 4)


@pytest.mark.parametrize(
    "broken",
    [
        {"offers": {UNIT: [*IDS[UNIT], UNPLUGGED]}},
        {"offers": {FAKE: ["fake-7"]}},
        {"sockets": SOCKETS[:1]},
        {"sockets": []},
    ],
    ids=["false Healthy", "another id", "ready without a socket", "ready without any"],
)
def test_a_broken_promise_is_found(watch: t.Callable[..., Watch], broken: dict[str, t.Any]) -> None:
    judge(watch(RIGHT, DOWN, RIGHT))
    with pytest.raises(AssertionError):
        judge(watch(RIGHT, dataclasses.replace(RIGHT, **broken), RIGHT))


def test_a_resource_is_affected_when_it_was_missed_once(watch: t.Callable[..., Watch]) -> None:
    assert unaffected(watch(RIGHT, DOWN), FAKE)
    assert not unaffected(watch(RIGHT, dataclasses.replace(RIGHT, offers={UNIT: IDS[UNIT]})), FAKE)

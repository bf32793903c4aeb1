# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done next, after each signal."""

from __future__ import annotations

import dataclasses

import pytest
from nodecraft_device_plugin import registration
from nodecraft_device_plugin.registration import Backoff, Seen, Step

OLD, NEW = (1, 1, 1), (1, 2, 2)
KNOWN = Seen(now=100.0, own_socket=True, kubelet=OLD, registered_with=OLD, registered_at=50.0, streams=1)


@pytest.mark.parametrize(
    ("change", "step", "reason"),
    [
        ({}, Step.REST, ""),
        ({"own_socket": False}, Step.SERVE, "socket of this resource is not there"),
        ({"kubelet": None}, Step.WAIT, "kubelet.sock is not there"),
        ({"kubelet": NEW}, Step.REGISTER, "not registered"),
        ({"registered_with": None, "streams": 0}, Step.REGISTER, "not registered"),
        ({"streams": 0}, Step.REGISTER, "not registered"),
        ({"streams": 0, "offered": True}, Step.SERVE, "not registered"),
        ({"kubelet": NEW, "offered": True}, Step.SERVE, "not registered"),
        ({"offered": True}, Step.REST, ""),
        ({"kubelet": None, "offered": True}, Step.WAIT, "kubelet.sock is not there"),
        ({"streams": 0, "registered_at": 99.0, "offered": True}, Step.WAIT, "has not opened the stream yet"),
        ({"streams": 0, "registered_at": 99.0}, Step.WAIT, "has not opened the stream yet"),
        ({"streams": 0, "successor": "/x"}, Step.WAIT, "a younger process serves this resource at /x"),
        ({"successor": "/x"}, Step.WAIT, "a younger process serves this resource at /x"),
    ],
)
def test_next_step(change: dict[str, object], step: Step, reason: str) -> None:
    taken, said = registration.next_step(dataclasses.replace(KNOWN, **change))  # type: ignore[arg-type]
    assert taken is step
    assert reason in said
    assert bool(said) == (step is not Step.REST)


def test_delays_grow_to_a_limit_and_begin_anew() -> None:
    backoff = Backoff(lambda: 1.0)
    assert [backoff.delay() for dummy in range(6)] == [0.2, 0.4, 0.8, 1.6, 3.0, 3.0]
    backoff.reset()
    assert backoff.delay() == 0.2
    assert Backoff(lambda: 0.0).delay() == 0.1


def test_sockets_of_a_resource_are_told_apart_by_process() -> None:
    mine, old, young = (registration.socket_name("example.com/x", started, 1) for started in (20, 10, 30))
    foreign = registration.socket_name("example.com/y", 10, 1)
    names = [mine, old, young, foreign, "kubelet.sock", "nodecraft.sock"]
    assert registration.others(names, "example.com/x", 20) == [old, young]
    assert [registration.is_younger(name, 20) for name in (old, young)] == [False, True]


def test_a_socket_has_a_short_name_however_long_the_resource_is_called() -> None:
    assert len(registration.socket_name("x" * 300, 1_800_000_000_000, 99)) < 48

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The next step after each signal."""

from __future__ import annotations

import dataclasses

import pytest
from nodecraft_device_plugin import registration
from nodecraft_device_plugin.registration import Backoff, Observation, Step

OLD, NEW = (1, 1, 1), (1, 2, 2)
KNOWN = Observation(now=100.0, own_socket=True, kubelet=OLD, registered_with=OLD, registered_at=50.0, streams=1)


@pytest.mark.parametrize(
    ("change", "step", "reason"),
    [
        ({}, Step.READY, ""),
        ({"own_socket": False}, Step.SERVE, "socket of this resource does not exist"),
        ({"kubelet": None}, Step.WAIT, "kubelet.sock does not exist"),
        ({"kubelet": NEW}, Step.REGISTER, "not registered"),
        ({"registered_with": None, "streams": 0}, Step.REGISTER, "not registered"),
        ({"streams": 0}, Step.REGISTER, "not registered"),
        ({"streams": 0, "announced": True}, Step.SERVE, "not registered"),
        ({"kubelet": NEW, "announced": True}, Step.SERVE, "not registered"),
        ({"announced": True}, Step.READY, ""),
        ({"kubelet": None, "announced": True}, Step.WAIT, "kubelet.sock does not exist"),
        ({"streams": 0, "registered_at": 99.0, "announced": True}, Step.WAIT, "has not opened the stream yet"),
        ({"streams": 0, "registered_at": 99.0}, Step.WAIT, "has not opened the stream yet"),
        ({"streams": 0, "successor": "/x"}, Step.WAIT, "a newer process serves this resource at /x"),
        ({"successor": "/x"}, Step.WAIT, "a newer process serves this resource at /x"),
    ],
)
def test_next_step(change: dict[str, object], step: Step, reason: str) -> None:
    next_step, explanation = registration.next_step(dataclasses.replace(KNOWN, **change))  # type: ignore[arg-type]
    assert next_step is step
    assert reason in explanation
    assert bool(explanation) == (step is not Step.READY)


def test_delays_grow_to_a_limit_and_restart() -> None:
    backoff = Backoff(lambda: 1.0)
    assert [backoff.delay() for dummy in range(6)] == [0.2, 0.4, 0.8, 1.6, 3.0, 3.0]
    backoff.reset()
    assert backoff.delay() == 0.2
    assert Backoff(lambda: 0.0).delay() == 0.1


def test_sockets_of_a_resource_are_distinguished_by_process() -> None:
    mine, old, young = (registration.socket_name("example.com/x", started, 1) for started in (20, 10, 30))
    foreign = registration.socket_name("example.com/y", 10, 1)
    names = [mine, old, young, foreign, "kubelet.sock", "nodecraft.sock"]
    assert registration.others(names, "example.com/x", 20) == [old, young]
    assert [registration.is_newer(name, 20) for name in (old, young)] == [False, True]


def test_a_socket_has_a_short_name_however_long_the_resource_is_called() -> None:
    assert len(registration.socket_name("x" * 300, 1_800_000_000_000, 99)) < 48

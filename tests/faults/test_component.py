# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is taken for healthy and what is not: the component under a scripted kubelet, after a real change."""

from __future__ import annotations

import dataclasses
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    ALARM,
    COMMITTED,
    ROLLED_BACK,
    SIDES,
    UNHEALTHY,
    VERIFYING,
    WAITING,
    save_journal,
)
from ansible_collections.nodecraft.kubeadm.tests.faults.conftest import Make
from ansible_collections.nodecraft.kubeadm.tests.faults.scenarios import HOPELESS, QUICK, SCENARIOS, Scenario, snapshot
from ansible_collections.nodecraft.kubeadm.tests.faults.station import Station, manifest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_etcd import FakeEtcd
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, Behaviour

GOOD, BAD = SCENARIOS[2], SCENARIOS[3]


def begin(make: Make, behaviour: Behaviour, scenario: Scenario = GOOD, **desired: t.Any) -> Station:
    """The node with the journal of a change after which the component behaves so."""
    station = make(scenario)
    desired = {**scenario.desired(station.root), **desired}
    station.kubelet.behaviours["--v=3"] = behaviour
    result = station.module(**desired).result
    assert not result["failed"], result["msg"]
    return station


def finish(station: Station, *, pace: float = 1.0) -> dict[str, t.Any]:
    """The rest of the change; what is told of it. pace: how much longer a sleep takes, where minutes pass."""
    station.clock.pace = pace
    station.systemd.work()
    last: dict[str, t.Any] = station.told("last_outcome", NAME)
    return last


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (dataclasses.replace(QUICK, ready=None), "not healthy within"),
        (dataclasses.replace(QUICK, alive=1.5), "not healthy within"),
        (dataclasses.replace(QUICK, ready=None, alive=0.5, back_off=0.25), "crashed 3 times"),
        (dataclasses.replace(QUICK, unready=(2.0, 100.0)), "not healthy within"),
        (dataclasses.replace(QUICK, start=100.0), "not healthy within"),
        (dataclasses.replace(QUICK, stop=0.5, ready=9.0), "not healthy within"),
    ],
    ids=["never ready", "dies while watched", "crashes", "unready while watched", "never starts", "too slow"],
)
def test_a_component_that_does_not_hold_is_restored(make: Make, behaviour: Behaviour, words: str) -> None:
    station = begin(make, behaviour, min_ready_seconds=5)
    old = snapshot(station)
    told = finish(station)
    assert told["outcome"] == ROLLED_BACK
    assert words in told["reason"]
    assert snapshot(station) == old
    assert told["healthy"] is True


def test_f09_a_slow_start_is_waited_for(make: Make) -> None:
    station = begin(make, dataclasses.replace(QUICK, ready=200.0), wait_timeout=300)
    assert finish(station, pace=8.0)["outcome"] == COMMITTED


def test_the_former_process_alone_is_no_success(make: Make) -> None:
    """A kubelet that does nothing: the former process answers all probes."""
    station = begin(make, QUICK)
    station.kubelet.enabled = station.kubelet.recovers = False
    told = finish(station, pace=8.0)
    assert told["outcome"] == ROLLED_BACK
    assert "not healthy within" in told["reason"]


def test_a_former_process_that_lingers_is_waited_for(make: Make) -> None:
    """Its container may outlive its pod."""
    station = begin(make, QUICK)
    (instance,) = station.kubelet.instances
    station.add_process(9000, instance.uid, station.arguments(instance.pid))
    station.at(4.0, lambda: station.remove_process(9000))
    began = station.clock.now
    assert finish(station)["outcome"] == COMMITTED
    assert station.clock.now - began >= 4.0


def test_a_process_with_other_arguments_is_not_the_new_one(make: Make) -> None:
    station = begin(make, QUICK)

    def disguise() -> None:
        for instance in station.kubelet.instances:
            place = station.proc / str(instance.pid) / "cmdline"
            place.write_bytes(place.read_bytes().replace(b"--v=3", b"--v=4"))

    station.clock.watchers.insert(1, disguise)
    told = finish(station)
    assert told["outcome"] == ROLLED_BACK
    assert "other arguments" in told["reason"]


def test_a_restore_that_does_not_come_up_is_an_alarm(make: Make) -> None:
    station = begin(make, HOPELESS)
    station.kubelet.behaviours["--v=2"] = HOPELESS
    told = finish(station, pace=8.0)
    assert told["outcome"] == ALARM
    assert "rolled back to the former files, but" in told["reason"]


def test_a_kubelet_that_does_not_start_what_was_restored_is_restarted(make: Make) -> None:
    """As after a restart of the node in the middle."""
    station = begin(make, HOPELESS)

    def fall_asleep() -> None:
        station.kubelet.enabled = False
        for instance in list(station.kubelet.instances):
            station.kubelet.kill(instance)

    station.once(VERIFYING, fall_asleep)
    told = finish(station, pace=8.0)
    assert told["outcome"] == ROLLED_BACK
    assert station.kubelet.restarts == 1


def test_a_change_that_is_not_confirmed_is_rolled_back(make: Make) -> None:
    station = begin(make, QUICK, confirm=True, confirm_url="https://10.0.0.1:6443/readyz", confirm_timeout=5)
    old_arguments = "--v=2"
    told = finish(station)
    assert told["outcome"] == ROLLED_BACK
    assert "there was no confirmation" in told["reason"]
    assert old_arguments in station.manifest.read_text(encoding="utf-8")


def test_a_process_of_the_former_pod_with_the_new_arguments_is_not_the_new_one(make: Make) -> None:
    """The UID tells them apart: the kubelet derives it from the manifest."""
    station = begin(make, QUICK)
    (instance,) = station.kubelet.instances

    def impostor() -> None:
        if station.opened()["phase"] == WAITING and station.kubelet.enabled:
            station.kubelet.enabled = False
            wanted = [f"--v={3}" if item == "--v=2" else item for item in station.arguments(instance.pid)]
            (station.proc / str(instance.pid) / "cmdline").write_bytes(
                b"".join(item.encode() + b"\0" for item in wanted)
            )

    station.clock.watchers.insert(0, lambda: impostor() if station.journal_path.exists() else None)
    told = finish(station)
    assert not station.kubelet.enabled
    assert told["outcome"] != COMMITTED


def test_f31_a_copy_that_appears_beside_the_manifest_is_named(make: Make) -> None:
    station = begin(make, dataclasses.replace(QUICK, start=100.0))
    copy = station.manifests / f"{NAME}.yaml.bak"

    def put() -> None:
        if station.journal_path.exists() and station.opened()["phase"] == WAITING:
            copy.write_text("x", encoding="utf-8")

    station.clock.watchers.remove(station.look)
    station.clock.watchers.insert(0, put)
    told = finish(station)
    copy.unlink()
    station.watcher.events()
    assert told["outcome"] == ROLLED_BACK
    assert str(copy) in told["reason"]


@pytest.mark.parametrize(
    "seconds", [0.25, 1.5, 3.0], ids=["before it is read", "while it starts", "while it is watched"]
)
def test_f27_a_foreign_edit_in_the_watched_seconds_is_an_alarm(make: Make, seconds: float) -> None:
    station = begin(make, QUICK, min_ready_seconds=5)
    foreign = manifest(station.web.port, "--v=7")
    station.allowed.add(foreign.encode())

    def edit() -> None:
        station.kubelet.enabled = False  # it has not read it yet
        station.write_manifest(foreign)

    station.once(WAITING, lambda: station.at(seconds, edit))
    told = finish(station)
    assert station.manifest.read_text(encoding="utf-8") == foreign
    assert told["outcome"] == ALARM
    assert str(station.manifest) in told["reason"]


def test_what_was_broken_before_is_rolled_back_to_what_it_was(make: Make) -> None:
    station = make(BAD)
    station.kubelet.behaviours["--v=2"] = HOPELESS
    station.kubelet.instances[0].behaviour = HOPELESS
    station.stabilize()
    old = snapshot(station)
    assert not station.module(**BAD.desired(station.root)).result["failed"]
    assert finish(station)["outcome"] == ROLLED_BACK
    assert snapshot(station) == old


def test_without_rollback_the_new_state_stays_and_is_told(make: Make) -> None:
    station = begin(make, HOPELESS, rollback=False)
    told = finish(station)
    assert told["outcome"] == UNHEALTHY
    assert "E1 it cannot start" in told["log"]
    assert "--v=3" in station.manifest.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"takes": False}, "accepts no write through the changed member"),
        ({"raises": "NOSPACE"}, "has the alarm NOSPACE of member 10 since the change"),
        ({"lags": True}, "cp11 is at 1"),
    ],
    ids=["accepts no write", "raises an alarm", "is not followed"],
)
def test_an_etcd_that_does_less_than_before_is_restored(
    make: Make, tmp_path: Path, fault: dict[str, t.Any], words: str
) -> None:
    """Its probes pass all the same."""
    member, other = FakeEtcd(tmp_path), FakeEtcd(tmp_path)
    member.members = [member.member("10", [member.url]), member.member("11", [other.url])]
    other.revision = 1 if fault.pop("lags", False) else 100
    try:
        station = begin(make, QUICK)
        old = snapshot(station)
        journal = station.opened()
        for side in SIDES:
            journal["watch"][side]["etcd"] = {"url": member.url}
        save_journal(str(station.state), journal)
        station.at(1.0, lambda: vars(member).update(fault))
        told = finish(station)
    finally:
        member.close()
        other.close()
    assert told["outcome"] == ROLLED_BACK
    assert words in told["reason"]
    assert snapshot(station) == old

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
from ansible_collections.nodecraft.kubeadm.tests.faults.fault_nodes import StaticPodNode, manifest
from ansible_collections.nodecraft.kubeadm.tests.faults.scenarios import QUICK, SCENARIOS, UNREADY, Scenario, snapshot
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_etcd import FakeEtcd
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, Behaviour

GOOD, BAD = SCENARIOS[2], SCENARIOS[3]


def begin_change(make_node: Make, behaviour: Behaviour, scenario: Scenario = GOOD, **desired: t.Any) -> StaticPodNode:
    """The node with the journal of a change after which the component behaves so."""
    node = make_node(scenario)
    desired = {**scenario.desired(node.root), **desired}
    node.kubelet.behaviours["--v=3"] = behaviour
    result = node.module(**desired).result
    assert not result["failed"], result["msg"]
    return node


def finish_change(node: StaticPodNode, *, pace: float = 1.0) -> dict[str, t.Any]:
    """Finish the change; returns its transaction as reported. pace: how much longer a sleep takes, where minutes pass."""
    node.clock.pace = pace
    node.systemd.run_service()
    last: dict[str, t.Any] = node.query_history("last_outcome", NAME)
    return last


@pytest.mark.parametrize(
    ("behaviour", "message"),
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
def test_a_component_that_does_not_hold_is_restored(make_node: Make, behaviour: Behaviour, message: str) -> None:
    node = begin_change(make_node, behaviour, min_ready_seconds=5)
    old = snapshot(node)
    result = finish_change(node)
    assert result["outcome"] == ROLLED_BACK
    assert message in result["reason"]
    assert snapshot(node) == old
    assert result["healthy"] is True


def test_f09_a_slow_start_is_waited_for(make_node: Make) -> None:
    node = begin_change(make_node, dataclasses.replace(QUICK, ready=200.0), wait_timeout=300)
    assert finish_change(node, pace=8.0)["outcome"] == COMMITTED


def test_the_former_process_alone_is_no_success(make_node: Make) -> None:
    """A kubelet that does nothing: the former process answers all probes."""
    node = begin_change(make_node, QUICK)
    node.kubelet.enabled = node.kubelet.recovers = False
    result = finish_change(node, pace=8.0)
    assert result["outcome"] == ROLLED_BACK
    assert "not healthy within" in result["reason"]


def test_a_former_process_that_lingers_is_waited_for(make_node: Make) -> None:
    """Its container may outlive its pod."""
    node = begin_change(make_node, QUICK)
    (instance,) = node.kubelet.instances
    node.add_process(9000, instance.uid, node.arguments(instance.pid))
    node.at(4.0, lambda: node.remove_process(9000))
    began = node.clock.now
    assert finish_change(node)["outcome"] == COMMITTED
    assert node.clock.now - began >= 4.0


def test_a_process_with_other_arguments_is_not_the_new_one(make_node: Make) -> None:
    node = begin_change(make_node, QUICK)

    def disguise() -> None:
        for instance in node.kubelet.instances:
            path = node.proc / str(instance.pid) / "cmdline"
            path.write_bytes(path.read_bytes().replace(b"--v=3", b"--v=4"))

    node.clock.watchers.insert(1, disguise)
    result = finish_change(node)
    assert result["outcome"] == ROLLED_BACK
    assert "other arguments" in result["reason"]


def test_a_restore_that_does_not_come_up_is_an_alarm(make_node: Make) -> None:
    node = begin_change(make_node, UNREADY)
    node.kubelet.behaviours["--v=2"] = UNREADY
    result = finish_change(node, pace=8.0)
    assert result["outcome"] == ALARM
    assert "rolled back to the former files, but" in result["reason"]


def test_a_kubelet_that_does_not_start_what_was_restored_is_restarted(make_node: Make) -> None:
    """As after a restart of the node in the middle."""
    node = begin_change(make_node, UNREADY)

    def fall_asleep() -> None:
        node.kubelet.enabled = False
        for instance in list(node.kubelet.instances):
            node.kubelet.kill(instance)

    node.once(VERIFYING, fall_asleep)
    result = finish_change(node, pace=8.0)
    assert result["outcome"] == ROLLED_BACK
    assert node.kubelet.restarts == 1


def test_a_change_that_is_not_confirmed_is_rolled_back(make_node: Make) -> None:
    node = begin_change(make_node, QUICK, confirm=True, confirm_url="https://10.0.0.1:6443/readyz", confirm_timeout=5)
    old_arguments = "--v=2"
    result = finish_change(node)
    assert result["outcome"] == ROLLED_BACK
    assert "there was no confirmation" in result["reason"]
    assert old_arguments in node.manifest.read_text(encoding="utf-8")


def test_a_process_of_the_former_pod_with_the_new_arguments_is_not_the_new_one(make_node: Make) -> None:
    """The UID tells them apart: the kubelet derives it from the manifest."""
    node = begin_change(make_node, QUICK)
    (instance,) = node.kubelet.instances

    def impostor() -> None:
        if node.opened()["phase"] == WAITING and node.kubelet.enabled:
            node.kubelet.enabled = False
            arguments = [f"--v={3}" if item == "--v=2" else item for item in node.arguments(instance.pid)]
            (node.proc / str(instance.pid) / "cmdline").write_bytes(
                b"".join(item.encode() + b"\0" for item in arguments)
            )

    node.clock.watchers.insert(0, lambda: impostor() if node.journal_path.exists() else None)
    result = finish_change(node)
    assert not node.kubelet.enabled
    assert result["outcome"] != COMMITTED


def test_f31_a_copy_that_appears_beside_the_manifest_is_named(make_node: Make) -> None:
    node = begin_change(make_node, dataclasses.replace(QUICK, start=100.0))
    copy = node.manifests / f"{NAME}.yaml.bak"

    def put() -> None:
        if node.journal_path.exists() and node.opened()["phase"] == WAITING:
            copy.write_text("x", encoding="utf-8")

    node.clock.watchers.remove(node.check_manifest)
    node.clock.watchers.insert(0, put)
    result = finish_change(node)
    copy.unlink()
    node.watcher.events()
    assert result["outcome"] == ROLLED_BACK
    assert str(copy) in result["reason"]


@pytest.mark.parametrize(
    "seconds", [0.25, 1.5, 3.0], ids=["before it is read", "while it starts", "while it is watched"]
)
def test_f27_a_foreign_edit_in_the_watched_seconds_is_an_alarm(make_node: Make, seconds: float) -> None:
    node = begin_change(make_node, QUICK, min_ready_seconds=5)
    foreign = manifest(node.web.port, "--v=7")
    node.allowed.add(foreign.encode())

    def edit() -> None:
        node.kubelet.enabled = False  # it has not read it yet
        node.write_manifest(foreign)

    node.once(WAITING, lambda: node.at(seconds, edit))
    result = finish_change(node)
    assert node.manifest.read_text(encoding="utf-8") == foreign
    assert result["outcome"] == ALARM
    assert str(node.manifest) in result["reason"]


def test_what_was_broken_before_is_rolled_back_to_what_it_was(make_node: Make) -> None:
    node = make_node(BAD)
    node.kubelet.behaviours["--v=2"] = UNREADY
    node.kubelet.instances[0].behaviour = UNREADY
    node.stabilize()
    old = snapshot(node)
    assert not node.module(**BAD.desired(node.root)).result["failed"]
    assert finish_change(node)["outcome"] == ROLLED_BACK
    assert snapshot(node) == old


def test_without_rollback_the_new_state_stays_and_is_reported(make_node: Make) -> None:
    node = begin_change(make_node, UNREADY, rollback=False)
    result = finish_change(node)
    assert result["outcome"] == UNHEALTHY
    assert "E1 it cannot start" in result["log"]
    assert "--v=3" in node.manifest.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"accepts_writes": False}, "accepts no write through the changed member"),
        ({"next_alarm": "NOSPACE"}, "has the alarm NOSPACE of member 10 since the change"),
        ({"lags": True}, "cp11 is at 1"),
    ],
    ids=["accepts no write", "raises an alarm", "is not followed"],
)
def test_an_etcd_that_does_less_than_before_is_restored(
    make_node: Make, tmp_path: Path, fault: dict[str, t.Any], message: str
) -> None:
    """Its probes pass all the same."""
    member, other = FakeEtcd(tmp_path), FakeEtcd(tmp_path)
    member.members = [member.member("10", [member.url]), member.member("11", [other.url])]
    other.revision = 1 if fault.pop("lags", False) else 100
    try:
        node = begin_change(make_node, QUICK)
        old = snapshot(node)
        journal = node.opened()
        for side in SIDES:
            journal["watch"][side]["etcd"] = {"url": member.url}
        save_journal(str(node.state), journal)
        node.at(1.0, lambda: vars(member).update(fault))
        result = finish_change(node)
    finally:
        member.close()
        other.close()
    assert result["outcome"] == ROLLED_BACK
    assert message in result["reason"]
    assert snapshot(node) == old

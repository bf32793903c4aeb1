# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A change that is healthy on its node waits for a confirmation; a kubelet that forgot a pod is reminded of it once."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import Json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.health_waiter import STALL_TIMEOUT
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    ALARM,
    COMMITTED,
    CONFIRMED,
    CONFIRMING,
    ROLLED_BACK,
    VERIFYING,
    save_journal,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import (
    FOREIGN,
    NEW,
    OLD,
    TRANSACTION_ID,
    Behaviour,
    FakeNode,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_systemd import FakeUnit


def confirm(node: FakeNode, confirmed_id: str = TRANSACTION_ID) -> None:
    """Leave the confirmation of a transaction, which may be another one than that of the node."""
    (node.state / CONFIRMED).write_text(f"{confirmed_id}\n", encoding="ascii")


def text_of(node: FakeNode) -> str:
    return node.manifest.read_text(encoding="utf-8")


# ---- confirmed -------------------------------------------------------------------------------------------------------


def test_a_confirmation_commits_at_once(node: FakeNode) -> None:
    node.prepare(confirm_timeout=60)
    node.once(CONFIRMING, lambda: confirm(node))
    began = node.clock.now
    result = node.run()
    assert (result["outcome"], result["confirmed"]) == (COMMITTED, True)
    assert node.clock.now - began == pytest.approx(9, abs=1)
    assert result["restart_seconds"] == pytest.approx(6, abs=0.6)
    assert node.messages[-1] == "is healthy, waits for its confirmation"
    assert not (node.state / CONFIRMED).exists()


def test_a_change_that_needs_no_confirmation_is_reported(node: FakeNode) -> None:
    assert node.change()["confirmed"] is None


@pytest.mark.parametrize("confirmed_id", [None, "20250101T000000Z-000000", ""])
def test_without_its_own_confirmation_it_is_restored(node: FakeNode, confirmed_id: str | None) -> None:
    if confirmed_id is not None:
        confirm(node, confirmed_id)
    began = node.clock.now
    result = node.change(confirm_timeout=30)
    assert (result["outcome"], result["confirmed"]) == (ROLLED_BACK, False)
    assert result["reason"] == "there was no confirmation within 30 s that it is reachable"
    assert result["log"] == [], "it was healthy: its words are no reason"
    assert result["healthy"] is True
    assert text_of(node) == OLD
    assert node.clock.now - began == pytest.approx(9 + 30 + 9, abs=2)


def test_what_is_confirmed_and_not_healthy_is_not_committed(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(alive=6.0, back_off=1000, log=("E1 why it died",))
    node.prepare(confirm_timeout=30)
    node.at(20, lambda: confirm(node))
    result = node.run()
    assert result["outcome"] == ROLLED_BACK
    assert "kube-apiserver is down after 1 start(s) after it was healthy" in result["reason"]
    assert result["log"] == ["E1 why it died"]


def test_a_foreign_edit_while_the_confirmation_is_waited_for_is_an_alarm(node: FakeNode) -> None:
    node.prepare(confirm_timeout=30)
    node.once(CONFIRMING, node.foreign_edit)
    result = node.run()
    assert result["outcome"] == ALARM
    assert str(node.manifest) in result["reason"]
    assert text_of(node) == FOREIGN


class Killed(BaseException):
    """The engine's process ends here."""


def die() -> None:
    raise Killed


def test_the_time_for_the_confirmation_goes_on_over_a_restart_of_the_engine(node: FakeNode) -> None:
    node.prepare(confirm_timeout=30)
    began = node.clock.now
    node.at(25, die)
    with pytest.raises(Killed):
        node.new_engine().run()
    assert node.run()["outcome"] == ROLLED_BACK
    assert node.clock.now - began == pytest.approx(9 + 30 + 9, abs=2)


@pytest.mark.parametrize(("is_confirmed", "outcome"), [(True, COMMITTED), (False, ROLLED_BACK)])
def test_after_a_reboot_it_is_verified_again_and_a_confirmation_stays(
    node: FakeNode, is_confirmed: bool, outcome: str
) -> None:
    node.prepare(confirm_timeout=30)
    node.once(CONFIRMING, die)
    with pytest.raises(Killed):
        node.new_engine().run()
    if is_confirmed:
        confirm(node)
    save_journal(str(node.state), node.opened() | {"boot": "another boot"})
    node.kubelet.restart()
    node.clock.now = 5.0
    node.kubelet.instances[0].started = 5.0
    result = node.run()
    assert result["outcome"] == outcome
    assert text_of(node) == (NEW if is_confirmed else OLD)
    assert "is healthy, watched for 3 s" in node.messages[-5:]


def test_a_kubelet_waits_for_the_confirmation_too(tmp_path: t.Any, web: t.Any) -> None:
    unit = FakeUnit(tmp_path, web)
    result = unit.change(confirm_timeout=20)
    assert (result["outcome"], result["log"]) == (ROLLED_BACK, [])
    assert "there was no confirmation within 20 s" in result["reason"]


# ---- a kubelet that forgot a pod -------------------------------------------------------------------------------------


def forget(node: FakeNode) -> None:
    """As after a restart of the node: nothing runs, and nothing starts it."""
    for instance in list(node.kubelet.instances):
        node.kubelet.kill(instance)
    node.kubelet.enabled = False


def restore_with(node: FakeNode, event: t.Callable[[], t.Any]) -> Json:
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None)
    node.prepare()
    node.once(VERIFYING, event)
    node.clock.pace = 4
    return node.run()


def test_a_kubelet_that_does_not_start_a_restored_pod_is_restarted_once(node: FakeNode) -> None:
    began = node.clock.now
    result = restore_with(node, lambda: forget(node))
    assert result["outcome"] == ROLLED_BACK
    assert node.kubelet.restarts == 1
    assert node.clock.now - began > 20 + STALL_TIMEOUT
    assert "kubelet.service was restarted, because it did not start kube-apiserver for 90 s" in result["notes"]


def test_a_kubelet_that_never_starts_it_is_an_alarm(node: FakeNode) -> None:
    node.kubelet.recovers = False
    result = restore_with(node, lambda: forget(node))
    assert result["outcome"] == ALARM
    assert node.kubelet.restarts == 1


def test_a_kubelet_that_is_stopped_is_left_so_and_named(node: FakeNode) -> None:
    node.kubelet.state = "inactive"
    result = restore_with(node, lambda: forget(node))
    assert result["outcome"] == ALARM
    assert "kubelet.service is inactive, and only it starts and stops pods" in result["reason"]
    assert node.kubelet.restarts == 0


def test_an_engine_that_dies_after_it_does_not_start_the_kubelet_again(node: FakeNode) -> None:
    node.kubelet.recovers = False
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None)
    node.prepare()
    node.once(VERIFYING, lambda: forget(node))
    node.at(20 + STALL_TIMEOUT + 30, die)
    node.clock.pace = 4
    with pytest.raises(Killed):
        node.new_engine().run()
    assert node.kubelet.restarts == 1
    assert node.run()["outcome"] == ALARM
    assert node.kubelet.restarts == 1


def test_what_was_down_before_is_no_reason_to_restart_the_kubelet(node: FakeNode) -> None:
    (instance,) = node.kubelet.instances
    instance.behaviour = Behaviour(alive=0.0, back_off=10000)
    node.stabilize()
    node.kubelet.behaviours = {"--v=1": Behaviour(start=10000), "--v=2": Behaviour(ready=None)}
    node.clock.pace = 4
    assert node.change(wait_timeout=200)["outcome"] == ROLLED_BACK
    assert node.kubelet.restarts == 0


def test_a_slow_stop_is_no_stall(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None, stop=120)
    node.clock.pace = 4
    assert node.change()["outcome"] == ROLLED_BACK
    assert node.kubelet.restarts == 0

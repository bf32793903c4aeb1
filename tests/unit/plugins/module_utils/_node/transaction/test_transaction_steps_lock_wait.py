# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A call waits for others at work on the node, and changes nothing then."""

from __future__ import annotations

import contextlib
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import WAITING, remove_journal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import engine_service
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction.state import Unusable
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction.transaction_steps import LockWait
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Busy, Refusal
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun
from ansible_collections.nodecraft.kubeadm.tests.unit.support.static_pod_runs import damage, steps

AT_WORK = (0, "active\n", "")
IDLE = (3, "inactive\n", "")


def wait(master: FakeNode, seconds: float) -> LockWait:
    return LockWait(seconds, clock=master.clock, sleep=master.clock.sleep)


def later(master: FakeNode, seconds: float, action: t.Callable[[], object]) -> None:
    """Something that happens at this time."""
    end = master.clock.now + seconds
    due = [action]

    def act_when_due() -> None:
        if due and master.clock.now >= end:
            due.pop()()

    master.clock.watchers.append(act_when_due)


def end_transaction(master: FakeNode, run: FakeRun) -> None:
    run.results["systemctl is-active"] = IDLE
    remove_journal(str(master.state))


def test_a_free_node_is_not_waited_for(master: FakeNode, run: FakeRun) -> None:
    began = master.clock.now
    assert wait(master, 10).wait_until_free(NAME, run) is False
    assert master.clock.now == began


def test_without_time_nothing_is_observed(master: FakeNode, run: FakeRun) -> None:
    with engine_service.hold_lock(NAME, dry=False):
        assert wait(master, 0).wait_until_free(NAME, run) is False


def test_a_run_that_ends_is_waited_for(master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that ends within the moment for which the lock would be tried: a change may not follow on that."""
    monkeypatch.setattr(engine_service, "_LOCK_TIMEOUT", 3600.0)
    with contextlib.ExitStack() as other:
        other.enter_context(engine_service.hold_lock(NAME, dry=False))
        later(master, 5, other.close)
        began = master.clock.now
        assert wait(master, 10).wait_until_free(NAME, run) is True
        assert 5 <= master.clock.now - began < 7


@pytest.mark.parametrize("name", [NAME, "kube-scheduler"])
def test_a_transaction_that_ends_is_waited_for_whichever_component_it_changes(
    master: FakeNode, run: FakeRun, name: str
) -> None:
    master.prepare(phase=WAITING)
    run.results["systemctl is-active"] = AT_WORK
    later(master, 3, lambda: end_transaction(master, run))
    assert wait(master, 10).wait_until_free(name, run) is True


def test_the_time_is_that_of_a_call_however_many_components_it_is_about(master: FakeNode, run: FakeRun) -> None:
    master.prepare(phase=WAITING)
    run.results["systemctl is-active"] = AT_WORK
    began = master.clock.now
    one = wait(master, 10)
    for name in ("kube-scheduler", NAME):
        with pytest.raises(
            Busy, match=f"a change of {NAME} on .* is open: transaction .* a task with lock_timeout waits"
        ):
            one.wait_until_free(name, run)
    assert master.clock.now - began == 10


def test_a_stopped_engine_is_nothing_to_wait_for(master: FakeNode, run: FakeRun) -> None:
    master.prepare(phase=WAITING)
    assert wait(master, 10).wait_until_free(NAME, run) is False


def test_a_journal_that_cannot_be_read_is_nothing_to_wait_for(master: FakeNode, run: FakeRun) -> None:
    master.prepare(phase=WAITING)
    damage(master.state)
    with pytest.raises(Unusable):
        wait(master, 10).wait_until_free(NAME, run)


def test_a_plan_goes_on_when_it_has_waited(master: FakeNode, run: FakeRun) -> None:
    master.prepare(phase=WAITING)
    run.results["systemctl is-active"] = AT_WORK
    later(master, 3, lambda: end_transaction(master, run))
    plan = steps(master, run, dry=True, lock_wait=wait(master, 10), args={"v": 4})
    with plan.session():
        plan.read()
        assert plan.plan().operations
    assert plan.report()["busy"] is False


def test_a_change_does_not_go_on_when_it_has_waited(master: FakeNode, run: FakeRun) -> None:
    """Its controller may be lost; when it is not, it calls again."""
    master.prepare(phase=WAITING)
    run.results["systemctl is-active"] = AT_WORK
    later(master, 3, lambda: end_transaction(master, run))
    late = steps(master, run, lock_wait=wait(master, 10), args={"v": 4})
    with (
        pytest.raises(
            Busy, match=r"the run that kept kube-apiserver waiting has ended\. A call that waited changes nothing"
        ),
        late.session(),
    ):
        pass
    assert late.report()["busy"] is True
    again = steps(master, run, lock_wait=wait(master, 10), args={"v": 4})
    with again.session():
        again.read()
        assert again.plan().operations


def test_a_node_that_stays_busy_is_reported(master: FakeNode, run: FakeRun) -> None:
    master.prepare(phase=WAITING)
    run.results["systemctl is-active"] = AT_WORK
    late = steps(master, run, dry=True, lock_wait=wait(master, 10))
    with pytest.raises(Busy, match=r"started from 10\.0\.0\.99 at 2026-01-01T00:00:00Z"), late.session():
        pass
    assert late.report()["busy"] is True


def test_a_time_below_zero_is_refused(master: FakeNode, run: FakeRun) -> None:
    with pytest.raises(Refusal, match="invalid lock_timeout -1"), steps(master, run, lock_timeout=-1).session():
        pass

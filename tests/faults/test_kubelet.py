# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""F15, F20-F22 for the kubelet: its engine killed or failed at any system call; a state file makes way and comes back."""

from __future__ import annotations

import shutil
import signal
import stat
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import ABORTED, COMMITTED, ROLLED_BACK
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.state_files import MOVED_SUFFIX
from ansible_collections.nodecraft.kubeadm.tests.faults import durability
from ansible_collections.nodecraft.kubeadm.tests.faults.conftest import Tally
from ansible_collections.nodecraft.kubeadm.tests.faults.fault_nodes import KubeletNode
from ansible_collections.nodecraft.kubeadm.tests.faults.processes import ProcessResult, Worker
from ansible_collections.nodecraft.kubeadm.tests.faults.scenarios import WHOLE, changing, one_of_each
from ansible_collections.nodecraft.kubeadm.tests.faults.system_calls import Fault
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_systemd import NEW, OLD, Behaviour, state_of
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import Web

STATE, MODE = "cpu_manager_state", 0o640
CALLS = ("openat", "write", "fchown", "fchmod", "fsync", "rename", "unlink")
ERRORS = {"openat": "EROFS", "write": "ENOSPC", "fsync": "EIO", "rename": "EACCES"}
OUTCOMES = (COMMITTED, ROLLED_BACK)

Make = t.Callable[[str], KubeletNode]


@pytest.fixture(name="make_node")
def fixture_make_node(tmp_path: Path, session_web: Web, worker: Worker) -> Make:
    """A node with an open change of its kubelet that will have this outcome."""

    def make_node(outcome: str) -> KubeletNode:
        root = tmp_path / "node"
        shutil.rmtree(root, ignore_errors=True)
        node = KubeletNode(root, session_web, worker)
        state = node.files / STATE
        node.state_file = state
        node.remember()
        state.chmod(MODE)
        if outcome != COMMITTED:
            node.behaviours["v=2"] = Behaviour(healthy=None)
        aside = {"path": str(state), "aside": f"{state}{MOVED_SUFFIX}1", "existed": True, "policy": NEW.strip()}
        assert node.begin(watch={"set_aside": [aside]}, wait_timeout=6, min_ready_seconds=1).status == 0
        return node

    return make_node


def assert_whole(node: KubeletNode, outcome: str | None) -> None:
    """Setting, state file and kubelet are those of the outcome, and nothing temporary is left."""
    committed = outcome == COMMITTED
    assert node.setting.read_text(encoding="ascii") == (NEW if committed else OLD)
    assert node.argument == (NEW if committed else OLD).strip()
    state_files = {path.name: path for path in node.files.iterdir() if path != node.setting}
    former = f"{STATE}{MOVED_SUFFIX}1" if committed else STATE
    assert set(state_files) == {STATE, former}
    assert state_files[STATE].read_text(encoding="ascii") == state_of((NEW if committed else OLD).strip())
    assert state_files[former].read_text(encoding="ascii") == state_of(OLD.strip())
    assert stat.S_IMODE(state_files[former].stat().st_mode) == MODE
    assert list(node.files.rglob(".*")) == []
    assert not node.systemd.due


def clean(make_node: Make, outcome: str) -> tuple[KubeletNode, ProcessResult]:
    """The change without a fault."""
    node = make_node(outcome)
    (ended,) = node.systemd.run_service(traced=True)
    assert node.outcome() == outcome
    assert_whole(node, outcome)
    return node, ended


def numbers(make_node: Make, outcome: str, call: str) -> list[int]:
    """The calls that are tried."""
    node, ended = clean(make_node, outcome)
    return sorted(found.number for found in one_of_each(changing(ended.calls, node)) if found.name == call)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("outcome", OUTCOMES if WHOLE else OUTCOMES[1:])
def test_an_engine_killed_at_any_call_is_finished_by_the_next(
    make_node: Make, tally: Tally, outcome: str, call: str
) -> None:
    tried = numbers(make_node, outcome, call)
    assert tried
    for number in tried:
        node = make_node(outcome)
        first, *others = node.systemd.run_service(Fault(call, number, "signal=KILL"))
        assert (first.status, len(first.faults)) == (-signal.SIGKILL, 1), f"{call} {number} was not reached"
        assert [ended.status for ended in others] == [0]
        assert node.outcome() == outcome
        assert_whole(node, outcome)
        tally("kubelet's engine killed", outcome)


@pytest.mark.parametrize(("call", "error"), ERRORS.items())
@pytest.mark.parametrize("outcome", OUTCOMES if WHOLE else OUTCOMES[:1])
def test_an_error_at_any_call_ends_whole(make_node: Make, tally: Tally, outcome: str, call: str, error: str) -> None:
    for number in numbers(make_node, outcome, call):
        node = make_node(outcome)
        ended = node.systemd.run_service(Fault(call, number, f"error={error}"))
        assert len(ended[0].faults) == 1, f"{call} {number} was not reached"
        assert ended[-1].status == 0
        assert node.outcome() in (outcome, ROLLED_BACK, ABORTED)
        assert_whole(node, node.outcome())
        tally(f"kubelet's engine {error}", str(node.outcome()))


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_each_step_is_on_the_disk_before_the_next(make_node: Make, outcome: str) -> None:
    node, ended = clean(make_node, outcome)
    assert durability.unsynced_steps(ended.calls, node.root) == []


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_kubelet_started_meanwhile_gets_the_right_state_file(make_node: Make, tally: Tally, outcome: str) -> None:
    """The engine dies before the state file is where it belongs, and systemd or a reboot starts the kubelet before the next one."""
    ended = clean(make_node, outcome)[1]
    moves = [call for call in ended.calls if call.name == "rename" and any(STATE in path for path in call.paths)]
    node = make_node(outcome)
    killed = node.engine(Fault("rename", moves[-1].number, "signal=KILL"))
    assert (killed.status, len(killed.faults)) == (-signal.SIGKILL, 1)
    node.start()
    assert node.differs
    node.systemd.run_service()
    assert node.outcome() == outcome
    assert_whole(node, outcome)
    tally("kubelet started while its engine was dead", outcome)


def test_a_policy_that_is_not_used_is_not_committed(make_node: Make, tally: Tally) -> None:
    """A kubelet that is healthy and passes over its new policy."""
    node = make_node(COMMITTED)
    node.state_file = None
    node.systemd.run_service()
    assert node.outcome() == ROLLED_BACK
    assert (node.files / STATE).read_text(encoding="ascii") == state_of(OLD.strip())
    tally("policy not used", ROLLED_BACK)

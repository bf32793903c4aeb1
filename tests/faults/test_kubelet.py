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
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.state_files import ASIDE
from ansible_collections.nodecraft.kubeadm.tests.faults import durability
from ansible_collections.nodecraft.kubeadm.tests.faults.conftest import Tally
from ansible_collections.nodecraft.kubeadm.tests.faults.processes import Ended, Worker
from ansible_collections.nodecraft.kubeadm.tests.faults.scenarios import WHOLE, changing, one_of_each
from ansible_collections.nodecraft.kubeadm.tests.faults.station import UnitStation
from ansible_collections.nodecraft.kubeadm.tests.faults.system_calls import Fault
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_systemd import NEW, OLD, Behaviour, state_of
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import Web

STATE, MODE = "cpu_manager_state", 0o640
CALLS = ("openat", "write", "fchown", "fchmod", "fsync", "rename", "unlink")
ERRORS = {"openat": "EROFS", "write": "ENOSPC", "fsync": "EIO", "rename": "EACCES"}
OUTCOMES = (COMMITTED, ROLLED_BACK)

Make = t.Callable[[str], UnitStation]


@pytest.fixture(name="make")
def fixture_make(tmp_path: Path, session_web: Web, worker: Worker) -> Make:
    """A node with an open change of its kubelet that will have this outcome."""

    def make(outcome: str) -> UnitStation:
        root = tmp_path / "node"
        shutil.rmtree(root, ignore_errors=True)
        station = UnitStation(root, session_web, worker)
        state = station.files / STATE
        station.state_file = state
        station.remember()
        state.chmod(MODE)
        if outcome != COMMITTED:
            station.behaviours["v=2"] = Behaviour(healthy=None)
        aside = {"path": str(state), "aside": f"{state}{ASIDE}1", "existed": True, "policy": NEW.strip()}
        assert station.begin(watch={"set_aside": [aside]}, wait_timeout=6, min_ready_seconds=1).status == 0
        return station

    return make


def assert_whole(station: UnitStation, outcome: str | None) -> None:
    """Setting, state file and kubelet are those of the outcome, and nothing temporary is left."""
    committed = outcome == COMMITTED
    assert station.setting.read_text(encoding="ascii") == (NEW if committed else OLD)
    assert station.argument == (NEW if committed else OLD).strip()
    kept = {path.name: path for path in station.files.iterdir() if path != station.setting}
    former = f"{STATE}{ASIDE}1" if committed else STATE
    assert set(kept) == {STATE, former}
    assert kept[STATE].read_text(encoding="ascii") == state_of((NEW if committed else OLD).strip())
    assert kept[former].read_text(encoding="ascii") == state_of(OLD.strip())
    assert stat.S_IMODE(kept[former].stat().st_mode) == MODE
    assert list(station.files.rglob(".*")) == []
    assert not station.systemd.due


def clean(make: Make, outcome: str) -> tuple[UnitStation, Ended]:
    """The change without a fault."""
    station = make(outcome)
    (ended,) = station.systemd.work(traced=True)
    assert station.outcome() == outcome
    assert_whole(station, outcome)
    return station, ended


def numbers(make: Make, outcome: str, call: str) -> list[int]:
    """The calls that are tried."""
    station, ended = clean(make, outcome)
    return sorted(found.number for found in one_of_each(changing(ended.calls, station)) if found.name == call)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("outcome", OUTCOMES if WHOLE else OUTCOMES[1:])
def test_an_engine_killed_at_any_call_is_finished_by_the_next(
    make: Make, tally: Tally, outcome: str, call: str
) -> None:
    tried = numbers(make, outcome, call)
    assert tried
    for number in tried:
        station = make(outcome)
        first, *others = station.systemd.work(Fault(call, number, "signal=KILL"))
        assert (first.status, len(first.faults)) == (-signal.SIGKILL, 1), f"{call} {number} was not reached"
        assert [ended.status for ended in others] == [0]
        assert station.outcome() == outcome
        assert_whole(station, outcome)
        tally("kubelet's engine killed", outcome)


@pytest.mark.parametrize(("call", "error"), ERRORS.items())
@pytest.mark.parametrize("outcome", OUTCOMES if WHOLE else OUTCOMES[:1])
def test_an_error_at_any_call_ends_whole(make: Make, tally: Tally, outcome: str, call: str, error: str) -> None:
    for number in numbers(make, outcome, call):
        station = make(outcome)
        ended = station.systemd.work(Fault(call, number, f"error={error}"))
        assert len(ended[0].faults) == 1, f"{call} {number} was not reached"
        assert ended[-1].status == 0
        assert station.outcome() in (outcome, ROLLED_BACK, ABORTED)
        assert_whole(station, station.outcome())
        tally(f"kubelet's engine {error}", str(station.outcome()))


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_each_step_is_on_the_disk_before_the_next(make: Make, outcome: str) -> None:
    station, ended = clean(make, outcome)
    assert durability.breaches(ended.calls, station.root) == []


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_kubelet_that_was_started_meanwhile_gets_the_right_state_file(make: Make, tally: Tally, outcome: str) -> None:
    """The engine dies before the state file is where it belongs, and systemd or a reboot starts the kubelet before the next one."""
    ended = clean(make, outcome)[1]
    moves = [call for call in ended.calls if call.name == "rename" and any(STATE in path for path in call.paths)]
    station = make(outcome)
    killed = station.engine(Fault("rename", moves[-1].number, "signal=KILL"))
    assert (killed.status, len(killed.faults)) == (-signal.SIGKILL, 1)
    station.start()
    assert station.differs
    station.systemd.work()
    assert station.outcome() == outcome
    assert_whole(station, outcome)
    tally("kubelet started while its engine was dead", outcome)


def test_a_policy_that_is_not_used_is_not_committed(make: Make, tally: Tally) -> None:
    """A kubelet that is healthy and passes over its new policy."""
    station = make(COMMITTED)
    station.state_file = None
    station.systemd.work()
    assert station.outcome() == ROLLED_BACK
    assert (station.files / STATE).read_text(encoding="ascii") == state_of(OLD.strip())
    tally("policy not used", ROLLED_BACK)

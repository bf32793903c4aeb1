# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""F15, F20, F21, F22, F48: killed or failed at any system call, a change ends whole: all files old, or all new."""

from __future__ import annotations

import signal
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import ABORTED, COMMITTED, ROLLED_BACK
from ansible_collections.nodecraft.kubeadm.tests.faults import durability
from ansible_collections.nodecraft.kubeadm.tests.faults.conftest import Make, Tally
from ansible_collections.nodecraft.kubeadm.tests.faults.processes import Ended
from ansible_collections.nodecraft.kubeadm.tests.faults.scenarios import (
    SCENARIOS,
    WHOLE,
    Scenario,
    Snapshot,
    changing,
    leftovers,
    one_of_each,
    snapshot,
)
from ansible_collections.nodecraft.kubeadm.tests.faults.station import Station
from ansible_collections.nodecraft.kubeadm.tests.faults.system_calls import Call, Fault

CALLS = (
    "openat",
    "write",
    "fchown",
    "fsetxattr",
    "fchmod",
    "fsync",
    "rename",
    "unlink",
    "mkdir",
    "rmdir",
    "symlink",
    "flock",
)
ERRORS = {
    "openat": ("EROFS", "EACCES", "ENOSPC"),
    "write": ("ENOSPC", "EIO"),
    "fchown": ("EROFS",),
    "fsetxattr": ("ENOSPC",),
    "fchmod": ("EROFS",),
    "fsync": ("EIO", "ENOSPC"),
    "rename": ("EROFS", "EACCES", "ENOSPC"),
    "unlink": ("EROFS", "EIO"),
    "mkdir": ("ENOSPC", "EROFS"),
    "rmdir": ("EROFS",),
    "symlink": ("EROFS",),
}
# A slice has one change of each kind; the whole all four.
TRIED = SCENARIOS if WHOLE else (SCENARIOS[1], SCENARIOS[2])
ENGINE_CALLS = [call for call in CALLS if call != "symlink"]
MODULE_CALLS = [call for call in CALLS if call not in ("fsetxattr", "rmdir")]


class Clean(t.NamedTuple):
    """What a change does when nothing goes wrong."""

    module: Ended
    engine: Ended
    old: Snapshot
    new: Snapshot
    station: Station

    @property
    def calls(self) -> list[Call]:
        """All that was done."""
        return self.module.calls + self.engine.calls


def begin(make: Make, scenario: Scenario) -> tuple[Station, dict[str, t.Any]]:
    """The node of a scenario, and its desired state."""
    station = make(scenario)
    return station, scenario.desired(station.root)


# Each takes as long as two or three faults, and ends the same every time.
CLEAN: dict[Scenario, Clean] = {}


def run_clean(make: Make, scenario: Scenario) -> Clean:
    """The change without a fault, once in each process; what it leaves is what every other run is held against."""
    if scenario not in CLEAN:
        CLEAN[scenario] = _run_clean(make, scenario)
    return CLEAN[scenario]


def _run_clean(make: Make, scenario: Scenario) -> Clean:
    station, desired = begin(make, scenario)
    old = snapshot(station)
    module = station.module(traced=True, **desired)
    assert not module.result["failed"], module.result["msg"]
    (ended,) = station.systemd.work(traced=True)
    assert station.outcome() == scenario.outcome
    new = snapshot(station)
    assert (new != old) is scenario.works
    assert leftovers(station) == []
    return Clean(module, ended, old, new, station)


def assert_whole(station: Station, clean: Clean, outcome: str | None) -> None:
    """All files are those of the outcome, and nothing else was left."""
    wanted = clean.new if outcome == COMMITTED else clean.old
    assert snapshot(station) == wanted
    assert leftovers(station) == []
    assert not station.systemd.due


def run_next(station: Station, desired: dict[str, t.Any]) -> dict[str, t.Any]:
    """The next run of the module, with all that follows from it; its result."""
    result: dict[str, t.Any] = station.module(**desired).result
    assert not result["failed"], result["msg"]
    station.systemd.work()
    return result


def at(calls: t.Iterable[Call], station: Station, name: str) -> list[int]:
    """The numbers of the calls of a name that are tried; a change that makes none has nothing to try, and another one makes it."""
    return sorted(call.number for call in one_of_each(changing(calls, station)) if call.name == name)


def test_each_kind_of_call_that_is_made_is_tried(make: Make) -> None:
    made: dict[str, set[str]] = {"module": set(), "engine": set()}
    for scenario in SCENARIOS:
        clean = run_clean(make, scenario)
        made["module"] |= {call.name for call in changing(clean.module.calls, clean.station)}
        made["engine"] |= {call.name for call in changing(clean.engine.calls, clean.station)}
    assert made == {"module": set(MODULE_CALLS), "engine": set(ENGINE_CALLS)}


@pytest.mark.parametrize("call", ENGINE_CALLS)
@pytest.mark.parametrize("scenario", TRIED, ids=str)
def test_an_engine_killed_at_any_call_is_finished_by_the_next(
    make: Make, tally: Tally, scenario: Scenario, call: str
) -> None:
    clean = run_clean(make, scenario)
    for number in at(clean.engine.calls, clean.station, call):
        station, desired = begin(make, scenario)
        assert not station.module(**desired).result["failed"]
        first, *others = station.systemd.work(Fault(call, number, "signal=KILL"))
        assert (first.status, len(first.faults)) == (-signal.SIGKILL, 1), f"{call} {number} was not reached"
        assert [ended.status for ended in others] == [0]
        assert station.outcome() == scenario.outcome
        assert_whole(station, clean, station.outcome())
        if scenario.works:
            assert run_next(station, desired)["changed"] is False
        tally("engine killed", scenario.outcome)


@pytest.mark.parametrize("call", MODULE_CALLS)
@pytest.mark.parametrize("scenario", [SCENARIOS[0], SCENARIOS[2]], ids=str)
def test_a_module_killed_at_any_call_is_made_good_by_the_next_run(
    make: Make, tally: Tally, scenario: Scenario, call: str
) -> None:
    clean = run_clean(make, scenario)
    for number in at(clean.module.calls, clean.station, call):
        station, desired = begin(make, scenario)
        killed = station.module(Fault(call, number, "signal=KILL"), **desired)
        assert (killed.status, len(killed.faults)) == (-signal.SIGKILL, 1), f"{call} {number} was not reached"
        assert snapshot(station) == clean.old, "the module itself changes nothing"
        run_next(station, desired)
        assert station.outcome() == COMMITTED
        assert_whole(station, clean, COMMITTED)
        tally("module killed", COMMITTED)


@pytest.mark.parametrize(
    ("call", "error"),
    # An empty directory of ours that cannot be removed stays, and does no harm.
    [
        (call, error)
        for call in ENGINE_CALLS
        for error in ERRORS.get(call, ())[: None if WHOLE else 1]
        if call != "rmdir"
    ],
)
@pytest.mark.parametrize("scenario", TRIED, ids=str)
def test_an_error_at_any_call_of_the_engine_ends_whole(
    make: Make, tally: Tally, scenario: Scenario, call: str, error: str
) -> None:
    clean = run_clean(make, scenario)
    for number in at(clean.engine.calls, clean.station, call):
        station, desired = begin(make, scenario)
        assert not station.module(**desired).result["failed"]
        ended = station.systemd.work(Fault(call, number, f"error={error}"))
        assert len(ended[0].faults) == 1, f"{call} {number} was not reached"
        assert ended[-1].status == 0
        outcome = station.outcome()
        assert outcome in (scenario.outcome, ROLLED_BACK, ABORTED), (call, number, outcome)
        assert_whole(station, clean, outcome)
        tally(f"engine {error}", str(outcome))


@pytest.mark.parametrize(
    ("call", "error"),
    [(call, error) for call in MODULE_CALLS for error in ERRORS.get(call, ())[: None if WHOLE else 1]],
)
@pytest.mark.parametrize("scenario", [SCENARIOS[0], SCENARIOS[2]], ids=str)
def test_an_error_at_any_call_of_the_module_changes_nothing_or_does_all(
    make: Make, tally: Tally, scenario: Scenario, call: str, error: str
) -> None:
    clean = run_clean(make, scenario)
    for number in at(clean.module.calls, clean.station, call):
        station, desired = begin(make, scenario)
        failed = station.module(Fault(call, number, f"error={error}"), **desired)
        assert len(failed.faults) == 1, f"{call} {number} was not reached"
        assert failed.status == 0
        if failed.result["failed"]:
            assert str(station.root) in failed.result["msg"], "the error names a file"
            assert "nodecraft-kubeadm.nodecraft" not in failed.result["msg"]
            assert failed.result["changed"] is False
            assert not station.systemd.due
            assert snapshot(station) == clean.old
        run_next(station, desired)
        assert_whole(station, clean, COMMITTED)
        tally(f"module {error}", "refused" if failed.result["failed"] else "done all the same")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_each_step_is_on_the_disk_before_the_next(make: Make, scenario: Scenario) -> None:
    clean = run_clean(make, scenario)
    assert durability.breaches(clean.calls, clean.station.root) == []


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_the_kubelet_never_sees_a_file_that_is_being_written(make: Make, scenario: Scenario) -> None:
    clean = run_clean(make, scenario)
    assert any(call.below(clean.station.manifests) for call in clean.calls if call.name == "rename")
    assert durability.intrusions(clean.calls, clean.station.manifests) == []


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_what_may_be_secret_is_never_readable_by_others(make: Make, scenario: Scenario) -> None:
    clean = run_clean(make, scenario)
    for directory in (clean.station.state, clean.station.root / "policies", clean.station.manifests):
        assert durability.readable_by_others(clean.calls, directory) == []


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_f48_files_stand_before_the_manifest_that_names_them(make: Make, scenario: Scenario) -> None:
    clean = run_clean(make, scenario)
    station = clean.station
    done = [call.paths[-1] for call in clean.engine.calls if call.name in ("rename", "unlink") and call.succeeded]
    change = done.index(str(station.manifest))
    written = [path for path in done[:change] if path.startswith(str(station.root / "policies"))]
    assert len(written) == 2, "both policy files are there before the manifest"
    gone = str(station.root / "policies" / "gone.yaml")
    assert gone not in done[:change], "and what goes away goes after it"
    assert (gone in done[change:]) is scenario.second

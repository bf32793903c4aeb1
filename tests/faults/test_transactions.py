# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""F20, F24, F44, F50, F52: two runs at once, full disks, damaged and foreign journals, signals, a boot, and long histories."""

from __future__ import annotations

import json
import os
import signal
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    ABORTED,
    ALARM,
    COMMITTED,
    KEEP_HISTORY,
    ROLLED_BACK,
    Journal,
    copies_of,
    history_ids,
    load_journal,
    save_journal,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.program import STUCK
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.transaction import MAX_ATTEMPTS
from ansible_collections.nodecraft.kubeadm.tests.faults.conftest import Make, Tally
from ansible_collections.nodecraft.kubeadm.tests.faults.processes import Ended
from ansible_collections.nodecraft.kubeadm.tests.faults.scenarios import (
    HOPELESS,
    QUICK,
    SCENARIOS,
    Scenario,
    changing,
    leftovers,
    one_of_each,
    snapshot,
)
from ansible_collections.nodecraft.kubeadm.tests.faults.station import Station
from ansible_collections.nodecraft.kubeadm.tests.faults.system_calls import Fault
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME

# How much longer a sleep takes where minutes pass: the fewer looks, the sooner a test is over.
LONG = 8.0
FIRST_GOOD, FIRST_BAD, SECOND_GOOD, SECOND_BAD = SCENARIOS


def begin(make: Make, scenario: Scenario) -> Station:
    """The node of a scenario, with the journal of its change on the disk."""
    station = make(scenario)
    result = station.module(**scenario.desired(station.root)).result
    assert not result["failed"], result["msg"]
    return station


def once(station: Station, key: str, start: str, action: t.Callable[[], object]) -> list[object]:
    """Do something once, while a process waits for the answer to a question. What it returned, when it was done."""
    done: list[object] = []

    def meanwhile(question: dict[str, t.Any]) -> None:
        asked = question.get(key)
        if (
            not done
            and asked is not None
            and (" ".join(asked) if isinstance(asked, list) else str(asked)).startswith(start)
        ):
            done.append(None)
            done[0] = action()

    station.meanwhile = meanwhile
    return done


# ---- two at once ---------------------------------------------------------------------------------------------------------


def test_f24_a_run_beside_another_run_is_refused(make: Make) -> None:
    station = make(FIRST_GOOD)
    desired = FIRST_GOOD.desired(station.root)
    met = once(station, "run", "systemctl start", lambda: station.module(traced=True, **desired))
    assert not station.module(**desired).result["failed"]
    (second,) = t.cast("list[Ended]", met)
    assert second.result["failed"]
    assert "Run again" in second.result["msg"] or "run again" in second.result["msg"]
    assert [
        call
        for call in changing(second.calls, station)
        if call.name != "fsync" and not call.below(station.state / "lock")
    ] == []
    station.systemd.work()
    assert station.outcome() == COMMITTED


def test_f24_a_run_beside_an_engine_is_refused_with_who_asked_for_it(make: Make) -> None:
    station = begin(make, FIRST_GOOD)
    met = once(station, "sleep", "", lambda: station.module(**{**FIRST_GOOD.desired(station.root), "args": {"v": 9}}))
    station.systemd.work()
    (second,) = t.cast("list[Ended]", met)
    assert second.result["failed"]
    assert "is open: transaction" in second.result["msg"]
    assert "started from" in second.result["msg"]
    assert station.outcome() == COMMITTED


def test_f24_two_engines_never_work_at_once(make: Make) -> None:
    station = begin(make, FIRST_GOOD)
    met = once(station, "sleep", "", lambda: station.engine(traced=True))
    (first,) = station.systemd.work()
    (second,) = t.cast("list[Ended]", met)
    assert first.status == 0
    assert second.status not in (0, STUCK), "systemd starts it again, when the other may have ended badly"
    assert [
        call
        for call in changing(second.calls, station)
        if call.name != "fsync" and not call.below(station.state / "lock")
    ] == []
    assert station.outcome() == COMMITTED


# ---- full and broken disks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error"), [("write", "ENOSPC"), ("fsync", "EIO"), ("rename", "EROFS"), ("openat", "EMFILE")]
)
@pytest.mark.parametrize("scenario", [FIRST_GOOD, SECOND_BAD], ids=str)
def test_f20_f21_f22_a_disk_that_stays_broken_is_survived_once_it_is_well(
    make: Make, tally: Tally, scenario: Scenario, call: str, error: str
) -> None:
    station = begin(make, scenario)
    station.clock.pace = LONG  # the number of calls depends on what there is to tell, and so on the time that passes
    (clean,) = station.systemd.work(traced=True)
    numbers = sorted(found.number for found in one_of_each(changing(clean.calls, station)) if found.name == call)
    assert numbers
    for number in numbers[:: max(1, len(numbers) // 3)]:
        station = begin(make, scenario)
        old = snapshot(station)
        station.clock.pace = LONG
        ended = station.systemd.work(Fault(call, number, f"error={error}", lasting=True))
        assert ended[0].faults
        assert ended[-1].status == 0
        # An alarm is right where the time of a restore ran out with the disk still broken.
        assert station.outcome() in (scenario.outcome, ROLLED_BACK, ABORTED, ALARM)
        if station.outcome() in (ROLLED_BACK, ABORTED):
            assert snapshot(station) == old
        assert all(not path.startswith(str(station.manifests)) for path in leftovers(station))
        tally(f"engine {error}, lasting", str(station.outcome()))


def test_a_restore_waits_for_space(make: Make) -> None:
    """A full disk may get space: half a minute later, here."""
    station = begin(make, SECOND_BAD)
    old = snapshot(station)
    (clean,) = begin_and_trace(make, SECOND_BAD)
    # The second writing of the manifest is the restore's.
    opens = [call for call in clean.calls if call.name == "openat" and call.changes and call.below(station.manifests)]
    station = begin(make, SECOND_BAD)
    ended = station.systemd.work(Fault("openat", opens[1].number, "error=ENOSPC"))
    assert [len(process.faults) for process in ended] == [1]
    assert station.outcome() == ROLLED_BACK
    assert snapshot(station) == old


def begin_and_trace(make: Make, scenario: Scenario) -> list[Ended]:
    """A change without a fault; its processes."""
    return begin(make, scenario).systemd.work(traced=True)


# ---- the end of a process ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["TERM", "HUP", "INT", "SEGV", "KILL"])
@pytest.mark.parametrize("scenario", [FIRST_GOOD, SECOND_BAD], ids=str)
def test_whatever_signal_ends_an_engine_systemd_starts_it_again(
    make: Make, tally: Tally, scenario: Scenario, name: str
) -> None:
    (clean,) = begin_and_trace(make, scenario)
    station = begin(make, scenario)
    number = next(call.number for call in clean.calls if call.name == "rename" and call.below(station.manifests))
    first, *others = station.systemd.work(Fault("rename", number, f"signal={name}"))
    assert first.status == -signal.Signals[f"SIG{name}"]
    assert [ended.status for ended in others] == [0]
    assert station.outcome() == scenario.outcome
    tally(f"engine ended by SIG{name}", scenario.outcome)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_a_node_that_is_restarted_goes_on_by_itself(make: Make, tally: Tally, scenario: Scenario) -> None:
    (clean,) = begin_and_trace(make, scenario)
    station = begin(make, scenario)
    number = next(call.number for call in clean.calls if call.name == "rename" and call.below(station.manifests))
    assert station.engine(Fault("rename", number + 1, "signal=KILL")).faults
    station.systemd.due = False
    for instance in list(station.kubelet.instances):
        station.kubelet.kill(instance)
    # The boot of this machine does not end with that of the station, so the journal becomes one of an earlier boot.
    journal, dummy = load_journal(str(station.state))
    save_journal(str(station.state), {**t.cast(Journal, journal), "boot": "the one before"})
    station.systemd.boot()
    station.systemd.work()
    assert station.outcome() == scenario.outcome
    tally("node restarted", scenario.outcome)


class Killed(Exception):
    """The process that asks ends here."""


def test_the_time_limit_holds_over_a_restart_of_the_engine(make: Make) -> None:
    station = make(FIRST_BAD)
    assert not station.module(**{**FIRST_BAD.desired(station.root), "wait_timeout": 60}).result["failed"]
    began = station.clock.now

    def die(question: dict[str, t.Any]) -> None:
        if station.clock.now >= began + 40:
            raise Killed

    station.meanwhile = die
    with pytest.raises(Killed):
        station.engine()
    station.meanwhile = lambda question: None
    station.systemd.work()
    assert station.outcome() == ROLLED_BACK
    assert station.clock.now - began == pytest.approx(60, abs=6)


def test_a_node_without_an_open_transaction_starts_no_engine_at_boot(make: Make) -> None:
    station = begin(make, FIRST_GOOD)
    station.systemd.work()
    station.systemd.boot()
    assert not station.systemd.due


def test_a_change_that_was_prepared_and_never_begun_is_dropped_by_the_next_run(make: Make) -> None:
    """Its desired state may be stale: the next run has a desired state of its own."""
    station = begin(make, FIRST_GOOD)
    station.systemd.due = False
    desired = {**FIRST_GOOD.desired(station.root), "args": {"v": 2}}
    station.accept(desired)
    assert not station.module(**desired).result["failed"]
    station.systemd.work()
    assert station.outcome() == COMMITTED
    assert "--v=2" in station.manifest.read_text(encoding="utf-8")


def test_a_change_whose_engine_was_stopped_is_ended_by_the_next_run(make: Make) -> None:
    (clean,) = begin_and_trace(make, FIRST_BAD)
    station = begin(make, FIRST_BAD)
    old = snapshot(station)
    number = next(call.number for call in clean.calls if call.name == "rename" and call.below(station.manifests))
    assert station.engine(Fault("rename", number + 1, "signal=KILL")).faults
    station.systemd.due = False
    before = list(station.systemd.statuses)
    result = station.module(
        **{**FIRST_BAD.desired(station.root), "args": {"v": 1}, "volumes": None, "files": None}
    ).result
    assert station.systemd.statuses == [*before, 0]
    assert not result["failed"], result["msg"]
    assert result["previous_transaction"]["outcome"] == ROLLED_BACK
    assert snapshot(station) == old


def test_an_engine_that_always_dies_leaves_the_decision_to_a_human(make: Make) -> None:
    station = begin(make, FIRST_GOOD)
    for dummy in range(MAX_ATTEMPTS):
        assert station.engine(Fault("rename", 2, "signal=KILL")).status == -signal.SIGKILL
    station.systemd.work()
    assert station.outcome() == ALARM
    assert f"started {MAX_ATTEMPTS} times" in station.told("last_outcome", NAME)["reason"]


# ---- journals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 99])
def test_f52_a_journal_of_another_version_is_refused_by_name_and_kept(make: Make, number: int) -> None:
    station = begin(make, FIRST_GOOD)
    old = snapshot(station)
    strange = json.dumps({**station.opened(), "format": number}).encode()
    for path in copies(station):
        path.write_bytes(strange)
    ended = station.engine(traced=True)
    assert ended.status == STUCK
    assert f"has format {number}" in ended.result
    station.systemd.due = False
    result = station.module(**FIRST_GOOD.desired(station.root)).result
    assert result["failed"]
    assert str(station.journal_path) in result["msg"]
    assert f"has format {number}" in result["msg"]
    assert [path.read_bytes() for path in copies(station)] == [strange, strange]
    assert snapshot(station) == old
    assert not station.systemd.due


def copies(station: Station) -> list[Path]:
    """Where both copies of the open journal are."""
    return [Path(path) for path in copies_of(str(station.state))]


def cut(content: bytes) -> bytes:
    """As after a power loss on a disk that does not keep its promises."""
    return content[: len(content) // 2]


def change_a_copy(content: bytes) -> bytes:
    """One letter of the former bytes of the manifest is another one: still JSON, and still base64."""
    data = json.loads(content)
    entry = next(entry for entry in data["files"] if entry["switch"])
    text = entry["before"]["content"]
    entry["before"]["content"] = text[:20] + ("A" if text[20] != "A" else "B") + text[21:]
    return json.dumps(data).encode()


def change_a_limit(content: bytes) -> bytes:
    """Nothing of a file, but of the rest."""
    return json.dumps({**json.loads(content), "wait_timeout": 1}).encode()


def no_base64(content: bytes) -> bytes:
    """A copy that cannot even be decoded."""
    data = json.loads(content)
    next(entry for entry in data["files"] if entry["switch"])["before"]["content"] = "!"
    return json.dumps(data).encode()


def nothing(content: bytes) -> bytes:
    """An empty file."""
    return b""


DAMAGES = [cut, change_a_copy, change_a_limit, no_base64, nothing]


def stop_before_restore(make: Make) -> tuple[Station, dict[str, t.Any]]:
    """A change that has to be put back, its engine dead in the middle of the wait; and what was there before."""
    station = make(SECOND_BAD)
    old = snapshot(station)
    assert not station.module(**SECOND_BAD.desired(station.root)).result["failed"]
    (clean,) = station.systemd.work(traced=True)
    number = next(call.number for call in clean.calls if call.name == "rename" and call.below(station.manifests))
    station = begin(make, SECOND_BAD)
    assert station.engine(Fault("rename", number + 2, "signal=KILL")).faults
    return station, old


@pytest.mark.parametrize("damage", DAMAGES)
def test_f44_a_damaged_journal_has_a_second_copy(make: Make, tally: Tally, damage: t.Callable[[bytes], bytes]) -> None:
    station, old = stop_before_restore(make)
    first = copies(station)[0]
    first.write_bytes(damage(first.read_bytes()))
    station.systemd.work()
    assert station.outcome() == ROLLED_BACK
    assert snapshot(station) == old
    assert any("second copy" in note for note in station.told("last_outcome", NAME)["notes"])
    tally("journal damaged", ROLLED_BACK)


@pytest.mark.parametrize("damage", DAMAGES)
def test_f44_with_both_copies_damaged_nothing_is_guessed(
    make: Make, tally: Tally, damage: t.Callable[[bytes], bytes]
) -> None:
    station, dummy = stop_before_restore(make)
    before = snapshot(station)
    for path in copies(station):
        path.write_bytes(damage(path.read_bytes()))
    (ended,) = station.systemd.work()
    assert ended.status == STUCK
    assert str(station.journal_path) in ended.result
    assert snapshot(station) == before
    result = station.module(**SECOND_BAD.desired(station.root)).result
    assert result["failed"]
    assert str(station.journal_path) in result["msg"]
    assert snapshot(station) == before
    tally("both journals damaged", "refused, nothing guessed")


def test_f45_a_last_known_good_that_is_damaged_twice_is_none(make: Make) -> None:
    station = make(SECOND_GOOD)
    (former,) = history_ids(str(station.state))
    assert not station.module(**SECOND_GOOD.desired(station.root)).result["failed"]
    station.systemd.work()
    newest = history_ids(str(station.state))[-1]
    assert station.told("describe_transactions", NAME)["last_known_good"] == newest
    for path in copies_of(str(station.state), newest):
        Path(path).write_bytes(change_a_copy(Path(path).read_bytes()))
    assert station.told("describe_transactions", NAME)["last_known_good"] == former


def test_f50_histories_are_bounded_and_keep_the_last_known_good(station: Station) -> None:
    desired: dict[str, t.Any] = {"wait_timeout": 6, "min_ready_seconds": 1}
    good = KEEP_HISTORY + 5
    for number in range(2, 2 + KEEP_HISTORY + 5):
        station.kubelet.behaviours = {
            f"--v={value}": QUICK if value in (1, 2) else HOPELESS for value in range(1, 2 + good)
        }
        wanted: dict[str, t.Any] = {**desired, "args": {"v": number}}
        station.accept(wanted)
        assert not station.module(**wanted).result["failed"]
        station.systemd.work()
        assert station.outcome() == (COMMITTED if number == 2 else ROLLED_BACK)
    ids = history_ids(str(station.state))
    assert len(ids) == KEEP_HISTORY + 1
    assert station.told("describe_transactions", NAME)["last_known_good"] == ids[0]
    assert "--v=2" in station.manifest.read_text(encoding="utf-8")
    assert len(os.listdir(station.state / "history")) <= 2 * (KEEP_HISTORY + 1)

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
from ansible_collections.nodecraft.kubeadm.tests.faults.fault_nodes import StaticPodNode
from ansible_collections.nodecraft.kubeadm.tests.faults.processes import ProcessResult
from ansible_collections.nodecraft.kubeadm.tests.faults.scenarios import (
    QUICK,
    SCENARIOS,
    UNREADY,
    Scenario,
    changing,
    leftovers,
    one_of_each,
    snapshot,
)
from ansible_collections.nodecraft.kubeadm.tests.faults.system_calls import Fault
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME

# How much longer a sleep takes where minutes pass: the fewer looks, the sooner a test is over.
LONG = 8.0
FIRST_GOOD, FIRST_BAD, SECOND_GOOD, SECOND_BAD = SCENARIOS


def begin_change(make_node: Make, scenario: Scenario) -> StaticPodNode:
    """The node of a scenario, with the journal of its change on the disk."""
    node = make_node(scenario)
    result = node.module(**scenario.desired(node.root)).result
    assert not result["failed"], result["msg"]
    return node


def once(node: StaticPodNode, key: str, start: str, action: t.Callable[[], object]) -> list[object]:
    """Do something once, while a process waits for the answer to a question. What it returned, when it was done."""
    done: list[object] = []

    def on_request(request: dict[str, t.Any]) -> None:
        argument = request.get(key)
        if (
            not done
            and argument is not None
            and (" ".join(argument) if isinstance(argument, list) else str(argument)).startswith(start)
        ):
            done.append(None)
            done[0] = action()

    node.on_request = on_request
    return done


# ---- two at once ---------------------------------------------------------------------------------------------------------


def test_f24_a_run_beside_another_run_is_refused(make_node: Make) -> None:
    node = make_node(FIRST_GOOD)
    desired = FIRST_GOOD.desired(node.root)
    second_run = once(node, "run", "systemctl start", lambda: node.module(traced=True, **desired))
    assert not node.module(**desired).result["failed"]
    (second,) = t.cast("list[ProcessResult]", second_run)
    assert second.result["failed"]
    assert "Run again" in second.result["msg"] or "run again" in second.result["msg"]
    assert [
        call for call in changing(second.calls, node) if call.name != "fsync" and not call.below(node.state / "lock")
    ] == []
    node.systemd.run_service()
    assert node.outcome() == COMMITTED


def test_f24_a_run_beside_an_engine_is_refused_with_who_requested_it(make_node: Make) -> None:
    node = begin_change(make_node, FIRST_GOOD)
    second_run = once(node, "sleep", "", lambda: node.module(**{**FIRST_GOOD.desired(node.root), "args": {"v": 9}}))
    node.systemd.run_service()
    (second,) = t.cast("list[ProcessResult]", second_run)
    assert second.result["failed"]
    assert "is open: transaction" in second.result["msg"]
    assert "started from" in second.result["msg"]
    assert node.outcome() == COMMITTED


def test_f24_two_engines_never_work_at_once(make_node: Make) -> None:
    node = begin_change(make_node, FIRST_GOOD)
    second_run = once(node, "sleep", "", lambda: node.engine(traced=True))
    (first,) = node.systemd.run_service()
    (second,) = t.cast("list[ProcessResult]", second_run)
    assert first.status == 0
    assert second.status not in (0, STUCK), "systemd starts it again, when the other may have ended badly"
    assert [
        call for call in changing(second.calls, node) if call.name != "fsync" and not call.below(node.state / "lock")
    ] == []
    assert node.outcome() == COMMITTED


# ---- full and broken disks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error"), [("write", "ENOSPC"), ("fsync", "EIO"), ("rename", "EROFS"), ("openat", "EMFILE")]
)
@pytest.mark.parametrize("scenario", [FIRST_GOOD, SECOND_BAD], ids=str)
def test_f20_f21_f22_a_disk_that_stays_broken_is_survived_once_it_is_well(
    make_node: Make, tally: Tally, scenario: Scenario, call: str, error: str
) -> None:
    node = begin_change(make_node, scenario)
    node.clock.pace = LONG  # the number of calls depends on what there is to tell, and so on the time that passes
    (clean,) = node.systemd.run_service(traced=True)
    numbers = sorted(found.number for found in one_of_each(changing(clean.calls, node)) if found.name == call)
    assert numbers
    for number in numbers[:: max(1, len(numbers) // 3)]:
        node = begin_change(make_node, scenario)
        old = snapshot(node)
        node.clock.pace = LONG
        ended = node.systemd.run_service(Fault(call, number, f"error={error}", lasting=True))
        assert ended[0].faults
        assert ended[-1].status == 0
        # An alarm is right where the time of a restore ran out with the disk still broken.
        assert node.outcome() in (scenario.outcome, ROLLED_BACK, ABORTED, ALARM)
        if node.outcome() in (ROLLED_BACK, ABORTED):
            assert snapshot(node) == old
        assert all(not path.startswith(str(node.manifests)) for path in leftovers(node))
        tally(f"engine {error}, lasting", str(node.outcome()))


def test_a_restore_waits_for_space(make_node: Make) -> None:
    """A full disk may get space: half a minute later, here."""
    node = begin_change(make_node, SECOND_BAD)
    old = snapshot(node)
    (clean,) = begin_and_trace(make_node, SECOND_BAD)
    # The second writing of the manifest is the restore's.
    opens = [call for call in clean.calls if call.name == "openat" and call.changes and call.below(node.manifests)]
    node = begin_change(make_node, SECOND_BAD)
    ended = node.systemd.run_service(Fault("openat", opens[1].number, "error=ENOSPC"))
    assert [len(process.faults) for process in ended] == [1]
    assert node.outcome() == ROLLED_BACK
    assert snapshot(node) == old


def begin_and_trace(make_node: Make, scenario: Scenario) -> list[ProcessResult]:
    """A change without a fault; its processes."""
    return begin_change(make_node, scenario).systemd.run_service(traced=True)


# ---- the end of a process ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["TERM", "HUP", "INT", "SEGV", "KILL"])
@pytest.mark.parametrize("scenario", [FIRST_GOOD, SECOND_BAD], ids=str)
def test_whatever_signal_ends_an_engine_systemd_starts_it_again(
    make_node: Make, tally: Tally, scenario: Scenario, name: str
) -> None:
    (clean,) = begin_and_trace(make_node, scenario)
    node = begin_change(make_node, scenario)
    number = next(call.number for call in clean.calls if call.name == "rename" and call.below(node.manifests))
    first, *others = node.systemd.run_service(Fault("rename", number, f"signal={name}"))
    assert first.status == -signal.Signals[f"SIG{name}"]
    assert [ended.status for ended in others] == [0]
    assert node.outcome() == scenario.outcome
    tally(f"engine ended by SIG{name}", scenario.outcome)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_a_node_that_is_restarted_goes_on_by_itself(make_node: Make, tally: Tally, scenario: Scenario) -> None:
    (clean,) = begin_and_trace(make_node, scenario)
    node = begin_change(make_node, scenario)
    number = next(call.number for call in clean.calls if call.name == "rename" and call.below(node.manifests))
    assert node.engine(Fault("rename", number + 1, "signal=KILL")).faults
    node.systemd.due = False
    for instance in list(node.kubelet.instances):
        node.kubelet.kill(instance)
    # The boot of this machine does not end with that of the node, so the journal becomes one of an earlier boot.
    journal, dummy = load_journal(str(node.state))
    save_journal(str(node.state), {**t.cast(Journal, journal), "boot": "the one before"})
    node.systemd.boot()
    node.systemd.run_service()
    assert node.outcome() == scenario.outcome
    tally("node restarted", scenario.outcome)


class Killed(Exception):
    """The process that asks ends here."""


def test_the_time_limit_holds_over_a_restart_of_the_engine(make_node: Make) -> None:
    node = make_node(FIRST_BAD)
    assert not node.module(**{**FIRST_BAD.desired(node.root), "wait_timeout": 60}).result["failed"]
    began = node.clock.now

    def die(request: dict[str, t.Any]) -> None:
        if node.clock.now >= began + 40:
            raise Killed

    node.on_request = die
    with pytest.raises(Killed):
        node.engine()
    node.on_request = lambda request: None
    node.systemd.run_service()
    assert node.outcome() == ROLLED_BACK
    assert node.clock.now - began == pytest.approx(60, abs=6)


def test_a_node_without_an_open_transaction_starts_no_engine_at_boot(make_node: Make) -> None:
    node = begin_change(make_node, FIRST_GOOD)
    node.systemd.run_service()
    node.systemd.boot()
    assert not node.systemd.due


def test_a_change_that_was_prepared_and_never_started_is_dropped_by_the_next_run(make_node: Make) -> None:
    """Its desired state may be stale: the next run has a desired state of its own."""
    node = begin_change(make_node, FIRST_GOOD)
    node.systemd.due = False
    desired = {**FIRST_GOOD.desired(node.root), "args": {"v": 2}}
    node.accept(desired)
    assert not node.module(**desired).result["failed"]
    node.systemd.run_service()
    assert node.outcome() == COMMITTED
    assert "--v=2" in node.manifest.read_text(encoding="utf-8")


def test_a_change_whose_engine_was_stopped_is_ended_by_the_next_run(make_node: Make) -> None:
    (clean,) = begin_and_trace(make_node, FIRST_BAD)
    node = begin_change(make_node, FIRST_BAD)
    old = snapshot(node)
    number = next(call.number for call in clean.calls if call.name == "rename" and call.below(node.manifests))
    assert node.engine(Fault("rename", number + 1, "signal=KILL")).faults
    node.systemd.due = False
    before = list(node.systemd.statuses)
    result = node.module(**{**FIRST_BAD.desired(node.root), "args": {"v": 1}, "volumes": None, "files": None}).result
    assert node.systemd.statuses == [*before, 0]
    assert not result["failed"], result["msg"]
    assert result["previous_transaction"]["outcome"] == ROLLED_BACK
    assert snapshot(node) == old


def test_an_engine_that_always_dies_leaves_the_decision_to_a_human(make_node: Make) -> None:
    node = begin_change(make_node, FIRST_GOOD)
    for dummy in range(MAX_ATTEMPTS):
        assert node.engine(Fault("rename", 2, "signal=KILL")).status == -signal.SIGKILL
    node.systemd.run_service()
    assert node.outcome() == ALARM
    assert f"started {MAX_ATTEMPTS} times" in node.query_history("last_outcome", NAME)["reason"]


# ---- journals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 99])
def test_f52_a_journal_of_another_version_is_refused_by_name_and_kept(make_node: Make, number: int) -> None:
    node = begin_change(make_node, FIRST_GOOD)
    old = snapshot(node)
    strange = json.dumps({**node.opened(), "format": number}).encode()
    for path in copies(node):
        path.write_bytes(strange)
    ended = node.engine(traced=True)
    assert ended.status == STUCK
    assert f"has format {number}" in ended.result
    node.systemd.due = False
    result = node.module(**FIRST_GOOD.desired(node.root)).result
    assert result["failed"]
    assert str(node.journal_path) in result["msg"]
    assert f"has format {number}" in result["msg"]
    assert [path.read_bytes() for path in copies(node)] == [strange, strange]
    assert snapshot(node) == old
    assert not node.systemd.due


def copies(node: StaticPodNode) -> list[Path]:
    """Where both copies of the open journal are."""
    return [Path(path) for path in copies_of(str(node.state))]


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


def stop_before_restore(make_node: Make) -> tuple[StaticPodNode, dict[str, t.Any]]:
    """A change that has to be put back, its engine dead in the middle of the wait; and what was there before."""
    node = make_node(SECOND_BAD)
    old = snapshot(node)
    assert not node.module(**SECOND_BAD.desired(node.root)).result["failed"]
    (clean,) = node.systemd.run_service(traced=True)
    number = next(call.number for call in clean.calls if call.name == "rename" and call.below(node.manifests))
    node = begin_change(make_node, SECOND_BAD)
    assert node.engine(Fault("rename", number + 2, "signal=KILL")).faults
    return node, old


@pytest.mark.parametrize("damage", DAMAGES)
def test_f44_a_damaged_journal_has_a_second_copy(
    make_node: Make, tally: Tally, damage: t.Callable[[bytes], bytes]
) -> None:
    node, old = stop_before_restore(make_node)
    first = copies(node)[0]
    first.write_bytes(damage(first.read_bytes()))
    node.systemd.run_service()
    assert node.outcome() == ROLLED_BACK
    assert snapshot(node) == old
    assert any("second copy" in note for note in node.query_history("last_outcome", NAME)["notes"])
    tally("journal damaged", ROLLED_BACK)


@pytest.mark.parametrize("damage", DAMAGES)
def test_f44_with_both_copies_damaged_nothing_is_guessed(
    make_node: Make, tally: Tally, damage: t.Callable[[bytes], bytes]
) -> None:
    node, dummy = stop_before_restore(make_node)
    before = snapshot(node)
    for path in copies(node):
        path.write_bytes(damage(path.read_bytes()))
    (ended,) = node.systemd.run_service()
    assert ended.status == STUCK
    assert str(node.journal_path) in ended.result
    assert snapshot(node) == before
    result = node.module(**SECOND_BAD.desired(node.root)).result
    assert result["failed"]
    assert str(node.journal_path) in result["msg"]
    assert snapshot(node) == before
    tally("both journals damaged", "refused, nothing guessed")


def test_f45_a_last_known_good_that_is_damaged_twice_is_none(make_node: Make) -> None:
    node = make_node(SECOND_GOOD)
    (former,) = history_ids(str(node.state))
    assert not node.module(**SECOND_GOOD.desired(node.root)).result["failed"]
    node.systemd.run_service()
    newest = history_ids(str(node.state))[-1]
    assert node.query_history("describe_transactions", NAME)["last_known_good"] == newest
    for path in copies_of(str(node.state), newest):
        Path(path).write_bytes(change_a_copy(Path(path).read_bytes()))
    assert node.query_history("describe_transactions", NAME)["last_known_good"] == former


def test_f50_histories_are_bounded_and_keep_the_last_known_good(node: StaticPodNode) -> None:
    desired: dict[str, t.Any] = {"wait_timeout": 6, "min_ready_seconds": 1}
    good = KEEP_HISTORY + 5
    for number in range(2, 2 + KEEP_HISTORY + 5):
        node.kubelet.behaviours = {
            f"--v={value}": QUICK if value in (1, 2) else UNREADY for value in range(1, 2 + good)
        }
        changed: dict[str, t.Any] = {**desired, "args": {"v": number}}
        node.accept(changed)
        assert not node.module(**changed).result["failed"]
        node.systemd.run_service()
        assert node.outcome() == (COMMITTED if number == 2 else ROLLED_BACK)
    ids = history_ids(str(node.state))
    assert len(ids) == KEEP_HISTORY + 1
    assert node.query_history("describe_transactions", NAME)["last_known_good"] == ids[0]
    assert "--v=2" in node.manifest.read_text(encoding="utf-8")
    assert len(os.listdir(node.state / "history")) <= 2 * (KEEP_HISTORY + 1)

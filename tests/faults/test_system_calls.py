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
from ansible_collections.nodecraft.kubeadm.tests.faults.fault_nodes import StaticPodNode
from ansible_collections.nodecraft.kubeadm.tests.faults.processes import ProcessResult
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

    module: ProcessResult
    engine: ProcessResult
    old: Snapshot
    new: Snapshot
    node: StaticPodNode

    @property
    def calls(self) -> list[Call]:
        """All that was done."""
        return self.module.calls + self.engine.calls


def begin_change(make_node: Make, scenario: Scenario) -> tuple[StaticPodNode, dict[str, t.Any]]:
    """The node of a scenario, and its desired state."""
    node = make_node(scenario)
    return node, scenario.desired(node.root)


# Each takes as long as two or three faults, and ends the same every time.
CLEAN: dict[Scenario, Clean] = {}


def run_clean(make_node: Make, scenario: Scenario) -> Clean:
    """The change without a fault, once in each process; what it leaves is what every other run is held against."""
    if scenario not in CLEAN:
        CLEAN[scenario] = _run_clean(make_node, scenario)
    return CLEAN[scenario]


def _run_clean(make_node: Make, scenario: Scenario) -> Clean:
    node, desired = begin_change(make_node, scenario)
    old = snapshot(node)
    module = node.module(traced=True, **desired)
    assert not module.result["failed"], module.result["msg"]
    (ended,) = node.systemd.run_service(traced=True)
    assert node.outcome() == scenario.outcome
    new = snapshot(node)
    assert (new != old) is scenario.works
    assert leftovers(node) == []
    return Clean(module, ended, old, new, node)


def assert_whole(node: StaticPodNode, clean: Clean, outcome: str | None) -> None:
    """All files are those of the outcome, and nothing else was left."""
    expected = clean.new if outcome == COMMITTED else clean.old
    assert snapshot(node) == expected
    assert leftovers(node) == []
    assert not node.systemd.due


def run_next(node: StaticPodNode, desired: dict[str, t.Any]) -> dict[str, t.Any]:
    """The next run of the module, with all that follows from it; its result."""
    result: dict[str, t.Any] = node.module(**desired).result
    assert not result["failed"], result["msg"]
    node.systemd.run_service()
    return result


def at(calls: t.Iterable[Call], node: StaticPodNode, name: str) -> list[int]:
    """The numbers of the calls of a name that are tried; a change that makes none has nothing to try, and another one makes it."""
    return sorted(call.number for call in one_of_each(changing(calls, node)) if call.name == name)


def test_each_kind_of_call_that_is_made_is_tried(make_node: Make) -> None:
    made: dict[str, set[str]] = {"module": set(), "engine": set()}
    for scenario in SCENARIOS:
        clean = run_clean(make_node, scenario)
        made["module"] |= {call.name for call in changing(clean.module.calls, clean.node)}
        made["engine"] |= {call.name for call in changing(clean.engine.calls, clean.node)}
    assert made == {"module": set(MODULE_CALLS), "engine": set(ENGINE_CALLS)}


@pytest.mark.parametrize("call", ENGINE_CALLS)
@pytest.mark.parametrize("scenario", TRIED, ids=str)
def test_an_engine_killed_at_any_call_is_finished_by_the_next(
    make_node: Make, tally: Tally, scenario: Scenario, call: str
) -> None:
    clean = run_clean(make_node, scenario)
    for number in at(clean.engine.calls, clean.node, call):
        node, desired = begin_change(make_node, scenario)
        assert not node.module(**desired).result["failed"]
        first, *others = node.systemd.run_service(Fault(call, number, "signal=KILL"))
        assert (first.status, len(first.faults)) == (-signal.SIGKILL, 1), f"{call} {number} was not reached"
        assert [ended.status for ended in others] == [0]
        assert node.outcome() == scenario.outcome
        assert_whole(node, clean, node.outcome())
        if scenario.works:
            assert run_next(node, desired)["changed"] is False
        tally("engine killed", scenario.outcome)


@pytest.mark.parametrize("call", MODULE_CALLS)
@pytest.mark.parametrize("scenario", [SCENARIOS[0], SCENARIOS[2]], ids=str)
def test_a_module_killed_at_any_call_is_made_good_by_the_next_run(
    make_node: Make, tally: Tally, scenario: Scenario, call: str
) -> None:
    clean = run_clean(make_node, scenario)
    for number in at(clean.module.calls, clean.node, call):
        node, desired = begin_change(make_node, scenario)
        killed = node.module(Fault(call, number, "signal=KILL"), **desired)
        assert (killed.status, len(killed.faults)) == (-signal.SIGKILL, 1), f"{call} {number} was not reached"
        assert snapshot(node) == clean.old, "the module itself changes nothing"
        run_next(node, desired)
        assert node.outcome() == COMMITTED
        assert_whole(node, clean, COMMITTED)
        tally("module killed", COMMITTED)


@pytest.mark.parametrize(
    ("call", "error"),
    # An empty directory of the collection that cannot be removed stays, and does no harm.
    [
        (call, error)
        for call in ENGINE_CALLS
        for error in ERRORS.get(call, ())[: None if WHOLE else 1]
        if call != "rmdir"
    ],
)
@pytest.mark.parametrize("scenario", TRIED, ids=str)
def test_an_error_at_any_call_of_the_engine_ends_whole(
    make_node: Make, tally: Tally, scenario: Scenario, call: str, error: str
) -> None:
    clean = run_clean(make_node, scenario)
    for number in at(clean.engine.calls, clean.node, call):
        node, desired = begin_change(make_node, scenario)
        assert not node.module(**desired).result["failed"]
        ended = node.systemd.run_service(Fault(call, number, f"error={error}"))
        assert len(ended[0].faults) == 1, f"{call} {number} was not reached"
        assert ended[-1].status == 0
        outcome = node.outcome()
        assert outcome in (scenario.outcome, ROLLED_BACK, ABORTED), (call, number, outcome)
        assert_whole(node, clean, outcome)
        tally(f"engine {error}", str(outcome))


@pytest.mark.parametrize(
    ("call", "error"),
    [(call, error) for call in MODULE_CALLS for error in ERRORS.get(call, ())[: None if WHOLE else 1]],
)
@pytest.mark.parametrize("scenario", [SCENARIOS[0], SCENARIOS[2]], ids=str)
def test_an_error_at_any_call_of_the_module_changes_nothing_or_does_all(
    make_node: Make, tally: Tally, scenario: Scenario, call: str, error: str
) -> None:
    clean = run_clean(make_node, scenario)
    for number in at(clean.module.calls, clean.node, call):
        node, desired = begin_change(make_node, scenario)
        failed = node.module(Fault(call, number, f"error={error}"), **desired)
        assert len(failed.faults) == 1, f"{call} {number} was not reached"
        assert failed.status == 0
        if failed.result["failed"]:
            assert str(node.root) in failed.result["msg"], "the error names a file"
            assert "nodecraft-kubeadm.nodecraft" not in failed.result["msg"]
            assert failed.result["changed"] is False
            assert not node.systemd.due
            assert snapshot(node) == clean.old
        run_next(node, desired)
        assert_whole(node, clean, COMMITTED)
        tally(f"module {error}", "refused" if failed.result["failed"] else "done all the same")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_each_step_is_on_the_disk_before_the_next(make_node: Make, scenario: Scenario) -> None:
    clean = run_clean(make_node, scenario)
    assert durability.unsynced_steps(clean.calls, clean.node.root) == []


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_the_kubelet_never_sees_a_file_that_is_being_written(make_node: Make, scenario: Scenario) -> None:
    clean = run_clean(make_node, scenario)
    assert any(call.below(clean.node.manifests) for call in clean.calls if call.name == "rename")
    assert durability.torn_writes(clean.calls, clean.node.manifests) == []


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_what_may_be_secret_is_never_readable_by_others(make_node: Make, scenario: Scenario) -> None:
    clean = run_clean(make_node, scenario)
    for directory in (clean.node.state, clean.node.root / "policies", clean.node.manifests):
        assert durability.readable_by_others(clean.calls, directory) == []


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_f48_files_stand_before_the_manifest_that_names_them(make_node: Make, scenario: Scenario) -> None:
    clean = run_clean(make_node, scenario)
    node = clean.node
    done = [call.paths[-1] for call in clean.engine.calls if call.name in ("rename", "unlink") and call.succeeded]
    change = done.index(str(node.manifest))
    written = [path for path in done[:change] if path.startswith(str(node.root / "policies"))]
    assert len(written) == 2, "both policy files are there before the manifest"
    gone = str(node.root / "policies" / "gone.yaml")
    assert gone not in done[:change], "and what goes away goes after it"
    assert (gone in done[change:]) is scenario.second

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who takes part in a rollout, whose turn it is, and what ends it."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import typed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.typed import ModuleResult
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.kubelet_results import KubeletHost
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import rollout
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.results import (
    ChangeResult,
    PartResult,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.rollout import StepResult
from ansible_collections.nodecraft.kubeadm.tests.unit.support.rollouts import (
    DONE,
    FAILED,
    IN_TURN,
    LOST,
    THIS_PASS,
    Json,
    host,
    made,
    refused,
    registered,
    results,
)

CHANGE: Json = {"field": "feature_gates", "key": "A", "before": None, "after": True}
SKIPPED: Json = {"begin": {"skipped": True}}
ENDED: Json = {"begin": {**THIS_PASS, "at_work": True}, "end": THIS_PASS}
EXCLUDED: Json = {"begin": {**THIS_PASS, "at_work": True, "excluded": "no route"}}
FORMER: Json = {"pass_id": "former"}


def every(hosts: t.Mapping[str, Json]) -> dict[str, KubeletHost]:
    return {name: results(registers) for name, registers in hosts.items()}


def parts(given: t.Mapping[str, Json]) -> dict[str, PartResult]:
    return {name: typed.parse(PartResult, each) for name, each in given.items()}


# ---- who takes part --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("registers", "at_work", "takes_part"),
    [
        (host(), True, True),
        (EXCLUDED, True, False),
        (SKIPPED, False, False),
        (ENDED, False, False),
        ({}, False, False),
    ],
)
def test_who_takes_part(registers: Json, at_work: bool, takes_part: bool) -> None:
    assert results(registers).is_at_work is at_work
    assert results(registers).takes_part is takes_part


def test_hosts_that_are_excluded_take_no_part() -> None:
    hosts = every({"w1": host(), "w2": EXCLUDED})
    assert list(rollout.participants(hosts)) == ["w1"]
    assert rollout.excluded_hosts(hosts) == {"w2": "no route"}


def test_the_first_host_that_takes_part_coordinates() -> None:
    hosts = every({"w0": SKIPPED, "w1": EXCLUDED, "w2": host("w2"), "w3": host("w3")})
    assert rollout.choose_coordinator(hosts.items()) == "w2"
    # One has to refuse a run that reaches no host.
    assert rollout.choose_coordinator(every({"w0": SKIPPED, "w1": EXCLUDED, "w2": EXCLUDED}).items()) == "w1"
    assert rollout.choose_coordinator([]) == ""


def test_hosts_are_read_no_further_than_the_coordinator() -> None:
    def hosts() -> t.Iterator[tuple[str, KubeletHost]]:
        yield "w1", results(host())
        raise AssertionError("w2 was read")

    assert rollout.choose_coordinator(hosts()) == "w1"
    assert rollout.choose_reporter(hosts()) == "w1"


def test_a_result_of_a_former_pass_is_none() -> None:
    assert results(host(turn=THIS_PASS)).of_pass("turn", StepResult) == typed.parse(StepResult, THIS_PASS)
    assert results(host(turn=FORMER)).of_pass("turn", StepResult) is None
    assert results(host()).of_pass("turn", StepResult) is None


# ---- before the first write ------------------------------------------------------------------------------------------


def test_a_host_that_is_lost_or_failed_to_plan_refuses_all() -> None:
    hosts = every({"w1": host(), "w2": host("w2", plan={"failed": True})})
    assert rollout.planning_refusal(hosts, ["w1"]).startswith("w2 failed or was lost while everything was planned.")
    assert rollout.planning_refusal(hosts, ["w1", "w2"]) == "w2 cannot be changed as planned."
    assert rollout.planning_refusal(every({"w1": host()}), ["w1"]) == ""
    ignored = every({"w1": host(), "w2": {**host(), "plan": {"unreachable": True}}})
    assert rollout.planning_refusal(ignored, ["w1", "w2"]).startswith("w2 failed or was lost")


def test_a_host_that_has_not_come_to_a_step_refuses_all() -> None:
    hosts = every({"w1": host(), "w2": host(decide=FORMER), "w3": SKIPPED, "w4": EXCLUDED})
    assert rollout.step_refusal(hosts, "decide").startswith("w2 is not planned yet, so this play does not keep")
    assert rollout.step_refusal(every({"w1": host()}), "decide") == ""


@dataclasses.dataclass(frozen=True)
class AnySettings:
    """Variables of any role."""

    a: t.Any = None
    b: t.Any = None


class AnyHost(rollout.HostResults[AnySettings, ModuleResult]):
    """A host with these."""

    settings_type = AnySettings


def with_settings(**hosts: Json) -> dict[str, AnyHost]:
    """Hosts by name. hosts: their settings."""
    return {name: AnyHost(host(settings=settings).__getitem__) for name, settings in hosts.items()}


def test_settings_that_differ_are_named_with_their_hosts() -> None:
    hosts = with_settings(w1={"a": 1, "b": 1}, w2={"a": 1, "b": 2})
    assert rollout.different_settings(hosts, ["a"]) == ""
    assert rollout.different_settings(hosts, ["a", "b"]) == (
        "b is 1 on w1 and 2 on w2. These variables must be the same on all hosts of the play."
    )


def test_a_setting_that_differs_by_being_false_is_found() -> None:
    hosts = with_settings(w1={"a": True}, w2={"a": False})
    assert rollout.different_settings(hosts, ["a"]).startswith("a is True on w1 and False on w2.")


@pytest.mark.parametrize(
    ("expected", "node", "is_refused"), [("", "w1", False), ("w1", "w1", False), ("x", "w1", True), ("x", None, False)]
)
def test_a_node_by_another_name_is_reported(expected: str, node: str | None, is_refused: bool) -> None:
    hosts = every({"h": host(plan={"node": node}, settings={"node_name": expected})})
    found = rollout.node_name_mismatch(hosts, "the_name")
    assert found == (
        "the_name of h is x, but its kubelet is registered as w1. Correct the variable or the address of the host."
        if is_refused
        else ""
    )


@pytest.mark.parametrize(
    ("size", "found"), [(1, [["c1"], ["c2"], ["w1"], ["w2"], ["w3"]]), (2, [["c1"], ["c2"], ["w1", "w2"], ["w3"]])]
)
def test_control_planes_are_changed_one_by_one_and_first(size: int, found: list[list[str]]) -> None:
    assert rollout.build_batches(["c1", "c2"], ["w1", "w2", "w3"], size) == found


# ---- a turn ----------------------------------------------------------------------------------------------------------

STATES = {
    "waiting": host(),
    "refused": host(**refused("w1")),
    "unfinished": host(**IN_TURN, change=made(changed=True)),
    "lost": host(**LOST),
    "failed": host(**FAILED),
    "done": host(**DONE),
}


@pytest.mark.parametrize(("name", "registers"), STATES.items())
def test_how_far_a_host_is(name: str, registers: Json) -> None:
    assert results(registers).state == name
    assert results(registers).has_started is (name not in ("waiting", "refused"))


def test_a_change_that_is_verified_in_vain_failed() -> None:
    assert results(host(**{**DONE, "verify": {**THIS_PASS, "failed": True}})).state == "failed"


def test_a_change_reports_by_its_loop_to_which_pass_it_belongs() -> None:
    changes = [{"ansible_loop_var": "__of", "__of": of, "item": {}, "changed": True} for of in (FORMER, THIS_PASS)]
    (found,) = results(host(**IN_TURN, change={"results": changes})).changes
    assert found == typed.parse(ChangeResult, {**changes[1], "item": THIS_PASS})


def test_a_turn_alone_is_no_beginning() -> None:
    former = {"results": [{"item": FORMER, "changed": True}, {"skipped": True}]}
    for registers in (host(**IN_TURN), host(**IN_TURN, change=former)):
        found = results(registers)
        assert found.state == "unfinished"
        assert not found.has_started
        assert found.changes == ()
        assert found.change is None


def test_a_turn_of_a_former_pass_reports_nothing() -> None:
    assert results(host(turn=FORMER, change=made(failed=True))).state == "waiting"


@pytest.mark.parametrize(
    ("before", "why"),
    [
        ({}, ""),
        ({"w1": host(**DONE)}, ""),
        ({"w1": host(**FAILED), "w2": host(**DONE)}, "w1 failed"),
        ({"w1": host(**refused("w0"))}, "w0 failed"),
    ],
)
def test_what_keeps_a_turn_from_beginning(before: Json, why: str) -> None:
    assert rollout.turn_refusal(every(before)) == why


@pytest.mark.parametrize("registers", [host(), host(**IN_TURN)])
def test_a_turn_waits_for_the_batch_before(registers: Json) -> None:
    assert rollout.turn_refusal(every({"w1": registers})).startswith(
        "w1 is not changed yet, so this play does not keep its hosts in"
    )


@pytest.mark.parametrize(
    ("hosts", "stopped"),
    [
        (["done", "waiting"], []),
        (["failed", "lost", "unfinished"], ["failed", "lost"]),
        (["done", "unfinished"], ["unfinished"]),
        (["refused", "done"], ["w1"]),
    ],
)
def test_who_stopped_a_rollout(hosts: list[str], stopped: list[str]) -> None:
    assert rollout.stopped_by(every({name: STATES[name] for name in hosts})) == stopped


def test_a_turn_that_is_refused_for_itself_stops_the_rollout() -> None:
    assert rollout.stopped_by(every({"w3": host(**refused())})) == ["w3"]


# ---- the end ---------------------------------------------------------------------------------------------------------


def test_the_first_host_that_was_not_lost_reports() -> None:
    assert rollout.choose_reporter(every({"w1": STATES["lost"], "w2": STATES["failed"]}).items()) == "w2"
    assert rollout.choose_reporter(every({"w1": STATES["lost"]}).items()) == ""


def test_what_is_reported_of_a_host_that_has_not_started() -> None:
    """The same of all, so that Ansible shows its error once."""
    found = rollout.not_started_result(["w1", "w2"])
    assert found == {"failed": True, "started": False, "changed": False, "msg": "Not changed, because w1, w2 failed."}
    assert rollout.not_started_result([])["msg"] == "Not changed, because the run ended before."
    assert rollout.not_planned_message(["w1"]) == "Not planned, because w1 failed."


@pytest.mark.parametrize(
    ("part", "is_left"),
    [
        ({"operations": [CHANGE]}, True),
        ({"operations": [CHANGE], "changed": True}, False),
        ({"operations": [CHANGE], "failed": True}, False),
        ({"operations": []}, False),
        ({}, False),
    ],
)
def test_what_was_to_change_and_did_not_is_left(part: Json, is_left: bool) -> None:
    found = rollout.parts_not_started(parts({"a": part, "b": {}}), ["w1"])
    assert {name: each.msg for name, each in found.items()} == (
        {"a": "Not changed, because w1 failed."} if is_left else {}
    )


@pytest.mark.parametrize(
    ("registers", "causes"),
    [
        ({"decide": {"failed": True, "msg": "no", "pass_id": "1"}}, ["no"]),
        ({"decide": {"failed": True, "msg": "no", "pass_id": "0"}}, []),
        ({"plan": {"unreachable": True, "msg": "gone"}}, ["gone"]),
        ({"plan": {"failed": True, "msg": "no"}}, ["no"]),
        (
            {"admit": {"results": [{"api_reachable": False, "pass_id": "1"}, {"failed": True, "pass_id": "1"}]}},
            ["no answer"],
        ),
        ({"verify": {"results": [{"failed": True, "msg": "a"}, {"failed": True, "msg": "a"}]}}, ["a"]),
        ({"turn": {"failed": True, "msg": "not now", "pass_id": "1"}}, []),
        ({"begin": {"failed": True, "msg": "not begun", "pass_id": "1"}}, ["not begun"]),
    ],
)
def test_why_steps_failed_on_a_host(registers: Json, causes: list[str]) -> None:
    host: rollout.HostResults[t.Any, t.Any] = rollout.HostResults(
        registered({"begin": {"pass_id": "1", "at_work": True}, **registers})
    )
    assert host.causes == causes


def test_the_outcomes_that_a_role_reported_are_acknowledged() -> None:
    earlier = {"previous_transaction": {"id": "7", "outcome": "committed"}}
    by_part: dict[str, Json] = {
        "etcd": earlier,
        "kube-apiserver": {**earlier, "transaction": {"id": "8", "outcome": "rolled_back"}},
        # Its end was not seen: the next run reports it.
        "kube-scheduler": {"transaction": {"id": "9", "outcome": None}},
        "kube-controller-manager": {"transaction": None, "previous_transaction": None},
        "kubeadm-config": {},
    }
    assert rollout.reported_transactions(parts(by_part)) == [
        {"name": "etcd", "id": "7"},
        {"name": "kube-apiserver", "id": "8"},
    ]

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who keeps other runs out of the control plane, when, and what a failed roll-out leaves; who is asked before each turn."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage

API_SERVER = "kube-apiserver"
# Nobody waits here.
BRISK: Json = {"__control_plane_look_again": 0, "__control_plane_look_retries": 1, "control_plane_busy_timeout": 3}

Play = t.Callable[..., Outcome]


@pytest.fixture(name="play")
def fixture_play(stage: Stage) -> Play:
    """Run the role in a play on cp1, cp2 ...; each host's behaviour is that of its API server, or a mapping of its stubs.

    variables: of all hosts.
    """

    def play(*hosts: t.Any, options: t.Sequence[str] = (), variables: Json | None = None, **keywords: t.Any) -> Outcome:
        def host(stubs: t.Any) -> Json:
            mapping = stubs if isinstance(stubs, dict) else {"api": stubs}
            named = {f"stub_{name}": value for name, value in mapping.items() if name != "api"}
            return {"stub": {API_SERVER: mapping["api"]}, **named, **(variables or {})}

        group = {f"cp{number}": host(stubs) for number, stubs in enumerate(hosts, start=1)}
        extra = f"--extra-vars={json.dumps(BRISK)}"
        keywords.setdefault("roles", [{"role": "nodecraft.kubeadm.control_plane"}])
        return stage.play({"kube_control_plane": group}, extra, *options, **keywords)

    return play


def course(outcome: Outcome) -> list[tuple[str, str]]:
    """What was asked of the Lease and changed on nodes, in its order."""
    steps = ("held", "renewed", "released", "halted", "change")
    return [(call["step"], call["host"]) for call in outcome.calls if call["step"] in steps]


def lease(outcome: Outcome, step: str) -> Json:
    """With what the Lease was asked for in one step."""
    (found,) = [call for call in outcome.calls if (call["component"], call["step"]) == ("lease", step)]
    return found


@pytest.mark.slice
def test_the_lease_is_taken_for_the_changes_and_renewed_before_each_turn(play: Play, confirm_url: str) -> None:
    wish = {
        "control_plane_wait_timeout": 400,
        "control_plane_confirm": True,
        "control_plane_confirm_url": confirm_url,
    }
    outcome = play("nothing", "changes", "changes", variables=wish)
    assert outcome.status == 0, outcome.output
    assert course(outcome) == [
        ("held", "cp1"),
        ("renewed", "cp2"),
        ("change", "cp2"),
        ("renewed", "cp3"),
        ("change", "cp3"),
        ("released", "cp1"),
    ]
    taken = lease(outcome, "held")
    arguments = taken["arguments"]
    assert (taken["asks"], taken["becomes"]) == ("cp1", True)
    assert int(arguments["duration"]) == 60 + 3 + 400 + 400 + 20 + 60 + 180
    assert (arguments["takeover"], arguments["resume"], arguments["open_transactions"]) == (False, False, [])
    assert [len(wish) for wish in arguments["wishes"]] == [16]
    holders = {call["arguments"]["holder"] for call in outcome.calls if call["component"] == "lease"}
    assert [holder.count("@") for holder in holders] == [1]
    change = next(call["arguments"] for call in outcome.calls if call["step"] == "change")
    assert (change["confirm"], change["confirm_url"]) == (True, confirm_url)
    assert not {"confirm_timeout", "confirm_ca_cert"} & set(change)
    released = lease(outcome, "released")["arguments"]
    assert released["completed"] is True
    # Every node is asked before each turn, before the first one by its plan.
    looks = [call for call in outcome.calls if call["step"] == "look"]
    assert sorted(call["asks"] for call in looks[:3]) == [call["asks"] for call in looks[3:]] == ["cp1", "cp2", "cp3"]


@pytest.mark.parametrize("keywords", [{}, {"ignore_errors": True}])
def test_two_clusters_are_refused_before_a_lease_is_taken(play: Play, keywords: Json) -> None:
    """Each would need its own: one that is taken in the name of the first host's cluster is never let go in the other."""
    outcome = play("changes", {"api": "changes", "cluster": "b"}, **keywords)
    assert course(outcome) == []
    assert [call for call in outcome.calls if call["component"] == "lease"] == []
    told = "belong to 2 clusters: cp1 (https://a:6443, authority a); cp2 (https://b:6443, authority b)."
    assert told in outcome.output
    assert "run each by itself, with --limit cp1 and --limit cp2." in outcome.output


def asked(outcome: Outcome) -> list[tuple[str, str, bool]]:
    """Which host asked for the Lease in which step, and whether as root."""
    return [(call["step"], call["asks"], call["becomes"]) for call in outcome.calls if call["component"] == "lease"]


def test_a_control_plane_that_has_no_turn_asks_with_its_own_admin_conf(play: Play) -> None:
    outcome = play("changes", "changes")
    assert outcome.status == 0, outcome.output
    assert asked(outcome) == [
        ("held", "cp1", True),
        ("renewed", "cp2", True),
        ("renewed", "cp1", True),
        ("released", "cp1", True),
    ]
    assert lease(outcome, "held")["arguments"]["cluster"] == {"ca_sha256": "a", "machine_ids": {"cp1": "", "cp2": ""}}


def test_with_one_control_plane_that_one_asks(play: Play) -> None:
    outcome = play("changes", variables={"ansible_become": False})
    assert asked(outcome) == [(step, "cp1", False) for step in ("held", "renewed", "released")]


def test_one_that_is_repaired_does_not_ask(play: Play) -> None:
    outcome = play({"api": "changes", "pods": {"kube-apiserver": "is down"}}, "nothing")
    assert {asker for _step, asker, _becomes in asked(outcome)} == {"cp2"}


def test_what_is_named_comes_before_admin_conf(play: Play, stage: Stage) -> None:
    """The first of them with become on all hosts, as it stands in an inventory."""
    outcome = play("changes", "nothing", variables={"ansible_become": True, "control_plane_api_host": "cp2"})
    assert asked(outcome) == [(step, "cp2", True) for step in ("held", "renewed", "released")]
    stage.environment["K8S_AUTH_KUBECONFIG"] = "/here"
    outcome = play("changes", variables={"ansible_become": True})
    assert asked(outcome)[3:] == [(step, "localhost", False) for step in ("held", "renewed", "released")]


def test_no_lease_without_a_change_or_a_wish_for_one(play: Play) -> None:
    outcome = play("nothing", "nothing")
    assert outcome.status == 0, outcome.output
    assert [call for call in outcome.calls if call["component"] in ("lease", "pods")] == []
    assert course(play("changes", variables={"control_plane_lease": False})) == [("change", "cp1")]


def test_check_mode_only_looks_at_it(play: Play) -> None:
    outcome = play({"api": "changes", "lease": {"held": "overtaken"}}, "changes", options=["--check"])
    assert outcome.status == 0, outcome.output
    assert "the Lease would be taken over from them." in outcome.output
    assert course(outcome) == []
    assert outcome.hosts("look", "lease") == ["cp1"]
    assert outcome.hosts("plan", API_SERVER).count("cp2") == 2


@pytest.mark.parametrize(
    ("ending", "told"), [("restored", "the former state was put back"), ("lost", "it was lost in the middle")]
)
def test_a_failed_roll_out_leaves_its_mark(play: Play, ending: str, told: str) -> None:
    outcome = play("changes", ending, "changes")
    assert outcome.status != 0
    assert course(outcome)[-2:] == [("change", "cp2"), ("halted", "cp1")]
    arguments = lease(outcome, "halted")["arguments"]
    assert arguments["node"] == "cp2"
    assert told in arguments["reason"]
    assert arguments["wishes"] == lease(outcome, "held")["arguments"]["wishes"]


def test_a_plan_older_than_another_run_is_made_anew(play: Play) -> None:
    outcome = play({"api": ["changes", "nothing"], "lease": {"held": "overtaken"}}, ["changes", "changes", "changes"])
    assert outcome.status == 0, outcome.output
    assert "the Lease is taken over from them." in outcome.output
    assert sorted(outcome.hosts("plan", API_SERVER)) == ["cp1", "cp1", "cp2", "cp2"]
    assert course(outcome) == [("held", "cp1"), ("renewed", "cp2"), ("change", "cp2"), ("released", "cp1")]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("silent", "set control_plane_lease: false"),
        ("stranger", "set control_plane_lease: false"),
        ("gone", "set control_plane_lease: false"),
        ("refused", "a roll-out of the same wish failed on cp1."),
    ],
)
def test_without_the_lease_nothing_is_changed(play: Play, answer: str, told: str) -> None:
    stubs = {"api": "changes", "lease": {"held": answer}}
    outcome = play(stubs, "changes", ignore_errors=answer == "refused", any_errors_fatal=answer == "gone")
    assert course(outcome) == [("held", "cp1")]
    assert told in " ".join(outcome.output.split())


def test_a_node_alone_may_be_repaired_without_an_api(play: Play) -> None:
    outcome = play({"api": "changes", "lease": {"held": "silent"}, "pods": {API_SERVER: "is down"}})
    assert outcome.status == 0, outcome.output
    assert course(outcome) == [("held", "cp1"), ("change", "cp1")]
    assert "WARNING: going on without the Lease" in outcome.output


@pytest.mark.parametrize("down", [True, False])
def test_where_others_are_left_out_and_no_api_answers_only_a_repair_goes_on(play: Play, *, down: bool) -> None:
    stubs = {"api": "changes", "lease": {"held": "silent"}, "pods": {API_SERVER: "is down"} if down else {}}
    outcome = play(stubs, "changes", options=["--limit=cp1"])
    assert course(outcome) == [("held", "cp1"), *([("change", "cp1")] if down else [])]
    told = "see to it that nobody changes cp2 meanwhile" if down else "set control_plane_lease: false"
    assert told in " ".join(outcome.output.split())


def test_those_left_out_are_known_by_the_group_that_the_inventory_names(stage: Stage) -> None:
    host = {"stub": {API_SERVER: "changes"}, "stub_lease": {"held": "silent"}, "kube_control_plane_group": "masters"}
    role = {"role": "nodecraft.kubeadm.control_plane"}
    outcome = stage.play({"masters": {"cp1": host, "cp2": host}}, "--limit=cp1", roles=[role])
    assert course(outcome) == [("held", "cp1")]
    assert "set control_plane_lease: false" in " ".join(outcome.output.split())


def test_a_limited_run_takes_the_lease(play: Play) -> None:
    outcome = play("changes", "changes", options=["--limit=cp2"])
    assert outcome.status == 0, outcome.output
    assert course(outcome) == [("held", "cp2"), ("renewed", "cp2"), ("change", "cp2"), ("released", "cp2")]


def test_a_lease_that_was_lost_ends_the_roll_out(play: Play) -> None:
    outcome = play("changes", {"api": "changes", "lease": {"renewed": "refused"}})
    assert outcome.status != 0
    assert course(outcome) == [
        ("held", "cp1"),
        ("renewed", "cp1"),
        ("change", "cp1"),
        ("renewed", "cp2"),
        ("released", "cp1"),
    ]
    assert lease(outcome, "released")["arguments"]["completed"] is False


@pytest.mark.parametrize("answer", ["stale", "overtaken"])
def test_a_lease_that_another_run_held_meanwhile_ends_the_roll_out(play: Play, answer: str) -> None:
    outcome = play({"api": "changes", "lease": {"renewed": answer}})
    assert outcome.status != 0
    assert course(outcome) == [("held", "cp1"), ("renewed", "cp1"), ("released", "cp1")]
    assert int(lease(outcome, "renewed")["arguments"]["planned_ago"]) >= 0
    assert lease(outcome, "released")["arguments"]["completed"] is False
    assert "cp1 was not changed, because the Lease of this run had run out" in outcome.output


def test_a_node_that_is_not_ready_keeps_others_from_their_turn(play: Play) -> None:
    outcome = play("changes", {"api": "nothing", "pods": {"etcd": "runs, not ready yet"}})
    assert outcome.status != 0
    assert course(outcome) == [("held", "cp1"), ("released", "cp1")]
    assert "etcd on cp2 runs, not ready yet" in outcome.output


def test_a_node_that_is_lost_while_it_is_asked_ends_the_roll_out(play: Play) -> None:
    outcome = play("changes", {"api": "changes", "pods": {"gone": 1}}, "changes")
    assert outcome.status != 0
    assert [host for step, host in course(outcome) if step == "change"] == ["cp1"]
    assert "cp3 was not changed, because cp2 failed or was lost." in outcome.output
    assert lease(outcome, "released")["arguments"]["completed"] is False


def test_a_node_that_gets_ready_is_waited_for(play: Play) -> None:
    outcome = play(
        "changes", {"api": "nothing", "pods": {"etcd": ["starts", "starts", ""], "kube-scheduler": "is down"}}
    )
    assert outcome.status == 0, outcome.output
    assert ("change", "cp1") in course(outcome)


def test_a_node_that_is_to_be_changed_is_waited_for_too_before_and_after_its_turn(play: Play) -> None:
    weak = {"api": "changes", "pods": {API_SERVER: ["", "starts", "", "starts", ""]}}
    outcome = play(weak, weak)
    assert outcome.status == 0, outcome.output
    assert [host for step, host in course(outcome) if step == "change"] == ["cp1", "cp2"]


def test_what_is_down_is_repaired_first(play: Play) -> None:
    down = {API_SERVER: ["is down", "is down", ""]}
    outcome = play("changes", {"api": "changes", "pods": {**down, "etcd": "open"}})
    assert outcome.status == 0, outcome.output
    assert [host for step, host in course(outcome) if step == "change"] == ["cp2", "cp1"]
    assert lease(outcome, "held")["arguments"]["open_transactions"] == ["etcd on cp2 (waiting)"]


def test_a_busy_node_is_waited_for(play: Play) -> None:
    outcome = play(["busy", "changes", "busy", "changes"])
    assert outcome.status == 0, outcome.output
    assert outcome.hosts("change", API_SERVER) == ["cp1", "cp1"]


def test_a_node_that_stays_busy_is_no_failed_wish(play: Play) -> None:
    outcome = play(["changes", "busy"], "changes")
    assert outcome.status != 0
    assert course(outcome)[-1] == ("released", "cp1")
    assert "cp2" not in outcome.hosts("change", API_SERVER)


@pytest.mark.parametrize("trouble", ["silent", "gone"])
def test_a_lease_that_cannot_be_let_go_fails_nothing(play: Play, trouble: str) -> None:
    outcome = play({"api": "changes", "lease": {"released": trouble}}, any_errors_fatal=True)
    assert outcome.status == 0, outcome.output
    assert "WARNING: the Lease is still held by" in outcome.output

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a run keeps others out of the control plane, and how nodes are observed before each turn, on a real play."""

from __future__ import annotations

import json
import re
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage

API_SERVER = "kube-apiserver"
ROLE = {"role": "nodecraft.kubeadm.control_plane"}
# There is no wait here.
BRISK: Json = {"__control_plane_poll_interval": 0, "__control_plane_poll_retries": 1, "control_plane_lock_timeout": 3}

Play = t.Callable[..., Outcome]


@pytest.fixture(name="play")
def fixture_play(stage: Stage) -> Play:
    """Run the role in a play on cp1, cp2 ...; each host's behaviour is that of its API server, or a mapping of its stubs.

    variables: of all hosts.
    """

    def play(*hosts: t.Any, variables: Json | None = None) -> Outcome:
        def host(stubs: t.Any) -> Json:
            mapping = stubs if isinstance(stubs, dict) else {"api": stubs}
            named = {f"stub_{name}": value for name, value in mapping.items() if name != "api"}
            return {"stub": {API_SERVER: mapping["api"]}, **named, **(variables or {})}

        group = {f"cp{number}": host(stubs) for number, stubs in enumerate(hosts, start=1)}
        extra = f"--extra-vars={json.dumps(BRISK)}"
        return stage.play({"kube_control_plane": group}, extra, roles=[ROLE])

    return play


def role_run(outcome: Outcome) -> list[tuple[str, str]]:
    """Requests for the Lease and changes of nodes, in their order."""
    steps = ("held", "renewed", "released", "halted", "change")
    return [(call["step"], call["host"]) for call in outcome.calls if call["step"] in steps]


def lease(outcome: Outcome, step: str) -> Json:
    """The arguments of the Lease in one step."""
    (found,) = [call for call in outcome.calls if (call["component"], call["step"]) == ("lease", step)]
    return found


@pytest.mark.slice
def test_the_lease_is_taken_for_the_changes_and_renewed_before_each_turn(play: Play, confirm_url: str) -> None:
    desired = {
        "control_plane_wait_timeout": 400,
        "control_plane_confirm": True,
        "control_plane_confirm_url": confirm_url,
        "control_plane_force": True,
        "control_plane_restore_removed": True,
    }
    outcome = play("nothing", "changes", "changes", variables=desired)
    assert outcome.status == 0, outcome.output
    assert role_run(outcome) == [
        ("held", "cp1"),
        ("renewed", "cp2"),
        ("change", "cp2"),
        ("renewed", "cp3"),
        ("change", "cp3"),
        ("released", "cp1"),
    ]
    # A control plane that has no turn sends the requests with its own admin.conf.
    leases = [call for call in outcome.calls if call["component"] == "lease"]
    assert {(call["machine"], call["becomes"]) for call in leases} == {("cp1", True)}
    arguments = lease(outcome, "held")["arguments"]
    assert arguments["cluster"] == {"ca_sha256": "a", "machine_ids": {"cp1": "", "cp2": "", "cp3": ""}}
    assert int(arguments["duration"]) == 60 + 3 + 400 + 400 + 20 + 60 + 180 + 2 * (400 + 90)
    assert (arguments["takeover"], arguments["resume"], arguments["open_transactions"]) == (False, False, [])
    assert [len(desired) for desired in arguments["intents"]] == [16]
    holders = {call["arguments"]["holder"] for call in outcome.calls if call["component"] == "lease"}
    assert [holder.count("@") for holder in holders] == [1]
    change = next(call["arguments"] for call in outcome.calls if call["step"] == "change")
    assert (change["confirm"], change["confirm_url"]) == (True, confirm_url)
    assert not {"confirm_timeout", "confirm_ca_cert"} & set(change)
    arguments = [call["arguments"] for call in outcome.calls if call["step"] in ("plan", "change")]
    assert [(each["force"], each["restore_removed"]) for each in arguments] == [(True, True)] * len(arguments)
    released = lease(outcome, "released")["arguments"]
    assert released["completed"] is True
    # Every node is observed before each turn, before the first one by its plan.
    reads = [call for call in outcome.calls if call["step"] == "read"]
    assert (
        sorted(call["machine"] for call in reads[:3])
        == [call["machine"] for call in reads[3:]]
        == ["cp1", "cp2", "cp3"]
    )


def test_a_plan_older_than_another_run_is_made_again(play: Play) -> None:
    outcome = play({"api": ["changes", "nothing"], "lease": {"held": "overtaken"}}, ["changes", "changes", "changes"])
    assert outcome.status == 0, outcome.output
    assert "the Lease is taken over from them." in outcome.output
    assert "already in use" not in " ".join(outcome.output.split())
    assert sorted(outcome.hosts("plan", API_SERVER)) == ["cp1", "cp1", "cp2", "cp2"]
    assert role_run(outcome) == [("held", "cp1"), ("renewed", "cp2"), ("change", "cp2"), ("released", "cp1")]
    (report,) = outcome.reports
    assert "cp1 kube-apiserver: meanwhile another run: + --v=5, as this run was to" in report
    assert "cp2 kube-apiserver: another run" not in report


def test_those_excluded_are_known_by_the_group_that_the_inventory_names(stage: Stage) -> None:
    host = {"stub": {API_SERVER: "changes"}, "stub_lease": {"held": "silent"}, "kube_control_plane_group": "masters"}
    outcome = stage.play({"masters": {"cp1": host, "cp2": host}}, "--limit=cp1", roles=[ROLE])
    assert role_run(outcome) == [("held", "cp1")]
    assert "set control_plane_lease: false" in " ".join(outcome.output.split())


def test_a_node_that_is_not_ready_keeps_others_from_their_turn(play: Play) -> None:
    outcome = play("changes", {"api": "nothing", "pods": {"etcd": "runs, not ready yet"}})
    assert outcome.status != 0
    assert role_run(outcome) == [("held", "cp1"), ("released", "cp1")]
    assert "etcd on cp2 runs, not ready yet" in outcome.output


def test_a_node_that_gets_ready_or_is_busy_is_waited_for(play: Play) -> None:
    starts = {"etcd": ["starts", "starts", ""], "kube-scheduler": "is down"}
    outcome = play(["busy", "changes", "busy", "changes"], {"api": "nothing", "pods": starts})
    assert outcome.status == 0, outcome.output
    assert outcome.hosts("change", API_SERVER) == ["cp1", "cp1"]


def test_a_node_that_is_away_for_a_moment_is_requested_again(play: Play) -> None:
    outcome = play("changes", "changes", {"api": "nothing", "pods": {"etcd": ["", "gone", ""]}})
    assert outcome.status == 0, outcome.output
    assert outcome.hosts("change", API_SERVER) == ["cp1", "cp2"]


def test_a_node_that_stays_away_is_named_by_the_turn_that_is_refused(play: Play) -> None:
    outcome = play("changes", "changes", {"api": "nothing", "pods": {"etcd": ["", "gone"]}})
    assert outcome.status != 0
    assert outcome.hosts("change", API_SERVER) == ["cp1"]
    # Of cp2's turn: one observation, and the one retry of BRISK.
    assert [call["machine"] for call in outcome.calls if call["step"] == "read"].count("cp3") == 3
    why = "Not changed, because not all API servers and etcds are ready"
    assert re.findall(rf'^fatal: \[(\w+) -> .*"msg": "{why}', outcome.output, re.MULTILINE) == ["cp2"]
    (report,) = outcome.reports
    (line,) = [line for line in report.splitlines() if why in line]
    assert line.startswith("cp2: ")
    assert "cp3 could not be checked (gone)" in line


def test_what_is_down_is_repaired_first(play: Play) -> None:
    down = {API_SERVER: ["is down", "is down", ""]}
    outcome = play("changes", {"api": "changes", "pods": {**down, "etcd": "open"}})
    assert outcome.status == 0, outcome.output
    assert [host for step, host in role_run(outcome) if step == "change"] == ["cp2", "cp1"]
    assert lease(outcome, "held")["arguments"]["open_transactions"] == ["etcd on cp2 (waiting)"]

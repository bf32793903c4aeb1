# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is changed when, and what is reported: the role as it is, run by Ansible, with a module that changes nothing."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Outcome, Stage

API_SERVER = "kube-apiserver"
ROLE = {"role": "nodecraft.kubeadm.control_plane"}


def planned(outcome: Outcome) -> list[str]:
    """The hosts whose API server was planned, in their order."""
    return outcome.hosts("plan", API_SERVER)


def changed(outcome: Outcome) -> list[str]:
    """The hosts whose API server was changed, in their order."""
    return outcome.hosts("change", API_SERVER)


Play = t.Callable[..., Outcome]


@pytest.fixture(name="play")
def fixture_play(stage: Stage) -> Play:
    """Run the role in a play on cp1, cp2 and cp3; C(stub) says what each does for kube-apiserver. variables: of all hosts."""

    def play(
        *stub: t.Any,
        roles: t.Sequence[dict[str, t.Any]] = (ROLE,),
        options: t.Sequence[str] = (),
        variables: t.Mapping[str, t.Any] | None = None,
        **keywords: t.Any,
    ) -> Outcome:
        own = variables or {}
        hosts = {f"cp{number}": {"stub": {API_SERVER: each}, **own} for number, each in enumerate(stub, start=1)}
        return stage.play({"kube_control_plane": hosts}, *options, roles=list(roles), **keywords)

    return play


@pytest.mark.slice
def test_all_are_planned_and_then_changed_one_after_the_other(play: Play) -> None:
    outcome = play("changes", "nothing", "changes")
    assert outcome.status == 0, outcome.output
    assert sorted(planned(outcome)) == ["cp1", "cp2", "cp3"]
    assert changed(outcome) == ["cp1", "cp3"]
    (report,) = outcome.reports
    assert "cp1 kube-apiserver: committed" in report
    assert "cp2: nothing to change" in report
    assert "cp3 kube-apiserver: committed" in report
    assert "kubeadm upgrade" in report


def test_the_last_changes_of_named_static_pods_are_taken_back(play: Play) -> None:
    asked = {"control_plane_feature_gates": {"A": True}, "control_plane_components": {API_SERVER: {"args": {"v": 4}}}}
    named = {"control_plane_state": "previous", "control_plane_static_pods": f"etcd,{API_SERVER}"}
    outcome = play("changes", vars={**asked, **named})
    assert outcome.status == 0, outcome.output
    done = [call for call in outcome.calls if call["step"] in ("plan", "change")]
    assert [call["component"] for call in done] == ["etcd", API_SERVER, API_SERVER]
    given = done[-1]["arguments"]
    assert (given["state"], given["purge"], given["force"]) == ("previous", False, False)
    assert not {"feature_gates", "args", "files"} & set(given)


def test_force_reaches_the_plan_and_the_change(play: Play) -> None:
    outcome = play("changes", vars={"control_plane_force": True, "control_plane_restore_removed": True})
    assert outcome.status == 0, outcome.output
    forced = [
        call["arguments"]["force"] and call["arguments"]["restore_removed"]
        for call in outcome.calls
        if call["step"] in ("plan", "change")
    ]
    assert forced
    assert all(forced)


@pytest.mark.slice
def test_a_refusal_keeps_every_node_from_a_change(play: Play) -> None:
    outcome = play("changes", "changes", "refused")
    assert outcome.status != 0
    assert changed(outcome) == []


@pytest.mark.parametrize(
    ("stub", "ending"), [("restored", "restored"), ("lost", "lost"), ("unseen", "end not seen; rehearsal accepted")]
)
def test_a_failure_leaves_later_nodes_untouched_and_is_reported(play: Play, stub: str, ending: str) -> None:
    outcome = play("changes", stub, "changes")
    assert outcome.status != 0
    assert changed(outcome) == ["cp1", "cp2"]
    (report,) = outcome.reports
    assert "cp1 kube-apiserver: committed" in report
    assert f"cp2 kube-apiserver: {ending}" in report
    assert "cp3 kube-apiserver: not begun; rehearsal accepted" in report
    assert '"msg": "cp3 was not changed, because cp2 failed or was lost."' in outcome.output
    assert "run again with --limit cp2,cp3" in report
    found = outcome.statistics["control_plane_report"]
    assert [(found[host][API_SERVER]["failed"], found[host][API_SERVER].get("begun")) for host in ("cp1", "cp3")] == [
        (False, None),
        (True, False),
    ]


@pytest.mark.parametrize("stub", [("restored", "changes", "changes"), ("refused", "changes", "changes")])
def test_nothing_is_changed_behind_a_failure_that_is_ignored(play: Play, stub: tuple[str, str, str]) -> None:
    outcome = play(*stub, ignore_errors=True)
    assert changed(outcome) in (["cp1"], [])
    # Some releases of ansible-core end the play all the same.
    assert outcome.status != 0 or "cp2 was not changed, because cp1 failed or was lost." in outcome.output


def test_a_play_that_does_not_keep_its_hosts_in_step_is_refused(play: Play) -> None:
    outcome = play("changes", "changes", "changes", strategy="free")
    assert outcome.status != 0
    assert len(changed(outcome)) <= 1
    assert "invalid strategy free: must be linear" in outcome.output


def test_a_batch_is_not_changed_without_the_nodes_of_the_others(play: Play) -> None:
    outcome = play("changes", "changes", serial=1)
    assert outcome.status != 0
    assert changed(outcome) == []
    assert "Nothing was changed on cp1, because serial keeps cp2 out" in outcome.output
    outcome = play("nothing", "changes", serial=2)
    assert (outcome.status, changed(outcome)) == (0, ["cp2"])


def test_batches_with_nothing_to_change_end_well_and_report_for_themselves(play: Play) -> None:
    outcome = play("nothing", "nothing", serial=1)
    assert outcome.status == 0, outcome.output
    assert [f"cp{number}" in report for number, report in enumerate(outcome.reports, 1)] == [True, True]


def test_a_second_pass_tells_of_those_that_take_part(play: Play) -> None:
    outcome = play("changes", "changes", roles=[ROLE, {**ROLE, "when": "inventory_hostname == 'cp2'"}])
    assert outcome.status == 0, outcome.output
    first, second = outcome.reports
    assert "cp1" in first
    assert "cp1" not in second
    assert "cp2" in second


def test_a_node_that_the_play_has_lost_stops_it(play: Play) -> None:
    outcome = play(
        "changes", "changes", pre_tasks=[{"ansible.builtin.fail": {}, "when": "inventory_hostname == 'cp1'"}]
    )
    assert outcome.status != 0
    assert planned(outcome) == []
    assert "failed, could not be reached or were ended earlier in this play cannot be planned (cp1)" in outcome.output


def test_the_hosts_that_are_left_reach_the_desired_state(play: Play) -> None:
    stubs: list[t.Any] = ["changes", ["changes", "restored", "changes"], "changes"]
    assert "run again with --limit cp2,cp3" in play(*stubs).reports[0]
    outcome = play(*stubs, options=["--limit=cp2,cp3"])
    assert outcome.status == 0, outcome.output
    assert changed(outcome) == ["cp1", "cp2", "cp2", "cp3"]


@pytest.mark.slice
def test_what_a_role_costs_is_counted(play: Play) -> None:
    """Tasks that began, also skipped ones and includes, and modules that ran. The first host asks the API, and has the first turn."""
    assert play("nothing", "nothing", "nothing").tasks == {"cp1": 11, "cp2": 11, "cp3": 11}
    assert play("changes", "changes", "changes").tasks == {"cp1": 19, "cp2": 20, "cp3": 20}


def test_turns_keep_their_order_with_one_process(play: Play) -> None:
    outcome = play("changes", "restored", "changes", options=["--forks=1"])
    assert changed(outcome) == ["cp1", "cp2"]
    (report,) = outcome.reports
    assert "cp3 kube-apiserver: not begun" in report


@pytest.mark.slice
def test_other_variables_of_a_host_do_not_matter(play: Play) -> None:
    """Neither one that is not defined nor one that cannot be decrypted."""
    vaulted = {"__ansible_vault": "$ANSIBLE_VAULT;1.1;AES256\n3030\n"}
    outcome = play("changes", "changes", variables={"unrelated": "{{ not_there }}", "secret": vaulted})
    assert outcome.status == 0, outcome.output
    assert changed(outcome) == ["cp1", "cp2"]

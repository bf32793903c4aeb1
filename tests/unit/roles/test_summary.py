# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user sees last, and which host has failed, with the callbacks and in the plays that users have."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage

KUBELET, NODES = "nodecraft.kubeadm.node_kubelet", "nodecraft.kubeadm.node_resources"
CHANGES: Json = {"stub": {"kubelet": "changes"}}
GONE: Json = {"stub_kubelet_info": "gone", "stub": {"kubelet": "gone"}}
CHANGED = "Changed: 2 operations on 2 of 2 nodes; rehearsed: 2 kubelets"


def two(variables: Json) -> dict[str, Json]:
    return {"kube_control_plane": {"cp1": variables}, "kube_node": {"w1": variables}}


def before_recap(outcome: Outcome) -> list[str]:
    """The last lines that are no result of a host."""
    lines = outcome.output.partition("\nPLAY RECAP")[0].splitlines()
    return [line for line in lines if line and not line.startswith(("ok: ", "fatal: ", "skipping: "))]


@pytest.mark.parametrize("shows_ok", ["true", "false"])
@pytest.mark.parametrize("callback", ["default", "minimal", "oneline"])
def test_the_summary_is_the_last_screen_whatever_a_callback_shows(stage: Stage, callback: str, shows_ok: str) -> None:
    stage.environment.update(ANSIBLE_STDOUT_CALLBACK=callback, ANSIBLE_DISPLAY_OK_HOSTS=shows_ok)
    outcome = stage.play(two(CHANGES), roles=[KUBELET])
    assert outcome.status == 0, outcome.output
    assert outcome.output.splitlines().count(CHANGED) == 1
    if callback == "default":
        assert before_recap(outcome)[-1].startswith("  cp1, w1  kubelet  + --v=5  (committed; away up to ")
    else:
        behind = outcome.output.partition(f"{CHANGED}\n")[2].splitlines()
        assert behind[1].startswith("cp1 | SUCCESS => {")


@pytest.mark.parametrize(
    ("worker", "options", "last"),
    [({"stub": {"kubelet": "refused"}}, (), "Failed: w1 failed; "), (CHANGES, ("--check",), "Apply: ")],
    ids=["refused", "check"],
)
@pytest.mark.parametrize("callback", ["minimal", "oneline", "jsonl"])
def test_a_refusal_and_a_plan_end_with_what_to_do_whatever_a_callback_shows(
    stage: Stage, callback: str, worker: Json, options: tuple[str, ...], last: str
) -> None:
    stage.environment.update(ANSIBLE_STDOUT_CALLBACK=callback, ANSIBLE_DISPLAY_OK_HOSTS="false")
    outcome = stage.play(
        {"kube_control_plane": {"cp1": CHANGES}, "kube_node": {"w1": worker}}, *options, roles=[KUBELET]
    )
    lines = outcome.output.splitlines()
    if callback == "jsonl":
        results = [json.loads(line) for line in outcome.output.strip().splitlines()]
        (lines,) = (each["lines"] for each in results if each.get("lines"))
    assert sum(line.startswith(last) for line in lines) == 1


@pytest.mark.slice
def test_a_callback_for_programs_gets_no_line_more_and_the_same_in_a_result(stage: Stage) -> None:
    stage.environment["ANSIBLE_STDOUT_CALLBACK"] = "jsonl"
    outcome = stage.play(two(CHANGES), roles=[KUBELET])
    results = [json.loads(line) for line in outcome.output.splitlines() if line.startswith("{")]
    assert len(results) == len(outcome.output.strip().splitlines()), outcome.output
    summary = next(each for each in results if "outcome" in each)
    assert (summary["lines"][0], summary["outcome"]) == (CHANGED, "changed")
    assert summary["hosts"]["w1"] == {"changed": 1, "pending": 0, "failed": False}


def test_a_terminal_of_sixty_columns_gets_the_same_lines(stage: Stage) -> None:
    stage.environment.update(COLUMNS="60", NO_COLOR="1")
    outcome = stage.play(two(CHANGES), roles=[KUBELET])
    assert CHANGED in outcome.output.splitlines()
    assert "\x1b[" not in outcome.output


def recap(outcome: Outcome) -> dict[str, dict[str, int]]:
    """What the recap counts, by host."""
    lines = outcome.output.partition("PLAY RECAP")[2].splitlines()[1:]
    counts = (line.split(":") for line in lines if " ok=" in line)
    return {
        host.strip(): {key: int(number) for key, number in (each.split("=") for each in numbers.split())}
        for host, numbers in counts
    }


def named(behaviour: str) -> dict[str, Json]:
    """Three nodes on which the module of labels behaves in this way."""

    def host(name: str) -> Json:
        return {
            "node_resources_node_name": name,
            "node_resources_labels": {"a": "b"},
            "stub_nodes": {"node_label": behaviour},
        }

    return {"kube_control_plane": {"cp1": host("cp1")}, "kube_node": {"w1": host("w1"), "w2": host("w2")}}


@pytest.mark.slice
def test_each_host_has_what_became_of_its_node(stage: Stage) -> None:
    """Although one of them has sent everything. What was not done has failed: a run with these hosts reaches the desired state."""
    outcome = stage.play(named("refuses w2"), roles=[NODES])
    assert {host: (each["failed"], each["changed"]) for host, each in recap(outcome).items()} == {
        "cp1": (1, 0),
        "w1": (1, 0),
        "w2": (1, 0),
    }
    assert 'fatal: [w2]: FAILED! => {"changed": false, "msg": "w2: there is no node of this name' in outcome.output
    for host in ("cp1", "w1"):
        assert (
            f'fatal: [{host}]: FAILED! => {{"changed": false, "msg": "Not changed, because w2 failed."'
            in outcome.output
        )
    again = stage.play(named("changes"), "--limit=cp1,w1,w2", roles=[NODES])
    assert {host: (each["failed"], each["changed"]) for host, each in recap(again).items()} == {
        "cp1": (0, 1),
        "w1": (0, 1),
        "w2": (0, 1),
    }


def test_each_host_has_its_own_diff(stage: Stage) -> None:
    outcome = stage.play(named("changes"), "--diff", roles=[NODES])
    assert outcome.output.count("--- before: node/w1") == 1
    assert outcome.output.count("--- before: node/w2") == 1


def test_forty_hosts_that_did_not_begin_are_few_lines(stage: Stage) -> None:
    hosts: dict[str, Json] = {f"w{number:02}": CHANGES for number in range(1, 41)}
    groups: dict[str, Json] = {
        "kube_control_plane": {"cp1": {"stub": {"kubelet": "rolled_back"}}},
        "kube_node": hosts,
    }
    stage.environment["ANSIBLE_DISPLAY_OK_HOSTS"] = "false"
    outcome = stage.play(groups, "--forks=10", roles=[KUBELET])
    assert outcome.status == 2
    output = outcome.output.rpartition("TASK [nodecraft.kubeadm.node_kubelet : Change the kubelet]")[2]
    behind = output.partition("PLAY RECAP")[0].splitlines()
    assert len(behind) <= 100
    # The change itself, the step that ends the turn for it, and the outcome.
    assert output.count("Origin: ") <= 3
    assert before_recap(outcome)[-1].startswith(
        "Failed: cp1 failed; rolled back: kubelet on cp1; 40 nodes did not begin."
    )
    assert {each["failed"] for each in recap(outcome).values()} == {1}


@pytest.mark.parametrize(("fails", "status", "last"), [("yes", 2, "Pending: "), ("", 0, "Apply: ")])
def test_a_drift_may_fail_the_run(stage: Stage, fails: str, status: int, last: str) -> None:
    option = [f"--extra-vars=nodecraft_kubeadm_fail_on_pending={fails}"] if fails else []
    outcome = stage.playbook("site", two({**CHANGES, "node_kubelet_config": {}}), "--check", *option)
    assert outcome.status == status, outcome.output
    (report,) = outcome.reports
    assert report.splitlines()[-1].startswith(last)
    assert outcome.statistics["nodecraft_kubeadm_pending"] == 2
    assert {host: each["failed"] for host, each in recap(outcome).items() if host != "localhost"} == {
        "cp1": int(bool(fails)),
        "w1": int(bool(fails)),
    }


def test_behind_a_plan_that_is_refused_nothing_was_changed_and_nothing_secret_is_shown(stage: Stage) -> None:
    headers: Json = {"node_kubelet_config": {"staticPodURLHeader": {"Authorization": ["sesame"]}}}
    groups = {
        "kube_control_plane": {"cp1": {**CHANGES, **headers}},
        "kube_node": {"w1": {"stub": {"kubelet": "refused"}, **headers}},
    }
    outcome = stage.play(groups, roles=[KUBELET])
    assert outcome.status == 2
    assert {host: (each["failed"], each["changed"]) for host, each in recap(outcome).items()} == {
        "cp1": (1, 0),
        "w1": (1, 0),
    }
    (report,) = outcome.reports
    assert report.splitlines()[0] == "Nothing was changed on 2 nodes"
    assert report.splitlines()[-1].startswith("Failed: w1 failed; 1 node did not begin.")
    assert "sesame" not in outcome.output


def test_a_host_that_cannot_be_reached_is_named_and_what_was_not_planned_fails(stage: Stage) -> None:
    groups = two({**CHANGES, "node_kubelet_config": {}})
    groups["kube_node"] = {"w1": groups["kube_node"]["w1"], "w2": GONE}
    outcome = stage.playbook("site", groups)
    assert outcome.status != 0
    (report,) = outcome.reports
    assert report.splitlines()[-1].startswith("Failed: w2 failed")
    found = recap(outcome)
    assert (found["w1"]["failed"], found["cp1"]["failed"]) == (1, 1)


def test_a_play_with_another_strategy_is_refused_with_a_summary(stage: Stage) -> None:
    outcome = stage.play(two(CHANGES), roles=[KUBELET], strategy="free")
    assert outcome.status == 2
    assert "invalid strategy free: must be linear" in outcome.output
    assert "Failed: " in outcome.output


def test_where_no_host_is_reached_ansible_itself_has_the_last_word(stage: Stage) -> None:
    outcome = stage.playbook("site", two({**GONE, "node_kubelet_config": {}}))
    assert outcome.status != 0
    assert "ok=0" not in outcome.output.partition("PLAY RECAP")[2] or "unreachable=1" in outcome.output


def test_what_all_hosts_are_refused_with_is_reported_once(stage: Stage) -> None:
    workers: dict[str, Json] = {f"w{number:02}": CHANGES for number in range(1, 40)}
    groups: dict[str, Json] = {"kube_control_plane": {"cp1": CHANGES}, "kube_node": workers}
    stage.environment["ANSIBLE_DISPLAY_OK_HOSTS"] = "false"
    outcome = stage.play(groups, "--forks=10", roles=[KUBELET], vars={"node_kubelet_confgi": {"a": 1}})
    assert outcome.status == 2
    assert outcome.output.count("Origin: ") <= 1
    assert len(outcome.output.partition("PLAY RECAP")[0].splitlines()) <= 100
    lines = before_recap(outcome)
    assert len(lines) - lines.index("Nothing was changed on 40 nodes") == 3


def test_a_strategy_that_lets_every_host_end_by_itself_reports_once(stage: Stage) -> None:
    outcome = stage.play(two(CHANGES), roles=[KUBELET], strategy="free")
    assert outcome.output.splitlines().count("Nothing was changed on 2 nodes") == 1

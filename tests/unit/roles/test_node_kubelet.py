# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role on a real play: what Ansible makes of its files, keywords and failures. What is decided, unit tests of the steps hold
(tests/unit/plugins/plugin_utils/_controller/test_node_kubelet_rollout_pass.py)."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage

ROLE = {"role": "nodecraft.kubeadm.node_kubelet"}
REJECTED = {"rejected": {"w2": [{"pod": "default/picky", "reason": "selects nodes with disk=fast"}]}}
SETTINGS = {"node_kubelet_config": {"maxPods": 50}}

Play = t.Callable[..., Outcome]


def planned(outcome: Outcome) -> list[str]:
    """The hosts whose kubelet was planned, in their order."""
    return outcome.hosts("plan", "kubelet")


def changed(outcome: Outcome) -> list[str]:
    """The hosts whose kubelet was changed, in their order."""
    return outcome.hosts("change", "kubelet")


def batches(outcome: Outcome) -> list[set[str]]:
    """The hosts whose kubelet was changed before the API was queried again, batch by batch."""
    found: list[set[str]] = [set()]
    for call in outcome.calls:
        if call["step"] == "change":
            found[-1].add(call["host"])
        elif call["step"] == "query" and found[-1]:
            found.append(set())
    return [batch for batch in found if batch]


def api_arguments(outcome: Outcome) -> list[dict[str, t.Any]]:
    """The queries of single nodes, in their order."""
    found = [call["arguments"] for call in outcome.calls if call["step"] == "query"]
    return [arguments for arguments in found if arguments.keys() & {"nodes", "restarted_nodes", "kubelets"}]


@pytest.fixture(name="play")
def fixture_play(stage: Stage) -> Play:
    """Run the role on cp1, and on w1, w2 and w3.

    stub: what each does. api: what the API answers. options: of ansible-playbook. each: variables of single hosts.
    """

    def play(
        *stub: str,
        api: dict[str, t.Any] | None = None,
        options: t.Sequence[str] = (),
        roles: t.Sequence[dict[str, t.Any]] = (ROLE,),
        each: t.Mapping[str, dict[str, t.Any]] | None = None,
        **keywords: t.Any,
    ) -> Outcome:
        names = ["cp1", "w1", "w2", "w3"][: len(stub)]
        hosts = {
            name: {"stub": {"kubelet": behaviour}, "stub_api": api or {}, **(each or {}).get(name, {})}
            for name, behaviour in zip(names, stub, strict=True)
        }
        workers = {name: variables for name, variables in hosts.items() if name != "cp1"}
        groups = {"kube_control_plane": {"cp1": hosts["cp1"]}, "kube_node": workers}
        return stage.play(groups, *options, roles=list(roles), **keywords)

    return play


ALL = ("changes", "changes", "changes", "changes")


def test_with_serial_later_batches_are_not_forgotten(play: Play) -> None:
    """They are not failed, so a limit to those that are would miss them."""
    outcome = play("changes", "rolled_back", "changes", "changes", serial=1)
    assert (outcome.status, changed(outcome)) == (2, ["cp1", "w1"])
    (last,) = [line for line in outcome.output.splitlines() if line.startswith("Failed: ")]
    assert last.endswith("; 2 nodes of later batches did not begin. Run the same command again when that is repaired.")


def test_a_host_beyond_the_forks_is_planned_although_others_have_failed_by_then(play: Play) -> None:
    """Ansible takes failed hosts out of the play while the task goes on."""
    outcome = play("changes", "refused", "changes", "changes", options=["--forks=1"])
    assert sorted(planned(outcome)) == ["cp1", "w1", "w2", "w3"]
    assert "Failed: w1 failed; 3 nodes did not begin." in outcome.output
    assert not changed(outcome)


# ---- whose turn it is ------------------------------------------------------------------------------------------------


@pytest.mark.slice
def test_all_are_planned_and_changed_one_after_the_other(play: Play) -> None:
    outcome = play("changes", "changes", "nothing", "changes")
    assert outcome.status == 0, outcome.output
    assert sorted(planned(outcome)) == ["cp1", "w1", "w2", "w3"]
    assert changed(outcome) == ["cp1", "w1", "w3"]
    (report,) = outcome.reports
    assert report.splitlines() == [
        "Changed: 3 operations on 3 of 4 nodes; rehearsed: 3 kubelets",
        "cp1, w1, w3 kubelet + --v=5 (committed; away up to 1.0 s; 6 pods, 0 lost, 0 restarted)",
        "1 other node: nothing to change",
    ]


def test_control_planes_come_one_by_one_whatever_their_group_is_called(stage: Stage) -> None:
    """Settings of control planes need not be defined on the worker that settings, which is first here."""
    own: Json = {"control_plane_components": {"kube-apiserver": {"args": {"x": "{{ of_planes }}"}}}}

    def hosts(*names: str, **variables: t.Any) -> dict[str, t.Any]:
        return {name: {"stub": {"kubelet": "changes"}, **own, **variables} for name in names}

    planes = hosts("m1", "m2", "m3", stub_control_plane=True, of_planes="y")
    groups = {"a_group": hosts("w1", "w2"), "masters": planes}
    outcome = stage.play(groups, roles=[ROLE], vars={"node_kubelet_max_unavailable": 2, **SETTINGS})
    assert outcome.status == 0, outcome.output
    assert batches(outcome) == [{"m1"}, {"m2"}, {"m3"}, {"w1", "w2"}]


def test_workers_are_changed_in_batches_behind_the_control_plane(play: Play) -> None:
    outcome = play("changes", "changes", "rolled_back", "changes", vars={"node_kubelet_max_unavailable": 2})
    assert outcome.status != 0
    assert changed(outcome)[0] == "cp1"
    assert sorted(changed(outcome)[1:]) == ["w1", "w2"]
    (report,) = outcome.reports
    headline, *lines = report.splitlines()
    assert headline == "Changed: 2 operations on 2 of 4 nodes; rehearsed: 4 kubelets"
    assert lines[:3] == [
        "cp1, w1 kubelet + --v=5 (committed; away up to 1.0 s; 4 pods, 0 lost, 0 restarted)",
        "w2 kubelet + --v=5 (rolled back; away 1.0 s)",
        "w3: Not changed, because w2 failed.",
    ]
    assert lines[-1] == (
        "Failed: w2 failed; rolled back: kubelet on w2; 1 node did not begin."
        " To continue when that is repaired, run again with --limit w2,w3"
    )
    kubelet = outcome.statistics["node_kubelet_report"]["w3"]
    assert (kubelet["failed"], kubelet["started"], kubelet["msg"]) == (True, False, "Not changed, because w2 failed.")


def test_nothing_is_changed_behind_a_failure_that_is_ignored(play: Play) -> None:
    outcome = play("rolled_back", "changes", ignore_errors=True)
    assert changed(outcome) == ["cp1"]
    assert '"msg": "Not changed, because cp1 failed."' in outcome.output
    (report,) = outcome.reports
    lines = report.splitlines()
    assert lines[:3] == [
        "Nothing was changed on 2 nodes",
        "cp1 kubelet + --v=5 (rolled back; away 1.0 s)",
        "w1: Not changed, because cp1 failed.",
    ]
    assert lines[-1].startswith("Failed: cp1 failed; rolled back: kubelet on cp1; 1 node did not begin.")


def test_a_second_pass_reports_those_that_take_part(play: Play) -> None:
    outcome = play(*ALL, roles=[ROLE, {**ROLE, "when": "inventory_hostname == 'w2'"}], vars=SETTINGS)
    assert outcome.status == 0, outcome.output
    first, second = outcome.reports
    assert first.splitlines()[0] == "Changed: 4 operations on 4 of 4 nodes; rehearsed: 4 kubelets"
    assert "cp1, w1, w2, w3 kubelet" in first
    headline, *lines = second.splitlines()
    assert headline == "Changed: 1 operation on 1 of 1 node; rehearsed: 1 kubelet"
    assert [line.partition(" kubelet")[0] for line in lines] == ["w2"]
    assert changed(outcome) == ["cp1", "w1", "w2", "w3", "w2"]
    # A host that takes part settings, not the first one of the play.
    assert [call["host"] for call in outcome.calls if call["step"] == "query"][-2:] == ["w2", "w2"]


def test_a_second_pass_that_fails_is_reported_too(play: Play) -> None:
    others = {name: {"stub": {"kubelet": ["changes", "changes", "changes", "rolled_back"]}} for name in ("w1", "w2")}
    in_second = {**ROLE, "when": "inventory_hostname in ['w1', 'w2']"}
    outcome = play("nothing", "changes", "changes", roles=[ROLE, in_second], each=others, vars=SETTINGS)
    assert outcome.status != 0
    first, second = outcome.reports
    assert first.splitlines()[0] == "Changed: 2 operations on 2 of 3 nodes; rehearsed: 2 kubelets"
    headline, *lines = second.splitlines()
    assert headline == "Nothing was changed on 2 nodes"
    assert lines[:2] == ["w1 kubelet + --v=5 (rolled back; away 1.0 s)", "w2: Not changed, because w1 failed."]
    assert lines[-1].startswith("Failed: w1 failed; rolled back: kubelet on w1; 1 node did not begin.")
    assert outcome.output.count("Failed: ") == 1


# ---- what stops it before the first write ----------------------------------------------------------------------------


def test_a_play_that_does_not_keep_its_hosts_in_sync_is_refused(play: Play) -> None:
    outcome = play(*ALL, strategy="free")
    assert outcome.status != 0
    assert (planned(outcome), changed(outcome)) == ([], [])
    assert (
        "invalid strategy free: must be linear, because a turn begins only when every host has planned."
        in outcome.output
    )


def test_what_is_requested_reaches_the_module(play: Play, confirm_url: str) -> None:
    settings = {
        **SETTINGS,
        "node_kubelet_purge": False,
        "node_kubelet_confirm": True,
        "node_kubelet_confirm_url": confirm_url,
    }
    outcome = play("nothing", "changes", vars=settings)
    assert outcome.status == 0, outcome.output
    (change,) = [call["arguments"] for call in outcome.calls if call["step"] == "change"]
    assert (change["state"], change["purge"], change["config"], change["force"]) == (
        "present",
        False,
        {"maxPods": 50},
        False,
    )
    assert (change["confirm"], change["confirm_url"]) == (True, confirm_url)
    assert not {"confirm_timeout", "confirm_ca_cert"} & set(change)
    # With that its running kubelet is compared then.
    assert api_arguments(outcome)[-1]["kubelets"] == {"w1": {"feature_gates": {}, "config": {"maxPods": 50}}}


# ---- a run without control planes ------------------------------------------------------------------------------------


def test_a_run_without_control_planes_is_reported(stage: Stage) -> None:
    node = {"stub": {"kubelet": "changes"}, "stub_api": {"control_planes": ["c1", "c2"]}}
    outcome = stage.play({"workers": {"w1": {**node, "control_plane_feature_gates": {}}}}, roles=[ROLE])
    assert outcome.status == 0, outcome.output
    output = " ".join(outcome.output.split())
    assert "[WARNING]: no host of this run is a control plane, and the cluster has c1, c2." in output
    assert "the inventory has none in the group kube_control_plane" in output
    assert changed(outcome) == ["w1"]


# ---- hosts that cannot be reached, and nodes that are not in the run -------------------------------------------------

GONE = {"stub_kubelet_info": "gone", "stub": {"kubelet": "gone"}}


def test_a_worker_that_cannot_be_reached_may_be_excluded(play: Play) -> None:
    api = {"control_planes": ["cp1"], "others": ["w9", "w1"]}
    limit = {"node_kubelet_max_unreachable": 1, **SETTINGS}
    outcome = play(*ALL, each={"w2": GONE}, api=api, vars=limit, any_errors_fatal=True)
    assert outcome.status == 0, outcome.output
    assert changed(outcome) == ["cp1", "w1", "w3"]
    (report,) = outcome.reports
    assert "w2: skipped, because it cannot be reached" in report
    assert "not in this run: w9" in report
    reports = outcome.statistics["node_kubelet_report"]
    assert reports["w2"]["unreachable"] is True
    assert reports["w2"]["msg"].startswith("skipped, because it cannot be reached: ")
    assert sorted(reports) == ["cp1", "w1", "w2", "w3"]


# ---- what the API knows ----------------------------------------------------------------------------------------------


def test_pods_that_would_not_come_back_keep_every_node_from_a_change(play: Play) -> None:
    outcome = play("changes", "changes", "changes", api=REJECTED)
    assert outcome.status != 0
    assert changed(outcome) == []
    assert (
        "kubelet of w2 would reject pods that run there: default/picky (selects nodes with disk=fast)."
        in outcome.output
    )
    assert "set node_kubelet_force to true to lose them" in outcome.output
    (report,) = outcome.reports
    lines = report.splitlines()
    assert lines[:3] == [
        "Nothing was changed on 3 nodes",
        "w2 kubelet + --v=5 (failed)",
        "w1: Not changed, because cp1 failed.",
    ]
    assert lines[-1].startswith("Failed: cp1, w2 failed; 1 node did not begin.")
    # Each of them has failed once, with its own message.
    counts = re.findall(r"^(\w+) +: .* failed=(\d)", outcome.output, re.MULTILINE)
    assert dict(counts) == {"cp1": "1", "w1": "1", "w2": "1"}
    assert "fatal: [w2]: FAILED! => {" in outcome.output


def test_the_next_control_plane_is_queried_where_the_first_cannot_be_reached(stage: Stage) -> None:
    """Ansible counts a host that cannot be reached among the errors, also where a task says to ignore it."""
    planes: Json = {"m1": {"stub_machine": "gone"}, "m2": {}}
    groups: dict[str, Json] = {"kube_control_plane": planes, "kube_node": {"w1": {"stub": {"kubelet": "changes"}}}}
    outcome = stage.play(groups, hosts="kube_node", roles=[ROLE], any_errors_fatal=True)
    assert outcome.status == 0, outcome.output
    assert {call["machine"] for call in outcome.calls if call["step"] == "query"} == {"m2"}
    assert changed(outcome) == ["w1"]


# ---- what device plugins offer ---------------------------------------------------------------------------------------

# There is no sleep between two count_queries, of which there are three.
BRISK = ["-e", '{"__node_kubelet_poll_interval": 0, "node_kubelet_allocatable_timeout": 2}']


def count_queries(outcome: Outcome, node: str) -> int:
    """How often the API was queried for this node alone after its kubelet was restarted, which is with the pods that ran there before."""
    return sum(call.get("nodes") == [node] and "running_before" in call for call in api_arguments(outcome))


def test_a_restarted_kubelet_is_waited_for_until_it_offers_its_devices_again(play: Play) -> None:
    """The controller sends the requests, as the user that runs Ansible, whatever the play and the inventory set for all hosts."""
    each = {name: {"ansible_become": True} for name in ("cp1", "w1", "w2")}
    named = {"node_kubelet_api_host": "localhost"}
    # Two queries come before the restart: that of the admission, and that of the turn at the pods.
    devices = {"devices": {"w1": [4, 4, 0, 3, 4]}}
    outcome = play("changes", "changes", "changes", api=devices, options=BRISK, each=each, vars=named, become=True)
    assert outcome.status == 0, outcome.output
    assert changed(outcome) == ["cp1", "w1", "w2"]
    # What offered nothing before is not waited for: the one query is for its pods.
    assert [count_queries(outcome, name) for name in ("cp1", "w1", "w2")] == [1, 3, 1]
    assert {(call["machine"], call["becomes"]) for call in outcome.calls if call["step"] == "query"} == {
        ("localhost", False)
    }

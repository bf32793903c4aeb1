# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user's play may set around the roles: its keywords, and how its hosts are reached."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.tests.unit.support.device_plugin_role import OURS, D
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage

KUBELET: Json = {"role": "nodecraft.kubeadm.node_kubelet"}
WRITERS = ["placement_guard", "k8s"]


def kubelets(stage: Stage, *behaviour: str, **keywords: t.Any) -> Outcome:
    """Run the role node_kubelet on cp1, w1, w2 and so on."""
    names = ["cp1", *(f"w{number}" for number in range(1, len(behaviour)))]
    hosts = {name: {"stub": {"kubelet": each}} for name, each in zip(names, behaviour, strict=True)}
    groups = {"kube_control_plane": {"cp1": hosts.pop("cp1")}, "kube_node": hosts}
    return stage.play(groups, **{"roles": [KUBELET], **keywords})


# ---- keywords --------------------------------------------------------------------------------------------------------


def test_the_check_mode_of_a_play_is_that_of_its_roles(stage: Stage) -> None:
    roles = [{"role": f"nodecraft.kubeadm.{name}"} for name in ("placement_guard", "device_plugin")]
    variables = {"placement_guard_resources": [D], **OURS}
    outcome = stage.play({"kube_control_plane": {"cp1": {}}}, roles=roles, vars=variables, check_mode=True)
    assert outcome.status == 0, outcome.output
    writes = [(call["component"], call["step"]) for call in outcome.calls if call["component"] in WRITERS]
    assert writes == [(name, "plan") for name in WRITERS]


def test_turns_come_in_the_order_of_the_play_and_leave_nothing_behind(stage: Stage, tmp_path: Path) -> None:
    """Batches of the play, the other order, and modules that are put on the hosts, because there is no pipelining."""
    how: Json = {"order": "reverse_inventory", "serial": 2, "vars": {"ansible_pipelining": False}}
    outcome = kubelets(stage, "changes", "changes", "changes", "changes", **how)
    assert outcome.status == 0, outcome.output
    assert outcome.hosts("change", "kubelet") == ["w3", "w2", "cp1", "w1"]
    # Each batch has its own report.
    assert [[line.split(" ")[0] for line in text.splitlines()[:2]] for text in outcome.reports] == [
        ["Changed:", "w3,"],
        ["Changed:", "w1,"],
    ]
    # They have their arguments in them, with the credentials for the API.
    assert not list((tmp_path / "remote").iterdir())


def test_a_pass_that_does_not_begin_is_not_taken_for_the_one_before(stage: Stage) -> None:
    name = "control_plane"
    role = {"name": f"nodecraft.kubeadm.{name}"}
    wrong = {f"{name}_stat": "absent", f"{name}_feature_gates": '{"A": true}'}
    tasks = [{"include_role": role}, {"include_role": role, "vars": wrong}]
    groups: Json = {"kube_control_plane": {"cp1": {"stub": {"kube-apiserver": "changes"}}}}
    outcome = stage.play(groups, tasks=tasks, vars={"control_plane_feature_gates": {"A": True}})
    assert outcome.status != 0
    assert f"The role {name} does not know {name}_stat (did you mean {name}_state?)" in outcome.output
    assert f"invalid {name}_feature_gates: must be a mapping, not text" in outcome.output
    # Its own failure is the only one, and what the pass before has changed is not reported a second time.
    assert outcome.output.count("FAILED!") == 1
    first, second = outcome.reports
    assert first.splitlines()[0] == "Changed: 1 operation on 1 of 1 node; rehearsed: kube-apiserver"
    headline, *causes, last = second.splitlines()
    assert headline == "Nothing was changed on 1 node"
    assert [cause.partition(" The role")[0] for cause in causes] == ["cp1: Nothing was changed."]
    assert last == "Failed: cp1 failed. Run the same command again when that is repaired."


def test_a_role_that_begins_in_the_middle_is_refused(stage: Stage) -> None:
    outcome = stage.play(
        {"kube_control_plane": {"cp1": {"stub": {"kubelet": "changes"}}}},
        "--start-at-task=Decide the order of the turns",
        roles=[KUBELET],
    )
    assert outcome.status != 0
    assert "Nothing was changed: the role node_kubelet has not begun." in outcome.output
    assert not outcome.calls


def test_summary_of_a_role_that_did_not_begin_is_refused(stage: Stage) -> None:
    hosts: Json = {host: {"stub": {"kubelet": "changes"}} for host in ("cp1", "cp2")}
    outcome = stage.play(
        {"kube_control_plane": hosts}, "--start-at-task=Show the outcome of all nodes", roles=[KUBELET]
    )
    assert outcome.status == 2, outcome.output
    assert "Nothing was looked at. The first task was skipped." in outcome.output
    assert "Nothing to change" not in outcome.output
    skipped = stage.play({"kube_control_plane": hosts}, roles=[{**KUBELET, "when": False}])
    assert (skipped.status, "".join(skipped.reports)) == (0, "")


def test_one_host_does_not_plan_for_all(stage: Stage) -> None:
    hosts: Json = {host: {"stub": {"kubelet": "changes"}} for host in ("cp1", "cp2")}
    outcome = stage.play({"kube_control_plane": hosts}, roles=[{**KUBELET, "run_once": True}])
    assert outcome.status != 0
    assert "Nothing was changed. invalid run_once true: must be false" in outcome.output
    assert not outcome.calls


def test_no_host_is_changed_in_the_name_of_another(stage: Stage) -> None:
    """Ansible itself refuses the keyword at an include, and hands on what the include applies."""
    hosts: Json = {host: {"stub": {"kubelet": "changes"}} for host in ("cp1", "cp2")}
    include = {"name": KUBELET["role"], "apply": {"delegate_to": "cp1"}}
    outcome = stage.play({"kube_control_plane": hosts}, tasks=[{"ansible.builtin.include_role": include}])
    assert outcome.status == 2, outcome.output
    assert "Nothing was changed. invalid delegate_to cp1: must not be set" in outcome.output
    assert {call["host"] for call in outcome.calls} <= {"cp1"}
    assert not outcome.hosts("change", "kubelet")


def test_nothing_is_changed_beside_a_host_that_is_gone_and_ignored(stage: Stage) -> None:
    hosts: Json = {host: {"stub": {"kube-apiserver": how}} for host, how in (("cp1", "changes"), ("cp2", "gone"))}
    ignored = {"ignore_unreachable": True, "ignore_errors": True}
    outcome = stage.play({"kube_control_plane": hosts}, roles=[{"role": "nodecraft.kubeadm.control_plane"}], **ignored)
    assert not outcome.hosts("change", "kube-apiserver")
    assert "cp2 failed or was lost while everything was planned." in outcome.output


# ---- module_defaults -------------------------------------------------------------------------------------------------


def test_the_modules_of_a_step_have_the_defaults_of_the_play(stage: Stage) -> None:
    hosts: Json = {"cp1": {"stub_nodes": {"node_taint": "changes"}, "node_resources_node_name": "n1"}}
    defaults = {
        "group/nodecraft.kubeadm.api": {"kubeconfig": "{{ file }}", "context": "of all"},
        "nodecraft.kubeadm.node_taint": {"context": "of taints", "wait": False, "api_key": "{{ key | default(omit) }}"},
    }
    outcome = stage.play(
        {"kube_control_plane": hosts},
        roles=[{"role": "nodecraft.kubeadm.node_resources"}],
        vars={"file": "/config"},
        module_defaults=defaults,
    )
    assert outcome.status == 0, outcome.output
    arguments = {
        call["component"]: call["arguments"] for call in outcome.calls if call["component"].startswith("node_")
    }
    assert (arguments["node_taint"]["kubeconfig"], arguments["node_taint"]["context"]) == ("/config", "of taints")
    assert "api_key" not in arguments["node_taint"]
    # Arguments of the role come first.
    assert arguments["node_taint"]["wait"] is True
    assert (arguments["node_label"]["kubeconfig"], arguments["node_label"]["context"]) == ("/config", "of all")

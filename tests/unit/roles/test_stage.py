# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""That the stage itself records what it is believed to: whose modules run where, how many, and with the collection's own plugins."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Stage

KUBELET: Json = {"nodecraft.kubeadm.kubelet": {"config": {}}}


def test_what_began_and_which_modules_ran_is_counted_for_each_host(stage: Stage) -> None:
    api: Json = {"nodecraft.kubeadm.node_resource_info": {"requested": False}, "delegate_to": "w1"}
    tasks = [
        {"ansible.builtin.ping": {}, "loop": [1, 2]},
        {"ansible.builtin.debug": {"msg": ""}, "when": "inventory_hostname == 'w1'"},
        {**api, "when": "inventory_hostname == 'w2'"},
        {**KUBELET, "when": "inventory_hostname == 'w2'"},
        {"ansible.builtin.meta": "noop"},
    ]
    hosts: Json = {"w1": {}, "w2": {"stub": {"kubelet": "changes"}}}
    outcome = stage.play({"kube_node": hosts}, tasks=tasks)
    assert outcome.status == 0, outcome.output
    # Four starts and two pings; the API was queried on the other host, and the change has its follower.
    assert outcome.tasks == {"w1": 6, "w2": 9}


def test_a_call_reports_whose_it_is_where_it_runs_and_as_whom(stage: Stage) -> None:
    tasks = [{**KUBELET, "delegate_to": "w1", "become": True, "check_mode": True}, KUBELET]
    outcome = stage.play({"kube_node": {"w1": {}, "w2": {}}}, "--limit=w2", tasks=tasks)
    assert outcome.status == 0, outcome.output
    calls = [(call["step"], call["host"], call["machine"], call["becomes"]) for call in outcome.calls]
    assert calls == [("plan", "w2", "w1", True), ("change", "w2", "w2", False)]
    # Those of another play are not among them.
    again = stage.play({"kube_node": {"w1": {}}}, tasks=[KUBELET])
    assert [(call["step"], call["host"]) for call in again.calls] == [("change", "w1")]


def test_a_failure_comes_by_the_way_of_a_real_one(stage: Stage) -> None:
    behaviour = {"w1": "gone", "w2": "unseen", "w3": "rolled_back"}
    hosts: Json = {name: {"stub": {"kubelet": how}} for name, how in behaviour.items()}
    outcome = stage.play({"kube_node": hosts}, tasks=[KUBELET])
    assert outcome.status != 0
    assert "unreachable=1" in outcome.output
    # The message of the collection's own follower for an engine that does not run.
    assert "was started, but its end was not seen: its engine does not run." in outcome.output
    assert "it did not become healthy; the change was rolled back and the former state is verified" in outcome.output


def test_what_is_replaced_is_what_the_controller_uses(stage: Stage) -> None:
    messages = "plugins/module_utils/_plan/transaction/messages.py"
    stage.replace(messages, "the change was rolled back and the former state is verified", "another text")
    outcome = stage.play({"kube_node": {"w1": {"stub": {"kubelet": "rolled_back"}}}}, tasks=[KUBELET])
    assert "it did not become healthy; another text" in outcome.output


@pytest.mark.parametrize("text", ["no such text", "e"])
def test_a_text_that_is_not_there_once_is_not_replaced(stage: Stage, text: str) -> None:
    with pytest.raises(AssertionError, match="must have"):
        stage.replace("roles/node_kubelet/vars/main.yml", text, "")

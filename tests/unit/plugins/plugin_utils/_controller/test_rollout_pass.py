# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the registers of Ansible are read."""

from __future__ import annotations

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.typed import ModuleResult
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.kubelet_results import KubeletHost
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.play_view import PlayView
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.rollout_pass import (
    RolloutPass,
    parse_register,
    read_register,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import FakePlay, Task


def view_of(play: FakePlay) -> PlayView:
    return PlayView(play._action(Task({}, play.play)), play.variables("node_kubelet", "w1"))


def pass_of(play: FakePlay, role: str = "node_kubelet") -> RolloutPass[KubeletHost]:
    """What a step of a role sees on w1."""
    return RolloutPass(view_of(play), role, KubeletHost)


def test_results_of_a_host_are_parsed_once() -> None:
    play = FakePlay({"w1": {}})
    play.hostvars["w1"]["__node_kubelet_begin"] = {"plan": {"operations": [], "node": "n"}}
    found = pass_of(play)
    assert found.host("w1") is found.own
    assert found.own.plan is found.own.plan
    assert found.own.plan.node == "n"


def test_who_is_at_work_is_the_coordinator() -> None:
    play = FakePlay({"w1": {}, "w2": {}, "w3": {}})
    play.hostvars["w1"]["__node_kubelet_begin"] = {"skipped": True}
    for host in ("w2", "w3"):
        play.hostvars[host]["__node_kubelet_begin"] = {"at_work": True, "settings": {}, "excluded": ""}
    found = pass_of(play)
    assert (found.coordinator, list(found.hosts()), list(found.hosts(["w1"]))) == ("w2", ["w2", "w3"], ["w1"])
    assert [name for name, _host in found.all_hosts()] == ["w1", "w2", "w3"]
    assert pass_of(play, role="control_plane").coordinator == ""


def test_last_result_of_a_loop_over_hosts_counts() -> None:
    play = FakePlay({"w1": {}})
    variables: dict[str, t.Any] = play.hostvars["w1"]
    variables["__node_kubelet_admit"] = {"results": [{"api_reachable": False}, {"refusal": "no"}]}
    variables["__node_kubelet_decide"] = {"results": []}  # it was skipped
    own = pass_of(play).own
    assert own.admission is not None
    assert (own.admission.refusal, own.admission.api_reachable) == ("no", True)
    assert (own.decision.coordinator, own.plan.operations, own.changes) == ("", None, ())


def test_what_a_host_registered_under_any_name() -> None:
    play = view_of(FakePlay({"w1": {"a": {"msg": "b"}}, "w2": {"a": None}}))
    assert (read_register(play, "a"), read_register(play, "a", "w2"), read_register(play, "c")) == (
        {"msg": "b"},
        {},
        {},
    )
    assert parse_register(play, "a", ModuleResult).msg == "b"

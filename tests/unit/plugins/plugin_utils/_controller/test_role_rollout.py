# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which plays the roles refuse, and what the end of each reports."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.rollout import HostResults, PassEnd
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.play_view import PlayView
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.role_rollout import RoleRollout
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import FakePlay, Json, PlayEnded, Task

CHANGING = ("control_plane", "node_kubelet")
EACH_HOST = (*CHANGING, "node_resources")
ALL = (*EACH_HOST, "placement_guard", "device_plugin")
CHANGE: Json = {"field": "feature_gates", "key": "A", "before": None, "after": True}
NODE: Json = {"node": "n", "cluster": {"ca_sha256": "a", "server": "", "machine_id": "1"}}


class Unplanned(RoleRollout[t.Any]):
    """A role that no playbook plans."""

    host_type = HostResults


def begin(role: str, play: FakePlay) -> Json:
    """The step begin on w1."""
    play.results["kubelet_info"] = NODE
    return play.run_step(role, "begin", "w1", settings=play.role_settings(role, "w1"))


@pytest.mark.parametrize("role", ALL)
def test_a_play_that_goes_well(role: str) -> None:
    found = begin(role, FakePlay({"w1": {}, "w2": {}}))
    assert (found.get("failed"), found["at_work"], found["excluded"]) == (None, True, "")


@pytest.mark.parametrize(("role", "planner"), [("control_plane", "static_pod_plan"), ("node_kubelet", "kubelet")])
def test_a_plan_that_fails_without_a_word_is_no_response(role: str, planner: str) -> None:
    found = begin(role, FakePlay({"w1": {}}, results={planner: {"failed": True}}))
    assert (found["failed"], found["msg"], found["plan"]) == (True, "no answer", {"failed": True, "changed": False})


@pytest.mark.parametrize("role", ALL)
@pytest.mark.parametrize("strategy", ["free", "ansible.builtin.host_pinned"])
def test_a_play_that_does_not_keep_its_hosts_in_sync_is_refused(role: str, strategy: str) -> None:
    message = begin(role, FakePlay({"w1": {}}, strategy=strategy))["msg"]
    assert message == (
        f"Nothing was changed. invalid strategy {strategy}: must be linear, because a turn begins only when every host has planned."
    )


@pytest.mark.parametrize("role", ALL)
def test_one_host_does_not_plan_for_all(role: str) -> None:
    found = begin(role, FakePlay({"w1": {}}, run_once=True))
    assert bool(found.get("failed")) is (role in EACH_HOST)
    if role in EACH_HOST:
        assert found["msg"].startswith("Nothing was changed. invalid run_once true: must be false")


@pytest.mark.parametrize("role", ALL)
def test_no_host_does_the_work_of_another(role: str) -> None:
    play = FakePlay({"w1": {}, "w2": {}})
    message = play.run_step(role, "begin", "w1", settings=play.role_settings(role, "w1"), on="w2")["msg"]
    assert message.startswith("Nothing was changed. invalid delegate_to w2: must not be set")
    assert play.all_calls == []
    assert "failed" not in play.run_step(role, "begin", "w1", settings=play.role_settings(role, "w1"), on="w1")


@pytest.mark.parametrize("role", ALL)
def test_a_node_that_the_play_has_lost_stops_what_changes_nodes(role: str) -> None:
    play = FakePlay({"w1": {}, "w2": {}, "w3": {}})
    play.play_hosts = ["w1"]
    found = begin(role, play)
    assert bool(found.get("failed")) is (role in CHANGING)
    if role in CHANGING:
        assert (
            "reached or were ended earlier in this play cannot be planned (w2, w3), also behind a rescue. Repair them,"
            in found["msg"]
        )


@pytest.mark.parametrize("role", CHANGING)
@pytest.mark.parametrize("forks", [1, 2])
def test_a_host_that_begins_late_is_not_refused_for_those_that_fail_with_the_same_task(role: str, forks: int) -> None:
    play = FakePlay({"w1": {f"{role}_yy": 1}, "w2": {}, "w3": {f"{role}_zz": 1}, "w4": {}}, forks=forks)
    with pytest.raises(PlayEnded):
        play.run_on_hosts(role, "begin", settings=lambda host: play.role_settings(role, host))
    assert list(play.failures) == ["w1 begin", "w3 begin"]
    assert "does not know" in play.failures["w3 begin"]


@pytest.mark.parametrize("role", ALL)
def test_all_that_is_wrong_with_variables_is_reported_at_once(role: str) -> None:
    others = {f"{role}_zz": 1, f"{role}_yy": 1, f"{role}_mine": 1, f"{role}_ignored_variables": [f"{role}_mine"]}
    message = begin(role, FakePlay({"w1": others}))["msg"]
    assert message.startswith(f"Nothing was changed. The role {role} does not know {role}_yy")
    assert f"The role {role} does not know {role}_zz" in message
    assert f"{role}_mine" not in message


@pytest.mark.parametrize(
    "name", ["control_plane_feature_gates", "node_kubelet_config", "node_resources_labels", "device_plugin_config"]
)
def test_a_mapping_that_is_text_is_named(name: str) -> None:
    role = next(each for each in ALL if name.startswith(f"{each}_"))
    assert f"invalid {name}: must be a mapping, not text" in begin(role, FakePlay({"w1": {name: "a=b"}}))["msg"]


def test_a_role_that_is_not_planned_first_has_nothing_to_report_of_plans() -> None:
    play: t.Any = FakePlay({"w1": {}})
    found = Unplanned(play, play, "control_plane", {})
    assert found.kubelet_refusal(["w1"]) == ""
    for step in (found.planned_reports, found.end, found._checked_settings):
        with pytest.raises(NotImplementedError):
            step()


class AtItsEnd(Unplanned):
    """A role of which one kubelet came to something."""

    became: t.ClassVar[Json] = {}

    def _end(self) -> PassEnd:
        return PassEnd(report={"kubelet": self.became})


@pytest.mark.parametrize(
    ("became", "why"),
    [
        ({}, ""),
        ({"failed": True, "msg": "bad"}, "bad"),  # as another host found
        ({"started": False, "failed": False, "msg": "bad"}, ""),
        ({"started": True, "failed": True, "msg": "bad"}, "bad"),
        ({"started": False, "failed": True, "msg": "Not changed."}, "Not changed."),
        ({"operations": [CHANGE]}, "Not changed, because the run ended before."),
        ({"operations": [CHANGE], "changed": True}, ""),
        ({"operations": []}, ""),
    ],
)
@pytest.mark.parametrize("check_mode", [False, True])
def test_a_host_that_has_not_become_what_was_desired_fails_at_its_end(became: Json, why: str, check_mode: bool) -> None:
    """Nothing of it is left to do in check mode."""
    play: t.Any = FakePlay({"w1": {}}, check_mode=check_mode)
    action: t.Any = play._action(Task({}, play.play, check_mode=check_mode))
    view = PlayView(action, play.variables("node_kubelet", "w1"))
    role = type("Role", (AtItsEnd,), {"became": became})(view, play, "node_kubelet", {})
    found = role.end()
    expected = "" if check_mode and became.get("operations") else why
    assert found.why == expected
    assert found.report["kubelet"].get("started") == (
        False if expected.startswith("Not changed") else became.get("started")
    )


def test_what_is_no_part_of_a_report_stays_in_it() -> None:
    report: Json = {"node": "w1", "taints": None, "labels": {"operations": [], "failed": False}}
    parts = Unplanned.parts_of(report)
    assert list(parts) == ["labels"]
    changed = {"labels": parts["labels"].with_values(changed=True)}
    assert Unplanned.with_parts(changed, report) == {**report, "labels": {**report["labels"], "changed": True}}


@pytest.mark.parametrize("role", ALL)
def test_a_step_without_the_first_one_is_refused(role: str) -> None:
    message = FakePlay({"w1": {}}).run_step(role, "decide", "w1")["msg"]
    assert message == (
        f"Nothing was changed: the role {role} has not begun. Run it from its first task, without --start-at-task."
    )


@pytest.mark.parametrize("role", ALL)
def test_summary_is_refused_only_where_the_role_did_not_begin_on_any_host(role: str) -> None:
    refused = "Nothing was looked at. The first task was skipped. Run it from there, without --start-at-task."
    assert FakePlay({"w1": {}, "w2": {}}).run_step(role, "summary", "w1")["msg"] == refused
    failed: Json = {f"__{role}_begin": {"failed": True, "msg": "The role does not know that.", "pass_id": "p"}}
    (headline, *_rest) = FakePlay({"w1": {}, "w2": failed}).run_step(role, "summary", "w1")["lines"]
    assert headline
    skipped: Json = {f"__{role}_begin": {"skipped": True}}
    assert "failed" not in FakePlay({"w1": skipped, "w2": skipped}).run_step(role, "summary", "w1")

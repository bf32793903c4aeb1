# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of rollback, resize and upgrade_check: what they refuse, which hosts they query, and what they report."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import GONE, Call, FakePlay, Json, ModuleResult

PLANES = {"kube_control_plane": ["cp1", "cp2"]}


def node(call: Call) -> Json:
    return {"node": f"node-{call.on}", "cluster": {"ca_sha256": "a", "server": "", "machine_id": f"id-{call.on}"}}


# ---- rollback --------------------------------------------------------------------------------------------------------


def undo(gate: str, blocked_by: str | None = None) -> Json:
    operation = {"field": "feature_gates", "key": gate, "before": True, "after": None}
    return {"transaction": f"T-{gate}", "ended": "then", "operations": [operation], "blocked_by": blocked_by}


def rollback(**variables: t.Any) -> FakePlay:
    hosts: dict[str, Json] = {
        name: {f"rollback_{key}": value for key, value in variables.items()} for name in ("cp1", "w1")
    }
    hosts["cp1"]["pods"] = {"static_pods": [{"name": "kube-apiserver", "undo": undo("A")}]}
    hosts["w1"]["kubelet"] = {"undo": undo("B")}
    return FakePlay(hosts, {"kube_control_plane": ["cp1"]})


def test_what_is_observed() -> None:
    started = rollback(components="kube-apiserver").run_step("rollback", "begin", "cp1")
    assert started["static_pods"] == ["kube-apiserver"]
    assert (started["kubelet"], started["pod_hosts"], started["kubelet_hosts"], started["nodes"]) == (
        False,
        ["cp1"],
        [],
        ["cp1", "w1"],
    )
    started = rollback(components=["kubelet"], nodes="w1").run_step("rollback", "begin", "cp1")
    assert (started["kubelet"], started["pod_hosts"], started["kubelet_hosts"], started["nodes"]) == (
        True,
        [],
        ["w1"],
        ["w1"],
    )


@pytest.mark.parametrize(
    ("variables", "refused"),
    [({"node": "cp1"}, True), ({"node": "cp1", "ignored_variables": ["rollback_node"]}, False)],
)
def test_a_misspelt_variable_does_not_revert_everything(variables: Json, refused: bool) -> None:
    found = rollback(components="kubelet", **variables).run_step("rollback", "begin", "cp1")
    assert bool(found.get("failed")) is refused
    if refused:
        assert found["msg"].startswith("Nothing was changed. This playbook does not know rollback_node; it knows")


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"components": "kube-apiserver"}, ""),
        ({"components": "kube-apiserver,kubelet", "nodes": ""}, ""),
        (
            {},
            "Nothing was changed. Set rollback_components to those whose last change is to be reverted. There is cp1 kube-apiserver",
        ),
        ({"components": "kube-proxy"}, "invalid rollback_components kube-proxy"),
        ({"components": "kubelet", "nodes": "w9"}, "rollback_nodes names w9"),
    ],
)
def test_what_cannot_be_reverted_at_once(variables: Json, words: str) -> None:
    found = rollback(**variables).run_step("rollback", "decide", "cp1", settings={"registers": ["pods", "kubelet"]})
    assert bool(found.get("failed")) is bool(words)
    assert words in found.get("msg", "")


def test_hosts_that_were_lost_are_still_hosts_of_the_play() -> None:
    play = rollback(components="kube-apiserver", nodes="w1")
    play.play_hosts = ["cp1"]
    assert "msg" not in play.run_step("rollback", "decide", "cp1", settings={"registers": ["pods", "kubelet"]})


# ---- resize ----------------------------------------------------------------------------------------------------------

KNOWN = ["namespace", "names", "label_selector", "owner"]
RESIZE: Json = {"pod_resize_namespace": "shop", "pod_resize_names": ["web-1"]}


def resize(result: ModuleResult = node, **variables: t.Any) -> FakePlay:
    return FakePlay({"localhost": variables}, PLANES, results={"kubelet_info": result})


def without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("K8S_AUTH_KUBECONFIG", "K8S_AUTH_HOST"):
        monkeypatch.delenv(name, raising=False)


def test_control_planes_are_queried_where_the_controller_has_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    without_credentials(monkeypatch)
    started = resize(**RESIZE).run_step("pod_resize", "begin", "localhost", settings={"known": KNOWN})
    assert started["api"] == [{"host": "cp1", "become": True}, {"host": "cp2", "become": True}]
    monkeypatch.setenv("K8S_AUTH_KUBECONFIG", "/here")
    assert resize(**RESIZE).run_step("pod_resize", "begin", "localhost", settings={"known": KNOWN})["api"] == []


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({**RESIZE, "pod_resize_container": []}, "does not know pod_resize_container; it knows pod_resize_namespace"),
        ({"pod_resize_namespace": "shop"}, "one of pod_resize_names, pod_resize_label_selector and"),
        ({"pod_resize_names": ["web-1"]}, "Set pod_resize_namespace"),
    ],
)
def test_what_is_refused(variables: Json, words: str) -> None:
    found = resize(**variables).run_step("pod_resize", "begin", "localhost", settings={"known": KNOWN})
    assert found["failed"]
    assert found["msg"].startswith("Nothing was changed. ")
    assert words in found["msg"]


@pytest.mark.parametrize("role", ["pod_resize", "upgrade_check"])
def test_the_first_control_plane_that_responds_reports_whose_cluster_it_is(
    role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_credentials(monkeypatch)
    play = resize(lambda call: GONE if call.on == "cp1" else node(call))
    settings = {"planes": ["cp1", "cp2"]}
    assert play.run_step(role, "admit", "localhost", on="cp1", settings=settings)["api_reachable"] is False
    found = play.run_step(role, "admit", "localhost", on="cp2", settings=settings)
    assert (found["api_reachable"], found["api"]) == (True, {"host": "cp2", "become": True})
    assert found["cluster"] == {"ca_sha256": "a", "machine_ids": {"node-cp2": "id-cp2"}}
    # After the last one that does not respond the API reports what is wrong.
    play.results["kubelet_info"] = {"failed": True, "msg": "no kubelet"}
    last = play.run_step(role, "admit", "localhost", on="cp2", settings=settings)
    assert (last["api_reachable"], last["cluster"]) == (True, {"ca_sha256": "", "machine_ids": {}})


@pytest.mark.parametrize(
    ("result", "line", "expected"),
    [
        ({}, "nothing was done", {"pods": {}, "templates": {}}),
        ({"failed": True, "msg": "no credentials"}, "nothing was done", {"pods": {}, "templates": {}}),
        (
            {"pods": {"web-2": {"failed": True, "outcome": "infeasible", "msg": "no room"}}, "templates": None},
            "infeasible: web-2",
            {"pods": {"web-2": {"failed": True, "outcome": "infeasible", "msg": "no room"}}, "templates": {}},
        ),
        (
            {"pods": {}, "templates": {}, "unverified": ["whether the pod runs: why"]},
            "WARNING: not verified: whether the pod runs: why",
            {"pods": {}, "templates": {}, "unverified": ["whether the pod runs: why"]},
        ),
    ],
)
def test_what_came_of_pods(result: Json, line: str, expected: Json) -> None:
    found = resize(__play_begin={"api": []}).run_step("pod_resize", "summary", "localhost", settings={"result": result})
    assert line in found["lines"]
    assert found["ansible_stats"]["data"] == {"pod_resize_report": {"unverified": [], **expected}}


# ---- upgrade_check ---------------------------------------------------------------------------------------------------

OPTIONS = ["target", "programs", "patches"]
UPGRADE: Json = {"upgrade_check_target": "1.37.2", "upgrade_check_programs": "/new"}
BROKEN: Json = {
    "component": "kubelet",
    "impact": "broken",
    "message": "unrecognized feature gate: Gone",
    "field": "feature_gates",
    "key": "Gone",
    "set_by": "collection",
    "file": "/f.conf",
    "line": 4,
    "variable": "node_kubelet_feature_gates",
}


def checked(name: str, *findings: Json, version: str = "v1.36.3", plane: bool = False) -> Json:
    versions = {"kubelet": "v1.36.3", "kube-apiserver": version}
    return {"node": name, "is_control_plane": plane, "versions": versions, "findings": list(findings)}


CONFIGURATION: Json = {"cluster_configuration": "a: 1"}
PROD: Json = {"ca_sha256": "aa", "server": "https://prod:6443"}
STAGE: Json = {"ca_sha256": "bb", "server": "https://stage:6443"}
ACCEPT = "upgrade_check_accept_unrehearsed"
NO_ETCD: Json = {"name": "etcd", "reason": "no image", "remedy": "pull it"}


def upgrade(info: Json | None = None, begin: Json | None = None, *, accept: t.Any = None, **results: Json) -> FakePlay:
    """A run that came to its end, with the results of hosts. accept: names of what need not be rehearsed."""
    hosts: dict[str, Json] = {name: {"__play_upgrade_check": result, **UPGRADE} for name, result in results.items()}
    kubelets = {result["node"]: "v1.36.3" for result in results.values() if "node" in result}
    for variables in hosts.values():
        variables["__play_begin"] = {"api": []} if begin is None else begin
        variables["__play_upgrade_info"] = {**CONFIGURATION, "kubelets": kubelets, **(info or {})}
        variables["__play_cluster"] = {"results": [{"member": "cp1", "identity": PROD, "api_reachable": True}]}
        variables["__play_upgrade_info_after"] = CONFIGURATION
        if accept is not None:
            variables[ACCEPT] = accept
    return FakePlay(hosts, {"kube_control_plane": ["cp1"]})


def ended(play: FakePlay) -> Json:
    found = play.run_step("upgrade_check", "end", play.all_hosts[0], settings={"target": "1.37.2"})
    for variables in play.hostvars.values():
        variables["__play_end"] = found
    return found


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        (UPGRADE, ""),
        ({**UPGRADE, ACCEPT: ["kubelet", "node/w1"]}, ""),
        ({**UPGRADE, ACCEPT: "kubelet, node/w1"}, ""),
        ({"upgrade_check_target": "1.37.2"}, "Nothing was checked. Set upgrade_check_programs"),
        ({**UPGRADE, "upgrade_check_patch": "/x"}, "Nothing was checked. invalid variable upgrade_check_patch"),
        ({**UPGRADE, ACCEPT: "all"}, f"Nothing was checked. invalid {ACCEPT} all: must be names"),
        ({**UPGRADE, ACCEPT: ["etcd", "kubelett"]}, f"Nothing was checked. invalid {ACCEPT} kubelett: must be names"),
    ],
)
def test_variables_of_an_upgrade(variables: Json, words: str) -> None:
    play = FakePlay({"w1": variables}, {"masters": ["m1"]})
    play.hostvars["w1"]["kube_control_plane_group"] = "masters"
    found = play.run_step("upgrade_check", "begin", "w1", settings={"known": OPTIONS})
    assert found.get("msg", "").startswith(words)
    assert found.get("api") == (None if words else [{"host": "m1", "become": True}])


def test_names_to_accept_are_one_list_for_all_hosts() -> None:
    play = FakePlay({"w1": {**UPGRADE, ACCEPT: ["kubelet"]}, "w2": UPGRADE}, {"kube_control_plane": ["w1"]})
    found = play.run_step("upgrade_check", "begin", "w1", settings={"known": OPTIONS})
    assert found["msg"].startswith(f"Nothing was checked. invalid {ACCEPT}: must be the same on all hosts.")


def test_a_clean_cluster() -> None:
    play = upgrade(cp1=checked("cp1", plane=True), w1=checked("w1"))
    found = ended(play)
    assert (found["report"]["safe"], sorted(found["report"]["nodes"])) == (True, ["cp1", "w1"])
    assert found["report"]["cluster"]["checks"] == ["kubeadm-config"]
    assert found["ansible_stats"]["data"] == {"upgrade_check_report": found["report"]}
    assert play.run_step("upgrade_check", "summary", "cp1")["lines"] == found["lines"]
    assert "failed" not in play.run_step("upgrade_check", "report", "w1")


def test_what_breaks_fails_the_run() -> None:
    play = upgrade(cp1=checked("cp1", plane=True), w1=checked("w1", BROKEN))
    found = ended(play)
    assert found["report"]["safe"] is False
    failed = play.run_step("upgrade_check", "report", "w1")
    assert failed["msg"].startswith("the upgrade to 1.37.2 breaks on w1: kubelet feature_gates Gone")
    assert "failed" not in play.run_step("upgrade_check", "report", "cp1")


@pytest.mark.parametrize(
    ("accept", "safe"), [(None, False), (["kubelet"], False), (["etcd"], True), ("etcd,kubelet", True)]
)
def test_what_was_not_rehearsed_fails_the_run(accept: t.Any, safe: bool) -> None:
    plane = {**checked("cp1", plane=True), "not_rehearsed": [NO_ETCD]}
    play = upgrade(accept=accept, cp1=plane, w1=checked("w1"))
    assert ended(play)["report"]["safe"] is safe
    failed = play.run_step("upgrade_check", "report", "cp1")
    assert bool(failed.get("failed")) is not safe
    if not safe:
        assert "because this was not rehearsed: etcd (no image)" in failed["msg"]
    assert "failed" not in play.run_step("upgrade_check", "report", "w1")


def test_accepting_what_was_rehearsed_fails_the_run() -> None:
    rehearsed = {**checked("cp1", plane=True), "rehearsed": [{"component": "etcd", "what": "generated"}]}
    play = upgrade(accept="etcd", cp1=rehearsed)
    assert ended(play)["report"]["safe"] is False
    assert f"invalid {ACCEPT} etcd" in play.run_step("upgrade_check", "report", "cp1")["msg"]


def test_check_of_the_api_that_was_not_made_fails_the_run() -> None:
    info: Json = {"not_rehearsed": [{"name": "webhooks", "reason": "forbidden", "remedy": ""}], "checks": ["coredns"]}
    play = upgrade(info, cp1=checked("cp1", plane=True))
    report = ended(play)["report"]
    assert (report["safe"], report["cluster"]["checks"]) == (False, ["coredns", "kubeadm-config"])
    assert "webhooks (forbidden)" in play.run_step("upgrade_check", "report", "cp1")["msg"]
    assert ended(upgrade(info, accept="webhooks", cp1=checked("cp1", plane=True)))["report"]["safe"] is True


def test_a_node_that_cannot_be_checked_and_what_the_run_leaves_out() -> None:
    info: Json = {
        "kubelets": {"cp1": "v1.36.3", "w1": "v1.36.3", "w9": "v1.33.0"},
        "findings": [{**BROKEN, "impact": "warns"}],
    }
    play = upgrade(info, cp1=checked("cp1", plane=True), w1={"unreachable": True, "msg": "gone"})
    found = ended(play)
    assert (found["report"]["safe"], found["report"]["nodes"]["w1"]["checked"]) == (False, False)
    assert "w1: NOT CHECKED: gone" in found["lines"]
    assert {**BROKEN, "impact": "warns"} in found["report"]["cluster"]["findings"]
    assert found["report"]["not_checked"] == ["w1", "w9"]
    assert play.run_step("upgrade_check", "report", "cp1")["failed"]


@pytest.mark.parametrize(("accept", "safe"), [("node/w9", True), ("node/w8", False), (None, False)])
def test_node_outside_of_the_run_is_accepted_by_name(accept: str | None, safe: bool) -> None:
    info: Json = {"kubelets": {"cp1": "v1.36.3", "w9": "v1.36.3"}}
    play = upgrade(info, accept=accept, cp1=checked("cp1", plane=True))
    assert ended(play)["report"]["safe"] is safe
    assert ("failed" in play.run_step("upgrade_check", "report", "cp1")) is not safe


def test_control_planes_of_the_run_identify_the_cluster_first() -> None:
    """With --limit, in an inventory of two clusters."""
    play = FakePlay({"cp2": UPGRADE, "w2": UPGRADE}, {"kube_control_plane": ["cp1", "cp2"]})
    found = play.run_step("upgrade_check", "begin", "w2", settings={"known": OPTIONS})
    assert [each["host"] for each in found["api"]] == ["cp2", "cp1"]


@pytest.mark.parametrize("name", ["w1", "cp1"])
def test_host_of_another_cluster_is_not_checked(name: str) -> None:
    """Also where its Node has the name of one of this cluster."""
    results = {"cp1": checked("cp1", plane=True), "cp2": checked(name, plane=True, version="v1.30.0")}
    for host, identity in (("cp1", PROD), ("cp2", STAGE)):
        results[host]["cluster"] = identity
    play = upgrade(**results)
    found = ended(play)
    assert found["report"]["safe"] is False
    assert found["report"]["nodes"]["cp1"]["checked"]
    assert found["report"]["cluster"]["findings"] == []
    why = (
        "it is of another cluster (https://stage:6443, authority bb) than cp1 (https://prod:6443, authority aa), whose kubeadm-config this run read:"
        " check the hosts of each cluster by themselves, with --limit and a control plane"
    )
    assert f"cp2: NOT CHECKED: {why}" in found["lines"]
    assert "cp2: nothing vanishes and nothing breaks" not in found["lines"]
    assert play.run_step("upgrade_check", "report", "cp2")["msg"] == f"cp2 was not checked: {why}"


def test_worker_of_another_cluster_than_the_control_plane_outside_of_the_run_is_not_checked() -> None:
    found = ended(upgrade({"kubelets": {"cp1": "v1.36.3"}}, w1={**checked("w1"), "cluster": STAGE}))
    assert any(line.startswith("w1: NOT CHECKED: it is of another cluster") for line in found["lines"])


def test_hosts_of_one_cluster_whose_authority_is_replaced_are_checked() -> None:
    results = {"cp1": PROD, "cp2": {**PROD, "ca_sha256": "aa,bb"}, "cp3": STAGE}
    play = upgrade(**{name: {**checked(name, plane=True), "cluster": each} for name, each in results.items()})
    assert ended(play)["report"]["safe"]


def test_host_that_the_api_does_not_know_is_not_checked() -> None:
    play = upgrade({"kubelets": {"cp1": "v1.36.3"}}, cp1=checked("cp1", plane=True), w1=checked("w1"))
    found = ended(play)
    assert found["report"]["safe"] is False
    why = "the API of the cluster has no Node w1, which is the name of this one by its kubelet"
    assert f"w1: NOT CHECKED: {why}" in found["lines"]
    assert "failed" not in play.run_step("upgrade_check", "report", "cp1")


def test_node_that_joins_during_the_check_is_not_checked() -> None:
    play = upgrade({"kubelets": {"cp1": "v1.36.3"}}, cp1=checked("cp1", plane=True))
    play.hostvars["cp1"]["__play_upgrade_info_after"] = {
        **CONFIGURATION,
        "kubelets": {"cp1": "v1.36.3", "w9": "v1.33.0"},
    }
    report = ended(play)["report"]
    assert (report["safe"], report["not_checked"]) == (False, ["w9"])
    assert [each["key"] for each in report["cluster"]["findings"]] == ["w9"]


def test_control_planes_of_several_versions_are_reported() -> None:
    play = upgrade(cp1=checked("cp1", plane=True), w1=checked("w1", version="v1.30.0"))
    assert ended(play)["report"]["cluster"]["findings"] == []
    play = upgrade(cp1=checked("cp1", plane=True), cp2=checked("cp2", plane=True, version="v1.37.0"))
    assert ended(play)["report"]["cluster"]["findings"] != []


@pytest.mark.parametrize(("text", "safe"), [("a: 1", True), ("a: 2", False)])
def test_a_configuration_that_is_written_meanwhile(text: str, safe: bool) -> None:
    play = upgrade(cp1=checked("cp1", plane=True))
    play.hostvars["cp1"]["__play_upgrade_info_after"] = {"cluster_configuration": text}
    found = ended(play)
    assert found["report"]["safe"] is safe
    assert any("it was written while" in line for line in found["lines"]) is not safe


def test_configuration_that_was_not_read_again_is_not_safe() -> None:
    play = upgrade(cp1=checked("cp1", plane=True))
    play.hostvars["cp1"]["__play_upgrade_info_after"] = {"failed": True, "msg": "timed out"}
    report = ended(play)["report"]
    assert [each["name"] for each in report["cluster"]["not_rehearsed"]] == ["kubeadm-config"]
    assert report["safe"] is False


def test_a_check_of_which_the_api_reports_nothing() -> None:
    play = upgrade({"failed": True, "msg": "there is no kubeadm-config"}, w1={})
    found = ended(play)
    assert (found["report"]["safe"], found["report"]["nodes"]["w1"]["checked"]) == (False, False)


def test_a_check_that_did_not_begin_reports_nothing() -> None:
    play = upgrade(begin={"failed": True, "msg": "no"}, w1={})
    assert ended(play)["lines"] == []
    assert "failed" not in play.run_step("upgrade_check", "report", "w1")


@pytest.mark.parametrize("role", ["site", "upgrade_check", "pod_resize"])
def test_summary_of_a_playbook_that_did_not_begin_is_refused(role: str) -> None:
    why = "Nothing was looked at. The first task was skipped. Run it from there, without --start-at-task."
    found = FakePlay({"localhost": {}}).run_step(role, "summary", "localhost")
    assert (found["failed"], found["msg"]) == (True, why)
    failed = FakePlay({"localhost": {"__play_begin": {"failed": True, "msg": "no"}}})
    assert "failed" not in failed.run_step(role, "summary", "localhost")


def test_upgrade_check_whose_first_task_was_skipped_is_no_success() -> None:
    found = upgrade(begin={}, cp1=checked("cp1", plane=True)).run_step("upgrade_check", "report", "cp1")
    assert found["failed"]
    assert found["msg"].startswith("Nothing was checked. The first task was skipped.")

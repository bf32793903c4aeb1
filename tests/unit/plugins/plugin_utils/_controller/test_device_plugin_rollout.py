# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused, read, written, waited for and reported: the steps of the role in their order."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.unit.support.device_plugin_role import OURS, OWN, THEIRS, D
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import GONE, Call, FakePlay, Json, ModuleResult
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_rollouts import DevicePlugin

OWNED = {"app.kubernetes.io/managed-by": "nodecraft.kubeadm"}
NAMESPACE: Json = {"kind": "Namespace", "name": OWN, "labels": OWNED, "config_maps": []}
FORMER: Json = {"kind": "ConfigMap", "name": f"{OWN}-config-0123456789", "labels": OWNED, "config_maps": []}
ARCHIVE: Json = {**OURS, "device_plugin_image_archive": "/image.tar"}


def plugin_info(
    *objects: Json, selected: t.Sequence[str] = ("node-w1", "node-w2"), problems: t.Sequence[str] = ()
) -> ModuleResult:
    """The state of the cluster: first without a problem, and what is wrong when it is waited for."""

    def result(call: Call) -> Json:
        is_last = bool(call.arguments.get("wait"))
        nodes = {name: {"problem": ""} for name in selected}
        found = list(problems) if is_last else []
        summary = found or [f"{name}: {D} 4" for name in selected]
        of_nodes = {
            "selected": list(selected),
            "nodes": nodes,
            "problems": found,
            "summary": summary,
            "waited_seconds": 300.0,
        }
        return {**of_nodes, "objects": list(objects), "others": []}

    return result


def role_run(
    variables: Json,
    *,
    each: t.Mapping[str, Json] | None = None,
    change: Json | None = None,
    results: t.Mapping[str, ModuleResult] | None = None,
    groups: t.Mapping[str, t.Sequence[str]] | None = None,
    **settings: t.Any,
) -> DevicePlugin:
    """A play on w1, w2 and w3. change: what writing comes to. each: variables of single hosts."""
    hosts = {
        name: {"device_plugin_node_name": f"node-{name}", **variables, **(each or {}).get(name, {})}
        for name in ("w1", "w2", "w3")
    }
    known: dict[str, ModuleResult] = {
        "device_plugin_info": plugin_info(NAMESPACE),
        "node_resource_info": {"nodes": {}},
        "node_image": {"present": False},
    }
    play = FakePlay(hosts, groups, results={**known, **(results or {})}, **settings)
    return DevicePlugin(play, changes={"w1": {"changed": True} if change is None else change})


def run(variables: Json, **more: t.Any) -> DevicePlugin:
    found = role_run(variables, **more)
    found.run()
    return found


def test_one_host_requests_all_before_and_after() -> None:
    found = run(OURS)
    assert found.failures == {}
    decided = found.result("decide", "w1")
    assert [call["kinds"] for call in decided["writes"]] == [["Namespace", "ConfigMap", "DaemonSet"]]
    assert (decided["is_bundled"], decided["cdi"], decided["pod_resources"], decided["token_secret"]) == (
        True,
        False,
        False,
        "",
    )
    assert yaml.safe_load(decided["files"]["config.yaml"])["resources"][0]["name"] == D
    assert decided["config_map"].startswith(f"{OWN}-config-")
    before, after = (call.arguments for call in found.play.calls("device_plugin_info"))
    assert (before["gather_subset"], before["cdi"], "wait" in before) == (["nodes", "objects"], False, False)
    assert (after["wait"], after["wait_timeout"], after["expected"]) == (True, 300, OURS["device_plugin_expected"])
    assert found.summary["lines"] == [f"node-w1: {D} 4", f"node-w2: {D} 4"]
    assert (found.report("w1")["changed"], "report" in found.result("end", "w2")) == (True, False)
    # There is one plugin, not one for each host.
    assert found.statistics["device_plugin_report"] == found.report("w1")
    assert (found.summary["ansible_stats"]["per_host"], found.summary["outcome"]) == (False, "changed")


def test_an_image_is_built_without_a_pass() -> None:
    found = role_run(OURS)
    found.play.run_on_hosts("device_plugin", "observe", ["w1"])
    assert (found.failures, found.result("observe", "w1")["check_mode"]) == ({}, False)


def test_what_works_already_is_not_waited_for() -> None:
    found = run(OURS, change={"changed": False})
    assert len(found.play.calls("device_plugin_info")) == 1
    assert found.report("w1")["changed"] is False
    assert (found.summary["lines"], found.summary["outcome"]) == (
        [f"node-w1: {D} 4", f"node-w2: {D} 4"],
        "unchanged",
    )


def test_check_mode_does_not_wait() -> None:
    found = run(OURS, check_mode=True)
    assert (found.failures, len(found.play.calls("device_plugin_info"))) == ({}, 1)
    assert found.result("verify", "w1") == {
        "changed": False,
        "failed": False,
        "pass_id": found.result("end", "w1")["pass_id"],
        "kept": {},
    }
    absent = run(OURS, check_mode=True, results={"device_plugin_info": plugin_info()})
    assert absent.result("decide", "w1")["is_preview"] is True


def test_with_a_diff_each_object_is_a_call() -> None:
    found = run(OURS, diff=True)
    assert [call["kinds"] for call in found.result("decide", "w1")["writes"]] == [
        ["Namespace"],
        ["ConfigMap"],
        ["DaemonSet"],
    ]


def test_a_node_that_does_not_offer_it_fails_the_role() -> None:
    found = run(OURS, results={"device_plugin_info": plugin_info(NAMESPACE, problems=["node-w2: not registered"])})
    assert (
        "after 300 s 1 of 2 nodes do not advertise what is expected. node-w2: not registered."
        in found.failures["w1 verify"]
    )
    assert found.report("w1")["problems"] == ["node-w2: not registered"]
    assert found.summary["lines"] == [
        "node-w2: not registered",
        f"w1: {found.failures['w1 verify']}",
        "Failed: w1 failed. Run the same command again when that is repaired.",
    ]


def test_a_check_that_fails_afterwards_reports_that_it_is_deployed() -> None:
    result = plugin_info(NAMESPACE)
    results: dict[str, ModuleResult] = {
        "device_plugin_info": lambda call: (
            {"failed": True, "msg": "no answer of the API"}
            if call.arguments.get("wait")
            else t.cast(t.Any, result)(call)
        )
    }
    message = run(OURS, results=results).failures["w1 verify"]
    assert message == f"{OWN}/{OWN} was deployed, but what the nodes advertise is not known: no answer of the API"


def test_warnings_of_what_was_written_are_reported() -> None:
    several = {"changed": True, "results": [{"result": {"results": [{"warnings": ["old API"]}]}}]}
    assert run(OURS, change=several).result("end", "w1")["warnings"] == ["old API"]


# ---- API hosts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "groups", "api", "environment"),
    [
        ({}, {}, {"host": "localhost", "become": False}, {}),
        (
            {"device_plugin_api_host": "cp1"},
            {"kube_control_plane": ["cp1"]},
            {"host": "cp1", "become": True},
            {"K8S_AUTH_KUBECONFIG": "/etc/kubernetes/admin.conf"},
        ),
        (
            {"device_plugin_api_host": "bastion"},
            {"kube_control_plane": ["cp1"]},
            {"host": "bastion", "become": False},
            {},
        ),
        # Whose root is no control plane's has none of its own.
        ({"device_plugin_api_host": "w2", "ansible_become": True}, {}, {"host": "w2", "become": True}, {}),
    ],
)
def test_who_queries_with_whose_credentials(variables: Json, groups: Json, api: Json, environment: Json) -> None:
    settings = role_run({**OURS, **variables}, groups=groups)
    settings.run()
    decided = settings.play.calls("device_plugin_info")[0]
    assert decided.on == api["host"]
    started = settings.play.run_step("device_plugin", "begin", "w1")
    assert (started["settings"]["api"], started["settings"]["environment"]) == (api, environment)


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({**OURS, "device_plugin_images": "x"}, "did you mean device_plugin_image?"),
        ({**OURS, "device_plugin_image": ""}, "device_plugin_image is not set"),
        ({**OURS, "device_plugin_image": None}, "invalid device_plugin_image: must not be null."),
        ({**ARCHIVE, "device_plugin_image": "x:1"}, "to find it in device_plugin_image_archive"),
        ({**OURS, "device_plugin_files": {"a": "b"}}, "device_plugin_files is for other plugins"),
        ({**OURS, "device_plugin_pod_spec": {"nodeSelector": {}}}, "device_plugin_pod_spec has nodeSelector"),
        ({"device_plugin_pod_resources_token": "t"}, "device_plugin_config is empty"),
    ],
)
def test_what_could_not_be_deployed_is_refused(variables: Json, words: str) -> None:
    found = run(variables)
    assert words in " ".join(found.failures.values())
    assert all(message.startswith("Nothing was changed") for message in found.failures.values())
    assert (found.play.all_calls, found.changed) == ([], [])


def test_all_that_keeps_it_from_being_deployed_is_reported_at_once() -> None:
    own = {
        "device_plugin_image": "x:1",
        "device_plugin_files": {"a": "b"},
        "device_plugin_pod_spec": {"nodeSelector": {}},
        "device_plugin_expected": [{"resources": {"example.com/dongel": 1}}],
    }
    found = run({**ARCHIVE, **own})
    expected = [
        "device_plugin_image is x:1; to find it in device_plugin_image_archive",
        "device_plugin_files is for other plugins",
        "device_plugin_pod_spec has nodeSelector",
        "example.com/dongel, which device_plugin_config does not advertise",
    ]
    assert [words for words in expected if words not in found.failures["w1 decide"]] == []


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_configuration_that_the_plugin_would_refuse_is_refused_before_anything_is_queried(check_mode: bool) -> None:
    found = role_run(OURS, check_mode=check_mode)
    found.play.controller.exec_result = (2, b"", b"/dev/stdin: line 6: count: is 'x'")
    found.run()
    message = "Nothing was changed. device_plugin_config is not valid (lines are those of its ConfigMap): line 6: count: is 'x'"
    assert (found.failures["w1 decide"], found.play.all_calls) == (message, [])
    ((command, text),) = found.play.controller.commands
    assert command.endswith("-B -m nodecraft_device_plugin.validate /dev/stdin")
    assert yaml.safe_load(text)["resources"] == [{**OURS["device_plugin_config"]["resources"][0], "minHealthy": 4}]
    assert found.play.controller.cwd.endswith("device_plugin/files/plugin/src")


def test_a_controller_that_cannot_read_the_configuration_reports_what_it_needs() -> None:
    found = role_run(OURS)
    found.play.controller.exec_result = (1, b"", b"Traceback\nTypeError: too old")
    found.run()
    assert "has to be Python 3.11 or newer with PyYAML" in found.failures["w1 decide"]


@pytest.mark.parametrize(
    ("each", "name"),
    [
        ({"w2": {"device_plugin_image": "localhost/other:1"}}, "device_plugin_image"),
        ({"w3": {"device_plugin_pod_resources_token": "geheim"}}, "device_plugin_pod_resources_token"),
    ],
)
def test_hosts_that_request_different_things_are_refused(each: Json, name: str) -> None:
    found = run(OURS, each=each)
    assert f"so {name} must be the same for all" in found.failures["w1 decide"]
    assert (found.play.all_calls, "geheim" in str(found.play.hostvars["w3"]["__device_plugin_begin"])) == ([], False)


def test_names_of_nodes_and_of_other_variables_may_differ() -> None:
    own = {
        "device_plugin_node_name": "other",
        "device_plugin_x": 1,
        "device_plugin_ignored_variables": ["device_plugin_x"],
    }
    assert run(OURS, each={"w2": own}).failures == {}


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (
            {"failed": True, "msg": "no node gets the device plugin"},
            "Nothing was changed: no node gets the device plugin",
        ),
        (GONE, "Nothing was changed: gone"),
        ({"failed": True, "msg": ""}, "Nothing was changed: no answer"),
        (
            plugin_info(NAMESPACE, {"kind": "DaemonSet", "name": OWN, "labels": {}, "config_maps": []}),
            "was not created by this role",
        ),
        (
            plugin_info({**NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "baseline"}}),
            "accepts only pods of the level baseline",
        ),
    ],
)
def test_what_the_cluster_reports_against_it_is_heard_before_anything_is_written(
    result: ModuleResult, words: str
) -> None:
    found = run(OURS, results={"device_plugin_info": result})
    assert words in found.failures["w1 decide"]
    assert (found.changed, list(found.failures)) == ([], ["w1 decide"])
    assert found.summary["lines"] == [
        "Nothing was changed on 3 nodes",
        f"w1: {found.failures['w1 decide']}",
        "Failed: w1 failed. Run the same command again when that is repaired.",
    ]
    assert found.report("w1") == {"changed": False, "nodes": {}, "problems": [], "kept": {}}


def test_of_a_plugin_of_others_nothing_is_read_on_the_controller() -> None:
    found = run({**THEIRS, "device_plugin_expected": []})
    decided = found.result("decide", "w1")
    assert (found.failures, found.play.controller.commands, decided["files"]) == ({}, [], {"dongles.conf": "a = b\n"})
    assert decided["is_bundled"] is False
    bare = run({**THEIRS, "device_plugin_files": {}, "device_plugin_expected": []})
    assert bare.result("decide", "w1")["config_map"] == ""


def test_a_token_is_kept_in_a_secret_and_the_devices_of_pods_are_shared() -> None:
    decided = run({**OURS, "device_plugin_pod_resources_token": "geheim"}).result("decide", "w1")
    assert (decided["token_secret"], decided["pod_resources"]) == (f"{OWN}-token", True)
    assert "geheim" not in str(decided)


def test_devices_that_are_handed_out_by_cdi_are_requested() -> None:
    resource = {**OURS["device_plugin_config"]["resources"][0], "container": {"cdi": True}}
    found = run({**OURS, "device_plugin_config": {"resources": [resource]}})
    assert (found.result("decide", "w1")["cdi"], found.play.calls("device_plugin_info")[0].arguments["cdi"]) == (
        True,
        True,
    )


# ---- an image of an archive ------------------------------------------------------------------------------------------


def test_an_image_is_loaded_where_the_plugin_goes_and_is_missing() -> None:
    results: dict[str, ModuleResult] = {
        "device_plugin_info": plugin_info(NAMESPACE, selected=["node-w2", "node-w3"]),
        "node_image": lambda call: {"present": call.host == "w3"},
    }
    found = run(ARCHIVE, results=results, change={"changed": False})
    assert [found.result("turn", name)["loads"] for name in ("w1", "w2", "w3")] == [False, True, False]
    assert (found.failures, found.report("w1")["changed"]) == ({}, True)
    assert [call.arguments for call in found.play.calls("node_image")] == [{"name": OURS["device_plugin_image"]}] * 2


STAGE: Json = {"ca_sha256": "bb", "server": "https://stage:6443", "machine_id": "m"}


def on_stage(call: Call) -> Json:
    """A kubelet: those of the control plane and of w2 are of one cluster."""
    return {
        "node": f"node-{call.on}",
        "cluster": STAGE if call.on in ("cp1", "w2") else {**STAGE, "ca_sha256": "aa"},
    }


def test_api_has_to_be_that_of_control_plane() -> None:
    found = run(OURS, groups={"kube_control_plane": ["cp1"]}, results={"kubelet_info": on_stage})
    before, _after = (call.arguments for call in found.play.calls("device_plugin_info"))
    assert before["cluster"] == {"ca_sha256": "bb", "machine_ids": {"node-cp1": "m"}}
    assert len(found.play.calls("kubelet_info")) == 1


def test_unreadable_control_plane_leaves_api_unchecked() -> None:
    failed: ModuleResult = {"unreachable": True, "msg": "gone"}
    found = run(OURS, groups={"kube_control_plane": ["cp1"]}, results={"kubelet_info": failed})
    assert found.failures == {}
    assert "cluster" not in found.play.calls("device_plugin_info")[0].arguments
    warning = "not verified: whether the API is that of these nodes: no control plane could be read"
    assert found.result("identify", "w1")["warnings"] == [warning]


def test_image_is_not_loaded_into_node_of_another_cluster() -> None:
    each = {name: {"device_plugin_node_name": ""} for name in ("w1", "w2", "w3")}
    groups = {"kube_control_plane": ["cp1"]}
    found = run(ARCHIVE, groups=groups, each=each, results={"kubelet_info": on_stage})
    assert "w2 turn" not in found.failures
    assert found.failures["w1 turn"].startswith("Nothing was deployed, because of w1: it is of another cluster (")
    assert found.changed == []


def test_a_node_that_does_not_report_its_name_is_queried() -> None:
    results: dict[str, ModuleResult] = {"kubelet_info": {"node": "node-w2"}}
    each = {"w2": {"device_plugin_node_name": ""}}
    found = run(ARCHIVE, results=results, each=each)
    assert [call.host for call in found.play.calls("kubelet_info")] == ["w2"]
    assert found.result("turn", "w2")["loads"] is True


@pytest.mark.parametrize("module", ["kubelet_info", "node_image"])
def test_a_node_that_cannot_be_queried_keeps_all_from_the_plugin(module: str) -> None:
    each = {"w2": {"device_plugin_node_name": ""}}
    results: dict[str, ModuleResult] = {"kubelet_info": {"node": "node-w2"}}
    results[module] = {"failed": True, "msg": "no runtime"}
    found = run(ARCHIVE, results=results, each=each)
    assert found.failures["w2 turn"] == "Nothing was deployed, because of w2: no runtime"
    assert found.changed == []


def test_nothing_is_written_before_all_have_checked() -> None:
    found = role_run(ARCHIVE)
    found.plan(["w1", "w2", "w3"])
    message = found.play.run_step("device_plugin", "admit", "w1")
    assert message["msg"].startswith("Nothing was changed. w1, w2, w3 is not planned yet")


def test_an_image_is_not_loaded_into_a_batch_only() -> None:
    found = role_run(ARCHIVE)
    found.play.batch = ["w1"]
    found.run()
    assert "serial excludes w2, w3" in found.failures["w1 decide"]
    assert found.play.all_calls == []


# ---- absent ----------------------------------------------------------------------------------------------------------

ABSENT: Json = {**OURS, "device_plugin_state": "absent"}


def amounts(allocatable: str, *, device_plugin: bool = True) -> Json:
    return {D: {"capacity": "4", "allocatable": allocatable, "device_plugin": device_plugin}}


@pytest.mark.parametrize(
    ("variables", "left_on"), [(ABSENT, ["node-w1", "node-w2"]), ({"device_plugin_state": "absent"}, ["node-w1"])]
)
def test_what_kubelets_still_show_of_it_is_reported(variables: Json, left_on: list[str]) -> None:
    nodes = {"node-w1": amounts("0"), "node-w2": amounts("4"), "node-w3": amounts("4", device_plugin=False)}
    offered = {"nodes": {name: {"extended_resources": each} for name, each in nodes.items()}}
    results: dict[str, ModuleResult] = {
        "device_plugin_info": plugin_info(NAMESPACE, FORMER),
        "node_resource_info": offered,
    }
    found = run(variables, results=results)
    (question,) = (call.arguments for call in found.play.calls("device_plugin_info"))
    assert question == {"name": OWN, "namespace": OWN, "gather_subset": ["objects", "others"]}
    # Who may not list the pods of all namespaces may take it away.
    assert [call.arguments for call in found.play.calls("node_resource_info")] == [{"requested": False}]
    assert list(found.report("w1")["kept"]) == left_on
    assert [call["label"] for call in found.result("decide", "w1")["removals"]] == [
        f"ConfigMap {FORMER['name']}",
        f"Namespace {OWN}",
    ]
    assert (found.play.controller.commands, found.result("decide", "w1")["files"]) == ([], {})


def test_what_they_show_may_not_be_known() -> None:
    found = run(ABSENT, results={"node_resource_info": {"failed": True, "msg": "forbidden"}})
    assert found.failures["w1 verify"].endswith(
        "was removed, but what kubelets still show of it is not known: forbidden"
    )


# ---- the image, which is built on its own ----------------------------------------------------------------------------


@pytest.mark.parametrize("check_mode", [False, True])
def test_what_builds_the_image_is_no_pass(check_mode: bool) -> None:
    play = FakePlay({"localhost": {}}, check_mode=check_mode)
    assert play.run_step("device_plugin", "observe", "localhost") == {
        "changed": False,
        "check_mode": check_mode,
    }
    misspelt = FakePlay({"localhost": {"device_plugin_image_bas": 1}}).run_step("device_plugin", "observe", "localhost")
    assert "did you mean device_plugin_image_base?" in misspelt["msg"]


def test_one_host_may_do_it_for_all() -> None:
    assert run(OURS, run_once=True).failures == {}


def test_hosts_that_the_play_has_lost_do_not_matter() -> None:
    found = role_run(OURS)
    found.play.play_hosts, found.play.lost = ["w1", "w2"], ["w3"]
    found.run()
    assert (found.failures, found.changed) == ({}, ["w1"])

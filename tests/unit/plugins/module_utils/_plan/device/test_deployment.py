# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which objects of a device plugin are written and removed, and what is reported."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import typed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.device import deployment
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.device.deployment import (
    FoundObjects,
    Mode,
    PluginCheck,
    PluginDecision,
    PluginHost,
    Verification,
    WriteResult,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.device.desired import Settings
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.results import NodeInfo
from ansible_collections.nodecraft.kubeadm.tests.unit.support.device_plugin_settings import settings

Json = dict[str, t.Any]
D = "example.com/dongle"
OWNED = {"app.kubernetes.io/managed-by": "nodecraft.kubeadm"}
CONFIG = "p-config-0000000000"
NORMAL, CHECK, DIFF = Mode(), Mode(check=True), Mode(diff=True)


PRESENT, ABSENT, WITH_TOKEN = settings(), settings(state="absent"), settings(has_token=True)


def thing(kind: str, name: str, labels: Json | None = None, config_maps: t.Sequence[str] = ()) -> Json:
    """An object, ours unless it has other labels."""
    return {"kind": kind, "name": name, "labels": OWNED if labels is None else labels, "config_maps": list(config_maps)}


NAMESPACE = thing("Namespace", "x")
DAEMON_SET = thing("DaemonSet", "p", config_maps=["p-config"])
FORMER = thing("ConfigMap", "p-config")
TOKEN = thing("Secret", "p-token")
NOTHING = FoundObjects(None, None, [], [], "", [])


def classify(options: Settings, *objects: Json, others: t.Sequence[Json] = ()) -> FoundObjects:
    return deployment.classify_objects(options, CONFIG, objects, others)


# ---- what is there ---------------------------------------------------------------------------------------------------


def test_variables_that_differ_are_named() -> None:
    same = {"w1": {"a": "1", "b": "2"}, "w2": {"a": "1", "b": "2"}}
    assert deployment.differing_variables_error(same) == ""
    found = deployment.differing_variables_error({**same, "w3": {"a": "1", "b": "3"}})
    assert found.startswith("One host acts for all hosts of a play, so b must be the same for all of them. Set it")


def test_nothing_is_there() -> None:
    assert classify(PRESENT) == NOTHING


def test_what_is_as_desired() -> None:
    objects = (NAMESPACE, DAEMON_SET, thing("ConfigMap", CONFIG), TOKEN)
    found = classify(WITH_TOKEN, *objects)
    assert found == FoundObjects(NAMESPACE, DAEMON_SET, [], [], "", [])
    assert found.own_namespace == NAMESPACE


def test_former_files_are_stale_and_those_of_others_stay() -> None:
    theirs = [thing("ConfigMap", "p-config-1111111111", {}), thing("Secret", "p-token", {})]
    found = classify(PRESENT, NAMESPACE, DAEMON_SET, FORMER, *theirs)
    assert (found.stale, found.foreign, found.former_config) == ([FORMER], [], "p-config")
    assert classify(PRESENT, NAMESPACE, FORMER).former_config == ""
    namesake = thing("DaemonSet", "p", config_maps=["p-token"])
    assert classify(PRESENT, namesake, TOKEN).former_config == ""


def test_what_is_ours_and_goes_with_the_plugin() -> None:
    found = classify(ABSENT, NAMESPACE, DAEMON_SET, thing("ConfigMap", CONFIG), TOKEN)
    assert [each["name"] for each in found.stale] == [CONFIG, "p-token"]


def test_a_token_that_is_not_desired_any_more_is_stale() -> None:
    assert classify(PRESENT, TOKEN).stale == [TOKEN]
    assert classify(settings(state="absent", has_token=True), TOKEN).stale == [TOKEN]


def test_what_would_be_written_over_is_foreign() -> None:
    objects = [thing("DaemonSet", "p", {}), thing("ConfigMap", CONFIG, {}), thing("Secret", "p-token", {})]
    assert classify(WITH_TOKEN, *objects).foreign == ["DaemonSet p", f"ConfigMap {CONFIG}", "Secret p-token"]
    assert classify(ABSENT, *objects).foreign == ["DaemonSet p"]


def test_what_keeps_the_namespace() -> None:
    others = [thing("Pod", "p-1"), thing("Deployment", "theirs", {})]
    assert classify(ABSENT, NAMESPACE, others=others).others == ["Deployment theirs"]


# ---- what speaks against it ------------------------------------------------------------------------------------------


def test_objects_of_others_are_refused() -> None:
    found = classify(ABSENT, thing("DaemonSet", "p", {}))
    assert (
        "In the namespace x this was not created by this role: DaemonSet p; remove it first"
        in deployment.write_refusal(ABSENT, found)
    )


def namespace(level: str | None, owned: bool = False) -> Json:
    label = {} if level is None else {"pod-security.kubernetes.io/enforce": level}
    return thing("Namespace", "x", {**label, **(OWNED if owned else {})})


@pytest.mark.parametrize(
    ("options", "found", "is_refused"),
    [
        (PRESENT, None, False),
        (PRESENT, namespace(None), False),
        (PRESENT, namespace("privileged"), False),
        (PRESENT, namespace("baseline"), True),
        (PRESENT, namespace("baseline", owned=True), False),
        (ABSENT, namespace("baseline"), False),
    ],
)
def test_a_namespace_that_takes_no_such_pods(options: Settings, found: Json | None, is_refused: bool) -> None:
    refusal = deployment.write_refusal(options, classify(options, *([found] if found else [])))
    assert ("accepts only pods of the level baseline" in refusal) is is_refused
    assert bool(refusal) is is_refused


# ---- what is written -------------------------------------------------------------------------------------------------

ALL = ["Namespace", "ConfigMap", "DaemonSet"]
THERE, THEIRS = FoundObjects(NAMESPACE, None, [], [], "", []), FoundObjects(namespace(None), None, [], [], "", [])


@pytest.mark.parametrize(
    ("options", "found", "mode", "kinds"),
    [
        (PRESENT, NOTHING, NORMAL, [ALL]),
        (PRESENT, THERE, NORMAL, [ALL]),
        (PRESENT, THEIRS, NORMAL, [ALL[1:]]),
        (PRESENT, NOTHING, CHECK, [["Namespace"]]),
        (PRESENT, THERE, CHECK, [ALL]),
        (PRESENT, THERE, DIFF, [[kind] for kind in ALL]),
        # A pod does not start without its Secret, and that needs the namespace.
        (WITH_TOKEN, NOTHING, NORMAL, [["Namespace"], ["Secret"], ["ConfigMap", "DaemonSet"]]),
        (WITH_TOKEN, THERE, NORMAL, [["Secret"], ALL]),
        (WITH_TOKEN, THEIRS, NORMAL, [["Secret"], ALL[1:]]),
        (WITH_TOKEN, NOTHING, CHECK, [["Namespace"]]),
        (WITH_TOKEN, NOTHING, DIFF, [["Namespace"], ["ConfigMap"], ["Secret"], ["DaemonSet"]]),
    ],
)
def test_calls_that_write(options: Settings, found: FoundObjects, mode: Mode, kinds: list[list[str]]) -> None:
    calls = deployment.plan_writes(options, found, mode, has_files=True)
    assert [call["kinds"] for call in calls] == kinds
    assert [call["hidden"] for call in calls] == [each == ["Secret"] for each in kinds]
    assert {(call["former"], call["check"], call["diff"]) for call in calls} == {("", False, True)}


def test_a_plugin_without_files_has_no_config_map() -> None:
    (call,) = deployment.plan_writes(PRESENT, THERE, NORMAL, has_files=False)
    assert call["kinds"] == ["Namespace", "DaemonSet"]


def test_a_difference_is_that_from_the_former_configuration() -> None:
    found = FoundObjects(NAMESPACE, DAEMON_SET, [FORMER], [], "p-config", [])
    calls = deployment.plan_writes(PRESENT, found, DIFF, has_files=True)
    assert [(call["kinds"], call["former"], call["check"], call["diff"]) for call in calls] == [
        (["Namespace"], "", False, True),
        (["ConfigMap"], "p-config", True, True),
        (["ConfigMap"], "", False, False),
        (["DaemonSet"], "", False, True),
    ]
    assert len(deployment.plan_writes(PRESENT, found, NORMAL, has_files=True)) == 1


# ---- what is removed -------------------------------------------------------------------------------------------------


def removed(options: Settings, found: FoundObjects, mode: Mode = NORMAL) -> list[tuple[list[str], bool, str]]:
    calls = deployment.plan_removals(options, found, mode)
    return [([each["metadata"]["name"] for each in call["objects"]], call["wait"], call["policy"]) for call in calls]


def test_former_files_are_removed() -> None:
    found = FoundObjects(NAMESPACE, DAEMON_SET, [FORMER, TOKEN], [], "", [])
    assert removed(PRESENT, found) == [(["p-config", "p-token"], False, "")]
    assert removed(PRESENT, found, DIFF) == [(["p-config"], False, ""), (["p-token"], False, "")]
    assert removed(PRESENT, THERE) == []


def test_all_of_a_plugin_is_removed() -> None:
    found = FoundObjects(NAMESPACE, DAEMON_SET, [FORMER, TOKEN], [], "", [])
    assert removed(ABSENT, found) == [
        (["p"], True, "Foreground"),
        (["p-config", "p-token"], False, ""),
        (["x"], True, ""),
    ]
    calls = deployment.plan_removals(ABSENT, found, NORMAL)
    assert [call["label"] for call in calls] == ["DaemonSet p", "ConfigMap p-config, Secret p-token", "Namespace x"]
    assert [call["objects"][0] for call in calls] == [
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "p", "namespace": "x"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p-config", "namespace": "x"}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}},
    ]


@pytest.mark.parametrize(
    "found",
    [
        NOTHING,
        THEIRS,
        FoundObjects(NAMESPACE, None, [], [], "", ["Deployment theirs"]),
    ],
)
def test_a_namespace_that_stays(found: FoundObjects) -> None:
    assert removed(ABSENT, found) == []


# ---- how it goes on --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stale", "problems", "mode", "must_verify"),
    [
        ([], [], NORMAL, False),
        ([FORMER], [], NORMAL, True),
        ([FORMER], [], CHECK, True),
        ([], ["w1: nothing"], NORMAL, True),
        ([], ["w1: nothing"], CHECK, False),
    ],
)
def test_what_is_left_to_do_when_nothing_changes(
    stale: list[Json], problems: list[str], mode: Mode, must_verify: bool
) -> None:
    found = FoundObjects(NAMESPACE, DAEMON_SET, stale, [], "", [])
    decision = deployment.make_decision(PRESENT, found, mode, has_files=True, check=PluginCheck(problems=problems))
    assert decision.must_verify is must_verify


def test_a_decision() -> None:
    found = FoundObjects(NAMESPACE, DAEMON_SET, [FORMER], [], "", ["Pod theirs"])
    decision = deployment.make_decision(PRESENT, found, NORMAL, has_files=True, check=PluginCheck())
    assert decision.writes == deployment.plan_writes(PRESENT, found, NORMAL, has_files=True)
    assert decision.removals == deployment.plan_removals(PRESENT, found, NORMAL)
    assert decision.others == ["Pod theirs"]
    assert deployment.make_decision(ABSENT, found, NORMAL, has_files=True, check=PluginCheck()).writes == []


@pytest.mark.parametrize(
    ("found", "mode", "is_preview"), [(NOTHING, CHECK, True), (NOTHING, NORMAL, False), (THERE, CHECK, False)]
)
def test_what_the_api_server_cannot_judge(found: FoundObjects, mode: Mode, is_preview: bool) -> None:
    assert deployment.make_decision(PRESENT, found, mode, has_files=True, check=PluginCheck()).is_preview is is_preview


@pytest.mark.parametrize(
    ("problems", "changed", "mode", "waits"),
    [
        ([], False, NORMAL, False),
        ([], True, NORMAL, True),
        (["w1: nothing"], False, NORMAL, True),
        (["w1: nothing"], True, CHECK, False),
    ],
)
def test_whether_nodes_are_waited_for(problems: list[str], changed: bool, mode: Mode, waits: bool) -> None:
    assert deployment.must_wait(PluginDecision(problems=problems), WriteResult(changed=changed), mode) is waits


def test_what_is_wrong_after_the_deployment() -> None:
    assert deployment.verification_error(PRESENT, PluginCheck()) == ""
    proof = {"problems": ["w1: a", "w2: b"], "waited_seconds": 299.6, "selected": ["w1", "w2", "w3"]}
    assert deployment.verification_error(PRESENT, typed.parse(PluginCheck, proof)) == (
        "The device plugin x/p is deployed, but after 300 s 2 of 3 nodes do not advertise what is expected. w1: a. w2: b."
    )


# ---- what is reported ------------------------------------------------------------------------------------------------


def amounts(capacity: str | None, allocatable: str, device_plugin: bool = True) -> Json:
    return {"capacity": capacity, "allocatable": allocatable, "device_plugin": device_plugin, "requested": None}


def test_what_kubelets_still_show() -> None:
    of_nodes: dict[str, Json] = {
        "w1": {D: amounts("4", "0"), "example.com/other": amounts("1", "0")},
        "w2": {D: amounts("4", "4", device_plugin=False)},
        "w3": {D: amounts("0", "0")},
        "w4": {D: amounts(None, "0")},
        "w5": {D: amounts("4", "4")},
    }
    nodes = {name: typed.parse(NodeInfo, {"extended_resources": found}) for name, found in of_nodes.items()}
    assert deployment.leftover_resources(ABSENT, nodes) == {
        "w1": {D: {"capacity": "4", "allocatable": "0"}},
        "w5": {D: {"capacity": "4", "allocatable": "4"}},
    }
    # Without names, that which nothing serves.
    assert deployment.leftover_resources(settings(state="absent", config={}), nodes) == {
        "w1": {name: {"capacity": each["capacity"], "allocatable": "0"} for name, each in of_nodes["w1"].items()}
    }


DECISION = PluginDecision(summary=["w1: first"], nodes={"w1": 1})
PROOF = Verification(proof=PluginCheck(summary=["w1: last"], nodes={"w1": 2}, problems=["w1: wrong"]))


def test_the_last_check_is_reported() -> None:
    found = deployment.make_report(DECISION, PROOF, changed=True)
    assert found == {"changed": True, "nodes": {"w1": 2}, "problems": ["w1: wrong"], "kept": {}}
    assert deployment.report_lines(PRESENT, DECISION, PROOF, changed=True) == ["w1: last"]


def test_without_a_change_the_first_check_counts() -> None:
    found = deployment.make_report(DECISION, None, changed=False)
    assert found == {"changed": False, "nodes": {"w1": 1}, "problems": [], "kept": {}}
    assert deployment.report_lines(PRESENT, DECISION, None, changed=False) == ["w1: first"]


@pytest.mark.parametrize(("problems", "changed"), [([], True), (["w1: wrong"], False)])
def test_what_was_not_tried(problems: list[str], changed: bool) -> None:
    decision = dataclasses.replace(DECISION, problems=problems)
    assert deployment.make_report(decision, None, changed=changed)["nodes"] == {"w1": 1}
    assert deployment.make_report(decision, None, changed=changed)["problems"] == []
    assert deployment.report_lines(PRESENT, decision, None, changed=changed) == ["x/p: not checked on the nodes"]


def test_what_was_refused() -> None:
    assert deployment.make_report(PluginDecision(failed=True), None, changed=False) == {
        "changed": False,
        "nodes": {},
        "problems": [],
        "kept": {},
    }


def test_what_is_reported_of_a_plugin_that_is_gone() -> None:
    decision = PluginDecision()
    assert deployment.report_lines(ABSENT, decision, Verification(), changed=True) == ["x/p: no longer there"]
    leftover = {"w1": {D: {"capacity": "4", "allocatable": "0"}}}
    assert deployment.make_report(decision, Verification(kept=leftover), changed=True)["kept"] == leftover
    stays = PluginDecision(others=["Pod a", "Pod b"])
    assert deployment.report_lines(ABSENT, stays, Verification(kept=leftover), changed=True) == [
        f"w1: still shows {D} 4 (0 for pods); its kubelet forgets that five minutes after the plugin ended, except for the name",
        "the namespace x stays, because it also has: Pod a, Pod b",
    ]


def test_warnings_of_calls_with_several_objects_are_reported() -> None:
    several = {"result": {"results": [{"warnings": ["a"]}, {"changed": True}]}}
    written = WriteResult(results=[several, {"result": None}, {"result": {"kind": "Secret"}}])
    assert deployment.hidden_warnings(written) == ["a"]
    assert deployment.hidden_warnings(WriteResult()) == []


# ---- what this pass changed ------------------------------------------------------------------------------------------

CHANGED = {"changed": True}
THIS, EARLIER = {"pass_id": "2"}, {"pass_id": "1"}


def registers(**results: Json) -> PluginHost:
    """Of the host that decision. Those of modules are of this pass or of an earlier one."""
    found: dict[str, Json] = {"begin": {**THIS, "at_work": True}, "decide": THIS, **results}
    return PluginHost(lambda task: found.get(task, {}))


@pytest.mark.parametrize(
    ("options", "own", "is_changed"),
    [
        (PRESENT, registers(), False),
        (PRESENT, registers(change=CHANGED), True),
        (PRESENT, registers(change=CHANGED, decide=EARLIER), False),
        (PRESENT, registers(change=CHANGED, decide={**THIS, "failed": True}), False),
        (settings(has_archive=True), registers(change=CHANGED), False),
        (settings(has_archive=True), registers(change=CHANGED, admit=EARLIER), False),
        (settings(has_archive=True), registers(change=CHANGED, admit=THIS), True),
        (PRESENT, registers(removal=CHANGED), False),
        (PRESENT, registers(removal=CHANGED, verify=EARLIER), False),
        (PRESENT, registers(removal=CHANGED, verify=THIS), True),
        (PRESENT, registers(removal=CHANGED, verify={**THIS, "failed": True}), False),
        (ABSENT, registers(change=CHANGED), False),
        (ABSENT, registers(removal=CHANGED), True),
        (ABSENT, registers(removal=CHANGED, decide={**THIS, "failed": True}), False),
        (ABSENT, registers(removal=CHANGED, decide=EARLIER), False),
    ],
)
def test_results_of_an_earlier_pass_do_not_count(options: Settings, own: PluginHost, is_changed: bool) -> None:
    assert deployment.is_changed(options, own, [own]) is is_changed


@pytest.mark.parametrize(
    ("turn", "load", "is_changed"),
    [
        ({**THIS, "loads": True}, CHANGED, True),
        ({**THIS, "loads": True}, {"changed": False}, False),
        ({**THIS, "loads": False}, CHANGED, False),
        ({**EARLIER, "loads": True}, CHANGED, False),
    ],
)
def test_an_image_that_another_host_was_given_is_a_change(turn: Json, load: Json, is_changed: bool) -> None:
    options = settings(has_archive=True)
    assert deployment.is_changed(options, registers(), [registers(), registers(turn=turn, load=load)]) is is_changed
    assert not deployment.is_changed(options, registers(), [registers(turn={**THIS, "loads": True})])

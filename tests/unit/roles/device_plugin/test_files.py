# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects with the plugin's configuration, files and token: how they are written, shown and replaced."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.unit.support.device_plugin_role import (
    CONFIGS,
    FILES,
    OURS,
    OWN,
    OWN_KEYWORD,
    ROLE,
    THEIRS,
    D,
    Play,
    named,
    objects,
    removed,
    since,
    written,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Stage


def config_of(count: int) -> Json:
    """A configuration with so many devices."""
    return {"resources": [{"name": D, "discover": [{"fake": {"count": count}}]}]}


def test_another_configuration_is_another_object_which_new_pods_alone_mount(play: Play) -> None:
    def name(variables: Json) -> str:
        found = written(play(variables, "--check", stub={"stub_objects": {"Namespace": [named("x")]}}))
        pod = found["DaemonSet"]["spec"]["template"]["spec"]
        (mounts,) = (volume["configMap"]["name"] for volume in pod["volumes"] if volume["name"] == "config")
        assert found["ConfigMap"]["metadata"]["name"] == mounts
        assert "annotations" not in found["DaemonSet"]["spec"]["template"]["metadata"]
        return str(mounts)

    names = [name({**OURS, "device_plugin_config": config_of(count)}) for count in (4, 5, 4)]
    assert names[0] == names[2] != names[1]
    assert re.fullmatch(OWN + "-config-[0-9a-f]{10}", names[0])
    assert re.fullmatch("dongles-config-[0-9a-f]{10}", name(THEIRS))


@pytest.mark.parametrize(
    ("expected", "own", "at_least"),
    [
        ([{"resources": {D: 4}}], {}, 4),
        ([{"resources": {D: ">=2"}}, {"resources": {D: ">= 3"}}], {}, 3),
        ([{"resources": {D: 4}}], {"atLeast": 1}, 1),
        ([{"resources": {D: 4}}, {"nodes": ["node-w2"], "resources": {D: 1}}], {}, None),
        ([{"label_selector": "a=b", "resources": {D: 1}}, {"resources": {D: 4}}], {}, None),
        ([], {}, None),
    ],
)
def test_a_roll_out_stops_at_a_node_with_less_than_all_are_expected_to_offer(
    play: Play, expected: list[Json], own: Json, at_least: int | None
) -> None:
    config = {"resources": [{**config_of(4)["resources"][0], **own}]}
    variables = {**OURS, "device_plugin_expected": expected, "device_plugin_config": config}
    found = written(play(variables, "--check", stub={"stub_objects": {"Namespace": [named("x")]}}))
    (resource,) = yaml.safe_load(found["ConfigMap"]["data"]["config.yaml"])["resources"]
    assert resource.get("atLeast") == at_least


FORMER = f"{OWN}-config-0123456789"
MOUNTING = {"spec": {"template": {"spec": {"volumes": [{"hostPath": {}}, {"configMap": {"name": FORMER}}]}}}}
THERE = {
    "Namespace": [named("x", **OWN_KEYWORD)],
    "DaemonSet": [{**named(OWN, **OWN_KEYWORD), **MOUNTING}],
    "ConfigMap": [
        named(f"{OWN}-config", **OWN_KEYWORD),  # of an earlier release of the role
        named(FORMER, **OWN_KEYWORD),
        named(f"{OWN}-config-aaaaaaaaaa"),  # of somebody else
        named(f"{OWN}-config-map", **OWN_KEYWORD),  # of another plugin
    ],
}


@pytest.mark.parametrize(
    ("stub", "options", "goes"),
    [
        ({}, (), [f"ConfigMap {OWN}-config", f"ConfigMap {FORMER}"]),
        ({}, ("--check",), [f"ConfigMap {OWN}-config", f"ConfigMap {FORMER}"]),
        ({"stub_problems": ["node-w2: nothing"]}, (), []),
    ],
)
def test_former_configurations_stay_until_no_pod_mounts_them(
    play: Play, stub: Json, options: tuple[str, ...], goes: list[str]
) -> None:
    outcome = play(OURS, *options, stub={"stub_objects": THERE, **stub})
    assert removed(outcome) == goes
    assert written(outcome)["ConfigMap"]["metadata"]["name"] not in {FORMER, f"{OWN}-config"}


def test_a_diff_shows_the_configuration_beside_the_former_one(play: Play) -> None:
    outcome = play(OURS, "--diff", stub={"stub_objects": THERE})
    calls = [call for call in outcome.calls if call["arguments"].get("state") != "absent"]
    found = [(call["step"], each) for call in calls for each in objects(call) if each["kind"] == "ConfigMap"]
    assert [step for step, _each in found] == ["plan", "change"]
    shown, made = (each for _step, each in found)
    assert (shown["metadata"]["name"], shown["data"]) == (FORMER, made["data"])
    same = {**THERE, "ConfigMap": [named(made["metadata"]["name"], **OWN_KEYWORD)]}
    again = since(outcome, play(OURS, "--diff", stub={"stub_objects": same, "stub_same": True}))
    assert removed(again) == []
    assert again.output.count("changed=0") == 3


def test_a_token_of_some_hosts_only_is_refused_and_not_shown(play: Play, stage: Stage) -> None:
    def host(token: str | None) -> Json:
        return {"device_plugin_node_name": "w", **({"device_plugin_pod_resources_token": token} if token else {})}

    for tokens in (None, "geheim", "geheim"), ("anders", "geheim", "geheim"):
        hosts = {name: host(token) for name, token in zip(("cp1", "w1", "w2"), tokens, strict=True)}
        outcome = stage.play({"kube_node": hosts}, "-v", roles=[ROLE], vars=OURS)
        assert outcome.status != 0
        assert "device_plugin_pod_resources_token has to be the same for all of them. Set it for all" in outcome.output
        assert outcome.calls == []
        assert [word for word in secrets_of("geheim") if word in outcome.output] == []
    outcome = play(OURS, "-v", stub={"device_plugin_pod_resources_token": "geheim"})
    assert outcome.status == 0, outcome.output
    assert written(outcome)["Secret"]["data"] == {"token": "Z2VoZWlt"}
    assert [word for word in secrets_of("geheim") if word in outcome.output] == []


def secrets_of(token: str) -> list[str]:
    """What must not be shown of a token: itself, and what it can be guessed from."""
    return [
        token,
        base64.b64encode(token.encode()).decode(),
        *(hashlib.sha256(text.encode()).hexdigest() for text in (token, json.dumps(token))),
    ]


def test_a_token_is_kept_in_a_secret(play: Play) -> None:
    outcome = play({**OURS, "device_plugin_pod_resources_token": "geheim"}, "-v")
    assert outcome.status == 0, outcome.output
    secret, config = written(outcome)["Secret"], written(outcome)["ConfigMap"]["data"]["config.yaml"]
    assert (secret["metadata"]["name"], secret["data"]) == ("nodecraft-device-plugin-token", {"token": "Z2VoZWlt"})
    assert "tokenFile: /etc/nodecraft-device-plugin-token/token" in config
    mounts = written(outcome)["DaemonSet"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    assert {"token", "pod-resources"} <= {mount["name"] for mount in mounts}
    assert [mount.get("recursiveReadOnly") for mount in mounts if mount["name"] == "pod-resources"] == ["IfPossible"]
    assert "geheim" not in outcome.output
    assert "Z2VoZWlt" not in outcome.output


@pytest.mark.parametrize(
    ("variables", "goes"),
    [
        ({}, [*CONFIGS, f"Secret {OWN}-token"]),
        ({"device_plugin_pod_resources_token": "t"}, CONFIGS),
        ({"device_plugin_state": "absent"}, [*CONFIGS, f"Secret {OWN}-token"]),
    ],
)
def test_files_that_are_not_wanted_any_more_go_when_the_plugin_works(
    play: Play, variables: Json, goes: list[str]
) -> None:
    namespace = named("x", **OWN_KEYWORD)
    asked = {**OURS, **variables}
    outcome = play(asked, stub={"stub_objects": {"Namespace": [namespace], **FILES}})
    assert outcome.status == 0, outcome.output
    assert [name for name in removed(outcome) if name.startswith(("ConfigMap", "Secret"))] == goes
    assert "geheim" not in outcome.output


def test_files_that_somebody_else_made_stay(play: Play) -> None:
    made = play(OURS)
    wanted = written(made)["ConfigMap"]["metadata"]["name"]
    configs = [named(name) for name in (wanted, f"{OWN}-config", f"{OWN}-config-0123456789")]
    theirs = {"ConfigMap": configs, "Secret": [named(f"{OWN}-token"), named("x", **OWN_KEYWORD)]}
    stub = {"stub_objects": {"Namespace": [named("x", **OWN_KEYWORD)], **theirs}}
    refused = since(made, play(OURS, stub=stub))
    assert f"this was not made by this role: ConfigMap {wanted}; remove it first" in refused.output
    assert written(refused) == {}
    assert removed(refused) == []
    own = {"DaemonSet": [named(OWN, **OWN_KEYWORD)]}
    stub["stub_objects"] |= own
    assert removed(play({**OURS, "device_plugin_state": "absent"}, stub=stub)) == [f"DaemonSet {OWN}"]


def test_an_access_that_yaml_takes_for_a_boolean_is_off(play: Play) -> None:
    config = {**OURS["device_plugin_config"], "podResources": {"access": False}}
    outcome = play({**OURS, "device_plugin_config": config})
    assert "access: 'off'" in written(outcome)["ConfigMap"]["data"]["config.yaml"]
    mounts = written(outcome)["DaemonSet"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    assert "pod-resources" not in {mount["name"] for mount in mounts}

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects with the plugin's configuration, files and token: how they are written, displayed and replaced."""

from __future__ import annotations

import base64
import hashlib
import json
import re

from ansible_collections.nodecraft.kubeadm.tests.unit.support.device_plugin_role import (
    OURS,
    OWN,
    OWN_KEYWORD,
    ROLE,
    Play,
    named,
    objects,
    removed,
    written,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Stage

FORMER = f"{OWN}-config-0123456789"
MOUNTING = {"spec": {"template": {"spec": {"volumes": [{"hostPath": {}}, {"configMap": {"name": FORMER}}]}}}}
THERE = {
    "Namespace": [named("x", **OWN_KEYWORD)],
    "DaemonSet": [{**named(OWN, **OWN_KEYWORD), **MOUNTING}],
    "ConfigMap": [
        named(FORMER, **OWN_KEYWORD),
        named(f"{OWN}-config-aaaaaaaaaa"),  # of another owner
        named(f"{OWN}-config-map", **OWN_KEYWORD),  # of another plugin
    ],
}


def test_former_configurations_go_when_no_pod_mounts_them(play: Play) -> None:
    outcome = play(OURS, stub={"stub_objects": THERE})
    assert outcome.status == 0, outcome.output
    # Behind the wait for the new pods.
    waits, removes = (
        [number for number, call in enumerate(outcome.calls) if is_it(call["arguments"])]
        for is_it in (lambda given: given.get("wait"), lambda given: given.get("state") == "absent")
    )
    assert max(waits) < min(removes)
    assert removed(outcome) == [f"ConfigMap {FORMER}"]
    name = written(outcome)["ConfigMap"]["metadata"]["name"]
    assert re.fullmatch(OWN + "-config-[0-9a-f]{10}", name)
    assert name != FORMER
    # New pods alone mount another one.
    template = written(outcome)["DaemonSet"]["spec"]["template"]
    (mounted,) = (volume["configMap"]["name"] for volume in template["spec"]["volumes"] if volume["name"] == "config")
    assert (mounted, "annotations" in template["metadata"]) == (name, False)


def test_a_diff_shows_the_configuration_beside_the_former_one(play: Play) -> None:
    outcome = play(OURS, "--diff", stub={"stub_objects": THERE})
    calls = [call for call in outcome.calls if call["arguments"].get("state") != "absent"]
    found = [(call["step"], each) for call in calls for each in objects(call) if each["kind"] == "ConfigMap"]
    assert [step for step, _each in found] == ["plan", "change"]
    displayed, made = (each for _step, each in found)
    assert (displayed["metadata"]["name"], displayed["data"]) == (FORMER, made["data"])


def test_a_token_of_some_hosts_only_is_refused_and_not_shown(stage: Stage) -> None:
    def host(token: str) -> Json:
        return {"device_plugin_node_name": "w", "device_plugin_pod_resources_token": token}

    tokens = ("anders", "geheim", "geheim")
    hosts = {name: host(token) for name, token in zip(("cp1", "w1", "w2"), tokens, strict=True)}
    outcome = stage.play({"kube_node": hosts}, "-v", roles=[ROLE], vars=OURS)
    assert outcome.status != 0
    assert "device_plugin_pod_resources_token must be the same for all of them. Set it for all" in outcome.output
    assert outcome.calls == []
    assert [word for word in secrets_of("geheim") if word in outcome.output] == []


def secrets_of(token: str) -> list[str]:
    """What must not be displayed of a token: itself, and what it can be guessed from."""
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
    assert [word for word in secrets_of("geheim") if word in outcome.output] == []

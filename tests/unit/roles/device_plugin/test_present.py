# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role writes, what it refuses, how it ends, and what reaches the nodes."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage

ROLE = {"role": "nodecraft.kubeadm.device_plugin"}
D = "example.com/dongle"
OURS: Json = {
    "device_plugin_image": "localhost/nodecraft-device-plugin:1",
    "device_plugin_config": {"resources": [{"name": D, "discover": [{"fake": {"count": 4}}]}]},
    "device_plugin_expected": [{"resources": {D: 4}}],
}
THEIRS: Json = {
    "device_plugin_name": "dongles",
    "device_plugin_namespace": "kube-system",
    "device_plugin_image": "registry.example.com/dongles:2",
    "device_plugin_args": ["--level", 3],
    "device_plugin_env": {"DEBUG": True},
    "device_plugin_files": {"dongles.conf": "a = b\n"},
    "device_plugin_host_paths": [
        {"path": "/opt/dongles"},
        {"path": "/dev", "mount_path": "/host/dev", "read_only": False},
    ],
    "device_plugin_socket_folders": ["/var/lib/kubelet/device-plugins", "/var/lib/kubelet/plugins_registry"],
    "device_plugin_node_selector": {"dongles": True},
    "device_plugin_pod_spec": {"hostNetwork": True, "securityContext": {"fsGroup": 0}},
    "device_plugin_container": {"securityContext": {"readOnlyRootFilesystem": False}},
}
OWN_LABEL = {"app.kubernetes.io/managed-by": "nodecraft.kubeadm"}

OWN = "nodecraft-device-plugin"
OWN_KEYWORD = {"app.kubernetes.io__managed-by": "nodecraft.kubeadm"}

Play = t.Callable[..., Outcome]


@pytest.fixture(name="play")
def fixture_play(stage: Stage) -> Play:
    """Run the role on w1, w2 and w3. stub: variables of the stand-ins."""

    def play(variables: Json, *options: str, stub: Json | None = None, **keywords: t.Any) -> Outcome:
        def host(name: str) -> Json:
            return {"device_plugin_node_name": f"node-{name}", "ansible_become": False, **(stub or {})}

        groups = {"kube_node": {name: host(name) for name in ("w1", "w2", "w3")}}
        keywords.setdefault("roles", [ROLE])
        return stage.play(groups, *options, hosts="kube_node", vars=variables, **keywords)

    return play


def written(outcome: Outcome) -> dict[str, Json]:
    """The objects that were asked for, by kind."""
    found = [call["arguments"] for call in outcome.calls if call["component"] == "k8s"]
    return {each["definition"]["kind"]: each["definition"] for each in found if "definition" in each}


def since(earlier: Outcome, later: Outcome) -> Outcome:
    """The second of two plays alone; the stand-ins go on noting."""
    return dataclasses.replace(later, calls=later.calls[len(earlier.calls) :])


def removed(outcome: Outcome) -> list[str]:
    """Kinds and names of what was to be removed, in its order."""
    found = [call["arguments"] for call in outcome.calls if call["component"] == "k8s"]
    return [f"{each['kind']} {each['name']}" for each in found if each.get("state") == "absent"]


# What is mounted below a folder of the host is read-only as well. The API server takes that only with readOnly.
READ_ONLY, WRITABLE = (True, "IfPossible"), (False, None)


def mounted(container: Json) -> dict[str, tuple[bool, str | None]]:
    """By path in the container: whether it is read-only, and whether what is mounted below it is."""
    assert not any("mountPropagation" in mount for mount in container["volumeMounts"])
    return {
        mount["mountPath"]: (mount.get("readOnly", False), mount.get("recursiveReadOnly"))
        for mount in container["volumeMounts"]
    }


def named(name: str, **labels: str) -> Json:
    """An object that is there."""
    return {"metadata": {"name": name, "labels": {key.replace("__", "/"): value for key, value in labels.items()}}}


FILES = {
    "ConfigMap": [named(f"{OWN}-config{end}", **OWN_KEYWORD) for end in ("", "-0123456789")],
    "Secret": [{**named(f"{OWN}-token", **OWN_KEYWORD), "data": {"token": "geheim"}}],
}
CONFIGS = [f"ConfigMap {found['metadata']['name']}" for found in FILES["ConfigMap"]]


@pytest.mark.slice
def test_ours_is_deployed_hardened_and_proven(play: Play) -> None:
    outcome = play(OURS)
    assert outcome.status == 0, outcome.output
    assert list(written(outcome)) == ["Namespace", "ConfigMap", "DaemonSet"]
    labels = written(outcome)["Namespace"]["metadata"]["labels"]
    assert (labels["pod-security.kubernetes.io/enforce"], labels["app.kubernetes.io/managed-by"]) == (
        "privileged",
        "nodecraft.kubeadm",
    )
    assert "count: 4" in written(outcome)["ConfigMap"]["data"]["config.yaml"]
    spec = written(outcome)["DaemonSet"]["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert spec["template"]["metadata"]["labels"]["app.kubernetes.io/name"] == "nodecraft-device-plugin"
    assert (spec["minReadySeconds"], spec["updateStrategy"]["rollingUpdate"]) == (
        10,
        {"maxUnavailable": 1, "maxSurge": 0},
    )
    assert container["securityContext"] == {
        "runAsUser": 0,
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}
    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert mounted(container) == {
        "/var/lib/kubelet/device-plugins": WRITABLE,
        "/etc/nodecraft-device-plugin": (True, None),
        "/host/dev": READ_ONLY,
        "/host/sys/bus": READ_ONLY,
        "/host/sys/class": READ_ONLY,
        "/host/sys/dev": READ_ONLY,
        "/host/sys/devices": READ_ONLY,
    }
    assert all(volume["hostPath"]["type"] == "Directory" for volume in pod["volumes"] if "hostPath" in volume)
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    (report,) = outcome.reports
    assert f"node-w1: {D} 4" in report


def test_one_host_asks_for_all_before_and_after(play: Play) -> None:
    outcome = play(OURS, become=True)
    assert outcome.status == 0, outcome.output
    assert {call["host"] for call in outcome.calls} == {"w1"}
    assert not any(call["becomes"] for call in outcome.calls)
    looks = [call["arguments"] for call in outcome.calls if call["component"] == "device_plugin_info"]
    assert [look.get("wait", False) for look in looks] == [False, True]
    assert looks[0]["cdi"] is False
    assert looks[1]["expected"] == OURS["device_plugin_expected"]


def test_what_runs_the_nodes_is_asked_before_devices_are_handed_out_by_cdi(play: Play) -> None:
    resource = OURS["device_plugin_config"]["resources"][0]
    config = {"resources": [{**resource, "name": "example.com/a"}, {**resource, "container": {"cdi": True}}]}
    outcome = play({**OURS, "device_plugin_config": config})
    assert outcome.status == 0, outcome.output
    looks = [call["arguments"] for call in outcome.calls if call["component"] == "device_plugin_info"]
    assert [look.get("cdi") for look in looks] == [True, None]
    (container,) = written(outcome)["DaemonSet"]["spec"]["template"]["spec"]["containers"]
    assert mounted(container)["/var/run/cdi"] == WRITABLE


@pytest.mark.parametrize(("cdi", "uses"), [("no", False), ("yes", True), (None, False)])
def test_cdi_that_is_written_as_text(play: Play, cdi: str | None, uses: bool) -> None:
    resource = {**OURS["device_plugin_config"]["resources"][0], "container": {"cdi": cdi}}
    outcome = play({**OURS, "device_plugin_config": {"resources": [resource]}})
    (container,) = written(outcome)["DaemonSet"]["spec"]["template"]["spec"]["containers"]
    assert ("/var/run/cdi" in mounted(container)) is uses


def test_folders_that_are_mounted_below_dev_can_be_covered(play: Play) -> None:
    # As the guide shows it.
    mount = {"name": "nothing", "mountPath": "/host/dev/shm", "readOnly": True}
    volumes = {"volumes": [{"name": "nothing", "emptyDir": {}}]}
    outcome = play({**OURS, "device_plugin_pod_spec": volumes, "device_plugin_container": {"volumeMounts": [mount]}})
    pod = written(outcome)["DaemonSet"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert mounted(container)["/host/dev/shm"] == (True, None)
    assert mounted(container)["/host/dev"] == READ_ONLY
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}


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
    found = [call for call in outcome.calls if call["arguments"].get("definition", {}).get("kind") == "ConfigMap"]
    assert [call["step"] for call in found] == ["plan", "change"]
    shown, made = (call["arguments"]["definition"] for call in found)
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


def test_anothers_plugin_needs_variables_only(play: Play) -> None:
    outcome = play(THEIRS, stub={"stub_objects": {"Namespace": [named("kube-system")]}})
    assert outcome.status == 0, outcome.output
    assert list(written(outcome)) == ["ConfigMap", "DaemonSet"]
    assert written(outcome)["ConfigMap"]["data"] == {"dongles.conf": "a = b\n"}
    pod = written(outcome)["DaemonSet"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert written(outcome)["DaemonSet"]["metadata"]["labels"]["app.kubernetes.io/name"] == "dongles"
    assert container["args"] == ["--level", "3"]
    assert {"name": "DEBUG", "value": "true"} in container["env"]
    assert "readinessProbe" not in container
    assert pod["nodeSelector"] == {"dongles": "true"}
    assert (pod["hostNetwork"], pod["securityContext"]["fsGroup"]) == (True, 0)
    assert container["securityContext"]["readOnlyRootFilesystem"] is False
    assert mounted(container) == {
        "/var/lib/kubelet/device-plugins": WRITABLE,
        "/var/lib/kubelet/plugins_registry": WRITABLE,
        "/opt/dongles": READ_ONLY,
        "/host/dev": WRITABLE,
        "/etc/device-plugin": (True, None),
    }


def test_privileged_only_when_asked(play: Play) -> None:
    outcome = play({**THEIRS, "device_plugin_privileged": True})
    (container,) = written(outcome)["DaemonSet"]["spec"]["template"]["spec"]["containers"]
    assert container["securityContext"] == {"runAsUser": 0, "privileged": True, "readOnlyRootFilesystem": False}


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        (
            {
                **OURS,
                "device_plugin_image": "x:1",
                "device_plugin_image_archive": "/x.tar",
                "device_plugin_files": {"a": "b"},
                "device_plugin_pod_spec": {"nodeSelector": {}},
                "device_plugin_expected": [{"resources": {"example.com/dongel": 1}}],
            },
            [
                "device_plugin_image is x:1; to find it in device_plugin_image_archive",
                "device_plugin_files is for other plugins",
                "device_plugin_pod_spec has nodeSelector",
                "example.com/dongel, which device_plugin_config does not offer",
            ],
        ),
        (
            {"device_plugin_pod_resources_token": "t"},
            ["device_plugin_image is not set", "device_plugin_config is empty", "is for our plugin only"],
        ),
        ({**OURS, "device_plugin_images": "x"}, ["did you mean device_plugin_image?"]),
    ],
)
def test_what_could_not_be_deployed_is_refused(play: Play, variables: Json, says: list[str]) -> None:
    outcome = play(variables)
    assert outcome.status != 0
    assert [words for words in says if words not in outcome.output] == []
    assert outcome.calls == []


NAMELESS: Json = {"resources": [{"discover": [{"fake": {"count": 4}}]}]}


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (
            {"resources": [{"name": D, "discover": [{"fake": {"count": "x"}}], "preference": "best"}]},
            [
                "line 6: resources[0].discover[0].fake.count: is 'x'; it has to be a whole number, 0 or more",
                "line 7: resources[0].preference: is 'best'; allowed: packed, spread",
            ],
        ),
        (NAMELESS, ["line 3: resources[0].name: is required"]),
        (
            {"resources": 5, "podResources": "open"},
            ["resources: has to be a list", "podResources: has to be a mapping"],
        ),
        ({"ressources": []}, ["ressources: is unknown; allowed here: podResources, resources, scan, version"]),
    ],
)
@pytest.mark.parametrize("mode", [[], ["--check"]])
def test_a_configuration_that_the_plugin_would_refuse_is_refused_before_anything_is_asked(
    play: Play, mode: list[str], config: Json, says: list[str]
) -> None:
    outcome = play({**OURS, "device_plugin_config": config, "device_plugin_expected": []}, *mode)
    assert outcome.status != 0
    assert (
        "Nothing was changed. device_plugin_config is not valid (lines are those of its ConfigMap): " in outcome.output
    )
    assert [words for words in says if words not in outcome.output] == []
    assert outcome.calls == []


# What a Python of a controller says that is too old for the plugin.
TOO_OLD = """
import os, sys
if "nodecraft_device_plugin.validate" in sys.orig_argv:
    os.write(2, b"Traceback\\nTypeError: too old\\n")
    os._exit(1)
"""


def test_a_controller_that_cannot_read_the_configuration_says_what_it_needs(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(TOO_OLD, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    outcome = play(OURS)
    assert outcome.status != 0
    assert "has to be Python 3.11 or newer with PyYAML, as ansible-core needs it: TypeError: too old" in outcome.output
    assert outcome.calls == []


def test_hosts_that_ask_for_different_things_are_refused(play: Play) -> None:
    outcome = play({**OURS, "device_plugin_image": "localhost/{{ inventory_hostname }}:1"})
    assert outcome.status != 0
    assert "device_plugin_image has to be the same for all" in outcome.output
    assert outcome.calls == []


@pytest.mark.parametrize(
    ("stub", "says"),
    [
        ({"stub_selected": []}, "no node gets the device plugin"),
        (
            {
                "stub_objects": {
                    "Namespace": [named("x", pod_security="")],
                    "DaemonSet": [named("nodecraft-device-plugin")],
                }
            },
            "was not made by this role",
        ),
        (
            {"stub_objects": {"Namespace": [named("x", **{"pod-security.kubernetes.io__enforce": "baseline"})]}},
            "takes pods of the level baseline only",
        ),
    ],
)
def test_what_the_cluster_says_against_it_is_heard_before_anything_is_written(
    play: Play, stub: Json, says: str
) -> None:
    outcome = play(OURS, stub=stub)
    assert outcome.status != 0
    assert says in outcome.output
    assert written(outcome) == {}


def test_a_node_that_does_not_offer_it_fails_the_role(play: Play) -> None:
    problem = f"node-w2: {D}: expected 4, found 0: not registered"
    outcome = play(OURS, stub={"stub_problems": [problem]}, post_tasks=[{"ansible.builtin.debug": {"msg": "went on"}}])
    assert outcome.status != 0
    assert f"is deployed, but after 300 s 1 of 2 nodes do not offer what is expected. {problem}." in outcome.output
    assert problem in "".join(outcome.reports)
    assert "went on" not in outcome.output


def test_nothing_to_do(play: Play) -> None:
    outcome = play(
        OURS, stub={"stub_same": True}, post_tasks=[{"ansible.builtin.debug": {"var": "device_plugin_report.changed"}}]
    )
    assert outcome.status == 0, outcome.output
    assert '"device_plugin_report.changed": false' in outcome.output
    assert outcome.output.count("changed=0") == 3


def test_check_mode_has_the_objects_judged_and_does_not_wait(play: Play) -> None:
    outcome = play(
        OURS,
        "--check",
        stub={"stub_objects": {"Namespace": [named("x", **{"app.kubernetes.io__managed-by": "nodecraft.kubeadm"})]}},
    )
    assert outcome.status == 0, outcome.output
    assert list(written(outcome)) == ["Namespace", "ConfigMap", "DaemonSet"]
    assert {call["step"] for call in outcome.calls} == {"plan"}
    assert not any(call["arguments"].get("wait") for call in outcome.calls)


def test_check_mode_without_the_namespace_shows_what_would_be_made(play: Play) -> None:
    outcome = play(OURS, "--check")
    assert outcome.status == 0, outcome.output
    assert list(written(outcome)) == ["Namespace"]
    assert '"kind": "DaemonSet"' in outcome.output
    assert "changed=2" in outcome.output


@pytest.mark.parametrize(
    ("namespace", "others", "goes"),
    [
        (named("x", **OWN_KEYWORD), {"Pod": [named("plugin", **OWN_KEYWORD)]}, True),
        (named("x", **OWN_KEYWORD), {"Deployment": [named("theirs")]}, False),
        (named("x"), {}, False),
    ],
)
def test_absent_removes_what_the_role_made(
    play: Play, namespace: Json, others: dict[str, list[Json]], goes: bool
) -> None:
    own = named("nodecraft-device-plugin", **{"app.kubernetes.io__managed-by": "nodecraft.kubeadm"})
    offered = {
        "node-w1": {D: {"capacity": "4", "allocatable": "0", "device_plugin": True}},
        "node-w2": {D: {"capacity": "4", "allocatable": "4", "device_plugin": False}},
        "node-w3": {"example.com/other": {"capacity": "1", "allocatable": "1", "device_plugin": True}},
    }
    objects = {"Namespace": [namespace], "DaemonSet": [own], **FILES, **others}
    stub = {"stub_objects": objects, "stub_api": {"offered": offered}}
    outcome = play({**OURS, "device_plugin_state": "absent"}, stub=stub)
    assert outcome.status == 0, outcome.output
    # Whoever may not list the pods of all namespaces may take it away.
    assert [call["arguments"] for call in outcome.calls if call["component"] == "api"] == [{"requested": False}]
    assert removed(outcome) == [
        "DaemonSet nodecraft-device-plugin",
        f"ConfigMap {OWN}-config",
        f"ConfigMap {OWN}-config-0123456789",
        "Secret nodecraft-device-plugin-token",
        *(["Namespace nodecraft-device-plugin"] if goes else []),
    ]
    (report,) = outcome.reports
    assert f"node-w1: still shows {D} 4 (0 for pods)" in report
    assert ("stays, because it has also: Deployment theirs" in report) is bool(others.get("Deployment"))
    assert "node-w2" not in report
    assert "example.com/other" not in report


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


def test_absent_without_names_tells_of_what_nobody_serves(play: Play) -> None:
    offered = {
        "node-w1": {D: {"capacity": "4", "allocatable": "0", "device_plugin": True}},
        "node-w2": {D: {"capacity": "4", "allocatable": "4", "device_plugin": True}},
    }
    outcome = play({"device_plugin_state": "absent"}, stub={"stub_api": {"offered": offered}})
    assert outcome.status == 0, outcome.output
    assert removed(outcome) == []
    (report,) = outcome.reports
    assert "node-w1" in report
    assert "node-w2" not in report


# containerd's program with the names of its images in a file.
CTR = """#!/bin/sh
case "$*" in
  *"images list --quiet name==$IMAGE") if test -f "$STATE/loaded"; then echo "$IMAGE"; fi ;;
  *"images import "*) cat "$5" > "$STATE/archive" && echo imported >> "$STATE/imports"; if test -n "$RIGHT"; then touch "$STATE/loaded"; fi ;;
  *) echo "unexpected: $*" >&2; exit 1 ;;
esac
"""


@pytest.fixture(name="containerd")
def fixture_containerd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the stand-in for ctr keeps what it got."""
    folder = tmp_path / "containerd"
    folder.mkdir()
    program = folder / "ctr"
    program.write_text(CTR, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{Path('/usr/local/bin')}:/usr/bin:/bin")
    monkeypatch.setenv("STATE", str(folder))
    monkeypatch.setenv("IMAGE", OURS["device_plugin_image"])
    monkeypatch.setenv("RIGHT", "1")
    (tmp_path / "image.tar").write_text("an image", encoding="utf-8")
    return folder


ARCHIVE = {**OURS, "device_plugin_image_archive": "{{ playbook_dir }}/image.tar"}
ONE_NODE = {"stub_selected": ["node-w2"]}


def test_an_image_is_loaded_once_where_the_plugin_goes(play: Play, containerd: Path) -> None:
    changed = {"post_tasks": [{"ansible.builtin.debug": {"var": "device_plugin_report.changed"}}]}
    outcome = play(ARCHIVE, "-v", stub={**ONE_NODE, "stub_same": True}, **changed)
    assert outcome.status == 0, outcome.output
    assert '"device_plugin_report.changed": true' in outcome.output
    assert (containerd / "archive").read_text(encoding="utf-8") == "an image"
    outcome = play(ARCHIVE, stub={**ONE_NODE, "stub_same": True}, **changed)
    assert outcome.status == 0, outcome.output
    assert '"device_plugin_report.changed": false' in outcome.output
    assert (containerd / "imports").read_text(encoding="utf-8") == "imported\n"
    assert outcome.output.count("changed=0") == 3
    assert not list(Path("/var/tmp").glob("nodecraft-device-plugin-*"))  # noqa: S108


def test_check_mode_loads_nothing(play: Play, containerd: Path) -> None:
    outcome = play(ARCHIVE, "--check", stub=ONE_NODE)
    assert outcome.status == 0, outcome.output
    assert not (containerd / "imports").exists()
    assert "w2                         : ok" in outcome.output
    assert "changed=1" in outcome.output


def test_an_image_is_not_loaded_into_a_batch_only(play: Play) -> None:
    outcome = play(ARCHIVE, stub=ONE_NODE, serial=1)
    assert outcome.status != 0
    assert "serial keeps w2, w3 out" in outcome.output
    assert outcome.calls == []


def test_an_archive_of_another_image(play: Play, containerd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIGHT", "")
    outcome = play(ARCHIVE, stub=ONE_NODE)
    assert outcome.status != 0
    assert "there is still no image localhost/nodecraft-device-plugin:1" in outcome.output
    assert written(outcome) == {}

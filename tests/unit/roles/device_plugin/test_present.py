# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role writes, how it ends, and what reaches the nodes."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.device_plugin_role import (
    OURS,
    ROLE,
    THEIRS,
    D,
    Play,
    named,
    written,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Stage, vaulted

# What is mounted below a directory of the host is read-only as well. The API server takes that only with readOnly.
READ_ONLY, WRITABLE = (True, "IfPossible"), (False, None)


def mounted(container: Json) -> dict[str, tuple[bool, str | None]]:
    """By path in the container: whether it is read-only, and whether what is mounted below it is."""
    assert not any("mountPropagation" in mount for mount in container["volumeMounts"])
    return {
        mount["mountPath"]: (mount.get("readOnly", False), mount.get("recursiveReadOnly"))
        for mount in container["volumeMounts"]
    }


@pytest.mark.slice
def test_ours_is_deployed_hardened_and_verified(play: Play) -> None:
    outcome = play(OURS, become=True)
    assert outcome.status == 0, outcome.output
    # One host sends the requests for all, and not as root.
    assert {(call["host"], call["becomes"]) for call in outcome.calls} == {("w1", False)}
    assert max(outcome.tasks.values()) <= 20
    # The others only get the name of that host.
    assert outcome.tasks["w2"] == outcome.tasks["w3"] <= 8
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


@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_control_plane_that_is_named_queries_as_root_with_its_own_admin_conf(stage: Stage, state: str) -> None:
    workers: Json = {name: {"device_plugin_node_name": f"node-{name}"} for name in ("w1", "w2")}
    variables = {**OURS, "device_plugin_api_host": "cp1", "device_plugin_state": state}
    outcome = stage.play(
        {"kube_control_plane": {"cp1": {}}, "kube_node": workers}, hosts="kube_node", roles=[ROLE], vars=variables
    )
    assert outcome.status == 0, outcome.output
    calls = [call for call in outcome.calls if call["component"] in ("k8s", "k8s_info", "device_plugin_info")]
    assert {(call["machine"], call["becomes"]) for call in calls} == {("cp1", True)}
    assert all(call["environment"] == {"K8S_AUTH_KUBECONFIG": "/etc/kubernetes/admin.conf"} for call in calls)


def test_what_is_added_to_the_pod_is_beside_what_the_role_puts_there(play: Play) -> None:
    # As the guide shows it.
    mount = {"name": "nothing", "mountPath": "/host/dev/shm", "readOnly": True}
    volumes = {"volumes": [{"name": "nothing", "emptyDir": {}}]}
    own = {"device_plugin_pod_spec": volumes, "device_plugin_container": {"volumeMounts": [mount]}}
    resource = {**OURS["device_plugin_config"]["resources"][0], "container": {"cdi": True}}
    cdi = {"device_plugin_config": {"resources": [resource]}}
    outcome = play({**OURS, **own, **cdi, "device_plugin_privileged": True})
    pod = written(outcome)["DaemonSet"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert mounted(container)["/host/dev/shm"] == (True, None)
    assert mounted(container)["/host/dev"] == READ_ONLY
    # What runs the nodes hands out the devices; and privileged is only the desired container.
    assert mounted(container)["/var/run/cdi"] == WRITABLE
    assert container["securityContext"] == {"runAsUser": 0, "privileged": True, "readOnlyRootFilesystem": True}
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}


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


def test_a_node_that_does_not_offer_it_fails_the_role(play: Play) -> None:
    problem = f"node-w2: {D}: expected 4, found 0: not registered"
    outcome = play(OURS, stub={"stub_problems": [problem]}, post_tasks=[{"ansible.builtin.debug": {"msg": "went on"}}])
    assert outcome.status != 0
    assert f"is deployed, but after 300 s 1 of 2 nodes do not advertise what is expected. {problem}." in outcome.output
    assert problem in "".join(outcome.reports)
    assert "went on" not in outcome.output


def test_check_mode_without_the_namespace_shows_what_would_be_made(play: Play) -> None:
    outcome = play(OURS, "--check")
    assert outcome.status == 0, outcome.output
    assert list(written(outcome)) == ["Namespace"]
    assert '"kind": "DaemonSet"' in outcome.output
    assert "changed=2" in outcome.output


NAMESPACE = {"Namespace": [named("x", **{"app.kubernetes.io__managed-by": "nodecraft.kubeadm"})]}


def test_what_works_already_is_not_waited_for(play: Play) -> None:
    outcome = play(OURS, stub={"stub_same": True, "stub_objects": NAMESPACE})
    assert outcome.status == 0, outcome.output
    assert [call["component"] for call in outcome.calls] == ["device_plugin_info", "k8s"]
    assert outcome.output.count("changed=0") == 3
    assert max(outcome.tasks.values()) <= 13
    (report,) = outcome.reports
    assert f"node-w1: {D} 4" in report


def test_what_failed_ends_what_is_written_after_it(play: Play) -> None:
    variables = {**OURS, "device_plugin_pod_resources_token": "t"}
    outcome = play(variables, "--diff", stub={"stub_objects": NAMESPACE, "stub_unwritable": "Secret"})
    assert outcome.status != 0
    assert "DaemonSet" not in written(outcome)
    assert not any(call["arguments"].get("wait") for call in outcome.calls)


def test_only_its_own_variables_are_read(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("a password", encoding="utf-8")
    config = {"resources": [{**OURS["device_plugin_config"]["resources"][0], "name": vaulted(D, "a password")}]}
    hosts: Json = {
        name: {"device_plugin_node_name": f"node-{name}", "device_plugin_config": config} for name in ("w1", "w2")
    }
    hosts["w1"].update(unrelated="{{ nowhere }}", closed=vaulted("x", "another one"))
    hosts["w2"].update(unrelated="{{ nowhere }}", closed=vaulted("x", "another one"))
    variables = {name: value for name, value in OURS.items() if name != "device_plugin_config"}
    password = f"--vault-password-file={tmp_path / 'password'}"
    outcome = stage.play({"kube_node": hosts}, password, hosts="kube_node", roles=[ROLE], vars=variables)
    assert outcome.status == 0, outcome.output
    assert f"name: {D}" in written(outcome)["ConfigMap"]["data"]["config.yaml"]

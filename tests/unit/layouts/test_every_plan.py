# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every plan on the nodes of the tools that people set clusters up with: the change, a second run, the diff, and the rollback."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import component_files
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import generator as kubelet_generator
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import layout as kubelet_layout
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import plan as kubelet
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import plan, reconciliation
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.manifest import Manifest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.plan import State, build_diff
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets, layouts, static_pods
from ansible_collections.nodecraft.kubeadm.tests.unit.support.undos import file, rollback

NODES = (*layouts.WHOLE, *layouts.PARTS)
PODS = [(node, name) for node in NODES for name in layouts.load(node).manifests]
# Of others, whose arguments the collection does not know.
FOREIGN = ("nginx-proxy",)
POLICY = "/etc/kubernetes/mine/policy.yaml"

OF_FLAGS: dict[str, dict[str, t.Any]] = {
    "gate": {"feature_gates": {"Mine": True, "Other": False}},
    "new flag": {"args": {"vmodule": "watch=4"}},
    "flag with several values": {"args": {"tls-sni-cert-key": ["/a,/b", "/c,/d"]}},
}
OF_PODS: dict[str, dict[str, t.Any]] = {
    "environment": {"env": {"HTTPS_PROXY": "http://u:s3cret@proxy.example.com"}},
    "file": {
        "volumes": [static_pods.volume("mine", "/etc/kubernetes/mine", path_type="DirectoryOrCreate")],
        "files": [static_pods.file(POLICY, "kind: Policy\n")],
    },
    "resources": {"resources": {"requests": {"cpu": "333m"}, "limits": {"memory": "3Gi"}}},
    "probes": {"probes": {"livenessProbe": {"timeoutSeconds": 33, "failureThreshold": 9}}},
    "priority": {"priority": {"priorityClassName": "system-cluster-critical", "priority": 2000000000}},
}
OF_API_SERVERS: dict[str, dict[str, t.Any]] = {
    "plugin on": {"admission_plugins": {"ExtendedResourceToleration": "enabled"}},
    "plugin off": {"admission_plugins": {"PodNodeSelector": "disabled"}},
}


def manifest(node: str, name: str) -> Manifest:
    return Manifest.parse(layouts.load(node).manifests[name], f"{layouts.MANIFESTS}/{name}.yaml", name)


def desired_states(node: str, name: str) -> dict[str, dict[str, t.Any]]:
    """What is asked of one static pod."""
    if name in FOREIGN:
        return OF_PODS
    names = [argument[2:].partition("=")[0] for argument in manifest(node, name).arguments]
    own = {"other value": {"args": {names[0]: "other"}}}
    return {**OF_FLAGS, **OF_PODS, **own, **(OF_API_SERVERS if name == "kube-apiserver" else {})}


CASES = [(node, name, kind) for node, name in PODS if node in layouts.WHOLE for kind in desired_states(node, name)]


@pytest.mark.parametrize(("node", "name", "kind"), CASES)
def test_a_static_pod_is_changed_and_comes_back(node: str, name: str, kind: str) -> None:
    desired = {"name": name, **desired_states(node, name)[kind]}
    before = manifest(node, name)
    there = {entry["path"]: None for entry in desired.get("files", [])}
    state = State(before, {}, there)
    done = static_pods.planned(state, **desired)
    assert done.operations
    assert only_these(before.pod, done.after.pod, {"containers", "volumes", "priority", "priorityClassName"})
    diffs = build_diff(done)
    assert diffs[0]["before"] != diffs[0]["after"]
    assert "s3cret" not in str(diffs)

    changed = static_pods.following(done, state)
    assert static_pods.planned(changed, **desired, purge=True).operations == ()
    back = static_pods.planned(changed, name=name, purge=True)
    assert back.after.text == before.text
    assert back.record == {}
    assert [entry.after for entry in back.files] == [None] * len(there)


@pytest.mark.parametrize(
    ("node", "name", "desired"),
    [
        ("kubespray", "kube-apiserver", {"args": {"profiling": None}}),
        ("minikube", "kube-apiserver", {"admission_plugins": {"DefaultStorageClass": "disabled"}}),
    ],
)
def test_an_entry_that_was_taken_away_comes_back_where_it_was(node: str, name: str, desired: dict[str, t.Any]) -> None:
    before = manifest(node, name)
    done = static_pods.planned(State(before, {}, {}), name=name, **desired)
    changed = static_pods.following(done)
    assert static_pods.planned(changed, name=name, purge=True).after.text == before.text
    # Where another program wrote since, it gets its value at the end.
    back = static_pods.planned(dataclasses.replace(changed, former=None), name=name, purge=True)
    assert back.after.text != before.text
    assert back.after.values() == before.values()
    previous = rollback(file(before.document.source, before.text, done.after.text, switch=True))
    assert plan.plan_undo(name, previous, changed).after.text == before.text


def only_these(before: t.Any, after: t.Any, keys: set[str]) -> bool:
    """Whether a pod differs in these of its spec, and in our annotation of files."""
    spec = {key for key in {*before["spec"], *after["spec"]} if before["spec"].get(key) != after["spec"].get(key)}
    annotations = {**(after["metadata"].get("annotations") or {})}
    annotations.pop(reconciliation.FILES_ANNOTATION, None)
    return spec <= keys and annotations == (before["metadata"].get("annotations") or {})


@pytest.mark.parametrize(("node", "name"), PODS)
def test_all_of_it_at_once_comes_back(node: str, name: str) -> None:
    all_of_it: dict[str, t.Any] = {}
    for desired in desired_states(node, name).values():
        for option, value in desired.items():
            all_of_it[option] = {**all_of_it.get(option, {}), **value} if isinstance(value, dict) else value
    before = manifest(node, name)
    state = State(before, {}, {POLICY: None})
    done = static_pods.planned(state, name=name, **all_of_it)
    changed = static_pods.following(done, state)
    assert yaml.safe_load(done.after.text) == done.after.pod
    assert static_pods.planned(changed, name=name, state="absent").after.text == before.text
    previous = rollback(
        file(before.document.source, before.text, done.after.text, switch=True), file(POLICY, None, "kind: Policy\n")
    )
    assert plan.plan_undo(name, previous, changed).after.text == before.text


@pytest.mark.parametrize("desired", OF_FLAGS.values(), ids=OF_FLAGS)
def test_a_pod_without_a_command_takes_no_flags(desired: dict[str, t.Any]) -> None:
    with pytest.raises(Refusal, match="no command"):
        static_pods.planned(State(manifest("kubespray", "nginx-proxy"), {}, {}), name="nginx-proxy", **desired)


@pytest.mark.parametrize(("node", "name"), PODS)
def test_a_manifest_is_read_as_the_kubelet_reads_it(node: str, name: str) -> None:
    read = manifest(node, name)
    port = {"kube-controller-manager": 10257, "kube-scheduler": 10259, "etcd": 2381, "nginx-proxy": 8081}.get(name)
    if name == "kube-apiserver":
        port = 8443 if node == "minikube" else 6443
    assert {probe["port"] for probe in read.probes()} == {port}
    assert len(read.mounts()) == len(read.pod["spec"]["volumes"])
    assert read.entrypoint == (None if name in FOREIGN else name)
    assert read.text == layouts.load(node).manifests[name]


@pytest.mark.parametrize(
    ("path", "on_node"),
    [
        ("/etc/kubernetes/admission-controls.yaml", "/etc/kubernetes/admission-controls/admission-controls.yaml"),
        ("/etc/kubernetes/ssl/secrets_encryption.yaml", "/etc/kubernetes/ssl/secrets_encryption.yaml"),
        ("/etc/kubernetes/audit-policy/x.yaml", "/etc/kubernetes/audit-policy/x.yaml"),
        ("/var/log/audit/kube-apiserver-audit.log", "/var/log/kubernetes/audit/kube-apiserver-audit.log"),
    ],
)
def test_the_paths_of_kubespray_are_followed_through_its_mounts(path: str, on_node: str) -> None:
    mount = component_files.find_mount(path, manifest("kubespray", "kube-apiserver").mounts())
    assert mount is not None
    assert component_files.path_on_host(path, mount) == on_node


# ---- kubelets --------------------------------------------------------------------------------------------------------

OF_KUBELETS: dict[str, dict[str, t.Any]] = {
    "gate": {"feature_gates": {"Mine": True}},
    "field": {"config": {"maxPods": 77, "evictionHard": {"memory.available": "5%"}}},
    "flag": {"args": {"vmodule": "watch=4"}},
    "taint": {"register_with_taints": [kubelets.TAINT]},
}
OF_KUBELETS["all of it"] = {option: value for desired in OF_KUBELETS.values() for option, value in desired.items()}


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("given", OF_KUBELETS.values(), ids=OF_KUBELETS)
def test_a_kubelet_is_changed_and_comes_back(node: str, given: dict[str, t.Any]) -> None:
    files = layouts.load(node).kubelet
    before = files.state()
    # Cluster API's images give the threshold for eviction as a flag, which wins: moved away only when that is asked for.
    adopt = "--eviction-hard" in files.command and "evictionHard" in given.get("config", {})
    if adopt:
        with pytest.raises(Refusal, match=r"kubeadm-flags\.env:1 sets it to"):
            kubelet.plan(kubelets.desired(**given), before)
        given = {**given, "config": {"maxPods": 77}}
    plan = kubelet.plan(kubelets.desired(**given), before)
    written = {change.path for change in plan.files}
    fragment = f"{files.config_dir or kubelet_layout.CONFIG_DIR}/{kubelet_layout.FRAGMENT}"
    assert written <= {fragment, kubelet_layout.DROP_IN, kubelet_generator.GENERATOR}
    assert kubelet.diff_files(plan)
    changed = kubelets.after(before, plan)
    sources = {argument.text: argument.variable for argument in changed.layout().service.arguments}
    gained = set(sources) - set(files.command.split())
    assert {sources[argument] for argument in gained} <= {files.variable}
    assert set(files.command.split()) <= set(changed.layout().command)
    assert kubelet.plan(kubelets.desired(**given, purge=True), changed).operations == ()
    for gone in ({"purge": True}, {"state": "absent"}):
        assert kubelets.after(changed, kubelet.plan(kubelets.desired(**gone), changed)) == before


@pytest.mark.parametrize(
    ("node", "flag", "given"),
    [
        ("kind", "--node-labels=", {"args": {"node-labels": "a=b"}}),
        ("kind", "--runtime-cgroups=/system.slice/containerd.service", {"args": {"runtime-cgroups": "/x"}}),
        ("kubespray", "--v=2", {"args": {"v": None}}),
        ("cluster-api", "--cloud-provider=external", {"args": {"cloud-provider": None}}),
    ],
)
def test_what_their_files_state_is_adopted_and_comes_back(node: str, flag: str, given: dict[str, t.Any]) -> None:
    before = layouts.load(node).kubelet.state()
    with pytest.raises(Refusal, match="adopt"):
        kubelet.plan(kubelets.desired(**given), before)
    changed = kubelets.after(before, kubelet.plan(kubelets.desired(**given, adopt=True), before))
    assert flag in before.layout().command
    assert flag not in changed.layout().command
    assert kubelet.plan(kubelets.desired(**given, adopt=True, purge=True), changed).operations == ()
    back = kubelets.after(changed, kubelet.plan(kubelets.desired(state="absent"), changed))
    assert back == before

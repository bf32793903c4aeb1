# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What upgrade_check finds before an upgrade, and what really happens to those who ignore it. The lab keeps its version."""

from __future__ import annotations

import contextlib
import json
import os
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.faults.lab import upgrades
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.cluster import Cluster, Json, Node, until

ONE = "FAULTS_UPGRADE_ONE"
CONTROLLER_MANAGER = "kube-controller-manager"
SCHEDULER = "kube-scheduler"
COPIES = "/etc/kubernetes/tmp"
# Older than what the new API server supports.
OLD = "1.33"

pytestmark = pytest.mark.skipif(ONE not in os.environ, reason=f"{ONE} names no lab of Kubernetes {upgrades.BEFORE}")


@pytest.fixture(scope="module")
def lab(records: Path) -> Cluster:
    """The lab, with the programs and images of the new version on its nodes."""
    return upgrades.upgradable(ONE, records)


@pytest.fixture
def cluster(lab: Cluster) -> t.Iterator[Cluster]:
    """A healthy cluster of the old version, brought back to it after the test."""
    before = upgrades.kubeadm_config(lab)
    lab.reset()
    yield lab
    lab.reset()  # first, because an API server that crashes takes no configuration
    upgrades.write_kubeadm_config(lab, before)


def check(cluster: Cluster, **variables: t.Any) -> tuple[int, Json]:
    """The exit status of the check, and its report."""
    given = {"upgrade_check_target": upgrades.version(), "upgrade_check_programs": upgrades.DIRECTORY, **variables}
    if cluster.first.path(upgrades.PATCHES).exists():
        given["upgrade_check_patches"] = upgrades.PATCHES
    with cluster.play("playbooks/upgrade_check.yml", given) as play:
        ended = play.finish()
    return ended.rc, ended.report["global_custom_stats"]["upgrade_check_report"]


def found(report: Json, *impacts: str) -> list[Json]:
    """Findings of these impacts, of the cluster and of all nodes."""
    return [
        {**finding, "node": node}
        for node, part in {"": report["cluster"], **report["nodes"]}.items()
        for finding in part["findings"]
        if finding["impact"] in impacts
    ]


def breaking_finding(cluster: Cluster, node: Node, **variables: t.Any) -> tuple[t.Any, ...]:
    """The single thing that breaks on a node: component, field, key, who set it, the variable, and its message."""
    status, report = check(cluster, **variables)
    assert (status, report["safe"]) == (2, False)
    (finding,) = (finding for finding in found(report, "broken") if finding["node"] == node.name)
    return tuple(finding[name] for name in ("component", "field", "key", "set_by", "variable", "message"))


def apply_upgrade(node: Node, *, with_etcd: bool = False) -> str:
    """The output of `kubeadm upgrade apply`, with its exit status in the last line."""
    configuration = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "UpgradeConfiguration",
        "timeouts": {"upgradeManifests": "60s"},
        "apply": {
            "kubernetesVersion": f"v{upgrades.version()}",
            "forceUpgrade": False,
            "etcdUpgrade": with_etcd,
            "ignorePreflightErrors": ["all"],
            **({"patches": {"directory": upgrades.PATCHES}} if node.path(upgrades.PATCHES).exists() else {}),
        },
    }
    path = f"{upgrades.DIRECTORY}/upgrade.yaml"
    node.run("tee", path, stdin=yaml.safe_dump(configuration))
    return node.run(
        "sh", "-c", f"{upgrades.DIRECTORY}/kubeadm upgrade apply --yes --config={path} 2>&1; echo status $?"
    )


def read_logs(node: Node, component: str) -> str:
    """What a static pod wrote, the runs that ended included."""
    return node.run("sh", "-c", f"cat /var/log/pods/kube-system_{component}-*/{component}/*.log")


@contextlib.contextmanager
def kubelet_program(node: Node, command: str) -> t.Iterator[None]:
    """Run another kubelet on a node, which a shell command makes of the one in $kubelet."""
    kubelet, backup = "/usr/bin/kubelet", f"{upgrades.DIRECTORY}/kubelet-before"
    node.run("cp", kubelet, backup)
    try:
        node.run("sh", "-ec", f"kubelet={kubelet}; {command}; systemctl restart kubelet")
        yield
    finally:
        node.run("cp", "--remove-destination", backup, kubelet)
        node.systemctl("reset-failed", "kubelet")
        node.systemctl("restart", "kubelet")


def assert_new_kubelet_fails(node: Node, message: str) -> None:
    """Give a node the new kubelet, as a package does."""
    with kubelet_program(node, f"cp --remove-destination {upgrades.DIRECTORY}/kubelet $kubelet"):
        until(lambda: message in node.run("journalctl", "--unit=kubelet", "--since=-1min"), f"{message} on {node.name}")
        assert not node.has_healthy_kubelet()


def set_on_kubelet(cluster: Cluster, node: Node, settings: Json) -> None:
    """Set it with the collection, on a kubelet that accepts it."""
    with cluster.task(node, "kubelet", {**settings, "min_ready_seconds": 2}) as task:
        assert task.result()["changed"]
    assert node.has_healthy_kubelet()


def configure(cluster: Cluster, section: str, name: str, value: str) -> None:
    """Write an argument of a component into kubeadm-config, as people do manually."""
    configuration = upgrades.cluster_configuration(cluster)
    configuration.setdefault(section, {}).setdefault("extraArgs", []).append({"name": name, "value": value})
    upgrades.write_kubeadm_config(cluster, yaml.safe_dump(configuration))


def test_nothing_breaks_or_vanishes_on_a_clean_cluster(cluster: Cluster) -> None:
    status, report = check(cluster)
    assert (status, report["safe"], found(report, "broken", "removed", "reapplied")) == (0, True, [])


def test_all_that_the_nodes_have_is_rehearsed(cluster: Cluster) -> None:
    _status, report = check(cluster)
    assert [part["not_rehearsed"] for part in (report["cluster"], *report["nodes"].values())] == [[], [], []]
    rehearsed = {name: {each["component"] for each in node["rehearsed"]} for name, node in report["nodes"].items()}
    assert rehearsed == {
        cluster.first.name: {
            *("etcd", "kube-apiserver", CONTROLLER_MANAGER, "kube-scheduler", "kube-proxy", "kubelet"),
        },
        cluster.workers[0].name: {"kubelet"},
    }


def test_missing_image_is_not_safe_until_accepted(cluster: Cluster) -> None:
    node = cluster.first
    image = f"registry.k8s.io/{SCHEDULER}:v{upgrades.version()}"
    node.run("ctr", "--namespace", "k8s.io", "images", "remove", "--sync", image)
    try:
        status, report = check(cluster)
        assert (status, report["safe"], found(report, "broken")) == (2, False, [])
        (entry,) = report["nodes"][node.name]["not_rehearsed"]
        assert (entry["name"], entry["accepted"]) == (SCHEDULER, False)
        assert image in entry["reason"]
        status, report = check(cluster, upgrade_check_accept_unrehearsed=[SCHEDULER])
        assert (status, report["safe"]) == (0, True)
    finally:
        upgrades.install_new_version(node)
    # It was only for what is missing.
    status, report = check(cluster, upgrade_check_accept_unrehearsed=[SCHEDULER])
    assert (status, report["safe"]) == (2, False)
    assert SCHEDULER in report["refusal"]


def test_check_writes_nothing_to_the_nodes(cluster: Cluster) -> None:
    before = {name: files(node) for name, node in cluster.nodes.items()}
    for _run in range(2):
        check(cluster)
    assert {name: files(node) for name, node in cluster.nodes.items()} == before


def files(node: Node) -> str:
    """The checksums of what kubeadm and the kubelet have on a node."""
    return node.run("sh", "-c", "find /etc/kubernetes /var/lib/kubelet -xdev -type f | sort | xargs -d '\\n' sha256sum")


def test_gate_of_kube_proxy_that_is_gone(cluster: Cluster) -> None:
    before = proxy_configuration(cluster)
    try:
        write_proxy_configuration(cluster, {**yaml.safe_load(before), "featureGates": {"SidecarContainers": True}})
        finding = breaking_finding(cluster, cluster.first)
        assert finding[:3] == ("kube-proxy", "feature_gates", "SidecarContainers")
        assert "unrecognized feature gate: SidecarContainers" in finding[-1]
    finally:
        write_proxy_configuration(cluster, yaml.safe_load(before))


def proxy_configuration(cluster: Cluster) -> str:
    """What kubeadm keeps of kube-proxy."""
    return str(cluster.lab.get("configmap", "kube-proxy", "--namespace=kube-system")["data"]["config.conf"])


def write_proxy_configuration(cluster: Cluster, configuration: Json) -> None:
    """Edit it, without a restart of kube-proxy."""
    patch = json.dumps({"data": {"config.conf": yaml.safe_dump(configuration)}})
    cluster.lab.kubectl("patch", "configmap", "kube-proxy", "--namespace=kube-system", f"--patch={patch}")


def test_an_argument_that_is_gone(cluster: Cluster) -> None:
    flag = "concurrent-service-syncs"
    configure(cluster, "controllerManager", flag, "2")
    finding = breaking_finding(cluster, cluster.first)
    assert finding[:-1] == (
        *(CONTROLLER_MANAGER, "args", flag, "kubeadm-config"),
        "controllerManager.extraArgs in kubeadm-config",
    )
    assert f"unknown flag: --{flag}" in finding[-1]

    # kubeadm takes it for a success.
    assert apply_upgrade(cluster.first).endswith("status 0\n")
    until(lambda: f"unknown flag: --{flag}" in read_logs(cluster.first, CONTROLLER_MANAGER), "its last words")
    until(lambda: not cluster.first.processes(CONTROLLER_MANAGER), "a component between two crashes")


def test_an_admission_plugin_that_is_gone(cluster: Cluster) -> None:
    configure(cluster, "apiServer", "enable-admission-plugins", "NodeRestriction,JobValidation")
    finding = breaking_finding(cluster, cluster.first)
    assert finding[:-1] == (
        *("kube-apiserver", "admission_plugins", "JobValidation", "kubeadm-config"),
        "apiServer.extraArgs in kubeadm-config",
    )
    assert "JobValidation" in finding[-1]

    output = apply_upgrade(cluster.first)
    assert output.endswith("status 1\n"), output
    assert "unknown" in read_logs(cluster.first, "kube-apiserver")


def test_a_configuration_api_that_is_gone(cluster: Cluster) -> None:
    """No configuration of a component has lost a version from 1.36 to 1.37; that of kubeadm has."""
    text = upgrades.kubeadm_config(cluster).replace("kubeadm.k8s.io/v1beta4", "kubeadm.k8s.io/v1beta3")
    upgrades.write_kubeadm_config(cluster, text)
    status, report = check(cluster)
    assert (status, report["safe"]) == (2, False)
    broken = [tuple(finding[name] for name in ("component", "field", "key")) for finding in found(report, "broken")]
    # What is known of it with its line, and the error of the new kubeadm itself.
    assert broken == [("kubeadm", "config", "apiVersion"), ("kubeadm", "", "")]

    output = apply_upgrade(cluster.first)
    assert "v1beta3" in output
    assert output.endswith("status 1\n"), output


def test_a_kubelet_that_is_too_old(cluster: Cluster) -> None:
    worker = cluster.workers[0]
    # The version stands in the program, in as many letters.
    older = f"sed --in-place 's/v{upgrades.BEFORE}\\.\\([0-9]\\)/v{OLD}.\\1/g' $kubelet"
    with kubelet_program(worker, older):
        until(lambda: kubelet_version(cluster, worker).startswith(f"v{OLD}."), "the version in the API")
        finding = breaking_finding(cluster, worker)
        assert finding[0] == "kubelet"
        assert "more than 3 minor versions older" in finding[-1]

        output = apply_upgrade(cluster.first)
        assert "too old" in output
        assert output.endswith("status 1\n"), output
    until(lambda: kubelet_version(cluster, worker).startswith(f"v{upgrades.BEFORE}."), "the version in the API")


def kubelet_version(cluster: Cluster, node: Node) -> str:
    """As the API knows it."""
    return str(cluster.lab.get("node", node.name)["status"]["nodeInfo"]["kubeletVersion"])


def test_a_full_disk(cluster: Cluster) -> None:
    node = cluster.first
    node.run("mkdir", "--parents", COPIES)
    node.run("mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", COPIES)
    try:
        finding = breaking_finding(cluster, node)
        assert finding[0] == "node"
        assert COPIES in finding[-1]

        output = apply_upgrade(node, with_etcd=True)
        assert "No space left on device" in output
        assert output.endswith("status 1\n"), output
    finally:
        node.run("umount", COPIES)


def test_a_gate_of_the_kubelet_that_is_gone(cluster: Cluster) -> None:
    worker, gates = cluster.workers[0], {"SidecarContainers": True}
    set_on_kubelet(cluster, worker, {"feature_gates": gates})
    finding = breaking_finding(cluster, worker, node_kubelet_feature_gates=gates)
    assert finding[:-1] == (
        *("kubelet", "feature_gates", "SidecarContainers", "collection"),
        "node_kubelet_feature_gates",
    )
    assert "unrecognized feature gate: SidecarContainers" in finding[-1]
    assert_new_kubelet_fails(worker, "unrecognized feature gate: SidecarContainers")


def test_a_field_of_the_kubelet_that_is_refused(cluster: Cluster) -> None:
    """Without MemoryQoS 1.36 takes the field, and 1.37 does not."""
    worker, config, gates = cluster.workers[0], {"memoryThrottlingFactor": 0.8}, {"MemoryQoS": False}
    set_on_kubelet(cluster, worker, {"config": config, "feature_gates": gates})
    variables = {"node_kubelet_config": config, "node_kubelet_feature_gates": gates}
    finding = breaking_finding(cluster, worker, **variables)
    assert finding[:-1] == (*("kubelet", "config", "memoryThrottlingFactor", "collection"), "node_kubelet_config")
    assert "memoryThrottlingFactor must not be set" in finding[-1]
    assert_new_kubelet_fails(worker, "memoryThrottlingFactor must not be set")

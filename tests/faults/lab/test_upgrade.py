# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a real kubeadm upgrade does to the settings of a control plane, kept in kubeadm-config and not. A lab is upgraded once."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.lab import runs
from ansible_collections.nodecraft.kubeadm.tests.faults.lab import upgrades
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.cluster import API_SERVER, Cluster, Json, Node
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.upgrades import CommandLines

THREE, ONE = "FAULTS_UPGRADE_THREE", "FAULTS_UPGRADE_ONE"
DIRECTORY = "/etc/kubernetes/settings"
LOGS = "/var/log/kubernetes"
FILES: Json = {
    "encryption-provider-config": {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [
            {
                "resources": ["secrets"],
                "providers": [
                    {"identity": {}},
                    {"aescbc": {"keys": [{"name": "key1", "secret": base64.b64encode(bytes(32)).decode()}]}},
                ],
            }
        ],
    },
    "authentication-config": {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthenticationConfiguration",
        "anonymous": {"enabled": True},
    },
    "admission-control-config-file": {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [
            {
                "name": "EventRateLimit",
                "configuration": {
                    "apiVersion": "eventratelimit.admission.k8s.io/v1alpha1",
                    "kind": "Configuration",
                    "limits": [{"type": "Server", "qps": 5000, "burst": 10000}],
                },
            }
        ],
    },
    "audit-policy-file": {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]},
}
SETTINGS: Json = {
    "control_plane_admission_plugins": {"EventRateLimit": "enabled"},
    "control_plane_components": {
        API_SERVER: {
            "args": {**{flag: f"{DIRECTORY}/{flag}.yaml" for flag in FILES}, "audit-log-path": f"{LOGS}/audit.log"},
            "volumes": [
                {
                    "name": name,
                    "host_path": path,
                    "mount_path": path,
                    "path_type": "DirectoryOrCreate",
                    "read_only": read_only,
                }
                for name, path, read_only in (("settings", DIRECTORY, True), ("logs", LOGS, False))
            ],
            "files": [
                {"path": f"{DIRECTORY}/{flag}.yaml", "content": content, "mode": "0600"}
                for flag, content in FILES.items()
            ],
        },
        "etcd": {"args": {"snapshot-count": "9000"}},
    },
}
NOTHING: Json = {
    "control_plane_components": {API_SERVER: {"args": {}, "volumes": [], "files": []}, "etcd": {"args": {}}},
    "control_plane_admission_plugins": {},
}
DESIRED = {
    API_SERVER: {
        *(f"--{flag}={DIRECTORY}/{flag}.yaml" for flag in FILES),
        f"--audit-log-path={LOGS}/audit.log",
        "--enable-admission-plugins=NodeRestriction,EventRateLimit",
    },
    "etcd": {"--snapshot-count=9000"},
}
NONE: dict[str, set[str]] = {name: set() for name in DESIRED}
NAMED = (*FILES, "audit-log-path", "snapshot-count")


def run(cluster: Cluster, playbook: str, variables: Json, *arguments: str) -> runs.Run:
    """Run a playbook, and see it end well."""
    brisk = {"control_plane_min_ready_seconds": 5}
    with cluster.play(f"playbooks/{playbook}.yml", {**brisk, **variables}, *arguments) as play:
        ended = play.finish()
    assert ended.rc == 0, ended.reasons
    return ended


def changes(ended: runs.Run) -> list[Json]:
    """The tasks that changed something, with what they changed, in a few words."""
    return [
        {"task": task["task"]["name"], "host": host, "result": str({**result, "invocation": None})[:2000]}
        for play in ended.report["plays"]
        for task in play["tasks"]
        for host, result in task["hosts"].items()
        if result.get("changed")
    ]


def settings_of(node: Node) -> dict[str, set[str]]:
    """Those of the settings that run."""
    return {name: {*node.processes(name)[0].arguments} & desired for name, desired in DESIRED.items()}


def rejoin(cluster: Cluster, node: Node, *, files: bool) -> None:
    """Let a node leave and join again. files: whether it gets the files that arguments name first, as a control plane that is new does."""
    upgrades.leave(cluster, node)
    if files:
        node.run("rm", "--recursive", "--force", DIRECTORY)
        assert run(cluster, "join_files", SETTINGS, f"--limit={node.name}").changed
    upgrades.join(cluster, node)
    cluster.wait_until_healthy()


@pytest.mark.skipif(THREE not in os.environ, reason=f"{THREE} names no lab of Kubernetes {upgrades.BEFORE}")
def test_kept_settings_are_there_from_the_first_second(records: Path) -> None:
    cluster, persist = upgrades.upgradable(THREE, records), {"control_plane_persist": True}
    settings, nothing = {**SETTINGS, **persist}, {**NOTHING, **persist}
    before = upgrades.cluster_configuration(cluster)
    run(cluster, "site", settings)
    assert changes(run(cluster, "site", settings)) == []

    with cluster.probed() as probing, CommandLines(cluster, records / "upgrades" / "kept.jsonl") as lines:
        upgrades.upgrade(cluster)
    assert {name: lines.without(name, desired) for name, desired in DESIRED.items()} == {name: [] for name in DESIRED}
    # Each ran before and after, and the new kubelet starts all once more.
    assert all(len(lines.of(name)) >= 2 * len(cluster.control_planes) for name in DESIRED)
    assert lines.longest_pause < upgrades.MAX_PAUSE
    assert probing.summary()["requests"] > 100
    assert changes(run(cluster, "site", settings)) == []

    rejoin(cluster, cluster.control_planes[-1], files=True)
    rejoin(cluster, cluster.workers[0], files=False)
    assert [settings_of(node) for node in cluster.control_planes] == [DESIRED] * 3
    assert changes(run(cluster, "site", settings)) == []

    run(cluster, "site", nothing)
    assert [settings_of(node) for node in cluster.control_planes] == [NONE] * 3
    assert upgrades.cluster_configuration(cluster) == {**before, "kubernetesVersion": f"v{upgrades.version()}"}
    assert changes(run(cluster, "site", nothing)) == []


@pytest.mark.skipif(ONE not in os.environ, reason=f"{ONE} names no lab of Kubernetes {upgrades.BEFORE}")
def test_settings_that_are_not_kept_are_named_lost_and_brought_back(records: Path) -> None:
    cluster = upgrades.upgradable(ONE, records)
    named = "\n".join(run(cluster, "site", SETTINGS).lines)
    assert "WARNING: the next kubeadm upgrade removes" in named
    assert all(flag in named for flag in NAMED), named

    with CommandLines(cluster, records / "upgrades" / "lost.jsonl") as lines:
        upgrades.upgrade(cluster)
    assert settings_of(cluster.first) == NONE
    assert all(lines.without(name, desired) for name, desired in DESIRED.items())

    back = "\n".join(run(cluster, "site", SETTINGS).lines)
    assert all(flag in back for flag in NAMED), back
    assert settings_of(cluster.first) == DESIRED
    assert changes(run(cluster, "site", SETTINGS)) == []

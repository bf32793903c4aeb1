# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An upgrade of a lab by kubeadm, as an administrator does it manually, and who watches the command lines meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
import typing as t
from pathlib import Path

import yaml
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.cluster import API_SERVER, STATE, Cluster, Node, until
from ansible_collections.nodecraft.kubeadm.tests.sessions.start import cache

BEFORE, AFTER = "1.36", "1.37"
DIRECTORY = "/opt/kubernetes-after"
JOIN_FILE = "/etc/nodecraft-lab/kubeadm.yaml"
PATCHES = "/etc/nodecraft-lab/patches"
# An API server that serves lives longer, and it needs more from its start until it serves.
POLL_INTERVAL = 0.5
MAX_PAUSE = 5.0


def cached(name: str) -> Path:
    """What labs of the new version are made of. Raises AssertionError when no such lab was made yet."""
    found = [path for path in cache().glob(f"{name}-{AFTER}.*") if path.suffix not in (".lock", ".sizes", ".part")]
    assert found, f"{cache()} has nothing of Kubernetes {AFTER}: make lab-up K8S={AFTER} makes it"
    return max(found, key=lambda path: path.stat().st_mtime)


def version() -> str:
    """The new version in full."""
    return cached("kubernetes").name.split("-")[1]


def upgradable(named_by: str, records: Path) -> Cluster:
    """A lab of the old version with what it is upgraded with. named_by: the environment variable that has its name."""
    cluster = Cluster(os.environ[named_by], records)
    cluster.wait_until_healthy()
    for node in cluster.nodes.values():
        install_new_version(node)
    return cluster


def install_new_version(node: Node) -> None:
    """Put the new programs and images on a node, as packages and a pull do."""
    node.run("mkdir", "--parents", DIRECTORY)
    for path, name in ((cached("kubernetes"), "kubelet"), (cached("images"), "images.tar")):
        subprocess.run(["podman", "cp", str(path), f"{node.name}:{DIRECTORY}/{name}"], check=True, capture_output=True)
    # All programs of a lab are one, which goes by the name that it is called by.
    node.run("ln", "--symbolic", "--force", "kubelet", f"{DIRECTORY}/kubeadm")
    node.run("ctr", "--namespace", "k8s.io", "images", "import", f"{DIRECTORY}/images.tar")


def upgrade(cluster: Cluster) -> None:
    """Upgrade one node after the other, the control planes first, and each kubelet with its node."""
    for node in cluster.nodes.values():
        what = ["apply", f"v{version()}", "--yes"] if node is cluster.first else ["node"]
        # kubeadm does not remember those of an earlier call.
        patches = [f"--patches={PATCHES}"] if node.path(PATCHES).exists() else []
        node.run(f"{DIRECTORY}/kubeadm", "upgrade", *what, *patches, "--ignore-preflight-errors=all")
        # One that runs keeps its file.
        node.run("cp", "--remove-destination", f"{DIRECTORY}/kubelet", "/usr/bin/kubelet")
        node.systemctl("restart", "kubelet")
        until(lambda: not cluster.unready_nodes(), f"ready nodes after the upgrade of {node.name}")
    cluster.wait_until_healthy()


def kubeadm_config(cluster: Cluster) -> str:
    """The ClusterConfiguration that kubeadm keeps of the cluster."""
    found = cluster.lab.get("configmap", "kubeadm-config", "--namespace=kube-system")
    return str(found["data"]["ClusterConfiguration"])


def cluster_configuration(cluster: Cluster) -> t.Any:
    """The same, parsed."""
    return yaml.safe_load(kubeadm_config(cluster))


def write_kubeadm_config(cluster: Cluster, text: str) -> None:
    """Edit it manually."""
    patch = json.dumps({"data": {"ClusterConfiguration": text}})
    cluster.lab.kubectl("patch", "configmap", "kubeadm-config", "--namespace=kube-system", f"--patch={patch}")


def leave(cluster: Cluster, node: Node) -> None:
    """Make a node one that was never in the cluster, but for its kubelet's own settings, which kubeadm leaves."""
    # In this order: without its Node kubeadm does not take its member out of etcd, and the next one of that name panics.
    node.run("kubeadm", "reset", "--force")
    cluster.lab.kubectl("delete", "node", node.name)
    node.run("rm", "--recursive", "--force", STATE)


def join(cluster: Cluster, node: Node) -> None:
    """Let a node join, as it did when the lab was made."""
    joining = yaml.safe_load(node.run("cat", JOIN_FILE))
    if "controlPlane" in joining:
        key = joining["controlPlane"]["certificateKey"]
        upload = ["kubeadm", "init", "phase", "upload-certs", "--upload-certs", f"--certificate-key={key}"]
        cluster.first.run(*upload)
    node.run("kubeadm", "join", f"--config={JOIN_FILE}", "--skip-phases=preflight")


class CommandLines:
    """Records the command line of every API server and every etcd that ever runs on the control planes, while the block lasts."""

    def __init__(self, cluster: Cluster, output: Path) -> None:
        self._cluster = cluster
        self._output = output
        self._seen: dict[tuple[str, str, int], tuple[str, ...]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        # Between two reads, in seconds.
        self.longest_pause = 0.0

    def __enter__(self) -> t.Self:
        self._record_running()
        self._thread.start()
        return self

    def __exit__(self, *dummy: object) -> None:
        self._ended.set()
        self._thread.join()
        lines = [json.dumps([*key, *arguments]) for key, arguments in sorted(self._seen.items())]
        self._output.parent.mkdir(parents=True, exist_ok=True)
        self._output.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def of(self, component: str) -> list[tuple[str, ...]]:
        """The command lines of a component, of all nodes."""
        return [arguments for (_node, name, _pid), arguments in self._seen.items() if name == component]

    def without(self, component: str, settings: t.Collection[str]) -> list[tuple[str, ...]]:
        """Those that lack one of the settings."""
        return [arguments for arguments in self.of(component) if not set(settings) <= set(arguments)]

    def _watch(self) -> None:
        last = time.monotonic()
        while not self._ended.wait(POLL_INTERVAL):
            self._record_running()
            now = time.monotonic()
            self.longest_pause, last = max(self.longest_pause, now - last), now

    def _record_running(self) -> None:
        for node in self._cluster.control_planes:
            for component in (API_SERVER, "etcd"):
                for process in node.processes(component):
                    self._seen[node.name, component, process.pid] = process.arguments

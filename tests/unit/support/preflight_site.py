# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane node as a preflight reads it: certificates, data, one static pod, its kubelet and runtime."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import Probe
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import Host
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet.kubelet_reader import Kubelet
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import preflight, static_pods
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod.component_files import PreflightContext
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import FileVersion
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.clusters import ClusterIdentity
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import plan as static_pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import Pair
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import Clock
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import Web

UID = "a" * 32
READY_TIMEOUT = 2.0


class Site:
    """A control plane node in a directory: certificates, data, one static pod whose probes reach a web server."""

    def __init__(self, root: Path, web: Web, run: FakeRun) -> None:
        self.root, self.web, self.run = root, web, run
        self.pki, self.data = root / "pki", root / "data"
        for directory in (self.pki, self.data / "member", root / "proc", root / "pods"):
            directory.mkdir(parents=True)
        (self.data / "member" / "db").write_text("live", encoding="ascii")
        self.clock = Clock()
        self.healthz: Probe | None = None
        self.force = False

    def write(self, name: str, pair: Pair) -> None:
        for ending, content in zip(("crt", "key"), pair):
            (self.pki / f"{name}.{ending}").write_bytes(content)

    def pod(self, name: str, text: str) -> static_pods.StaticPod:
        """A static pod of this node, whose probes reach the web server."""
        for host, scheme, port in (("10.0.0.11", "HTTPS", "6443"), ("127.0.0.1", "HTTP", "2381")):
            text = text.replace(f"host: {host}", "host: 127.0.0.1").replace(f"scheme: {scheme}", "scheme: HTTP")
            text = text.replace(f"port: {port}", f"port: {self.web.port}")
        text = text.replace("/etc/kubernetes/pki", str(self.pki)).replace("/var/lib/etcd", str(self.data))
        manifest = samples.manifest(text, name)
        version = FileVersion(text.encode(), 0o600)
        return static_pods.StaticPod(name, samples.SOURCE, version, manifest, {}, f"kube-system_{name}-cp1_")

    def start(self, pod: static_pods.StaticPod) -> None:
        """Have the static pod run what its manifest says."""
        (self.root / "pods" / f"{pod.log_prefix}{UID}").mkdir()
        self.start_process(pod)

    def start_process(self, pod: static_pods.StaticPod) -> None:
        """The component's process, in the node's network as kubeadm's are."""
        for pid in (1, 100):
            (self.root / "proc" / str(pid) / "ns").mkdir(parents=True)
            (self.root / "proc" / str(pid) / "ns" / "net").symlink_to("net:[1]")
        process = self.root / "proc" / "100"
        (process / "cgroup").write_text(f"0::/kubepods/pod{UID}/{'b' * 64}\n", encoding="ascii")
        (process / "cmdline").write_text("".join(f"{item}\0" for item in pod.manifest.arguments), encoding="utf-8")

    @property
    def node(self) -> PreflightContext:
        return PreflightContext(
            kubelet=Kubelet("kubelet", "/m", "cp1", self.healthz, "unix:///run/c.sock", ClusterIdentity(), pid=7),
            run=self.run,
            host=Host(
                proc=str(self.root / "proc"),
                pod_logs=str(self.root / "pods"),
                container_logs=str(self.root / "links"),
                kubelet_root=str(self.root / "kubelet"),
            ),
            clock=self.clock,
            sleep=self.clock.sleep,
            ready_timeout=READY_TIMEOUT,
            kubeconfig=str(self.root / "admin.conf"),
            force=self.force,
        )

    def check(self, pod: static_pods.StaticPod, **args: t.Any) -> tuple[str, ...]:
        """The preflight of a change of some arguments: its warnings, without the one that every restart of an API server has."""
        return self.check_plan(pod, self.plan(pod, **args))

    def check_plan(self, pod: static_pods.StaticPod, plan: static_pod.StaticPodPlan) -> tuple[str, ...]:
        """The same of any change."""
        found = preflight.check(pod, plan, self.node)
        return tuple(warning for warning in found if " will be away for about " not in warning)

    def unverified(self, pod: static_pods.StaticPod, **args: t.Any) -> list[str]:
        """What the same could not verify."""
        return self.context_after(pod, **args).unverified

    def context_after(self, pod: static_pods.StaticPod, **args: t.Any) -> PreflightContext:
        """The context with what the same has found."""
        node = self.node
        preflight.check(pod, self.plan(pod, **args), node)
        return node

    def check_volume(self, pod: static_pods.StaticPod) -> tuple[str, ...]:
        """The preflight of a change that mounts another directory over a member's data."""
        (self.root / "elsewhere").mkdir(exist_ok=True)
        volume = samples.volume("etcd-data", str(self.root / "elsewhere"), mount_path=str(self.data), read_only=False)
        desired = samples.desired(name="etcd", volumes=[volume])
        plan = static_pod.plan(desired, static_pod.State(pod.manifest, {}, {}))
        return preflight.check(pod, plan, self.node)

    @staticmethod
    def plan(pod: static_pods.StaticPod, **args: t.Any) -> static_pod.StaticPodPlan:
        desired = samples.desired(name=pod.name, args={flag.replace("_", "-"): value for flag, value in args.items()})
        return static_pod.plan(desired, static_pod.State(pod.manifest, {}, {}))

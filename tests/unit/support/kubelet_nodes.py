# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node whose kubelet is files in a directory and a process that never changes, as the modules read it."""

from __future__ import annotations

import json
import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import Host
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet import kubelet_steps, kubelet_watch
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.plan import KubeletPlan
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets
from ansible_collections.nodecraft.kubeadm.tests.unit.support.steps_run import StepRunner
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import INODE, hold_port, kubeconfig, open_socket

ACCEPTED = 'E1 "command failed" err="stat /proc/nonexistent/kubeconfig: no such file or directory"\n'
UNKNOWN = 'E1 "Using lenient decoding" err="strict decoding error: unknown field \\"maxPodz\\""\n'


class Node:
    """A kubelet's files below a directory, and the programs that report about it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.proc = root / "proc"
        self.unit = self.write("kubelet.service", kubelets.UNIT_TEXT)
        self.main = self.write("config.yaml", kubelets.MAIN_TEXT)
        self.extra = self.write("extra", "KUBELET_EXTRA_ARGS=--hostname-override=W1\n")
        text = kubelets.KUBEADM_TEXT.replace("/var/lib/kubelet/config.yaml", str(self.main))
        text = text.replace("/etc/default/kubelet", str(self.extra)).replace(
            "/var/lib/kubelet/kubeadm-flags.env", "/none"
        )
        self.kubeconfig = self.write("kubelet.conf", kubeconfig())
        text = text.replace("/etc/kubernetes/kubelet.conf", str(self.kubeconfig))
        self.kubeadm = self.write("10-kubeadm.conf", text)
        self.properties = {
            "LoadState": "loaded",
            "FragmentPath": str(self.unit),
            "DropInPaths": str(self.kubeadm),
            "ActiveState": "active",
            "SubState": "running",
            "MainPID": "7",
            "NeedDaemonReload": "no",
        }
        self.version = "Kubernetes v1.32.2\n"
        self.log = 'E1 "command failed" err="bogus"\n'
        self.outputs = [ACCEPTED]
        self.requests: list[dict[str, t.Any]] = []
        self.calls: list[str] = []
        command = f"/usr/bin/kubelet --bootstrap-kubeconfig=/b --kubeconfig={self.kubeconfig} --config={self.main}"
        self.write("proc/7/cmdline", "\0".join([*command.split(), "--hostname-override=W1", ""]))
        open_socket(self.proc, 7)

    @property
    def host(self) -> Host:
        logs, links = (str(self.root / name) for name in ("pod_logs", "container_logs"))
        return Host(proc=str(self.proc), pod_logs=logs, container_logs=links)

    def serve_health(self, port: int, *, inode: int = INODE) -> None:
        """Have its health port served, with its own inode by itself."""
        self.main.write_text(f"{kubelets.MAIN_TEXT}healthzPort: {port}\n", encoding="ascii")
        hold_port(self.proc, port, inode=inode)

    def start_at(self, seconds: float) -> None:
        """Have its process started then, in seconds since 1970."""
        boot = 1_000_000_000
        self.write("proc/stat", f"btime {boot}\n")
        ticks = int((seconds - boot) * os.sysconf("SC_CLK_TCK"))
        self.write("proc/7/stat", f"7 (kubelet) S {'0 ' * 18}{ticks} 0")

    def crash(self, log: str) -> None:
        """Have the kubelet end at its start, again and again, with this log."""
        self.properties.update(ActiveState="activating", SubState="auto-restart", MainPID="0")
        self.log = log

    def give_root(self) -> Path:
        """Have the kubelet keep its state in a directory of ours."""
        root_dir = self.root / "root_dir"
        root_dir.mkdir()
        self.add_flag(f"--root-dir={root_dir}")
        return root_dir

    def add_flag(self, flag: str) -> None:
        """Have the kubelet started with one flag more."""
        self.extra.write_text(f"{self.extra.read_text(encoding='utf-8').rstrip()} {flag}\n", encoding="utf-8")
        process = self.root / "proc/7/cmdline"
        process.write_text(f"{process.read_text(encoding='utf-8')}{flag}\0", encoding="utf-8")

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, arguments: list[str], **options: t.Any) -> tuple[int, str, str]:
        line = " ".join(arguments)
        self.calls.append(line)
        if line.startswith("systemctl show"):
            return 0, "".join(f"{key}={value}\n" for key, value in self.properties.items()), ""
        if line.endswith("--version"):
            return 0, self.version, ""
        if line.startswith("journalctl"):
            return 0, self.log, ""
        if line.startswith("timeout"):
            self.requests.append(json.loads(options["data"]))
            return 1, "", self.outputs.pop(0)
        return (3, "inactive\n", "") if "is-active" in line else (0, "", "")

    def steps(self, *, dry: bool = False, **given: t.Any) -> StepRunner[kubelet_steps.Observed, KubeletPlan]:
        steps = kubelet_steps.KubeletSteps(
            kubelets.parameters(**given), diff=True, run=self.run, host=self.host, ready_timeout=0
        )
        return StepRunner(steps, dry=dry)


def plan_with(node: Node, monkeypatch: pytest.MonkeyPatch, **given: t.Any) -> list[str]:
    """The warnings of a change of a kubelet that works."""
    monkeypatch.setattr(kubelet_watch, "read_problem", lambda *_arguments: ("", []))
    steps = node.steps(dry=True, **{"config": {"maxPods": 50}, **given})
    with steps.session():
        steps.read()
        return list(steps.plan().warnings)

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of a node, with results from a table."""

from __future__ import annotations

import json
import os
import typing as t

from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NODE, FakeNode

KUBELET_PID = 50
ACCEPTED = "initializing audit webhook: stat /rehearsal-ends-here: no such file or directory"


class FakeRun:
    """Like AnsibleModule.run_command. C(results) hold (status, output, error) by the beginning of the command."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.requests: list[dict[str, t.Any]] = []
        self.results: dict[str, tuple[int, str, str]] = {
            "systemctl show": (0, f"ActiveState=active\nMainPID={KUBELET_PID}\n", ""),
            "/usr/bin/kubelet --version": (0, "Kubernetes v1.37.2\n", ""),
            "systemctl is-active": (3, "inactive\n", ""),
            "systemctl start": (0, "", ""),
            "systemctl daemon-reload": (0, "", ""),
            **{f"{program} --version": (0, "", "") for program in ("ctr", "podman", "docker")},
            "timeout": (1, "", f'E1 run.go:72] "command failed" err="{ACCEPTED}"\n'),
        }

    def __call__(self, arguments: list[str], **options: t.Any) -> tuple[int, str, str]:
        self.calls.append(arguments)
        if "data" in options:
            request = json.loads(options["data"])
            request["binary_is_open"] = os.path.exists(request["binary"])
            request["root_is_empty_directory"] = os.listdir(request["root"]) == []
            self.requests.append(request)
        line = " ".join(arguments)
        return next(result for start, result in self.results.items() if line.startswith(start))

    def ran(self, start: str) -> bool:
        """Whether a command with this beginning was run."""
        return any(" ".join(call).startswith(start) for call in self.calls)


def add_kubelet(node: FakeNode, *arguments: str, config: str | None = None) -> None:
    """The kubelet's process, and its configuration where the process sees it."""
    defaults = ["/usr/bin/kubelet", "--config=/var/lib/kubelet/config.yaml", f"--hostname-override={NODE}"]
    node.add_process(KUBELET_PID, None, list(arguments) or defaults)
    path = node.proc / str(KUBELET_PID) / "root/var/lib/kubelet/config.yaml"
    path.parent.mkdir(parents=True)
    # Without healthz, which only some tests are about.
    text = f"staticPodPath: {node.manifests}\nhealthzPort: 0\n" if config is None else config
    path.write_text(text, encoding="utf-8")

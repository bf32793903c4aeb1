# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A directory with the programs of a new version, with the output that a test sets."""

from __future__ import annotations

import base64
import json
import os
import typing as t
from pathlib import Path

import yaml
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun

TARGET, CURRENT = "1.37.2", "v1.36.3"
ELF = b"\x7fELF\x02\x01" + bytes(12) + (62).to_bytes(2, "little")
CONFIGURATION = f"apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: {CURRENT}\n"
ACCEPTED = {
    "kube-apiserver": 'E1 "command failed" err="initializing audit webhook: stat /rehearsal-ends-here: no such file or directory"\n',
    "kubelet": 'E1 "command failed" err="stat /proc/nonexistent/kubeconfig: no such file or directory"\n',
    "kube-proxy": 'E1 "command failed" err="stat /rehearsal-ends-here: no such file or directory"\n',
    "etcd": "etcd Version: 3.7.0\n",
}
GATES = "gates"  # of a kubelet, which kube-apiserver validates


SIGNED = {
    "name": "apiserver",
    "expirationDate": "2027-11-25T22:45:45Z",
    "residualTime": 31535996,
    "externallyManaged": False,
    "caName": "ca",
    "missing": False,
}
AUTHORITY = {**SIGNED, "name": "ca", "expirationDate": "2036-11-22T22:45:45Z", "residualTime": 315359996}


def refused(error: str) -> str:
    """The output of a component that refuses its settings."""
    return f'E1 run.go:72] "command failed" err="{error}"\n'


def put_programs(directory: Path, *names: str, content: bytes = ELF) -> Path:
    """Programs that nothing starts."""
    directory.mkdir(exist_ok=True)
    for name in names or ("kubeadm", "kubelet", "kube-apiserver"):
        (directory / name).write_bytes(content)
        (directory / name).chmod(0o755)
    return directory


class UpgradeRun(FakeRun):
    """Programs of the node.

    manifests: what kubeadm generates, by the version and then by static pod; or the error with which it fails. expiration: its output about
    certificates. outputs: by component, one text for each start, ACCEPTED after these; of GATES how kube-apiserver refuses those of a
    kubelet, empty where it does not.
    versions: the output of a program with --version.
    """

    def __init__(self) -> None:
        super().__init__()
        self.manifests: dict[str, dict[str, str] | str] = {}
        self.outputs: dict[str, list[str]] = {}
        self.strict_error = ""
        self.expiration = json.dumps({"certificates": [SIGNED], "certificateAuthorities": [AUTHORITY]}, indent=4)
        self.versions = {"kubeadm": f"v{TARGET}", "etcd": "etcd Version: 3.7.0"}

    def __call__(self, arguments: list[str], **options: t.Any) -> tuple[int, str, str]:
        name = os.path.basename(arguments[0])
        if (
            arguments[-1] in ("--version", "--output=short")
            and arguments[0].startswith("/")
            and "bin" not in arguments[0]
        ):
            self.calls.append(arguments)
            return 0, self.versions.get(name, f"Kubernetes v{TARGET}") + "\n", ""
        if "data" not in options:
            return super().__call__(arguments, **options)
        request = json.loads(options["data"])
        self.requests.append(request)
        program = os.path.basename(request["arguments"][0])
        if program == "kubeadm":
            return (0, self.expiration, "W1 x\n") if "certs" in request["arguments"] else self._generate(request)
        if request["arguments"][-1] == "--version" and program == "kube-apiserver":
            refusal = (self.outputs.get(GATES) or [""]).pop(0)
            return (1, "", refusal) if refusal else (0, f"Kubernetes v{TARGET}\n", "")
        outputs = self.outputs.get(program) or [ACCEPTED[program]]
        return 1, "", outputs.pop(0)

    def _generate(self, request: dict[str, t.Any]) -> tuple[int, str, str]:
        if any(argument.startswith("--patches") for argument in request["arguments"]):
            return 3, "", "error: can not mix '--config' with arguments [patches]"
        (text,) = request["staged"].values()
        cluster = yaml.safe_load(base64.b64decode(text).decode().split("\n---\n")[0])
        manifests = self.manifests_of(cluster)
        if isinstance(manifests, str):
            return 1, "", manifests
        (output,) = (mount["source"] for mount in request["mounts"] if mount.get("writable"))
        for name, manifest in manifests.items():
            Path(output, f"{name}.yaml").write_text(manifest, encoding="utf-8")
        return 0, "[control-plane] Creating", self.strict_error

    def manifests_of(self, cluster: dict[str, t.Any]) -> dict[str, str] | str:
        """What kubeadm generates from a ClusterConfiguration."""
        return self.manifests[cluster["kubernetesVersion"]]

    def started(self, program: str) -> list[list[str]]:
        """The command lines with which a program was rehearsed."""
        return [each["arguments"] for each in self.requests if os.path.basename(each["arguments"][0]) == program]

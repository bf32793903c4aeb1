# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs of ansible-runner in the image of an execution environment, on the nodes of a lab by SSH: what AWX does to run a job."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import typing as t
from pathlib import Path

import yaml
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.cluster import Cluster, Node, until

ROOT = Path(__file__).resolve().parents[2]
PROJECT = ROOT / "awx" / "project"
FILES = Path(__file__).with_name("files")
# Of what files/token.yml makes.
NAMESPACE = "jobs"
Json = dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Job:
    """A job that ended, by what ansible-runner left of it."""

    directory: Path
    status: str
    rc: int

    @property
    def output(self) -> str:
        """What Ansible printed."""
        return (self.directory / "stdout").read_text(encoding="utf-8")

    @property
    def events(self) -> list[Json]:
        """All events, in their order."""
        files = sorted(self.directory.glob("job_events/*-*.json"), key=lambda path: int(path.name.partition("-")[0]))
        return [json.loads(path.read_text(encoding="utf-8")) for path in files]

    @property
    def recap(self) -> Json:
        """The last event: counts of each host, and the statistics of the run."""
        (event,) = [event for event in self.events if event["event"] == "playbook_on_stats"]
        return t.cast(Json, event["event_data"])

    @property
    def statistics(self) -> Json:
        """What C(set_stats) summed up; AWX shows it as artifacts."""
        return t.cast(Json, self.recap["artifact_data"])

    @property
    def changed(self) -> Json:
        """Hosts with the number of tasks that changed something."""
        return t.cast(Json, self.recap["changed"])


class RunningJob:
    """A job at work."""

    def __init__(self, process: subprocess.Popen[bytes], directory: Path) -> None:
        self.process, self._directory = process, directory

    @property
    def container(self) -> str:
        """The container in which Ansible is; empty when there is none."""
        options = ["--quiet", "--all", f"--filter=name=^ansible_runner_{self._directory.name}$"]
        return subprocess.run(["podman", "ps", *options], check=True, capture_output=True, text=True).stdout.strip()

    def cancel(self, seconds: float = 60) -> None:
        """End the job as AWX does."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(seconds)

    def wait_for_job(self, seconds: float = 900) -> Job:
        """Wait for the end."""
        self.process.wait(seconds)
        files = {name: self._directory / name for name in ("status", "rc")}
        texts = {name: path.read_text(encoding="utf-8") if path.exists() else "" for name, path in files.items()}
        return Job(self._directory, texts["status"], int(texts["rc"] or -1))


class Runner:
    """A directory for ansible-runner, with the project of C(awx/) and an inventory of the lab."""

    def __init__(self, directory: Path, image: str, cluster: Cluster, options: t.Sequence[str]) -> None:
        self._directory, self._image, self._options, self._jobs = directory, image, options, 0
        shutil.copytree(PROJECT, directory / "project")
        (directory / "env").mkdir()
        # As AWX gives a Machine credential: by an agent in the container.
        key = (cluster.lab.directory / "ssh_key").read_text(encoding="utf-8")
        self.write("env/ssh_key", key)
        (directory / "inventory").mkdir()
        self.write_inventory(cluster)

    def write(self, path: str, text: str) -> None:
        """Write a file of the directory."""
        file = self._directory / path
        file.write_text(text, encoding="utf-8")
        file.chmod(0o600)

    def write_inventory(self, cluster: Cluster, hosts: t.Sequence[Node] | None = None, **variables: t.Any) -> None:
        """Write the inventory. hosts: those of a slice. variables: the desired state of all."""

        def group(nodes: t.Sequence[Node]) -> Json:
            return {"hosts": {node.name: {"ansible_host": node.address} for node in nodes if node in chosen}}

        chosen = list(cluster.nodes.values()) if hosts is None else hosts
        connection = {
            "ansible_user": "operator",
            "ansible_become": True,
            "ansible_python_interpreter": "/usr/bin/python3",
            "ansible_ssh_common_args": "-o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no",
        }
        inventory = {
            "all": {"vars": {**connection, **variables}},
            "kube_control_plane": group(cluster.control_planes),
            "kube_node": group(cluster.workers),
        }
        self.write("inventory/hosts.yml", yaml.safe_dump(inventory))

    def write_token(self, cluster: Cluster) -> None:
        """Give all jobs what AWX makes of a token of the API: environment variables, and a file with the authority."""
        kubectl = cluster.lab.kubectl
        kubectl("apply", f"--filename={FILES / 'token.yml'}")
        kubectl("rollout", "status", f"--namespace={NAMESPACE}", "--timeout=60s", "deployment/web")
        authority = kubectl("get", "configmap", "kube-root-ca.crt", "--output=jsonpath={.data.ca\\.crt}")
        self.write("ca.crt", authority)
        variables = {
            "K8S_AUTH_HOST": kubectl("config", "view", "--minify", "--output=jsonpath={.clusters[0].cluster.server}"),
            "K8S_AUTH_API_KEY": kubectl("create", "token", f"--namespace={NAMESPACE}", "awx").strip(),
            "K8S_AUTH_VERIFY_SSL": "True",
            "K8S_AUTH_SSL_CA_CERT": "/runner/ca.crt",
            # A job is root here, and would not become root again; that of AWX is not.
            "ANSIBLE_BECOME_ALLOW_SAME_USER": "True",
        }
        self.write("env/envvars", yaml.safe_dump(variables))

    def start(self, playbook: str, *arguments: str, extra_vars: Json | None = None) -> RunningJob:
        """Begin a job. extra_vars: of a survey, which are extra variables."""
        self._jobs += 1
        name = f"{self._directory.name}-{os.getpid()}-{self._jobs}"
        # As AWX has them: in a file that comes last.
        self.write("env/extravars", yaml.safe_dump(extra_vars or {}))
        # Given by --cmdline, ansible-runner would keep it for all later jobs of this directory.
        self.write("env/cmdline", " ".join(arguments))
        command = [
            *(
                sys.executable,
                "-m",
                "ansible_runner",
                "run",
                str(self._directory),
                f"--playbook={playbook}",
                f"--ident={name}",
            ),
            *("--process-isolation", "--process-isolation-executable=podman", f"--container-image={self._image}"),
            *(f"--container-option={option}" for option in self._options),
        ]
        with (self._directory / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return RunningJob(process, self._directory / "artifacts" / name)

    def run(self, playbook: str, *arguments: str, extra_vars: Json | None = None) -> Job:
        """Run a job to its end."""
        return self.start(playbook, *arguments, extra_vars=extra_vars).wait_for_job()


def lease(cluster: Cluster) -> Json:
    """The Lease of rollouts; empty when there is none."""
    output = cluster.lab.kubectl(
        "get",
        "lease",
        "--namespace=kube-system",
        "--ignore-not-found",
        "--output=json",
        "nodecraft-kubeadm-control-plane",
    )
    return t.cast(Json, json.loads(output)["spec"]) if output.strip() else {}


def wait_for_change(node: Node) -> None:
    """Until the API server of a node is changed and not verified yet."""
    until(lambda: node.phase() is not None, f"a transaction on {node.name}", 300)

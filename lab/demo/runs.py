# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the demo and the bench share: a fresh lab, runs of ansible-playbook, and a look at a node."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import time
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SNAPSHOT = ROOT / "extensions/molecule/common/snapshot.py"


@dataclasses.dataclass(frozen=True)
class Lab:
    """A lab as make describes it."""

    name: str
    kubernetes: str
    control_planes: int
    workers: int

    @classmethod
    def of_environment(cls) -> Lab:
        """The lab that LAB, K8S, CONTROL_PLANES and WORKERS name."""
        env = os.environ
        return cls(env["LAB"], env["K8S"], int(env["CONTROL_PLANES"]), int(env["WORKERS"]))

    @property
    def first(self) -> str:
        """The first control plane node."""
        return f"{self.name}-cp1"

    @property
    def inventory(self) -> Path:
        """Its nodes by the podman connection."""
        return ROOT / "build/lab" / self.name / "inventory.yml"

    def start_anew(self, log: Path) -> float:
        """Remove what there is of this lab and make it; returns the seconds that making it took."""
        name = f"--extra-vars=lab_name={self.name}"
        with log.open("w", encoding="utf-8") as output:
            subprocess.run(
                ["ansible-playbook", "lab/down.yml", name], cwd=ROOT, stdout=output, stderr=output, check=True
            )
            began = time.monotonic()
            shape = [
                f"--extra-vars=lab_kubernetes={self.kubernetes}",
                f"--extra-vars=lab_control_planes={self.control_planes}",
                f"--extra-vars=lab_workers={self.workers}",
            ]
            done = subprocess.run(
                ["ansible-playbook", "lab/up.yml", name, *shape], cwd=ROOT, stdout=output, stderr=output, check=False
            )
        if done.returncode != 0:
            raise SystemExit(f"The lab does not start. Its log: {log}")
        return time.monotonic() - began

    def ask(self, *command: str) -> str:
        """What a command on the first control plane node says."""
        done = subprocess.run(["podman", "exec", self.first, *command], capture_output=True, text=True, check=True)
        return done.stdout

    def look(self) -> dict[str, t.Any]:
        """Manifests and processes of the first control plane node."""
        with SNAPSHOT.open(encoding="utf-8") as script:
            done = subprocess.run(
                ["podman", "exec", "--interactive", self.first, "python3", "-"],
                stdin=script,
                capture_output=True,
                text=True,
                check=True,
            )
        return t.cast(dict[str, t.Any], json.loads(done.stdout))


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of a playbook. report: what the JSON callback wrote."""

    rc: int
    seconds: float
    report: dict[str, t.Any]

    @property
    def changed(self) -> int:
        """How many tasks changed something, on all hosts together."""
        return sum(counts["changed"] for counts in self.report["stats"].values())

    def results(self) -> t.Iterator[dict[str, t.Any]]:
        """Every result of static_pod, in the order of the tasks."""
        for play in self.report["plays"]:
            for task in play["tasks"]:
                for result in task["hosts"].values():
                    if result.get("action", "").endswith("static_pod"):
                        yield from result.get("results", [result])

    def changes(self) -> dict[str, dict[str, t.Any]]:
        """The results of the second pass, by component."""
        return {result["name"]: result for result in self.results() if result.get("transaction")}


def run_playbook(lab: Lab, variables: t.Mapping[str, t.Any], record: Path, *arguments: str) -> Run:
    """Run site.yml as a user would, and keep the JSON of it."""
    began = time.monotonic()
    done = subprocess.run(
        [
            "ansible-playbook",
            f"--inventory={lab.inventory}",
            "playbooks/site.yml",
            "--extra-vars",
            json.dumps(variables),
            *arguments,
        ],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json"},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began
    # Progress lines come before the report.
    start = f"\n{done.stdout}".find("\n{\n")
    if start < 0:
        raise SystemExit(f"ansible-playbook gave no report:\n{done.stdout}{done.stderr}")
    report = json.loads(done.stdout[start:])
    record.write_text(json.dumps(report, indent=2), encoding="utf-8")
    return Run(done.returncode, seconds, report)

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the parts of the bench share: how often they measure, how commands are timed, how figures are written."""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import subprocess
import time
import typing as t

from ansible_collections.nodecraft.kubeadm.lab.runs import ROOT, Lab

OUTPUT = ROOT / "build/bench"
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
REPEATS = 5


@dataclasses.dataclass(frozen=True)
class Part:
    """What one part found. table: lines of Markdown. figures: the same and more, for JSON."""

    title: str
    table: list[str]
    figures: dict[str, t.Any]


def timed(lab: Lab, *command: str) -> float:
    """Run a command with the lab's credentials; returns the seconds that took."""
    began = time.monotonic()
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=lab.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command):.2000}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return seconds


def module(lab: Lab, hosts: str, name: str, options: t.Mapping[str, t.Any] | None = None) -> float:
    """Run one module by the ansible command; returns the seconds that took."""
    arguments = [f"--args={json.dumps(options)}"] if options else []
    return timed(lab, "ansible", f"--inventory={lab.inventory}", hosts, f"--module-name={name}", *arguments)


def play(lab: Lab, play_of: t.Mapping[str, t.Any]) -> float:
    """Run a play by ansible-playbook; returns the seconds that took."""
    playbook = OUTPUT / "play.yml"
    playbook.write_text(json.dumps([{"gather_facts": False, **play_of}]), encoding="utf-8")
    return timed(lab, "ansible-playbook", f"--inventory={lab.inventory}", str(playbook))


def spread(values: t.Sequence[float], digits: int = 1) -> str:
    """Median and range."""
    return f"{statistics.median(values):.{digits}f} s ({min(values):.{digits}f} to {max(values):.{digits}f})"

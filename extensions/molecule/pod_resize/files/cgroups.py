# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel gives the containers of this node, as JSON: {ID: {"cpu": millicores, "memory": bytes}}; -1 is no limit."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def containers() -> dict[str, dict[str, Path]]:
    """Container -> the directories of its control groups by controller; "" is that of version 2."""
    found: dict[str, dict[str, Path]] = {}
    for path in Path("/proc").glob("[0-9]*/cgroup"):
        try:
            lines = path.read_text(encoding="ascii").splitlines()
        except OSError:  # it has ended
            continue
        for dummy, controllers, group in (line.split(":", 2) for line in lines):
            if match := re.search(r"kubepods.*?([0-9a-f]{64})", group):
                directories = found.setdefault(match[1], {})
                for controller in controllers.split(","):
                    directories[controller] = ROOT / controller / group.lstrip("/")
    return found


def limits(directories: dict[str, Path]) -> dict[str, int]:
    """What is in its files."""
    if "cpu" in directories:  # version 1, beside which there may be a version 2 without controllers
        quota, period = (
            (directories["cpu"] / f"cpu.cfs_{name}_us").read_text(encoding="ascii").strip()
            for name in ("quota", "period")
        )
        memory = (directories["memory"] / "memory.limit_in_bytes").read_text(encoding="ascii").strip()
    else:
        quota, period = (directories[""] / "cpu.max").read_text(encoding="ascii").split()
        memory = (directories[""] / "memory.max").read_text(encoding="ascii").strip()
    return {
        "cpu": -1 if quota in ("max", "-1") else int(quota) * 1000 // int(period),
        "memory": -1 if memory == "max" else int(memory),
    }


if __name__ == "__main__":
    json.dump({name: limits(directories) for name, directories in containers().items()}, sys.stdout)

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Size and speed with a thousand devices, as JSON: ``python tests/bench.py``. Exits with 1 when a limit is exceeded."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
import typing as t
from pathlib import Path

from kubelet_stub import Kubelet

NAME = "example.com/unit"
DEVICES = 1000
# Seconds for which a process is observed, and the repetitions of timed measurements.
WATCHED = 20.0
ROUNDS = 20
CONFIG = f"""
resources:
  - name: {NAME}
    discover: [{{path: {{glob: /dev/unit*, type: file}}}}]
    health: {{successes: 1}}
"""
# The measurements with their limits; None: only reported.
PROMISES: dict[str, float | None] = {
    "rss_mib": 60.0,
    "anonymous_mib": None,
    "first_list_s": None,
    "cpu_at_rest_percent": 1.0,
    "cpu_flapping_percent": None,
    "change_on_stream_ms": 200.0,
    "change_on_stream_worst_ms": None,
    "registered_after_kubelet_s": 2.0,
    "registered_after_kubelet_worst_s": None,
}


class Process:
    """A process according to the kernel."""

    def __init__(self, pid: int) -> None:
        self.directory = Path(f"/proc/{pid}")

    def mib(self, field: str) -> float:
        lines = (self.directory / "status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{field}:"))

    def seconds(self) -> float:
        fields = (self.directory / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def percent_while(self, work: t.Awaitable[None]) -> float:
        """The share of one processor that it uses meanwhile."""
        began, used = time.monotonic(), self.seconds()
        await work
        return 100 * (self.seconds() - used) / (time.monotonic() - began)


async def measure(home: Path) -> dict[str, float]:
    """Start the plugin on a directory and measure."""
    units = [home / f"root/dev/unit{number:04d}" for number in range(DEVICES)]
    for directory in ("root/dev", "kubelet"):
        (home / directory).mkdir(parents=True)
    for unit in units:
        unit.touch()
    (home / "config.yaml").write_text(CONFIG, encoding="utf-8")
    kubelet = Kubelet(home / "kubelet")
    await kubelet.start()
    began = time.monotonic()
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "nodecraft_device_plugin", "--config", str(home / "config.yaml"), "--port", "0"),
        *("--device-plugins", str(home / "kubelet"), "--root", str(home / "root"), "--log-level", "error"),
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "src")},
    )
    try:
        await until_healthy(kubelet, DEVICES, 60)
        first_list = time.monotonic() - began
        process = Process(program.pid)
        at_rest = await process.percent_while(asyncio.sleep(WATCHED))
        changes = [await change(kubelet, unit) for unit in units[:ROUNDS]]
        flapping = await process.percent_while(flap(units[:10]))
        await until_healthy(kubelet, DEVICES, 60)
        registrations = [await restart(kubelet) for dummy in range(ROUNDS)]
        return {
            "rss_mib": process.mib("VmRSS"),
            "anonymous_mib": process.mib("RssAnon"),
            "first_list_s": first_list,
            "cpu_at_rest_percent": at_rest,
            "cpu_flapping_percent": flapping,
            "change_on_stream_ms": 1000 * statistics.median(changes),
            "change_on_stream_worst_ms": 1000 * max(changes),
            "registered_after_kubelet_s": statistics.median(registrations),
            "registered_after_kubelet_worst_s": max(registrations),
        }
    finally:
        program.terminate()
        await program.wait()
        await kubelet.stop()


async def until_healthy(kubelet: Kubelet, count: int, timeout: float) -> None:
    await kubelet.until(lambda: len(kubelet.healthy(NAME)) == count, timeout)


async def change(kubelet: Kubelet, unit: Path) -> float:
    """Seconds from the loss of a device until the kubelet knows."""
    began = time.monotonic()
    unit.unlink()
    await until_healthy(kubelet, DEVICES - 1, 30)
    took = time.monotonic() - began
    unit.touch()
    await until_healthy(kubelet, DEVICES, 30)
    return took


async def restart(kubelet: Kubelet) -> float:
    """Seconds from a new kubelet.sock until the kubelet has the list."""
    await kubelet.stop()
    kubelet.plugins = {}
    await kubelet.start()
    began = time.monotonic()
    await until_healthy(kubelet, DEVICES, 30)
    return time.monotonic() - began


async def flap(units: t.Sequence[Path]) -> None:
    """Remove and restore all devices in each second."""
    for number in range(int(WATCHED)):
        for unit in units:
            if number % 2:
                unit.touch()
            else:
                unit.unlink()
            await asyncio.sleep(1 / len(units))


def main() -> int:
    """Measure, print, and compare with the limits."""
    with tempfile.TemporaryDirectory(prefix="dp-") as home:
        found = asyncio.run(measure(Path(home)))
    rows = {
        name: {"value": round(found[name], 3), "limit": limit, "kept": limit is None or found[name] <= limit}
        for name, limit in PROMISES.items()
    }
    sys.stdout.write(json.dumps({"devices": DEVICES, "rounds": ROUNDS, "results": rows}, indent=2) + "\n")
    return 0 if all(row["kept"] for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

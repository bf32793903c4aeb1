# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The device plugin with a thousand devices, beside what is promised of it; a stub of the kubelet, no cluster."""

from __future__ import annotations

import json
import subprocess
import sys

from ansible_collections.nodecraft.kubeadm.bench.figures import Part
from ansible_collections.nodecraft.kubeadm.lab.runs import ROOT, Json, Lab
from ansible_collections.nodecraft.kubeadm.tests.sessions.console import echo

PROGRAM = ROOT / "roles/device_plugin/files/plugin/tests/bench.py"
PROMISE_BROKEN = 1  # its status; the figures show which one
ROWS = {
    "rss_mib": "memory (MiB RSS)",
    "anonymous_mib": "of that its own (MiB)",
    "first_list_s": "from its start until the kubelet has the list (s)",
    "cpu_at_rest_percent": "at rest (% of a core)",
    "cpu_flapping_percent": "while ten devices come and go in each second (% of a core)",
    "change_on_stream_ms": "from a change until the kubelet has it (ms, median)",
    "change_on_stream_worst_ms": "the same, longest (ms)",
    "registered_after_kubelet_s": "from a new kubelet.sock until the kubelet has the list (s, median)",
    "registered_after_kubelet_worst_s": "the same, longest (s)",
}


def measure(_lab: Lab) -> Part:
    """As its own bench measures it."""
    echo("device plugin: about a minute")
    done = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, text=True, check=False)
    if done.returncode not in (0, PROMISE_BROKEN):
        raise SystemExit(f"{PROGRAM}:\n{done.stdout}{done.stderr}")
    return part(json.loads(done.stdout))


def part(found: Json) -> Part:
    """Its figures as a table."""
    results = found["results"]
    table = [
        f"| device plugin, {found['devices']} devices | measured | at most |",
        "| --- | --- | --- |",
        *(f"| {title} | {results[name]['value']:.3g} | {limit(results[name])} |" for name, title in ROWS.items()),
    ]
    return Part("Device plugin", table, found)


def limit(result: Json) -> str:
    """What is promised, and whether that is so."""
    if result["limit"] is None:
        return "-"
    return f"{result['limit']:g}" if result["kept"] else f"{result['limit']:g}, **not kept**"

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What would be advertised on this host, and why each other candidate would not."""

from __future__ import annotations

import typing as t
from dataclasses import asdict

from nodecraft_device_plugin import discovery, inventory
from nodecraft_device_plugin.config import Config
from nodecraft_device_plugin.devices import LeftOut
from nodecraft_device_plugin.host import Host

Report = dict[str, dict[str, t.Any]]


def explain(config: Config, host: Host) -> Report:
    """One look at the host. Returns by resource: devices, left_out, and failure when not all could be read."""
    found = {resource.name: discovery.discover(host, resource) for resource in config.resources}
    claimed = inventory.claim(found)
    report: Report = {}
    for resource in config.resources:
        look = claimed[resource.name]
        known, left_out = inventory.update({}, look, {}, resource.health, 0.0, 0.0)
        report[resource.name] = described(known, left_out, look.failure, resource.sharing.replicas)
    return report


def described(
    known: inventory.Inventory, left_out: t.Iterable[LeftOut], failure: str, replicas: int
) -> dict[str, t.Any]:
    """One resource of a report. failure: why not all could be read, else empty."""
    return {
        "devices": [_device(known[identifier]) for identifier in sorted(known)],
        "advertised": len(known) * replicas,
        "left_out": [asdict(entry) for entry in left_out],
        "failure": failure,
    }


def _device(known: inventory.Known) -> dict[str, t.Any]:
    return {
        "id": known.candidate.id,
        "found_as": known.candidate.found_as,
        "nodes": [node.host_path for node in known.candidate.nodes],
        "numa": known.candidate.numa,
        "healthy": known.health.healthy,
        "reason": known.health.reason,
    }


def as_text(report: Report) -> str:
    """The report for people."""
    lines: list[str] = []
    for name, entry in report.items():
        lines.append(f"{name}: {entry['advertised']} advertised, {len(entry['left_out'])} left out")
        lines += [f"  + {_line(device)}" for device in entry["devices"]]
        lines += [f"  - {left['what']}: {left['reason']}" for left in entry["left_out"]]
        if entry["failure"]:
            lines.append(f"  ! not all could be read: {entry['failure']}")
    return "\n".join(lines)


def _line(device: t.Mapping[str, t.Any]) -> str:
    nodes = ", ".join(device["nodes"]) or "no node"
    numa = "" if device["numa"] is None else f", NUMA node {device['numa']}"
    health = "healthy" if device["healthy"] else "unhealthy"
    return f"{device['id']} ({nodes}{numa}): {health}{': ' + device['reason'] if device['reason'] else ''}"

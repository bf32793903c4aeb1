# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which devices would be advertised on this host, and why other candidates would be skipped."""

from __future__ import annotations

import typing as t
from dataclasses import asdict

from nodecraft_device_plugin import discovery, inventory
from nodecraft_device_plugin.config import Config
from nodecraft_device_plugin.devices import Skipped
from nodecraft_device_plugin.host import Host

Report = dict[str, dict[str, t.Any]]


def explain(config: Config, host: Host) -> Report:
    """Scan the host once. Returns by resource: devices, skipped, and failure when the scan is incomplete."""
    found = {resource.name: discovery.discover(host, resource) for resource in config.resources}
    claimed = inventory.claim(found)
    report: Report = {}
    for resource in config.resources:
        scan = claimed[resource.name]
        known, skipped = inventory.update({}, scan, {}, resource.health, 0.0, 0.0)
        report[resource.name] = described(known, skipped, scan.failure, resource.sharing.replicas)
    return report


def described(
    known: inventory.Inventory, skipped: t.Iterable[Skipped], failure: str, replicas: int
) -> dict[str, t.Any]:
    """One resource of a report. failure: why the scan is incomplete; empty when it is complete."""
    return {
        "devices": [_device(known[identifier]) for identifier in sorted(known)],
        "advertised": len(known) * replicas,
        "skipped": [asdict(entry) for entry in skipped],
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
    """The report as text."""
    lines: list[str] = []
    for name, entry in report.items():
        lines.append(f"{name}: {entry['advertised']} advertised, {len(entry['skipped'])} skipped")
        lines += [f"  + {_line(device)}" for device in entry["devices"]]
        lines += [f"  - {candidate['what']}: {candidate['reason']}" for candidate in entry["skipped"]]
        if entry["failure"]:
            lines.append(f"  ! the scan is incomplete: {entry['failure']}")
    return "\n".join(lines)


def _line(device: t.Mapping[str, t.Any]) -> str:
    nodes = ", ".join(device["nodes"]) or "no device node"
    numa = "" if device["numa"] is None else f", NUMA node {device['numa']}"
    health = "healthy" if device["healthy"] else "unhealthy"
    return f"{device['id']} ({nodes}{numa}): {health}{': ' + device['reason'] if device['reason'] else ''}"

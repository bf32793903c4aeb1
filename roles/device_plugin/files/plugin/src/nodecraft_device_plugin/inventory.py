# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The advertised devices: scans and checks in, the devices of each resource and their health out. Pure."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from nodecraft_device_plugin import devices
from nodecraft_device_plugin.config import HealthRules
from nodecraft_device_plugin.devices import Candidate, Outcome, Skipped
from nodecraft_device_plugin.discovery import Discovery

GONE = "the device no longer exists"
UNCHECKED = "not checked yet"


@dataclass(frozen=True)
class Health:
    """The health of a device. good, bad: results in a row towards a change."""

    healthy: bool
    reason: str = ""
    good: int = 0
    bad: int = 0

    @property
    def pending(self) -> bool:
        """Whether the next results may change it."""
        return bool(self.bad if self.healthy else self.good)


@dataclass(frozen=True)
class Known:
    """A device that was found at least once. missing_since: seconds on the caller's clock; None while it exists."""

    candidate: Candidate
    health: Health
    missing_since: float | None = None


class Probe(t.NamedTuple):
    """The last result of a slow check. fresh: not counted yet."""

    outcome: Outcome
    fresh: bool = True


class Listed(t.NamedTuple):
    """A device as the kubelet sees it."""

    id: str
    healthy: bool
    numa: int | None = None


Inventory = t.Mapping[str, Known]
# The resource and the device to which a node belongs.
Owner = tuple[str, str]
Owners = dict[tuple[str, int, int], Owner]


def next_health(state: Health | None, outcome: Outcome, rules: HealthRules) -> Health:
    """The health after one more result."""
    healthy = outcome.healthy
    if healthy is None:
        if rules.unknown == "keep":
            # With commands or URLs, a device is advertised only after their first result.
            return state or Health(not rules.probes, outcome.reason)
        healthy = rules.unknown == "healthy"
    if state is None:
        return Health(healthy, outcome.reason)
    if healthy == state.healthy:
        unchanged = not state.good and not state.bad and state.reason == outcome.reason
        return state if unchanged else Health(healthy, outcome.reason)
    results = (state.good if healthy else state.bad) + 1
    threshold = rules.successes if healthy else rules.failures
    if results >= threshold or (outcome.final and outcome.healthy is False):
        return Health(healthy, outcome.reason)
    return replace(state, good=results if healthy else 0, bad=0 if healthy else results)


def update(
    known: Inventory,
    discovery: Discovery,
    probed: t.Mapping[str, Probe],
    rules: HealthRules,
    now: float,
    forget_after: float,
) -> tuple[dict[str, Known], tuple[Skipped, ...]]:
    """The devices after one more scan, and the skipped candidates.

    probed: the last results of slow checks, by device id. now, forget_after: seconds.
    """
    result: dict[str, Known] = {}
    skipped = list(discovery.skipped)
    for candidate in discovery.candidates:
        before = known.get(candidate.id)
        if before is None and candidate.outcome.final:
            skipped.append(Skipped(candidate.found_as, candidate.outcome.reason))
            continue
        health = _checked(before.health if before else None, candidate.outcome, probed.get(candidate.id), rules)
        # An unusable or unreadable device has no nodes to allocate: its last known state stays.
        current = before.candidate if before and candidate.outcome.final else candidate
        same = before and current is before.candidate and health is before.health and before.missing_since is None
        result[candidate.id] = before if before and same else Known(current, health)
    for identifier, before in known.items():
        if identifier not in result:
            result |= _absent(identifier, before, discovery.failure, rules, now, forget_after)
    return result, tuple(skipped)


def _absent(
    identifier: str, before: Known, failure: str, rules: HealthRules, now: float, forget_after: float
) -> dict[str, Known]:
    """The next state of a device that was not found; empty when it is forgotten."""
    if failure and before.missing_since is not None:
        return {identifier: before}
    if failure:
        return {
            identifier: replace(before, health=next_health(before.health, Outcome(None, failure, final=True), rules))
        }
    since = now if before.missing_since is None else before.missing_since
    if now - since >= forget_after:
        return {}
    return {identifier: Known(before.candidate, Health(False, GONE), since)}


def _checked(state: Health | None, seen: Outcome, probe: Probe | None, rules: HealthRules) -> Health:
    """The health after a scan and the slow checks, if there are any. No result is counted twice."""
    if not rules.probes or seen.healthy is not True:
        return next_health(state, seen, rules)
    # A result from before a device vanished does not apply to the one that returned.
    first = state is None or state.reason in (UNCHECKED, GONE)
    if probe is None or not probe.fresh:
        return Health(False, UNCHECKED) if first else t.cast("Health", state)
    return next_health(None if first else state, probe.outcome, rules)


def undecided(known: Inventory, probed: t.Mapping[str, Probe], rules: HealthRules) -> bool:
    """Whether the next results of slow checks may change the health of a present device."""
    return any(_open(device, probed.get(identifier), rules) for identifier, device in present(known).items())


def _open(device: Known, probe: Probe | None, rules: HealthRules) -> bool:
    return probe is None or _checked(device.health, device.candidate.outcome, probe, rules).pending


def present(known: Inventory) -> Inventory:
    """The devices that the last scan found."""
    return {identifier: device for identifier, device in known.items() if device.missing_since is None}


def claim(
    discoveries: t.Mapping[str, Discovery], known: t.Mapping[str, Inventory] | None = None
) -> dict[str, Discovery]:
    """Assign each device node to the first device that has it, in the order of resources and sources.

    known: the devices of each resource before these scans. A device that could not be scanned keeps its nodes.
    """
    reserved: Owners = {}
    for resource, discovery in discoveries.items():
        for before in _unseen(discovery, (known or {}).get(resource, {})):
            reserved |= _owned(resource, before.candidate)
    owners: Owners = {}
    result = {}
    for resource, discovery in discoveries.items():
        accepted: dict[str, Candidate] = {}
        skipped = list(discovery.skipped)
        for candidate in discovery.candidates:
            reason = _conflict(candidate, (resource, candidate.id), owners, reserved)
            if not reason and candidate.id in accepted:
                reason = f"duplicate device id {candidate.id}"
            if reason:
                skipped.append(Skipped(candidate.found_as, reason))
                continue
            accepted[candidate.id] = candidate
            owners |= _owned(resource, candidate)
        result[resource] = replace(discovery, candidates=tuple(accepted.values()), skipped=tuple(skipped))
    return result


def _unseen(discovery: Discovery, known: Inventory) -> t.Iterator[Known]:
    """The devices that keep their state because a scan could not read them."""
    seen = {candidate.id: candidate.outcome for candidate in discovery.candidates}
    for identifier, before in known.items():
        outcome = seen.get(identifier)
        unreadable = outcome.final and outcome.healthy is None if outcome else bool(discovery.failure)
        if unreadable and before.missing_since is None:
            yield before


def _owned(resource: str, candidate: Candidate) -> Owners:
    return {node.key: (resource, candidate.id) for node in candidate.nodes if not node.shared}


def _conflict(candidate: Candidate, own: Owner, owners: Owners, reserved: Owners) -> str:
    """Why a candidate cannot have its nodes; empty when it can. reserved: nodes that only their owner may claim."""
    for node in candidate.nodes:
        if node.shared:
            continue
        holder = reserved.get(node.key)
        owner = owners.get(node.key) or (holder if holder != own else None)
        if owner:
            return f"device node {node.host_path} belongs to {' '.join(owner)}"
    return ""


def listed(known: Inventory, replicas: int) -> tuple[Listed, ...]:
    """The list for the kubelet, in the order of ids."""
    return tuple(
        Listed(replica, known[physical].health.healthy, known[physical].candidate.numa)
        for physical in sorted(known)
        for replica in devices.replica_ids(physical, replicas)
    )

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Devices and their ids. Values only."""

from __future__ import annotations

import hashlib
import re
import typing as t
from dataclasses import dataclass

# The kubelet rejects longer ids.
ID_LENGTH = 63
REPLICA = "::"
_REPLICA_DIGITS = 4


class Outcome(t.NamedTuple):
    """The result of a check. healthy: None when it is unknown. final: about the device's nodes, so no threshold applies."""

    healthy: bool | None
    reason: str = ""
    final: bool = False


HEALTHY = Outcome(True)


@dataclass(frozen=True)
class Node:
    """A device node or file that belongs to a device. key: its identity, independent of the path."""

    host_path: str
    container_path: str
    key: tuple[str, int, int]
    is_file: bool = False
    shared: bool = False


@dataclass(frozen=True)
class Candidate:
    """A potential device. id: from its identity, never from the order of discovery.

    outcome: the health that the scan observed.
    """

    id: str
    nodes: tuple[Node, ...] = ()
    numa: int | None = None
    outcome: Outcome = HEALTHY
    found_as: str = ""


@dataclass(frozen=True)
class Skipped:
    """A candidate that is not advertised, and why."""

    what: str
    reason: str


def device_id(text: str, suffix_length: int = 0) -> str:
    """A device id from a name: unchanged where possible, otherwise truncated with a digest. suffix_length: reserved characters."""
    clean = re.sub(r"[^A-Za-z0-9._:-]", "_", text)
    length = ID_LENGTH - suffix_length
    if clean == text and len(text) <= length and REPLICA not in text:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{clean.replace(REPLICA, '__')[: length - 9]}-{digest}"


def path_id(path: str) -> str:
    """The id of a device that is configured by its path: the name of the stable link, or the path below /dev."""
    _before, by_id, name = path.rpartition("/by-id/")
    return name if by_id else path.removeprefix("/dev/").strip("/").replace("/", "-")


def replica_ids(physical: str, replicas: int) -> list[str]:
    """The ids under which one physical device is advertised."""
    return [physical] if replicas == 1 else [f"{physical}{REPLICA}{number}" for number in range(replicas)]


def physical_of(identifier: str) -> str:
    """The physical device of an advertised id."""
    # The last separator, because a device's own id may end with a colon.
    physical, _separator, number = identifier.rpartition(REPLICA)
    return physical or number


def replica_suffix_length(replicas: int) -> int:
    """The length of the suffix that distinguishes the replicas."""
    return 0 if replicas == 1 else len(REPLICA) + _REPLICA_DIGITS

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a device is, and how it is called. Values only."""

from __future__ import annotations

import hashlib
import re
import typing as t
from dataclasses import dataclass

# The kubelet takes no longer ids.
ID_LENGTH = 63
REPLICA = "::"
_REPLICA_DIGITS = 4


class Outcome(t.NamedTuple):
    """What a check says of a device. healthy: None when it cannot tell. final: of the device's nodes, so no threshold holds."""

    healthy: bool | None
    reason: str = ""
    final: bool = False


HEALTHY = Outcome(True)


@dataclass(frozen=True)
class Node:
    """A device node or file that belongs to a device. key: what it is, whatever path leads to it."""

    host_path: str
    container_path: str
    key: tuple[str, int, int]
    is_file: bool = False
    shared: bool = False


@dataclass(frozen=True)
class Candidate:
    """Something that may be a device. id: from its identity, never from an order of discovery.

    outcome: what was seen of its health while looking for it.
    """

    id: str
    nodes: tuple[Node, ...] = ()
    numa: int | None = None
    outcome: Outcome = HEALTHY
    found_as: str = ""


@dataclass(frozen=True)
class LeftOut:
    """A candidate that is not advertised, and why."""

    what: str
    reason: str


def device_id(text: str, room: int = 0) -> str:
    """A device id from a name: unchanged where possible, else cut and told apart by a digest. room: for a suffix."""
    clean = re.sub(r"[^A-Za-z0-9._:-]", "_", text)
    length = ID_LENGTH - room
    if clean == text and len(text) <= length and REPLICA not in text:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{clean.replace(REPLICA, '__')[: length - 9]}-{digest}"


def path_id(path: str) -> str:
    """The name of a device that is known by its path: the stable link's own name, or the path below /dev."""
    _before, by_id, name = path.rpartition("/by-id/")
    return name if by_id else path.removeprefix("/dev/").strip("/").replace("/", "-")


def replica_ids(physical: str, replicas: int) -> list[str]:
    """The ids under which one physical device is offered."""
    return [physical] if replicas == 1 else [f"{physical}{REPLICA}{number}" for number in range(replicas)]


def physical_of(identifier: str) -> str:
    """The physical device behind an id of ours."""
    # The last mark, because a device's own id may end with a colon.
    physical, _mark, number = identifier.rpartition(REPLICA)
    return physical or number


def room_for(replicas: int) -> int:
    """How many characters of an id the number of a replica needs."""
    return 0 if replicas == 1 else len(REPLICA) + _REPLICA_DIGITS

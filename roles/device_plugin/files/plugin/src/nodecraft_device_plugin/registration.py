# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to do next so that the kubelet knows a resource. Pure.

Three signals tell that it does not any more: another kubelet.sock, our own socket gone, the stream ended.
"""

from __future__ import annotations

import enum
import hashlib
import typing as t
from dataclasses import dataclass

# A kubelet that has accepted a registration opens the stream at once.
STREAM_GRACE = 5.0
FIRST_DELAY = 0.2
LONGEST_DELAY = 3.0
# A stream that held that long ended for another reason than the attempt before.
STABLE = 60.0
SOCKET_PREFIX = "nodecraft"
# What a socket's address holds, without the zero at its end.
PATH_LENGTH = 107

Identity = tuple[int, int, int]


class Step(enum.Enum):
    """One step on the way to being known."""

    SERVE = "serve"
    WAIT = "wait"
    REGISTER = "register"
    REST = "rest"


@dataclass(frozen=True)
class Seen:
    """What is the case. now, registered_at: seconds.

    kubelet: the kubelet.sock that is there. registered_with: the one of the last successful registration, None after
    its stream ended. offered: whether a kubelet was told of our socket before. successor: the socket of a younger process that serves the same resource.
    """

    now: float
    own_socket: bool
    kubelet: Identity | None
    registered_with: Identity | None
    registered_at: float
    streams: int
    offered: bool = False
    successor: str = ""


def next_step(seen: Seen) -> tuple[Step, str]:
    """What to do, and why the resource is not ready; without a reason it is."""
    if not seen.own_socket:
        return Step.SERVE, "the socket of this resource is not there"
    if seen.kubelet is None:
        return Step.WAIT, "kubelet.sock is not there"
    # The kubelet leaves our stream open when another process registers, but asks only that one from then on.
    if seen.successor:
        return Step.WAIT, f"a younger process serves this resource at {seen.successor}"
    if seen.registered_with == seen.kubelet:
        if seen.streams:
            return Step.REST, ""
        if seen.now - seen.registered_at < STREAM_GRACE:
            return Step.WAIT, "the kubelet has not opened the stream yet"
    reason = "not registered with the kubelet that runs"
    # From Kubernetes 1.37 on a kubelet takes each socket once. Told of one a second time, it refuses, and never forgets it.
    return (Step.SERVE if seen.offered else Step.REGISTER), reason


class Backoff:
    """Growing delays between attempts. random: a number from 0 to 1, so that many plugins do not call at once."""

    def __init__(self, random: t.Callable[[], float]) -> None:
        self._random = random
        self._next = FIRST_DELAY

    def delay(self) -> float:
        """Seconds until the next attempt."""
        delay, self._next = self._next, min(self._next * 2, LONGEST_DELAY)
        return delay * (0.5 + self._random() / 2)

    def reset(self) -> None:
        """The next delay is a short one again."""
        self._next = FIRST_DELAY


def socket_stem(resource: str) -> str:
    """What the names of a resource's sockets begin with: short, however long the resource's name is."""
    return f"{SOCKET_PREFIX}-{hashlib.sha256(resource.encode()).hexdigest()[:10]}-"


def socket_name(resource: str, started: int, number: int) -> str:
    """The name of a socket, never the same twice. started: of this process, milliseconds. number: of the socket."""
    return f"{socket_stem(resource)}{started:012x}-{number}.sock"


def others(names: t.Iterable[str], resource: str, started: int) -> list[str]:
    """The sockets that other processes made for a resource."""
    stem = socket_stem(resource)
    return [name for name in sorted(names) if name.startswith(stem) and not name.startswith(f"{stem}{started:012x}-")]


def is_younger(name: str, started: int) -> bool:
    """Whether the process of another socket started after ours."""
    stamp = name.split("-")[2]
    return stamp > f"{started:012x}"

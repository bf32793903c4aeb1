# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The next step of registering a resource with the kubelet. Pure.

Three signals show that a registration is lost: a new kubelet.sock, the plugin's own socket is missing, the stream ended.
"""

from __future__ import annotations

import enum
import hashlib
import typing as t
from dataclasses import dataclass

# After a registration the kubelet opens the stream at once.
STREAM_GRACE = 5.0
FIRST_DELAY = 0.2
LONGEST_DELAY = 3.0
# A stream that lasted longer did not end because of the attempt.
STABLE = 60.0
SOCKET_PREFIX = "nodecraft"
# The longest path of a socket, without the terminating zero.
PATH_LENGTH = 107

Identity = tuple[int, int, int]


class Step(enum.Enum):
    """A step of the registration."""

    SERVE = "serve"
    WAIT = "wait"
    REGISTER = "register"
    READY = "ready"


@dataclass(frozen=True)
class Observation:
    """The observed state. now, registered_at: seconds.

    kubelet: the current kubelet.sock. registered_with: that of the last successful registration, None after its stream
    ended. announced: whether the socket was sent to a kubelet before. successor: the socket of a newer process that serves
    the same resource.
    """

    now: float
    own_socket: bool
    kubelet: Identity | None
    registered_with: Identity | None
    registered_at: float
    streams: int
    announced: bool = False
    successor: str = ""


def next_step(observed: Observation) -> tuple[Step, str]:
    """The next step, and why the resource is not ready; empty when it is."""
    if not observed.own_socket:
        return Step.SERVE, "the socket of this resource does not exist"
    if observed.kubelet is None:
        return Step.WAIT, "kubelet.sock does not exist"
    # When another process registers, the kubelet keeps this stream open, but calls only the other process.
    if observed.successor:
        return Step.WAIT, f"a newer process serves this resource at {observed.successor}"
    if observed.registered_with == observed.kubelet:
        if observed.streams:
            return Step.READY, ""
        if observed.now - observed.registered_at < STREAM_GRACE:
            return Step.WAIT, "the kubelet has not opened the stream yet"
    reason = "not registered with the running kubelet"
    # From Kubernetes 1.37 on a kubelet accepts each socket once, and refuses every further registration of it.
    return (Step.SERVE if observed.announced else Step.REGISTER), reason


class Backoff:
    """Growing delays between attempts. random: a number from 0 to 1, so that many plugins do not call at the same time."""

    def __init__(self, random: t.Callable[[], float]) -> None:
        self._random = random
        self._next = FIRST_DELAY

    def delay(self) -> float:
        """Seconds until the next attempt."""
        delay, self._next = self._next, min(self._next * 2, LONGEST_DELAY)
        return delay * (0.5 + self._random() / 2)

    def reset(self) -> None:
        """Restart with the shortest delay."""
        self._next = FIRST_DELAY


def socket_stem(resource: str) -> str:
    """The prefix of the names of a resource's sockets. A digest, because the path of a socket is limited."""
    return f"{SOCKET_PREFIX}-{hashlib.sha256(resource.encode()).hexdigest()[:10]}-"


def socket_name(resource: str, started: int, number: int) -> str:
    """The unique name of a socket. started: of this process, milliseconds. number: of the socket."""
    return f"{socket_stem(resource)}{started:012x}-{number}.sock"


def others(names: t.Iterable[str], resource: str, started: int) -> list[str]:
    """The sockets of other processes for a resource."""
    stem = socket_stem(resource)
    return [name for name in sorted(names) if name.startswith(stem) and not name.startswith(f"{stem}{started:012x}-")]


def is_newer(name: str, started: int) -> bool:
    """Whether the process of another socket started after this one."""
    stamp = name.split("-")[2]
    return stamp > f"{started:012x}"

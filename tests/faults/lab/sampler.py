# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Watch a manifest, the directory that it stands in and its API server, and print every difference as a line of JSON.

    python3 sampler.py /path/of/kube-apiserver.yaml 10.0.0.2:6443

It ends when its input is closed. Python's standard library only; nothing of the collection, which is what it checks. Times are
seconds of the monotonic clock, which all processes of a machine share, also those in containers.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import select
import socket
import ssl
import stat
import sys
import threading
import time
import typing as t

POLL_INTERVAL = 0.005
PROBE_SECONDS = 0.2
# One that is away refuses at once; one that is slow, on a busy machine, is not away.
PROBE_TIMEOUT = 5.0
PATHS = ("livez", "readyz")

Json = dict[str, t.Any]


def manifest_now(path: str) -> Json | None:
    """What a reader of the file sees at this moment; None when there is no file."""
    try:
        with open(path, "rb") as stream:
            status = os.fstat(stream.fileno())
            content = stream.read()
    except OSError:
        return None
    return {
        "sha256": hashlib.sha256(content).hexdigest(),
        "size": len(content),
        "mode": f"{stat.S_IMODE(status.st_mode):04o}",
        "owner": [status.st_uid, status.st_gid],
        "link": os.readlink(path) if os.path.islink(path) else None,
    }


def names_now(directory: str) -> list[str]:
    """The names that a kubelet would take for pods."""
    return sorted(name for name in os.listdir(directory) if not name.startswith("."))


def is_healthy(address: str, path: str) -> bool:
    """Whether the API server's health endpoint is ok, on a connection of its own, whatever its certificate is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    connection = http.client.HTTPSConnection(address, timeout=PROBE_TIMEOUT, context=context)
    try:
        connection.request("GET", f"/{path}")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def listens(address: str) -> bool:
    """Whether connections are taken there. The kernel takes them for a process that has no time, so this is no matter of load."""
    host, dummy, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=PROBE_TIMEOUT).close()
    except OSError as error:
        return not isinstance(error, ConnectionRefusedError)
    return True


class Printer:
    """Prints what differs from what was printed last, with the time."""

    def __init__(self) -> None:
        self._last: Json = {}
        self._lock = threading.Lock()

    def print_change(self, kind: str, value: t.Any, at: float) -> None:
        """One observation of a kind."""
        with self._lock:
            if kind not in self._last or self._last[kind] != value:
                self._last[kind] = value
                print(json.dumps({"at": at, "kind": kind, "value": value}), flush=True)


def probe_forever(address: str, printer: Printer, ended: threading.Event) -> None:
    """Probe both paths in turn, and whether there is a process that listens."""
    while not ended.is_set():
        printer.print_change("listens", listens(address), time.monotonic())
        for path in PATHS:
            began = time.monotonic()
            healthy = is_healthy(address, path)
            # Healthy at its end, or no longer healthy since its beginning.
            printer.print_change(path, healthy, time.monotonic() if healthy else began)
        ended.wait(PROBE_SECONDS)


def main() -> None:
    """Do it."""
    manifest, address = sys.argv[1:]
    printer, ended = Printer(), threading.Event()
    prober = threading.Thread(target=probe_forever, args=(address, printer, ended))
    prober.start()
    reads, longest, last = 0, 0.0, time.monotonic()
    while not select.select([sys.stdin], [], [], POLL_INTERVAL)[0]:
        printer.print_change("manifest", manifest_now(manifest), time.monotonic())
        printer.print_change("names", names_now(os.path.dirname(manifest)), time.monotonic())
        now = time.monotonic()
        reads, longest, last = reads + 1, max(longest, now - last), now
    ended.set()
    prober.join()
    printer.print_change("end", {"reads": reads, "longest_pause": round(longest, 3)}, time.monotonic())


if __name__ == "__main__":
    main()

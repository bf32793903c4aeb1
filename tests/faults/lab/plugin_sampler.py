# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Watch, on its node, a device plugin and what the kubelet offers of it, and print a line of JSON for each observation: ADDRESS.

    python3 -c "$(cat plugin_sampler.py)" 10.244.2.7

It ends when its input is closed. Python's standard library only. Times are seconds of the monotonic clock, which all
processes of a machine share, also those in containers.
"""

from __future__ import annotations

import http.client
import json
import os
import select
import sys
import time
import typing as t

DIRECTORY = "/var/lib/kubelet/device-plugins"
PORT = 9808
POLL_INTERVAL = 0.05
TIMEOUT = 3.0


def page(address: str, path: str) -> tuple[int, str]:
    """Status and text of a page; 0 without a response."""
    connection = http.client.HTTPConnection(address, PORT, timeout=TIMEOUT)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error)
    finally:
        connection.close()


def sockets() -> list[str]:
    """The plugin's sockets."""
    return sorted(name for name in os.listdir(DIRECTORY) if name.startswith("nodecraft-"))


def kubelet() -> list[int] | None:
    """The identity of kubelet.sock; None when there is none."""
    try:
        status = os.stat(f"{DIRECTORY}/kubelet.sock")
    except OSError:
        return None
    return [status.st_ino, status.st_ctime_ns]


def allocatable(address: str) -> dict[str, list[str]] | None:
    """The devices that the kubelet can hand out, by resource, in its own form; None when it does not respond."""
    status, text = page(address, "/pod-resources")
    return t.cast("dict[str, list[str]]", json.loads(text)["allocatable"]) if status == 200 else None


def observe(address: str) -> dict[str, t.Any]:
    """One observation. sockets: those that were there before or after the request for the plugin's readiness."""
    began, before = time.monotonic(), sockets()
    ready, message = page(address, "/readyz")
    return {
        "began": began,
        "ready": ready,
        "message": message,
        "sockets": sorted({*before, *sockets()}),
        "kubelet": kubelet(),
        "allocatable": allocatable(address),
        "done": time.monotonic(),
    }


def main() -> None:
    """Do it."""
    (address,) = sys.argv[1:]
    while not select.select([sys.stdin], [], [], POLL_INTERVAL)[0]:
        print(json.dumps(observe(address)), flush=True)


if __name__ == "__main__":
    main()

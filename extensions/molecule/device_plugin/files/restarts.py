# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stop and start the kubelet of this node so many times, and print, as JSON, what became of its resources: COUNT LONGEST WANTED.

WANTED: amounts by resource, as JSON. LONGEST: seconds until one time is given up.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time


def run(*command: str) -> str:
    """What a command prints; nothing when it fails, as the API may for a moment."""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def status() -> tuple[str, dict[str, str]]:
    """When the kubelet last wrote the node's status, and what is allocatable by it."""
    shown = run(
        "kubectl", "--kubeconfig=/etc/kubernetes/kubelet.conf", "get", "node", socket.gethostname(), "--output=json"
    )
    node = json.loads(shown)["status"] if shown else {"conditions": [], "allocatable": {}}
    written = [entry["lastHeartbeatTime"] for entry in node["conditions"] if entry["type"] == "Ready"]
    return (written or [""])[0], node["allocatable"]


def restart(wanted: dict[str, str], longest: float) -> dict[str, object]:
    """Seconds until a kubelet that was started anew wrote that all is there; None when it did not."""
    began = time.monotonic()
    run("systemctl", "stop", "kubelet")
    before, _allocatable = status()
    run("systemctl", "start", "kubelet")
    seen: list[dict[str, str]] = []
    while time.monotonic() < began + longest:
        written, allocatable = status()
        # Until then it is what the former kubelet wrote.
        if written not in ("", before):
            found = {name: allocatable.get(name, "0") for name in wanted}
            seen += [] if seen[-1:] == [found] else [found]
            if found == wanted:
                return {"back": round(time.monotonic() - began, 1), "seen": seen}
        time.sleep(0.3)
    return {"back": None, "seen": seen}


def main(count: str, longest: str, wanted: str) -> None:
    """Do it."""
    began = time.monotonic()
    times = [restart(json.loads(wanted), float(longest)) for dummy in range(int(count))]
    sys.stdout.write(json.dumps({"seconds": round(time.monotonic() - began, 1), "times": times}))


if __name__ == "__main__":
    main(*sys.argv[1:])

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stop and start the kubelet of this node so many times, and print, as JSON, what became of its resources: COUNT LONGEST EXPECTED.

EXPECTED: amounts by resource, as JSON. LONGEST: seconds until one time is given up.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import typing as t

KUBECTL = ("kubectl", "--kubeconfig=/etc/kubernetes/kubelet.conf")
NODE = socket.gethostname()
UNWRITTEN = "not written yet"


def run(*command: str) -> str:
    """What a command prints; nothing when it fails, as the API may for a moment."""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def read_node() -> dict[str, t.Any]:
    """The Node object; empty when the API did not respond."""
    node_json = run(*KUBECTL, "get", "node", NODE, "--output=json")
    return json.loads(node_json) if node_json else {}


def outdate_status() -> None:
    """Make the next kubelet write the status: it writes nothing while all is as it finds it, so a read would not show."""
    node = read_node()
    node["status"]["nodeInfo"]["kubeletVersion"] = UNWRITTEN
    # Whatever else is written meanwhile: the kubelet corrects it.
    del node["metadata"]["resourceVersion"]
    # A kubelet may write the status, and not read it by that path, as kubectl does without --raw.
    command = (*KUBECTL, "replace", f"--raw=/api/v1/nodes/{NODE}/status", "--filename=-")
    subprocess.run(command, input=json.dumps(node), stdout=subprocess.DEVNULL, text=True, check=True)


def restart(expected: dict[str, str], longest: float) -> dict[str, object]:
    """Seconds until a kubelet that was restarted wrote that all is there; None when it did not."""
    began = time.monotonic()
    run("systemctl", "stop", "kubelet")
    try:
        outdate_status()
    finally:
        run("systemctl", "start", "kubelet")
    seen: list[dict[str, str]] = []
    while time.monotonic() < began + longest:
        status = read_node().get("status")
        if status and status["nodeInfo"]["kubeletVersion"] != UNWRITTEN:
            found = {name: status["allocatable"].get(name, "0") for name in expected}
            seen += [] if seen[-1:] == [found] else [found]
            if found == expected:
                return {"back": round(time.monotonic() - began, 1), "seen": seen}
        time.sleep(0.3)
    return {"back": None, "seen": seen}


def main(count: str, longest: str, expected: str) -> None:
    """Do it."""
    began = time.monotonic()
    times = [restart(json.loads(expected), float(longest)) for dummy in range(int(count))]
    sys.stdout.write(json.dumps({"seconds": round(time.monotonic() - began, 1), "times": times}))


if __name__ == "__main__":
    main(*sys.argv[1:])

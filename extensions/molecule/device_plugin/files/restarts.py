# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stop and start the kubelet of this node so many times, and print, as JSON, what became of its resources: COUNT LONGEST WANTED.

WANTED: amounts by resource, as JSON. LONGEST: seconds until one time is given up.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import subprocess
import sys
import time
import typing as t
from urllib.parse import urlsplit

KUBECTL = ("kubectl", "--kubeconfig=/etc/kubernetes/kubelet.conf")
CERTIFICATE = "/var/lib/kubelet/pki/kubelet-client-current.pem"
AUTHORITY = "/etc/kubernetes/pki/ca.crt"
NODE = socket.gethostname()
UNWRITTEN = "not written yet"


def run(*command: str) -> str:
    """What a command prints; nothing when it fails, as the API may for a moment."""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def status() -> dict[str, t.Any]:
    """The node's status; empty when the API did not answer."""
    shown = run(*KUBECTL, "get", "node", NODE, "--output=json")
    return json.loads(shown)["status"] if shown else {}


def version(found: dict[str, t.Any]) -> str:
    """The kubelet's version in a node's status."""
    return str(found.get("nodeInfo", {}).get("kubeletVersion", UNWRITTEN))


def blur() -> None:
    """Make the next kubelet write the status: it writes nothing while all is as it finds it, so nobody could tell that it has looked.

    A kubelet may patch the status, which kubectl would also have to read for that.
    """
    server = run(*KUBECTL, "config", "view", "--output=jsonpath={.clusters[0].cluster.server}")
    context = ssl.create_default_context(cafile=AUTHORITY)
    context.load_cert_chain(CERTIFICATE)
    with contextlib.closing(http.client.HTTPSConnection(urlsplit(server).netloc, context=context, timeout=10)) as api:
        api.request(
            "PATCH",
            f"/api/v1/nodes/{NODE}/status",
            json.dumps({"status": {"nodeInfo": {"kubeletVersion": UNWRITTEN}}}),
            {"Content-Type": "application/merge-patch+json"},
        )
        answer = api.getresponse()
        if answer.status != http.HTTPStatus.OK:
            sys.exit(f"The status of {NODE} could not be changed: {answer.status} {answer.read().decode()}")


def restart(wanted: dict[str, str], longest: float) -> dict[str, object]:
    """Seconds until a kubelet that was started anew wrote that all is there; None when it did not."""
    began = time.monotonic()
    run("systemctl", "stop", "kubelet")
    try:
        blur()
    finally:
        run("systemctl", "start", "kubelet")
    seen: list[dict[str, str]] = []
    while time.monotonic() < began + longest:
        looked = status()
        if version(looked) != UNWRITTEN:
            found = {name: looked["allocatable"].get(name, "0") for name in wanted}
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

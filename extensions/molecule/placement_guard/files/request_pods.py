# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Request pods by dry run, again and again until a file is there, and print how often each was requested and refused.

KUBECONFIG FILE NODE...: one pod names no node, the others name one each.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from kubernetes import client, config

CONTAINER = client.V1Container(name="pause", image="lab.local/pause:1")


def creation_error(api: client.CoreV1Api, node: str | None) -> str:
    """Why a pod is refused; empty when it is accepted."""
    metadata = client.V1ObjectMeta(generate_name="requested-")
    pod = client.V1Pod(metadata=metadata, spec=client.V1PodSpec(containers=[CONTAINER], node_name=node))
    try:
        api.create_namespaced_pod("default", pod, dry_run="All")
    except client.ApiException as exc:
        return str(json.loads(exc.body)["message"])
    return ""


def main(kubeconfig: str, stop: str, *nodes: str) -> None:
    """Request pods until the file is there."""
    config.load_kube_config(kubeconfig)
    api, requests = client.CoreV1Api(), 0
    refused: dict[str, list[str]] = {"none": [], **{node: [] for node in nodes}}
    while not Path(stop).exists():
        requests += 1
        for node, messages in refused.items():
            message = creation_error(api, None if node == "none" else node)
            if message:
                messages.append(message)
        time.sleep(0.2)
    counts = {node: len(messages) for node, messages in refused.items()}
    json.dump({"requests": requests, "refused": counts, "messages": sorted(set(refused["none"]))}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Add taints to a node one after the other for some seconds, as another program would, and print how many: KUBECONFIG NODE SECONDS."""

from __future__ import annotations

import sys
import time

from kubernetes import client, config

CONFLICT = 409


def add_taint(api: client.CoreV1Api, node_name: str, key: str) -> bool:
    """Read the node and write it back with one taint more; False when another client was quicker."""
    node = api.read_node(node_name)
    node.spec.taints = [*(node.spec.taints or []), client.V1Taint(key=key, effect="PreferNoSchedule")]
    try:
        api.replace_node(node_name, node)
    except client.ApiException as exc:
        if exc.status != CONFLICT:
            raise
        return False
    return True


def main(kubeconfig: str, node_name: str, seconds: str) -> None:
    """Write until the time is over."""
    config.load_kube_config(kubeconfig)
    api, end, count = client.CoreV1Api(), time.monotonic() + float(seconds), 0
    while time.monotonic() < end:
        count += add_taint(api, node_name, f"writer-{count}")
    sys.stdout.write(f"{count}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

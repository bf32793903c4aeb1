# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The mirror pod: what the kubelet reports of a static pod at the API, where the kubelet's own credential may read it."""

from __future__ import annotations

import typing as t

from .files import Json
from .journal import Probe
from .node import Process
from .probes import Ask, run_probe

# Probes of other kinds, inside of a container or in another protocol, are the kubelet's to run.
OUTSIDE = ("http", "tcp")


def path_of(log_prefix: str) -> str:
    """Where the mirror pod is. log_prefix: how the names of the static pod's directories of logs begin."""
    namespace, dummy, name = log_prefix.rstrip("_").partition("_")
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def config_hash(pod: Json) -> str | None:
    """The UID of the instance that the kubelet reported."""
    try:
        found: str = pod["metadata"]["annotations"]["kubernetes.io/config.hash"]
    except (KeyError, TypeError):
        return None
    return found


def judge(
    ask: Ask, credential: tuple[str, str], process: Process | None, probes: t.Sequence[Probe], *, is_demanded: bool
) -> tuple[bool | None, str]:
    """Whether the probes of a container pass that only the kubelet runs, by its own word, and what that was; None when it is not known.

    credential: the kubelet's kubeconfig, and the path of the mirror pod. is_demanded: whether its word could be heard before.
    Where it cannot be heard, a port without a listener is all that is known to be wrong.
    """
    name = f"{' and '.join(sorted({probe['kind'] for probe in probes}))} probe"
    if process is None:
        return False, f"{name}: there is no process"
    pod, why = ask(*credential)
    if pod is not None:
        is_ready = _is_ready(pod, process.container_id)
        return is_ready, f"{name}: the kubelet reports the container {'as ready' if is_ready else 'not as ready yet'}"
    unknown = f"{name}: what the kubelet reports is not known ({why})"
    # A journal of a former version names no port.
    ports = [run_probe({**probe, "kind": "tcp"}) for probe in probes if probe["kind"] == "grpc" and "port" in probe]
    is_wrong = is_demanded or not all(ok for ok, dummy in ports)
    return False if is_wrong else None, "; ".join([unknown, *(text for dummy, text in ports)])


def _is_ready(pod: Json, container_id: str) -> bool:
    """Of this very container: the status of a former one stands there until the kubelet has reported the new one."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return any(
        status.get("ready") is True and str(status.get("containerID")).endswith(f"/{container_id}")
        for status in statuses
    )

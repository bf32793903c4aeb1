# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The versions of Kubernetes in a cluster, for the warning of those that are not tested."""

from __future__ import annotations

import typing as t

from .._plan.common.errors import KubeadmError
from .._plan.kubernetes import versions
from .._plan.node import plan as node_plan
from .client import Client, Json


def server_version(client: Client) -> str:
    """The version of the API server."""
    return str(client.once().get("/version").get("gitVersion"))


def version_warnings(client: Client, nodes: t.Iterable[Json] = ()) -> list[str]:
    """Warn of an API server, and of kubelets of nodes that were read, whose versions are not tested. Costs one request."""
    try:
        server = server_version(client)
    except KubeadmError as exc:  # no reason to end a module
        server = str(exc).rstrip(".")
    kubelets = filter(None, map(node_plan.kubelet_version, nodes))
    return versions.warnings(client.url, {"API server": [server], "kubelet": kubelets})

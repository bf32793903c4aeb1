# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The clients on a node that an API server has to answer after every change: its administrator and its kubelet."""

from __future__ import annotations

import dataclasses
import os

from ..._engine.api_server import GUARDED
from ..._engine.journal import Address, Credential
from ..._engine.mirror_pod import path_of
from ..._plan.static_pod.manifest import Manifest

ADMIN = ("/etc/kubernetes/admin.conf", "/etc/kubernetes/super-admin.conf")
_PORT = 6443


@dataclasses.dataclass(frozen=True)
class ApiClients:
    """admin: the administrator's kubeconfig. kubelet: the kubelet's; node: the name of its Node."""

    admin: str
    kubelet: str
    node: str

    @classmethod
    def of_node(cls, kubelet: str, node: str) -> ApiClients:
        """kubeadm may have moved an administrator's kubeconfig away, but not both of them."""
        return cls(next(filter(os.path.exists, ADMIN), ADMIN[0]), kubelet, node)

    def credentials(self) -> list[Credential]:
        """What is there of them, and what each may read in any case."""
        paths = {self.admin: GUARDED, self.kubelet: f"/api/v1/nodes/{self.node}"}
        return [{"kubeconfig": file, "path": path} for file, path in paths.items() if os.path.exists(file)]

    def mirror(self, log_prefix: str) -> Credential:
        """The pod by which the kubelet reports a static pod at the API."""
        return {"kubeconfig": self.kubelet, "path": path_of(log_prefix)}

    def unverified(self) -> list[str]:
        """What cannot be verified of an API server, because a kubeconfig is missing."""
        return [
            f"whether it answers {client}: {file} does not exist on {os.uname().nodename}"
            for file, client in ((self.admin, "its administrator"), (self.kubelet, "its kubelet"))
            if not os.path.exists(file)
        ]


def advertised(manifest: Manifest) -> Address:
    """Where an API server without an HTTP probe answers."""
    host = manifest.flag_value("advertise-address") or "127.0.0.1"
    return {"scheme": "https", "host": host, "port": int(manifest.flag_value("secure-port") or _PORT)}

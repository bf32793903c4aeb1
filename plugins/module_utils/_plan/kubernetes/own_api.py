# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which API is that of certain nodes: where their own API server listens, and whether an API is theirs.

Names of nodes are the same in many clusters, so they prove nothing.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..common.errors import Refusal
from .clusters import fingerprints

Json = dict[str, t.Any]

_ENDPOINT = "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"
_PORT = "6443"


@dataclasses.dataclass(frozen=True)
class OwnCluster:
    """What nodes say of their cluster. ca_sha256: the authorities that their kubelets trust. machine_ids: by the names of their Nodes."""

    ca_sha256: frozenset[str]
    machine_ids: t.Mapping[str, str]

    @classmethod
    def parse(cls, option: t.Mapping[str, t.Any] | None) -> OwnCluster | None:
        """What a task says; None when it says nothing, so that any API will do."""
        digests = frozenset(filter(None, ((option or {}).get("ca_sha256") or "").split(",")))
        machines = {name: text for name, text in ((option or {}).get("machine_ids") or {}).items() if text}
        return cls(digests, machines) if option is not None else None

    def trusts(self, authority: str) -> bool:
        """Whether whatever the certificates in a PEM text vouch for, the kubelets would believe, too."""
        found = frozenset(filter(None, fingerprints(authority).split(",")))
        return bool(found) and found <= self.ca_sha256

    def check_machines(self, nodes: t.Mapping[str, Json], url: str, source: str) -> None:
        """Hold the Node objects of an API against the machines. Raises Refusal when they are others, or when none is known there.

        nodes: by their names; one that does not exist is skipped.
        """
        found = {name: (node.get("status", {}).get("nodeInfo") or {}).get("machineID") for name, node in nodes.items()}
        others = sorted(name for name, text in self.machine_ids.items() if found.get(name, text) != text)
        known = [name for name, text in self.machine_ids.items() if found.get(name) == text]
        if known and not others:
            return
        why = (
            f"its {'Node' if len(others) == 1 else 'Nodes'} {', '.join(others[:5])} ran on other machines (by machineID)"
            if others
            else "none of its Nodes can be identified as one of theirs (by machineID)"
        )
        raise Refusal(
            f"the API at {url} is not verified to be that of these nodes: their kubelets do not trust the same authority, and {why}."
            f" The credentials come from {source}: name those of this cluster."
        )


def own_address(manifest: t.Any) -> str | None:
    """The URL by which a node reaches its own API server; None where its manifest does not tell."""
    try:
        arguments = manifest["spec"]["containers"][0].get("command") or []
        flags = dict(str(argument).partition("=")[::2] for argument in arguments)
        endpoint = (manifest["metadata"].get("annotations") or {}).get(_ENDPOINT)
    except (LookupError, TypeError, AttributeError):
        return None
    address = flags.get("--advertise-address")
    if address:
        return f"https://{_host(address)}:{flags.get('--secure-port') or _PORT}"
    return f"https://{endpoint}" if endpoint else None


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address

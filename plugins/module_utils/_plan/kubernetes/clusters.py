# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which cluster a node belongs to, by what its kubelet trusts, and which nodes belong to the same one."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
import typing as t

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)
_SEPARATOR = ","


@dataclasses.dataclass(frozen=True)
class ClusterIdentity:
    """What tells the cluster of a node. Every value is empty where it is not known.

    ca_sha256: the digests of the trusted certificates, sorted and joined with commas. server: the URL of the API server as this node
    reaches it, which may differ from node to node. machine_id: as the kubelet reports it.
    """

    ca_sha256: str = ""
    server: str = ""
    machine_id: str = ""

    def is_same_cluster(self, other: ClusterIdentity) -> bool:
        """Whether both nodes belong to one cluster: they trust a certificate in common. While a cluster's authority is replaced, its nodes
        trust the former and the new one. Where a node names none, both have to use the same server."""
        if self.ca_sha256 and other.ca_sha256:
            return not self._certificates.isdisjoint(other._certificates)
        return bool(self.server) and self.server == other.server

    @property
    def _certificates(self) -> frozenset[str]:
        return frozenset(self.ca_sha256.split(_SEPARATOR))


def by_cluster(nodes: t.Mapping[str, ClusterIdentity]) -> list[list[str]]:
    """The names of nodes, those of one cluster together, in their order. A node of which nothing is known stands alone."""
    found: list[list[str]] = []
    for name, identity in nodes.items():
        same = [names for names in found if any(identity.is_same_cluster(nodes[other]) for other in names)]
        if not same:
            found.append([name])
            continue
        # A node that trusts two authorities joins those that trust one of them.
        same[0].extend([other for names in same[1:] for other in names] + [name])
        found = [names for names in found if names not in same[1:]]
    return found


def conflict(nodes: t.Mapping[str, t.Mapping[str, str] | None]) -> str:
    """Why nodes cannot be changed in one run, with what to do; empty when they belong to one cluster. nodes: name -> what a module told of
    its cluster, nothing for one that was not asked."""
    identities = {name: ClusterIdentity(**told) for name, told in nodes.items() if told}
    found = by_cluster(identities)
    if len(found) < 2:
        return ""
    each = "; ".join(f"{', '.join(names)} ({_described(identities[names[0]])})" for names in found)
    limits = " and ".join(f"--limit {','.join(names)}" for names in found)
    return (
        f"The hosts of this run belong to {len(found)} clusters: {each}. One run changes one cluster, with its Lease and its credentials:"
        f" run each by itself, with {limits}."
    )


def _described(identity: ClusterIdentity) -> str:
    if identity == ClusterIdentity(machine_id=identity.machine_id):
        return "not known: the kubeconfig of its kubelet cannot be read"
    return f"{identity.server or 'no server'}, authority {identity.ca_sha256[:12] or 'not named'}"


def fingerprints(certificates: str) -> str:
    """The SHA-256 digests of the certificates in a PEM text, over their DER form, sorted and joined with commas."""
    return _SEPARATOR.join(sorted({_digest(body) for body in _CERTIFICATE.findall(certificates)} - {""}))


def _digest(body: str) -> str:
    try:
        return hashlib.sha256(base64.b64decode("".join(body.split()), validate=True)).hexdigest()
    except ValueError:  # the kubelet would not read it either
        return ""

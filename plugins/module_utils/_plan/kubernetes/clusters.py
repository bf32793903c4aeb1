# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which cluster a node belongs to, by what its kubelet trusts; which nodes belong to the same one; and whether an API is theirs.

Names of nodes are the same in many clusters, so they prove nothing.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
import typing as t

from ..common.errors import Refusal

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)
_SEPARATOR = ","


@dataclasses.dataclass(frozen=True)
class ClusterIdentity:
    """What identifies the cluster of a node. Every value is empty where it is not known.

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


def group_by_cluster(nodes: t.Mapping[str, ClusterIdentity]) -> list[list[str]]:
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


def expected_identity(nodes: t.Mapping[str, ClusterIdentity]) -> dict[str, t.Any]:
    """By what an API is verified to be that of some nodes, as the modules that use it take it. nodes: by their names in Kubernetes."""
    return {
        "ca_sha256": _SEPARATOR.join(dict.fromkeys(identity.ca_sha256 for identity in nodes.values())),
        "machine_ids": {node: identity.machine_id for node, identity in nodes.items()},
    }


def cluster_conflict(nodes: t.Mapping[str, ClusterIdentity | None]) -> str:
    """Why nodes cannot be changed in one run, with what to do; empty when they belong to one cluster. nodes: by name, None for one that was not
    read."""
    identities = {name: identity for name, identity in nodes.items() if identity}
    found = group_by_cluster(identities)
    if len(found) < 2:
        return ""
    each = "; ".join(f"{', '.join(names)} ({_describe_identity(identities[names[0]])})" for names in found)
    limits = " and ".join(f"--limit {','.join(names)}" for names in found)
    return (
        f"The hosts of this run belong to {len(found)} clusters: {each}. One run changes one cluster, with its Lease and its credentials:"
        f" run each by itself, with {limits}."
    )


def outsiders(nodes: t.Mapping[str, ClusterIdentity | None], member: str, identity: ClusterIdentity) -> dict[str, str]:
    """The nodes that do not belong to the cluster of one of them, each with why. member, identity: that one; it need not be among the nodes, which
    are given as for C(cluster_conflict)."""
    identities = {member: identity, **{name: each for name, each in nodes.items() if each}}
    (own,) = [names for names in group_by_cluster(identities) if member in names]
    return {
        name: f"it is of another cluster ({_describe_identity(each)}) than {member} ({_describe_identity(identity)})"
        for name, each in identities.items()
        if name not in own
    }


def _describe_identity(identity: ClusterIdentity) -> str:
    if identity == ClusterIdentity(machine_id=identity.machine_id):
        return "not known: the kubeconfig of its kubelet cannot be read"
    return f"{identity.server or 'no server'}, authority {identity.ca_sha256[:12] or 'not named'}"


def certificate_fingerprints(certificates: str) -> str:
    """The SHA-256 digests of the certificates in a PEM text, over their DER form, sorted and joined with commas."""
    return _SEPARATOR.join(sorted({_digest(body) for body in _CERTIFICATE.findall(certificates)} - {""}))


def _digest(body: str) -> str:
    try:
        return hashlib.sha256(base64.b64decode("".join(body.split()), validate=True)).hexdigest()
    except ValueError:  # the kubelet would not read it either
        return ""


Json = dict[str, t.Any]

_ENDPOINT = "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"
_PORT = "6443"


@dataclasses.dataclass(frozen=True)
class OwnCluster:
    """The cluster of nodes, as they identify it. ca_sha256: the authorities that their kubelets trust. machine_ids: by the names of their Nodes."""

    ca_sha256: frozenset[str]
    machine_ids: t.Mapping[str, str]

    @classmethod
    def parse(cls, option: t.Mapping[str, t.Any] | None) -> OwnCluster | None:
        """The option of a task; None without it, so that any API will do."""
        digests = frozenset(filter(None, ((option or {}).get("ca_sha256") or "").split(",")))
        machines = {name: text for name, text in ((option or {}).get("machine_ids") or {}).items() if text}
        return cls(digests, machines) if option is not None else None

    def trusts(self, authority: str) -> bool:
        """Whether the kubelets trust all authorities in a PEM text."""
        found = frozenset(filter(None, certificate_fingerprints(authority).split(",")))
        return bool(found) and found <= self.ca_sha256

    def check_machines(self, nodes: t.Mapping[str, Json], url: str, source: str) -> None:
        """Compare the Node objects of an API with the machines. Raises Refusal when they are others, or when none is known there.

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


def own_api_server_url(manifest: t.Any) -> str | None:
    """The URL by which a node reaches its own API server; None where its manifest does not have it."""
    try:
        arguments = manifest["spec"]["containers"][0].get("command") or []
        flags = dict(str(argument).partition("=")[::2] for argument in arguments)
        endpoint = (manifest["metadata"].get("annotations") or {}).get(_ENDPOINT)
    except (LookupError, TypeError, AttributeError):
        return None
    address = flags.get("--advertise-address")
    if address and not address.startswith("$("):  # of a variable only the kubelet may know the value
        return f"https://{_bracket_host(address)}:{flags.get('--secure-port') or _PORT}"
    return f"https://{endpoint}" if endpoint else None


def _bracket_host(address: str) -> str:
    return f"[{address}]" if ":" in address else address

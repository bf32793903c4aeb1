# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a kubelet is for: the API server reaches its port, it knows the tokens of pods, and it gives them name servers that know the API."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import typing as t
from http import HTTPStatus

from . import tls
from .engine_errors import CredentialError
from .files import open_to_read
from .http_requests import REQUEST_ERRORS, Server, describe_failure, header_lines
from .journal import Address, NodeObject, PlannedObservation, Side
from .observed_node import ObservedNode, Problems, request_problem
from .probes import PROBE_TIMEOUT, url_of

# Where a kubelet authenticates, and where it does not matter whether it allows that.
_METRICS = "/metrics/resource"
_SERVER = "the kubelet's server at "
_OWN_CERTIFICATES = ("kubelet-server-current.pem", "kubelet.crt")
_DNS_PORT, _DNS_SECONDS, _DNS_HEADER = 53, 2.0, 12


def observe_port(
    node: ObservedNode, planned: PlannedObservation, side: Side, worked: t.Sequence[str] | None
) -> Problems:
    """Each address of the Node shows a certificate at the kubelet's port; whatever it answers then counts. The API server reaches it there."""
    addresses = (
        _node_addresses(node, planned["node"]) if worked is None else [name.removeprefix(_SERVER) for name in worked]
    )
    return {f"{_SERVER}{address}": request_problem(address, planned[side]["port"]) for address in addresses}


def observe_metrics(
    node: ObservedNode, planned: PlannedObservation, side: Side, worked: t.Sequence[str] | None
) -> Problems:
    """It knows the token of a pod, as metrics-server and Prometheus use one, whether or not it allows the request. It looks each one up at the API."""
    addresses, port = _node_addresses(node, planned["node"]), planned[side]["port"]
    own = _read_certificates(node.host.kubelet_root, planned[side]["certificate"])
    if not addresses or not own:
        return {}
    problem = node.tokens.find_problem(lambda token: _bearer_problem(addresses[0], port, token, own))
    return {} if problem is None else {"the token of a pod at the kubelet's server": problem}


def observe_dns(
    node: ObservedNode, planned: PlannedObservation, side: Side, worked: t.Sequence[str] | None
) -> Problems:
    """Each address of clusterDNS knows the name of the Service kubernetes."""
    problems = [_dns_problem(server, planned[side]["name"]) for server in planned[side]["servers"]]
    return {"clusterDNS": "; ".join(filter(None, problems))} if problems or worked else {}


def _node_addresses(node: ObservedNode, of: NodeObject) -> list[str]:
    found, _why = node.http_get(of["kubeconfig"], f"/api/v1/nodes/{of['name']}")
    addresses = (found or {}).get("status", {}).get("addresses") or []
    return [address["address"] for address in addresses if address["type"] == "InternalIP"]


def _read_certificates(kubelet_root: str, configured: str) -> bytes:
    """Those that a kubelet may serve. configured: the file that its configuration names; empty for its own directory."""
    paths = [configured] if configured else [os.path.join(kubelet_root, "pki", name) for name in _OWN_CERTIFICATES]
    contents = []
    for path in paths:
        with contextlib.suppress(OSError), open_to_read(os.path.realpath(path)) as stream:
            contents.append(stream.read())
    return b"\n".join(contents)


def _bearer_problem(host: str, port: int, token: str, own: bytes) -> str:
    """Why the kubelet does not know the bearer of a token. own: its certificates: a token is for no other program that holds its port."""
    address: Address = {"scheme": "https", "host": host, "port": port}
    try:
        server = Server(url_of(address), context=tls.client_context(own, check_name=False))
        headers = header_lines({"Authorization": f"Bearer {token}"})
        status = server.request("GET", _METRICS, headers=headers, timeout=PROBE_TIMEOUT).status
    except (CredentialError, *REQUEST_ERRORS) as exc:
        return describe_failure(exc)
    return "it is rejected" if status == HTTPStatus.UNAUTHORIZED else ""


def _dns_problem(server: str, name: str) -> str:
    """One question for the addresses of a name, over UDP."""
    question = b"".join(bytes([len(label)]) + label.encode("ascii") for label in name.rstrip(".").split("."))
    identifier = os.urandom(2)
    query = identifier + struct.pack(">HHHHH", 0x0100, 1, 0, 0, 0) + question + struct.pack(">BHH", 0, 1, 1)
    try:
        with socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(_DNS_SECONDS)
            client.connect((server, _DNS_PORT))
            client.send(query)
            answer = client.recv(4096)
    except OSError as exc:
        return f"{server}: {exc}"
    if answer[:2] != identifier or len(answer) < _DNS_HEADER:
        return f"{server}: it answers something else"
    # A name server on the way answers for every address, with NXDOMAIN. A cluster of IPv6 alone has the name, without an address of this type.
    code = answer[3] & 0x0F
    return f"{server}: it does not know {name} (code {code})" if code else ""

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests to a component and to the API server, with the credentials that are on the node."""

from __future__ import annotations

import dataclasses
import json
import re
import socket
import ssl
import typing as t
from urllib.parse import quote

from . import tls
from .engine_errors import CredentialError
from .files import Json, json_object
from .http_requests import REQUEST_ERRORS, Server, describe_failure, header_lines
from .journal import Address, Client, Probe
from .kubeconfig import User, naming_kubeconfig, read_credentials

PROBE_TIMEOUT = 5.0
REFUSED = (401, 403)
_JSON_CONTENT = {"Content-Type": "application/json"}
_TARGET_CHARACTERS = "%/?:@!$&'()*+,;=[]"  # that are sent as they stand, besides letters and digits

HttpGet = t.Callable[[str, str], tuple[t.Optional[Json], str]]


def run_probe(probe: Probe) -> tuple[bool, str]:
    """Run a probe of the manifest as the kubelet does: with its headers, certificates not verified, 200-399 is success."""
    name = (
        f"{probe['scheme']}://{probe['host']}:{probe['port']}{probe['path']}"
        if probe["kind"] == "http"
        else f"{probe['host']}:{probe['port']}"
    )
    try:
        if probe["kind"] == "tcp":
            socket.create_connection((probe["host"], probe["port"]), timeout=PROBE_TIMEOUT).close()
            return True, name
        address: Address = {"scheme": probe["scheme"], "host": probe["host"], "port": probe["port"]}
        context = _probe_context(probe) if probe["scheme"] == "https" else None
        server = Server(url_of(address), context=context)
        headers = header_lines(probe.get("headers", {}))
        status = server.request("GET", _target_of(probe["path"]), headers=headers, timeout=PROBE_TIMEOUT).status
        return 200 <= status < 400, f"{name} answers {status}"
    except (CredentialError, *REQUEST_ERRORS) as exc:
        return False, f"{name}: {exc}"


def _target_of(path: str) -> str:
    """What is requested for the path of a probe, which may begin without a slash, and have characters that no request has."""
    return quote(f"{'' if path.startswith('/') else '/'}{path.partition('#')[0]}", safe=_TARGET_CHARACTERS)


def _probe_context(probe: Probe) -> ssl.SSLContext:
    """As the kubelet does, nothing is verified. A member of etcd responds only to clients with a certificate."""
    pair = tls.read_pair(probe["certificate"], probe["key"]) if "certificate" in probe else None
    return tls.client_context(pair=pair, verify=False)


def url_of(address: Address) -> str:
    """An address as a URL."""
    host = f"[{address['host']}]" if ":" in address["host"] else address["host"]
    return f"{address['scheme']}://{host}:{address['port']}"


class ApiResponse(t.NamedTuple):
    """The response of an API server to a client.

    status: None when there is no response. problem: what is wrong, as far as anything is. refused: the client is not let in, does not
    trust the server, or has no credential that could be used.
    """

    status: int | None
    body: bytes
    problem: str
    refused: bool

    @property
    def is_final(self) -> bool:
        """Whether another request cannot help: the credential could not be used, or the server is not that of the kubeconfig."""
        return self.refused and self.status is None

    def is_ok(self) -> bool:
        """Whether the server is healthy and knows the client. That something does not exist (404) is fine."""
        return self.status is not None and (200 <= self.status < 300 or self.status == 404)


def api_request(
    kubeconfig: str,
    path: str,
    at: Address | None = None,
    *,
    method: str = "GET",
    body: Json | None = None,
    timeout: float = PROBE_TIMEOUT,
) -> ApiResponse:
    """One request to an API server with the credentials of a kubeconfig, as its own clients make it.

    at: the very server to query, on this node, which has to prove that it is the one that the kubeconfig names.
    """
    data = None if body is None else json.dumps(body).encode("ascii")
    try:
        credentials = read_credentials(kubeconfig)
        server = credentials.at(url_of(at), credentials.certificate_name) if at else credentials.at()
        with naming_kubeconfig(kubeconfig):
            headers = header_lines({**credentials.user.headers(), **({} if data is None else _JSON_CONTENT)})
    except CredentialError as exc:
        return ApiResponse(None, b"", str(exc), refused=True)
    try:
        response = server.request(method, path, headers=headers, body=data, timeout=timeout)
    except REQUEST_ERRORS as exc:
        is_other_server = isinstance(exc, ssl.SSLCertVerificationError)
        return ApiResponse(
            None, b"", f"the API server cannot be queried: {describe_failure(exc)}", refused=is_other_server
        )
    status = response.status
    return ApiResponse(status, response.data, f"the API server answers {status}", refused=status in REFUSED)


def api_get(kubeconfig: str, path: str) -> tuple[Json | None, str]:
    """Read an object of the API with a node's own credential. None, and why, when that gives none."""
    response = api_request(kubeconfig, path)
    if response.status != 200:
        return None, response.problem
    try:
        return json_object(response.body), ""
    except ValueError as exc:
        return None, f"the API server cannot be queried: {exc}"


def token_problem(kubeconfig: str, address: Address, token: str) -> str:
    """Why an API server does not accept a token; empty when it does. kubeconfig: whose authority the server has to be of, because a token is sent to
    no other."""
    try:
        credentials = dataclasses.replace(read_credentials(kubeconfig), user=User())
        server = credentials.at(url_of(address), credentials.certificate_name)
        headers = header_lines({"Authorization": f"Bearer {token}"})
        status = server.request("GET", "/api", headers=headers, timeout=PROBE_TIMEOUT).status
    except (CredentialError, *REQUEST_ERRORS) as exc:
        return describe_failure(exc)
    return "" if status in (200, 403) else f"the API server answers {status}"


# etcd has gates of its own since 3.6.
_GATE_METRIC = re.compile(r'^(?:kubernetes|etcd_server)_feature_enabled\{name="([^"]+)"[^}]*\} ([0-9.]+)', re.MULTILINE)


def unread_gates(desired: t.Iterable[str], why: str) -> str:
    """What is not verified where read_gates() returned None. why: its reason."""
    return f"whether feature gates {', '.join(sorted(desired))} are as desired: {why}"


def wrong_gates(desired: t.Mapping[str, bool], gates: t.Mapping[str, bool]) -> str:
    """Which gates a running component reports with other values than desired; empty when all are right. gates: of read_gates()."""
    wrong = [gate for gate, value in desired.items() if gates.get(gate) != value]
    return f"the running process reports other values than desired: {', '.join(wrong)}" if wrong else ""


def read_gates(metrics: Client | None) -> tuple[dict[str, bool] | None, str]:
    """The feature gates that a running component reports in its metrics: gate -> on. None, and why, when unreadable."""
    if metrics is None:
        return None, "the manifest has no HTTP probe, so the address of /metrics is not known"
    try:
        server = Server(url_of(metrics), context=_metrics_context(metrics["kubeconfig"]))
        response = server.request("GET", "/metrics", timeout=4 * PROBE_TIMEOUT)
    except CredentialError as exc:
        return None, f"{exc}, and /metrics answers only an administrator"
    except REQUEST_ERRORS as exc:
        return None, f"/metrics cannot be read: {describe_failure(exc)}"
    if response.status != 200:
        return None, f"/metrics answers {response.status} to the client of {metrics['kubeconfig']}"
    gates = _GATE_METRIC.findall(response.data.decode("utf-8", "replace"))
    return {gate: float(value) > 0 for gate, value in gates}, ""


def _metrics_context(kubeconfig: str) -> ssl.SSLContext:
    """With a kubeconfig's client certificate. The server's own is one that it made for itself, so it gets no token."""
    user = read_credentials(kubeconfig).user
    if not user.certificate:
        raise CredentialError(
            f"{kubeconfig} holds no client certificate (a token is not sent to a server that is not verified)"
        )
    with naming_kubeconfig(kubeconfig):
        return tls.client_context(pair=tls.Pair(user.certificate, user.key), verify=False)

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Requests to a component and to the API server, with the credentials that are on the node."""

from __future__ import annotations

import base64
import http.client
import os
import re
import socket
import ssl
import typing as t
import urllib.parse

from .files import Json, json_object, read_bytes
from .journal import Address, Client, Probe

PROBE_TIMEOUT = 5.0
REFUSED = (401, 403)

Ask = t.Callable[[str, str], tuple[t.Optional[Json], str]]


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
        status, dummy = http_get(address, probe["path"], context=_probe_context(probe), headers=probe.get("headers"))
        return 200 <= status < 400, f"{name} answers {status}"
    except (OSError, ValueError, OverflowError, http.client.HTTPException) as exc:
        return False, f"{name}: {exc}"


def http_get(
    address: Address,
    path: str,
    *,
    context: ssl.SSLContext,
    timeout: float = PROBE_TIMEOUT,
    headers: t.Mapping[str, str] | None = None,
    server_name: str | None = None,
    proxy: Proxy | None = None,
) -> tuple[int, bytes]:
    """One GET request. address: scheme, host, port. server_name: whose certificate it has to show, when not its host's."""
    connection: http.client.HTTPConnection
    host, port = (proxy.host, proxy.port) if proxy else (address["host"], address["port"])
    if address["scheme"] == "https":
        connection = _Connection(host, port, server_name or address["host"], context, timeout)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=timeout)
    if proxy:
        connection.set_tunnel(address["host"], address["port"], proxy.headers)
    try:
        connection.request("GET", path, headers=headers or {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


class Proxy(t.NamedTuple):
    """What stands before an API server. headers: for itself."""

    host: str
    port: int
    headers: t.Mapping[str, str]


def _proxy(kubeconfig: str) -> Proxy | None:
    """The proxy that a kubeconfig names. Raises ValueError for one of another kind; its user is not shown."""
    url = _field(kubeconfig, "proxy-url")
    if url is None:
        return None
    place = urllib.parse.urlsplit(url)
    if place.scheme != "http" or not place.hostname:
        raise ValueError(f"its proxy-url is {url.rpartition('@')[2]}; it must be http://HOST:PORT")
    headers = {}
    if place.username is not None:
        who = f"{urllib.parse.unquote(place.username)}:{urllib.parse.unquote(place.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {base64.b64encode(who.encode()).decode()}"
    return Proxy(place.hostname, place.port or 80, headers)


class _Connection(http.client.HTTPSConnection):
    """One to a server that is known by another name than the address by which it is reached."""

    def __init__(self, host: str, port: int, server_name: str, context: ssl.SSLContext, timeout: float) -> None:
        super().__init__(host, port, timeout=timeout, context=context)
        self._server_name, self._tls = server_name, context

    def connect(self) -> None:
        """Connect, and shake hands under that name."""
        http.client.HTTPConnection.connect(self)
        self.sock = self._tls.wrap_socket(self.sock, server_hostname=self._server_name)


def _probe_context(probe: Probe) -> ssl.SSLContext:
    """As the kubelet does, nothing is verified. A member of etcd answers only who has a certificate."""
    context = _unverified()
    if "certificate" in probe:
        context.load_cert_chain(probe["certificate"], probe["key"])
    return context


def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def client_context(kubeconfig: str) -> ssl.SSLContext | None:
    """A TLS context with the client certificate of a kubeconfig that kubeadm wrote; None when it has none.

    A key in the kubeconfig itself never touches a disk: it is handed to OpenSSL through an anonymous file in memory.
    """
    text = (read_bytes(kubeconfig) or b"").decode("utf-8", "replace")
    context = _unverified()
    # A kubelet's certificate is renewed in a file of its own.
    certificate, key = (_field(text, f"client-{part}") for part in ("certificate", "key"))
    if certificate and key:
        context.load_cert_chain(certificate, key)
        return context
    parts = [_field(text, f"client-{part}-data") for part in ("certificate", "key")]
    if not all(parts):
        return None
    descriptor = os.memfd_create("client", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, b"\n".join(base64.b64decode(part) for part in parts if part))
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        return context
    finally:
        os.close(descriptor)


def _field(kubeconfig: str, name: str) -> str | None:
    """A field of a kubeconfig with one cluster and one user, as kubeadm and the kubelet write it."""
    match = re.search(rf"^[\s-]*{name}:\s*[\"']?([^\s\"']+)[\"']?\s*$", kubeconfig, re.MULTILINE)
    return match.group(1) if match else None


class Answer(t.NamedTuple):
    """What an API server says to a client.

    status: None when there is no answer. why: not. refused: the client is not let in, does not trust the server, or has no
    credential that could be used.
    """

    status: int | None
    body: bytes
    why: str
    refused: bool

    @property
    def is_final(self) -> bool:
        """Whether asking again cannot help: the credential could not be used, or the server is not that of the kubeconfig."""
        return self.refused and self.status is None

    def is_ok(self) -> bool:
        """Whether it answered as a server does that is well and knows who asks. That something is not there is an answer."""
        return self.status is not None and (200 <= self.status < 300 or self.status == 404)


def ask(kubeconfig: str, path: str, at: Address | None = None) -> Answer:
    """Ask an API server with the credential of a kubeconfig, as its own clients do.

    at: the very server to ask, which has to prove that it is the one that the kubeconfig names.
    """
    text = (read_bytes(kubeconfig) or b"").decode("utf-8", "replace")
    server = urllib.parse.urlsplit(_field(text, "server") or "")
    is_final = True
    try:
        context = client_context(kubeconfig)
        if context is None or not (server.hostname or at):
            return Answer(None, b"", f"{kubeconfig} names no API server, or holds no client certificate", is_final)
        _trust(context, text, os.path.dirname(kubeconfig))
        address: Address = at or {"scheme": server.scheme, "host": server.hostname or "", "port": server.port or 443}
        name = _field(text, "tls-server-name") or server.hostname
        # This very server is on this node.
        proxy = None if at else _proxy(text)
        is_final = False
        status, body = http_get(address, path, context=context, server_name=name, proxy=proxy)
    except (OSError, ValueError, OverflowError, TypeError, http.client.HTTPException) as exc:
        is_final = is_final or isinstance(exc, ssl.SSLCertVerificationError)
        return Answer(None, b"", f"the API server cannot be queried: {exc}", is_final)
    return Answer(status, body, f"the API server answers {status}", status in REFUSED)


def _trust(context: ssl.SSLContext, kubeconfig: str, directory: str) -> None:
    """This certificate goes to no other than the cluster's API server."""
    if _field(kubeconfig, "insecure-skip-tls-verify") == "true":
        return
    context.verify_mode = ssl.CERT_REQUIRED
    context.check_hostname = True
    data, file = _field(kubeconfig, "certificate-authority-data"), _field(kubeconfig, "certificate-authority")
    if data:
        context.load_verify_locations(cadata=base64.b64decode(data).decode("ascii"))
    elif file:
        context.load_verify_locations(cafile=os.path.join(directory, file))
    else:
        context.load_default_certs()


def api_get(kubeconfig: str, path: str) -> tuple[Json | None, str]:
    """Ask the API server for an object with a node's own credential. None, and why, when it does not give it."""
    answer = ask(kubeconfig, path)
    if answer.status != 200:
        return None, answer.why
    try:
        return json_object(answer.body), ""
    except ValueError as exc:
        return None, f"the API server cannot be queried: {exc}"


# etcd has gates of its own since 3.6.
_GATE_METRIC = re.compile(r'^(?:kubernetes|etcd_server)_feature_enabled\{name="([^"]+)"[^}]*\} ([0-9.]+)', re.MULTILINE)


def read_gates(metrics: Client | None) -> tuple[dict[str, bool] | None, str]:
    """The feature gates that a running component reports in its metrics: gate -> on. None, and why, when unreadable."""
    if metrics is None:
        return None, "the manifest has no HTTP probe, so the address of /metrics is not known"
    try:
        context = client_context(metrics["kubeconfig"])
        if context is None:
            return None, f"{metrics['kubeconfig']} holds no client certificate"
        status, body = http_get(metrics, "/metrics", context=context, timeout=4 * PROBE_TIMEOUT)
    except (OSError, ValueError, OverflowError, http.client.HTTPException) as exc:
        return None, f"/metrics cannot be read: {exc}"
    if status != 200:
        return None, f"/metrics answers {status}"
    return {gate: float(value) > 0 for gate, value in _GATE_METRIC.findall(body.decode("utf-8", "replace"))}, ""

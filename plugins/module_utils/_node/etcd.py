# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Asking etcd: for its health as the API server would, and for the members of its cluster as one of them."""

from __future__ import annotations

import dataclasses
import http.client
import json
import os
import ssl
import typing as t
import urllib.parse

from .._engine.files import Json
from .._engine.journal import Probe
from .._engine.probes import PROBE_TIMEOUT
from .._plan.common.errors import KubeadmError
from .._plan.static_pod import etcd_quorum
from . import certificates
from .component_files import ComponentFiles

# A full etcd still answers, and the API server lives with it; kubeadm's probes see it in the same way.
HEALTH = "/health?exclude=NOSPACE"
_MEMBERS = "/v3/cluster/member/list"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclasses.dataclass(frozen=True)
class Health:
    """What an address of etcd says. ok: None when it answers, but cannot be asked in this way."""

    ok: bool | None
    words: str


# ---- requests --------------------------------------------------------------------------------------------------------


def ask_health(url: str, context: ssl.SSLContext | None) -> Health:
    """Ask one address."""
    try:
        return _ask_health(url, context)
    except (http.client.HTTPException, ssl.SSLError, ConnectionError) as exc:
        if context is None or isinstance(exc, (ssl.SSLCertVerificationError, ConnectionRefusedError)):
            return _failed(url, exc)
    # TLS 1.3 turns a caller's certificate down behind the handshake, where it looks like any connection that breaks.
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    try:
        return _ask_health(url, context)
    except (http.client.HTTPException, ssl.SSLError, ConnectionError) as exc:
        return _failed(url, exc)
    finally:
        context.maximum_version = ssl.TLSVersion.MAXIMUM_SUPPORTED


def _ask_health(url: str, context: ssl.SSLContext | None) -> Health:
    try:
        status, body = request("GET", url, HEALTH, context)
    except (ssl.SSLError, ConnectionError):
        raise
    except (OSError, ValueError) as exc:
        return _failed(url, exc)
    try:
        answer = json.loads(body)
        ok, reason = str(answer["health"]).lower() == "true", answer.get("reason") or answer.get("error") or ""
    except (ValueError, TypeError, LookupError):
        return Health(None, f"{url}{HEALTH} answers {status}")
    return Health(ok, f"{url} is {'healthy' if ok else 'not healthy'}{f' ({reason})' if reason else ''}")


def _failed(url: str, exc: Exception) -> Health:
    """An address that serves programs of another protocol only, or asks for a newer TLS alone, may well be healthy."""
    is_other = isinstance(exc, http.client.HTTPException) or "PROTOCOL_VERSION" in str(getattr(exc, "reason", ""))
    return Health(None if is_other else False, f"{url}: {reason_of(exc)}")


def request(method: str, url: str, path: str, context: ssl.SSLContext | None, body: str = "{}") -> tuple[int, bytes]:
    """Make a request to an address: (status, body). body: of a POST."""
    address = urllib.parse.urlsplit(url)
    connection: http.client.HTTPConnection
    if address.scheme == "https":
        connection = http.client.HTTPSConnection(
            address.hostname or "", address.port or 443, timeout=PROBE_TIMEOUT, context=context
        )
    else:
        connection = http.client.HTTPConnection(address.hostname or "", address.port or 80, timeout=PROBE_TIMEOUT)
    try:
        connection.request(method, path, body=body if method == "POST" else None)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def reason_of(exc: Exception) -> str:
    """Why an address did not answer."""
    if isinstance(exc, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({exc.verify_message})"
    if isinstance(exc, ssl.SSLError):
        return f"it turns the certificate down that it is shown, or speaks no TLS ({exc.reason or exc})"
    if isinstance(exc, http.client.HTTPException):
        return f"it cannot be asked for its health ({type(exc).__name__})"
    return str(exc)


# ---- as the API server -----------------------------------------------------------------------------------------------


def health_for_api_server(files: ComponentFiles) -> list[Health]:
    """What the etcd that an API server's arguments name says to the certificate that they name.

    Empty when there is nothing that could be asked. Raises KubeadmError when the files cannot be read.
    """
    urls = [url for url in files.flags("etcd-servers") if url.startswith(("http://", "https://"))]
    context = caller_context(files) if any(url.startswith("https://") for url in urls) else None
    return [ask_health(url, context) for url in urls]


def caller_context(files: ComponentFiles) -> ssl.SSLContext:
    """With the certificate that an API server's arguments name."""
    authority, certificate, key = (files.flag(f"etcd-{part}") for part in ("cafile", "certfile", "keyfile"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if authority:
        certificates.trust(context, files.read(authority))
    else:
        context.load_default_certs()
    if certificate and key:
        try:
            certificates.load_pair(context, files.read(certificate), files.read(key))
        except ssl.SSLError as exc:
            raise KubeadmError(f"{certificate} and {key} are no pair ({exc.reason or exc})") from exc
    return context


# ---- as a member -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Access:
    """How a member is reached from its own node: its address, and files of the node."""

    url: str
    certificate: str | None = None
    key: str | None = None
    authority: str | None = None

    @classmethod
    def of(cls, files: ComponentFiles) -> Access:
        """As the member's arguments say. Raises KubeadmError when they do not."""
        urls = files.flags("listen-client-urls")
        if not urls:
            raise KubeadmError("its arguments have no --listen-client-urls")
        url = next((url for url in urls if urllib.parse.urlsplit(url).hostname in _LOOPBACK), urls[0])
        if not url.startswith("https://"):
            return cls(url)
        names = (files.flag("cert-file"), files.flag("key-file"), files.flag("trusted-ca-file"))
        certificate, key, authority = (files.place(name) if name else None for name in names)
        if certificate:
            # kubeadm makes a certificate for just this. A server's own need not be one that may call.
            folder = os.path.dirname(certificate)
            checks = [os.path.join(folder, f"healthcheck-client.{ending}") for ending in ("crt", "key")]
            if all(os.path.exists(path) for path in checks):
                certificate, key = checks
        return cls(url, certificate, key, authority)

    def context(self) -> ssl.SSLContext:
        """For its own member and the others. Raises OSError when a file cannot be read."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False  # each member is asked at an address that the cluster itself tells
        if self.authority:
            context.load_verify_locations(self.authority)
        else:
            context.verify_mode = ssl.CERT_NONE
        if self.certificate and self.key:
            context.load_cert_chain(self.certificate, self.key, password="")
        return context

    def probe(self, url: str) -> Probe:
        """A probe in a journal that asks this member at an address."""
        address = urllib.parse.urlsplit(url)
        pair = {"certificate": self.certificate, "key": self.key} if self.certificate and self.key else {}
        where = {"scheme": address.scheme, "host": address.hostname, "port": address.port or 2379, "path": HEALTH}
        return t.cast(Probe, {"kind": "http", **where, **pair})


def read_members(access: Access) -> list[etcd_quorum.Member]:
    """The members of the cluster, each with its health. Raises KubeadmError when this member does not tell."""
    try:
        context = access.context() if access.url.startswith("https://") else None
        status, body = request("POST", access.url, _MEMBERS, context)
        if status != 200:
            raise KubeadmError(f"{access.url}{_MEMBERS} answers {status}")
        answer = json.loads(body)
        this = answer["header"]["member_id"]
        return [_member(entry, this, access, context) for entry in answer["members"]]
    except (http.client.HTTPException, OSError, ValueError, TypeError, LookupError) as exc:
        raise KubeadmError(f"{access.url}: {reason_of(exc)}") from exc


def _member(entry: Json, this: str, access: Access, context: ssl.SSLContext | None) -> etcd_quorum.Member:
    is_this = entry["ID"] == this
    # A member that was added and not started yet has neither name nor address.
    urls = [access.url] if is_this else entry.get("clientURLs") or []
    return etcd_quorum.Member(
        name=entry.get("name") or entry["ID"],
        votes=not entry.get("isLearner", False),
        healthy=any(ask_health(url, context).ok for url in urls),
        is_this=is_this,
    )

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests to etcd: its health and its values as an API server sees them, and the members of its cluster as one of them does."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import http.client
import json
import os
import ssl
import typing as t
import urllib.parse

from ..._engine import tls
from ..._engine.engine_errors import CredentialError
from ..._engine.etcd_member import MEMBERS, Etcd, EtcdError, context_of, name_of, revision_of
from ..._engine.files import Json, json_object
from ..._engine.http_requests import FAILURES, Server, describe_failure
from ..._engine.journal import EtcdClient, Probe
from ..._engine.probes import PROBE_TIMEOUT
from ..._plan.common.errors import KubeadmError
from ..._plan.static_pod.etcd_change import Cluster, Member
from ..static_pod.component_files import ComponentFiles

# A full etcd still answers, and the API server lives with it; kubeadm's probes see it in the same way.
HEALTH = "/health?exclude=NOSPACE"
_RANGE = "/v3/kv/range"
_PAGE = 100  # values of one answer; each may have more than a megabyte
_DIGITS = 4096  # of base64 that are looked at; the name of a key stands in them
# The keys of these begin with their names. Of other resources that is not certain, so all values count.
_PREFIXES = {"secrets": "secrets/", "configmaps": "configmaps/"}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclasses.dataclass(frozen=True)
class Health:
    """What an address of etcd says. ok: None when it answers, but cannot be asked in this way."""

    ok: bool | None
    words: str


# ---- requests --------------------------------------------------------------------------------------------------------


def read_health(url: str, context: ssl.SSLContext | None) -> Health:
    """The health of one address."""
    try:
        return _get_health(url, context)
    except (http.client.HTTPException, ssl.SSLError, ConnectionError) as exc:
        if context is None or isinstance(exc, (ssl.SSLCertVerificationError, ConnectionRefusedError)):
            return _failed(url, exc)
    # TLS 1.3 turns a caller's certificate down behind the handshake, where it looks like any connection that breaks.
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    try:
        return _get_health(url, context)
    except (http.client.HTTPException, ssl.SSLError, ConnectionError) as exc:
        return _failed(url, exc)
    finally:
        context.maximum_version = ssl.TLSVersion.MAXIMUM_SUPPORTED


def _get_health(url: str, context: ssl.SSLContext | None) -> Health:
    try:
        response = Server(url, context=context).request("GET", HEALTH, timeout=PROBE_TIMEOUT)
    except (ssl.SSLError, ConnectionError):
        raise
    except (CredentialError, OSError, ValueError) as exc:
        return _failed(url, exc)
    try:
        answer = json.loads(response.data)
        ok, reason = str(answer["health"]).lower() == "true", answer.get("reason") or answer.get("error") or ""
    except (ValueError, TypeError, LookupError):
        return Health(None, f"{url}{HEALTH} answers {response.status}")
    return Health(ok, f"{url} is {'healthy' if ok else 'not healthy'}{f' ({reason})' if reason else ''}")


def _failed(url: str, exc: Exception) -> Health:
    """An address that serves programs of another protocol only, or asks for a newer TLS alone, may well be healthy."""
    is_other = isinstance(exc, http.client.HTTPException) or "PROTOCOL_VERSION" in str(getattr(exc, "reason", ""))
    return Health(None if is_other else False, f"{url}: {describe_failure(exc)}")


# ---- as the API server -----------------------------------------------------------------------------------------------


def health_for_api_server(files: ComponentFiles) -> list[Health]:
    """What the etcd that an API server's arguments name says to the certificate that they name.

    Empty when there is nothing that could be asked. Raises KubeadmError when the files cannot be read.
    """
    urls = [url for url in files.flags("etcd-servers") if url.startswith(("http://", "https://"))]
    context = caller_context(files) if any(url.startswith("https://") for url in urls) else None
    return [read_health(url, context) for url in urls]


def caller_context(files: ComponentFiles) -> ssl.SSLContext:
    """With the certificate that an API server's arguments name."""
    authority, certificate, key = (files.flag(f"etcd-{part}") for part in ("cafile", "certfile", "keyfile"))
    pair = tls.Pair(files.read(certificate), files.read(key)) if certificate and key else None
    try:
        return tls.client_context(files.read(authority) if authority else None, pair)
    except CredentialError as exc:
        named = " and ".join(filter(None, (authority, certificate, key)))
        raise KubeadmError(f"{named} cannot be used to call etcd: {exc}") from exc


# ---- stored values ---------------------------------------------------------------------------------------------------


def count_values(files: ComponentFiles, resource: str, matches: t.Callable[[bytes], bool]) -> int:
    """How many stored values match by how they begin: those of a resource, or all where that cannot be told apart.

    files: of the API server as it runs. Raises KubeadmError when its etcd does not tell.
    """
    if files.flag("etcd-servers-overrides"):
        raise KubeadmError("--etcd-servers-overrides keeps some resources elsewhere")
    root = (files.flag("etcd-prefix") or "/registry").strip("/")
    prefix = f"/{root}/{_PREFIXES.get(resource, '')}".encode()
    return sum(matches(value) for value in _beginnings(files, prefix))


def _beginnings(files: ComponentFiles, prefix: bytes) -> t.Iterator[bytes]:
    """How each value begins whose key in etcd has this prefix, all as of one revision."""
    url, context = _healthy_address(files)
    after, revision = prefix, 0
    while True:
        answer = _page(url, context, after, prefix[:-1] + bytes([prefix[-1] + 1]), revision)
        revision = int(answer["header"]["revision"])
        entries = answer.get("kvs") or []
        for entry in entries:
            yield base64.b64decode((entry.get("value") or "")[:_DIGITS])
        if not answer.get("more"):
            return
        after = base64.b64decode(entries[-1]["key"]) + b"\0"


def _healthy_address(files: ComponentFiles) -> tuple[str, ssl.SSLContext | None]:
    urls = [url for url in files.flags("etcd-servers") if url.startswith(("http://", "https://"))]
    problems = []
    for url in urls:
        context = caller_context(files) if url.startswith("https://") else None
        health = read_health(url, context)
        if health.ok:
            return url, context
        problems.append(health.words)
    raise KubeadmError("; ".join(problems) or "--etcd-servers names no address that can be asked")


def _page(url: str, context: ssl.SSLContext | None, first: bytes, end: bytes, revision: int) -> Json:
    question = {
        "key": base64.b64encode(first).decode("ascii"),
        "range_end": base64.b64encode(end).decode("ascii"),
        "limit": _PAGE,
        "revision": revision,
    }
    try:
        server = Server(url, context=context)
        response = server.request("POST", _RANGE, body=json.dumps(question).encode(), timeout=PROBE_TIMEOUT)
        if response.status != 200:
            raise KubeadmError(f"{url}{_RANGE} answers {response.status}")
        return json_object(response.data)
    except (CredentialError, *FAILURES) as exc:
        raise KubeadmError(f"{url}: {describe_failure(exc)}") from exc


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
        """As the member's manifest says. Raises KubeadmError when it does not."""
        urls = files.flags("listen-client-urls")
        if not urls:
            raise KubeadmError("its manifest sets no listen-client-urls")
        url = next((url for url in urls if urllib.parse.urlsplit(url).hostname in _LOOPBACK), urls[0])
        if not url.startswith("https://"):
            return cls(url)
        names = (files.flag("cert-file"), files.flag("key-file"), files.flag("trusted-ca-file"))
        certificate, key, authority = (files.place(name) if name else None for name in names)
        if certificate:
            # kubeadm makes a certificate for just this. A server's own need not be one that may call.
            directory = os.path.dirname(certificate)
            checks = [os.path.join(directory, f"healthcheck-client.{ending}") for ending in ("crt", "key")]
            if all(os.path.exists(path) for path in checks):
                certificate, key = checks
        return cls(url, certificate, key, authority)

    def client(self) -> EtcdClient:
        """The same in a journal."""
        client: EtcdClient = {"url": self.url}
        if self.certificate:
            client["certificate"] = self.certificate
        if self.key:
            client["key"] = self.key
        if self.authority:
            client["authority"] = self.authority
        return client

    def probe(self, url: str) -> Probe:
        """A probe in a journal that asks this member at an address."""
        address = urllib.parse.urlsplit(url)
        probe: Probe = {
            "kind": "http",
            "scheme": address.scheme,
            "host": address.hostname or "",
            "port": address.port or 2379,
            "path": HEALTH,
        }
        if self.certificate and self.key:
            probe["certificate"], probe["key"] = self.certificate, self.key
        return probe


def read_cluster(access: Access) -> Cluster:
    """The members of the cluster as its own member tells them, each with its health and how far it is.

    Raises KubeadmError when this member does not tell.
    """
    try:
        member = Etcd(access.client())
        answer = member.post(MEMBERS)
        this = answer["header"]["member_id"]
        context = context_of(access.client())
        status = {entry["ID"]: member.status(_urls(entry, this, access), entry["ID"]) for entry in answer["members"]}
        members = [
            _member(entry, this, access, context, is_there=status[entry["ID"]] is not None)
            for entry in answer["members"]
        ]
        revisions = {key: None if each is None else revision_of(each) for key, each in status.items()}
        furthest = max((each for each in revisions.values() if each is not None), default=0)
        # They are asked one after the other while others write, so who seems to be behind is asked again.
        behind = tuple(
            name
            for entry, name in zip(answer["members"], (found.name for found in members))
            if entry["ID"] != this and not _has_reached(furthest, revisions, entry, member, access)
        )
        size = (status[this] or {}).get("dbSize")
        return Cluster(tuple(members), _alarms(member, status[this] or {}), behind, int(size) if size else None)
    except (EtcdError, CredentialError, OSError, ValueError, TypeError, LookupError) as exc:
        raise KubeadmError(
            str(exc) if isinstance(exc, EtcdError) else f"{access.url}: {describe_failure(exc)}"
        ) from exc


def _alarms(member: Etcd, status: Json) -> tuple[str, ...]:
    """Without a majority a member does not answer for all; it tells those that it knows of with its own state."""
    with contextlib.suppress(EtcdError):
        return tuple(member.alarms())
    return tuple(str(error).strip() for error in status.get("errors") or [] if "alarm:" in str(error))


def _has_reached(
    furthest: int, revisions: t.Mapping[str, int | None], entry: Json, member: Etcd, access: Access
) -> bool:
    revision = revisions[entry["ID"]]
    if revision is None:
        return True  # that it does not answer is told by its health
    return revision >= furthest or (member.revision(_urls(entry, "", access), entry["ID"]) or 0) >= furthest


def _urls(entry: Json, this: str, access: Access) -> list[str]:
    """A member that was added and not started yet has neither name nor address."""
    return [access.url] if entry["ID"] == this else list(entry.get("clientURLs") or [])


def _member(entry: Json, this: str, access: Access, context: ssl.SSLContext | None, *, is_there: bool) -> Member:
    """is_there: whether the very member answers at its addresses; health does not say whose it is."""
    return Member(
        name=name_of(entry),
        votes=not entry.get("isLearner", False),
        healthy=is_there and any(read_health(url, context).ok for url in _urls(entry, this, access)),
        is_this=entry["ID"] == this,
    )

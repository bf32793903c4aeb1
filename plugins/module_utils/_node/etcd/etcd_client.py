# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests to etcd: health and values as an API server, the cluster as a member."""

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
from ..._engine.etcd_member import MEMBERS, EtcdCluster, EtcdError, leader_of, member_name, revision_of, tls_context_of
from ..._engine.files import Json, json_object
from ..._engine.http_requests import REQUEST_ERRORS, Server, describe_failure
from ..._engine.journal import EtcdClient, Probe
from ..._engine.probes import PROBE_TIMEOUT
from ..._plan.common.errors import KubeadmError
from ..._plan.static_pod.etcd_change import Cluster, Member
from ..static_pod.component_files import ComponentFiles

# A full etcd still serves reads; kubeadm's probes exclude this alarm, too.
HEALTH = "/health?exclude=NOSPACE"
_HEALTH_WITH_ALARMS = "/health"
_RANGE = "/v3/kv/range"
_PAGE_SIZE = 100  # values; each may have more than a megabyte
_VALUE_PREFIX_LENGTH = 4096  # of base64; the name of the encryption key is within it
# Of the keys of these resources. Others have no certain prefix, so all values count.
_PREFIXES = {"secrets": "secrets/", "configmaps": "configmaps/"}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclasses.dataclass(frozen=True)
class Health:
    """The health of an address. ok: None when it responds, but not with its health."""

    ok: bool | None
    message: str


# ---- requests --------------------------------------------------------------------------------------------------------


def read_health(url: str, context: ssl.SSLContext | None, path: str = HEALTH) -> Health:
    """The health of one address."""
    try:
        return _request_health(url, context, path)
    except (http.client.HTTPException, ssl.SSLError, ConnectionError) as exc:
        if context is None or isinstance(exc, (ssl.SSLCertVerificationError, ConnectionRefusedError)):
            return _health_of_error(url, exc)
    # TLS 1.3 rejects a client's certificate after the handshake, like a broken connection.
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    try:
        return _request_health(url, context, path)
    except (http.client.HTTPException, ssl.SSLError, ConnectionError) as exc:
        return _health_of_error(url, exc)
    finally:
        context.maximum_version = ssl.TLSVersion.MAXIMUM_SUPPORTED


def _request_health(url: str, context: ssl.SSLContext | None, path: str) -> Health:
    try:
        response = Server(url, context=context).request("GET", path, timeout=PROBE_TIMEOUT)
    except (ssl.SSLError, ConnectionError):
        raise
    except (CredentialError, OSError, ValueError) as exc:
        return _health_of_error(url, exc)
    try:
        health = json.loads(response.data)
        ok, reason = str(health["health"]).lower() == "true", health.get("reason") or health.get("error") or ""
    except (ValueError, TypeError, LookupError):
        return Health(None, f"{url}{path} answers {response.status}")
    return Health(ok, f"{url} is {'healthy' if ok else 'not healthy'}{f' ({reason})' if reason else ''}")


def _health_of_error(url: str, exc: Exception) -> Health:
    """An address with another protocol, or only a newer TLS, may be healthy."""
    is_other = isinstance(exc, http.client.HTTPException) or "PROTOCOL_VERSION" in str(getattr(exc, "reason", ""))
    return Health(None if is_other else False, f"{url}: {describe_failure(exc)}")


# ---- as the API server -----------------------------------------------------------------------------------------------


def read_health_for_api_server(files: ComponentFiles, *, with_alarms: bool = False) -> list[Health]:
    """The health of each etcd address in an API server's arguments, with their certificate. with_alarms: whether a full etcd counts as unhealthy.

    Empty when no address has http or https. Raises KubeadmError when the files cannot be read.
    """
    urls = [url for url in files.flags("etcd-servers") if url.startswith(("http://", "https://"))]
    context = api_server_tls_context(files) if any(url.startswith("https://") for url in urls) else None
    return [read_health(url, context, _HEALTH_WITH_ALARMS if with_alarms else HEALTH) for url in urls]


def api_server_tls_context(files: ComponentFiles) -> ssl.SSLContext:
    """The TLS context with the certificate in an API server's arguments."""
    authority, certificate, key = (files.flag(f"etcd-{part}") for part in ("cafile", "certfile", "keyfile"))
    pair = tls.Pair(files.read(certificate), files.read(key)) if certificate and key else None
    try:
        return tls.client_context(files.read(authority) if authority else None, pair)
    except CredentialError as exc:
        named = " and ".join(filter(None, (authority, certificate, key)))
        raise KubeadmError(f"{named} cannot be used to call etcd: {exc}") from exc


# ---- stored values ---------------------------------------------------------------------------------------------------


def count_values(files: ComponentFiles, resource: str, matches: t.Callable[[bytes], bool]) -> int:
    """How many stored values of a resource begin with a match; of all where its keys have no known prefix.

    files: of the API server as it runs. Raises KubeadmError when its etcd cannot be read.
    """
    if files.flag("etcd-servers-overrides"):
        raise KubeadmError("--etcd-servers-overrides keeps some resources elsewhere")
    prefix = (_root_of(files) + _PREFIXES.get(resource, "")).encode()
    return sum(matches(value) for value in _read_value_prefixes(files, prefix))


def holds_cluster(files: ComponentFiles) -> bool:
    """Whether an API server with these files finds a cluster in etcd: each has the namespace kube-system. Raises KubeadmError when its etcd cannot be read."""
    url, context = _find_healthy_address(files)
    key = f"{_root_of(files)}namespaces/kube-system".encode()
    return bool(_request_page(url, context, key, key + b"\0", 0).get("kvs"))


def _root_of(files: ComponentFiles) -> str:
    """How the keys of an API server begin."""
    return f"/{(files.flag('etcd-prefix') or '/registry').strip('/')}/"


def _read_value_prefixes(files: ComponentFiles, prefix: bytes) -> t.Iterator[bytes]:
    """The beginning of each value whose key in etcd has this prefix, all of one revision."""
    url, context = _find_healthy_address(files)
    first, revision = prefix, 0
    while True:
        page = _request_page(url, context, first, prefix[:-1] + bytes([prefix[-1] + 1]), revision)
        revision = int(page["header"]["revision"])
        entries = page.get("kvs") or []
        for entry in entries:
            yield base64.b64decode((entry.get("value") or "")[:_VALUE_PREFIX_LENGTH])
        if not page.get("more"):
            return
        first = base64.b64decode(entries[-1]["key"]) + b"\0"


def _find_healthy_address(files: ComponentFiles) -> tuple[str, ssl.SSLContext | None]:
    urls = [url for url in files.flags("etcd-servers") if url.startswith(("http://", "https://"))]
    problems = []
    for url in urls:
        context = api_server_tls_context(files) if url.startswith("https://") else None
        health = read_health(url, context)
        if health.ok:
            return url, context
        problems.append(health.message)
    raise KubeadmError("; ".join(problems) or "--etcd-servers names no address that can be asked")


def _request_page(url: str, context: ssl.SSLContext | None, first: bytes, end: bytes, revision: int) -> Json:
    body = {
        "key": base64.b64encode(first).decode("ascii"),
        "range_end": base64.b64encode(end).decode("ascii"),
        "limit": _PAGE_SIZE,
        "revision": revision,
    }
    try:
        server = Server(url, context=context)
        response = server.request("POST", _RANGE, body=json.dumps(body).encode(), timeout=PROBE_TIMEOUT)
        if response.status != 200:
            raise KubeadmError(f"{url}{_RANGE} answers {response.status}")
        return json_object(response.data)
    except (CredentialError, *REQUEST_ERRORS) as exc:
        raise KubeadmError(f"{url}: {describe_failure(exc)}") from exc


# ---- as a member -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Access:
    """The client URL of a member, and the files of a client certificate on its node."""

    url: str
    certificate: str | None = None
    key: str | None = None
    authority: str | None = None

    @classmethod
    def from_files(cls, files: ComponentFiles) -> Access:
        """From the flags of the member's manifest. Raises KubeadmError when it sets no URL."""
        urls = files.flags("listen-client-urls")
        if not urls:
            raise KubeadmError("its manifest sets no listen-client-urls")
        url = next((url for url in urls if urllib.parse.urlsplit(url).hostname in _LOOPBACK), urls[0])
        if not url.startswith("https://"):
            return cls(url)
        names = (files.flag("cert-file"), files.flag("key-file"), files.flag("trusted-ca-file"))
        certificate, key, authority = (files.host_path(name) if name else None for name in names)
        if certificate:
            # kubeadm's client certificate; that of a server need not be valid for a client.
            directory = os.path.dirname(certificate)
            client_pair = [os.path.join(directory, f"healthcheck-client.{ending}") for ending in ("crt", "key")]
            if all(os.path.exists(path) for path in client_pair):
                certificate, key = client_pair
        return cls(url, certificate, key, authority)

    def to_journal(self) -> EtcdClient:
        """This access in the form of a journal."""
        client: EtcdClient = {"url": self.url}
        if self.certificate:
            client["certificate"] = self.certificate
        if self.key:
            client["key"] = self.key
        if self.authority:
            client["authority"] = self.authority
        return client

    def health_probe(self, url: str) -> Probe:
        """A probe of this member's health at an address, for a journal."""
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
    """The cluster as one member lists it, with each member's health and whether its revision is behind.

    Raises KubeadmError when this member does not list them.
    """
    try:
        cluster = EtcdCluster(access.to_journal())
        response = cluster.post(MEMBERS)
        this, entries = response["header"]["member_id"], response["members"]
        context = tls_context_of(access.to_journal())
        status = {entry["ID"]: cluster.status(_urls_of(entry, this, access), entry["ID"]) for entry in entries}
        members = [
            _to_member(entry, this, access, context, is_reachable=status[entry["ID"]] is not None) for entry in entries
        ]
        revisions = {key: None if each is None else revision_of(each) for key, each in status.items()}
        newest = max((each for each in revisions.values() if each is not None), default=0)
        # Others write between the requests, so one that seems behind is requested again.
        behind = tuple(
            name
            for entry, name in zip(entries, (each.name for each in members))
            if entry["ID"] != this and not _is_caught_up(newest, revisions, entry, cluster, access)
        )
        own_status = status[this] or {}
        size = own_status.get("dbSize")
        return Cluster(
            tuple(members),
            _read_alarms(cluster, own_status),
            behind,
            int(size) if size else None,
            leads=leader_of(own_status) == this,
        )
    except (EtcdError, CredentialError, OSError, ValueError, TypeError, LookupError) as exc:
        raise KubeadmError(
            str(exc) if isinstance(exc, EtcdError) else f"{access.url}: {describe_failure(exc)}"
        ) from exc


def _read_alarms(cluster: EtcdCluster, status: Json) -> tuple[str, ...]:
    """Of all members; without a majority, those in the member's own status."""
    with contextlib.suppress(EtcdError):
        return tuple(cluster.alarms())
    return tuple(str(error).strip() for error in status.get("errors") or [] if "alarm:" in str(error))


def _is_caught_up(
    newest: int, revisions: t.Mapping[str, int | None], entry: Json, cluster: EtcdCluster, access: Access
) -> bool:
    revision = revisions[entry["ID"]]
    if revision is None:
        return True  # its health reports that it does not respond
    return revision >= newest or (cluster.revision(_urls_of(entry, "", access), entry["ID"]) or 0) >= newest


def _urls_of(entry: Json, this: str, access: Access) -> list[str]:
    """A member that was added and not started yet has neither name nor address."""
    return [access.url] if entry["ID"] == this else list(entry.get("clientURLs") or [])


def _to_member(entry: Json, this: str, access: Access, context: ssl.SSLContext | None, *, is_reachable: bool) -> Member:
    """is_reachable: whether this very member responds at its addresses; health does not identify the member."""
    return Member(
        name=member_name(entry),
        votes=not entry.get("isLearner", False),
        healthy=is_reachable and any(read_health(url, context).ok for url in _urls_of(entry, this, access)),
        is_this=entry["ID"] == this,
    )

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Where an API server is and who asks it, as values, and the connections that are made from them."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import ipaddress
import os
import ssl
import tempfile
import typing as t
from urllib.parse import urlsplit
from urllib.request import getproxies_environment

from .._plan.common.errors import KubeadmError
from .http_pool import Pool, Proxy

HeaderValues = t.Mapping[str, t.Union[str, t.Sequence[str]]]

# The name came with Python 3.10. An authority that another one signed counts as one, as it does for Kubernetes' own clients.
_PARTIAL_CHAIN = getattr(ssl, "VERIFY_X509_PARTIAL_CHAIN", 0x80000)


def _nothing() -> HeaderValues:
    return {}


@dataclasses.dataclass(frozen=True)
class User:
    """Who asks. certificate, key: PEM. headers: determined again for each request, because tokens run out."""

    certificate: str = ""
    key: str = ""
    headers: t.Callable[[], HeaderValues] = _nothing


@dataclasses.dataclass(frozen=True)
class Credentials:
    """What a connection is made of. source: where that was found, for messages. authority: PEM; empty for those of the system.

    proxy: None for what the environment says, and empty for none.
    """

    source: str
    server: str
    user: User = User()
    authority: str = ""
    verify: bool = True
    server_name: str = ""
    proxy: str | None = None
    no_proxy: str = ""
    proxy_headers: t.Mapping[str, str] = dataclasses.field(default_factory=dict)

    def pool(self, server: str | None = None) -> Pool:
        """Connections to the server, or directly to another one of the same cluster that shows the same authority's certificate."""
        place = server or self.server
        context = _context(self) if urlsplit(place).scheme == "https" else None
        if server:
            return Pool(server, context=context)
        return Pool(place, context=context, server_name=self.server_name, proxy=self._proxy())

    def _proxy(self) -> Proxy | None:
        place = urlsplit(self.server)
        known = getproxies_environment() if self.proxy is None else {}
        url = known.get(place.scheme, "") if self.proxy is None else self.proxy
        if not url or _is_direct(place.hostname or "", self.no_proxy or known.get("no", "")):
            return None
        return Proxy(url if "://" in url else f"http://{url}", self.proxy_headers)


def _is_direct(host: str, no_proxy: str) -> bool:
    """Whether a host is reached without the proxy. no_proxy: names, which stand for all below them, addresses and networks."""
    for entry in filter(None, (part.strip() for part in no_proxy.split(","))):
        with contextlib.suppress(ValueError):
            if ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False):
                return True
        if entry == "*" or f".{host}".endswith(f".{entry.lstrip('.')}"):
            return True
    return False


def basic(user: str, password: str) -> str:
    """The value of a header that says who asks by a password."""
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def read_text(path: str) -> str:
    """A file of certificates, a key or a token."""
    with open(os.path.expanduser(path), encoding="utf-8") as stream:
        return stream.read()


def _context(credentials: Credentials) -> ssl.SSLContext:
    """How the server is checked and what it is shown.

    Not C(create_default_context): from Python 3.13 on that turns certificates down which lack what RFC 5280 asks for, such as the
    identifier of the authority's key, and which Kubernetes takes.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags |= _PARTIAL_CHAIN
    if not credentials.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    try:
        if credentials.authority:
            context.load_verify_locations(cadata=credentials.authority)
        else:
            context.load_default_certs()
    except (ssl.SSLError, ValueError) as exc:
        raise KubeadmError(f"{credentials.source}: the certificate of the authority is not PEM ({exc}).") from exc
    if credentials.user.certificate:
        try:
            _show(context, credentials.user)
        except (ssl.SSLError, ValueError) as exc:
            raise KubeadmError(
                f"{credentials.source}: the client certificate and its key cannot be used ({exc}). They must be PEM, belong together,"
                " and the key must have no password."
            ) from exc
    return context


def _show(context: ssl.SSLContext, user: User) -> None:
    """Give a context a pair, which OpenSSL takes from files only. Where the system can, that file is in memory."""
    with _file(f"{user.certificate}\n{user.key}".encode()) as path:
        # Without a password OpenSSL would ask a terminal for that of a key which has one.
        context.load_cert_chain(path, password="")


@contextlib.contextmanager
def _file(content: bytes) -> t.Iterator[str]:
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("pem", os.MFD_CLOEXEC), "wb") as stream:
            stream.write(content)
            stream.flush()
            yield f"/proc/self/fd/{stream.fileno()}"
        return
    with tempfile.NamedTemporaryFile() as found:
        found.write(content)
        found.flush()
        yield found.name

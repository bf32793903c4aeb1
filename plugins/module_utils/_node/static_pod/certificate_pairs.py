# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A certificate with its key: whether a program can start with the pair, and its peers will trust it.

Nodes have no library for certificates, but every Python has OpenSSL: a pair is loaded, and a handshake made in memory.
"""

from __future__ import annotations

import ssl
import typing as t

from ..._engine import tls
from ..._engine.engine_errors import CredentialError
from ..._engine.tls import Pair
from ..._plan.common.errors import KubeadmError

_EXPIRED, _NOT_YET_VALID = 10, 9  # OpenSSL's codes for what is wrong with a certificate
_OTHER_NAME = (62, 64)  # a host's name, an IP address
_ANY_KEY = "ALL:@SECLEVEL=0"  # whether a key is long enough is for the component to check
_ROUNDS = 10  # a handshake takes three


class NotVerified(KubeadmError):
    """OpenSSL did not get as far as the requested check."""


def pair_problem(certificate: bytes, key: bytes) -> str | None:
    """Why a component could not start with a pair; None when it could."""
    try:
        _server_context(Pair(certificate, key))
    except CredentialError as exc:
        return f"{exc}."
    return None


def time_problem(certificate: bytes, key: bytes, *, as_client: bool) -> str | None:
    """Whether a certificate is outside its validity period. It is its own authority here. as_client: the client presents it. Raises NotVerified:
    OpenSSL checks the key usage before the time."""
    error = _verify(Pair(certificate, key), authority=certificate, name=None, as_client=as_client)
    if error and error.verify_code not in (_EXPIRED, _NOT_YET_VALID):
        raise NotVerified(f"OpenSSL turns it down before it looks at that ({error.verify_message})")
    return _describe(error) if error else None


def trust_problem(
    certificate: bytes, key: bytes, authority: bytes, *, names: t.Sequence[str | None], is_client: bool
) -> str | None:
    """Why peers that trust an authority would reject a pair: as a server with one of these names, None for any, or as a client."""
    for name, as_client in [*((name, False) for name in names), *([(None, True)] if is_client else [])]:
        error = _verify(Pair(certificate, key), authority=authority, name=name, as_client=as_client)
        if error:
            return _describe(error, name)
    return None


def _describe(error: ssl.SSLCertVerificationError, name: str | None = None) -> str:
    if error.verify_code == _EXPIRED:
        return (
            "the certificate has expired. Renew it (kubeadm certs renew) or name another one, then run the task again."
        )
    if error.verify_code == _NOT_YET_VALID:
        return "the certificate is not valid yet. Check the node's clock, or name another one."
    if error.verify_code in _OTHER_NAME:
        return f"the certificate is not valid for {name}, by which it is reached. Create one with that name among its alternative names."
    return f"the certificate is not trusted by its peers ({error.verify_message}). Have it signed by their authority."


def _server_context(pair: Pair, authority: bytes | None = None) -> ssl.SSLContext:
    return _with_pair(tls.server_context(authority), pair)


def _with_pair(context: ssl.SSLContext, pair: Pair) -> ssl.SSLContext:
    context.set_ciphers(_ANY_KEY)
    tls.load_pair(context, pair)
    return context


def _verify(pair: Pair, *, authority: bytes, name: str | None, as_client: bool) -> ssl.SSLCertVerificationError | None:
    """Why the peer in a handshake rejects a pair; None when it does not. as_client: the client presents it. Raises KubeadmError."""
    try:
        if as_client:
            # A server needs some pair, which this client does not verify.
            server, client = _server_context(pair, authority), _with_pair(tls.client_context(verify=False), pair)
        else:
            server, client = _server_context(pair), tls.client_context(authority, check_name=name is not None)
            client.set_ciphers(_ANY_KEY)
    except CredentialError as exc:
        raise KubeadmError(str(exc)) from exc
    try:
        _shake_hands(server, client, name)
    except ssl.SSLCertVerificationError as exc:
        return exc
    except ssl.SSLError as exc:  # they have nothing in common
        raise NotVerified(f"no handshake with it succeeds ({exc.reason})") from exc
    return None


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str | None) -> None:
    """A handshake without any network. Raises ssl.SSLCertVerificationError when a side rejects the other one."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    waiting = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for dummy in range(_ROUNDS):
        waiting = [side for side in waiting if not _is_done(side)]


def _is_done(side: ssl.SSLObject) -> bool:
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True

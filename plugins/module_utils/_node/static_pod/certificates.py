# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Certificates that a component's arguments name: whether it can start with them, and others will trust them.

Nodes have no library for certificates, but every Python has OpenSSL: a pair is loaded, and shaken hands with in memory.
"""

from __future__ import annotations

import dataclasses
import os
import ssl
import typing as t

from ..._engine import tls
from ..._engine.engine_errors import CredentialError
from ..._engine.kubeconfig import read_cluster
from ..._engine.tls import Pair
from ..._plan.common.errors import KubeadmError
from .component_files import ComponentFiles, hosts

_EXPIRED, _NOT_YET_VALID = 10, 9  # OpenSSL's words for what is wrong with a certificate
_OTHER_NAME = (62, 64)  # a host's name, an IP address
_ANY_KEY = "ALL:@SECLEVEL=0"  # whether a key is long enough is for the component to say
_ROUNDS = 10  # a handshake takes three


class NotVerified(KubeadmError):
    """OpenSSL did not come to what is looked for."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """What is wrong with something that a component needs. brought: the change itself brings it."""

    message: str
    brought: bool


@dataclasses.dataclass(frozen=True)
class Use:
    """A pair that arguments name.

    certificate, key: the flags. serves, calls: whether the component shows it as a server, as a client, or as both.
    authority: the flag of the file that others verify it with. urls: the flags with the addresses by which it is reached.
    """

    certificate: str
    key: str
    serves: bool = False
    calls: bool = False
    authority: str | None = None
    urls: tuple[str, ...] = ()


_SERVING = Use("tls-cert-file", "tls-private-key-file", serves=True)
_USES: dict[str, tuple[Use, ...]] = {
    "kube-apiserver": (
        dataclasses.replace(_SERVING, authority="client-ca-file"),
        # Which authority etcd and the kubelets verify these with is written in no argument of the API server.
        Use("etcd-certfile", "etcd-keyfile", calls=True),
        Use("kubelet-client-certificate", "kubelet-client-key", calls=True),
        Use("proxy-client-cert-file", "proxy-client-key-file", calls=True, authority="requestheader-client-ca-file"),
    ),
    "kube-controller-manager": (_SERVING,),
    "kube-scheduler": (_SERVING,),
    "etcd": (
        Use(
            "cert-file",
            "key-file",
            serves=True,
            authority="trusted-ca-file",
            urls=("advertise-client-urls", "listen-client-urls"),
        ),
        Use(
            "peer-cert-file",
            "peer-key-file",
            serves=True,
            calls=True,
            authority="peer-trusted-ca-file",
            urls=("initial-advertise-peer-urls",),
        ),
    ),
}


def findings(
    name: str,
    files: ComponentFiles,
    former: ComponentFiles,
    *,
    address: str | None,
    kubeconfig: str,
    unverified: list[str],
) -> list[Finding]:
    """What is wrong with the certificates that the new arguments of a component name. former: the files without the change.

    What the change brings must be right in all respects. What is in use already must be readable, match its key and be in
    its time: by whom and under which names it is trusted is known to those who use it.
    address: by which the component is reached where no argument tells. kubeconfig: of the node's administrator, which holds
    the authority that the API server's callers trust. unverified: gets what could not be verified.
    """
    found = []
    for use in _USES.get(name, ()):
        path, key = files.flag(use.certificate), files.flag(use.key)
        if path and key:
            brought = any(files.is_new(flag, former) for flag in (use.certificate, use.key))
            limits: list[str] = []
            problem = _problem(
                name, use, files, path, key, limits, brought=brought, address=address, kubeconfig=kubeconfig
            )
            unverified += [f"whether the certificate --{use.certificate}={path} is {limit}" for limit in limits]
            if problem:
                found.append(Finding(f"--{use.certificate}={path} on {os.uname().nodename}: {problem}", brought))
    return found


def _problem(
    name: str,
    use: Use,
    files: ComponentFiles,
    certificate: str,
    key: str,
    limits: list[str],
    *,
    brought: bool,
    address: str | None,
    kubeconfig: str,
) -> str | None:
    """limits: gets what could not be verified."""
    try:
        pair = files.read(certificate), files.read(key)
        as_client = use.calls and not use.serves
        problem = pair_problem(*pair) or _known("in its time", limits, time_problem, *pair, as_client=as_client)
        if problem or not brought or not use.authority:
            return problem
        authority = _authority(name, use, files, kubeconfig)
        if authority is None:
            limits.append("trusted by its peers: no file tells which authority they trust")
            return None
        names: list[str | None] = []
        if use.serves:
            names += hosts(url for flag in use.urls for url in files.flags(flag)) if use.urls else [address]
            if not any(names):
                names = [None]
                limits.append("valid for the address by which it is reached: no argument tells it")
        return _known("trusted by its peers", limits, trust_problem, *pair, authority, names=names, calls=use.calls)
    except KubeadmError as exc:
        return f"{exc}. Create it, or name another one."


def _known(
    what: str, limits: list[str], look: t.Callable[..., str | None], *args: t.Any, **options: t.Any
) -> str | None:
    """What a look finds; limits gets one that comes to nothing."""
    try:
        return look(*args, **options)
    except NotVerified as exc:
        limits.append(f"{what}: {exc}")
        return None


def _authority(name: str, use: Use, files: ComponentFiles, kubeconfig: str) -> bytes | None:
    """The certificates that others verify a pair with; None when they are not known."""
    known = read_cluster(kubeconfig).authority if name == "kube-apiserver" and use.serves else b""
    path = files.flag(use.authority) if use.authority else None
    return known or (files.read(path) if path else None)


# ---- one pair --------------------------------------------------------------------------------------------------------


def pair_problem(certificate: bytes, key: bytes) -> str | None:
    """Why a component could not start with a pair; None when it could."""
    try:
        _server(Pair(certificate, key))
    except CredentialError as exc:
        return f"{exc}."
    return None


def time_problem(certificate: bytes, key: bytes, *, as_client: bool) -> str | None:
    """Whether a certificate is out of its time. It vouches for itself here. as_client: it is shown by the side that calls. Raises NotVerified:
    OpenSSL looks at what it may be used for before the time."""
    error = _verify(Pair(certificate, key), authority=certificate, name=None, as_client=as_client)
    if error and error.verify_code not in (_EXPIRED, _NOT_YET_VALID):
        raise NotVerified(f"OpenSSL turns it down before it looks at that ({error.verify_message})")
    return _describe(error) if error else None


def trust_problem(
    certificate: bytes, key: bytes, authority: bytes, *, names: t.Sequence[str | None], calls: bool
) -> str | None:
    """Why those who trust an authority would turn a pair down: as a server under one of these names, None for any, or as a client."""
    for name, as_client in [*((name, False) for name in names), *([(None, True)] if calls else [])]:
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


def _server(pair: Pair, authority: bytes | None = None) -> ssl.SSLContext:
    return _with_pair(tls.server_context(authority), pair)


def _with_pair(context: ssl.SSLContext, pair: Pair) -> ssl.SSLContext:
    context.set_ciphers(_ANY_KEY)
    tls.load_pair(context, pair)
    return context


def _verify(pair: Pair, *, authority: bytes, name: str | None, as_client: bool) -> ssl.SSLCertVerificationError | None:
    """What the other side of a handshake objects to. as_client: the pair is shown by the side that calls. Raises KubeadmError."""
    try:
        if as_client:
            # A server needs some pair, and no client looks at this one.
            server, client = _server(pair, authority), _with_pair(tls.client_context(verify=False), pair)
        else:
            server, client = _server(pair), tls.client_context(authority, check_name=name is not None)
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
    """A handshake without any network. Raises ssl.SSLCertVerificationError when a side turns the other one down."""
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

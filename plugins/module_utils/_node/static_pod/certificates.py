# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Certificates that a component's arguments name: whether it can start with them, and its peers will trust them.

Nodes have no library for certificates, but every Python has OpenSSL: a pair is loaded, and a handshake made in memory.
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
from .component_files import ComponentFiles, hosts_of_urls

_EXPIRED, _NOT_YET_VALID = 10, 9  # OpenSSL's codes for what is wrong with a certificate
_OTHER_NAME = (62, 64)  # a host's name, an IP address
_ANY_KEY = "ALL:@SECLEVEL=0"  # whether a key is long enough is for the component to check
_ROUNDS = 10  # a handshake takes three


class NotVerified(KubeadmError):
    """OpenSSL did not get as far as the requested check."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """What is wrong with something that a component needs. is_new: the change itself introduces it."""

    message: str
    is_new: bool


@dataclasses.dataclass(frozen=True)
class Usage:
    """A pair that arguments name.

    certificate, key: the flags. is_server, is_client: whether the component presents it as a server, as a client, or as both.
    authority: the flag of the file that others verify it with. urls: the flags with the addresses by which it is reached.
    """

    certificate: str
    key: str
    is_server: bool = False
    is_client: bool = False
    authority: str | None = None
    urls: tuple[str, ...] = ()


_SERVING = Usage("tls-cert-file", "tls-private-key-file", is_server=True)
_USES: dict[str, tuple[Usage, ...]] = {
    "kube-apiserver": (
        dataclasses.replace(_SERVING, authority="client-ca-file"),
        # Which authority etcd and the kubelets verify these with is written in no argument of the API server.
        Usage("etcd-certfile", "etcd-keyfile", is_client=True),
        Usage("kubelet-client-certificate", "kubelet-client-key", is_client=True),
        Usage(
            "proxy-client-cert-file", "proxy-client-key-file", is_client=True, authority="requestheader-client-ca-file"
        ),
    ),
    "kube-controller-manager": (_SERVING,),
    "kube-scheduler": (_SERVING,),
    "etcd": (
        Usage(
            "cert-file",
            "key-file",
            is_server=True,
            authority="trusted-ca-file",
            urls=("advertise-client-urls", "listen-client-urls"),
        ),
        Usage(
            "peer-cert-file",
            "peer-key-file",
            is_server=True,
            is_client=True,
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

    What the change introduces must be valid in all respects. What is in use already must be readable, match its key and be in
    its validity period: who trusts it, and by which names, cannot be read here.
    address: of the component where no argument names it. kubeconfig: of the node's administrator, which holds
    the authority that the API server's clients trust. unverified: gets what could not be verified.
    """
    found = []
    for use in _USES.get(name, ()):
        path, key = files.flag(use.certificate), files.flag(use.key)
        if path and key:
            is_new = any(files.is_new(flag, former) for flag in (use.certificate, use.key))
            claims: list[str] = []
            problem = _certificate_problem(
                name, use, files, path, key, claims, is_new=is_new, address=address, kubeconfig=kubeconfig
            )
            unverified += [f"whether the certificate --{use.certificate}={path} is {claim}" for claim in claims]
            if problem:
                found.append(Finding(f"--{use.certificate}={path} on {os.uname().nodename}: {problem}", is_new))
    return found


def _certificate_problem(
    name: str,
    use: Usage,
    files: ComponentFiles,
    certificate: str,
    key: str,
    unverified: list[str],
    *,
    is_new: bool,
    address: str | None,
    kubeconfig: str,
) -> str | None:
    """unverified: gets what could not be verified."""
    try:
        pair = files.read(certificate), files.read(key)
        as_client = use.is_client and not use.is_server
        problem = pair_problem(*pair) or _run_check("in its time", unverified, time_problem, *pair, as_client=as_client)
        if problem or not is_new or not use.authority:
            return problem
        authority = _read_authority(name, use, files, kubeconfig)
        if authority is None:
            unverified.append("trusted by its peers: no file tells which authority they trust")
            return None
        names: list[str | None] = []
        if use.is_server:
            names += hosts_of_urls(url for flag in use.urls for url in files.flags(flag)) if use.urls else [address]
            if not any(names):
                names = [None]
                unverified.append("valid for the address by which it is reached: no argument tells it")
        return _run_check(
            "trusted by its peers", unverified, trust_problem, *pair, authority, names=names, is_client=use.is_client
        )
    except KubeadmError as exc:
        return f"{exc}. Create it, or name another one."


def _run_check(
    claim: str, unverified: list[str], check: t.Callable[..., str | None], *args: t.Any, **options: t.Any
) -> str | None:
    """The problem that a check finds. claim: what it verifies; added to unverified where the check cannot be made."""
    try:
        return check(*args, **options)
    except NotVerified as exc:
        unverified.append(f"{claim}: {exc}")
        return None


def _read_authority(name: str, use: Usage, files: ComponentFiles, kubeconfig: str) -> bytes | None:
    """The certificates that others verify a pair with; None when they are not known."""
    known = read_cluster(kubeconfig).authority if name == "kube-apiserver" and use.is_server else b""
    path = files.flag(use.authority) if use.authority else None
    return known or (files.read(path) if path else None)


# ---- one pair --------------------------------------------------------------------------------------------------------


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

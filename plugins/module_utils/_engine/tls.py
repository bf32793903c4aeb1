# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""TLS contexts, built here and nowhere else: each side takes the certificates that Go's side of Kubernetes takes, and no others.

A certificate in the authority's file vouches for what it signed, whether or not it signed itself. A name counts only among a
certificate's alternative names. No key touches a disk, and no password is read from a terminal. How weak a key may be is the
decision of the machine's OpenSSL: Go takes RSA with 1024 bits, and Debian does not.
"""

from __future__ import annotations

import contextlib
import os
import re
import ssl
import tempfile
import typing as t

from .engine_errors import CredentialError
from .files import open_to_read

# The name came with Python 3.10.
_PARTIAL_CHAIN = getattr(ssl, "VERIFY_X509_PARTIAL_CHAIN", 0x80000)
_CERTIFICATE = re.compile(r"^-----BEGIN CERTIFICATE-----.*?^-----END CERTIFICATE-----", re.DOTALL | re.MULTILINE)


class Pair(t.NamedTuple):
    """A certificate, with intermediate ones behind it, and its key, as PEM."""

    certificate: bytes
    key: bytes


def read_pair(certificate: str, key: str) -> Pair:
    """The pair in two files. Raises OSError."""
    with open_to_read(certificate) as first, open_to_read(key) as second:
        return Pair(first.read(), second.read())


def client_context(
    authority: bytes | None = None, pair: Pair | None = None, *, verify: bool = True, check_name: bool = True
) -> ssl.SSLContext:
    """A context of the side that calls. authority: PEM; None for the authorities of the system. pair: sent to a server that requests one.

    check_name: whether the certificate has to be for the name that is called. Raises CredentialError.

    Not C(create_default_context): from Python 3.13 on that turns certificates down which lack what RFC 5280 requires, such as the
    identifier of the authority's key, and which Go takes.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    context.check_hostname = verify and check_name
    if not verify:
        context.verify_mode = ssl.CERT_NONE
    elif authority is None:
        context.load_default_certs()
    else:
        _load_authority(context, authority)
    if pair:
        load_pair(context, pair)
    return context


def server_context(authority: bytes | None = None) -> ssl.SSLContext:
    """A context of the side that is called, still without its pair. authority: PEM, of those who may call; None to request no certificate.

    Raises CredentialError.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if authority is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        _load_authority(context, authority)
    return context


def _load_authority(context: ssl.SSLContext, authority: bytes) -> None:
    """Have a context trust each certificate in a PEM text, but for those that cannot be read. Raises CredentialError when none is left."""
    context.verify_flags |= _PARTIAL_CHAIN
    for certificate in _CERTIFICATE.findall(authority.decode("ascii", "ignore")):
        with contextlib.suppress(ssl.SSLError):
            context.load_verify_locations(cadata=certificate)
    if not context.cert_store_stats()["x509"]:
        raise CredentialError(
            "the authority's file holds no certificate that can be read: replace it with a complete one"
        )


def load_pair(context: ssl.SSLContext, pair: Pair) -> None:
    """Give a context a pair, which OpenSSL takes from files only. Raises CredentialError."""
    with _file(pair.certificate) as certificate, _file(pair.key) as key:
        try:
            # Without a password OpenSSL would ask a terminal for that of a key which has one.
            context.load_cert_chain(certificate, key, password="")
        except (ssl.SSLError, ValueError) as exc:
            raise CredentialError(_pair_problem(pair, str(getattr(exc, "reason", None) or exc))) from exc


def _pair_problem(pair: Pair, reason: str) -> str:
    if "MISMATCH" in reason or reason == "NO_CERTIFICATE_ASSIGNED":  # the latter of a key of another kind
        return "the certificate does not match its key: name the key that belongs to it"
    if "TOO_SMALL" in reason or "TOO_WEAK" in reason:
        return (
            f"the certificate is too weak for the OpenSSL of this machine ({reason}): have one with a longer key issued"
        )
    if b"ENCRYPTED" in pair.key:
        return "the key has a password, which no component of Kubernetes asks for: store it without one"
    return f"the certificate or its key is not a readable PEM file ({reason}): replace it with a complete one"


@contextlib.contextmanager
def _file(content: bytes) -> t.Iterator[str]:
    """The path of a file with this content: in memory, where the system has such files."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("pem", os.MFD_CLOEXEC), "wb") as stream:
            stream.write(content)
            stream.flush()
            yield f"/proc/self/fd/{stream.fileno()}"
        return
    with tempfile.NamedTemporaryFile() as temporary:
        temporary.write(content)
        temporary.flush()
        yield temporary.name

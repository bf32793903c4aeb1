# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Serving certificates of a cluster's own authority, good and bad."""

from __future__ import annotations

import datetime
import ipaddress
import typing as t
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)


class Authority:
    """The authority that signs an API server's certificates."""

    def __init__(self, directory: Path) -> None:
        self._certificate = x509.load_pem_x509_certificate((directory / "ca.crt").read_bytes())
        key = serialization.load_pem_private_key((directory / "ca.key").read_bytes(), None)
        assert isinstance(key, rsa.RSAPrivateKey)
        self._key = key

    def make(self, addresses: t.Sequence[str], *, lasts: datetime.timedelta = DAY) -> tuple[bytes, bytes]:
        """A certificate and its key, as PEM. lasts: from now; below zero for one that has expired."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        now = datetime.datetime.now(datetime.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")]))
            .issuer_name(self._certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 2 * DAY)
            .not_valid_after(now + lasts)
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM), _pem(key)


def _pem(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )

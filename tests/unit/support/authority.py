# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A certificate authority of the tests: real certificates, in their time or out of it, made by openssl."""

from __future__ import annotations

import datetime
import subprocess
import typing as t
from pathlib import Path

_SETTINGS = """\
[ca]
default_ca = own
[own]
database = {directory}/index.txt
new_certs_dir = {directory}
serial = {directory}/serial
default_md = default
policy = any
unique_subject = no
[any]
commonName = supplied
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,digitalSignature,keyCertSign
[issued]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature,keyEncipherment
extendedKeyUsage = {usage}
{names}
"""
BOTH, CLIENT, SERVER = "serverAuth,clientAuth", "clientAuth", "serverAuth"
ECDSA = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")
ED25519 = ("ed25519",)
RSA = ("rsa:2048",)


class Pair(t.NamedTuple):
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """Issues certificates that are valid from yesterday on, unless set otherwise (days from today).

    issuer: the authority that signed this one's own certificate; None for one that signed it itself. key: of what kind all keys are.
    The certificates that it issues name neither its key nor their own, as those of many old clusters.
    """

    def __init__(
        self,
        directory: Path,
        *,
        issuer: Authority | None = None,
        key: t.Sequence[str] = ECDSA,
        first: int = -1,
        last: int = 3650,
    ) -> None:
        self.directory = directory
        self._key = key
        directory.mkdir()
        (directory / "index.txt").touch()
        (directory / "serial").write_text("01", encoding="ascii")
        self._new_key("authority", subject=directory.name)
        signer = ["-selfsign", "-keyfile", self._path("authority.key")] if issuer is None else issuer.signer
        self._sign("authority", signer, "authority", first=first, last=last)
        self.certificate = (directory / "authority.crt").read_bytes()

    @property
    def signer(self) -> list[str]:
        """How openssl signs with it."""
        return ["-cert", self._path("authority.crt"), "-keyfile", self._path("authority.key")]

    def issue(
        self, *, names: str = "IP:127.0.0.1,DNS:localhost", first: int = -1, last: int = 365, usage: str = BOTH
    ) -> Pair:
        """A new pair."""
        self._new_key("component")
        self._sign("component", self.signer, "issued", first=first, last=last, usage=usage, names=names)
        return Pair((self.directory / "component.crt").read_bytes(), (self.directory / "component.key").read_bytes())

    def _new_key(self, name: str, *, subject: str = "component") -> None:
        key = ["-newkey", *self._key, "-nodes", "-keyout", self._path(f"{name}.key")]
        _openssl("req", "-new", *key, "-subj", f"/CN={subject}", "-out", self._path("request"))

    def _sign(
        self,
        name: str,
        signer: t.Sequence[str],
        kind: str,
        *,
        first: int,
        last: int,
        usage: str = BOTH,
        names: str = "",
    ) -> None:
        settings = self.directory / "settings"
        alternatives = f"subjectAltName = {names}" if names else ""
        settings.write_text(
            _SETTINGS.format(directory=self.directory, usage=usage, names=alternatives), encoding="ascii"
        )
        times = [item for flag, day in (("-startdate", first), ("-enddate", last)) for item in (flag, _date(day))]
        files = ["-config", str(settings), "-extensions", kind, "-in", self._path("request")]
        _openssl("ca", "-batch", "-notext", *signer, *files, *times, "-out", self._path(f"{name}.crt"))

    def _path(self, name: str) -> str:
        return str(self.directory / name)


def _date(days: int) -> str:
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)).strftime("%Y%m%d%H%M%SZ")


def _openssl(*arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

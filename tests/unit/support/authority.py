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
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[issued]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature,keyEncipherment
extendedKeyUsage = {usage}
{names}
"""
BOTH, CLIENT, SERVER = "serverAuth,clientAuth", "clientAuth", "serverAuth"


class Pair(t.NamedTuple):
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """Issues certificates that are valid from yesterday on, unless told otherwise (days from today)."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir()
        (directory / "index.txt").touch()
        (directory / "serial").write_text("01", encoding="ascii")
        self._new_key("authority", "-x509", "-days", "3650", out="authority.crt")
        self.certificate = (directory / "authority.crt").read_bytes()

    def issue(
        self, *, names: str = "IP:127.0.0.1,DNS:localhost", first: int = -1, last: int = 365, usage: str = BOTH
    ) -> Pair:
        """A new pair."""
        settings = self.directory / "settings"
        alternatives = f"subjectAltName = {names}" if names else ""
        settings.write_text(
            _SETTINGS.format(directory=self.directory, usage=usage, names=alternatives), encoding="ascii"
        )
        self._new_key("component", out="request")
        times = [item for flag, day in (("-startdate", first), ("-enddate", last)) for item in (flag, _date(day))]
        issuer = ["-cert", self._path("authority.crt"), "-keyfile", self._path("authority.key")]
        files = ["-config", str(settings), "-extensions", "issued", "-in", self._path("request")]
        _openssl("ca", "-batch", "-notext", *issuer, *files, *times, "-out", self._path("component.crt"))
        return Pair((self.directory / "component.crt").read_bytes(), (self.directory / "component.key").read_bytes())

    def _new_key(self, name: str, *options: str, out: str) -> None:
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self._path(f"{name}.key")]
        _openssl("req", "-new", *key, "-subj", f"/CN={name}", *options, "-out", self._path(out))

    def _path(self, name: str) -> str:
        return str(self.directory / name)


def _date(days: int) -> str:
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)).strftime("%Y%m%d%H%M%SZ")


def _openssl(*arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

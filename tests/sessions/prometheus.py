# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prometheus for tests, which checks the metrics of the device plugin."""

from __future__ import annotations

import os
import shutil
import subprocess

import nox

from .places import BUILD, fresh_directory

# Programs of Debian's package prometheus, and where it is unpacked for tests: installed it would start a service here.
PROGRAMS = ("prometheus", "promtool")
UNPACKED = BUILD / "prometheus"


def offer_prometheus(session: nox.Session) -> None:
    """Put Prometheus on the session's path: the one of this machine, else Debian's, unpacked below build/."""
    if all(shutil.which(program) for program in PROGRAMS):
        return
    if not UNPACKED.exists():
        unpack_prometheus(session)
    session.env["PATH"] = os.pathsep.join((str(UNPACKED / "usr" / "bin"), os.environ["PATH"]))


def unpack_prometheus(session: nox.Session) -> None:
    """Download Debian's package and unpack it; nothing is installed."""
    advice = f"Please put {' and '.join(PROGRAMS)} on PATH; Debian has them in the packages prometheus and, from 13 on, promtool"
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        session.error(advice)
    download = fresh_directory(BUILD / "prometheus-download")
    try:
        if os.geteuid() == 0:
            apt_get(session, "update")
        # Debian 13 has promtool in a package of its own.
        packages = [name for name in ("prometheus", "promtool") if is_package(name)]
        with session.chdir(download):
            apt_get(session, "download", *packages)
        unpacked = download / "unpacked"
        for package in download.glob("*.deb"):
            session.run("dpkg-deb", "-x", str(package), str(unpacked), external=True)
    except nox.command.CommandFailed:
        session.error(f"Debian's package could not be brought. {advice}")
    unpacked.rename(UNPACKED)
    shutil.rmtree(download)


def apt_get(session: nox.Session, *arguments: str) -> None:
    """Run it without questions; another one that runs is waited for."""
    session.run(
        *("apt-get", "--quiet", "--yes", "--option=DPkg::Lock::Timeout=300", *arguments),
        external=True,
        env={"DEBIAN_FRONTEND": "noninteractive"},
    )


def is_package(name: str) -> bool:
    """Whether apt knows a package of that name."""
    return subprocess.run(["apt-cache", "show", name], check=False, capture_output=True).returncode == 0

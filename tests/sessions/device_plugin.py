# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The device plugin: its checks, its tests and its figures."""

from __future__ import annotations

import nox

from .copies import collection_copy
from .places import BUILD, DEVICE_PLUGIN, ROOT
from .prometheus import offer_prometheus
from .tools import install, run_pytest


def check_device_plugin(session: nox.Session) -> None:
    """Check its types, run its tests, and see that its package holds all it needs."""
    offer_prometheus(session)
    install_device_plugin(session, "mypy", "types-PyYAML", "pytest", "pytest-xdist", "grpcio-tools")
    session.run("nodecraft-device-plugin", "--config", str(DEVICE_PLUGIN / "config.example.yaml"), "--validate")
    with session.chdir(DEVICE_PLUGIN):
        session.run("mypy", f"--cache-dir={BUILD / 'mypy-device-plugin'}", "src", "tests", "generate_protocol.py")
        run_pytest(session, "--numprocesses=auto")


def install_device_plugin(session: nox.Session, *tools: str) -> None:
    """Bring the device plugin and tools into the session's venv."""
    # Built from a copy: a build leaves its files beside the sources.
    package = str(collection_copy(session.name) / DEVICE_PLUGIN.relative_to(ROOT))
    install(session, *tools, package)
    install(session, "--no-deps", "--force-reinstall", package)

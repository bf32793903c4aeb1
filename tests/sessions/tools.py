# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What sessions of every kind do: install, run, and keep the output."""

from __future__ import annotations

import subprocess
import time
import typing as t
from pathlib import Path

import nox

from .identity import NotAllowed, foreign_command
from .places import CONSTRAINTS, CONSTRAINTS_LOCK, ENVS, RESULTS


def install(session: nox.Session, *packages: str) -> None:
    """Bring packages into the session's venv, in the pinned versions and with their known hashes."""
    session.install("--constraint", str(CONSTRAINTS_LOCK), *packages)


def packaged_collections(session: nox.Session) -> Path:
    """Where the session's venv has the collections of the package of Ansible."""
    return next(Path(session.bin).parent.glob("lib/python*/site-packages/ansible_collections"))


def python_with_core(session: nox.Session, release: str) -> Path:
    """The session's Python with another release of ansible-core, in a venv of its own."""
    venv = ENVS / f"ansible-core-{release}"
    python = venv / "bin" / "python"
    session.run("python", "-m", "venv", str(venv))
    command = [str(python), "-m", "pip", "install", "--constraint", str(CONSTRAINTS), f"ansible-core=={release}"]
    session.run(*command, external=True)
    return python


def run_all(session: nox.Session, commands: t.Sequence[t.Sequence[str]]) -> None:
    """Run every command, also after one failed, so that one run shows all findings."""
    failed = False
    for command in commands:
        try:
            session.run(*command)
        except nox.command.CommandFailed:
            failed = True
    if failed:
        session.error("see above")


def run_pytest(session: nox.Session, *arguments: str, foreign: bool = False) -> None:
    """Run pytest and leave its counts where ``test`` reads them. foreign: under another identity than the machine's."""
    report = RESULTS / f"{session.name}.xml"
    report.unlink(missing_ok=True)
    # The first line of the script names a Python at the place where this clone is no longer then.
    command = [f"{session.bin}/python", f"{session.bin}/pytest", f"--junit-xml={report}", *arguments, *session.posargs]
    if foreign:
        try:
            command = foreign_command(command)
        except NotAllowed as error:
            session.error(str(error))
    session.run(*command, external=foreign)


def run_logged(session: nox.Session, log: Path, environment: t.Mapping[str, str], *command: str) -> bool:
    """Run a command with its output in a log, which is shown when it failed: several run at once."""
    title = f"{log.stem}: {' '.join(command[:2])}"
    log.parent.mkdir(exist_ok=True)
    began = time.monotonic()
    try:
        with log.open("w", encoding="utf-8") as output:
            session.run(*command, env=environment, stdout=output, stderr=subprocess.STDOUT, log=False)
    except nox.command.CommandFailed:
        session.warn(f"{title}: failed after {time.monotonic() - began:.0f} s\n{log.read_text(encoding='utf-8')}")
        return False
    session.log(f"{title}: {time.monotonic() - began:.0f} s")
    return True

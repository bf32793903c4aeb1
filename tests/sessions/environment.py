# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What surrounds every session: interpreters, registries, and the directories of what it writes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from .places import BUILD, COLLECTIONS, RESULTS


def prepare_environment() -> None:
    """What every session needs around it."""
    os.environ["PATH"] = os.pathsep.join(without_shims(os.environ["PATH"]) + pyenv_interpreters())
    # ansible-core refuses to start in a locale that has no UTF-8 or is not installed, whatever this user set.
    os.environ["LC_ALL"] = "C.UTF-8"
    os.environ["ANSIBLE_COLLECTIONS_PATH"] = str(COLLECTIONS)
    os.environ.setdefault("ANSIBLE_HOME", str(BUILD / "ansible"))
    os.environ["UV_PYTHON_DOWNLOADS"] = "never"
    # Without compiled files each start of Ansible takes twice as long, and each import of kubernetes. They lie below build/, and the
    # tree stays clean also for those who want no such files in it.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(BUILD / "pycache")
    # What is installed below build/ belongs to no repository: antsibull-docs copies of a collection only what git knows.
    os.environ["GIT_CEILING_DIRECTORIES"] = str(BUILD)
    hand_pip_settings_to_uv()
    RESULTS.mkdir(parents=True, exist_ok=True)


def pyenv_interpreters() -> list[str]:
    """The directories of pyenv's real interpreters, newest first.

    Its shims start only versions that are switched on, and ansible-test takes a shim that
    does not start for a broken Python.
    """
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    versions = [
        path.parent
        for path in root.glob("versions/*/bin")
        if not (path.parent / "pyvenv.cfg").exists() and path.parent.name.replace(".", "").isdigit()
    ]
    versions.sort(key=lambda path: [int(part) for part in path.name.split(".")])
    return [str(path / "bin") for path in reversed(versions)]


def without_shims(path: str) -> list[str]:
    """The entries of PATH that are not pyenv's shims."""
    return [entry for entry in path.split(os.pathsep) if not entry.endswith("shims")]


def hand_pip_settings_to_uv() -> None:
    """uv reads no pip configuration: without this it would use another index than pip does."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        check=False,
        capture_output=True,
        text=True,
    ).stdout
    settings = dict(line.split("=", 1) for line in listed.splitlines() if "=" in line)
    for option, variable in {
        "index-url": "UV_DEFAULT_INDEX",
        "extra-index-url": "UV_INDEX",
        "find-links": "UV_FIND_LINKS",
        "cert": "SSL_CERT_FILE",
    }.items():
        for source in (f"global.{option}", f":env:.{option}"):
            if source in settings:
                os.environ.setdefault(variable, settings[source].strip("'"))


def python_starts(python: str) -> bool:
    """Whether an interpreter of that name starts."""
    if shutil.which(python) is None:
        return False
    return subprocess.run([python, "-c", ""], check=False).returncode == 0

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hashes of the tools: of each pinned version, and of all that nox itself is installed with."""

from __future__ import annotations

import re
import subprocess
import sys
import typing as t
from pathlib import Path

from .places import CONSTRAINTS, CONSTRAINTS_LOCK, NOX_LOCK
from .start import TOOLS

if t.TYPE_CHECKING:
    import nox

MADE = "\n# Made from constraints.txt by build/nox/bin/nox --session locks. Do not edit.\n"
HASH = re.compile(r"--hash=\S+")
# All files of a version have their hash in the lock, so any Python that it supports will do.
PYTHONS = ("3.14", "3.11", "3.9")


def write_locks(session: nox.Session) -> None:
    """Write both locks. Requests each version from the package index."""
    text = CONSTRAINTS.read_text(encoding="utf-8")
    pins = pinned(text)
    found = {pin: hashes(pin) for pin in pins}
    unknown = [pin for pin in pins if not found[pin]]
    if unknown:
        session.error(f"no Python of {', '.join(PYTHONS)} can have: {'; '.join(unknown)}")
    options = ("--universal", "--python-version=3.11", f"--constraints={CONSTRAINTS}")
    needed = compiled("\n".join(TOOLS), *options)
    if not needed:
        session.error(f"{', '.join(TOOLS)} cannot be installed together under {CONSTRAINTS}")
    lines = [" \\\n    ".join((pin, *in_pairs(found[pin]))) for pin in pins]
    licence, _blank_line, _pins = text.partition("\n\n")
    head = f"{licence}\n{MADE}"
    CONSTRAINTS_LOCK.write_text(head + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    NOX_LOCK.write_text(head + needed, encoding="utf-8")


def pinned(text: str) -> list[str]:
    """The requirements in the text of a file with constraints."""
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def hashes(pin: str) -> list[str]:
    """The options with the hashes of a pinned version; empty where no Python can have it."""
    requirement = pin.partition(";")[0].strip()
    outputs = (compiled(requirement, "--no-deps", f"--python-version={python}") for python in PYTHONS)
    return HASH.findall(next(filter(None, outputs), ""))


def in_pairs(options: t.Sequence[str]) -> list[str]:
    """Options, two in a line: some versions have a hundred files."""
    return [" ".join(options[start : start + 2]) for start in range(0, len(options), 2)]


def compiled(requirements: str, *options: str) -> str:
    """Requirements with versions and hashes; empty where they cannot be met."""
    uv = Path(sys.executable).with_name("uv")  # nox runs in the venv that brings it
    command = [str(uv), "pip", "compile", "--quiet", "--generate-hashes", "--no-annotate", "--no-header", *options, "-"]
    result = subprocess.run(command, input=requirements, capture_output=True, text=True, check=False)
    return result.stdout if result.returncode == 0 else ""

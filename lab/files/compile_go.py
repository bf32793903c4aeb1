# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``compile_go.py RESULT [FLAG...]``: build the Go program in this directory.

The file LAB_PROGRESS says how far it is, as long as it is built: other tasks run meanwhile and after it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import typing as t
from pathlib import Path


def main(result: str, *flags: str) -> int:
    """Build it. Returns Go's exit status."""
    progress = Path(os.environ["LAB_PROGRESS"])
    progress.parent.mkdir(parents=True, exist_ok=True)
    try:
        return build(result, flags, progress)
    finally:
        progress.unlink(missing_ok=True)


def build(result: str, flags: t.Sequence[str], progress: Path) -> int:
    """Build it, with a note of each package. Returns Go's exit status."""
    total, compiled = packages(flags), 0
    command = ["nice", "go", "build", "-v", *flags, "-o", result, "."]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        for line in t.cast(t.IO[str], process.stderr):
            # With -v Go names each package that it compiles; whatever else it says is for the reader.
            if " " in line.strip():
                sys.stderr.write(line)
            else:
                compiled += 1
                progress.write_text(f"{compiled} of up to {total} packages of Kubernetes compiled\n", encoding="utf-8")
    return process.returncode


def packages(flags: t.Sequence[str]) -> int:
    """How many packages the program is made of; those that Go has compiled before are not compiled again."""
    module = [flag for flag in flags if flag.startswith("-mod=")]
    listed = subprocess.run(["go", "list", *module, "-deps", "."], capture_output=True, text=True, check=False)
    return len(listed.stdout.splitlines())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of lines that cannot be printed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from ansible_collections.nodecraft.kubeadm.tests.sessions.console import echo
echo("one")
echo("two")
print("at work", file=sys.stderr)
"""


def test_a_program_whose_output_goes_where_no_space_is_works_on() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "at work\n")

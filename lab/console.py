# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What demo, bench and the lab print."""

from __future__ import annotations

import os
import sys
import textwrap
import threading

_ONE_AT_A_TIME = threading.Lock()


def say(text: str) -> None:
    """Print at once, also into a pipe, and no line into another one."""
    with _ONE_AT_A_TIME:
        try:
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
        except BrokenPipeError:
            # Nobody reads any more. What is at work still has to end well.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(text: str = "", indent: int = 0) -> None:
    """Print within the width of a terminal."""
    for line in textwrap.wrap(text, 120 - indent, break_on_hyphens=False) or [""]:
        say(" " * indent + line)

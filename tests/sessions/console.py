# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the programs of this project print for a person. Standard library only: a target prints before anything is installed."""

from __future__ import annotations

import os
import sys
import threading

_ONE_AT_A_TIME = threading.Lock()


def echo(text: str) -> None:
    """Print at once, also into a pipe, and no line into another one."""
    with _ONE_AT_A_TIME:
        try:
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
        except OSError:
            # There is no reader any more, or what it goes to is full. What runs still has to end well, and its log has all of it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

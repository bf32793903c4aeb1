# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a playbook of a lab while no other one works on that lab: ``alone.py LAB COMMAND [ARGUMENT...]``."""

from __future__ import annotations

import os
import sys

from ansible_collections.nodecraft.kubeadm.lab.guard import lock_lab


def main() -> None:
    """Take the lock and become the command, which holds it until it ends, whatever becomes of who started it."""
    name, *command = sys.argv[1:]
    with lock_lab(name) as lock:
        os.set_inheritable(lock, True)
        os.execvp(command[0], command)


if __name__ == "__main__":
    main()

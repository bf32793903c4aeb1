# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The program that systemd starts for a component's open transaction.

The modules import this package, and pack it as one file that is put on the node and runs there alone, where neither a lost
connection nor the end of Ansible stops it:

    python3 -I engine.pyz /var/lib/nodecraft-kubeadm/kube-apiserver

So the package needs Python's standard library only, imports its own files relatively, and all of them at once: the packed
file may be replaced by another run before the program is at its end.
"""

from __future__ import annotations

import sys
import typing as t

from .engine_errors import EngineError, LockBusy
from .transaction import Engine

# The exit status that tells systemd not to start the engine again.
STUCK = 3


def main(arguments: t.Sequence[str]) -> int:
    """Finish the open transaction of a directory; for systemd."""
    if len(arguments) != 2:
        sys.stderr.write("usage: engine.pyz DIRECTORY\n")
        return 2
    try:
        return Engine(arguments[1]).run()
    except LockBusy as exc:  # systemd tries again
        sys.stderr.write(f"{arguments[1]}: {exc}\n")
        return 1
    except EngineError as exc:  # trying again would find the same
        sys.stderr.write(f"{arguments[1]}: {exc}\n")
        return STUCK
    except OSError as exc:
        sys.stderr.write(f"{arguments[1]}: {exc}\n")
        return 1

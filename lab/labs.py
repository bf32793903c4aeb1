# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab that a program starts for itself, and removes when it is interrupted."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.nodecraft.kubeadm.lab.runs import Lab
from ansible_collections.nodecraft.kubeadm.tests.sessions.console import echo


class OwnedLab:
    """Knows whether this program has made the lab. program: its target of the Makefile."""

    def __init__(self, lab: Lab, program: str) -> None:
        self.lab = lab
        self.program = program
        self._made = False

    def start(self, log: Path, seconds_after: float = 0) -> float:
        """Make it; returns the seconds that took. seconds_after: what the program usually takes from then on."""
        return self.lab.recreate(log, self.program, self._mark_made, seconds_after)

    def _mark_made(self) -> None:
        self._made = True

    @property
    def advice(self) -> str:
        """What to do after something that was not expected."""
        return (
            f"make {self.program} starts over with a new lab; make lab-down LAB={self.lab.name} only removes this one."
        )

    def remove(self, log: Path) -> None:
        """Remove it; one that stood before stays."""
        if not self._made:
            echo("Interrupted.")
            return
        echo(f"Interrupted: lab {self.lab.name} is being removed (usually 5 s), and Ctrl-C is ignored until then.")
        self.lab.play("down", log)
        echo(f"Lab {self.lab.name} is removed.")

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The arguments of a command line, each with the place that says it."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Source:
    """Where something is set."""

    path: str
    line: int

    def __str__(self) -> str:
        """As people write it."""
        return f"{self.path}:{self.line}"


@dataclasses.dataclass(frozen=True)
class Argument:
    """One argument of the command line. variable: the one out of whose words it is; None when C(ExecStart) says it as a whole."""

    text: str
    source: Source
    variable: str | None

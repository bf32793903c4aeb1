# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of a rehearsal."""

from __future__ import annotations

import dataclasses

ACCEPTED, REFUSED, SKIPPED, NOT_NEEDED = "accepted", "refused", "skipped", "not_needed"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The result of a rehearsal.

    verdict: accepted, refused, skipped (not possible for this component or not requested) or not_needed (nothing changes).
    message: the component's own message where there is one.
    seconds: how long it took.
    command: the command line that was run; empty when none was.
    warnings: of a change that is accepted, such as a feature gate that will be removed; each once, and with the program that printed it.
    """

    verdict: str
    message: str
    seconds: float = 0.0
    command: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Whether the component does not take the change."""
        return self.verdict == REFUSED

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting for other runs and open transactions that are at work on a node."""

from __future__ import annotations

import time
import typing as t

from ..._plan.common.errors import Busy
from . import engine_service
from .state import Run

# Between two looks: a few small files, a lock, and a question to systemd.
_LOOK_SECONDS = 1.0


class LockWait:
    """The time of one call of a module to wait for others, over all the components that it is about. seconds: counted from now on."""

    def __init__(
        self,
        seconds: float,
        *,
        clock: t.Callable[[], float] = time.monotonic,
        sleep: t.Callable[[float], None] = time.sleep,
    ) -> None:
        self._seconds = seconds
        self._limit = clock() + seconds
        self._clock = clock
        self._sleep = sleep

    def until_free(self, name: str, run: Run) -> bool:
        """Wait until nothing else is at work that would keep a change of this component out. Whether there was something to wait for.

        Without seconds it does not look. Raises Busy with what is still at work when the time is over.
        """
        waited = False
        while self._seconds > 0:
            try:
                engine_service.refuse_others(name, run=run)
                break
            except Busy:
                if self._clock() >= self._limit:
                    raise
            waited = True
            self._sleep(_LOOK_SECONDS)
        return waited

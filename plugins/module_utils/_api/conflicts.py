# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes that other writers get in the way of."""

from __future__ import annotations

import typing as t
from http import HTTPStatus

from .._plan.common.errors import KubeadmError
from .client import ApiError

ATTEMPTS = 20  # against other writers of the same object

Done = t.TypeVar("Done")


def retry_on_conflict(
    attempt: t.Callable[[], Done],
    replan: t.Callable[[ApiError], Done | None],
    *,
    others: str,
    statuses: t.Collection[int] = (HTTPStatus.CONFLICT,),
) -> Done:
    """Send what is planned, and plan again each time that another writer was quicker.

    attempt: sends the plan as it is then. replan: reads and plans again after such a refusal; it returns what an attempt would
    when nothing is left to send, because the object is already as planned, and nothing (None, False) to try again.
    others: what they did, for the error when they do not stop. statuses: of the refusals that another writer may have caused.
    """
    last = ""
    for _attempt in range(ATTEMPTS):
        try:
            return attempt()
        except ApiError as exc:
            if exc.status not in statuses:
                raise
            last = str(exc)
            done = replan(exc)
        if done:
            return done
    raise KubeadmError(f"{others} in each of {ATTEMPTS} attempts. The last answer was: {last}")

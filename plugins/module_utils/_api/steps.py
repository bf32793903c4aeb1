# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""What the steps of all modules that change objects of the API have in common."""

from __future__ import annotations

import functools
import typing as t

from .._plan.common.batch import joined
from .._plan.common.verdict import ACCEPTED, REFUSED, Verdict
from .client import Client, Connect, Json, Params
from .cluster_versions import version_warnings


class ApiSteps:
    """One run of a module. params: its options. dry: whether it is in check mode. diff: whether differences are reported."""

    def __init__(self, params: Params, *, connect: Connect, dry: bool, diff: bool = False) -> None:
        self._params = params
        self._connect = connect
        self._dry = dry
        self._diff = diff

    @functools.cached_property
    def _api(self) -> Client:
        """The API server. Credentials are looked for when it is first needed, which is after the options were checked."""
        return self._connect()

    def notes(self) -> list[str]:
        """Warn of versions that are not tested."""
        return version_warnings(self._api, self._nodes())

    def _nodes(self) -> t.Iterable[Json]:
        """The nodes that were read, if any."""
        return ()

    def _judge(self, ask: t.Callable[[], t.Sequence[str]], *, each: str) -> Verdict:
        """Have the API server judge changes without keeping them. ask: sends them and returns why some are declined."""
        began = self._api.clock()
        declined = ask()
        seconds = self._api.clock() - began
        if declined:
            return Verdict(REFUSED, joined(declined), seconds)
        return Verdict(ACCEPTED, f"the API server accepts {each} (dryRun=All)", seconds)


def difference(header: str, before: t.Any, after: t.Any) -> Json:
    """The entry of one object in a diff."""
    return {"before_header": header, "after_header": header, "before": before, "after": after}

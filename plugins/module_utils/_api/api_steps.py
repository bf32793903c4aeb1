# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the steps of all modules that change objects of the API have in common."""

from __future__ import annotations

import contextlib
import functools
import typing as t

from .._plan.common.batch import joined
from .._plan.common.verdict import ACCEPTED, REFUSED, Verdict
from .client import Client, Connect, Json, Params
from .cluster_versions import version_warnings

Observed = t.TypeVar("Observed")
Planned = t.TypeVar("Planned")


class ApiSteps(t.Generic[Observed, Planned]):
    """One run of a module. params: its options. diff: whether differences are reported."""

    unrehearsed = ""

    def __init__(self, params: Params, *, connect: Connect, diff: bool = False) -> None:
        self._params = params
        self._connect = connect
        self._diff = diff
        self._unverified: list[str] = []

    @functools.cached_property
    def _api(self) -> Client:
        """The API server. Credentials are looked for when it is first needed, which is after the options were checked."""
        return self._connect()

    @contextlib.contextmanager
    def session(self, *, dry: bool) -> t.Iterator[None]:
        """Check what was asked before anything is sent; nothing is held, since every write is tested against what was read."""
        self._check()
        yield

    def _check(self) -> None:
        """Check what was asked. Raises Refusal."""

    def notes(self, observed: Observed, *, dry: bool) -> list[str]:
        """Warn of versions that are not tested."""
        return version_warnings(self._api, self._nodes(observed))

    def _nodes(self, observed: Observed) -> t.Iterable[Json]:
        """The nodes that were read, if any."""
        return ()

    def preflight(self, observed: Observed, plan: Planned) -> t.Sequence[str]:
        """The API server judges the change."""
        return ()

    def verify(self, observed: Observed, plan: Planned, *, dry: bool) -> t.Sequence[str]:
        """What is there needs nothing."""
        return ()

    def finish(self, observed: Observed, plan: Planned, *, dry: bool) -> t.Sequence[str]:
        """Nothing is waited for."""
        return self._limits()

    def _limits(self) -> list[str]:
        """A warning of each thing that could not be verified, and the API server's own."""
        unverified = [f"not verified: {what}" for what in dict.fromkeys(self._unverified)]
        return [*unverified, *(f"the API server says: {text}" for text in self._api.warnings)]

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

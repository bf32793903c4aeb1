# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the steps of all modules that change objects of the API have in common: one object of many, how all are sent, and other writers."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys
import typing as t
from http import HTTPStatus

from .._plan.common.batch import joined
from .._plan.common.errors import KubeadmError
from .._plan.common.ownership import Change
from .._plan.common.verdict import ACCEPTED, REFUSED, Verdict
from .client import ApiError, Client, Connect, Json, Params
from .objects import version_warnings
from .parallel import for_each

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # ApiModule starts again with a Python that has it

_TEXT = "tag:yaml.org,2002:str"

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


def as_yaml(value: Json) -> str:
    """An object of the API in YAML, as kubectl writes it: keys in their order, and texts that would be read as something else in double quotes."""
    dumper: t.Any = type("Dumper", (yaml.SafeDumper,), {})
    dumper.add_representer(str, _represented)
    text: str = yaml.dump(value, Dumper=dumper, default_flow_style=False, width=sys.maxsize)
    return text


def _represented(dumper: t.Any, text: str) -> t.Any:
    is_text = dumper.resolve(yaml.ScalarNode, text, (True, False)) == _TEXT
    return dumper.represent_scalar(_TEXT, text, style=None if is_text else '"')


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


class Plan(t.Protocol):
    """What will be done to one object."""

    @property
    def operations(self) -> tuple[Change, ...]:
        """What changes."""


P = t.TypeVar("P", bound=Plan)


@dataclasses.dataclass
class Target(t.Generic[P]):
    """One object of a task. read: as it was when it was planned; empty when there is none. latest: as it was last seen. error: why it
    failed; empty when it did not. sent: whether the API server took the plan's patch. tried: false of one whose plan is not carried out.
    """

    name: str
    read: Json = dataclasses.field(default_factory=dict)
    latest: Json = dataclasses.field(default_factory=dict)
    plan: P | None = None
    error: str = ""
    note: str = ""
    sent: bool = False
    tried: bool = True

    @property
    def operations(self) -> tuple[Change, ...]:
        """What changes."""
        return self._planned if self.tried else ()

    @property
    def _planned(self) -> tuple[Change, ...]:
        return self.plan.operations if self.plan else ()

    @property
    def changed(self) -> bool:
        """Whether the API server took a change; in check mode, whether it would."""
        return self.sent and bool(self.operations)

    @property
    def changes(self) -> bool:
        """Whether it is, or was, going to change: it may have been done, and failed while its effect was waited for."""
        return bool(self.operations) and (self.sent or not self.error)

    def leave(self, why: str) -> None:
        """Note that it was not tried."""
        self.note, self.tried = f"not tried: {why}", False

    def report(self) -> Json:
        """The object's part of the result."""
        return {
            "changed": self.changed,
            "failed": bool(self.error),
            "msg": self.error or self.note,
            "operations": [change.described() for change in self._planned],
        }


T = t.TypeVar("T", bound="Target[t.Any]")


def send_each(targets: t.Sequence[T], send: t.Callable[[T], bool], params: Params, *, kind: str) -> None:
    """Send the changes of objects, so many at a time. send: returns whether it worked. params: of the module. kind: what one is."""
    for_each(targets, send, workers=params["concurrency"], stop_at_failure=params["on_error"] == "stop")
    leave_rest(targets, kind=kind)


def leave_rest(targets: t.Iterable[Target[t.Any]], *, kind: str) -> None:
    """Note of changes that were neither sent nor failed that they are not going to be tried. kind: what one object is."""
    for target in targets:
        if target.operations and not target.sent and not target.error:
            target.leave(f"another {kind} failed, and on_error is stop")

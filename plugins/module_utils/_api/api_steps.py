# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the modules that change objects of the API have in common: their steps, one object of many, sending all, and conflicts with other writers."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys
import typing as t
from http import HTTPStatus

from .._plan.common.batch import join_first
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
    """One run of a module, as C(runner.Steps) has it. params: its options. diff: whether differences are reported."""

    unrehearsed = ""

    def __init__(self, params: Params, *, connect: Connect, diff: bool = False) -> None:
        self._params = params
        self._connect = connect
        self._diff = diff
        self._unverified: list[str] = []

    @functools.cached_property
    def _api(self) -> Client:
        """The client of the API server. Credentials are read when it is first needed, which is after the options were checked."""
        return self._connect()

    @contextlib.contextmanager
    def session(self, *, dry: bool) -> t.Iterator[None]:
        """Check the options before anything is sent. No lock is needed, because every write is tested against what was read."""
        self._check_options()
        yield

    def _check_options(self) -> None:
        """Check the options. Raises Refusal."""

    def notes(self, observed: Observed, *, dry: bool) -> list[str]:
        """Warn of versions that are not tested."""
        return version_warnings(self._api, self._observed_nodes(observed))

    def _observed_nodes(self, observed: Observed) -> t.Iterable[Json]:
        """The nodes that were read, if any."""
        return ()

    def preflight(self, observed: Observed, plan: Planned) -> t.Sequence[str]:
        """The API server validates the change."""
        return ()

    def verify(self, observed: Observed, plan: Planned, *, dry: bool) -> t.Sequence[str]:
        """Nothing to check where nothing is to be changed."""
        return ()

    def finish(self, observed: Observed, plan: Planned, *, dry: bool) -> t.Sequence[str]:
        """Nothing is waited for."""
        return self._final_warnings()

    def _final_warnings(self) -> list[str]:
        """A warning of each thing that could not be verified, and the API server's own."""
        unverified = [f"not verified: {what}" for what in dict.fromkeys(self._unverified)]
        return [*unverified, *(f"the API server says: {text}" for text in self._api.warnings)]

    def _rehearse_by_dry_run(self, send: t.Callable[[], t.Sequence[str]], *, each: str) -> Verdict:
        """Have the API server validate changes without storing them. send: returns the errors. each: what is accepted, for the message."""
        started = self._api.clock()
        errors = send()
        seconds = self._api.clock() - started
        if errors:
            return Verdict(REFUSED, join_first(errors), seconds)
        return Verdict(ACCEPTED, f"the API server accepts {each} (dryRun=All)", seconds)


def diff_entry(header: str, before: t.Any, after: t.Any) -> Json:
    """The entry of one object in a diff."""
    return {"before_header": header, "after_header": header, "before": before, "after": after}


def to_yaml(value: Json) -> str:
    """An object of the API in YAML, as kubectl writes it: keys in their order, and texts that would be read as something else in double quotes."""
    dumper: t.Any = type("Dumper", (yaml.SafeDumper,), {})
    dumper.add_representer(str, _represent_text)
    text: str = yaml.dump(value, Dumper=dumper, default_flow_style=False, width=sys.maxsize)
    return text


def _represent_text(dumper: t.Any, text: str) -> t.Any:
    is_text = dumper.resolve(yaml.ScalarNode, text, (True, False)) == _TEXT
    return dumper.represent_scalar(_TEXT, text, style=None if is_text else '"')


MAX_ATTEMPTS = 20  # against other writers of the same object

Result = t.TypeVar("Result")


def retry_on_conflict(
    attempt: t.Callable[[], Result],
    replan: t.Callable[[ApiError], Result | None],
    *,
    cause: str,
    statuses: t.Collection[int] = (HTTPStatus.CONFLICT,),
) -> Result:
    """Send what is planned, and plan again after each conflict with another writer.

    attempt: sends the current plan. replan: reads and plans again after a conflict; it returns the result of an attempt when nothing
    is left to send, because the object is already as planned, and None or False to try again.
    cause: what the other writers did, for the error when they do not stop. statuses: of a conflict.
    """
    last = ""
    for _attempt in range(MAX_ATTEMPTS):
        try:
            return attempt()
        except ApiError as exc:
            if exc.status not in statuses:
                raise
            last = str(exc)
            result = replan(exc)
        if result:
            return result
    raise KubeadmError(f"{cause} in each of {MAX_ATTEMPTS} attempts. The last answer was: {last}")


class Plan(t.Protocol):
    """The plan for one object."""

    @property
    def operations(self) -> tuple[Change, ...]:
        """The changes, in order."""


P = t.TypeVar("P", bound=Plan)


@dataclasses.dataclass
class Target(t.Generic[P]):
    """One object of a task. read: as it was when it was planned; empty when there is none. latest: as it was last read. error: why it
    failed; empty when it did not. note: what else its message says, such as why it was not tried. sent: whether the API server accepted the
    plan's patch. tried: false where the plan is not carried out.
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
        """The changes, in order."""
        return self._planned if self.tried else ()

    @property
    def _planned(self) -> tuple[Change, ...]:
        return self.plan.operations if self.plan else ()

    @property
    def changed(self) -> bool:
        """Whether the API server accepted a change; in check mode, whether it would."""
        return self.sent and bool(self.operations)

    @property
    def has_diff(self) -> bool:
        """Whether a diff has it: it is going to change, or did, even if it failed while its effect was waited for."""
        return bool(self.operations) and (self.sent or not self.error)

    def skip(self, reason: str) -> None:
        """Record that it was not tried."""
        self.note, self.tried = f"not tried: {reason}", False

    def report(self) -> Json:
        """The result of this object."""
        return {
            "changed": self.changed,
            "failed": bool(self.error),
            "msg": self.error or self.note,
            "operations": [change.to_result() for change in self._planned],
        }


T = t.TypeVar("T", bound="Target[t.Any]")


def send_each(targets: t.Sequence[T], send: t.Callable[[T], bool], params: Params, *, kind: str) -> None:
    """Send the changes of objects, several at a time. send: returns whether it succeeded. params: of the module. kind: what one object is."""
    on_error = params["on_error"]
    for_each(targets, send, workers=params["concurrency"], stop_at_failure=on_error != "continue")
    skip_unsent(targets, kind=kind, on_error=on_error)


def skip_unsent(targets: t.Iterable[Target[t.Any]], *, kind: str, on_error: str) -> None:
    """Record of changes that were neither sent nor failed that they are not tried. kind: what one object is. on_error: the option."""
    for target in targets:
        if target.operations and not target.sent and not target.error:
            target.skip(f"another {kind} failed, and on_error is {on_error}")

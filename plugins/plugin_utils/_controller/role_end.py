# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The end of a role: what became of each host, and on one of them of all."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import typing as t

from ...module_utils._plan.common import typed
from ...module_utils._plan.common.typed import Mapped, ModuleResult
from ...module_utils._plan.transaction import report, rollout
from ...module_utils._plan.transaction.report import Part, Run
from ...module_utils._plan.transaction.results import PartResult, Report
from ...module_utils._plan.transaction.rollout import HostResults, PassEnd, RunSummary, StepResult
from .base_steps import Steps
from .module_runner import ModuleRunner
from .play_view import Json, PlayView
from .rollout_pass import RolloutPass

H = t.TypeVar("H", bound=HostResults[t.Any, t.Any])


class RoleSummary(Steps, t.Generic[H]):
    """The report about all hosts of one role, in one pass."""

    host_type: t.ClassVar[type[HostResults[t.Any, t.Any]]]
    # What there is once for all hosts, as a summary calls it; empty where each host is planned and changed by itself, and none of them may be missing.
    _shared_object = ""
    # What became of a part of a host.
    _part_type: t.ClassVar[type[PartResult]] = PartResult

    def __init__(self, play: PlayView, modules: ModuleRunner, role: str, settings: Json) -> None:
        super().__init__(play, modules, role, settings)
        # A class variable cannot have the type variable of its class.
        self._pass: RolloutPass[H] = RolloutPass(play, role, t.cast("type[H]", self.host_type))

    @property
    def _begin_register(self) -> str:
        return f"__{self._role}_begin"

    def summary(self) -> RunSummary:
        """Report what became of all hosts, from one of them: the only one that runs the task, or the first that can where each of them does."""
        participants = {name: host for name, host in self._reported_hosts.items() if host.start.pass_id}
        # Behind a failure the batch may have no host left.
        in_batch = {name: participants[name] for name in self._play.batch_hosts if name in participants} or participants
        if not self._play.is_run_once and rollout.choose_reporter(in_batch.items()) != self._play.host:
            return RunSummary()
        reports, hosts = self.all_reports(), list(participants)
        why = {name: host.end.why for name, host in self._reported_hosts.items() if not reports.get(name)}
        not_started = (
            [] if self._play.check_mode else [report.host_not_started(name, each) for name, each in why.items() if each]
        )
        later = sum(not self._pass.host(name).start.pass_id for name in self._play.excluded_by_serial())
        run = Run(
            hosts=hosts, parts=not_started, notes=self.notes(), causes=self.causes(), later=later, **self._run_fields
        )
        found = RunSummary.of(run.with_role(**self.run_fields(reports)), self.statistics(reports))
        return dataclasses.replace(found, passes={name: host.start.pass_id for name, host in participants.items()})

    @functools.cached_property
    def _reported_hosts(self) -> dict[str, H]:
        """The hosts that are reported. With C(serial), the batches before this one had summaries of their own."""
        summarized = {pair for _name, host in self._pass.all_hosts() for pair in host.summary.passes.items()}
        return {name: host for name, host in self._pass.all_hosts() if (name, host.start.pass_id) not in summarized}

    def all_reports(self) -> dict[str, Json]:
        """What became of all hosts, by host, as they have reported it, or others for those that were lost."""
        ends = {name: host.end for name, host in self._reported_hosts.items()}
        others = {name: dict(each) for end in ends.values() for name, each in end.others.items()}
        found = {**others, **{name: dict(end.report) for name, end in ends.items() if end.report}}
        return {name: found[name] for name in ends if name in found}

    @property
    def own(self) -> H:
        """What the tasks of the role left on this host."""
        return self._pass.own

    def failed_hosts(self) -> t.Iterator[str]:
        """The hosts that failed in this role, and did not only wait for their turn, and those because of which a turn was refused."""
        ends = (rollout.FAILED, rollout.LOST)
        for name, host in self._pass.all_hosts():
            if host.causes or host.state in ends:
                yield name
            elif host.state == rollout.REFUSED:
                yield from host.turn.stopped_by

    def notes(self) -> list[str]:
        """Report lines that belong to no single host."""
        return [line for host in self._reported_hosts.values() for line in host.end.lines]

    def causes(self) -> dict[str, list[str]]:
        """Why steps failed, by host."""
        return {name: causes for name, host in self._reported_hosts.items() if (causes := host.causes)}

    def run_fields(self, reports: t.Mapping[str, Json]) -> Json:
        """The reports of this role as fields of C(report.Run). reports: by host."""
        if self._shared_object:
            is_changed = any(typed.parse(ModuleResult, each).changed for each in reports.values())
            return {"objects": {self._shared_object: is_changed}}
        return {"parts": self._all_parts(reports)}

    def _all_parts(self, reports: t.Mapping[str, Json]) -> list[Part]:
        return [part for host, each in reports.items() for part in self._build_parts(host, self.parts_of(each))]

    def _build_parts(self, host: str, parts: Report) -> list[Part]:
        """The parts of a host, with their operations as texts."""
        return [self._build_part(host, name, result) for name, result in parts.items()]

    def _build_part(self, host: str, component: str, result: PartResult) -> Part:
        texts = []
        for each in result.operations or ():
            variable = self.variable_of(each.field)
            place = self._play.origin_of(host, variable) if each.no_longer_desired else ""
            texts.append(report.describe_operation(each, f"; {variable} is from {place}" if place else ""))
        return Part(host, component, result, tuple(texts))

    def variable_of(self, field: str) -> str:
        """The variable that sets all of a field."""
        return f"{self._role}_{field}"

    def statistics(self, reports: t.Mapping[str, Json]) -> Json:
        """The same as the statistics of a run have it, by name."""
        if self._shared_object:
            return {f"{self._role}_report": each for each in reports.values()}
        return {f"{self._role}_report": dict(reports)} if reports else {}

    @classmethod
    def parts_of(cls, report: Json) -> Report:
        """The parts of this role's report of a host, by name. report: as it is published."""
        given = {} if cls._shared_object else report
        return {name: typed.parse(cls._part_type, each) for name, each in given.items() if isinstance(each, dict)}


class RoleEnd(RoleSummary[H]):
    """The report about one host at its end."""

    def end(self) -> PassEnd:
        """Report what became of this host. It fails where that is not what was to be done and no task of it has failed for that: it was not started, or
        another host has sent what failed."""
        return self.end_because_of(lambda: itertools.islice(self.failed_hosts(), 1))

    def end_because_of(self, stopped_by: t.Callable[[], t.Iterable[str]]) -> PassEnd:
        """The same. stopped_by: returns the hosts that stopped the run, called where something of this host is left."""
        ended = self._end()
        given = dict(ended.report or {})
        parts = self.parts_of(given)
        missed = {} if self._play.check_mode else rollout.parts_not_started(parts, ())
        if missed:
            parts = {**parts, **rollout.parts_not_started(parts, list(stopped_by()))}
        own = self._pass.own
        # One that has failed already does not fail again.
        why = "" if own.has_failed else self.why_failed(parts) or self._why_left(given, stopped_by)
        own_report = self.with_parts(parts, given) if missed else ended.report
        return dataclasses.replace(ended, report=own_report, why=why)

    def _why_left(self, own_report: Json, stopped_by: t.Callable[[], t.Iterable[str]]) -> str:
        """Why a host fails of a role that is used alone: something is to change and was only planned, or nothing is known of it."""
        if self._play.variable("__play_roles", []):
            return ""
        number = self.count_pending(own_report) if self._fails_on_pending else 0
        is_unknown = (
            not self._shared_object
            and not self.parts_of(own_report)
            and self._pass.own.takes_part
            and not self._play.check_mode
        )
        stopped = list(stopped_by()) if is_unknown else []
        return report.pending_message(number) if number else rollout.not_planned_message(stopped) if stopped else ""

    def count_pending(self, own_report: Json) -> int:
        """How many operations a plan has. own_report: of this host. What there is once is one thing to change."""
        if self._shared_object:
            return int(typed.parse(ModuleResult, own_report).changed)
        return sum(len(each.operations or ()) for each in self.parts_of(own_report).values())

    def _end(self) -> PassEnd:
        """What became of this host; on one host also the lines of no single one. That one lets other runs in again."""
        raise NotImplementedError

    @staticmethod
    def with_parts(parts: Report, report: Json) -> Json:
        """A report with these parts instead of its own."""
        return {**report, **{name: dict(part.raw) for name, part in parts.items()}}

    def acknowledge(self) -> StepResult:
        """Fail this host for what became of it, and record on the node which outcomes are reported: the task of the end may run elsewhere. Only behind
        the end: a run that is killed before it has verified a change leaves the next one its outcome."""
        end = self._pass.own.end
        self.acknowledge_outcomes(end.report)
        return StepResult(failed=bool(end.why), msg=end.why)

    def acknowledge_outcomes(self, own_report: Mapped | None) -> None:
        """The same, of a report of this host."""
        for outcome in rollout.reported_transactions(self.parts_of(dict(own_report or {}))):
            self._modules.run("node_transaction", outcome, ModuleResult)

    def why_failed(self, parts: Report) -> str:
        """Why this host fails at the end, although no task of it did: its turn did not come, or another host found what is wrong with it. Empty when it
        does not."""
        return next((part.msg for part in parts.values() if part.failed), "")

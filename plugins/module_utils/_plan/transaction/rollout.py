# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What all rollouts have in common: who takes part, who decides for all, whose turn it is, and what ends it.

A host is known by what the tasks of its role left on it, in this pass or in one before: C(HostResults). Each role has a class of its own, with what
its steps hand on.
"""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ..common import typed
from ..common.batch import join_first
from ..common.ownership import Change
from ..common.plain import is_true
from ..common.typed import Mapped, ModuleResult
from ..kubernetes.clusters import ClusterIdentity
from . import report
from .api_host import ApiHost
from .report import Run, describe_operation
from .results import ChangeResult, Item, PartResult, Report

S = t.TypeVar("S")
P = t.TypeVar("P", bound=ModuleResult)
K = t.TypeVar("K")

STEPS = (
    "begin",
    "plan",
    "identify",
    "decide",
    "split",
    "record",
    "admit",
    "observe",
    "turn",
    "trace",
    "revert",
    "verify",
    "conclude",
    "apply",
    "compare",
    "end",
    "acknowledge",
    "report",
    "summary",
)
# Those of which a failure is no result of a change. A turn that does not start has its own result.
_DECIDING = ("identify", "decide", "admit", "apply", "verify", "conclude", "compare")
# Of a plan that failed, what others read: Ansible prints all that its task hands on, which were 9,000 characters for a gate that does not exist.
_OF_FAILED_PLAN = (
    "failed",
    "unreachable",
    "changed",
    "msg",
    "busy",
    "node",
    "cluster",
    "control_plane",
    "operations",
    "rehearsal",
    "open_transaction",
    "previous_transaction",
)
# How far a host is whose turn it was, is or will be: it is not started; it may not start; it was started and has no end; its connection broke; and so on.
WAITING, REFUSED, UNFINISHED, LOST, FAILED, DONE = "waiting", "refused", "unfinished", "lost", "failed", "done"


@dataclasses.dataclass(frozen=True)
class StepSettings:
    """What tasks of roles and playbooks give their steps, each some of these.

    plan_only: whether the step belongs to the plan of a playbook, which decides then whether anything is changed. poll_interval: the seconds between two
    observations. roles: of the run. named: the settings that variables name. in_pass: one of C(site.PASSES). recorded_roles: those that run once more.
    registers: of what was read. known: the names of variables. planes: hosts of control planes. target: a version. result: of a module.
    """

    plan_only: bool = typed.field_of(is_true, False)
    poll_interval: int = typed.field_of(int, 0)
    roles: t.Sequence[str] = ()
    named: t.Sequence[str] = ()
    in_pass: str = ""
    recorded_roles: t.Sequence[str] = ()
    registers: t.Sequence[str] = ()
    known: t.Sequence[str] = ()
    planes: t.Sequence[str] = ()
    target: str = ""
    result: Mapped = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class StepResult:
    """What the step of a rollout hands on. pass_id: of which pass of its host. The others are for Ansible."""

    pass_id: str = ""
    failed: bool = False
    unreachable: bool = False
    msg: str = typed.field_of(typed.as_one_line, "")
    warnings: t.Sequence[str] = ()

    @property
    def reason(self) -> str:
        """Why it failed."""
        return self.msg or "no answer"


@dataclasses.dataclass(frozen=True)
class PassStart(StepResult):
    """Of the step begin: whether the host uses the role. settings: what the others have to know of it. excluded: why the run does without it; empty when
    it takes part. plan: the result of the module that plans the host, with which the step fails; None without one."""

    at_work: bool = False
    settings: t.Any = None
    excluded: str = ""
    plan: Mapped | None = None


@dataclasses.dataclass(frozen=True)
class PassEnd(StepResult):
    """Of the step end. report: what became of the host. others: the same of hosts that cannot report it. lines: the report of no single host. changed,
    diff: of what another host has sent for this one. why: the host fails; empty when it does not. The next task fails with it: a failure shows all that
    its task hands on."""

    report: Mapped | None = None
    why: str = ""
    others: t.Mapping[str, Mapped] = dataclasses.field(default_factory=dict)
    lines: t.Sequence[str] = ()
    changed: bool = False
    diff: t.Sequence[t.Any] | None = None


@dataclasses.dataclass(frozen=True)
class PassSummary(StepResult):
    """Of the step summary, beside its lines. passes: the passes that they report, by host."""

    passes: t.Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class RunSummary(PassSummary):
    """Of the step summary. lines: for people. outcome: C(unchanged), C(changed), C(pending) or C(failed). hosts: by name, how many operations were
    made (C(changed)) and were not (C(pending)), and whether it C(failed)."""

    lines: t.Sequence[str] = ()
    outcome: str = ""
    hosts: t.Mapping[str, Mapped] = dataclasses.field(default_factory=dict)
    ansible_stats: Mapped | None = None

    @classmethod
    def of(cls, run: Run, reports: Mapped) -> RunSummary:
        """The last screen of a run. reports: what the statistics of the run have, by name."""
        statistics = {**reports, "nodecraft_kubeadm_pending": report.count_pending(run)}
        return cls(
            lines=report.report_lines(run),
            **report.report_data(run),
            # AWX keeps the statistics of the whole run only: reports of several roles come together there, and numbers are added.
            ansible_stats={"data": statistics, "per_host": False, "aggregate": True},
        )


@dataclasses.dataclass(frozen=True)
class LinesEnd(StepResult):
    """Of the steps end and summary of a playbook. lines: for people. report: for programs."""

    lines: t.Sequence[str] = ()
    report: Mapped | None = None
    ansible_stats: Mapped | None = None

    @classmethod
    def of(cls, name: str, data: Mapped, lines: t.Sequence[str]) -> LinesEnd:
        """With a report among the statistics of the run. name: of the report. data: it, for programs. lines: for people."""
        return cls(lines=lines, ansible_stats={"data": {name: data}, "per_host": False, "aggregate": False})


@dataclasses.dataclass(frozen=True)
class Decision(StepResult):
    """Of the step decide. coordinator: the host that decides for all. What a role adds is on that one only."""

    coordinator: str = ""


@dataclasses.dataclass(frozen=True)
class ClusterReaders(StepResult):
    """The hosts that may identify the cluster: the control planes."""

    api: tuple[ApiHost, ...] = typed.tuple_of(ApiHost.parse)


@dataclasses.dataclass(frozen=True)
class ClusterFound(StepResult):
    """Whose cluster the API has to be. api_reachable: false when the next host is to be tried. cluster: as modules take it. member, identity: the host
    that identified the cluster; None where none did."""

    api_reachable: bool = True
    api: ApiHost | None = None
    cluster: Mapped | None = None
    member: str = ""
    identity: ClusterIdentity | None = typed.field_of(ClusterIdentity)


@dataclasses.dataclass(frozen=True)
class Turn(StepResult):
    """Of the step turn. stopped_by: the hosts because of which it does not begin."""

    changes: tuple[Item, ...] = typed.tuple_of(Item)
    stopped_by: t.Sequence[str] = ()


class HostResults(t.Generic[S, P]):
    """What the tasks of a role left on one host, each parsed when it is read.

    registered: the result of a task by the short name of its register, as plain values; empty without one.
    """

    settings_type: t.ClassVar[type[t.Any]]
    start_type: t.ClassVar[type[PassStart]] = PassStart
    plan_type: t.ClassVar[type[t.Any]] = ModuleResult
    turn_type: t.ClassVar[type[Turn]] = Turn

    def __init__(self, registered: t.Callable[[str], Mapped]) -> None:
        self._registered = registered

    @functools.cached_property
    def start(self) -> t.Any:
        """How the present pass began, or the last one, as the role has it."""
        return self.result("begin", self.start_type)

    @functools.cached_property
    def end(self) -> PassEnd:
        """How this pass ended; an empty one before that."""
        return self.of_pass("end", PassEnd) or PassEnd()

    @functools.cached_property
    def summary(self) -> PassSummary:
        """The passes of this host that a summary has reported; none before that."""
        return self.result("summary", PassSummary)

    @functools.cached_property
    def settings(self) -> S:
        """The settings of the host when the pass began."""
        found: S = typed.parse(self.settings_type, self.start.settings or {})
        return found

    @functools.cached_property
    def plan(self) -> P:
        """The result of the module that plans; an empty one where it did not run."""
        found: P = typed.parse(self.plan_type, self.start.plan or {})
        return found

    def result(self, task: str, kind: type[K]) -> K:
        """The result of a module's task; an empty one where it did not run. It may be of an earlier pass: that it is of this one, the steps before and
        after it show."""
        return typed.parse(kind, self._registered(task))

    @functools.cached_property
    def changes(self) -> tuple[ChangeResult, ...]:
        """What the changes came to in this pass. A host that had no turn still has those of an earlier pass."""
        found = (
            typed.parse(ChangeResult, {**each, "item": each.get(each.get("ansible_loop_var", "item"))})
            for each in self._items("change")
        )
        return tuple(each for each in found if each.item and each.item.pass_id == self.start.pass_id)

    def of_pass(self, step: str, kind: type[K]) -> K | None:
        """The result of a step, if it is of the pass in which the host is at work."""
        found = self._registered(step)
        return typed.parse(kind, found) if found and found.get("pass_id", "") == self.start.pass_id else None

    @property
    def refusal(self) -> str:
        """Why the host did not begin this pass; empty where it did."""
        reason: str = self.start.reason
        return reason if self.start.failed and not self.start.at_work else ""

    @property
    def has_failed(self) -> bool:
        """Whether a task of this pass has failed on the host, its end too. One that was lost has not where Ansible ignores that."""
        steps = (self.start, *(each for step in _DECIDING for each in self._tries(step)))
        return bool(self.end.why) or any(each.failed for each in steps) or self.state in (REFUSED, FAILED)

    @property
    def causes(self) -> list[str]:
        """Why the host failed in this pass, before its end."""
        return self.failures

    @property
    def failures(self) -> list[str]:
        """Why steps of this pass failed on the host, also those that it took for all, and why it was lost."""
        if self.refusal:
            return [self.refusal]
        found = [self.start, *(each for step in _DECIDING for each in self._tries(step))]
        reasons = [each.reason for each in found if each.failed or each.unreachable]
        return list(dict.fromkeys([*reasons, *(each.msg or "no answer" for each in self.changes if each.unreachable)]))

    def _tries(self, step: str) -> t.Iterator[StepResult]:
        """The results of a step in this pass, which has several where its task loops. That of a module does not have its pass."""
        results = (typed.parse(StepResult, each) for each in self._items(step))
        return (each for each in results if each.pass_id in ("", self.start.pass_id))

    def _items(self, task: str) -> t.Sequence[Mapped]:
        """The results of a task: of each item where it loops."""
        registered = self._registered(task)
        return registered.get("results") or [registered]

    @functools.cached_property
    def turn(self) -> t.Any:
        """Of the step turn, as the role has it; None without one."""
        return self.of_pass("turn", self.turn_type)

    @property
    def is_at_work(self) -> bool:
        """Whether the host uses the role in this pass, and has not come to its end. One that skips it, now or in its last pass, has no such result."""
        return self.start.at_work and self.of_pass("end", PassEnd) is None

    @property
    def takes_part(self) -> bool:
        """Whether the host is planned and changed: it uses the role and can be reached."""
        return self.is_at_work and not self.start.excluded

    @property
    def has_started(self) -> bool:
        """Whether something was changed on the host, or may have been.

        A turn alone is no start: the play ends for all hosts of a batch when one of them may not begin.
        """
        return bool(self.changes)

    @property
    def is_completed(self) -> bool:
        """Whether the turn came to its end, good or bad."""
        return len(self.changes) == len(self.turn.changes)

    @property
    def is_unverified(self) -> bool:
        """Whether what is verified behind the changes is not as it has to be."""
        return False

    @functools.cached_property
    def state(self) -> str:
        """How far the host is, one of the states above."""
        if self.turn is None:
            return WAITING
        if self.turn.failed:
            return REFUSED
        if any(change.unreachable for change in self.changes):
            return LOST
        if any(change.failed for change in self.changes) or self.is_unverified:
            return FAILED
        return DONE if self.is_completed else UNFINISHED


H = t.TypeVar("H", bound=HostResults[t.Any, t.Any])
Hosts = t.Mapping[str, H]  # in the order of the play


def participants(hosts: Hosts[H]) -> dict[str, H]:
    """The hosts that take part."""
    return {name: host for name, host in hosts.items() if host.takes_part}


def excluded_hosts(hosts: Hosts[t.Any]) -> dict[str, str]:
    """The hosts that use the role and cannot be reached, with the reason."""
    return {name: host.start.excluded for name, host in hosts.items() if host.start.excluded}


def choose_coordinator(hosts: t.Iterable[tuple[str, HostResults[t.Any, t.Any]]]) -> str:
    """The host that decides and queries the API for all; empty without one. hosts: in the order of the play, read no further than needed.

    Where no host can be reached, the first one that uses the role refuses the run.
    """
    first = ""
    for name, host in hosts:
        if host.takes_part:
            return name
        if host.is_at_work:
            first = first or name
    return first


# ---- before the first write ------------------------------------------------------------------------------------------


def add_plan(start: PassStart, plan: ModuleResult) -> PassStart:
    """The beginning of a pass with the plan of its host, with which it fails or is lost."""
    if plan.unreachable and getattr(start.settings, "max_unreachable", False):
        return dataclasses.replace(start, excluded=plan.msg or "no answer")
    # A plan changes nothing. What it found is in its operations.
    found = {**plan.raw, "changed": False}
    if plan.has_failed:
        found = {name: found[name] for name in _OF_FAILED_PLAN if name in found}
    msg = (plan.msg or "no answer") if plan.has_failed else ""
    return dataclasses.replace(start, plan=found, failed=plan.failed, unreachable=plan.unreachable, msg=msg)


def planning_refusal(hosts: Hosts[t.Any], reachable: t.Collection[str]) -> str:
    """Why the plans do not allow a first write: a host that was lost, or whose plan failed; empty when they do.

    hosts: those that take part. reachable: the hosts that the play still has.
    """
    # With ignore_unreachable the play keeps a host that it could not reach.
    lost = [name for name, host in hosts.items() if name not in reachable or host.plan.unreachable]
    if lost:
        return f"{', '.join(lost)} failed or was lost while everything was planned. Repair that, or name the hosts of the run with --limit."
    failed = [name for name, host in hosts.items() if host.plan.failed]
    return f"{', '.join(failed)} cannot be changed as planned." if failed else ""


def step_refusal(hosts: Hosts[t.Any], step: str) -> str:
    """Why a turn must not begin yet: a host that has not come to a step, which a strategy that keeps its hosts in sync does not have."""
    missing = [name for name, host in hosts.items() if host.takes_part and host.of_pass(step, StepResult) is None]
    if not missing:
        return ""
    return (
        f"{', '.join(missing)} is not planned yet, so this play does not keep its hosts in sync: its strategy must be linear, without anything"
        " that takes hosts out of the order."
    )


def different_settings(hosts: Hosts[t.Any], names: t.Sequence[str]) -> str:
    """Which settings must be the same on all hosts and are not; empty when they are. names: of these settings, which are variables."""
    return different_values({name: vars(host.settings) for name, host in hosts.items()}, names)


def different_values(values: t.Mapping[str, Mapped], names: t.Sequence[str]) -> str:
    """The same of variables by host."""
    found = []
    for name in names:
        by_host = {host: each.get(name) for host, each in values.items()}
        first_host, first = next(iter(by_host.items()))
        other = next((host for host, value in by_host.items() if value != first), None)
        if other is not None:
            found.append(f"{name} is {first} on {first_host} and {by_host[other]} on {other}")
    if not found:
        return ""
    return f"{'; '.join(found)}. These variables must be the same on all hosts of the play."


def node_name_mismatch(hosts: Hosts[t.Any], variable: str) -> str:
    """Which hosts have another name in Kubernetes than a variable sets; empty for none. The name of a node stands in its plan."""
    found = [
        f"{variable} of {name} is {host.settings.node_name}, but its kubelet is registered as {host.plan.node}"
        for name, host in hosts.items()
        if host.settings.node_name and host.plan.node and host.settings.node_name != host.plan.node
    ]
    return f"{'; '.join(found)}. Correct the variable or the address of the host." if found else ""


def build_batches(planes: t.Sequence[str], others: t.Sequence[str], size: int) -> list[list[str]]:
    """Who is changed at the same time: control planes one by one, then the others. size: so many of the others at most."""
    return [[host] for host in planes] + [list(others[start : start + size]) for start in range(0, len(others), size)]


def describe_meanwhile(what: str, former: t.Iterable[Change], current: t.Iterable[Change]) -> list[str]:
    """A line for each setting that another run has changed between two plans of the same desired state. what: whose settings these are.

    former, current: the operations of these plans.
    """
    before, after = ({(each.field, each.key): each for each in plan} for plan in (former, current))
    found = []
    for place in {**before, **after}:
        planned, now = before.get(place), after.get(place)
        # What had nothing to change was as desired, and what has nothing to change any more is so now.
        was = planned.before if planned else now and now.after
        is_now = now.before if now else planned and planned.after
        if was == is_now:
            continue
        others = f"{what}: meanwhile another run: {describe_operation(Change(*place, was, is_now))}"
        found.append(f"{others}; this run: {describe_operation(now)}" if now else f"{others}, as this run was to")
    return found


# ---- a turn ----------------------------------------------------------------------------------------------------------


def turn_refusal(before: Hosts[t.Any]) -> str:
    """Why a turn must not begin; empty when it may. before: the hosts of the batch before this one, which were checked in the same way."""
    unfinished = [name for name, host in before.items() if host.state in (WAITING, UNFINISHED)]
    if unfinished:
        return (
            f"{', '.join(unfinished)} is not changed yet, so this play does not keep its hosts in sync: its strategy must be linear, without"
            " anything that takes hosts out of the order"
        )
    stopped = stopped_by(before)
    return f"{', '.join(stopped)} failed" if stopped else ""


def stopped_by(hosts: Hosts[t.Any]) -> list[str]:
    """The hosts that stopped a rollout, none where it goes on. A host that was refused its turn names those that stopped it.

    One that has no end counts where no other failed: the play ends for all hosts of a batch when one of them fails.
    """
    found: dict[str, None] = {}
    for name, host in hosts.items():
        if host.state == REFUSED:
            found.update(dict.fromkeys(host.turn.stopped_by or [name]))
        elif host.state in (FAILED, LOST):
            found[name] = None
    return list(found) or [name for name, host in hosts.items() if host.state == UNFINISHED]


# ---- the end ---------------------------------------------------------------------------------------------------------


def choose_reporter(hosts: t.Iterable[tuple[str, HostResults[t.Any, t.Any]]]) -> str:
    """The host that reports for all: the first that was not lost; empty without one. hosts: those that take part."""
    return next((name for name, host in hosts if host.state != LOST), "")


def not_started_result(stopped: t.Sequence[str]) -> dict[str, t.Any]:
    """The result of a host whose turn did not come, the same on all of them. stopped: the hosts that stopped the run, as far as known."""
    return {"failed": True, "started": False, "changed": False, "msg": not_changed_message(stopped)}


def not_changed_message(stopped: t.Sequence[str]) -> str:
    """Why a host fails whose turn did not come. stopped: as above."""
    return f"Not changed, because {end_reason(stopped)}."


def not_complete_message(stopped: t.Sequence[str]) -> str:
    """Why a host fails of which only a part was changed. stopped: as above."""
    return f"Not complete, because {end_reason(stopped)}."


def not_planned_message(stopped: t.Sequence[str]) -> str:
    """Why a host fails of which nothing is known, because the run ended before it had planned everything. stopped: as above."""
    return f"Not planned, because {end_reason(stopped)}."


def end_reason(stopped: t.Sequence[str]) -> str:
    """Why a run did not come to a host. stopped: as above."""
    return f"{join_first(stopped)} failed" if stopped else "the run ended before"


def parts_not_started(report: Report, stopped: t.Sequence[str]) -> Report:
    """The parts of a host that had something to change, of which nothing became because the run ended before. report: all parts. stopped: as above."""
    return {
        name: each.with_values(**not_started_result(stopped))
        for name, each in report.items()
        if each.operations and not each.changed and not each.failed and not each.started
    }


def reported_transactions(results: t.Mapping[str, PartResult]) -> list[dict[str, str]]:
    """The outcomes of transactions that a role has reported of a host, as options of C(node_transaction). results: by name of the transaction."""
    ended = {name: result.transaction or result.previous_transaction for name, result in results.items()}
    return [{"name": name, "id": each.id} for name, each in ended.items() if each and each.outcome]

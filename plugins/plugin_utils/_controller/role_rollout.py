# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the steps of all roles and playbooks share: how a pass begins, and how it is told of at its end."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible.module_utils.parsing.convert_bool import boolean

from ...module_utils._plan.common import role_variables, typed
from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.common.typed import ModuleResult
from ...module_utils._plan.kubernetes import access, clusters, coverage
from ...module_utils._plan.kubernetes.access import AccessResult
from ...module_utils._plan.transaction import rollout
from ...module_utils._plan.transaction.api_host import ApiHost
from ...module_utils._plan.transaction.results import KubeletInfo, PartResult, Report
from ...module_utils._plan.transaction.rollout import Decision, HostResults, Hosts, Pass, StepResult
from .module_runner import ModuleRunner
from .play_view import Json, PlayView
from .rollout_pass import RolloutPass

H = t.TypeVar("H", bound=HostResults[t.Any, t.Any])


@dataclasses.dataclass(frozen=True)
class ClusterFound(StepResult):
    """Whose cluster the API has to be. api_reachable: false when the next host is to be tried. cluster: as modules take it."""

    api_reachable: bool = True
    api: ApiHost | None = None
    cluster: Json | None = None


@dataclasses.dataclass(frozen=True)
class StepSettings:
    """What tasks of roles and playbooks give their steps, each some of these.

    plan_only: whether the step belongs to the plan of a playbook, which decides then whether anything is changed. look_again: the seconds between two
    looks. roles: of the run. named: the settings that variables name. in_pass: one of C(site.PASSES). noted: the roles that run once more. looks: the
    registers of what was read. known: the names of variables. planes: hosts of control planes. target: a version. result: of a module.
    """

    plan_only: bool = typed.one(boolean, False)
    look_again: int = typed.one(int, 0)
    roles: t.Sequence[str] = ()
    named: t.Sequence[str] = ()
    in_pass: str = ""
    noted: t.Sequence[str] = ()
    looks: t.Sequence[str] = ()
    known: t.Sequence[str] = ()
    planes: t.Sequence[str] = ()
    target: str = ""
    result: Json = dataclasses.field(default_factory=dict)


class Steps:
    """The steps of one role or playbook in one pass. settings: what the task of the step gives it."""

    def __init__(self, play: PlayView, modules: ModuleRunner, role: str, settings: Json) -> None:
        self._play = play
        self._modules = modules
        self._role = role
        self._settings = settings
        self._given = typed.parse(StepSettings, settings)

    def check(self, step: str) -> None:
        """Raise Refusal when a step cannot be taken now. step: its name."""

    @property
    def pass_id(self) -> str:
        """Of the pass in which the host is at work; empty for playbooks."""
        return ""

    @staticmethod
    def _refuse(reason: str) -> None:
        """Raise Refusal when there is a reason."""
        if reason:
            raise Refusal(reason)

    @staticmethod
    def _shown(lines: list[str]) -> Json:
        """The result of the step report. lines: of all hosts, on the one that speaks."""
        # As the module debug does it: shown without -v, too.
        return {"msg": lines, "_ansible_verbose_always": True} if lines else {}

    @staticmethod
    def _failed(why: str, lines: list[str]) -> Json:
        """The result of the step report on a host whose turn did not come. lines: of all hosts, if it is the one that speaks: each on its own."""
        return {"failed": True, "msg": why, **({"report": lines, "_ansible_verbose_always": True} if lines else {})}

    def _cluster(self, candidates: list[str], named: str) -> ClusterFound:
        """Read which cluster the node belongs to where the step runs, and decide who uses the API of that cluster.

        candidates: the control planes, each of which is tried until one responds. named: the host that the user names for the API.
        """
        here = self._play.delegate_host
        node = self._modules.run("kubelet_info", {}, KubeletInfo)
        if node.cluster is None and here != candidates[-1]:
            return ClusterFound(api_reachable=False)
        reachable = [here] if node.cluster else []
        api, *_others = self._play.api_hosts(self._play.control_planes(), named, reachable=reachable)
        return ClusterFound(api=api, cluster=clusters.expected({node.node: node.cluster} if node.cluster else {}))


# The first step, and those that are taken whatever became of it.
_AROUND = ("begin", "end", "report")


class RoleRollout(Steps, t.Generic[H]):
    """The steps of one role in one pass."""

    host_type: t.ClassVar[type[HostResults[t.Any, t.Any]]]
    # Whether the hosts of the play are what is changed, so that none of them may be missing.
    _changes_hosts = True
    # Whether each host is planned by itself, so that the results of one must not be those of all.
    _plans_each_host = True

    def __init__(self, play: PlayView, modules: ModuleRunner, role: str, settings: Json) -> None:
        super().__init__(play, modules, role, settings)
        # A class variable cannot have the type variable of its class.
        self._pass: RolloutPass[H] = RolloutPass(play, role, t.cast("type[H]", self.host_type))

    def check(self, step: str) -> None:
        """Raise Refusal when a step is taken without the first one, which would do nothing and say nothing."""
        if step not in _AROUND and not self.is_at_work:
            raise Refusal(
                f"Nothing was changed on {self._play.host}: the role {self._role} has not begun there. Run it from its first task, without"
                " --start-at-task."
            )

    @property
    def pass_id(self) -> str:
        """As in all steps."""
        return self._pass.own.current_pass.pass_id

    def begin(self) -> Pass:
        """Check what the role was given, and tell the other hosts what they have to know of this one.

        Raises Refusal when the role cannot serve this host, or not in this play.
        """
        self._refuse_variables()
        settings = self._checked_settings()
        lost = self._play.lost_hosts() if self._changes_hosts else []
        if lost:
            raise Refusal(
                f"Nothing was changed on {self._play.host}: nodes that failed, could not be reached or were ended earlier in this play cannot"
                f" be planned ({', '.join(lost)}). Repair them, or exclude them with --limit."
            )
        excluded = self._read_node()[1] if getattr(settings, "max_unreachable", 0) else ""
        return self._begun(settings, excluded)

    @staticmethod
    def _begun(settings: t.Any, excluded: str = "") -> Pass:
        """The result of the step begin. excluded: why this host cannot be reached; empty when it takes part."""
        return Pass(at_work=True, settings=settings, excluded=excluded)

    def _checked_settings(self) -> t.Any:
        """The settings of the step begin in their types. Raises Refusal for those that cannot be used."""
        raise NotImplementedError

    def _typed_settings(self, given: Json) -> t.Any:
        """Settings in the types of their class, from texts of templates."""
        kind = self.host_type.settings_type
        convert: dict[str, t.Callable[[t.Any], t.Any]] = {"bool": boolean, "int": int}
        types = {field.name: str(field.type) for field in dataclasses.fields(kind)}
        return typed.parse(
            kind, {name: convert.get(types.get(name, ""), lambda each: each)(value) for name, value in given.items()}
        )

    def _refuse_variables(self) -> None:
        """Raise Refusal when something is wrong with the role's variables or with the play."""
        specs, role, names = self._play.argument_specs(), self._role, set(self._play.variable_names())
        ignored = self._play.variable(f"{role}_ignored_variables", [])
        found = role_variables.objections(role, specs, names, ignored=ignored)
        texts = [
            objection
            for name, option in role_variables.options(specs).items()
            if name in names
            for objection in role_variables.value_objections(name, self._play.variable(name), option)
        ]
        strategy = self._play.unordered_strategy()
        if strategy:
            texts.append(
                f"invalid strategy {strategy}: must be linear, because a turn begins only when every host has planned."
            )
        if self._plans_each_host and self._play.is_run_once:
            texts.append(
                "invalid run_once true: must be false, because every host plans for itself. Name the hosts of the run with --limit."
            )
        objections = found + texts
        if objections:
            raise Refusal(f"Nothing was changed on {self._play.host}. {' '.join(objections)}")

    def _read_node(self) -> tuple[KubeletInfo, str]:
        """What the node tells of itself, and why it cannot be reached; empty when it can. What else is wrong with it, its plan tells."""
        node = self._modules.run("kubelet_info", {}, KubeletInfo)
        return node, (node.msg or "no answer") if node.unreachable else ""

    # ---- deciding for all --------------------------------------------------------------------------------------------

    def _excluded_refusal(self, hosts: Hosts[H]) -> str:
        """Why hosts that cannot be reached must not be skipped; empty when they may. hosts: all that use the role."""
        objection = coverage.objection(
            rollout.excluded(hosts),
            self._play.control_planes(),
            hosts=hosts,
            limit=self._pass.own.settings.max_unreachable,
            variable=f"{self._role}_max_unreachable",
        )
        return f"These {objection}" if objection else ""

    def _review(self, rights: t.Sequence[access.Right], cluster: Json | None, purpose: str) -> tuple[AccessResult, str]:
        """Review rights where the step runs. Returns the result, and why nothing may be changed; empty when the account has all rights, or no API
        server responds. purpose: what they are for, as C(access.refusal) takes it."""
        own = {"cluster": cluster} if cluster else {}
        result = self._modules.run("access_info", {"rights": access.question(rights), **own}, AccessResult)
        return result, access.refusal(result, purpose)

    @property
    def _plan_only(self) -> bool:
        """Whether the step belongs to the plan of a playbook, which decides then whether anything is changed."""
        return self._given.plan_only

    @property
    def _coordinator(self) -> H | None:
        """The results of the host that decides for all, as this host noted it in its own step decide; none before that."""
        own = self._pass.own.of_pass("decide", Decision)
        return self._pass.host(own.coordinator) if own and own.coordinator else None

    @property
    def is_at_work(self) -> bool:
        """Whether this host began the pass and has not ended it."""
        return self._pass.own.is_at_work

    def planned(self, hosts: t.Iterable[str] | None = None) -> dict[str, Report]:
        """What was planned, by host; of the roles that a playbook plans before it uses any. hosts: all that use the role, or these."""
        raise NotImplementedError

    def kubelet_refusal(self, repaired: t.Collection[str]) -> str:
        """Why a kubelet that does not work stops a whole run after its plan; empty when it does not. repaired: the hosts whose kubelets the run is
        about to change."""
        return ""

    def _named_in(self, host: str, variable: str) -> str:
        """Where a variable of a host comes from, as text behind a revert; empty where Ansible does not tell."""
        place = self._play.place_of(host, variable)
        return f"; {variable} is from {place}" if place else ""

    # ---- the end -----------------------------------------------------------------------------------------------------

    def end(self) -> Pass:
        """Tell what became of this host, and on one host of all."""
        raise NotImplementedError

    def _ended(self, report: Json, lines: t.Sequence[str] = (), others: Json | None = None) -> Pass:
        """The result of the step end. report: of this host. lines: of all, on the host that speaks. others: reports of hosts that cannot."""
        reports = {**(others or {}), **({self._play.host: report} if report else {})}
        # AWX keeps the statistics of the whole run only, so each host adds itself to one of those.
        stats = {"data": {f"{self._role}_report": reports}, "per_host": False, "aggregate": True}
        return Pass(report=report, lines=lines, ansible_stats=stats if reports else None)

    @staticmethod
    def parts_of(report: Json) -> Report:
        """The parts of this role's report of a host, by name. report: as it is published."""
        return {name: typed.parse(PartResult, each) for name, each in report.items() if isinstance(each, dict)}

    @staticmethod
    def published(parts: Report, report: Json) -> Json:
        """A report with other parts."""
        return {**report, **{name: dict(part.raw) for name, part in parts.items()}}

    def report(self) -> Json:
        """Show the lines on the host that speaks, and fail on a host whose turn did not come."""
        ended = self._pass.own.current_pass
        parts = self.parts_of(dict(ended.report or {}))
        self.acknowledge(parts)
        why = self.why_failed(parts)
        return self._failed(why, list(ended.lines)) if why else self._shown(list(ended.lines))

    def acknowledge(self, parts: Report) -> None:
        """Note on the node which outcomes were reported of it. Only as they are shown: a run that is killed before it has verified a change leaves
        the next one its outcome."""
        for outcome in rollout.reported(parts):
            self._modules.run("node_transaction", outcome, ModuleResult)

    def why_failed(self, parts: Report) -> str:
        """Why this host fails at the end, although no task of it did: its turn did not come. Empty when it did, or when there was nothing to change."""
        return next((part.msg for part in parts.values() if part.is_waiting), "")

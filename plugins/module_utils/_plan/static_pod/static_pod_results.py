# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the steps of the role C(control_plane) hand on, and what they leave on one host."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ..common import typed
from ..common.ownership import Change
from ..common.typed import Mapped, ModuleResult, Parsed
from ..kubernetes.clusters import ClusterIdentity
from ..transaction import rollout
from ..transaction.api_host import ApiHost
from ..transaction.messages import Transaction
from ..transaction.results import ComponentResult
from ..transaction.rollout import Decision, HostResults, PassStart, StepResult


@dataclasses.dataclass(frozen=True)
class PodState:
    """What is known of a static pod. problem: why it is not ready. unverified: what is not known of one that counts as ready."""

    name: str = ""
    ready: bool = False
    problem: str = ""
    unverified: t.Sequence[str] = ()
    open_transaction: Transaction | None = typed.field_of(Transaction)


@dataclasses.dataclass(frozen=True)
class PodsInfo(ModuleResult):
    """The result of the module C(static_pod_info). static_pods: None where they could not be read."""

    static_pods: tuple[PodState, ...] | None = typed.tuple_of(PodState, None)
    kubelet_problem: str = ""
    unreadable_files: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Persistable:
    """What of a static pod could be kept in kubeadm-config: settings by field and key, and what of ours could not."""

    settings: Mapped = dataclasses.field(default_factory=dict)
    others: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class PodPlan(ComponentResult):
    """The plan of one static pod. persistable: None without a plan. leads: whether it leads the others of its kind."""

    persistable: Persistable | None = typed.field_of(Persistable)
    leads: bool = False


@dataclasses.dataclass(frozen=True)
class KubeadmConfig(Parsed):
    """kubeadm-config as a node read it. problem: why it could not. version: of the API server of the node."""

    problem: str = ""
    text: str = ""
    record: str = ""
    control_planes: t.Sequence[str] = ()
    version: str = ""


@dataclasses.dataclass(frozen=True)
class PodPlans(ModuleResult):
    """The result of the module C(static_pod_plan). others: the static pods that are not planned; None where they could not be read."""

    node: str = ""
    cluster: ClusterIdentity | None = typed.field_of(ClusterIdentity)
    static_pods: t.Mapping[str, PodPlan] = typed.mapping_of(PodPlan)
    others: t.Mapping[str, PodState] | None = typed.mapping_of(PodState, is_optional=True)
    kubeadm_config: KubeadmConfig | None = typed.field_of(KubeadmConfig)
    kubelet_problem: str = ""
    unreadable_files: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class StaticPodSettings:
    """What the others have to know of a host. What one host decides for all has its full name.

    static_pods: the names of those that are planned. persists: whether this is the last pass of the run. desired: a digest of the desired state.
    vaulted: its keys whose values come from a vault.
    """

    control_plane_lease: bool = True
    control_plane_lease_takeover: bool = False
    control_plane_resume: bool = False
    control_plane_api_host: str = ""
    control_plane_persist: bool = False
    control_plane_persist_env: t.Sequence[str] | None = None
    control_plane_persist_feature_gates: t.Sequence[str] | None = None
    persists: bool = True
    static_pods: t.Sequence[str] = ()
    lock_timeout: int = 0
    wait_timeout: int = 0
    min_ready_seconds: int = 0
    confirm: bool = False
    confirm_timeout: int = 0
    node_name: str = ""
    desired: str = ""
    purge: bool = False
    vaulted: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class StaticPodStart(PassStart):
    """Of the step begin. api: who may use the API, best first. at: when the pass began, in seconds since 1970."""

    api: tuple[ApiHost, ...] = typed.tuple_of(ApiHost.parse)
    at: float = 0.0


@dataclasses.dataclass(frozen=True)
class LeaseState:
    """What is known of the Lease. alone: whether the run goes on without it. stale: whether another run may have changed something since the plan."""

    held: bool = False
    alone: bool = False
    stale: bool = False


@dataclasses.dataclass(frozen=True)
class PlannedChange:
    """One operation of a plan: on which static pod of which host."""

    host: str = ""
    pod: str = ""
    change: Change = typed.field_of(Change)


@dataclasses.dataclass(frozen=True)
class StaticPodDecision(Decision):
    """Of the step decide. planned: the hosts of the rollout. turns: those that change, in their order. planned_at, at: in seconds since 1970, when
    everything was planned, and when this was decided. persists: whether kubeadm-config is to be written. is_ready: whether the first turn may begin
    without another observation. report_warnings: for the report. outdated: what was planned before another run may have changed something."""

    api_reachable: bool = True
    plan_only: bool = False
    planned: t.Sequence[str] = ()
    turns: t.Sequence[str] = ()
    planned_at: float = 0.0
    at: float | None = None
    lease: LeaseState = typed.field_of(LeaseState, LeaseState())
    report_warnings: t.Sequence[str] = ()
    outdated: tuple[PlannedChange, ...] = typed.tuple_of(PlannedChange)
    persists: bool = False
    is_ready: bool = False


@dataclasses.dataclass(frozen=True)
class IncludedFile:
    """A file of tasks that a host includes. host: whose turn it is."""

    file: str = ""
    host: str = ""


@dataclasses.dataclass(frozen=True)
class OwnShare(StepResult):
    """Of the step admit: what one host does. files: of tasks, in their order. rounds: where turns are not in the order of the play, what it
    includes in each round of all hosts, with what follows all turns in the last one; round_numbers: of these, from 0. observes: the hosts that are
    observed before its turn. verifies: those on which the last host verifies kubeadm-config. turn_api, end_api: who uses the API for it."""

    files: tuple[IncludedFile, ...] = typed.tuple_of(IncludedFile)
    rounds: tuple[tuple[IncludedFile, ...], ...] = ()
    round_numbers: t.Sequence[int] = ()
    observes: t.Sequence[str] = ()
    verifies: t.Sequence[str] | None = None
    turn_api: ApiHost | None = typed.field_of(ApiHost.parse)
    end_api: ApiHost | None = typed.field_of(ApiHost.parse)


@dataclasses.dataclass(frozen=True)
class TracedChange:
    """A change that is to be reverted: on which host, of which static pod, and the id of its transaction."""

    host: str = ""
    pod: str = ""
    transaction: str = ""


@dataclasses.dataclass(frozen=True)
class ChangesTraced(StepResult):
    """Of the step trace. reverts: newest first. why: they are reverted."""

    reverts: tuple[TracedChange, ...] = typed.tuple_of(TracedChange)
    why: str = ""


@dataclasses.dataclass(frozen=True)
class ChangeReverted(StepResult):
    """Of the step revert: what became of one of them. result: of the module that reverted it."""

    change: TracedChange = typed.field_of(TracedChange, TracedChange())
    result: ComponentResult | None = typed.field_of(ComponentResult)


@dataclasses.dataclass(frozen=True)
class ChangesReverted:
    """Of a loop with the step revert."""

    results: tuple[ChangeReverted, ...] = typed.tuple_of(ChangeReverted)


@dataclasses.dataclass(frozen=True)
class PodsObserved(StepResult):
    """Of the step observe: the static pods of one host before a turn. static_pods: None where they could not be read, msg says why. awaited: what the
    turn waits for, the host itself where it does not answer."""

    host: str = ""
    static_pods: tuple[PodState, ...] | None = typed.tuple_of(PodState, None)
    awaited: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Observations:
    """Of a loop with the step observe."""

    results: tuple[PodsObserved, ...] = typed.tuple_of(PodsObserved)


@dataclasses.dataclass(frozen=True)
class Rehearsed:
    """Whether a component takes what kubeadm would generate."""

    component: str = ""
    verdict: str = ""
    message: str = ""


@dataclasses.dataclass(frozen=True)
class ConfigVerified(StepResult):
    """Of the step verify: what kubeadm would generate on one host. unreachable: whether the host was lost meanwhile."""

    host: str = ""
    unreachable: bool = False
    rehearsed: tuple[Rehearsed, ...] = typed.tuple_of(Rehearsed)


@dataclasses.dataclass(frozen=True)
class ConfigsVerified:
    """Of a loop with the step verify."""

    results: tuple[ConfigVerified, ...] = typed.tuple_of(ConfigVerified)


@dataclasses.dataclass(frozen=True)
class ConfigWritten(StepResult):
    """Of the step apply: what was written into kubeadm-config."""

    changed: bool = False
    operations: t.Sequence[t.Any] | None = None
    diff: t.Any = None
    version: str | None = None
    seconds: float | None = None


class StaticPodHost(HostResults[StaticPodSettings, PodPlans]):
    """What the tasks of the role left on one host."""

    settings_type = StaticPodSettings
    start_type = StaticPodStart
    plan_type = PodPlans

    @functools.cached_property
    def decision(self) -> StaticPodDecision | None:
        """Of the step decide; None before that."""
        return self.of_pass("decide", StaticPodDecision)

    @functools.cached_property
    def own_share(self) -> OwnShare | None:
        """Of the step admit; None before that."""
        return self.of_pass("admit", OwnShare)

    @functools.cached_property
    def observations(self) -> tuple[PodsObserved, ...]:
        """What was observed before the turn of the host."""
        return self.result("observe", Observations).results

    @functools.cached_property
    def traced(self) -> ChangesTraced:
        """Of the step trace; an empty one where it was not taken."""
        return self.of_pass("trace", ChangesTraced) or ChangesTraced()

    @functools.cached_property
    def reverted(self) -> tuple[ChangeReverted, ...]:
        """What was reverted on other hosts because of this one."""
        results = self.result("revert", ChangesReverted).results
        return tuple(each for each in results if each.pass_id == self.start.pass_id)

    @functools.cached_property
    def verified(self) -> tuple[ConfigVerified, ...]:
        """What kubeadm would generate, by the host that it is about."""
        results = self.result("verify", ConfigsVerified).results
        return tuple(each for each in results if each.pass_id == self.start.pass_id)

    @functools.cached_property
    def written(self) -> ConfigWritten | None:
        """Of the step apply; None where it was not taken."""
        return self.of_pass("apply", ConfigWritten)

    @functools.cached_property
    def planned_pods(self) -> dict[str, PodState]:
        """What the plan knows of the static pods of the host, also of those that are not planned."""
        planned = {name: typed.parse(PodState, pod.raw) for name, pod in self.plan.static_pods.items()}
        return {**(self.plan.others or {}), **planned}

    @property
    def is_gone(self) -> bool:
        """Whether the connection to the host broke while it was planned or changed."""
        return self.plan.unreachable or self.result("change", ModuleResult).unreachable

    @property
    def is_busy(self) -> bool:
        """Whether the host failed only because it waited for another run in vain, which is no failed rollout."""
        return bool(self.changes) and self.changes[-1].busy

    @property
    def has_stopped(self) -> bool:
        """Whether the host failed or was lost, when it was planned or in its turn."""
        return self.plan.failed or self.state in (rollout.FAILED, rollout.LOST)

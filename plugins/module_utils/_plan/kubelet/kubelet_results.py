# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the steps of the role C(node_kubelet) hand on, and what they leave on one host."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ..common import typed
from ..kubernetes.clusters import ClusterIdentity
from ..transaction.api_host import ApiHost
from ..transaction.messages import COMMITTED, Transaction
from ..transaction.results import ChangeResult, ComponentResult, PodLosses
from ..transaction.rollout import Decision, HostResults, StepResult, Turn

Expected = t.Mapping[str, t.Mapping[str, t.Any]]  # what /configz is compared with, as C(feature_gates) and C(config)


@dataclasses.dataclass(frozen=True)
class KubeletSettings:
    """What the others have to know of a host. What one host decides for all has its full name. at: when it began, in seconds since 1970."""

    node_kubelet_max_unavailable: int = 1
    node_kubelet_check_api: bool = True
    node_kubelet_api_host: str = ""
    node_kubelet_lease: bool = True
    lease_takeover: bool = False
    max_unreachable: int = 0
    node_name: str = ""
    force: bool = False
    wait_timeout: int = 0
    min_ready_seconds: int = 0
    lock_timeout: int = 0
    node_kubelet_resume: bool = False
    allocatable_timeout: int = 0
    canary: bool = True
    canary_namespace: str = ""
    canary_image: str = ""
    state: str = "present"
    feature_gates: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    config: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    at: float = 0.0


@dataclasses.dataclass(frozen=True)
class ObservedBefore:
    """What a run has observed of a kubelet through the API before its change. canary: the steps that worked. allocatable: of device plugins, as numbers."""

    canary: t.Sequence[str] = ()
    allocatable: t.Mapping[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class KubeletTransaction(Transaction):
    """The change of a kubelet. problem: why it does not count as verified; empty where that is not known."""

    problem: str = ""
    observed_before: ObservedBefore = typed.field_of(ObservedBefore, ObservedBefore())


@dataclasses.dataclass(frozen=True)
class KubeletPlan(ComponentResult):
    """The result of the module C(kubelet) in check mode. control_plane: why the node counts as one; empty when it does not.
    limits: what the kubelet will leave to pods; None when the change does not affect it. sandbox_image: with which its runtime begins every pod."""

    previous_transaction: KubeletTransaction | None = typed.field_of(KubeletTransaction)
    cluster: ClusterIdentity = typed.field_of(ClusterIdentity)
    control_plane: t.Sequence[str] = ()
    limits: t.Any = None
    sandbox_image: str = ""


@dataclasses.dataclass(frozen=True)
class KubeletDecision(Decision):
    """Of the step decide. candidates: who may use the API, api: the same, best first. batches: who is changed at the same time. file: of the role's tasks,
    which hosts with a turn include. compares: who may use the API to compare kubelets where none is changed."""

    planned: t.Sequence[str] = ()
    excluded: t.Sequence[str] = ()
    candidates: t.Sequence[str] = ()
    api: tuple[ApiHost, ...] = typed.tuple_of(ApiHost.parse)
    batches: t.Sequence[t.Sequence[str]] = ()
    file: str = ""
    compares: tuple[ApiHost, ...] = typed.tuple_of(ApiHost.parse)


@dataclasses.dataclass(frozen=True)
class LeaseState:
    """The Lease of a rollout. at: when it was renewed last, in seconds since 1970. stale: whether another run held it since everything was planned."""

    at: float = 0.0
    cluster: t.Any = None
    stale: bool = False


@dataclasses.dataclass(frozen=True)
class Comparison(StepResult):
    """Of the step compare, and of what admit compares. mismatches: why kubelets with nothing to change do not count as using what is desired, by
    host. report_lines: for people."""

    api_reachable: bool = True
    refusal: str = ""
    mismatches: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    report_lines: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class IncludedBatch:
    """A file of tasks that the hosts of a batch include together."""

    file: str = ""
    hosts: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Admission(Comparison):
    """Of the step admit. files: what the host includes. batches, before: its batch as a list, and the hosts of the one before it. The rest is of the
    coordinator.

    missing: the nodes of the cluster that are not in this run. restart_refusals: against the restart of single hosts. allocatable: of device plugins before
    it, by host; None where that is not known.
    """

    api: ApiHost | None = typed.field_of(ApiHost.parse)
    files: tuple[IncludedBatch, ...] = typed.tuple_of(IncludedBatch)
    batches: t.Sequence[t.Sequence[str]] = ()
    before: t.Sequence[str] = ()
    cluster: t.Any = None
    missing: t.Sequence[str] = ()
    restart_refusals: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    allocatable: t.Mapping[str, t.Mapping[str, int] | None] = dataclasses.field(default_factory=dict)
    lease: LeaseState | None = typed.field_of(LeaseState)


@dataclasses.dataclass(frozen=True)
class KubeletTurn(Turn):
    """Of the step turn. allocatable: what device plugins offer before the restart. running: the pods that run then; None with unwatched_reason, why they are
    not known. observation_timeout: how long the node waits until it is observed; 0 where it is not. canary: the steps of a canary before the change, each with
    its problem. unobserved: why that shows nothing."""

    api: ApiHost | None = typed.field_of(ApiHost.parse)
    lease: LeaseState | None = typed.field_of(LeaseState)
    allocatable: t.Mapping[str, int] = dataclasses.field(default_factory=dict)
    running: t.Mapping[str, t.Any] | None = None
    unwatched_reason: str = ""
    observation_timeout: int = 0
    observed_before: ObservedBefore | None = typed.field_of(ObservedBefore)
    canary: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    unobserved: str = ""


@dataclasses.dataclass(frozen=True)
class Verification(StepResult):
    """Of the step verify. pods: what became of those that ran before. losses: what worked before the change and does not now, for which the node rolls it
    back. problem: what it does not roll back. ended_pods: the part of that which no later run can observe. unobserved: what is not known. The conclusion
    fails with these: the node has to hear of it before."""

    pods: PodLosses | None = typed.field_of(PodLosses)
    losses: str = ""
    problem: str = ""
    ended_pods: str = ""
    unobserved: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Conclusion(StepResult):
    """Of the step conclude. result: the keys of the change's result that differ because its transaction has ended since."""

    result: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)


class KubeletHost(HostResults[KubeletSettings, KubeletPlan]):
    """What the tasks of the role left on one host."""

    settings_type = KubeletSettings
    plan_type = KubeletPlan
    turn_type = KubeletTurn

    @functools.cached_property
    def decision(self) -> KubeletDecision:
        """Of the step decide; empty before that."""
        return self.of_pass("decide", KubeletDecision) or KubeletDecision()

    @functools.cached_property
    def admission(self) -> Admission | None:
        """Of the step admit; None before that."""
        return self.of_pass("admit", Admission)

    @functools.cached_property
    def comparison(self) -> Comparison | None:
        """Of the step compare, or of what admit compared."""
        # A playbook compares once more after its changes.
        return self.of_pass("compare", Comparison) or self.admission

    @functools.cached_property
    def verification(self) -> Verification | None:
        """Of the step verify; None before that."""
        return self.of_pass("verify", Verification)

    @functools.cached_property
    def conclusion(self) -> Conclusion | None:
        """Of the step conclude; None before that."""
        return self.of_pass("conclude", Conclusion)

    @property
    def is_completed(self) -> bool:
        """As in all rollouts."""
        return self.conclusion is not None

    @property
    def doubt(self) -> StepResult | None:
        """The step behind the change that failed; None without one."""
        return next((each for each in (self.conclusion, self.verification) if each and each.failed), None)

    @property
    def is_unverified(self) -> bool:
        """As in all rollouts."""
        return self.doubt is not None

    @property
    def change(self) -> ChangeResult | None:
        """The result of the one change of a turn, with the end of its transaction; None when it was not started."""
        started = next(iter(self.changes), None)
        return started.with_values(**self.conclusion.result) if started and self.conclusion else started

    @property
    def has_turn(self) -> bool:
        """Whether there is something to change, or a change that an earlier run left open."""
        return self.plan.has_work

    @property
    def unverified_change(self) -> KubeletTransaction | None:
        """The change of an earlier run that stands and that no run has verified to the end; None without one."""
        previous = self.plan.previous_transaction
        return previous if previous and previous.outcome == COMMITTED and self.settings.node_kubelet_check_api else None

    @property
    def is_control_plane(self) -> bool:
        """Whether a control plane runs there."""
        return bool(self.plan.control_plane)

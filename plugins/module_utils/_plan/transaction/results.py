# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Results of the modules that a rollout runs, as far as it decides by them. Their documentation describes each key."""

from __future__ import annotations

import dataclasses
import typing as t

from ..common import typed
from ..common.ownership import Change
from ..common.typed import Mapped, ModuleResult
from ..common.verdict import Verdict
from ..kubernetes.clusters import ClusterIdentity
from .messages import Transaction


@dataclasses.dataclass(frozen=True)
class EndedPod:
    """A pod that a restart of its kubelet ended, or would end: namespace and name, and why."""

    pod: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.pod} ({self.reason})"


@dataclasses.dataclass(frozen=True)
class PodLosses:
    """What became of the pods that ran before a kubelet was restarted."""

    watched: int = 0
    lost: tuple[EndedPod, ...] = typed.tuple_of(EndedPod)
    restarted: tuple[EndedPod, ...] = typed.tuple_of(EndedPod)
    deleted: t.Sequence[str] = ()
    unknown: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class PartResult(ModuleResult):
    """What is planned of a part of a node, or was done to it: of a static pod, of its kubelet, or of a kind of what its Node has.

    operations: None where there is no plan. started: only in reports of a rollout, None where there was nothing to change.
    step_failed: only of a kubelet that does not use what is desired, or cannot be compared; whether the step that compared it has failed for that.
    """

    problem: str = ""
    operations: tuple[Change, ...] | None = typed.tuple_of(Change, None)
    transaction: Transaction | None = typed.field_of(Transaction)
    previous_transaction: Transaction | None = typed.field_of(Transaction)
    open_transaction: Transaction | None = typed.field_of(Transaction)
    started: bool | None = None
    step_failed: bool | None = None

    @property
    def has_work(self) -> bool:
        """Whether there is something to change, or to end of an earlier run."""
        return bool(self.operations or self.open_transaction)

    @property
    def is_waiting(self) -> bool:
        """Whether its turn did not come."""
        return self.failed and self.started is False


Report = t.Mapping[str, PartResult]  # of the parts of a host, by name


@dataclasses.dataclass(frozen=True)
class ComponentResult(PartResult):
    """The same of a static pod or a kubelet, as their modules return it. left_alone, lost: keys by field. reverted: only in reports of a rollout, whether
    the run has reverted its own change."""

    node: str = ""
    rehearsal: Verdict | None = typed.field_of(Verdict)
    unverified: t.Sequence[str] = ()
    left_alone: t.Mapping[str, t.Sequence[str]] = dataclasses.field(default_factory=dict)
    lost: t.Mapping[str, t.Sequence[str]] = dataclasses.field(default_factory=dict)
    reverts: str = ""
    reverted: bool = False
    snapshot: str = ""
    pods: PodLosses | None = typed.field_of(PodLosses)


@dataclasses.dataclass(frozen=True)
class Item:
    """One change of a turn. name: of the component."""

    name: str = ""
    pass_id: str = ""


@dataclasses.dataclass(frozen=True)
class ChangeResult(ComponentResult):
    """The result of one change of a turn."""

    item: Item = typed.field_of(Item)


@dataclasses.dataclass(frozen=True)
class Difference:
    """Where a kubelet does not use what is expected."""

    field: str = ""
    key: str = ""
    expected: t.Any = None
    found: t.Any = None


@dataclasses.dataclass(frozen=True)
class KubeletConfig:
    """What a kubelet uses, as C(node_resource_info) compares it. problem: why it could not be read."""

    differences: tuple[Difference, ...] = typed.tuple_of(Difference)
    problem: str = ""


@dataclasses.dataclass(frozen=True)
class ExtendedResource:
    """What a node has of an extended resource, numbers as text. device_plugin: whether the kubelet has it from one."""

    capacity: str = ""
    allocatable: str = ""
    device_plugin: bool = False


@dataclasses.dataclass(frozen=True)
class NodeInfo:
    """What C(node_resource_info) returns for a node; None for what was not requested. readmission: pods that a restarted kubelet would reject."""

    labels: Mapped = dataclasses.field(default_factory=dict)
    extended_resources: t.Mapping[str, ExtendedResource] = typed.mapping_of(ExtendedResource)
    readmission: tuple[EndedPod, ...] = typed.tuple_of(EndedPod)
    running: Mapped | None = None
    losses: PodLosses | None = typed.field_of(PodLosses)
    kubelet: KubeletConfig | None = typed.field_of(KubeletConfig)


@dataclasses.dataclass(frozen=True)
class NodesInfo(ModuleResult):
    """The result of C(node_resource_info). nodes: None where they are not known."""

    nodes: t.Mapping[str, NodeInfo] | None = typed.mapping_of(NodeInfo, is_optional=True)

    def of(self, node: str) -> NodeInfo:
        """The information on a node; an empty one without any."""
        return (self.nodes or {}).get(node) or NodeInfo()


@dataclasses.dataclass(frozen=True)
class Argument:
    """One argument of a kubelet's command line."""

    argument: str = ""


@dataclasses.dataclass(frozen=True)
class KubeletInfo(ModuleResult):
    """The result of C(kubelet_info). cluster, arguments: None where the kubelet was not read. control_plane: why the node counts as one; else empty."""

    node: str = ""
    cluster: ClusterIdentity | None = typed.field_of(ClusterIdentity)
    control_plane: t.Sequence[str] = ()
    arguments: tuple[Argument, ...] | None = typed.tuple_of(Argument, None)


@dataclasses.dataclass(frozen=True)
class MissingProof:
    """What a Lease keeps of a change that is not proven: the nodes that were changed, and who led when."""

    nodes: t.Sequence[str] = ()
    leader: str = ""
    at: str = ""


@dataclasses.dataclass(frozen=True)
class LeaseResult(ModuleResult):
    """The result of C(rollout_lease). api_reachable: None where no API server was queried. missing_proofs: changes that are not proven, by component."""

    api_reachable: bool | None = None
    holder: str = ""
    taken_over_from: str = ""
    stale: bool = False
    missing_proofs: t.Mapping[str, MissingProof] = typed.mapping_of(MissingProof)

    @property
    def problem(self) -> str:
        """Why the Lease is not as requested; empty when it is. A failure may come without a message."""
        return self.msg or ("no answer." if self.has_failed else "")


@dataclasses.dataclass(frozen=True)
class StartedTransaction:
    """A transaction that a module has started. longest_seconds: the most that it takes until it ends by itself."""

    id: str = ""
    longest_seconds: int = 0


@dataclasses.dataclass(frozen=True)
class StartedChange(ModuleResult):
    """The result of a module that may have started one; without, the transaction has no ID."""

    name: str = ""
    node: str = ""
    transaction: StartedTransaction = typed.field_of(StartedTransaction, StartedTransaction())
    unverified: t.Sequence[str] = ()
    warnings: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class TransactionProgress(ModuleResult):
    """The result of the module C(node_transaction). transaction: how it ended; None before that."""

    phase: str = ""
    message: str = ""
    running: bool = False
    transaction: Mapped | None = None

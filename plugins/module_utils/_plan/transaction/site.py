# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the playbooks of a whole cluster decide: what a run requests, and in which order it adds and removes.

What is switched on begins where it is offered, what is switched off where it is used. A run that does both adds everything first. A run that
repairs a kubelet begins with that and takes one pass.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..common import typed
from ..common.ownership import Change
from ..common.typed import Mapped
from ..kubernetes import control_plane_nodes
from . import rollout
from .results import PartResult, Report
from .rollout import StepResult

_KUBELETS, RESOURCES, GUARD = "node_kubelet", "node_resources", "placement_guard"
# The groups of nodes that plays use, with the variables that name those which an inventory has instead.
GROUP_VARIABLES = {name: f"{name}_group" for name in (control_plane_nodes.GROUP, "kube_node")}
_OF_EVERY_INVENTORY = ("all", "ungrouped")
# Flags and other settings have no order, so replacing one by another does not take two passes with a restart in each. Among these are the
# resources of a static pod's container.
_ORDERED = {
    "control_plane": ("feature_gates", "admission_plugins"),
    _KUBELETS: ("feature_gates",),
    RESOURCES: ("resources", "labels", "taints"),
}
_SWITCHED = {"feature_gates": False, "admission_plugins": "disabled"}
# Which pass a run is in. The plan of the whole shows whether there are two; rollback requires a single one.
WHOLE, SINGLE, ADDITIONS, REST = PASSES = ("whole", "single", "additions", "rest")
# Files of the playbooks' tasks.
_ROLE, _RECHECK = "role.yml", "recheck.yml"
# The notice of check mode about a run that is split.
SPLIT = (
    "This run makes two passes: it adds first, and then removes. What does both is restarted twice. Both passes were rehearsed; the changes above"
    " are those of both together"
)


def sets_control_planes(roles: t.Collection[str], found: t.Collection[str]) -> bool:
    """Whether a run sets something for control planes. found: the variables that are named; empty where a playbook does not collect them."""
    return "control_plane" in roles and (not found or any(name.startswith("control_plane_") for name in found))


def outside_group(reasons: t.Mapping[str, t.Sequence[str]], planes: t.Collection[str]) -> str:
    """Why a control plane outside of its group is refused: what a run sets for control planes would not reach it; empty without one.

    reasons: why a host is a control plane, by host; empty for one that is none. planes: the hosts in the group.
    """
    host = next((host for host, why in reasons.items() if why and host not in planes), "")
    if not host:
        return ""
    group = control_plane_nodes.GROUP
    return (
        f"Nothing was changed. {host} is a control plane ({'; '.join(reasons[host])}), but the group {group} does not have it, so what this run sets for"
        f" control planes would not reach it. Put it there, or name its group in {group}_group."
    )


@dataclasses.dataclass(frozen=True)
class NodeGroups:
    """Which hosts of an inventory are nodes. hosts: of each of its groups. named: by group of C(GROUP_VARIABLES), what its variable names; without those
    that have no such variable."""

    hosts: t.Mapping[str, t.Sequence[str]]
    named: t.Mapping[str, str]

    def nodes(self, groups: t.Iterable[str] = tuple(GROUP_VARIABLES)) -> set[str]:
        """The hosts in some of C(GROUP_VARIABLES), and in what the inventory has instead of these."""
        names = [name for group in groups for name in (group, self.named.get(group, group))]
        return {host for name in names for host in self.hosts.get(name, ())}

    def refusal(self, required: t.Sequence[str]) -> str:
        """Why an inventory is refused: it does not have a group that a variable names, or no host in any of those that are required. Empty when it is
        not."""
        missing = [name for name in dict.fromkeys(self.named.values()) if name not in self.hosts]
        if missing:
            known = sorted(set(self.hosts).difference(_OF_EVERY_INVENTORY))
            return (
                f"kube_control_plane_group or kube_node_group names {', '.join(missing)}, which is not a group of the inventory. It has"
                f" {', '.join(known)}."
            )
        if self.nodes(required):
            return ""
        return (
            f"The inventory has no host in {' or '.join(required)}. The nodes of the control plane belong in the group kube_control_plane, all other"
            " nodes in kube_node; a host may be in both. Where these groups have other names, set kube_control_plane_group and kube_node_group for all"
            " hosts."
        )


@dataclasses.dataclass(frozen=True)
class BeginSettings:
    """What the task of the step begin gives it. groups: those of which one at least must have a host. roles: whose desired state the run applies; empty
    for a playbook without one. required: as of C(InventoryCheck)."""

    groups: t.Sequence[str] = ()
    roles: t.Sequence[str] = ()
    required: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class SiteStart(StepResult):
    """Of the step begin. named: the settings that variables name. roles: those of the run of which something is named. applied: all of the run, the guard
    only where it is named. renamed: by group that plays use, the one that the inventory has instead, where that is another."""

    named: t.Sequence[str] = ()
    roles: t.Sequence[str] = ()
    applied: t.Sequence[str] = ()
    renamed: t.Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class SiteStep:
    """A file of tasks that a run includes after its plan. role, tasks_from: the tasks of a role that this file includes."""

    file: str = ""
    role: str = ""
    tasks_from: str = ""


@dataclasses.dataclass(frozen=True)
class SiteDecision(StepResult):
    """Of the step decide: what a run does after its plan.

    work: the roles that change something, in their order. Where kubelets that do not work are changed, theirs is first: a control plane needs them.
    is_split: whether everything is added before anything goes, with a plan for each.
    steps: these roles, and then what is read once more: the resources of nodes whose kubelets were restarted after them, or kubelets that had nothing to
    change while others had.
    in_pass: in which pass this was decided, one of C(PASSES).
    is_refused: whether nothing is done because of errors that single nodes report themselves.
    """

    work: t.Sequence[str] = ()
    is_split: bool = False
    steps: tuple[SiteStep, ...] = typed.tuple_of(SiteStep)
    in_pass: str = WHOLE
    is_refused: bool = False

    @property
    def rechecks(self) -> bool:
        """Whether the role node_resources runs once more."""
        return any(step.file == _RECHECK for step in self.steps)


@dataclasses.dataclass(frozen=True)
class PassRecord(StepResult):
    """Of the steps split and record. preserved: what the first of two passes leaves as it is. reports: by role, of what was changed before the last pass.
    lines: the report of then."""

    preserved: Mapped | None = None
    reports: t.Mapping[str, Mapped] = dataclasses.field(default_factory=dict)
    lines: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class SiteEnd(StepResult):
    """Of the step end. reports: of this host, by role. lines: the report that is about no single host. why: the host fails; empty when it does not."""

    reports: t.Mapping[str, Mapped] = dataclasses.field(default_factory=dict)
    lines: t.Sequence[str] = ()
    why: str = ""


def decide(
    planned: t.Mapping[str, t.Sequence[PartResult]], *, has_guard: bool, in_pass: str, check_mode: bool
) -> SiteDecision:
    """Work out from the plans of all hosts what is added and what goes.

    planned: by role, in the order in which a feature is switched on, what was planned on all hosts. has_guard: whether the run applies the placement
    guard, which has a plan of its own. in_pass: one of C(PASSES). Nothing is added in check mode, where the first of two passes is rehearsed and the
    second one shows everything.
    """
    work = [role for role, results in planned.items() if any(each.has_work for each in results)]
    if _KUBELETS in work and RESOURCES in planned and RESOURCES not in work:
        work.append(RESOURCES)  # what a node offers may have gone with the restart of its kubelet
    ordered = [
        change for role, results in planned.items() for each in results for change in _ordered_changes(role, each)
    ]
    removed = sum(map(_is_removal, ordered))
    work = work[::-1] if removed else work
    # What is to be repaired may be what is to go, so that adding first would find it down.
    repairs = any(result.problem and result.has_work for result in planned.get(_KUBELETS, ()))
    if repairs:
        work.sort(key=lambda role: role != _KUBELETS)
    rechecks = removed > 0 and _KUBELETS in work and RESOURCES in work and not check_mode
    compares = _KUBELETS in planned and _KUBELETS not in work and in_pass != ADDITIONS
    work = [] if check_mode and in_pass == ADDITIONS else work
    is_split = 0 < removed < len(ordered) and in_pass == WHOLE and not repairs
    if has_guard and not is_split and in_pass != ADDITIONS:
        work.append(GUARD)  # always after the nodes: it protects those that are tainted now
    steps = (
        *(SiteStep(_ROLE, role, "apply") for role in work),
        *([SiteStep(_RECHECK, RESOURCES, "plan_and_apply")] * rechecks),
        *([SiteStep(_ROLE, _KUBELETS, "compare")] * compares),
    )
    return SiteDecision(work=work, is_split=is_split, steps=steps, in_pass=in_pass)


def not_removed_message(role: str, stopped: t.Sequence[str]) -> str:
    """Why a host fails whose removals had to wait for a second pass that did not come. stopped: the hosts that ended the run, as far as
    known."""
    return f"What {role} is to remove is still there, because {rollout.end_reason(stopped)}."


def merge_reports(first: Report, last: Report) -> Report:
    """The report of a host in a role that ran twice. first, last: of one run after the other; empty where the role did not run."""
    if not first or not last:
        return first or last
    return {**last, **{name: _merge_results(each, last.get(name)) for name, each in first.items()}}


def has_failed(report: Report) -> bool:
    """Whether something of a host has failed in a role."""
    return any(each.failed for each in report.values())


def outdated_refusal(in_pass: str, *, is_stale: bool) -> str:
    """Why a first pass is refused that waited for another run: what it keeps for the second one was decided from what was there before. Empty when it
    is not. is_stale: whether another run may have changed something since."""
    if not (is_stale and in_pass == ADDITIONS):
        return ""
    return "another run may have changed something since it was decided what is added first and what goes then. Run this again."


def refusal_message(reason: str, in_pass: str) -> str:
    """Why a run ends before a role writes anything. reason: as it stands, which knows of one pass only. in_pass: one of C(PASSES)."""
    if in_pass != REST:
        return reason
    return f"The first of two passes is done, and what it changed stays. This is about the second one only: {reason}"


def changed_hosts(planned: t.Mapping[str, Report]) -> list[str]:
    """The hosts that a role has something to change on."""
    return [host for host, report in planned.items() if any(each.has_work for each in report.values())]


def preserved_settings(planned: t.Mapping[str, Report], absent: t.Collection[str]) -> dict[str, t.Any]:
    """What the first of two passes leaves as it is on a host.

    planned: by role. absent: the roles that revert what they set, and so name nothing that could be preserved.

    By role and part, of those that something is removed from: C(waits), whether the second pass changes it as a whole, and by field the
    present values of what goes (None: not set). What only removes waits, so that it is restarted once; flags that belong to what goes stay
    with it.
    """
    found: dict[str, t.Any] = {}
    for role, report in planned.items():
        for part, result in report.items():
            ordered = _ordered_changes(role, result)
            goes = [each for each in ordered if _is_removal(each)]
            if goes:
                waits = role in absent or len(goes) == len(ordered)
                found.setdefault(role, {})[part] = {"waits": waits, **_present_values(goes)}
    return found


def _merge_results(first: PartResult, last: PartResult | None) -> PartResult:
    if not first.changed or last is None:
        return last or first
    before, after = first.operations or (), last.operations or ()
    more = [each.to_result() for each in after if each not in before]
    result = last if more or last.failed else first
    return result.with_values(changed=True, operations=[*(each.to_result() for each in before), *more])


def _ordered_changes(role: str, result: PartResult) -> list[Change]:
    return [each for each in result.operations or () if each.field in _ORDERED[role]]


def _is_removal(operation: Change) -> bool:
    """What was switched off and is no more is no removal: its default may be on."""
    off, after = _SWITCHED.get(operation.field, object()), operation.after
    return operation.before != off if after is None else bool(after == off)


def _present_values(operations: t.Iterable[Change]) -> dict[str, dict[str, t.Any]]:
    """What stands there before the operations, by field and key."""
    found: dict[str, dict[str, t.Any]] = {}
    for each in operations:
        found.setdefault(each.field, {})[each.key] = each.before
    return found

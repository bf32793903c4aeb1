# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the playbooks of a whole cluster decide: what a run asks for, and in which order it adds and removes.

What is switched on begins where it is offered, what is switched off where it is used. A run that does both adds everything first. A run that
repairs a kubelet begins with that and takes one pass.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..kubernetes import control_plane_nodes

Json = t.Mapping[str, t.Any]

_KUBELETS, _RESOURCES = "node_kubelet", "node_resources"
# Flags and other settings have no order, so replacing one by another does not take two passes with a restart in each. Among these are the
# resources of a static pod's container.
_ORDERED = {
    "control_plane": ("feature_gates", "admission_plugins"),
    _KUBELETS: ("feature_gates",),
    _RESOURCES: ("resources", "labels", "taints"),
}
_SWITCHED = {"feature_gates": False, "admission_plugins": "disabled"}
# Which pass a run is in. The plan of the whole shows whether there are two; rollback says itself that it takes a single one.
WHOLE, SINGLE, ADDITIONS, REST = PASSES = ("whole", "single", "additions", "rest")
# What check mode says of a run that is split.
SPLIT = (
    "This run makes two passes: it adds first, and then removes. What does both is restarted twice. Both passes were rehearsed; the changes above"
    " are those of both together"
)


def sets_control_planes(roles: t.Collection[str], found: t.Collection[str]) -> bool:
    """Whether a run sets something for control planes. found: the variables that are named; empty where a playbook does not look for them."""
    return "control_plane" in roles and (not found or any(name.startswith("control_plane_") for name in found))


def strayed(kubelets: t.Mapping[str, Json], planes: t.Collection[str]) -> str:
    """Why a control plane outside of its group is refused: what a run sets for control planes would not reach it; empty without one.

    kubelets: what was planned, by host. planes: the hosts in the group.
    """
    found = (host for host, planned in kubelets.items() if planned.get("control_plane") and host not in planes)
    host = next(found, "")
    if not host:
        return ""
    reasons = "; ".join(kubelets[host]["control_plane"])
    group = control_plane_nodes.GROUP
    return (
        f"Nothing was changed. {host} is a control plane ({reasons}), but the group {group} does not have it, so what this run sets for control"
        f" planes would not reach it. Put it there, or name its group in {group}_group."
    )


@dataclasses.dataclass(frozen=True)
class Decision:
    """What a run does after its plan.

    work: the roles that change something, in their order. Where kubelets that do not work are changed, theirs is first: a control plane needs them.
    is_split: whether everything is added before anything goes, with a plan for each.
    looks_again: whether the resources of the nodes are looked at once more at the end, because kubelets were restarted after them.
    in_pass: in which pass this was decided, one of C(PASSES).
    """

    work: list[str]
    is_split: bool
    looks_again: bool
    in_pass: str = WHOLE


def decide(planned: t.Mapping[str, t.Sequence[Json]], *, in_pass: str, check_mode: bool) -> Decision:
    """Work out from the plans of all hosts what is added and what goes.

    planned: by role, in the order in which a feature is switched on, what was planned on all hosts. in_pass: one of C(PASSES). Nothing is
    added in check mode, where the first of two passes is rehearsed and the second one shows everything.
    """
    work = [role for role, results in planned.items() if any(map(_is_work, results))]
    if _KUBELETS in work and _RESOURCES in planned and _RESOURCES not in work:
        work.append(_RESOURCES)  # what a node offers may have gone with the restart of its kubelet
    ordered = [operation for role, results in planned.items() for each in results for operation in _ordered(role, each)]
    removed = sum(map(_is_removal, ordered))
    work = work[::-1] if removed else work
    # What is to be repaired may be what is to go, so that adding first would find it down.
    repairs = any(result.get("problem") and _is_work(result) for result in planned.get(_KUBELETS, ()))
    if repairs:
        work.sort(key=lambda role: role != _KUBELETS)
    return Decision(
        work=[] if check_mode and in_pass == ADDITIONS else work,
        is_split=0 < removed < len(ordered) and in_pass == WHOLE and not repairs,
        looks_again=removed > 0 and _KUBELETS in work and _RESOURCES in work and not check_mode,
        in_pass=in_pass,
    )


def left(report: Json, stopped: t.Sequence[str], role: str, host: str, *, is_ended: bool) -> dict[str, t.Any]:
    """The report of a host in a role that was planned and did not begin, because the run ended before; empty where it had nothing to change.

    report: of its kubelet, or by static pod, or by kind of what is set on its node. stopped: the hosts that ended the run, as far as known.
    is_ended: whether the role ended by itself, so that what it did begin has changed or failed.
    """
    is_missed = _is_unchanged if is_ended else _is_work
    msg = f"{role} did not begin on {host}, because {_why(stopped)}."
    missed = {"failed": True, "begun": False, "changed": False, "msg": msg}
    if "operations" in report:
        return {**report, **missed} if is_missed(report) else {}
    parts = {name: each for name, each in report.items() if isinstance(each, t.Mapping) and is_missed(each)}
    return {**report, **{name: {**each, **missed} for name, each in parts.items()}} if parts else {}


def not_removed(role: str, host: str, stopped: t.Sequence[str]) -> str:
    """Why a host fails whose removals had to wait for a second pass that did not come. stopped: as above."""
    return f"What {role} is to remove on {host} is still there, because {_why(stopped)}."


def both(first: Json, last: Json) -> Json:
    """The report of a host in a role that ran twice. first, last: as above, of one run after the other; empty where the role did not run."""
    if not first or not last:
        return first or last
    if "operations" in first:
        return _both(first, last)
    parts = {name: _both(each, last.get(name) or {}) for name, each in first.items() if isinstance(each, t.Mapping)}
    return {**last, **parts}


def has_failed(report: Json, *, begun: bool = False) -> bool:
    """Whether something of a host has failed in a role. report: as above. begun: only what was begun counts."""
    return any(each.get("failed") and not (begun and each.get("begun") is False) for each in _results(report))


def has_changed(report: Json) -> bool:
    """Whether something of a host was changed in a role. report: as above."""
    return any(each.get("changed") for each in _results(report))


def refused(reason: str, in_pass: str) -> str:
    """Why a run ends before a role writes anything. reason: as it stands, which knows of one pass only. in_pass: one of C(PASSES)."""
    if in_pass != REST:
        return reason
    return f"The first of two passes is done, and what it changed stays. This is about the second one only: {reason}"


def again(hosts: t.Sequence[str]) -> str:
    """A line that says how a run goes on of which several roles are not done. hosts: where something is left to do."""
    return f"To continue with the whole run when that is repaired, run it again with --limit {','.join(hosts)}"


def changed_hosts(planned: t.Mapping[str, t.Mapping[str, Json]]) -> list[str]:
    """The hosts that a role has something to change on. planned: by host and part."""
    return [host for host, parts in planned.items() if any(map(_is_work, parts.values()))]


def kept(planned: t.Mapping[str, t.Mapping[str, Json]], absent: t.Collection[str]) -> dict[str, t.Any]:
    """What the first of two passes leaves as it is on a host.

    planned: by role and part (a static pod, the kubelet, a kind of what is set on a node). absent: the roles that revert what they set, and so
    name nothing that could be kept.

    By role and part, of those that something is removed from: C(waits), whether the second pass changes it as a whole, and by field the
    present values of what goes (None: not set). What only removes waits, so that it is restarted once; flags that belong to what goes stay
    with it.
    """
    found: dict[str, t.Any] = {}
    for role, parts in planned.items():
        for part, result in parts.items():
            ordered = _ordered(role, result)
            goes = [each for each in ordered if _is_removal(each)]
            if goes:
                waits = role in absent or len(goes) == len(ordered)
                found.setdefault(role, {})[part] = {"waits": waits, **_present(goes)}
    return found


def _results(report: Json) -> list[Json]:
    return [report] if "operations" in report else [each for each in report.values() if isinstance(each, t.Mapping)]


def _why(stopped: t.Sequence[str]) -> str:
    return f"{', '.join(stopped)} failed" if stopped else "the run ended before"


def _both(first: Json, last: Json) -> Json:
    if not first.get("changed"):
        return last or first
    more = [each for each in last.get("operations", ()) if each not in first["operations"]]
    shown = last if more or last.get("failed") else first
    return {**shown, "changed": True, "operations": [*first["operations"], *more]}


def _is_work(result: Json) -> bool:
    return bool(result.get("operations") or result.get("open_transaction"))


def _is_unchanged(result: Json) -> bool:
    """Whether there was something to change and nothing became of it."""
    return bool(result.get("operations")) and not result.get("changed") and not result.get("failed")


def _ordered(role: str, result: Json) -> list[Json]:
    return [each for each in result.get("operations", ()) if each["field"] in _ORDERED[role]]


def _is_removal(operation: Json) -> bool:
    """What was switched off and is no more is no removal: its default may be on."""
    off, after = _SWITCHED.get(operation["field"], object()), operation["after"]
    return operation["before"] != off if after is None else bool(after == off)


def _present(operations: t.Iterable[Json]) -> dict[str, dict[str, t.Any]]:
    """What stands there before the operations, by field and key."""
    found: dict[str, dict[str, t.Any]] = {}
    for each in operations:
        found.setdefault(each["field"], {})[each["key"]] = each["before"]
    return found

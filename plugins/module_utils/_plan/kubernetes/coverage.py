# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which nodes of its cluster a run reaches: hosts that cannot be reached, and nodes that it does not name."""

from __future__ import annotations

import dataclasses
import typing as t

from ..common.batch import join_first
from . import control_plane_nodes


def unreachable_refusal(
    unreachable: t.Mapping[str, str],
    grouped: t.Collection[str],
    *,
    hosts: t.Collection[str],
    limit: int,
    variable: str,
) -> str:
    """Why hosts that cannot be reached must not be skipped in a run; empty when they may be.

    unreachable: host -> why. grouped: the hosts that the inventory names as control planes. hosts: all that take part. limit: how many may
    be excluded, as the variable says.
    """
    if not unreachable:
        return ""
    skipped = join_first([f"{host} ({why.rstrip('.')})" if why else host for host, why in unreachable.items()])
    planes = [host for host in unreachable if host in grouped]
    remedy = "Repair that, or name the hosts of the run with --limit"
    if planes:
        return f"cannot be reached: {skipped}. A control plane is never skipped, and {join_first(planes)} is one. {remedy}."
    if limit < 0 or len(unreachable) > limit:
        return (
            f"cannot be reached: {skipped}. {variable} is {limit}, and {len(unreachable)} would be skipped. {remedy}, or set"
            f" {variable} to the number that may be skipped."
        )
    if not grouped:
        return (
            f"cannot be reached: {skipped}. Whether that is a control plane, which is never skipped, is not known, because the inventory has"
            f" none in the group {control_plane_nodes.GROUP}. Put them there, or name their group in {control_plane_nodes.GROUP}_group."
        )
    if len(unreachable) == len(hosts):
        return f"cannot be reached: {skipped}. No host of this run is left. {remedy}."
    return ""


@dataclasses.dataclass(frozen=True)
class Coverage:
    """How a run covers the nodes that the API knows; all is empty when it reaches all of them."""

    warning: str = ""
    refusal: str = ""
    missing: tuple[str, ...] = ()


def check(
    nodes: t.Mapping[str, t.Mapping[str, str]] | None,
    reached: t.Collection[str],
    *,
    excluded: t.Sequence[str] = (),
    grouped: t.Sequence[str] = (),
    has_control_plane: bool = False,
    settings: t.Mapping[str, t.Any] | None = None,
) -> Coverage:
    """Check which nodes a run covers. nodes: all that the API knows, by name, with their labels; None when they are not known. reached: the nodes of
    the run.

    excluded: its hosts that cannot be reached. grouped: the hosts that the inventory names as control planes. has_control_plane: whether a
    node of the run is one. settings: variables that are for control planes.
    """
    if nodes is None:
        return Coverage(refusal=_unknown_nodes_refusal(excluded)) if excluded else Coverage()
    planes = sorted(
        name for name, labels in nodes.items() if control_plane_nodes.role_label({"metadata": {"labels": labels}})
    )
    missing = tuple(missing_nodes(nodes, [*reached, *excluded]))
    absence = (
        control_plane_nodes.Absence()
        if has_control_plane
        else control_plane_nodes.check_absence(planes, grouped, settings or {})
    )
    # A host that the inventory names as a control plane takes no part, or would have been reached.
    missing_planes = [name for name in planes if name not in reached and name not in grouped]
    if excluded and missing_planes and not absence.refusal:
        return Coverage(
            refusal=f"{join_first(excluded)} cannot be reached, and the cluster has the control plane {join_first(missing_planes)}, which this run does not"
            f" reach. A control plane is never skipped: put {join_first(missing_planes)} into the group {control_plane_nodes.GROUP} under that name, or"
            " repair the hosts that cannot be reached.",
            missing=missing,
        )
    return Coverage(absence.warning, absence.refusal, missing)


def _unknown_nodes_refusal(excluded: t.Sequence[str]) -> str:
    return (
        f"{join_first(excluded)} cannot be reached, and the API does not show which nodes are control planes, which are never skipped."
        " Repair that, or name the hosts of the run with --limit."
    )


def missing_nodes(nodes: t.Iterable[str], run: t.Collection[str]) -> list[str]:
    """The nodes of a cluster that a run does not name, in alphabetical order. run: the names of its nodes and hosts."""
    return sorted(set(nodes).difference(run))


def missing_nodes_line(missing: t.Sequence[str]) -> str:
    """A line about them; empty when there are none."""
    return f"not in this run: {join_first(missing)}" if missing else ""

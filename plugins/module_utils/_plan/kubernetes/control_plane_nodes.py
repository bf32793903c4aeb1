# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which nodes are control planes: by what is on them, not by the group of an inventory."""

from __future__ import annotations

import dataclasses
import posixpath
import typing as t

# A node with one of these is a control plane: a second one that restarts with it costs the API, or the majority of etcd.
API_SERVER = "kube-apiserver"
COMPONENTS = (API_SERVER, "etcd")
LABEL = "node-role.kubernetes.io/control-plane"
GROUP = "kube_control_plane"  # of an inventory
GROUP_VARIABLE = f"{GROUP}_group"  # names another one
_LABELS = (LABEL, "node-role.kubernetes.io/master")  # the latter by kubeadm before 1.24


def component_of_pod(pod: t.Any) -> str | None:
    """Which of the components the manifest of a static pod runs; None for every other pod, such as a proxy in front of the API."""
    try:
        metadata, containers = pod["metadata"], pod["spec"]["containers"]
        names = [metadata.get("name"), (metadata.get("labels") or {}).get("component")]
        for container in containers:
            image = posixpath.basename(str(container.get("image") or "")).partition("@")[0].partition(":")[0]
            names += [container.get("name"), *(container.get("command") or [])[:1], image]
    except (LookupError, TypeError, AttributeError):
        return None
    return next((found for name in names if name and (found := _component_named(str(name)))), None)


def _component_named(word: str) -> str | None:
    """word: a name, or a path."""
    name = posixpath.basename(word)
    return name if name in COMPONENTS else None


@dataclasses.dataclass(frozen=True)
class Absence:
    """What it means that a run has no control plane; both are empty when that is as it should be."""

    warning: str = ""
    refusal: str = ""


def check_absence(found: t.Sequence[str], grouped: t.Sequence[str], settings: t.Mapping[str, t.Any]) -> Absence:
    """Check a run in which no host is a control plane. found: the control planes that the API knows. grouped: the hosts that the inventory
    names as such. settings: variables that are for control planes; an empty one has no effect."""
    if not found:
        return Absence()
    names = ", ".join(found)
    ineffective = [name for name, value in settings.items() if value]
    if ineffective and not grouped:
        return Absence(
            refusal=f"{', '.join(ineffective)} would have no effect: the cluster has the control planes {names}, but no host of this run is one, and the"
            f" inventory names none. Put them into the group {GROUP}, name their group in {GROUP}_group, or remove the settings."
        )
    return Absence(
        warning=f"no host of this run is a control plane, and the cluster has {names}. They are skipped in this run"
        + (
            ": its hosts, or --limit, do not name them."
            if grouped
            else f": the inventory has none in the group {GROUP}."
        )
    )


def of_inventory(groups: t.Mapping[str, t.Sequence[str]], named: str) -> list[str]:
    """The hosts that an inventory names as control planes. groups: its hosts by group. named: the group that it has instead of C(GROUP), or besides."""
    return list(dict.fromkeys([*groups.get(GROUP, []), *groups.get(named, [])]))


def role_label(node: t.Mapping[str, t.Any] | None) -> str | None:
    """The label that marks a Node as a control plane; None without one."""
    labels = ((node or {}).get("metadata") or {}).get("labels") or {}
    return next((label for label in _LABELS if label in labels), None)

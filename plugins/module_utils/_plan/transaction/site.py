# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""What the playbooks of a whole cluster decide: what a run asks for, and in which order it adds and removes.

What is switched on begins where it is offered, what is switched off where it is used. A run that does both adds everything first.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..kubernetes import control_planes

Json = t.Mapping[str, t.Any]

# Flags and other settings have no order, so replacing one by another does not take two passes with a restart in each.
_ORDERED = ("feature_gates", "admission_plugins", "resources", "labels", "taints")
_SWITCHED = {"feature_gates": False, "admission_plugins": "disabled"}
# As the modules read them.
_OFF = ("false", "no", "off", "0", "none", "null")


def named(variables: t.Iterable[t.Iterable[str]], looked_for: t.Sequence[str]) -> list[str]:
    """Which variables are set for any host. variables: the names of those of each host."""
    found: set[str] = set()
    for names in variables:
        found.update(name for name in looked_for if name in names)
    return [name for name in looked_for if name in found]


def nothing_named(found: t.Collection[str], wanted: t.Sequence[str]) -> str:
    """Why a run is refused that asks for nothing: with a forgotten file of variables it would take back all that was set earlier. wanted: one of
    these variables must be set."""
    if any(name in found for name in wanted):
        return ""
    return (
        f"None of {', '.join(wanted)} is set for any host of this run. Write into one of them what is wanted, or set it to an empty value to take"
        " back what was set earlier."
    )


def sets_control_planes(roles: t.Collection[str], found: t.Collection[str]) -> bool:
    """Whether a run sets something for control planes. found: the variables that are named; empty where a playbook does not look for them."""
    return "control_plane" in roles and (not found or any(name.startswith("control_plane_") for name in found))


def strayed(host: str, report: Json) -> str:
    """Why a control plane outside of its group is refused: what a run sets for control planes would not reach it. report: of its kubelet."""
    reasons = "; ".join(report["control_plane"])
    group = control_planes.GROUP
    return (
        f"Nothing was changed. {host} is a control plane ({reasons}), but the group {group} does not have it, so what this run sets for control"
        f" planes would not reach it. Put it there, or name its group in {group}_group."
    )


@dataclasses.dataclass(frozen=True)
class Reports:
    """What the roles told of one host: static pods by component, the kubelet, and the node by kind. Each is empty where a role did not run."""

    control_plane: Json
    node_kubelet: Json
    node_resources: Json

    @property
    def results(self) -> list[Json]:
        """Those that planned something."""
        kinds = [self.node_resources.get(kind) or {} for kind in ("taints", "resources", "labels")]
        return [each for each in [*self.control_plane.values(), self.node_kubelet, *kinds] if "operations" in each]


@dataclasses.dataclass(frozen=True)
class Decision:
    """What a run does after its plan. adds, removes: whether anything is. has_work: whether any role changes something.

    restarts: whether a kubelet was restarted, which the resources of its node are looked at again for.
    """

    adds: bool
    removes: bool
    has_work: bool


def decide(reports: t.Iterable[Reports]) -> Decision:
    """Work out from the plans of all hosts what is added and what goes."""
    results = [result for each in reports for result in each.results]
    operations = [operation for result in results for operation in result["operations"]]
    ordered = [operation for operation in operations if operation["field"] in _ORDERED]
    removed = sum(map(_is_removal, ordered))
    is_open = any(result.get("open_transaction") for result in results)
    return Decision(adds=len(ordered) > removed, removes=removed > 0, has_work=bool(operations) or is_open)


def is_restarted(reports: t.Iterable[Reports]) -> bool:
    """Whether a kubelet was restarted, so that its node may offer something else."""
    return any(each.node_kubelet.get("transaction") for each in reports)


def _is_removal(operation: Json) -> bool:
    after = operation["after"]
    return after is None or after == _SWITCHED.get(operation["field"], object())


def additions(desired: Json) -> dict[str, t.Any]:
    """A desired state without what it switches off or takes away.

    desired: control_plane_feature_gates, control_plane_admission_plugins, node_kubelet_feature_gates, and of the node resources, labels and
    taints, by the names of their variables.
    """
    gates = ("control_plane_feature_gates", "node_kubelet_feature_gates")
    plain = ("node_resources_extended_resources", "node_resources_labels")
    taints = desired["node_resources_taints"]
    return {
        **{name: {key: value for key, value in desired[name].items() if not _is_off(value)} for name in gates},
        **{name: {key: value for key, value in desired[name].items() if value is not None} for name in plain},
        "control_plane_admission_plugins": {
            key: value for key, value in desired["control_plane_admission_plugins"].items() if value == "enabled"
        },
        "node_resources_taints": [taint for taint in taints if taint.get("state", "present") != "absent"],
    }


def _is_off(value: t.Any) -> bool:
    return str(value).lower() in _OFF

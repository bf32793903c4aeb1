# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the module C(node_resource_info) reads."""

from __future__ import annotations

import dataclasses
import typing as t

from .._plan.common.errors import join_failures
from .._plan.kubelet import configz as kubelet_check
from .._plan.kubelet.limits import Limits
from .._plan.node import extended_resources as node_resources
from .._plan.node import plan as node_plan
from .._plan.node import readmission
from .._plan.node import taints as node_taints
from .._plan.node.conditions import read_conditions
from .._plan.node.extended_resources import RESOURCES
from .._plan.node.labels import LABELS
from .._plan.node.taints import TAINTS
from .client import Client, Connect, Json, Params
from .objects import read_kubelets, read_pods, read_requested_nodes


def read_all(params: Params, *, connect: Connect, warn: t.Callable[[str], None]) -> dict[str, t.Any]:
    """Describe the nodes that are named or selected; all of them when none is. The result has failed where a kubelet could not be read."""
    names, kubelets = params["nodes"], params["kubelets"] or {}
    if kubelets and not (names is None and params["readmission"]):
        names = list(dict.fromkeys([*(names or []), *kubelets]))
    restarted = params["restarted_nodes"]
    client, found = read_requested_nodes(params, names, needed=restarted or (), connect=connect, warn=warn)
    query = _PodQuery(
        counts=params["requested"],
        readmit=set(found if restarted is None else restarted) if params["readmission"] else set(),
        limits=params["limits"] or {},
        runs=params["running"],
        before=params["running_before"] or {},
    )
    nodes = _describe_all(found, client, query)
    running = read_kubelets(client, list(kubelets), workers=params["concurrency"])
    compared = {name: _compare_kubelet(expected or {}, running[name]) for name, expected in kubelets.items()}
    problems = {name: each["problem"] for name, each in compared.items() if each["problem"]}
    failure = {"failed": True, "msg": join_failures(problems)} if problems else {}
    return {"nodes": {name: {**node, "kubelet": compared.get(name)} for name, node in nodes.items()}, **failure}


def _compare_kubelet(expected: Json, running: Json | str) -> Json:
    """The differences of a kubelet from what is expected. running: its configuration, or why it could not be read."""
    if isinstance(running, str):
        return {"config": None, "differences": [], "problem": running}
    differences = kubelet_check.differences(expected, running)
    return {"config": running, "differences": [dataclasses.asdict(each) for each in differences], "problem": None}


@dataclasses.dataclass(frozen=True)
class _PodQuery:
    """What the task wants to know of pods. counts: what they request. readmit: nodes for which to check which pods the kubelet would reject,
    with these limits by node. runs: which run. before: by node those that ran before, to report which of them were lost."""

    counts: bool
    readmit: t.Collection[str]
    limits: t.Mapping[str, Limits | None]
    runs: bool
    before: t.Mapping[str, readmission.Running]

    def needs_pods(self, name: str, node: Json) -> bool:
        """Whether the pods of a node are read."""
        has_resources = self.counts and bool(node_resources.capacity(node))
        return has_resources or self.runs or name in self.readmit or name in self.before

    def report(self, name: str, node: Json, on_node: list[Json]) -> Json:
        """The results about the pods of a node; None for what the task does not want."""
        limits = self.limits.get(name)
        rejections = (
            readmission.find_rejected(on_node, read_conditions(node, limits=limits)) if name in self.readmit else None
        )
        losses = readmission.find_losses(self.before[name], on_node) if name in self.before else None
        return {
            "readmission": None if rejections is None else [dataclasses.asdict(entry) for entry in rejections],
            "running": readmission.collect_running(on_node) if self.runs else None,
            "losses": None if losses is None else dataclasses.asdict(losses),
        }


def _describe_all(nodes: t.Mapping[str, Json], client: Client, query: _PodQuery) -> dict[str, Json]:
    concerned = [name for name, node in nodes.items() if query.needs_pods(name, node)]
    on_node = read_pods(client, concerned) if concerned else {}
    return {
        name: {
            **_describe(node, on_node.get(name, []) if query.counts else None),
            **query.report(name, node, on_node.get(name, [])),
        }
        for name, node in nodes.items()
    }


def _describe(node: Json, on_node: list[Json] | None) -> Json:
    return {
        "ready": node_plan.is_ready(node),
        "labels": LABELS.live(node),
        "taints": node_taints.of_node(node) or [],
        "extended_resources": node_resources.describe_resources(node, on_node),
        "owned": {kind.field: sorted(node_plan.read_record(kind, node)) for kind in (LABELS, TAINTS, RESOURCES)},
    }

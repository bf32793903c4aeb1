# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""On which nodes a device plugin runs, and what each of them is expected to offer."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..common.errors import Refusal
from ..kubernetes import names as node_names
from ..kubernetes import pods, quantities
from ..node import labels as node_labels
from ..node import plan as node_plan
from ..node import taints as node_taints
from ..node.plan import Node

_ADVICE = "Give the nodes the label (playbook node_resources), or write another selector; kubectl get nodes --show-labels shows what there is."
# The DaemonSet controller lets its pods tolerate these, whatever their template says.
_ALWAYS_TOLERATED = frozenset(
    f"node.kubernetes.io/{name}"
    for name in ("not-ready", "unreachable", "memory-pressure", "disk-pressure", "pid-pressure", "unschedulable")
)
# containerd knows CDI from the first version on, and has it enabled from the second. Before, containers start without their devices.
_CDI_SUPPORTED, _CDI_ENABLED = (1, 7), (2, 0)
_CONTAINERD = re.compile(r"containerd://v?(\d+)\.(\d+)")


@dataclasses.dataclass(frozen=True)
class Amount:
    """How much of a resource is expected: exactly so many, or at least."""

    count: int
    at_least: bool = False

    def is_met_by(self, found: int) -> bool:
        """Whether a node with so many of it is as expected."""
        return found >= self.count if self.at_least else found == self.count

    def __str__(self) -> str:
        return f"at least {self.count}" if self.at_least else str(self.count)


ExpectedAmounts = t.Mapping[str, Amount]


@dataclasses.dataclass(frozen=True)
class Expectation:
    """What some nodes are expected to offer. nodes: their names, None for every node that has the plugin. source: for errors."""

    resources: ExpectedAmounts
    nodes: t.Collection[str] | None
    source: str


@dataclasses.dataclass(frozen=True)
class Placement:
    """Where the pods of a DaemonSet go: its node selector and its tolerations."""

    node_selector: t.Mapping[str, str]
    tolerations: t.Sequence[t.Mapping[str, t.Any]]

    def blocker(self, node: Node) -> str | None:
        """Why a node gets no pod; None when it gets one."""
        labels = node_labels.live(node)
        lacking = [f"{key}={value}" for key, value in self.node_selector.items() if labels.get(key) != value]
        if lacking:
            return f"it lacks the label {', '.join(lacking)}"
        pod: pods.Pod = {"spec": {"tolerations": list(self.tolerations)}}
        for taint in node_taints.of_node(node) or []:
            hard = taint["effect"] != "PreferNoSchedule" and taint["key"] not in _ALWAYS_TOLERATED
            if hard and not pods.tolerations_of(pod, taint):
                return f"its taint {taint['key']}:{taint['effect']} is not tolerated"
        return None


def parse_expectations(
    option: t.Sequence[t.Mapping[str, t.Any]], select: t.Callable[[str], t.Collection[str]]
) -> list[Expectation]:
    """Read the option C(expected). select: the names of the nodes that a label selector matches. Raises Refusal."""
    return [_parse_expectation(f"expected[{number}]", entry, select) for number, entry in enumerate(option)]


def _parse_expectation(
    source: str, entry: t.Mapping[str, t.Any], select: t.Callable[[str], t.Collection[str]]
) -> Expectation:
    amounts = {
        node_names.check_resource(name): _parse_amount(source, name, value)
        for name, value in entry["resources"].items()
    }
    if not amounts:
        raise Refusal(
            f"{source}: resources is empty; set what the nodes must advertise, such as example.com/dongle: 4."
        )
    names, selector = entry.get("nodes"), entry.get("label_selector")
    if names is None and selector is None:
        return Expectation(amounts, None, source)
    matched: t.Collection[str] = ()
    if selector is not None:
        node_names.check_selector(selector)
        matched = select(selector)
        if not matched:
            raise Refusal(f"{source}: label_selector {selector} matches no node. {_ADVICE}")
    nodes = list(dict.fromkeys([*(names or []), *matched]))
    if not nodes:
        raise Refusal(f"{source}: invalid nodes []: must name some, or be omitted for every node that has the plugin.")
    return Expectation(amounts, nodes, source)


def _parse_amount(source: str, name: str, value: t.Any) -> Amount:
    text = str(value).strip() if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    at_least = text.startswith(">=")
    try:
        count = quantities.parse(text[2:].strip() if at_least else text)
    except ValueError:
        count = None
    if count is None or count.denominator != 1 or not 0 <= count <= quantities.LARGEST:
        raise Refusal(
            f"{source}: invalid value {value!r} of {name}: must be a whole number from 0 on, or '>=1' for at least so many."
        )
    return Amount(int(count), at_least)


def select_nodes(
    nodes: t.Iterable[Node], placement: Placement, expected: t.Sequence[Expectation]
) -> t.Mapping[str, ExpectedAmounts]:
    """The nodes that get the plugin, each with what it is expected to offer. Of two entries for a node the later one counts.

    Raises Refusal when there is none, and for an entry with a node that does not exist or gets no pod.
    """
    found = {node_plan.node_name(node): node for node in nodes}
    blockers = {name: placement.blocker(node) for name, node in found.items()}
    selected: dict[str, dict[str, Amount]] = {name: {} for name in found if blockers[name] is None}
    if not selected:
        raise Refusal(f"no node gets the device plugin: {_describe_no_match(placement, blockers)}. {_ADVICE}")
    for expectation in expected:
        for name in selected if expectation.nodes is None else expectation.nodes:
            if name not in found:
                raise Refusal(f"{expectation.source}: there is no node {name} in the cluster.")
            if name not in selected:
                raise Refusal(
                    f"{expectation.source}: {', '.join(expectation.resources)} is expected of {name}, which gets no device plugin:"
                    f" {blockers[name]}. Change the node, node_selector or tolerations, or exclude the node."
                )
            selected[name].update(expectation.resources)
    return selected


def _describe_no_match(placement: Placement, blockers: t.Mapping[str, str | None]) -> str:
    selector = ", ".join(f"{key}={value}" for key, value in placement.node_selector.items())
    if not blockers:
        return "the cluster has no node"
    examples = "; ".join(f"{name}: {reason}" for name, reason in list(blockers.items())[:3])
    return f"node_selector {selector or '(empty)'} with these tolerations matches none of {len(blockers)} nodes ({examples})"


def check_cdi(nodes: t.Sequence[Node]) -> list[str]:
    """Warnings about nodes whose containers shall get devices by CDI. Raises Refusal where they would get none."""
    without = _with_older_containerd(nodes, _CDI_SUPPORTED)
    if without:
        raise Refusal(
            f"containers would start without their devices, because containerd supports CDI from 1.7 on: {without}."
            " Take cdi from the resources, upgrade containerd, or keep the plugin from these nodes."
        )
    switched = _with_older_containerd(nodes, _CDI_ENABLED)
    if not switched:
        return []
    return [
        f"before 2.0, containerd supports CDI only with enable_cdi = true in its configuration: {switched}. Check that it is set there, otherwise"
        " containers start without their devices."
    ]


def _with_older_containerd(nodes: t.Sequence[Node], oldest: tuple[int, int]) -> str:
    """The nodes with a containerd older than a version, and their own: C(w1 (containerd://1.6.20))."""
    versions = [(node, _containerd_version(node)) for node in nodes]
    found = [node for node, version in versions if version and version < oldest]
    return ", ".join(f"{node_plan.node_name(node)} ({_runtime(node)})" for node in found)


def _containerd_version(node: Node) -> tuple[int, int] | None:
    """The version of a node's containerd; None of another runtime, and where it is not reported."""
    found = _CONTAINERD.match(_runtime(node))
    return (int(found[1]), int(found[2])) if found else None


def _runtime(node: Node) -> str:
    return str(node["status"].get("nodeInfo", {}).get("containerRuntimeVersion", ""))

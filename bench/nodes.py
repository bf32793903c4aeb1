# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels, taints and extended resources of a thousand nodes, each as one task, beside other ways to send them.

The nodes are objects without a machine, made through the API and removed in the end. Their keys are used for nothing else.
"""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import sys
import time
import typing as t

from ansible_collections.nodecraft.kubeadm.bench.cluster import Cluster, Json
from ansible_collections.nodecraft.kubeadm.bench.figures import ROUNDS, Part, play, spread, timed
from ansible_collections.nodecraft.kubeadm.lab.runs import Lab
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node import plan as node_plan
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.extended_resources import RESOURCES
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.labels import LABELS
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node.taints import TAINTS
from ansible_collections.nodecraft.kubeadm.tests.sessions.console import echo

NUMBER = int(os.environ.get("BENCH_NODES", "1000"))
LOOPED = min(50, NUMBER)  # nodes for kubernetes.core, which takes one task for each
LABEL = "example.com/bench"
SELECTOR = f"{LABEL}=fake"
KEY = "example.com/measured"
UNREACHABLE = "node.kubernetes.io/unreachable"
ITEM = "{{ item }}"


NAMES = [f"bench-{number:04}" for number in range(NUMBER)]
POINTER = "/status/capacity/" + KEY.replace("/", "~1")
TAINT = {"key": KEY, "effect": "NoSchedule"}


@dataclasses.dataclass(frozen=True)
class Case:
    """One kind of change, as each way makes it.

    value: for the module. kubectl_on, kubectl_off: the command for nodes that are selected or named. selects: whether it can
    select them. loop: a task that changes the node C(item).
    """

    kind: node_plan.Kind
    module: str
    value: t.Any
    kubectl_on: t.Callable[[list[str]], list[str]]
    kubectl_off: t.Callable[[list[str]], list[str]]
    loop: Json
    selects: bool = True

    @property
    def kubectl_nodes(self) -> list[str]:
        """The arguments that select nodes. Where it cannot select them it takes about a fifth of a second for each, so some do."""
        return [f"--selector={SELECTOR}"] if self.selects else NAMES[:LOOPED]

    @property
    def kubectl_number(self) -> int:
        """How many that is."""
        return NUMBER if self.selects else LOOPED

    @property
    def desired(self) -> node_plan.Desired:
        """The desired state of each node."""
        return node_plan.Desired(self.kind.parse(self.value, "present"), "present", purge=False)

    def path(self, node: str) -> str:
        """Where patches of a node go."""
        return "/".join(filter(None, ["nodes", node, self.kind.subresource]))


def status_patch(nodes: list[str], **operation: str) -> list[str]:
    """The kubectl command that patches a resource."""
    patch = json.dumps([{"path": POINTER, **operation}])
    return ["patch", "nodes", *nodes, "--subresource=status", "--type=json", f"--patch={patch}"]


CASES = [
    Case(
        LABELS,
        "node_label",
        {KEY: "v"},
        lambda nodes: ["label", "nodes", *nodes, f"{KEY}=v"],
        lambda nodes: ["label", "nodes", *nodes, f"{KEY}-"],
        {
            "kubernetes.core.k8s": {
                "definition": {"apiVersion": "v1", "kind": "Node", "metadata": {"name": ITEM, "labels": {KEY: "v"}}}
            }
        },
    ),
    Case(
        TAINTS,
        "node_taint",
        [{**TAINT, "value": None, "state": "present"}],
        lambda nodes: ["taint", "nodes", *nodes, f"{KEY}=:NoSchedule"],
        lambda nodes: ["taint", "nodes", *nodes, f"{KEY}-"],
        {"kubernetes.core.k8s_taint": {"name": ITEM, "taints": [TAINT]}},
    ),
    Case(
        RESOURCES,
        "node_extended_resource",
        {KEY: 4},
        lambda nodes: status_patch(nodes, op="add", value="4"),
        lambda nodes: status_patch(nodes, op="remove"),
        # No module of kubernetes.core writes the status of a node.
        {"ansible.builtin.command": {"argv": ["{{ kubectl }}", *status_patch([ITEM], op="add", value="4")]}},
        selects=False,
    ),
]


class Bench:
    """One lab with the nodes in it."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._cluster = Cluster(lab)
        self._kubectl = str(lab.directory / "kubectl")

    def __enter__(self) -> Bench:
        self.remove_nodes()
        # As the node lifecycle controller would have them after a minute, so that there is little that it writes.
        conditions = [
            {"type": kind, "status": "Unknown", "reason": "NodeStatusNeverUpdated"}
            for kind in ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
        ]
        status = {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}, "conditions": conditions}
        node_objects = [{"metadata": {"name": name, "labels": {LABEL: "fake"}}, "status": status} for name in NAMES]
        self._cluster.send([("POST", "nodes", node) for node in node_objects])
        echo(f"{NUMBER} nodes are made; the node lifecycle controller marks them")
        while not all(f"{UNREACHABLE}:NoSchedule" in TAINTS.live(node) for node in self._cluster.nodes(SELECTOR)):
            time.sleep(5)
        return self

    def __exit__(self, *_exception: object) -> None:
        self.remove_nodes()

    def remove_nodes(self) -> None:
        """Remove what this or an earlier run made."""
        found = [node_plan.node_name(node) for node in self._cluster.nodes(SELECTOR)]
        self._cluster.send([("DELETE", f"nodes/{name}", None) for name in found])

    # ---- the ways: each makes the change and returns the seconds that took; then takes it back ---------------------------

    def by_module(self, case: Case) -> float:
        """One task of the module."""
        seconds = self._task(case, "present")
        self._require_changed(case, NUMBER)
        self._task(case, "absent")
        return seconds

    def nothing(self, case: Case) -> float:
        """The same task where all is as it should be."""
        self._task(case, "present")
        seconds = self._task(case, "present")
        self._task(case, "absent")
        return seconds

    def raw(self, case: Case) -> float:
        """The patches that the module would send, and nothing else."""
        plans = [node_plan.plan(case.kind, node, case.desired) for node in self._cluster.nodes(SELECTOR)]
        requests = [("PATCH", case.path(plan.node), plan.patch) for plan in plans]
        began = time.monotonic()
        self._cluster.send(requests)
        seconds = time.monotonic() - began
        self._require_changed(case, NUMBER)
        self._task(case, "absent")
        return seconds

    def kubectl(self, case: Case) -> float:
        """One command, for some nodes only where it cannot select."""
        seconds = timed(self._lab, self._kubectl, *case.kubectl_on(case.kubectl_nodes))
        self._require_changed(case, case.kubectl_number)
        timed(self._lab, self._kubectl, *case.kubectl_off(case.kubectl_nodes))
        return seconds

    def loop(self, case: Case) -> float:
        """A task in a loop over some of the nodes."""
        seconds = self._play({**case.loop, "loop": NAMES[:LOOPED]})
        self._require_changed(case, LOOPED)
        timed(self._lab, self._kubectl, *case.kubectl_off(NAMES[:LOOPED]))
        return seconds

    def ping(self, _case: Case) -> float:
        """A play with one task that does nothing."""
        return self._play({"ansible.builtin.ping": {}})

    def _task(self, case: Case, state: str) -> float:
        desired = {case.kind.field: case.value} if state == "present" else {}
        return self._play({f"nodecraft.kubeadm.{case.module}": {"label_selector": SELECTOR, "state": state, **desired}})

    def _play(self, task: Json) -> float:
        variables = {"kubectl": self._kubectl, "ansible_python_interpreter": sys.executable}
        return play(self._lab, {"hosts": "localhost", "connection": "local", "vars": variables, "tasks": [task]})

    def _require_changed(self, case: Case, number: int) -> None:
        found = sum(any(key.startswith(KEY) for key in case.kind.live(node)) for node in self._cluster.nodes(SELECTOR))
        if found != number:
            raise SystemExit(f"{case.module}: {found} nodes were changed and not {number}")


WAYS: dict[str, t.Callable[[Bench, Case], float]] = {
    "ping": Bench.ping,
    "raw": Bench.raw,
    "module": Bench.by_module,
    "nothing": Bench.nothing,
    "kubectl": Bench.kubectl,
}


def measure(lab: Lab) -> Part:
    """All ways in turn, kind by kind; the loop once, for it takes as long as all others together."""
    seconds: dict[str, dict[str, list[float]]] = {}
    with Bench(lab) as bench:
        for case in CASES:
            found = seconds[case.module] = {way: [] for way in WAYS}
            for _round in range(ROUNDS):
                for way, take in WAYS.items():
                    found[way].append(take(bench, case))
                    echo(f"{case.module}: {way}, {found[way][-1]:.2f} s")
            found["loop"] = [bench.loop(case)]
            echo(f"{case.module}: loop over {LOOPED} nodes, {found['loop'][0]:.2f} s")
    verdicts = {module: verdict(found) for module, found in seconds.items()}
    return Part(f"{NUMBER} nodes", table(seconds, verdicts), {"seconds": seconds, "verdicts": verdicts})


def verdict(found: t.Mapping[str, list[float]]) -> dict[str, float]:
    """The module's seconds without those of a play that does nothing, what they may be, and how often the loop takes them."""
    middle = {way: statistics.median(values) for way, values in found.items()}
    own = middle["module"] - middle["ping"]
    looped = (middle["loop"] - middle["ping"]) / LOOPED
    return {
        "own": own,
        "may_be": 1.5 * middle["raw"] + 0.6,
        "loop_per_node": looped,
        "loop_times": looped / (own / NUMBER),
    }


def table(
    seconds: t.Mapping[str, t.Mapping[str, list[float]]], verdicts: t.Mapping[str, dict[str, float]]
) -> list[str]:
    """One line for each kind."""
    heads = [
        "task of",
        "8 raw at a time",
        "the module, less a ping",
        "nothing to do, less a ping",
        "kubectl",
        "a loop, per node",
    ]
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    for case in CASES:
        module, found = case.module, seconds[case.module]
        ping, own = statistics.median(found["ping"]), verdicts[module]
        cells = [
            module,
            spread(found["raw"], 2),
            f"{spread([value - ping for value in found['module']], 2)}, may be {own['may_be']:.2f} s",
            spread([value - ping for value in found["nothing"]], 2),
            spread(found["kubectl"], 2) + ("" if case.selects else f" for {LOOPED}"),
            f"{own['loop_per_node']:.2f} s, {own['loop_times']:.0f} x the module",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines

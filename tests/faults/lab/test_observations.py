# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a transaction observes: it finds the same again where nothing changed, and no ordinary change is rolled back for it.

FAULTS_PAIRS and FAULTS_CHANGES are how often; the whole, of docs/reliability.md, is 1000,100 and 60.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import sys
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.faults.lab import observe_pairs
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.background import Program, Task, report
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.busy_cluster import IMAGE, bustling, loaded
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.cluster import API_SERVER, Cluster, Json, Node
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.records import Recorder

pytestmark = pytest.mark.skipif("FAULTS_ONE" not in os.environ, reason="FAULTS_ONE names no lab of one control plane")

READING_PAIRS, CANARY_PAIRS = (int(number) for number in os.environ.get("FAULTS_PAIRS", "20,3").split(","))
CHANGES = int(os.environ.get("FAULTS_CHANGES", "6"))
LOAD = 8
LONGEST_SECONDS = 7200.0
KUBELET, SCHEDULER, CONTROLLER_MANAGER = "kubelet", "kube-scheduler", "kube-controller-manager"
STATIC_PODS = (API_SERVER, SCHEDULER, CONTROLLER_MANAGER)
# What one run after the other changes. A third of all changes are of the API server, three in a row.
RUNS = ((API_SERVER,), (API_SERVER,), (API_SERVER,), (SCHEDULER, CONTROLLER_MANAGER), (KUBELET,), (SCHEDULER,))
SITE = "playbooks/site.yml"
PLAY_OF_STATIC_PODS = "extensions/molecule/common/users_play.yml"
PLAY_OF_KUBELETS = "extensions/molecule/node_kubelet/users_play.yml"


class Desired:
    """A state that each run changes in part: harmless settings, with other values each time."""

    def __init__(self) -> None:
        self._numbers = dict.fromkeys((*STATIC_PODS, KUBELET), 0)

    def change(self, components: t.Iterable[str]) -> None:
        """Give them other values."""
        for component in components:
            self._numbers[component] += 1

    def variables(self) -> Json:
        """The state as variables of the roles."""
        numbers = {name: self._numbers[name] for name in STATIC_PODS if self._numbers[name]}
        number = self._numbers[KUBELET]
        kubelet = {
            "node_kubelet_config": {"maxPods": 110 + number},
            "node_kubelet_feature_gates": {"QOSReserved": bool(number % 2)},
            "node_kubelet_max_unavailable": 2,
        }
        return {
            "control_plane_components": {
                name: {"args": {"v": 1 + count % 3, "profiling": bool(count % 2)}} for name, count in numbers.items()
            },
            **(kubelet if number else {}),
        }


def histories(cluster: Cluster) -> dict[str, Json]:
    """All transactions that ended, by their nodes and ids."""
    return {
        f"{node.name} {journal['id']}": {**journal, "node": node.name}
        for node in cluster.nodes.values()
        for component in (*STATIC_PODS, KUBELET)
        for journal in node.history(component)
    }


def apply(cluster: Cluster, playbook: str, desired: Desired) -> tuple[int, list[str]]:
    """Apply the state. Returns how many tasks changed something, and why the run failed; empty where it did not."""
    with cluster.play(playbook, desired.variables()) as play:
        run = play.finish()
    return run.changed, run.reasons or ([] if run.rc == 0 else [f"exit status {run.rc}"])


# ---- pairs without a change between --------------------------------------------------------------------------------------


def read_pairs(output: Path) -> list[Json]:
    """The pairs of a program."""
    return [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]


def observing(cluster: Cluster, node: Node, component: str, chosen: str, count: int) -> Program:
    """Begin pairs of a component on its node."""
    source = Path(observe_pairs.__file__).read_text(encoding="utf-8")
    output = cluster.records / "runs" / f"pairs-{node.name}-{component}-{chosen}.jsonl"
    return node.program("python3", "-c", source, component, chosen, str(count), output=output)


def observe_pairs_at_once(
    cluster: Cluster, chosen: str, components: t.Sequence[tuple[Node, str]], count: int
) -> list[list[Json]]:
    """So many pairs, shared by the components, at the same time."""
    with contextlib.ExitStack() as stack:
        programs = [
            stack.enter_context(observing(cluster, node, name, chosen, -(-count // len(components))))
            for node, name in components
        ]
        for program in programs:
            assert program.wait(LONGEST_SECONDS) == 0, program.read_errors()
        return [read_pairs(program.output) for program in programs]


def start_pods(cluster: Cluster, side: str) -> dict[str, Json]:
    """Start a pod on each node at the same time, as the role does for the change of a kubelet. Returns the results by node."""
    name = f"kubelet-{side}-{secrets.token_hex(4)}-{{{{ inventory_hostname }}}}"
    options = {"node": "{{ inventory_hostname }}", "name": name, "image": IMAGE}
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "ansible_become": False}
    output = cluster.records / "runs" / f"node_canary-{time.monotonic_ns()}.json"
    with Task(cluster.lab, "all", "node_canary", options, output, f"--extra-vars={json.dumps(local)}") as task:
        task.wait()
        return t.cast("dict[str, Json]", report(task)["plays"][0]["tasks"][0]["hosts"])


def pod_pairs(cluster: Cluster, count: int) -> list[list[Json]]:
    """So many pairs of the pods that the role starts on the nodes, by node, in the form of the other pairs."""
    found: dict[str, list[Json]] = {node: [] for node in cluster.nodes}
    for number in range(-(-count // len(found))):
        began = time.monotonic()
        before, after = start_pods(cluster, "before"), start_pods(cluster, "after")
        for node, pairs in found.items():
            results = {"before": before[node], "after": after[node]}
            lost = [f"{side}: {result.get('steps', result)}" for side, result in results.items() if not _works(result)]
            pairs.append({
                "number": number,
                "seconds": round(time.monotonic() - began, 1),
                "before": {"canary": before[node].get("steps", {})},
                "losses": "; ".join(lost),
                "unverified": [text for result in results.values() if (text := result.get("unverified"))],
            })  # fmt: skip
    return list(found.values())


def _works(result: Json) -> bool:
    return len(result.get("steps", ())) > 1 and not any(result["steps"].values())


def test_pairs_without_a_change_find_the_same(one: Cluster, record: Recorder) -> None:
    entry = record("-", f"{READING_PAIRS} pairs of observations and {CANARY_PAIRS} with a canary, no change between")
    kubelets = [(node, KUBELET) for node in one.nodes.values()]
    static_pods = [(one.first, component) for component in STATIC_PODS]
    with bustling(one) as bustle:
        desired = Desired()
        desired.change((*STATIC_PODS, KUBELET))
        changed, reasons = apply(one, SITE, desired)
        assert (reasons, {journal["result"]["outcome"] for journal in histories(one).values()}) == ([], {"committed"})
        began = time.monotonic()
        reading = observe_pairs_at_once(one, "reading", [(one.first, API_SERVER), *kubelets], READING_PAIRS)
        half = CANARY_PAIRS // 2
        canaries = observe_pairs_at_once(one, "canary", static_pods, CANARY_PAIRS - half)
        canaries += pod_pairs(one, half)
        seconds = time.monotonic() - began
    different = [pair for pairs in (*reading, *canaries) for pair in observe_pairs.differences(pairs)]
    counts = [sum(map(len, pairs)) for pairs in (reading, canaries)]
    entry.note = (
        f"{counts[0]} pairs that read and {counts[1]} with a canary in {seconds:.0f} s after {changed} changed tasks:"
        f" {len(different)} different, {sum(bool(pair['losses']) for pair in different)} with a loss"
    )
    entry.outcome, entry.runs_then, entry.false_restore = "the same", "old", any(pair["losses"] for pair in different)
    entry.fault_evidence = bustle.describe()
    assert different == []
    assert min(bustle.starts().values()) > 1


# ---- ordinary changes under a load -----------------------------------------------------------------------------------------


def test_ordinary_changes_under_load_are_committed(one: Cluster, record: Recorder) -> None:
    entry = record("-", f"{CHANGES} ordinary changes while {LOAD} other processes need all processors")
    desired, ended = Desired(), list[Json]()
    path = one.records / "runs" / "ordinary_changes.jsonl"
    with bustling(one) as bustle, loaded(LOAD), journaled(path) as write:
        for components in itertools.cycle(RUNS):
            desired.change(components)
            new = change_components(one, desired, components)
            write(new)
            ended += new
            entry.false_restore = any(change["outcome"] != "committed" for change in ended)
            assert [change for change in new if not is_good(change)] == []
            is_over = len(ended) >= CHANGES
            if is_over or components == RUNS[-1]:
                assert apply(one, SITE, desired) == (0, []), "the second run changes something"
            if is_over:
                break
        load = os.getloadavg()[0]
    entry.outcome, entry.runs_then = "committed", "new"
    entry.outages = [change["outage"] for change in ended if change["outage"] is not None]
    of_api_server = sum(change["component"] == API_SERVER for change in ended)
    entry.note = f"{len(ended)} changes, {of_api_server} of the API server; seconds: {seconds_of(ended)}"
    entry.fault_evidence = f"a load of {load:.0f} at the end; {bustle.describe()}"


@contextlib.contextmanager
def journaled(path: Path) -> t.Iterator[t.Callable[[t.Sequence[Json]], None]]:
    """What writes changes into a file, a line for each, as soon as they are known."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as stream:

        def write(changes: t.Sequence[Json]) -> None:
            stream.writelines(f"{json.dumps(change)}\n" for change in changes)
            stream.flush()

        yield write


def change_components(cluster: Cluster, desired: Desired, components: t.Sequence[str]) -> list[Json]:
    """Apply the state to these components. Returns how each transaction ended."""
    former, began = set(histories(cluster)), time.monotonic()
    playbook = PLAY_OF_KUBELETS if components == (KUBELET,) else PLAY_OF_STATIC_PODS
    dummy, reasons = apply(cluster, playbook, desired)
    run_seconds = round(time.monotonic() - began, 1)
    new = [
        {**describe(journal), "run_seconds": run_seconds, "reasons": reasons}
        for name, journal in histories(cluster).items()
        if name not in former
    ]
    assert {change["component"] for change in new} == set(components), reasons
    return new


def is_good(change: Json) -> bool:
    """Whether a change was committed, with a proof of what was observed, and its run ended well."""
    return change["outcome"] == "committed" and change["observed"] > 0 and not change["reasons"]


def describe(journal: Json) -> Json:
    """How a change ended."""
    result = journal["result"]
    return {
        "node": journal["node"],
        "component": journal["name"],
        "outcome": result["outcome"],
        "reason": result["reason"],
        "seconds": result["seconds"],
        "outage": result["outage_seconds"],
        "observed": len((result["proof"] or {}).get("observed", ())),
        "unverified": journal.get("unverified", []),
    }


def seconds_of(ended: t.Sequence[Json]) -> str:
    """The times of all changes, by component."""
    return "; ".join(
        f"{component} {', '.join(format(change['seconds'], '.0f') for change in ended if change['component'] == component)}"
        for component in dict.fromkeys(change["component"] for change in ended)
    )

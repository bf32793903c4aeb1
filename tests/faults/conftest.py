# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A directory for nodes, the processes that work on them, and a count of all faults."""

from __future__ import annotations

import json
import os
import typing as t
from collections import Counter
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.faults.fault_nodes import StaticPodNode
from ansible_collections.nodecraft.kubeadm.tests.faults.mutations import MUTATIONS
from ansible_collections.nodecraft.kubeadm.tests.faults.processes import Worker, copy_code
from ansible_collections.nodecraft.kubeadm.tests.faults.scenarios import Scenario
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import Web, served_web


@pytest.fixture(scope="session", name="worker")
def fixture_worker(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Worker]:
    """The collection's code; with one safeguard taken out when FAULTS_MUTATION names it."""
    tree = copy_code(tmp_path_factory.mktemp("code"))
    name = os.environ.get("FAULTS_MUTATION")
    if name:
        MUTATIONS[name].remove_safeguard(tree)
    worker = Worker(tree)
    yield worker
    worker.close()


@pytest.fixture(scope="session", name="session_web")
def fixture_session_web() -> t.Iterator[Web]:
    with served_web() as web:
        yield web


Make = t.Callable[[Scenario], StaticPodNode]


@pytest.fixture(scope="session", name="node_directory")
def fixture_node_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each node of a scenario is made: what one leaves can be compared with what another left, names of files included."""
    return tmp_path_factory.mktemp("scenarios") / "node"


@pytest.fixture(name="make_node")
def fixture_make_node(node_directory: Path, session_web: Web, worker: Worker) -> t.Iterator[Make]:
    """Makes the node of a scenario, always in the same directory; what the kubelet saw of the one before is checked."""
    nodes: list[StaticPodNode] = []

    def check() -> None:
        for node in nodes:
            node.check_manifest()
            node.assert_only_whole_files_appeared()
            node.watcher.close()
        nodes.clear()

    def make_node(scenario: Scenario) -> StaticPodNode:
        check()
        nodes.append(scenario.node(node_directory, session_web, worker))
        return nodes[-1]

    yield make_node
    check()


@pytest.fixture(name="node")
def fixture_node(tmp_path: Path, session_web: Web, worker: Worker) -> t.Iterator[StaticPodNode]:
    """A node on which nothing was done yet."""
    node = StaticPodNode(tmp_path / "node", session_web, worker)
    yield node
    node.assert_only_whole_files_appeared()
    node.watcher.close()


Tally = t.Callable[[str, str], None]


@pytest.fixture(scope="session", name="tally")
def fixture_tally() -> t.Iterator[Tally]:
    """Counts faults by kind and end; the counts go into FAULTS_RECORD, for the documentation."""
    counts: Counter[str] = Counter()

    def count(kind: str, end: str) -> None:
        counts[f"{kind}: {end}"] += 1

    yield count
    directory = os.environ.get("FAULTS_RECORD")
    if directory and counts:
        Path(directory).mkdir(parents=True, exist_ok=True)
        (Path(directory) / f"files-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}.json").write_text(
            json.dumps(counts, indent=1, sort_keys=True) + "\n", encoding="utf-8"
        )

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A place for nodes, the processes that work on them, and a count of all faults."""

from __future__ import annotations

import json
import os
import typing as t
from collections import Counter
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.faults.mutations import MUTATIONS
from ansible_collections.nodecraft.kubeadm.tests.faults.processes import Worker, copy_code
from ansible_collections.nodecraft.kubeadm.tests.faults.scenarios import Scenario
from ansible_collections.nodecraft.kubeadm.tests.faults.station import Station
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import Web, served_web


@pytest.fixture(scope="session", name="worker")
def fixture_worker(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Worker]:
    """The collection's code; with one safeguard taken out when FAULTS_MUTATION names it."""
    tree = copy_code(tmp_path_factory.mktemp("code"))
    name = os.environ.get("FAULTS_MUTATION")
    if name:
        MUTATIONS[name].take_out(tree)
    worker = Worker(tree)
    yield worker
    worker.close()


@pytest.fixture(scope="session", name="session_web")
def fixture_session_web() -> t.Iterator[Web]:
    with served_web() as web:
        yield web


Make = t.Callable[[Scenario], Station]


@pytest.fixture(scope="session", name="place")
def fixture_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each node of a scenario is made: what one leaves can be compared with what another left, names of files included."""
    return tmp_path_factory.mktemp("scenarios") / "node"


@pytest.fixture(name="make")
def fixture_make(place: Path, session_web: Web, worker: Worker) -> t.Iterator[Make]:
    """Makes the node of a scenario, always in the same place; what the kubelet saw of the one before is checked."""
    stations: list[Station] = []

    def check() -> None:
        for station in stations:
            station.look()
            station.assert_only_whole_files_appeared()
            station.watcher.close()
        stations.clear()

    def make(scenario: Scenario) -> Station:
        check()
        stations.append(scenario.station(place, session_web, worker))
        return stations[-1]

    yield make
    check()


@pytest.fixture(name="station")
def fixture_station(tmp_path: Path, session_web: Web, worker: Worker) -> t.Iterator[Station]:
    """A node on which nothing was done yet."""
    station = Station(tmp_path / "node", session_web, worker)
    yield station
    station.assert_only_whole_files_appeared()
    station.watcher.close()


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

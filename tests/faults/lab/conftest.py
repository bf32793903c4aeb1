# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labs for the fault tests, and the record of each test.

FAULTS_ONE and FAULTS_THREE name a lab with one control plane and a worker, and one with three control planes;
FAULTS_UPGRADE_ONE and FAULTS_UPGRADE_THREE such labs, each with a worker, that kubeadm has not upgraded yet. Without
them the tests that need them are passed over. What was measured goes to the directory FAULTS_RECORD. Nothing begins while
the host takes the machine's processors away, and what fails for it is called Starved.
"""

from __future__ import annotations

import os
import re
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.lab import runs
from ansible_collections.nodecraft.kubeadm.tests.faults.lab import starvation
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.cluster import Cluster
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.records import Record, Recorder

_passed = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> t.Generator[None, t.Any, t.Any]:
    """Remember for the record whether the test itself passed."""
    report = yield
    if call.when == "call":
        item.stash[_passed] = report.passed
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> t.Generator[None, t.Any, t.Any]:
    """Bring the cluster back to what it was."""
    starvation.wait_for_processors()
    with starvation.detect_starvation():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> t.Generator[None, t.Any, t.Any]:
    """Test."""
    with starvation.detect_starvation():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> t.Generator[None, t.Any, t.Any]:
    """Bring the cluster back again."""
    with starvation.detect_starvation():
        return (yield)


@pytest.fixture(scope="session")
def records() -> Path:
    """The directory for what was measured."""
    directory = Path(os.environ.get("FAULTS_RECORD", runs.ROOT / "build/faults"))
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@pytest.fixture(scope="session")
def lab_of_one(records: Path) -> Cluster:
    """The lab with one control plane."""
    return Cluster(os.environ["FAULTS_ONE"], records)


@pytest.fixture(scope="session")
def lab_of_three(records: Path) -> Cluster:
    """The lab with three control planes."""
    return Cluster(os.environ["FAULTS_THREE"], records)


@pytest.fixture
def one(lab_of_one: Cluster) -> t.Iterator[Cluster]:
    """A healthy cluster of one control plane, brought back to what it was after the test."""
    yield from _healthy(lab_of_one)


@pytest.fixture
def three(lab_of_three: Cluster) -> t.Iterator[Cluster]:
    """A healthy cluster of three control planes, brought back to what it was after the test."""
    yield from _healthy(lab_of_three)


def _healthy(cluster: Cluster) -> t.Iterator[Cluster]:
    cluster.reset()
    yield cluster
    cluster.reset()


@pytest.fixture
def record(request: pytest.FixtureRequest, records: Path) -> t.Iterator[Recorder]:
    """Makes the record of a fault. A test that passes without having reached its fault proves nothing, so it fails."""
    made: list[Record] = []

    def make(fault: str, title: str, way: str = "collection") -> Record:
        made.append(Record(fault, title, way))
        return made[-1]

    yield make
    passed = request.node.stash.get(_passed, False)
    for number, entry in enumerate(made):
        name = re.sub(r"[^\w-]+", "-", f"{request.node.path.stem}-{request.node.name}")
        entry.write(records / f"{name}-{number}.json", passed=passed)
    assert not passed or all(entry.fault_evidence for entry in made), (
        "the test did not prove that its fault was reached"
    )

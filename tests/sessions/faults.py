# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fault tests: at the file layer, and on real clusters."""

from __future__ import annotations

import contextlib
import os
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nox

from .clusters import lab_of_this_clone, lab_variables, own_lab
from .places import FAULTS, RESULTS, ROOT, fresh_directory
from .tools import install, run_logged, run_pytest

# Where the fault tests on real clusters are.
LAB_FAULTS = ROOT / "tests" / "faults" / "lab"


class FaultLab(t.NamedTuple):
    """A cluster for fault tests: its nodes, the environment variable by which its tests know it, their files, and its version.

    kubernetes: the minor version; empty: that of K8S, or the newest.
    """

    control_planes: int
    workers: int
    named_by: str
    tests: tuple[str, ...]
    kubernetes: str = ""

    def variables(self, name: str) -> dict[str, str]:
        """What describes it to the playbooks of the lab."""
        version = {"K8S": self.kubernetes} if self.kubernetes else {}
        return lab_variables(LAB=name, CONTROL_PLANES=str(self.control_planes), WORKERS=str(self.workers), **version)


def run_file_faults(session: nox.Session, scope: str) -> None:
    """Run the fault tests that need no cluster, and keep their counts."""
    if os.geteuid() != 0:
        session.skip("processes of others are traced and files are given to others: run it as root")
    install(session, "pytest", "pytest-xdist", "PyYAML")
    session.env.update(FAULTS_SCOPE=scope, FAULTS_RECORD=str(fresh_directory(FAULTS / "files")))
    run_pytest(session, "--numprocesses=auto", "tests/faults", "--ignore=tests/faults/lab")


def run_all_lab_faults(session: nox.Session, clusters: t.Sequence[t.Mapping[str, FaultLab]]) -> None:
    """Run those on real clusters. clusters: one group after the other, each with those that work at once.

    Arguments of the session that are names of clusters choose these; the others are pytest's.
    """
    install(session, "ansible", "kubernetes", "jsonpatch", "pytest", "pytest-rerunfailures", "PyYAML")
    forgotten = {path.name for path in LAB_FAULTS.glob("test_*.py")}.difference(
        *(lab.tests for labs in clusters for lab in labs.values())
    )
    if forgotten:
        session.error(f"FAULT_LABS has no {', '.join(sorted(forgotten))}")
    record = fresh_directory(FAULTS / "lab")
    known = {name for labs in clusters for name in labs}
    chosen = known.intersection(session.posargs) or known
    groups = [{name: lab for name, lab in labs.items() if name in chosen} for labs in clusters]
    arguments = [argument for argument in session.posargs if argument not in known]
    failed = [name for labs in groups if labs for name in failed_on_labs(session, labs, record, arguments)]
    if failed:
        session.error(f"failed on {', '.join(failed)}")


def failed_on_labs(
    session: nox.Session, labs: t.Mapping[str, FaultLab], record: Path, arguments: t.Sequence[str]
) -> list[str]:
    """The fault tests of clusters that are there at the same time. arguments: of pytest. Returns the names of those on which one failed."""
    labs = {lab_of_this_clone(name): lab for name, lab in labs.items()}
    with contextlib.ExitStack() as stack:
        for name, lab in labs.items():
            stack.enter_context(own_lab(session, lab.variables(name)))
        with ThreadPoolExecutor(len(labs)) as pool:
            outcomes = list(pool.map(lambda name: run_lab_faults(session, name, labs[name], record, arguments), labs))
    return [name for name, passed in zip(labs, outcomes, strict=True) if not passed]


def run_lab_faults(session: nox.Session, name: str, lab: FaultLab, record: Path, arguments: t.Sequence[str]) -> bool:
    """The fault tests of one lab. Returns whether they passed."""
    report = RESULTS / f"{name}.xml"
    report.unlink(missing_ok=True)
    return run_logged(
        session,
        RESULTS / "faults" / f"{name}.log",
        {lab.named_by: name, "FAULTS_RECORD": str(record)},
        "pytest",
        f"--junit-xml={report}",
        # Only what failed while the host gave this machine no time; see starvation.py.
        "--reruns=2",
        "--only-rerun=Starved",
        *(str(LAB_FAULTS / file) for file in lab.tests),
        *arguments,
    )

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Molecule scenarios on clusters of their own."""

from __future__ import annotations

import json
import threading
import typing as t
from concurrent.futures import ThreadPoolExecutor

import nox

from .clusters import lab_of_this_clone
from .places import BUILD, RESULTS, ROOT
from .tools import install, run_logged

# How many versions of Kubernetes are played at once: a cluster mostly waits for its components to stop and start, so two of them hardly
# get in each other's way.
LABS_AT_ONCE = 2


def all_scenarios() -> list[str]:
    """The names of the scenarios; C(default) only makes the clusters that the others share."""
    directories = (ROOT / "extensions" / "molecule").glob("*/molecule.yml")
    return sorted(path.parent.name for path in directories if path.parent.name != "default")


def selected_scenarios(arguments: t.Iterable[str]) -> dict[str, list[str]]:
    """What arguments select, as version -> its scenarios: those named behind C(=), or all."""
    selected = {}
    for argument in arguments:
        version, _equals, names = argument.partition("=")
        selected[version] = names.split(",") if names else all_scenarios()
    return selected


def play_scenarios(session: nox.Session, selected: t.Mapping[str, t.Sequence[str]]) -> None:
    """Play scenarios, two versions of Kubernetes at once. selected: version -> its scenarios."""
    install(session, "ansible", "molecule", "kubernetes", "jsonpatch")
    ended = threading.Event()
    with ThreadPoolExecutor(LABS_AT_ONCE) as pool:
        try:
            outcomes = list(pool.map(lambda version: play_on(session, version, selected[version], ended), selected))
        finally:
            ended.set()  # after Ctrl-C the pool still waits for its threads, which then take their clusters down
    outcome = {name: passed for outcome in outcomes for name, passed in outcome.items()}
    (RESULTS / f"{session.name}.json").write_text(json.dumps(outcome, indent=2), encoding="utf-8")
    failed = [name for name, passed in outcome.items() if not passed]
    if failed:
        session.error(f"failed: {', '.join(failed)}")


def play_on(session: nox.Session, kubernetes: str, names: t.Sequence[str], ended: threading.Event) -> dict[str, bool]:
    """The scenarios of one version; they share a cluster, and one that fails stops no other. Returns which passed.

    ended: set when no further one shall begin.
    """

    def molecule(action: str, scenario: str, *options: str) -> bool:
        return run_molecule(session, kubernetes, action, f"--scenario-name={scenario}", *options)

    # What an interrupted run left behind would be taken for this run's lab.
    molecule("destroy", "default")
    try:
        outcome = {f"{kubernetes} lab": molecule("create", "default")}
        for name in names if all(outcome.values()) else ():
            if ended.is_set():
                break
            outcome[f"{kubernetes} {name}"] = molecule("test", name, "--no-shared-state", "--destroy=never")
    finally:
        molecule("destroy", "default")
    return outcome


def run_molecule(session: nox.Session, kubernetes: str, *arguments: str) -> bool:
    """Run it for the lab of one version. Returns whether it ended well."""
    log = RESULTS / "molecule" / f"{kubernetes}-{'-'.join(arguments[:2]).replace('--scenario-name=', '')}.log"
    lab = lab_of_this_clone(f"test-{kubernetes.replace('.', '-')}")
    # Molecule records below it which scenarios have a cluster, by their names alone: one lab must not be taken for another.
    environment = {"K8S": kubernetes, "LAB": lab, "ANSIBLE_HOME": str(BUILD / "ansible" / lab)}
    return run_logged(session, log, environment, "molecule", *arguments)

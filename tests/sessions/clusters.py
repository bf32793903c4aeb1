# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters of the lab: to work with, for a program, and for tests."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import typing as t

from .places import COLLECTIONS, ROOT

if t.TYPE_CHECKING:
    import nox

# What a user exported, or a shell of a lab, does not change how the lab's own playbooks run.
LAB_SETTINGS = {
    "ANSIBLE_CONFIG": str(ROOT / "lab" / "ansible.cfg"),
    "ANSIBLE_STDOUT_CALLBACK": "progress",
    "ANSIBLE_INVENTORY": os.devnull,
}


def lab_variables(**other: str) -> dict[str, str]:
    """What make hands over, or its defaults, but for what is other."""
    return {
        "LAB": os.environ.get("LAB", "lab"),
        "K8S": os.environ.get("K8S", "1.37"),
        "CONTROL_PLANES": os.environ.get("CONTROL_PLANES", "1"),
        "WORKERS": os.environ.get("WORKERS", "2"),
        **other,
    }


def lab_of_this_clone(name: str) -> str:
    """What a cluster for tests is called: two clones on one machine can each have theirs."""
    return f"{name}-{hashlib.sha256(bytes(ROOT)).hexdigest()[:4]}"


def start_lab(session: nox.Session, lab: t.Mapping[str, str], *arguments: str) -> None:
    """Start the cluster that these variables describe, or leave it when it is there."""
    play_lab(
        session,
        "up",
        lab["LAB"],
        *arguments,
        lab_kubernetes=lab["K8S"],
        lab_control_planes=lab["CONTROL_PLANES"],
        lab_workers=lab["WORKERS"],
    )


def stop_lab(session: nox.Session, name: str, *arguments: str) -> None:
    """Remove a cluster."""
    play_lab(session, "down", name, *arguments)


@contextlib.contextmanager
def own_lab(session: nox.Session, lab: t.Mapping[str, str], *arguments: str) -> t.Iterator[None]:
    """A cluster that begins fresh, and goes afterwards. Its API server takes its whole grace period to stop, so tests have a short one."""
    try:
        stop_lab(session, lab["LAB"])  # of a run that was interrupted
        start_lab(session, lab, "--extra-vars=lab_grace_seconds=3", *arguments)
        yield
    finally:
        stop_lab(session, lab["LAB"])


def play_lab(session: nox.Session, playbook: str, name: str, *arguments: str, **variables: str) -> None:
    """Run a playbook of the lab. It prints lines for a person; all results are in build/log/lab-NAME.jsonl."""
    # As JSON: in other texts a space ends a value, and a name that is none would be cut down to that of another lab.
    extra = json.dumps({"lab_name": name, **variables})
    session.run(
        *("python", "lab/alone.py", name),
        *("ansible-playbook", f"lab/{playbook}.yml", f"--extra-vars={extra}", *arguments),
        env={**LAB_SETTINGS, "PYTHONPATH": str(COLLECTIONS)},
        interrupt_timeout=None,  # Killed, it would leave what it started at work.
    )


def run_program(session: nox.Session, program: str) -> None:
    """Run a program that works on a lab of its own and prints what it sees."""
    session.run(
        *("python", program, *session.posargs),
        env={**lab_variables(), "PYTHONPATH": str(COLLECTIONS)},
        interrupt_timeout=None,  # After Ctrl-C its lab still has to be removed, however busy the machine is.
    )

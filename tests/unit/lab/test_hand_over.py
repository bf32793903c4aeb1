# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``make lab-up`` waits for in the end, and what its last lines tell their reader to do."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import jinja2
import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

# kubectl of a cluster where a pod of kube-system has ended: it never becomes Ready.
KUBECTL = """#!/bin/sh
case "$*" in *"pods --all"*) echo 'timed out waiting for the condition on pods/ended' >&2; exit 1; esac
"""


def test_a_pod_that_has_ended_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "kubectl").write_text(KUBECTL, encoding="utf-8")
    (tmp_path / "kubectl").chmod(0o755)
    tasks = yaml.safe_load((ROOT / "lab/tasks/hand_over.yml").read_text(encoding="utf-8"))
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(["sh", "-e", "-c", tasks[0]["vars"]["lab_wait"]], env={"PATH": path}, check=False)
    assert done.returncode == 0


def last_lines() -> list[str]:
    """The text for a lab in a directory with a space in its path."""
    # As Ansible does it; the text goes to a terminal.
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True)  # noqa: S701
    environment.filters["quote"] = shlex.quote
    names = {"lab_name": "x", "lab_directory": "/a b/x", "lab_node_names": ["x-cp1", "x-cp2"]}
    text = (ROOT / "lab/templates/hand_over.txt.j2").read_text(encoding="utf-8")
    return environment.from_string(text).render(**names, lab_release={"version": "1.37.2"}).strip().splitlines()


def test_they_name_the_inventory_the_kubeconfig_and_how_to_remove_it() -> None:
    assert last_lines()[1:4] == [
        "   inventory   /a b/x/inventory.yml",
        "   kubeconfig  /a b/x/kubeconfig",
        "   remove it   make lab-down LAB=x",
    ]


def test_the_command_to_copy_changes_one_control_plane_after_the_other() -> None:
    activate, command = last_lines()[-1].split(" && ")
    assert shlex.split(activate) == [".", "/a b/x/activate"]
    words = shlex.split(command)
    assert words[:3] == ["ansible", "kube_control_plane", "--forks=1"]
    assert json.loads(words[-1]) == {
        "name": "kube-apiserver",
        "feature_gates": {"CrossNamespaceVolumeDataSource": True},
    }

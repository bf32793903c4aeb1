# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A task with one of the modules that start a transaction reaches the follower."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

NAMES = sorted(path.stem for path in (ROOT / "plugins/action").glob("*.py"))

# The steps by which Ansible finds what runs a task: a routing of the module comes first, then an action of its name.
# In a process of its own: once Ansible loads collections, it does so for all of a process.
PROGRAM = """
import json, sys
from ansible.plugins.loader import action_loader, init_plugin_loader, module_loader
init_plugin_loader([])
found = {}
for name in sys.argv[1:]:
    module = module_loader.find_plugin_with_context(name)
    action = action_loader.get(module.action_plugin or name, class_only=True)
    found[name] = [module.resolved, f"{action.__module__}.{action.__name__}", [base.__name__ for base in action.__mro__]]
print(json.dumps(found))
"""


def test_there_is_one_for_each_module_that_starts_a_transaction() -> None:
    assert NAMES == ["kubelet", "static_pod"]


@pytest.mark.parametrize("name", NAMES)
def test_a_task_reaches_the_follower(name: str) -> None:
    whole = f"nodecraft.kubeadm.{name}"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, whole],
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "build/collections")},
        check=True,
        capture_output=True,
        text=True,
    )
    resolved, action, bases = json.loads(done.stdout)[whole]
    assert resolved, "the module"
    assert action == f"ansible_collections.nodecraft.kubeadm.plugins.action.{name}.ActionModule"
    assert bases[1:3] == ["TransactionFollower", "ActionBase"]

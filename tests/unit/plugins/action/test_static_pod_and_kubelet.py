# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A task reaches what runs on the controller: the follower of a transaction, or the credentials for the API."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

NAMES = sorted(path.stem for path in (ROOT / "plugins/action").glob("*.py"))
GROUPS = yaml.safe_load((ROOT / "meta/runtime.yml").read_text(encoding="utf-8"))["action_groups"]
# By the one that starts a transaction or plans some, the one that uses the API, or the one that takes the steps of a rollout.
BASES = {
    "kubelet": "TransactionFollower",
    "static_pod": "TransactionFollower",
    "static_pod_plan": "StaticPodPlanner",
    **{name: "ApiCredentials" for name in GROUPS["api"] if isinstance(name, str)},
    "rollout_lease": "LeaseWaiter",
    "rollout": "RolloutSteps",
}

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


def test_there_is_one_for_each_module_that_needs_one() -> None:
    assert sorted(BASES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_task_reaches_its_plugin(name: str) -> None:
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
    assert BASES[name] == bases[1]
    assert "ActionBase" in bases

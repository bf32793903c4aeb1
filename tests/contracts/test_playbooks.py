# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all playbooks have in common, read from their files: the plays of one hold for the others then."""

from __future__ import annotations

import itertools
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.role_variables import SETTINGS
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

Json = dict[str, t.Any]

GROUPS = ["kube_control_plane", "kube_node"]
NODES = ":".join(GROUPS)
FILES = sorted((ROOT / "playbooks").glob("*.yml"))
# Of the playbooks that use nodes, which groups must have a host. The others run on the controller.
NEEDED = {
    "device_plugin": GROUPS,
    "feature_gates": GROUPS,
    "join_files": GROUPS[:1],
    "node_resources": GROUPS,
    "placement_guard": GROUPS,
    "rollback": GROUPS,
    "site": GROUPS[:1],
    "upgrade_check": GROUPS[:1],
}
# They change nothing, so a node that fails ends no other.
READING = ("upgrade_check",)
# Its nodes are in no cluster yet, so none of them is in the way of another.
JOINING = ("join_files",)
ROLES = sorted(path.parent.parent.name for path in ROOT.glob("roles/*/tasks/main.yml"))


def loaded(path: Path) -> t.Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def plays(name: str) -> list[Json]:
    return list(loaded(ROOT / f"playbooks/{name}.yml"))


def tasks(entries: t.Iterable[Json]) -> t.Iterator[Json]:
    """All tasks, those of blocks too."""
    for entry in entries:
        yield entry
        for part in ("tasks", "block", "rescue", "always"):
            yield from tasks(entry.get(part, ()))


def options_of(roles: t.Iterable[str]) -> set[str]:
    """The variables that roles specify."""
    found: set[str] = set()
    for role in roles:
        for entry in loaded(ROOT / f"roles/{role}/meta/argument_specs.yml")["argument_specs"].values():
            found.update(entry["options"])
    return found


def included(name: str, file: str) -> list[Json]:
    """The variables with which a playbook includes a file of tasks."""
    return [task.get("vars", {}) for task in tasks(plays(name)) if task.get("ansible.builtin.include_tasks") == file]


def test_each_playbook_is_of_nodes_or_of_the_controller() -> None:
    assert [path.stem for path in FILES if plays(path.stem)[-1]["hosts"] != "localhost"] == sorted(NEEDED)


@pytest.mark.parametrize("name", NEEDED)
def test_a_playbook_of_nodes_checks_the_inventory_first(name: str) -> None:
    first, _play = plays(name)
    assert first["ansible.builtin.import_playbook"] == "plays/inventory.yml"
    assert first["vars"]["__play_groups"] == NEEDED[name]


@pytest.mark.parametrize("name", [name for name in NEEDED if name not in JOINING])
def test_a_playbook_of_nodes_keeps_its_hosts_in_sync(name: str) -> None:
    _first, play = plays(name)
    assert (play["hosts"], play["strategy"], "serial" in play) == (NODES, "ansible.builtin.linear", False)
    assert (play.get("any_errors_fatal", False), play["gather_facts"]) == (name not in READING, False)


@pytest.mark.parametrize("name", [path.stem for path in FILES if path.stem not in NEEDED])
def test_a_playbook_of_the_controller_runs_as_its_user(name: str) -> None:
    (play,) = plays(name)
    assert (play["hosts"], play["become"], play["gather_facts"]) == ("localhost", False, False)
    # A delegated task takes the connection that its play names, whatever host it goes to.
    delegates = any("delegate_to" in task for task in tasks([play]))
    assert play.get("connection") == (None if delegates else "local")


APPLYING = {
    "device_plugin": ["device_plugin"],
    "feature_gates": ["control_plane", "node_kubelet"],
    "node_resources": ["node_resources"],
    "placement_guard": ["placement_guard"],
    "site": ["control_plane", "node_kubelet", "node_resources", "placement_guard"],
}


def test_what_applies_a_desired_state_has_its_variables_checked_first() -> None:
    checked = {name: plays(name)[0]["vars"].get("__play_applies") for name in NEEDED}
    assert {name: roles for name, roles in checked.items() if roles} == APPLYING
    first = loaded(ROOT / "playbooks/plays/inventory.yml")[0]["tasks"][0]
    assert (first["register"], first["run_once"], first["tags"]) == ("__play_begin", True, "always")


def test_variables_that_a_run_must_name_are_settings_of_its_roles() -> None:
    required = {name: plays(name)[0]["vars"].get("__play_required", ()) for name in APPLYING}
    settings = {name: [each for role in APPLYING[name] for each in SETTINGS[role]] for name in APPLYING}
    # Misspelt, a variable would never be found.
    assert [name for name, names in required.items() if not set(names) <= set(settings[name])] == []


@pytest.mark.parametrize("name", NEEDED)
def test_roles_that_a_playbook_names_are_there(name: str) -> None:
    found = [variables["__play_role"] for variables in included(name, "tasks/role.yml")]
    assert set(found) <= set(ROLES)
    for variables in included(name, "tasks/change.yml"):
        if isinstance(variables["__play_roles"], list):
            assert set(variables["__play_roles"]) <= set(ROLES)


def test_roles_that_are_planned_first_have_both_parts() -> None:
    for role, part in itertools.product(("control_plane", "node_kubelet", "node_resources"), ("plan", "apply")):
        assert (ROOT / f"roles/{role}/tasks/{part}.yml").is_file()


@pytest.mark.parametrize(
    ("playbook", "module", "variable"),
    [
        ("resize", "pod_resize", "__play_pod_resize_options"),
        ("upgrade_check", "upgrade_check", "__play_upgrade_options"),
    ],
)
def test_each_variable_that_a_playbook_knows_reaches_its_module(playbook: str, module: str, variable: str) -> None:
    play = plays(playbook)[-1]
    (task,) = [each for each in tasks([play]) if f"nodecraft.kubeadm.{module}" in each]
    arguments = task[f"nodecraft.kubeadm.{module}"]
    for option in play["vars"][variable]:
        assert f"{module}_{option}" in arguments[option]

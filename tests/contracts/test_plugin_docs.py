# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is documented of modules, filters and roles is what Ansible's community and Automation Hub require."""

from __future__ import annotations

import json
import os
import subprocess
import typing as t

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

Json = dict[str, t.Any]
PYTHON = "Python 3.9 or newer where the module runs"
# Modules that change nothing, but do more than read: they run the programs of a node in a sandbox and fail when those refuse, or wait; or
# delete what they make.
VERIFYING = {"kubeadm_config_check", "node_canary", "node_transaction", "static_pod_plan", "upgrade_check"}
QUERIES = {"get", "info", "list", "query", "read"}


def documented(kind: str, directory: str) -> dict[str, Json]:
    """The output of ansible-doc for each plugin of a kind, by its short name."""
    names = [f"nodecraft.kubeadm.{path.stem}" for path in sorted((ROOT / directory).glob("*.py"))]
    listing = subprocess.run(
        ["ansible-doc", f"--type={kind}", "--json", *names],
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "build/collections")},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return {name.rpartition(".")[2]: entry for name, entry in json.loads(listing).items()}


@pytest.fixture(name="modules", scope="module")
def fixture_modules() -> dict[str, Json]:
    """What is documented of the modules."""
    return documented("module", "plugins/modules")


@pytest.fixture(name="filters", scope="module")
def fixture_filters() -> dict[str, Json]:
    """What is documented of the filters, and of the lookups."""
    return {**documented("filter", "plugins/filter"), **documented("lookup", "plugins/lookup")}


def entry_points() -> dict[str, Json]:
    """What is documented of the entry points of all roles."""
    specs = {path.parents[1].name: path for path in (ROOT / "roles").glob("*/meta/argument_specs.yml")}
    return {
        f"{role}.{name}": spec
        for role, path in specs.items()
        for name, spec in yaml.safe_load(path.read_text("utf-8"))["argument_specs"].items()
    }


def incomplete(name: str, entry: Json) -> list[str]:
    """The parts of a plugin's documentation that are missing."""
    return [f"{name}: {part}" for part in ("doc", "examples", "return") if not entry.get(part)]


def misnamed(name: str, entry: Json) -> bool:
    """Whether a module that only reads is not named so, or one that is named so changes something."""
    changes = entry["doc"]["attributes"]["diff_mode"]["support"] != "N/A"
    return (not changes and not name.endswith("_info") and name not in VERIFYING) or (
        changes and name.endswith("_info")
    )


def later_than(version: str, spec: t.Any) -> list[str]:
    """The versions a documentation names that are not yet there."""
    if isinstance(spec, list):
        return [found for value in spec for found in later_than(version, value)]
    if not isinstance(spec, dict):
        return []
    own = spec.get("version_added")
    found = [own] if isinstance(own, str) and numbers(own) > numbers(version) else []
    return found + [later for value in spec.values() for later in later_than(version, value)]


def numbers(version: str) -> list[int]:
    """The parts of a version, for comparison."""
    return [int(part) for part in version.split(".")]


def test_each_plugin_has_documentation_examples_and_return(modules: dict[str, Json], filters: dict[str, Json]) -> None:
    assert [lack for name, entry in {**modules, **filters}.items() for lack in incomplete(name, entry)] == []


def test_version_added_is_a_version_of_the_collection(modules: dict[str, Json], filters: dict[str, Json]) -> None:
    version = yaml.safe_load((ROOT / "galaxy.yml").read_text("utf-8"))["version"]
    found = {**{name: entry["doc"] for name, entry in {**modules, **filters}.items()}, **entry_points()}
    assert [name for name, doc in found.items() if not doc.get("version_added")] == []
    assert {name: later for name, doc in found.items() if (later := later_than(version, doc))} == {}


def test_each_module_reports_which_pythons_it_needs(modules: dict[str, Json]) -> None:
    assert [name for name, entry in modules.items() if PYTHON not in entry["doc"].get("requirements", [])] == []


def test_modules_that_only_read_are_named_info_and_support_check_mode(modules: dict[str, Json]) -> None:
    assert [name for name, entry in modules.items() if misnamed(name, entry)] == []
    reading = {name: entry["doc"]["attributes"] for name, entry in modules.items() if name.endswith("_info")}
    assert reading
    assert [name for name, attributes in reading.items() if attributes["check_mode"]["support"] != "full"] == []


def test_no_module_returns_facts_and_no_state_requests_information(modules: dict[str, Json]) -> None:
    sources = [path for path in project_files(ROOT) if path.parts[0] == "plugins"]
    assert [str(path) for path in sources if "ansible_facts" in (ROOT / path).read_text("utf-8")] == []
    states = {
        name: entry["doc"].get("options", {}).get("state", {}).get("choices", ()) for name, entry in modules.items()
    }
    assert {name: choices for name, choices in states.items() if QUERIES & set(choices)} == {}


def test_a_breach_is_found() -> None:
    def entry(support: str) -> Json:
        return {"doc": {"attributes": {"diff_mode": {"support": support}}}}

    assert incomplete("a", {"doc": {"x": 1}, "examples": "- a:"}) == ["a: return"]
    assert misnamed("a", entry("N/A"))
    assert misnamed("a_info", entry("full"))
    assert not misnamed("a_info", entry("N/A"))
    assert later_than("0.1.0", {"version_added": "0.1.0", "options": [{"x": {"version_added": "0.10.0"}}]}) == [
        "0.10.0"
    ]

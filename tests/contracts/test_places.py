# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users call lies where Ansible has it, uses nothing beside it, is private by its name, and no check of it is switched off."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

PLUGINS = {"action", "doc_fragments", "filter", "lookup", "modules", "module_utils", "plugin_utils"}
CALLED = ("playbooks", "plugins", "roles")
# The way from a file that is called to one beside the directories that may be called.
OUTSIDE = re.compile(
    r"(?:\.\./)+(?!meta/|playbooks/|plugins/|roles/)[a-z_]+/?|(?:playbook_dir|role_path)[^\n]*\.\./\.\."
)
# Open source, and compatible with the licence of Ansible, by the Free Software Foundation and by Debian.
LICENCES = {"Apache-2.0", "GPL-3.0-or-later"}
LICENCE = f"# SPDX-License-{'Identifier'}: GPL-3.0-or-later"  # in pieces, so that it is no licence of this file


# What the file of an action plugin imports from the controller's files.
BOUND = re.compile(r"^from \.\.plugin_utils\.(\w+)\.(\w+) import", re.MULTILINE)


def sources(*directories: str) -> list[Path]:
    """The files below these directories."""
    return [path for path in project_files(ROOT) if path.parts[0] in directories]


def is_private(path: Path) -> bool:
    """Whether a helper is private by its name."""
    return any(part.startswith("_") for part in path.parts[2:])


def exceptions_of(settings: t.Mapping[str, t.Any]) -> list[str]:
    """What a configuration of ansible-lint leaves out; of the modules of AWX it can know the names only."""
    mocked = [name for name in settings.get("mock_modules", []) if not name.startswith("awx.awx.")]
    return sorted({"exclude_paths", "mock_roles", "skip_list", "warn_list"} & set(settings)) + mocked


def test_only_what_ansible_knows_is_among_the_plugins() -> None:
    assert {path.parts[1] for path in sources("plugins")} == PLUGINS


def test_helpers_are_private_by_name() -> None:
    helpers = [path for path in sources("plugins") if path.parts[1] in ("module_utils", "plugin_utils")]
    code = [path for path in helpers if (ROOT / path).read_text("utf-8").strip()]
    assert [str(path) for path in code if not is_private(path)] == []


def test_plugins_are_under_the_licence_of_ansible() -> None:
    code = [path for path in sources("plugins") if (ROOT / path).read_text("utf-8").strip()]
    assert [str(path) for path in code if LICENCE not in (ROOT / path).read_text("utf-8")] == []


def test_all_licences_go_with_that_of_ansible() -> None:
    """The tool reuse, of the session license-check, holds that each licence of a file is among the texts."""
    assert {path.stem for path in sources("LICENSES")} == LICENCES
    assert set(yaml.safe_load((ROOT / "galaxy.yml").read_text("utf-8"))["license"]) == LICENCES


def test_what_is_called_uses_nothing_beside_it() -> None:
    # Of the device plugin, a role's file, the tests are not packed.
    texts = [path for path in sources(*CALLED) if path.suffix in (".py", ".yml", ".j2") and "tests" not in path.parts]
    assert {str(path): found for path in texts if (found := OUTSIDE.findall((ROOT / path).read_text("utf-8")))} == {}


def test_no_check_is_switched_off() -> None:
    assert [str(path) for path in project_files(ROOT) if path.match("sanity/ignore*.txt")] == []
    settings = yaml.safe_load((ROOT / ".ansible-lint").read_text("utf-8"))
    assert settings["profile"] == "production"
    assert exceptions_of(settings) == []
    assert [str(path) for path in project_files(ROOT) if path.name == ".ansible-lint-ignore"] == []


def test_a_breach_is_found() -> None:
    assert not is_private(Path("plugins/plugin_utils/a.py"))
    assert is_private(Path("plugins/plugin_utils/_a.py"))
    assert is_private(Path("plugins/module_utils/_a/b.py"))
    assert OUTSIDE.findall("{{ (role_path ~ '/../../other') | realpath }}")
    assert OUTSIDE.findall("import_playbook: ../lab/up.yml")
    assert not OUTSIDE.findall("src: ../../roles/a/files/b")
    assert exceptions_of({"profile": "production", "skip_list": ["a"]}) == ["skip_list"]


def test_the_architecture_names_what_action_plugins_bind() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "plugins/action").glob("*.py")]
    bound = {"/".join(found) for text in texts for found in BOUND.findall(text)}
    assert "_controller/transaction_follower" in bound
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    assert sorted(place for place in bound if f"`plugin_utils/{place}.py`" not in page) == []

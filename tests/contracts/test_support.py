# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users are promised to be supported is what is tested, and what the metadata has."""

from __future__ import annotations

import ast
import typing as t

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import versions
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

PAGES = ("README.md", "docs/support.md")
# Debian's releases by their names.
DEBIAN = {"bookworm": "Debian 12", "trixie": "Debian 13"}


def listed(words: t.Sequence[str]) -> str:
    """A list as a sentence has it."""
    return f"{', '.join(words[:-1])} and {words[-1]}"


def lab_releases() -> dict[str, dict[str, str]]:
    """What the lab has, by the minor version of Kubernetes."""
    text = (ROOT / "lab/vars/releases.yml").read_text("utf-8")
    return t.cast("dict[str, dict[str, str]]", yaml.safe_load(text)["lab_releases"])


def value_of(constant: str) -> t.Any:
    """What a constant of the noxfile is; a call in it counts as its arguments."""
    (node,) = (
        node.value
        for node in ast.parse((ROOT / "noxfile.py").read_text("utf-8")).body
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [constant]
    )

    class Arguments(ast.NodeTransformer):
        def visit_Call(self, call: ast.Call) -> ast.AST:
            return ast.Tuple(call.args, ast.Load())

    return ast.literal_eval(ast.fix_missing_locations(Arguments().visit(node)))


def promises() -> dict[str, str]:
    """What both pages have to contain, by subject."""
    cores: dict[str, tuple[str, tuple[str, ...]]] = value_of("CORES")
    released = [name for name, (release, _pythons) in cores.items() if "rc" not in release]
    candidates = [name for name in cores if name not in released]
    pythons = sorted({python for _release, found in cores.values() for python in found}, key=lambda x: int(x[2:]))
    suites = {release["suite"]: DEBIAN[release["suite"]] for release in lab_releases().values()}
    oldest = yaml.safe_load((ROOT / "tests/config.yml").read_text("utf-8"))["modules"]["python_requires"]
    return {
        "Kubernetes": versions.TESTED,
        "real clusters": listed(value_of("LAB_VERSIONS")),
        "ansible-core": listed(released) + "".join(f", and the release candidate of {name}" for name in candidates),
        "controllers": listed(pythons),
        "nodes": f"{oldest.removeprefix('>=')} and newer",
        "distributions": listed(list(suites.values())),
    }


@pytest.mark.parametrize("page", PAGES)
def test_what_is_promised_is_what_is_tested(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert {about: words for about, words in promises().items() if words not in text} == {}


def test_the_lab_has_every_version_that_is_played() -> None:
    assert set(value_of("LAB_VERSIONS")) == set(lab_releases())


def test_the_newest_version_is_played_on_the_newest_debian() -> None:
    suites = [release["suite"] for release in lab_releases().values()]
    assert (suites[0], suites[-1]) == ("bookworm", "trixie")


def test_the_metadata_begins_with_the_oldest_core_that_is_tested() -> None:
    oldest = next(iter(value_of("CORES")))
    runtime = yaml.safe_load((ROOT / "meta/runtime.yml").read_text("utf-8"))
    assert runtime["requires_ansible"] == f">={oldest}.0"
    roles = [yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / "roles").glob("*/meta/main.yml")]
    assert {role["galaxy_info"]["min_ansible_version"] for role in roles} == {oldest}


def test_a_list_is_written_out() -> None:
    assert listed(["1", "2", "3"]) == "1, 2 and 3"

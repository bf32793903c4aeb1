# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every command and YAML block of the guides is one that ``make test-docs`` executes, but for a few that have a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT
from ansible_collections.nodecraft.kubeadm.tests.docs.blocks import (
    COMMANDS,
    DISPLAYED_LANGUAGES,
    NOTE,
    YAML,
    Block,
    Shape,
    pages,
    parse_blocks,
    read_blocks,
)

# So many blocks may not be executed: what is executed is what a reader can rely on.
MOST_NOT_EXECUTED = 22
# What no lab has.
MISSING = (
    "a cluster of Kubespray",
    "a registry",
    "an OpenID Connect provider",
    "AWX",
    "kind",
    "Kubernetes 1.32",
    "minikube",
    "packages of Kubernetes",
    "Prometheus",
    "RHEL",
    "several control planes",
    "the image of a vendor",
    "the machine for itself",
    "the release on Galaxy",
)


def violations(blocks: list[Block]) -> list[str]:
    """Blocks that are neither executed nor have a known reason."""
    found = []
    for block in blocks:
        if block.language not in (*COMMANDS, YAML, *DISPLAYED_LANGUAGES):
            found.append(f"{block.name}: the language {block.language!r} is none of the guides")
        elif block.reason and not block.reason.startswith(tuple(f"needs {what}" for what in MISSING)):
            found.append(f"{block.name}: not executed, and the reason is none of the known ones: {block.reason}")
        elif block.reason and block.shape is Shape.DISPLAYED:
            found.append(f"{block.name}: nothing to execute, so it needs no reason")
        elif block.executed and block.shape is Shape.OTHER:
            found.append(
                f"{block.name}: nothing that Ansible or kubectl takes; complete it, or say why it is not executed"
            )
    return found


def test_blocks_are_executed_or_report_why_not() -> None:
    assert violations(read_blocks(ROOT)) == []


def test_few_are_not_executed() -> None:
    assert len([block for block in read_blocks(ROOT) if block.reason]) <= MOST_NOT_EXECUTED


def test_each_note_is_that_of_one_block() -> None:
    for page in pages(ROOT):
        text = (ROOT / page).read_text(encoding="utf-8")
        notes = [line for line in text.splitlines() if NOTE.fullmatch(line)]
        assert len(notes) == len([block for block in parse_blocks(page, text) if block.reason]), page
        assert text.count("Not executed here") == len(notes), page


def test_every_guide_is_on_the_site_once_and_in_the_table_of_the_readme() -> None:
    guides = sorted(Path(page).stem for page in pages(ROOT) if page.startswith("docs/"))
    site = (ROOT / "docs" / "docsite" / "guides.rst").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^   /guides/(\w+)$", site, re.MULTILINE)) == guides
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"/docs/(\w+)\.md", readme)) == set(guides)


def contents() -> list[tuple[str, str]]:
    """What users can call, by name and kind."""
    places = {
        "module": "plugins/modules/*.py",
        "filter": "plugins/filter/*.py",
        "lookup": "plugins/lookup/*.py",
        "playbook": "playbooks/*.yml",
    }
    found = [(path.stem, kind) for kind, place in places.items() for path in ROOT.glob(place)]
    return sorted([*found, *((path.name, "role") for path in ROOT.glob("roles/*"))])


def listed(page: str) -> list[tuple[str, str]]:
    """What a page lists, by name and kind."""
    return sorted(re.findall(r"^\| `nodecraft\.kubeadm\.(\w+)` \| (\w+) \| \S", page, re.MULTILINE))


def test_the_page_of_contents_lists_all_of_them_once() -> None:
    assert listed((ROOT / "docs/content.md").read_text(encoding="utf-8")) == contents()
    assert listed("| `nodecraft.kubeadm.a` | role | Does it |\n| `b` | role | Does it |\n") == [("a", "role")]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("```python\nx\n```\n", "is none of the guides"),
        ("```shell\nx\n```\n*Not executed here: takes long.*\n", "none of the known ones"),
        ("```text\nx\n```\n*Not executed here: needs kind.*\n", "needs no reason"),
        ("```yaml\nfailed_when: x\n```\n", "nothing that Ansible or kubectl takes"),
    ],
)
def test_a_breach_is_found(text: str, reason: str) -> None:
    (found,) = violations(parse_blocks("a.md", text))
    assert found.startswith("a.md:1: ")
    assert reason in found

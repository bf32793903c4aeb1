# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The README is what Automation Hub and Ansible's community require of one."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

SECTIONS = (
    "Description",
    "Requirements",
    "Installation",
    "Use Cases",
    "Testing",
    "Contributing",
    "Support",
    # Ansible's community requires it, the others are of the template of Automation Hub.
    "Communication",
    "Release Notes and Roadmap",
    "Related Information",
    "License Information",
)
NAMED = {
    "the installation": "ansible-galaxy collection install nodecraft.kubeadm\n",
    "a requirements file": "ansible-galaxy collection install -r requirements.yml",
    "an upgrade": "ansible-galaxy collection install nodecraft.kubeadm --upgrade",
    "a given version": "nodecraft.kubeadm:==",
    "semantic versioning": "https://semver.org",
    "the changelog": "/changelogs/fragments",
    "the code of conduct": "/CODE_OF_CONDUCT.md",
    "the forum": "https://forum.ansible.com/c/help/6",
    "the tag": "https://forum.ansible.com/tag/kubernetes",
    "the policy": "/docs/support.md",
}
LINK = re.compile(r"\]\(([^)\s]+)\)")
# The template asks for three to five.
USE_CASES = range(3, 6)
PIP = re.compile(r"pip3? install ansible\b")


def missing_sections(text: str) -> list[str]:
    """The sections that are not there in this order."""
    found = iter(re.findall(r"^## (.+)$", text, re.MULTILINE))
    return [section for section in SECTIONS if section not in found]


def incomplete_links(text: str) -> list[str]:
    """The links that do not lead out of a page which is shown elsewhere."""
    return [target for target in LINK.findall(text) if not target.startswith("https://")]


def use_cases(text: str) -> list[str]:
    """The numbered use cases of the section."""
    section = re.search(r"^## Use Cases\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    return re.findall(r"^\d\. (.+)$", section[1], re.MULTILINE) if section else []


@pytest.fixture(name="readme", scope="module")
def fixture_readme() -> str:
    """The README."""
    return (ROOT / "README.md").read_text("utf-8")


def test_the_sections_of_the_template_are_there(readme: str) -> None:
    assert missing_sections(readme) == []


def test_all_links_are_whole_addresses(readme: str) -> None:
    assert incomplete_links(readme) == []


def test_it_names_what_readers_search_for(readme: str) -> None:
    assert [what for what, text in NAMED.items() if text not in readme] == []


def test_it_outlines_the_use_cases(readme: str) -> None:
    assert len(use_cases(readme)) in USE_CASES


def test_it_does_not_install_ansible_by_pip(readme: str) -> None:
    assert PIP.findall(readme) == []


@pytest.mark.parametrize(
    ("text", "check", "found"),
    [
        ("\n".join(f"## {section}" for section in SECTIONS[1:]), missing_sections, [SECTIONS[0]]),
        ("[a](docs/a.md) [b](https://example.com/b)", incomplete_links, ["docs/a.md"]),
        ("1. a\n## Use Cases\n1. b\n\n2. c\n## Testing\n3. d\n", use_cases, ["b"]),
        ("pip install ansible-core", PIP.findall, ["pip install ansible"]),
    ],
)
def test_a_breach_is_found(text: str, check: t.Callable[[str], list[str]], found: list[str]) -> None:
    assert check(text)[:1] == found

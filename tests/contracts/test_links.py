# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links of the documentation into this project lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
# The README is shown outside of the repository, too, so its links are whole addresses.
OURS = re.compile(r"https://github\.com/nodecraft/kubeadm/(?:blob|tree)/main/")
# A release writes them.
WRITTEN = {"CHANGELOG.md", "CHANGELOG.rst"}


def is_there(document: Path, target: str) -> bool:
    """Whether a link leads to a file of ours, or out of the project."""
    place, ours = OURS.subn("", target)
    if ours:
        return place in WRITTEN or (ROOT / place).exists()
    return "://" in target or (document.parent / target).exists()


def dead_links(path: Path) -> list[str]:
    """The links of a Markdown file that name a file which is not there."""
    targets = LINK.findall(path.read_text(encoding="utf-8"))
    return [target for target in targets if not is_there(path, target)]


def test_links_lead_somewhere() -> None:
    documents = [path for path in project_files(ROOT) if path.suffix == ".md"]
    assert documents
    assert {str(path): dead for path in documents if (dead := dead_links(ROOT / path))} == {}


def test_a_breach_is_found(tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    ours = "https://github.com/nodecraft/kubeadm/blob/main/"
    text = (
        f"[here](a.md#top) [web](https://example.com/x) [gone](docs/b.md) [whole]({ours}galaxy.yml) [too]({ours}b.md)"
    )
    document.write_text(text, encoding="utf-8")
    assert dead_links(document) == ["docs/b.md", f"{ours}b.md"]

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links of the documentation into this project lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


def dead_links(path: Path) -> list[str]:
    """The links of a Markdown file that name a file which is not there."""
    targets = LINK.findall(path.read_text(encoding="utf-8"))
    return [target for target in targets if "://" not in target and not (path.parent / target).exists()]


def test_links_lead_somewhere() -> None:
    documents = [path for path in project_files(ROOT) if path.suffix == ".md"]
    assert documents
    assert {str(path): dead for path in documents if (dead := dead_links(ROOT / path))} == {}


def test_a_breach_is_found(tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    document.write_text("[here](a.md#top) [web](https://example.com/x) [gone](docs/b.md)", encoding="utf-8")
    assert dead_links(document) == ["docs/b.md"]

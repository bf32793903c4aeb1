# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links of the documentation into this project lead somewhere."""

from __future__ import annotations

import posixpath
import re
import typing as t
from pathlib import Path

import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files
from ansible_collections.nodecraft.kubeadm.tests.contracts.test_artifact import packed

LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
# The README is shown outside of the repository, too, so its links are whole addresses.
OWN = re.compile(r"https://github\.com/nodecraft/kubeadm/(?:blob|tree)/main/")
# What docs.ansible.com shows on the pages of modules and roles; the form of an issue is named in the address.
LINKS = "docs/docsite/links.yml"
FORM = re.compile(r"/issues/new\?template=(\S+)")


def is_there(document: Path, target: str) -> bool:
    """Whether a link leads to a file of ours, or out of the project."""
    place, own = OWN.subn("", target)
    if own:
        return (ROOT / place).exists()
    return "://" in target or (document.parent / target).exists()


def dead_links(path: Path) -> list[str]:
    """The links of a Markdown file that name a file which is not there."""
    targets = LINK.findall(path.read_text(encoding="utf-8"))
    return [target for target in targets if not is_there(path, target)]


def leaving_links(path: Path, text: str, there: t.Container[str]) -> list[str]:
    """The links of a page, relative to it, to what is not there. there: files and directories, relative to the project."""
    targets = [target for target in LINK.findall(text) if "://" not in target]
    return [target for target in targets if posixpath.normpath(posixpath.join(path.parent, target)) not in there]


def test_links_lead_somewhere() -> None:
    documents = [path for path in project_files(ROOT) if path.suffix == ".md"]
    assert documents
    assert {str(path): dead for path in documents if (dead := dead_links(ROOT / path))} == {}


def test_links_of_the_artifact_stay_in_it() -> None:
    """Users of the artifact have no file of the repository beside it: pages link to those by their whole addresses."""
    files = packed(
        project_files(ROOT), yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["build_ignore"]
    )
    there = {str(place) for file in files for place in (file, *file.parents)}
    pages = [path for path in files if path.suffix == ".md"]
    assert pages
    found = {str(path): leaving_links(path, (ROOT / path).read_text(encoding="utf-8"), there) for path in pages}
    assert {path: leaving for path, leaving in found.items() if leaving} == {}


def test_the_pages_of_modules_lead_to_the_repository_and_its_forms() -> None:
    read = {name: yaml.safe_load((ROOT / name).read_text(encoding="utf-8")) for name in ("galaxy.yml", LINKS)}
    assert f"https://github.com/{read[LINKS]['edit_on_github']['repository']}" == read["galaxy.yml"]["repository"]
    urls = [link["url"] for link in read[LINKS]["extra_links"]]
    assert [url for url in urls if not url.startswith(read["galaxy.yml"]["repository"])] == []
    forms = [match[1] for url in urls if (match := FORM.search(url))]
    assert forms
    assert [form for form in forms if not (ROOT / ".github/ISSUE_TEMPLATE" / form).is_file()] == []


def test_a_link_out_of_the_artifact_is_found() -> None:
    text = "[here](b.md#top) [up](../plugins) [gone](../tests/c.py) [web](https://example.com/x)"
    assert leaving_links(Path("docs/a.md"), text, {"docs/b.md", "plugins"}) == ["../tests/c.py"]


def test_a_breach_is_found(tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    own = "https://github.com/nodecraft/kubeadm/blob/main/"
    text = f"[here](a.md#top) [web](https://example.com/x) [gone](docs/b.md) [whole]({own}galaxy.yml) [too]({own}b.md)"
    document.write_text(text, encoding="utf-8")
    assert dead_links(document) == ["docs/b.md", f"{own}b.md"]

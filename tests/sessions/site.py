# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation as a site: modules and roles by antsibull-docs, the guides from their Markdown, built by Sphinx."""

from __future__ import annotations

import posixpath
import re
import shutil
import typing as t

from .places import BUILD, COLLECTIONS, ROOT, fresh_directory
from .tools import install

if t.TYPE_CHECKING:
    import nox

SITE = BUILD / "site"
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\((?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
REPOSITORY = "https://github.com/nodecraft/kubeadm/blob/main"


def build_site(session: nox.Session) -> None:
    """Build the site below build/site. Any warning is an error, such as a link to a page or a heading that is not there."""
    install(session, "ansible", "antsibull-docs", "myst-parser", "sphinx", "sphinx-ansible-theme")
    source = fresh_directory(SITE / "source")
    source.chmod(0o755)  # antsibull-docs writes into no directory that others may write to
    session.run(
        *("antsibull-docs", "collection", "--use-current", "--squash-hierarchy", "--fail-on-error"),
        *("--dest-dir", str(source), "nodecraft.kubeadm"),
        env={"ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS)},
    )
    shutil.copy2(DOCS / "docsite" / "guides.rst", source)
    with (source / "index.rst").open("a", encoding="utf-8") as index:
        index.write("\n.. toctree::\n   :maxdepth: 1\n\n   guides\n")
    guides = source / "guides"
    guides.mkdir()
    for page in sorted(DOCS.glob("*.md")):
        (guides / page.name).write_text(link_sources(page.read_text(encoding="utf-8")), encoding="utf-8")
    options = ("-W", "--keep-going", "--quiet", "-c", str(DOCS / "docsite"))
    session.run("sphinx-build", "-b", "html", *options, str(source), str(fresh_directory(SITE / "html")))
    session.log(f"{SITE / 'html' / 'index.html'}; links to other sites were not followed")


def link_sources(text: str) -> str:
    """A guide whose links to what is no guide lead to the repository."""

    def target(match: re.Match[str]) -> str:
        path, anchor = match["path"], match["anchor"] or ""
        if "://" in path or re.fullmatch(r"[^/]+\.md", path):  # another guide
            return match[0]
        return f"]({REPOSITORY}/{posixpath.normpath(posixpath.join('docs', path))}{anchor})"

    return LINK.sub(target, text)

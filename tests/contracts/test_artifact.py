# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users install holds what they need, and nothing that serves only those who work on the collection."""

from __future__ import annotations

import fnmatch
import typing as t
from pathlib import Path

import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

PLACES = {
    *("meta", "playbooks", "plugins", "roles"),  # what Ansible reads
    *("docs", "ee", "awx"),  # guides, the execution environment, job templates
    *("COPYING", "LICENSES", "REUSE.toml"),  # licences
    *("README.md", "SECURITY.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "changelogs"),
}
# A release writes them.
WRITTEN = {"CHANGELOG.md", "CHANGELOG.rst"}
# ansible-galaxy leaves it out of itself.
NOT_PACKED = ["galaxy.yml"]
# Galaxy takes up to 20 MB, and its importer pages of up to 512 KiB. What is larger than this is no source of anybody.
BYTES_OF_A_FILE = 512 * 1024


def packed(files: t.Iterable[Path], ignored: t.Sequence[str]) -> list[Path]:
    """The files that C(ansible-galaxy collection build) packs: neither they nor a directory of theirs match a pattern."""
    return [
        file
        for file in files
        if not any(
            fnmatch.fnmatch(str(path), pattern) for path in (file, *file.parents) for pattern in (*ignored, *NOT_PACKED)
        )
    ]


def test_the_artifact_holds_what_users_need() -> None:
    ignored = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["build_ignore"]
    found = packed(project_files(ROOT), ignored)
    assert {path.parts[0] for path in found} - WRITTEN == PLACES
    assert [str(path) for path in found if {"tests", "fragments"} & set(path.parts)] == []


def large(root: Path, files: t.Iterable[Path]) -> list[str]:
    """The files that are no text, or larger than any source."""
    found = {file: (root / file).read_bytes() for file in files}
    return [str(file) for file, text in found.items() if b"\0" in text or len(text) > BYTES_OF_A_FILE]


def test_nothing_is_binary_or_large() -> None:
    assert large(ROOT, project_files(ROOT)) == []


def test_a_large_file_is_found(tmp_path: Path) -> None:
    for name, text in {"binary": b"\x7fELF\0", "large": b"a" * (BYTES_OF_A_FILE + 1), "good": b"a"}.items():
        (tmp_path / name).write_bytes(text)
    assert large(tmp_path, map(Path, ("binary", "good", "large"))) == ["binary", "large"]


def test_no_playbook_of_the_artifact_needs_a_module_that_galaxy_cannot_know() -> None:
    """Galaxy runs ansible-lint on the artifact, without the names that .ansible-lint has for the modules of AWX."""
    ignored = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["build_ignore"]
    playbooks = [path for path in project_files(ROOT) if path.suffix == ".yml" and needs_awx(ROOT / path)]
    assert [str(path) for path in playbooks] != []
    assert packed(playbooks, ignored) == []


def needs_awx(path: Path) -> bool:
    """Whether a file has a task for AWX."""
    return any(line.strip().startswith("awx.awx.") for line in path.read_text(encoding="utf-8").splitlines())


def test_a_breach_is_found() -> None:
    files = [Path("a/b/c.py"), Path("a/d.py"), Path("ab"), Path("galaxy.yml")]
    assert packed(files, ["a/b"]) == files[1:3]
    assert packed(files, ["a"]) == [files[2]]
    assert packed(files, ["*.py"]) == [files[2]]

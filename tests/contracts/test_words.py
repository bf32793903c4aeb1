# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words that no file of the project may hold: places of one machine, hosts of registries, loose ends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

# In pieces, so that this file does not hold the words itself.
HOSTS = (
    ("archive", "ubuntu", "com"),
    ("deb", "debian", "org"),
    ("docker", "io/"),
    ("files", "pythonhosted", "org"),
    ("galaxy", "ansible", "com"),
    ("proxy", "golang", "org"),
    ("pypi", "org"),
    ("quay", "io/"),
    ("registry", "npmjs"),
    ("sum", "golang", "org"),
)
DIRECTORIES = ("work", "farm", "opt/dev", "home/[a-z]+", "tmp/bash_jobs", "tmp/team")
LOOSE_ENDS = (("TO", "DO"), ("FIX", "ME"), ("XX", "X"))
FORBIDDEN = re.compile(
    "|".join(
        [
            *(re.escape(".".join(host)) for host in HOSTS),
            # Only at the start of a path: /proc/1/root/... is no place of a machine.
            rf"(?<![\w.$}}{{-])/(?:{'|'.join(DIRECTORIES)})(?:/|\b)",
            r"\.pyenv/versions/\d",
            r"\.\./shared\b",
            rf"\b(?:{'|'.join(''.join(word) for word in LOOSE_ENDS)})\b",
            r"\bpytest\.(?:mark\.)?(?:skip|xfail)\b",
        ]
    )
)
# Texts of other people, kept word for word.
FOREIGN = {Path("COPYING"), Path("LICENSES/Apache-2.0.txt"), Path("LICENSES/GPL-3.0-or-later.txt")}


def findings(text: str) -> list[str]:
    """The forbidden words of a text, each with its line."""
    return [
        f"{number}: {match.group()}"
        for number, line in enumerate(text.splitlines(), start=1)
        for match in FORBIDDEN.finditer(line)
    ]


def test_no_file_holds_a_forbidden_word() -> None:
    found = []
    for path in project_files(ROOT):
        if path not in FOREIGN:
            text = (ROOT / path).read_text(encoding="utf-8")
            found += [f"{path}:{finding}" for finding in findings(text)]
    assert found == []


@pytest.mark.parametrize(
    "pieces",
    [
        ("https://pypi", ".org/simple"),
        ("deb http://deb", ".debian.org/debian"),
        ("GOPROXY=https://proxy", ".golang.org"),
        ("cp /wo", "rk/main/x"),
        ("/ho", "me/user/x"),
        ("# TO", "DO: later"),
        ("@pytest", ".mark.skip"),
        ("see ../sha", "red/notes"),
    ],
)
def test_a_breach_is_found(pieces: tuple[str, str]) -> None:
    assert findings(f"fine\n{''.join(pieces)}\n")[0].startswith("2: ")


@pytest.mark.parametrize(
    "pieces",
    [("regis", "try.k8s.io/kube-apiserver:v1.36.3"), ("/proc/1/ro", "ot/usr"), ("a/wo", "rk/b"), ("to", "do()")],
)
def test_what_is_allowed_passes(pieces: tuple[str, str]) -> None:
    assert findings("".join(pieces)) == []

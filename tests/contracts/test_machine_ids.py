# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Data has nothing of the machine that wrote it: a test with such data passes there and nowhere else."""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT, project_files

DATA = {".cfg", ".conf", ".ini", ".json", ".toml", ".txt", ".yaml", ".yml"}
# What programs wrote, not people.
RECORDED = Path("tests/unit/data/state")
NODE = "cp1"  # of the tests
ID = re.compile(r"\b(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b")
# Of the sixteen digits of an id that a machine made, eight or fewer hardly ever are all; one that a person makes up does with them.
INVENTED = 8
HOME = {"home": re.compile(r"(?<![\w.$}{-])/(?:home|Users)/\w+")}
OF_A_RECORDER = {
    **HOME,
    "directory": re.compile(r"(?<![\w.-])/(?:root|tmp|var/tmp)/|pytest-of-\w+"),
    "host name": re.compile(rf"\bon (?!{NODE}\b)[\w.-]+"),
    "owner": re.compile(r'"[ug]id": \d+'),
    "time zone": re.compile(r"\dT\d\d:\d\d:\d\d(?:\.\d+)?[+-]\d\d:?\d\d"),
}
ENCODED = re.compile(r'"([A-Za-z0-9+/]{40,}={0,2})"')


def findings(text: str, *, recorded: bool) -> list[str]:
    """What belongs to one machine in a text, each with its kind. recorded: whether a program wrote it."""
    text = f"{text}\n{decoded(text)}"
    found = [f"id {match[0]}" for match in ID.finditer(text) if len(set(match[0]) - {"-"}) > INVENTED]
    kinds = OF_A_RECORDER if recorded else HOME
    return found + [f"{kind} {match[0]}" for kind, pattern in kinds.items() for match in pattern.finditer(text)]


def decoded(text: str) -> str:
    """The texts that a journal keeps in base64."""
    contents = []
    for match in ENCODED.finditer(text):
        try:
            contents.append(base64.b64decode(match[1], validate=True).decode())
        except (binascii.Error, UnicodeDecodeError):
            continue  # a long word
    return "\n".join(contents)


def test_data_holds_nothing_of_one_machine() -> None:
    found = []
    for path in project_files(ROOT):
        if path.suffix in DATA:
            text = (ROOT / path).read_text(encoding="utf-8")
            found += [f"{path}: {finding}" for finding in findings(text, recorded=RECORDED in path.parents)]
    assert found == []


# The first four as version 0.1.0 of the recorded state had them.
@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ('"boot": "c20a2216-a692-4d60-94f9-a6d0765531e0"', "id c20a2216-a692-4d60-94f9-a6d0765531e0"),
        ('"uids": ["51e51a051b1c0c9282f36ef45d7c2a94"]', "id 51e51a051b1c0c9282f36ef45d7c2a94"),
        ("admin.conf does not exist on vm, so it was not verified", "host name on vm"),
        ('"gid": 0', 'owner "gid": 0'),
        ('"at": "2026-11-26T22:09:05+01:00"', "time zone 6T22:09:05+01:00"),
        ('"path": "/tmp/pytest-of-ann/pytest-3/kubelet.conf"', "directory /tmp/"),
        ('"path": "/ho' + 'me/ann/.kube/config"', "home /ho" + "me/ann"),
        (
            f'"{base64.b64encode(b"machine: 3f1b9ac7d2e84560a1c7e5f90b2d8643").decode()}"',
            "id 3f1b9ac7d2e84560a1c7e5f90b2d8643",
        ),
    ],
    ids=["boot id", "machine id", "host name", "owner", "time zone", "temporary", "home", "encoded"],
)
def test_part_of_one_machine_is_found(text: str, finding: str) -> None:
    assert findings(text, recorded=True)[0] == finding


@pytest.mark.parametrize(
    "text",
    [
        '"boot": "@BOOT@"',
        '"path": "@ROOT@/manifests/kube-apiserver.yaml"',
        f'"uids": ["{"1".zfill(32)}"]',
        '"sha256": "dc032222d01d0532a029d010dee543d45fe31bc2840b5d870d78f7261d8be2ea"',
        f"kubelet.conf does not exist on {NODE}, so it was not verified",
        '"at": "2026-11-26T22:09:05Z"',
    ],
    ids=["boot id", "path", "pod", "checksum", "host name", "time"],
)
def test_place_for_the_machine_passes(text: str) -> None:
    assert findings(text, recorded=True) == []

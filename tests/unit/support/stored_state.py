# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state that a release leaves on a node, recorded in tests/unit/data/state/VERSION.json so that later releases are tested with it.

A recorded journal names the machine that recorded it: these placeholders are replaced there, and its checksum is made again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import to_json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import read_boot_id
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NODE, FakeNode

DIRECTORY = Path(__file__).parents[1] / "data" / "state"
CHECKSUM = "sha256"
# The owner of a file; the UID of a pod has no group.
OWNER = {"uid": "@UID@", "gid": "@GID@"}

# A key that stands for one pod or process.
IDENTIFIER = re.compile(r"[0-9a-f]{32,64}")
# The UID of a static pod, which follows from the path of its manifest.
POD_UID = re.compile(r"\b[0-9a-f]{32}\b")

Shape = t.Union[dict[str, "Shape"], str]


def hide_recorder(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is recorded comes from the node of the tests, whoever records it, in whatever way logged in."""
    here = os.uname()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result((here[0], NODE, *here[2:])))
    for variable in ("SSH_CLIENT", "SUDO_USER"):
        monkeypatch.delenv(variable, raising=False)


def placeholders(node: FakeNode) -> dict[str, str]:
    """What differs between two machines: its placeholder in a recorded text, and its value here."""
    return {"@ROOT@": str(node.manifests.parent), "@BOOT@": read_boot_id()}


def record_state(node: FakeNode) -> dict[str, t.Any]:
    """All files below the state directory of a node, by their paths."""
    found, pods = {}, dict[str, str]()

    def without_owner(value: dict[str, t.Any]) -> dict[str, t.Any]:
        return {**value, **OWNER} if value.keys() >= OWNER.keys() else value

    for path in sorted(node.state.rglob("*.json")):
        text = path.read_text("utf-8")
        for placeholder, value in placeholders(node).items():
            text = text.replace(value, placeholder)
        text = POD_UID.sub(lambda match: pods.setdefault(match[0], f"{len(pods) + 1:032}"), text)
        found[str(path.relative_to(node.state))] = json.loads(text, object_hook=without_owner)
    return found


def restore_state(node: FakeNode, files: t.Mapping[str, t.Any]) -> None:
    """Put recorded files below the state directory of another node."""
    owner = {"uid": os.getuid(), "gid": os.getgid()}

    def with_owner(value: dict[str, t.Any]) -> dict[str, t.Any]:
        return {**value, **owner} if value.keys() >= owner.keys() else value

    for name, recorded in files.items():
        text = json.dumps(recorded)
        for placeholder, here in placeholders(node).items():
            text = text.replace(placeholder, here)
        value = json.loads(text, object_hook=with_owner)
        if CHECKSUM in value:
            del value[CHECKSUM]
            value[CHECKSUM] = hashlib.sha256(to_json(value)).hexdigest()
        path = node.state / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(to_json(value))  # a transaction compares bytes
        path.chmod(0o600)


def shape_of(value: t.Any) -> Shape:
    """The keys of a value, whatever they hold."""
    if isinstance(value, dict):
        return {IDENTIFIER.sub("id", key): shape_of(each) for key, each in sorted(value.items())}
    return "list" if isinstance(value, list) else "value"

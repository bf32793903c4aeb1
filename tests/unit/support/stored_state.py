# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state that a release leaves on a node, recorded in tests/unit/data/state/VERSION.json so that later releases are tested with it.

A recorded journal names places of the machine that recorded it, so they are replaced there, and its checksum is made again.
"""

from __future__ import annotations

import hashlib
import json
import re
import typing as t
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import to_json
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import FakeNode

DIRECTORY = Path(__file__).parents[1] / "data" / "state"
ROOT, PORT, CHECKSUM = "@ROOT@", "@PORT@", "sha256"

# A key that stands for one pod or process.
IDENTIFIER = re.compile(r"[0-9a-f]{32,64}")

Shape = t.Union[dict[str, "Shape"], str]


def taken(node: FakeNode) -> dict[str, t.Any]:
    """All files below the state directory of a node, by their places."""
    found = {}
    for path in sorted(node.state.rglob("*.json")):
        text = path.read_text("utf-8").replace(str(node.manifests.parent), ROOT).replace(str(node.web.port), PORT)
        found[str(path.relative_to(node.state))] = json.loads(text)
    return found


def put(node: FakeNode, files: t.Mapping[str, t.Any]) -> None:
    """Put recorded files below the state directory of another node."""
    for name, recorded in files.items():
        text = json.dumps(recorded).replace(ROOT, str(node.manifests.parent)).replace(f'"{PORT}"', str(node.web.port))
        value = json.loads(text.replace(PORT, str(node.web.port)))
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

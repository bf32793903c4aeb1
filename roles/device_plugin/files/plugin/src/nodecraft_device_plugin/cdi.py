# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Container Device Interface: the file in which a container runtime finds the devices of this plugin."""

from __future__ import annotations

import contextlib
import json
import os
import re
import typing as t
from pathlib import Path

from nodecraft_device_plugin.config import Resource, fill
from nodecraft_device_plugin.devices import Node
from nodecraft_device_plugin.inventory import Inventory

VERSION = "0.5.0"


def qualified(resource: str, identifier: str) -> str:
    """The name of a device: ``example.com/dongle=fake-0``."""
    return f"{resource}={_name(identifier)}"


def file_name(resource: str) -> str:
    """The name of a resource's file."""
    return f"nodecraft-{resource.replace('/', '-')}.json"


def specification(resource: Resource, known: Inventory) -> dict[str, t.Any]:
    """The content of a resource's file."""
    return {
        "cdiVersion": VERSION,
        "kind": resource.name,
        "devices": [
            {
                "name": _name(identifier),
                "containerEdits": _edits(resource, identifier, known[identifier].candidate.nodes),
            }
            for identifier in sorted(known)
        ],
    }


def _edits(resource: Resource, identifier: str, nodes: t.Sequence[Node]) -> dict[str, t.Any]:
    # The other devices of the container are unknown here, so there is no index.
    values = {"id": identifier, "index": "0"}
    found: list[dict[str, t.Any]] = [
        {
            "path": fill(node.container_path, values),
            "hostPath": node.host_path,
            "permissions": resource.container.permissions,
        }
        for node in nodes
        if not node.is_file
    ]
    # A specification without any edit is invalid.
    return (
        {"deviceNodes": found} if found else {"env": [f"CDI_DEVICE_{re.sub(r'[^A-Za-z0-9]', '_', identifier)}=present"]}
    )


def _name(identifier: str) -> str:
    """A name as CDI allows it."""
    return re.sub(r"[^A-Za-z0-9_.:-]", "_", identifier).strip("_.:-")


class Files:
    """The directory of the specifications. Missing permissions raise OSError in each call."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def write(self, resource: Resource, known: Inventory) -> None:
        """Write a resource's file atomically. Without devices the file is removed, because an empty one is invalid."""
        if not known:
            self.remove(resource.name)
            return
        text = json.dumps(specification(resource, known), indent=1) + "\n"
        path = self.directory / file_name(resource.name)
        with contextlib.suppress(OSError):
            if path.read_text(encoding="utf-8") == text:
                return
        self.directory.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.tmp")
        temporary.write_text(text, encoding="utf-8")
        temporary.chmod(0o644)
        os.replace(temporary, path)

    def remove(self, resource: str) -> None:
        """Remove a resource's file, if it exists."""
        with contextlib.suppress(FileNotFoundError):
            (self.directory / file_name(resource)).unlink()

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Container Device Interface: the file in which a container runtime finds our devices."""

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
    # A device knows nothing here of the others in its container, so its number among them is not to be had.
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
    # An edit that changes nothing is no valid one.
    return (
        {"deviceNodes": found} if found else {"env": [f"CDI_DEVICE_{re.sub(r'[^A-Za-z0-9]', '_', identifier)}=present"]}
    )


def _name(identifier: str) -> str:
    """A name as CDI allows it."""
    return re.sub(r"[^A-Za-z0-9_.:-]", "_", identifier).strip("_.:-")


class Files:
    """The folder in which the files are. Missing rights are an OSError of every call."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, resource: Resource, known: Inventory) -> None:
        """Put a resource's file in place, whole or not at all; without devices there is none, for it would not be valid."""
        if not known:
            self.remove(resource.name)
            return
        text = json.dumps(specification(resource, known), indent=1) + "\n"
        path = self.folder / file_name(resource.name)
        with contextlib.suppress(OSError):
            if path.read_text(encoding="utf-8") == text:
                return
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.tmp")
        temporary.write_text(text, encoding="utf-8")
        temporary.chmod(0o644)
        os.replace(temporary, path)

    def remove(self, resource: str) -> None:
        """Take a resource's file away, if there is one."""
        with contextlib.suppress(FileNotFoundError):
            (self.folder / file_name(resource)).unlink()

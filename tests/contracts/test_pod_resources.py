# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The device plugin and the module that reads it agree: two packages that cannot import each other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api import pod_resource_report
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.device import allocations as pod_resources
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

PLUGIN = ROOT / "roles/device_plugin/files/plugin/src/nodecraft_device_plugin"


def fields(path: Path, name: str) -> list[str]:
    """The fields of a dataclass, as its source names them."""
    (found,) = [
        entry
        for entry in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(entry, ast.ClassDef) and entry.name == name
    ]
    return [
        entry.target.id
        for entry in found.body
        if isinstance(entry, ast.AnnAssign) and isinstance(entry.target, ast.Name)
    ]


def test_what_is_held() -> None:
    assert fields(PLUGIN / "pod_resources.py", "Holding") == list(pod_resources.Holding.__dataclass_fields__)
    assert set(fields(PLUGIN / "pod_resources.py", "View")) >= set(pod_resources.View.__dataclass_fields__)


def test_the_header_of_the_token() -> None:
    (header,) = re.findall('TOKEN_HEADER = "(.*?)"', (PLUGIN / "pod_resources.py").read_text(encoding="utf-8"))
    assert header == pod_resource_report.TOKEN_HEADER.lower()


def test_where_the_page_is() -> None:
    module = (ROOT / "plugins/modules/pod_resource_info.py").read_text(encoding="utf-8")
    (port,) = re.findall(r'"port": {"type": "int", "default": (\d+)}', module)
    assert f'"--port", type=int, default={port}' in (PLUGIN / "cli.py").read_text(encoding="utf-8")
    (path,) = re.findall('"path": {"type": "str", "default": "(.*?)"}', module)
    assert f'"{path}": self._pod_resources' in (PLUGIN / "pages.py").read_text(encoding="utf-8")

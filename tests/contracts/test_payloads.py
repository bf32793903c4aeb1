# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The payload contract: nodes are sent what they need, and nothing of the API's side."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts.payload import archive_of, payload_of
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

COLLECTIONS = ROOT / "build" / "collections"
OWN = "ansible_collections/nodecraft/kubeadm/plugins"
# Kilobytes of the collection's own files in a module's archive, packed one by one; as text on the wire they are a third more. What Ansible adds to
# every module differs between its versions, and is about 106.
KILOBYTES = {
    "kubeadm_config_check": 259,
    "kubelet": 258,
    "kubelet_info": 132,
    "node_image": 76,
    "node_transaction": 27,
    "static_pod": 309,
    "static_pod_info": 159,
    "static_pod_plan": 332,
    "upgrade_check": 264,
}
NODE_MODULES = yaml.safe_load((ROOT / "meta/runtime.yml").read_text(encoding="utf-8"))["action_groups"]["node"]


def foreign(payload: list[str], collection: str = OWN) -> list[str]:
    """What a node module must not carry."""
    return [name for name in payload if name.startswith(f"{collection}/module_utils/_api")]


@pytest.mark.parametrize("module", NODE_MODULES)
def test_node_module_carries_nothing_of_the_api_side(module: str) -> None:
    payload = payload_of(COLLECTIONS, f"nodecraft.kubeadm.{module}")
    assert f"{OWN}/modules/{module}.py" in payload
    assert foreign(payload) == []


def kilobytes(archive: bytes) -> float:
    """What the collection's own files come to when each is packed."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        own = [opened.read(name) for name in opened.namelist() if name.startswith(f"{OWN}/")]
    return sum(len(zlib.compress(content)) for content in own) / 1000


@pytest.mark.parametrize("module", NODE_MODULES)
def test_node_module_is_no_larger_than_it_needs_to_be(module: str) -> None:
    assert set(KILOBYTES) == set(NODE_MODULES)
    found = kilobytes(archive_of(COLLECTIONS, f"nodecraft.kubeadm.{module}"))
    assert KILOBYTES[module] * 0.9 <= found <= KILOBYTES[module]


def test_a_poll_carries_what_reads_a_journal() -> None:
    """The follower sends this module every few seconds, for each node that is changed."""
    payload = payload_of(COLLECTIONS, "nodecraft.kubeadm.node_transaction")
    utils = f"{OWN}/module_utils/"
    own = {name[len(utils) :] for name in payload if name.startswith(utils) and not name.endswith("__init__.py")}
    assert {name for name in own if not name.startswith(("_module/", "_plan/common/"))} == {
        "_engine/engine_errors.py",
        "_engine/files.py",
        "_engine/journal.py",
        "_node/transaction/state.py",
        "_node/transaction/journal_history.py",
        "_node/transaction/transaction_progress.py",
    }
    assert "_module/pyyaml.py" not in own


@pytest.mark.parametrize(("module", "place"), [("kubelet", "_module"), ("node_label", "_api")])
def test_what_reports_an_old_python_is_carried(module: str, place: str) -> None:
    with zipfile.ZipFile(io.BytesIO(archive_of(COLLECTIONS, f"nodecraft.kubeadm.{module}"))) as opened:
        packed = opened.read(f"{OWN}/module_utils/{place}/__init__.py").decode("utf-8")
    assert packed == (ROOT / f"plugins/module_utils/{place}/__init__.py").read_text(encoding="utf-8")


def test_a_breach_is_found(tmp_path: Path) -> None:
    """A module that reaches the API's side only through another file is caught as well."""
    plugins = tmp_path / "ansible_collections/example/breach/plugins"
    for path, source in {
        "modules/leak.py": "from ..module_utils._node import reader",
        "module_utils/_node/reader.py": "def read():\n    from .._api import client",
        "module_utils/_api/client.py": "",
    }.items():
        (plugins / path).parent.mkdir(parents=True, exist_ok=True)
        (plugins / path).write_text(f"#!/usr/bin/python\n{source}\n", encoding="utf-8")
    payload = payload_of(tmp_path, "example.breach.leak")
    assert "ansible_collections/example/breach/plugins/module_utils/_api/client.py" in foreign(
        payload, "ansible_collections/example/breach/plugins"
    )

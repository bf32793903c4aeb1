# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node of the tests, as a module finds it."""

from __future__ import annotations

import os
import pkgutil
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import engine_service, state
from ansible_collections.nodecraft.kubeadm.tests.unit.support import fake_cri
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_cri import FakeCri
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun, add_kubelet
from ansible_collections.nodecraft.kubeadm.tests.unit.support.preflight_site import Site
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import Web

CODE = Path(state.__file__).parents[2]


@pytest.fixture(name="sources")
def fixture_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collection's directories are no packages here; test_source.py reads out of an archive as it is shipped."""
    get_data = pkgutil.get_data

    def read(package: str, name: str) -> bytes | None:
        is_own = package.startswith("ansible_collections.")
        return (
            CODE.joinpath(*package.partition(".module_utils.")[2].split("."), name).read_bytes()
            if is_own
            else get_data(package, name)
        )

    monkeypatch.setattr(pkgutil, "get_data", read)


@pytest.fixture(name="run")
def fixture_run() -> FakeRun:
    """Programs with results as on a healthy node."""
    return FakeRun()


@pytest.fixture(name="master")
def fixture_master(node: FakeNode, monkeypatch: pytest.MonkeyPatch, sources: None) -> FakeNode:
    """The node with its kubelet's process, and with our state and unit file in its directory."""
    add_kubelet(node)
    monkeypatch.setattr(state, "STATE_DIR", str(node.state.parent))
    monkeypatch.setattr(engine_service, "_UNIT_FILE", str(node.state.parent / "unit.service"))
    monkeypatch.setattr(engine_service, "_LOCK_TIMEOUT", 0.0)
    if os.geteuid() != 0:  # files of ours belong to root
        monkeypatch.setattr(os, "fchown", lambda descriptor, uid, gid: None)
    return node


@pytest.fixture(name="site")
def fixture_site(tmp_path: Path, web: Web, run: FakeRun) -> Site:
    """A node whose programs report that it is healthy."""
    return Site(tmp_path, web, run)


@pytest.fixture(name="runtime", autouse=True)
def fixture_runtime() -> t.Iterator[FakeCri]:
    """The container runtime of the node: ready, and with every image."""
    with fake_cri.runtime_everywhere() as runtime:
        yield runtime

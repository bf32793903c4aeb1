# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node of the tests, watched: whatever a test does, the kubelet must never see half a file or a second one."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import Authority, Pair
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_etcd import FakeEtcd
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import Web, served_web, web_in_place


@pytest.fixture(name="web")
def fixture_web() -> t.Iterator[Web]:
    """A component that answers without a connection."""
    # Not the patch of the test: what a test replaces has its own place again before its node is looked at for the last time.
    with pytest.MonkeyPatch.context() as patch:
        yield web_in_place(patch)


@pytest.fixture(name="served_web")
def fixture_served_web() -> t.Iterator[Web]:
    """A component behind a real server."""
    with served_web() as web:
        yield web


@pytest.fixture(name="node")
def fixture_node(tmp_path: Path, web: Web) -> t.Iterator[FakeNode]:
    """A node that runs a healthy API server."""
    node = FakeNode(tmp_path, web)
    yield node
    node.check_manifest()
    node.assert_only_whole_files_appeared()
    node.watcher.close()


@pytest.fixture(name="authority", scope="session")
def fixture_authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Who signs the certificates of the tests."""
    return Authority(tmp_path_factory.mktemp("pki") / "authority")


@pytest.fixture(name="server", scope="module")
def fixture_server(authority: Authority) -> Pair:
    """The certificate of a server."""
    return authority.issue()


@pytest.fixture(name="member")
def fixture_member(tmp_path: Path, authority: Authority, server: Pair) -> t.Iterator[FakeEtcd]:
    """A member of etcd."""
    member = FakeEtcd(tmp_path, authority, server)
    yield member
    member.close()

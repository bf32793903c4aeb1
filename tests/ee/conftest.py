# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab and an image: EE_LAB names a lab with one control plane and a worker, EE_IMAGE an image of ``make ee``."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.ee.runner import Runner
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.cluster import Cluster
from ansible_collections.nodecraft.kubeadm.tests.sessions import limits


@pytest.fixture(scope="session")
def image() -> str:
    """The image."""
    return os.environ["EE_IMAGE"]


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """The lab."""
    return Cluster(os.environ["EE_LAB"], tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="module")
def cluster(lab: Cluster) -> t.Iterator[Cluster]:
    """A healthy cluster, brought back to what it was after the tests of a file."""
    lab.reset()
    yield lab
    lab.reset()


@pytest.fixture
def runner(tmp_path: Path, image: str, cluster: Cluster) -> Runner:
    """A directory for ansible-runner."""
    directory = tmp_path / "runner"
    directory.mkdir()
    # The image has a user of its own, and the files of this directory are root's. AWX maps its user to root in the container.
    return Runner(directory, image, cluster, ["--user=0", *limits.options()])

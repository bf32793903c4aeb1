# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The versions of Kubernetes outside of which modules warn are those of the lab, and those that users read."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import versions
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

# They use no cluster themselves, or one that another module has used.
SILENT = ("node_transaction", "rollout")


def test_the_lab_has_the_oldest_and_the_newest() -> None:
    releases = yaml.safe_load((ROOT / "lab/vars/releases.yml").read_text(encoding="utf-8"))["lab_releases"]
    minors = sorted(minor for minor in map(versions.parse, releases) if minor)
    assert (minors[0], minors[-1]) == (versions.OLDEST, versions.NEWEST)


@pytest.mark.parametrize("path", ["README.md", "plugins/doc_fragments/versions.py"])
def test_users_are_informed_the_same(path: str) -> None:
    assert f"Kubernetes {versions.TESTED}" in (ROOT / path).read_text(encoding="utf-8")


def test_every_module_that_warns_documents_it() -> None:
    modules = [path for path in (ROOT / "plugins/modules").glob("*.py") if path.stem not in SILENT]
    assert [path.stem for path in modules if "- nodecraft.kubeadm.versions\n" not in path.read_text("utf-8")] == []

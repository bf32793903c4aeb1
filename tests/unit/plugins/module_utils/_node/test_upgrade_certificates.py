# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The certificates of a control plane: how kubeadm is asked, and what is made of what it says."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node import upgrade_certificates
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade_findings import UpgradeFindings
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade_kubeadm import Kubeadm
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.cluster_configuration import (
    ClusterConfiguration,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.upgrades import (
    AUTHORITY,
    CONFIGURATION,
    SIGNED,
    UpgradeRun,
)

pytestmark = pytest.mark.usefixtures("master")  # the sandbox's source is found as in the archive of a module


def check(run: UpgradeRun) -> UpgradeFindings:
    found = UpgradeFindings()
    configuration = ClusterConfiguration.parse(f"{CONFIGURATION}certificatesDir: /pki\n")
    upgrade_certificates.check(Kubeadm("/new/kubeadm", "the file", configuration, run), found)
    return found


def test_kubeadm_is_asked_offline() -> None:
    run = UpgradeRun()
    assert check(run) == UpgradeFindings()
    (request,) = run.requests
    assert request["arguments"] == [
        "kubeadm",
        "certs",
        "check-expiration",
        "--config=/upgrade-check/kubeadm.yaml",
        "--output=json",
    ]
    assert request["staged"] == {"/upgrade-check/kubeadm.yaml": "dGhlIGZpbGU="}
    assert {"/etc", "/pki"} <= {mount["target"] for mount in request["mounts"]}
    assert not any(mount.get("writable") for mount in request["mounts"])


def test_what_it_finds_is_told() -> None:
    run = UpgradeRun()
    expired = {**SIGNED, "residualTime": -1}
    run.expiration = json.dumps({"certificates": [expired], "certificateAuthorities": [AUTHORITY]})
    assert [each.key for each in check(run).findings] == ["apiserver"]


@pytest.mark.parametrize("said", ["error: no CA\n", "", "{}", '{"certificates": [1], "certificateAuthorities": []}'])
def test_a_kubeadm_that_does_not_tell(said: str) -> None:
    run = UpgradeRun()
    run.expiration = said
    found = check(run)
    assert found.findings == []
    (entry,) = found.not_rehearsed
    assert entry["component"] == "certificates"
    assert entry["reason"].startswith("/new/kubeadm certs check-expiration: ")

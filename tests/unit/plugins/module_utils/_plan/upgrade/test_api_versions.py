# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""API versions of kubeadm's configuration that end."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.cluster_configuration import (
    ClusterConfiguration,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.api_versions import api_version_findings
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.findings import BREAKS

TEXT = "apiServer: {}\napiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n"


@pytest.mark.parametrize(
    ("version", "target", "breaks"),
    [
        ("v1beta3", (1, 37, 2), True),
        ("v1beta3", (1, 36, 4), False),
        ("v1beta2", (1, 27, 0), True),
        ("v1beta4", (1, 37, 2), False),
    ],
)
def test_a_version_that_the_target_does_not_read_breaks(version: str, target: tuple[int, ...], breaks: bool) -> None:
    found = api_version_findings(ClusterConfiguration.parse(TEXT.replace("v1beta4", version)), target)
    assert [(each.fate, each.line) for each in found] == ([(BREAKS, 2)] if breaks else [])
    assert all("kubeadm config migrate" in each.message for each in found)

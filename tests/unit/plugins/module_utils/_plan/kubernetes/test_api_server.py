# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a control plane's own API server listens."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.api_server import own_address

ENDPOINT = "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"


def manifest(*arguments: str, **annotations: str) -> t.Any:
    return {
        "metadata": {"annotations": annotations},
        "spec": {"containers": [{"command": ["kube-apiserver", *arguments]}]},
    }


@pytest.mark.parametrize(
    ("found", "url"),
    [
        (manifest("--advertise-address=10.0.0.1", "--secure-port=8443"), "https://10.0.0.1:8443"),
        (manifest("--advertise-address=fd00::1"), "https://[fd00::1]:6443"),
        (manifest(**{ENDPOINT: "10.0.0.1:6443"}), "https://10.0.0.1:6443"),
        (manifest(), None),
        ({"metadata": {}, "spec": {"containers": [{}]}}, None),
        ({"spec": {"containers": []}}, None),
        (None, None),
        ([], None),
    ],
)
def test_the_address(found: t.Any, url: str | None) -> None:
    assert own_address(found) == url

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The secrets of a kubeconfig in a task, which are masked in logs."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.api_module import secrets_of


def test_secrets_of_the_content_of_a_kubeconfig() -> None:
    provider = {
        "name": "oidc",
        "config": {"id-token": "i", "refresh-token": "r", "client-secret": "s", "client-id": "c"},
    }
    user = {"token": "t", "client-key-data": "k", "client-certificate-data": "c", "auth-provider": provider}
    users = [{"name": "a", "user": user}, {"name": "b", "user": {"password": "p", "token": ""}}]
    assert secrets_of({"users": users, "clusters": [], "current-context": "a"}) == set("trsikp")
    assert secrets_of("/etc/kubernetes/admin.conf") == secrets_of(None) == set()

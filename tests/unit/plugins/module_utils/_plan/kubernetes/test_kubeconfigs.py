# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands in a kubeconfig, and what is kept from those who read a log."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.kubeconfigs import (
    cluster_of,
    context_of,
    secrets,
)


def test_secrets_of_the_content_of_a_kubeconfig() -> None:
    provider = {
        "name": "oidc",
        "config": {"id-token": "i", "refresh-token": "r", "client-secret": "s", "client-id": "c"},
    }
    user = {"token": "t", "client-key-data": "k", "client-certificate-data": "c", "auth-provider": provider}
    users = [{"name": "a", "user": user}, {"name": "b", "user": {"password": "p", "token": ""}}]
    assert secrets({"users": users, "clusters": [], "current-context": "a"}) == set("trsikp")
    assert secrets("/etc/kubernetes/admin.conf") == secrets(None) == set()


ONE, TWO = ({"name": name, "cluster": {"server": name}} for name in ("one", "two"))
CONFIG: dict[str, t.Any] = {
    "clusters": [ONE, TWO],
    "contexts": [{"name": "a", "context": {"cluster": "two"}}, {"name": "b", "context": {"cluster": "three"}}],
    "current-context": "a",
}


def test_the_cluster_of_the_current_context_or_the_only_one() -> None:
    assert cluster_of(CONFIG) == {"server": "two"}
    assert cluster_of({"clusters": [ONE]}) == {"server": "one"}
    with pytest.raises(ValueError, match="too many"):
        cluster_of({"clusters": [ONE, TWO]})


@pytest.mark.parametrize(
    ("config", "name", "told"),
    [
        ({}, None, "f has no current-context; name one with context."),
        (CONFIG, "c", "f has no context c; it has a, b."),
        ({}, "c", "f has no context c; it has none."),
    ],
)
def test_a_context_that_is_not_there_is_named(config: dict[str, t.Any], name: str | None, told: str) -> None:
    with pytest.raises(KubeadmError, match=f"^{re.escape(told)}$"):
        context_of(config, "f", name)
    with pytest.raises(KubeadmError, match="it has no cluster three; it has one, two"):
        cluster_of({**CONFIG, "current-context": "b"})

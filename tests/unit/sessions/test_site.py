# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.tests.sessions.site import REPOSITORY, link_sources


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("kubelet.md#precedence", "kubelet.md#precedence"),
        ("#here", "#here"),
        ("https://example.com/a.md", "https://example.com/a.md"),
        ("../README.md#support", f"{REPOSITORY}/README.md#support"),
        ("recipes/audit.yml", f"{REPOSITORY}/docs/recipes/audit.yml"),
        ("../roles/device_plugin/files/plugin/README.md", f"{REPOSITORY}/roles/device_plugin/files/plugin/README.md"),
    ],
)
def test_links_lead_to_guides_or_to_the_repository(link: str, target: str) -> None:
    assert link_sources(f"see [this]({link}), and [that]({link})") == f"see [this]({target}), and [that]({target})"

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON patches."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents import json_patch


def test_pointers_are_escaped() -> None:
    assert json_patch.pointer("a/b", "~", "c~/d") == "/a~1b/~0/c~0~1d"

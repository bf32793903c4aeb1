# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Of an installed collection only what plugins, roles and playbooks may use is left."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.nodecraft.kubeadm.tests.sessions.copies import keep_only
from ansible_collections.nodecraft.kubeadm.tests.sessions.installed import USED_PARTS


def test_all_else_is_removed(tmp_path: Path) -> None:
    for name in ("plugins", "docs", "docs/deep"):
        (tmp_path / name).mkdir()
    for name in ("MANIFEST.json", "README.md", "docs/a.md", "plugins/b.py"):
        (tmp_path / name).touch()
    keep_only(tmp_path, USED_PARTS)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "MANIFEST.json",
        "plugins",
        "plugins/b.py",
    ]

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes to revert, as values."""

from __future__ import annotations

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import FileVersion
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.previous_change import (
    Rollback,
    WrittenFile,
)

NODE = "cp1"


def copy(text: str | None, mode: int = 0o600) -> FileVersion | None:
    """A version of a file of root's."""
    return None if text is None else FileVersion(text.encode(), mode)


def file(path: str, former: str | None, left: str | None, **given: t.Any) -> WrittenFile:
    """A file that still is as the change left it. now: something else."""
    now = given.pop("now", left)
    return WrittenFile(path, copy(former), copy(left), copy(now), **given)


def rollback(*files: WrittenFile, **given: t.Any) -> Rollback:
    """A committed change of these files."""
    return Rollback(
        **{
            "transaction": "20260101T000000.000000Z-abcdef",
            "node": NODE,
            "journal": "/state/journal.json",
            "requested": {"at": "2026-01-01T00:00:00Z", "from": "10.0.0.99"},
            "ended": "2026-01-01T00:00:30Z",
            "outcome": "committed",
            "reverts": None,
            "files": files,
            "directories": (),
            "record": {},
            **given,
        }
    )

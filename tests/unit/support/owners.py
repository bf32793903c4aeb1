# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that belong to other users, whoever runs the tests."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest

OTHER = 65534


class Owners:
    """The owner of some files as the system reports it: another one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._given: dict[tuple[int, int], tuple[int, int]] = {}
        for name in ("stat", "fstat"):
            monkeypatch.setattr(os, name, self._with_owners(getattr(os, name)))

    def give(self, path: Path, uid: int = OTHER, gid: int = OTHER) -> None:
        """Let a file, or a link itself, belong to another user."""
        status = path.lstat()
        self._given[status.st_dev, status.st_ino] = (uid, gid)

    def _with_owners(self, read: t.Callable[..., os.stat_result]) -> t.Callable[..., os.stat_result]:
        def read_with_owner(*arguments: t.Any, **options: t.Any) -> os.stat_result:
            status = read(*arguments, **options)
            owner = self._given.get((status.st_dev, status.st_ino))
            return os.stat_result((*status[:4], *owner, *status[6:10])) if owner else status

        return read_with_owner

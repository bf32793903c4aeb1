# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Where a node keeps what the collection knows of it, and how that is read."""

from __future__ import annotations

import os
import typing as t

from .._plan.errors import KubeadmError
from . import engine

STATE_DIR = "/var/lib/nodecraft-kubeadm"

Run = t.Callable[..., tuple[int, str, str]]


def state_folder(name: str) -> str:
    """Where journal, history and record of one static pod are kept."""
    return os.path.join(STATE_DIR, name)


def read_json(path: str) -> engine.Json | None:
    """A file of our state; None when it does not exist. Raises KubeadmError when it is damaged or not of our format."""
    try:
        data = engine.read_json(path)
    except engine.EngineError as exc:
        raise _unusable(str(exc)) from exc
    if data is not None or os.path.exists(path):
        found = data.get("format") if isinstance(data, dict) else None
        if found != engine.FORMAT:
            raise _unusable(f"{path} has format {found}, and this version of the collection knows {engine.FORMAT}")
    return t.cast(t.Optional[engine.Json], data)


def _unusable(problem: str) -> KubeadmError:
    return KubeadmError(
        f"{os.uname().nodename}: {problem}. Nothing is guessed from it: move the file away once you know what the component"
        " should run with."
    )

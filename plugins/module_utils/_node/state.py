# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Where a node keeps what the collection knows of it, and how that is read."""

from __future__ import annotations

import os
import stat
import typing as t

from .._plan import ownership
from .._plan.errors import KubeadmError
from . import engine

STATE_DIR = "/var/lib/nodecraft-kubeadm"

Run = t.Callable[..., tuple[int, str, str]]


def state_folder(name: str) -> str:
    """Where journal, history and record of one component are kept."""
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


def record_path(name: str) -> str:
    """The file that says what we own of a component."""
    return os.path.join(state_folder(name), "owned.json")


def load_record(name: str) -> ownership.Record:
    """What we own of a component."""
    record = read_json(record_path(name))
    return ownership.load_record(record["owned"]) if record else {}


def read_version(path: str) -> engine.Json | None:
    """A file's bytes, mode and owner; None when it does not exist."""
    content = engine.read_bytes(path)
    if content is None:
        return None
    status = os.stat(path)
    return engine.version_of(content, stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid)

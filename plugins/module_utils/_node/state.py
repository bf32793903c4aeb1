# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Where a node keeps what the collection knows of it, and how that is read."""

from __future__ import annotations

import contextlib
import os
import stat
import typing as t

from .._engine.errors import Damaged, OtherFormat
from .._engine.files import Json, read_bytes, read_formatted
from .._plan.common import ownership
from .._plan.common.errors import KubeadmError
from .._plan.common.files import FileVersion

STATE_DIR = "/var/lib/nodecraft-kubeadm"

Run = t.Callable[..., tuple[int, str, str]]


def state_folder(name: str) -> str:
    """Where journal, history and record of one component are kept."""
    return os.path.join(STATE_DIR, name)


class Unusable(KubeadmError):
    """A file of our state is damaged, or of another version of the collection."""


@contextlib.contextmanager
def told() -> t.Iterator[None]:
    """Tell the user what is wrong with a file of our state, where, and what to do. Raises Unusable."""
    try:
        yield
    except OtherFormat as exc:
        raise Unusable(f"{os.uname().nodename}: {exc}.") from exc
    except Damaged as exc:
        raise Unusable(
            f"{os.uname().nodename}: {exc}. Nothing is guessed from it: see that the component runs what it should, then move"
            " the file away, both copies of a journal, and run again."
        ) from exc


def read_json(path: str) -> Json | None:
    """A file of our state that says its format; None when it does not exist. Raises Unusable."""
    with told():
        return read_formatted(path)


def record_path(name: str) -> str:
    """The file that says what we own of a component."""
    return os.path.join(state_folder(name), "owned.json")


def can_take_back(name: str, state: str) -> bool:
    """Whether there may be something that a task with this C(state) takes back without naming it: with C(present) and purge
    what this collection owns of a component, otherwise whatever it has changed of it."""
    return os.path.exists(record_path(name) if state == "present" else state_folder(name))


def own_record(name: str) -> ownership.Record:
    """What we own of a component."""
    record = read_json(record_path(name))
    return ownership.load_record(record["owned"]) if record else {}


def read_version(path: str) -> FileVersion | None:
    """A file as it stands; None when it does not exist."""
    content = read_bytes(path)
    if content is None:
        return None
    status = os.stat(path)
    return FileVersion(content, stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid)

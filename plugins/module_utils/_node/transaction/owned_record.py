# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of what this collection owns of a component."""

from __future__ import annotations

import os
import typing as t

from ..._engine.files import FORMAT, Json, remove, write_json
from ..._plan.common import ownership, times
from ..._plan.common.file_values import text_digest
from .state import read_json, state_directory


def record_path(name: str) -> str:
    """The file that says what we own of a component."""
    return os.path.join(state_directory(name), "owned.json")


def own_record(name: str) -> ownership.Record:
    """What we own of a component."""
    record = read_json(record_path(name))
    return ownership.load_record(record["owned"]) if record else {}


def written_image(name: str) -> str | None:
    """The image of a static pod at our last write; None when it is not known."""
    record = read_json(record_path(name))
    return record.get("image") if record else None


def former_text(name: str, text: str) -> str | None:
    """The manifest of a static pod before our first change of it; None when it is not known, or another program has changed it since.

    text: of the manifest as it stands.
    """
    noted = (read_json(record_path(name)) or {}).get("manifest") or {}
    return noted["before"] if noted.get("written") == text_digest(text) else None


def made_directories(name: str) -> tuple[str, ...]:
    """The directories that we made for the files of a component."""
    return tuple((read_json(record_path(name)) or {}).get("directories", ()))


def is_older(name: str, seconds: float) -> bool:
    """Whether we own something since before that time, which is in seconds since 1970, and have changed nothing of it since."""
    try:
        return os.stat(record_path(name)).st_mtime < seconds
    except FileNotFoundError:
        return False


def joined_again(name: str, joined: float) -> str:
    """When a node was joined again since we changed this component last, UTC; empty when it was not. joined: in seconds since 1970."""
    return times.shown(joined) if is_older(name, joined) else ""


class Notes(t.NamedTuple):
    """What the record says of a static pod that is ours in part.

    written: the image that it names, None when that does not count. image: the one that it shall name. before: the manifest before our first
    change, None when it is not known. text: the manifest as we leave it. directories: those that we made for files that are ours.
    """

    written: str | None
    image: str | None
    before: str | None = None
    text: str = ""
    directories: tuple[str, ...] = ()


NO_NOTES = Notes(None, None)


def is_noted(before: ownership.Record, after: ownership.Record, notes: Notes = NO_NOTES) -> bool:
    """Whether the record says already what it shall."""
    return after == before and (not after or notes.written == notes.image)


def write_record(name: str, *, before: ownership.Record, after: ownership.Record, notes: Notes) -> None:
    """Note what we own, where nothing else changes. Call with the lock."""
    if is_noted(before, after, notes):
        return
    if after:
        write_json(record_path(name), record_data(after, notes))
    else:
        remove(record_path(name))


def record_data(record: ownership.Record, notes: Notes = NO_NOTES) -> Json:
    """What the file holds."""
    manifest = {"before": notes.before, "written": text_digest(notes.text)}
    return {
        "format": FORMAT,
        "owned": ownership.dump_record(record),
        **({"image": notes.image} if notes.image else {}),
        **({"manifest": manifest} if notes.before is not None else {}),
        **({"directories": list(notes.directories)} if notes.directories else {}),
    }


def can_revert(name: str, state: str) -> bool:
    """Whether there may be something that a task with this C(state) reverts without naming it: with C(present) and purge
    what this collection owns of a component, otherwise whatever it has changed of it."""
    return os.path.exists(record_path(name) if state == "present" else state_directory(name))

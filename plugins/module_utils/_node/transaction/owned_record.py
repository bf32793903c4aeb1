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
from .state import read_state_file, state_directory


def record_path(name: str) -> str:
    """The file with what we own of a component."""
    return os.path.join(state_directory(name), "owned.json")


def read_record(name: str) -> ownership.Record:
    """What we own of a component."""
    record = read_state_file(record_path(name))
    return ownership.load_record(record["owned"]) if record else {}


def written_image(name: str) -> str | None:
    """The image of a static pod at our last write; None when it is not known."""
    record = read_state_file(record_path(name))
    return record.get("image") if record else None


def former_text(name: str, text: str) -> str | None:
    """The manifest of a static pod before our first change of it; None when it is not known, or another program has changed it since.

    text: of the manifest as it is now.
    """
    recorded = (read_state_file(record_path(name)) or {}).get("manifest") or {}
    return recorded["before"] if recorded.get("written") == text_digest(text) else None


def made_directories(name: str) -> tuple[str, ...]:
    """The directories that we made for the files of a component."""
    return tuple((read_state_file(record_path(name)) or {}).get("directories", ()))


def is_older(name: str, seconds: float) -> bool:
    """Whether we own something since before that time, which is in seconds since 1970, and have changed nothing of it since."""
    try:
        return os.stat(record_path(name)).st_mtime < seconds
    except FileNotFoundError:
        return False


def joined_again(name: str, joined: float) -> str:
    """When a node was joined again since we changed this component last, UTC; empty when it was not. joined: in seconds since 1970."""
    return times.format_time(joined) if is_older(name, joined) else ""


class RecordDetails(t.NamedTuple):
    """What the record of a static pod holds besides what we own.

    written: the image that it names, None when that does not count. image: the one that it shall name. before: the manifest before our first
    change, None when it is not known. text: the manifest as we leave it. directories: those that we made for files that are ours.
    """

    written: str | None
    image: str | None
    before: str | None = None
    text: str = ""
    directories: tuple[str, ...] = ()


NO_DETAILS = RecordDetails(None, None)


def is_recorded(before: ownership.Record, after: ownership.Record, details: RecordDetails = NO_DETAILS) -> bool:
    """Whether the record is up to date already."""
    return after == before and (not after or details.written == details.image)


def write_record(name: str, *, before: ownership.Record, after: ownership.Record, details: RecordDetails) -> None:
    """Record what we own, where nothing else changes. Call with the lock."""
    if is_recorded(before, after, details):
        return
    if after:
        write_json(record_path(name), record_data(after, details))
    else:
        remove(record_path(name))


def record_data(record: ownership.Record, details: RecordDetails = NO_DETAILS) -> Json:
    """The content of the record file."""
    manifest = {"before": details.before, "written": text_digest(details.text)}
    return {
        "format": FORMAT,
        "owned": ownership.dump_record(record),
        **({"image": details.image} if details.image else {}),
        **({"manifest": manifest} if details.before is not None else {}),
        **({"directories": list(details.directories)} if details.directories else {}),
    }


def can_revert(name: str, state: str) -> bool:
    """Whether there may be something that a task with this C(state) reverts without naming it: with C(present) and purge
    what this collection owns of a component, otherwise whatever it has changed of it."""
    return os.path.exists(record_path(name) if state == "present" else state_directory(name))

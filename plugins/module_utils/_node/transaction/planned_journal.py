# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The journal of a planned change: all that the node needs to carry it out without a controller."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import secrets
import typing as t

from ..._engine.files import FORMAT, to_json
from ..._engine.journal import PREPARED, FileEntry, Journal, Watch, history_ids
from ..._engine.node import read_boot_id, utc_now
from ..._plan.common import ownership
from ..._plan.common.errors import Refusal
from ..._plan.common.file_values import FileChange, FileVersion
from ..._plan.transaction import confirmation
from ..._plan.transaction.previous_change import Rollback, WrittenFile
from .file_versions import dump_version, read_version
from .lock_holder import requester_of
from .owned_record import NO_DETAILS, RecordDetails, is_recorded, record_data, record_path
from .state import state_directory

_STAMP = "%Y%m%dT%H%M%S.%fZ"


@dataclasses.dataclass(frozen=True)
class TransactionSettings:
    """How a transaction waits and ends. Times in seconds; confirm_timeout: None when no confirmation is required,
    observation_timeout: None when no run observes the change from elsewhere. observed_before: what such a run has observed before it."""

    wait_timeout: int
    min_ready_seconds: int
    rollback: bool
    confirm_timeout: int | None = None
    observation_timeout: int | None = None
    observed_before: t.Mapping[str, t.Any] | None = None

    @classmethod
    def of(cls, params: t.Mapping[str, t.Any]) -> TransactionSettings:
        """The settings among a module's parameters. Raises Refusal for those that make no sense."""
        for key, least in (("wait_timeout", 1), ("min_ready_seconds", 0), ("confirm_timeout", 1), ("lock_timeout", 0)):
            if params[key] < least:
                raise Refusal(f"invalid {key} {params[key]}: must be at least {least}.")
        if params["confirm"]:
            confirmation.check_url(params["confirm_url"])
            if not params["rollback"]:
                raise Refusal("confirm rolls back what is not confirmed, so it cannot be used with rollback: false.")
        timeout = params["confirm_timeout"] if params["confirm"] else None
        return cls(
            params["wait_timeout"],
            params["min_ready_seconds"],
            params["rollback"],
            timeout,
            params.get("observation_timeout") or None,
            params.get("observed_before"),
        )


def new_journal(name: str, files: list[FileEntry], watch: Watch, settings: TransactionSettings) -> Journal:
    """A journal of whatever kind of component, that has yet to begin."""
    return {
        "format": FORMAT,
        "id": _new_id(history_ids(state_directory(name))),
        "name": name,
        "requested": {"at": utc_now(), "from": requester_of(os.environ)},
        "boot": read_boot_id(),
        "phase": PREPARED,
        "files": files,
        "directories": missing_directories(entry["path"] for entry in files if entry["after"] is not None),
        "watch": watch,
        "wait_timeout": settings.wait_timeout,
        "min_ready_seconds": settings.min_ready_seconds,
        "rollback": settings.rollback,
        "confirm_timeout": settings.confirm_timeout,
        "observation_timeout": settings.observation_timeout,
        "observed_before": dict(settings.observed_before) if settings.observed_before else None,
        "notes": [],
        "times": {},
        "result": None,
    }


def _new_id(former: t.Sequence[str]) -> str:
    """The order of ids is that of the changes, also of two in one second, and after a clock was set back. former: in order."""
    now = datetime.datetime.now(datetime.timezone.utc)
    with contextlib.suppress(IndexError, ValueError):  # there is none, or not of this form
        last = datetime.datetime.strptime(former[-1].partition("-")[0], _STAMP).replace(tzinfo=datetime.timezone.utc)
        now = max(now, last + datetime.timedelta(microseconds=1))
    return f"{now.strftime(_STAMP)}-{secrets.token_hex(3)}"


def file_entry(change: FileChange) -> FileEntry:
    """One file of a planned change, as it is now and as it will be.

    Its owner, and mode, may have changed since the plan read it: the rehearsal takes its time.
    """
    now, after = read_version(change.path), change.after
    if now and after:
        after = dataclasses.replace(after, **{name: getattr(now, name) for name in change.preserved_attributes})
    return {"path": change.path, "switch": False, "before": dump_version(now), "after": dump_version(after)}


def record_entry(
    name: str, *, before: ownership.Record, after: ownership.Record, details: RecordDetails = NO_DETAILS
) -> list[FileEntry]:
    """What we own changes in the same transaction as the component, so that the two never disagree. details: of a static pod."""
    if is_recorded(before, after, details):
        return []
    version = FileVersion(to_json(record_data(after, details)), 0o600) if after else None
    path = record_path(name)
    return [{"path": path, "switch": False, "before": dump_version(read_version(path)), "after": dump_version(version)}]


def missing_directories(paths: t.Iterable[str]) -> list[str]:
    """The directories that have to be made for these files, outermost first."""
    missing: set[str] = set()
    for path in paths:
        directory = os.path.dirname(path)
        while not os.path.isdir(directory):
            missing.add(directory)
            directory = os.path.dirname(directory)
    return sorted(missing)


def make_rollback(journal: Journal, rollback: Rollback) -> Journal:
    """Make the journal of a planned change revert another: each file gets its former version."""
    return {
        **journal,
        "reverts": rollback.transaction,
        "files": [_rollback_entry(file) for file in rollback.files],
        "directories": missing_directories(file.path for file in rollback.files if file.former is not None),
        "obsolete": [*journal.get("obsolete", []), *reversed(rollback.directories)],
    }


def _rollback_entry(file: WrittenFile) -> FileEntry:
    return {
        "path": file.path,
        "switch": file.switch,
        "before": dump_version(file.now),
        "after": dump_version(file.former),
    }

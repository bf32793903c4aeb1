# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The journal of a planned change: all that the node needs to carry it out alone."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import secrets
import typing as t

from .._engine.files import FORMAT, Json, remove, to_json, write_json
from .._engine.journal import (
    PREPARED,
    STATIC_POD,
    Address,
    FileEntry,
    Instance,
    Journal,
    Places,
    StaticPodWatch,
    StoredVersion,
    Watch,
    content_of,
    history_ids,
    version_of,
)
from .._engine.node import boot_id, utc_now
from .._plan.common import ownership
from .._plan.common.errors import Refusal
from .._plan.common.files import FileChange, FileVersion
from .._plan.static_pod import plan as static_pod
from .._plan.transaction import confirmation
from .api_clients import ApiClients, advertised
from .lock_holder import requested_from
from .state import read_version, record_path, state_folder
from .static_pods import API_SERVER, StaticPod, instance_of

_STAMP = "%Y%m%dT%H%M%S.%fZ"


@dataclasses.dataclass(frozen=True)
class TransactionSettings:
    """How a transaction waits and ends. Times in seconds; confirm_timeout: None when no word from outside is asked for."""

    wait_timeout: int
    min_ready_seconds: int
    rollback: bool
    confirm_timeout: int | None = None

    @classmethod
    def of(cls, params: t.Mapping[str, t.Any]) -> TransactionSettings:
        """The settings among a module's parameters. Raises Refusal for those that make no sense."""
        for key, least in (("wait_timeout", 1), ("min_ready_seconds", 0), ("confirm_timeout", 1), ("lock_timeout", 0)):
            if params[key] < least:
                raise Refusal(f"{key} is {params[key]}; write a number of seconds of at least {least}.")
        if params["confirm"]:
            confirmation.check_url(params["confirm_url"])
            if not params["rollback"]:
                raise Refusal("confirm puts back what nobody confirmed, so it cannot go with rollback: false.")
        timeout = params["confirm_timeout"] if params["confirm"] else None
        return cls(params["wait_timeout"], params["min_ready_seconds"], params["rollback"], timeout)


def static_pod_journal(
    pod: StaticPod, plan: static_pod.StaticPodPlan, settings: TransactionSettings, clients: ApiClients, places: Places
) -> Journal:
    """The journal of a planned change of a static pod."""
    before, after = instance_of(plan.before), instance_of(plan.after)
    address = _address(after)
    files: list[FileEntry] = [
        *(file_entry(change) for change in plan.files),
        {
            "path": pod.path,
            "switch": True,
            "before": dump_version(pod.version),
            "after": dump_version(dataclasses.replace(pod.version, content=plan.after.text.encode("utf-8"))),
        },
        *record_entry(pod.name, before=pod.record, after=plan.record),
    ]
    watch: StaticPodWatch = {
        "kind": STATIC_POD,
        **pod.logs,
        "places": places,
        "before": before,
        "after": after,
        "feature_gates": {
            key: value for key, value in plan.after.values()["feature_gates"].items() if isinstance(value, bool)
        },
        "metrics": {**address, "kubeconfig": clients.admin} if address else None,
        "hidden": plan.after.hidden,
    }
    journal = new_journal(pod.name, files, watch, settings)
    journal["min_ready_seconds"] = max(settings.min_ready_seconds, plan.after.seconds_until_killed())
    if pod.name == API_SERVER:
        for instance, manifest in ((before, plan.before), (after, plan.after)):
            instance["server"] = _address(instance) or advertised(manifest)
        watch["credentials"], watch["mirror"] = clients.credentials(), clients.mirror(pod.log_prefix)
        journal["notes"] = clients.missing()
    return journal


def new_journal(name: str, files: list[FileEntry], watch: Watch, settings: TransactionSettings) -> Journal:
    """A journal of whatever kind of component, that has yet to begin."""
    return {
        "format": FORMAT,
        "id": _new_id(history_ids(state_folder(name))),
        "name": name,
        "requested": {"at": utc_now(), "from": requested_from(os.environ)},
        "boot": boot_id(),
        "phase": PREPARED,
        "files": files,
        "directories": missing_folders(entry["path"] for entry in files if entry["after"] is not None),
        "watch": watch,
        "wait_timeout": settings.wait_timeout,
        "min_ready_seconds": settings.min_ready_seconds,
        "rollback": settings.rollback,
        "confirm_timeout": settings.confirm_timeout,
        "notes": [],
        "times": {},
        "result": None,
    }


def _address(instance: Instance) -> Address | None:
    probe = next((probe for probe in instance["probes"] if probe["kind"] == "http"), None)
    return probe and {"scheme": probe["scheme"], "host": probe["host"], "port": probe["port"]}


def _new_id(former: t.Sequence[str]) -> str:
    """The order of ids is that of the changes, also of two in one second, and after a clock was set back. former: in order."""
    now = datetime.datetime.now(datetime.timezone.utc)
    with contextlib.suppress(IndexError, ValueError):  # there is none, or not of this form
        last = datetime.datetime.strptime(former[-1].partition("-")[0], _STAMP).replace(tzinfo=datetime.timezone.utc)
        now = max(now, last + datetime.timedelta(microseconds=1))
    return f"{now.strftime(_STAMP)}-{secrets.token_hex(3)}"


def dump_version(version: FileVersion | None) -> StoredVersion | None:
    """A version of a file in the form of a journal."""
    return None if version is None else version_of(version.content, version.mode, version.uid, version.gid)


def load_version(version: StoredVersion | None) -> FileVersion | None:
    """A version of a file out of a journal. Raises EngineError when it is damaged."""
    content = content_of(version)
    if version is None or content is None:
        return None
    return FileVersion(content, version["mode"], version["uid"], version["gid"])


def file_entry(change: FileChange) -> FileEntry:
    """One file of a planned change, as it stands now and as it will.

    Its owner, and mode, may have changed since the plan read it: the rehearsal takes its time.
    """
    now, after = read_version(change.path), change.after
    if now and after:
        after = dataclasses.replace(after, **{name: getattr(now, name) for name in change.keeps})
    return {"path": change.path, "switch": False, "before": dump_version(now), "after": dump_version(after)}


def record_entry(name: str, *, before: ownership.Record, after: ownership.Record) -> list[FileEntry]:
    """What we own changes in the same transaction as the component, so that the two never disagree."""
    if after == before:
        return []
    version = FileVersion(to_json(_record_data(after)), 0o600) if after else None
    path = record_path(name)
    return [{"path": path, "switch": False, "before": dump_version(read_version(path)), "after": dump_version(version)}]


def write_record(pod: StaticPod, record: ownership.Record) -> None:
    """Note what we own, where nothing else changes. Call with the lock."""
    if record == pod.record:
        return
    if record:
        write_json(record_path(pod.name), _record_data(record))
    else:
        remove(record_path(pod.name))


def _record_data(record: ownership.Record) -> Json:
    return {"format": FORMAT, "owned": ownership.dump_record(record)}


def missing_folders(paths: t.Iterable[str]) -> list[str]:
    """The folders that have to be made for these files, outermost first."""
    missing: set[str] = set()
    for path in paths:
        folder = os.path.dirname(path)
        while not os.path.isdir(folder):
            missing.add(folder)
            folder = os.path.dirname(folder)
    return sorted(missing)

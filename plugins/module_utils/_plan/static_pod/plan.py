# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The plan of the module C(static_pod): a wish and what was read, in; every byte that will change, out."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import posixpath
import typing as t

from ..common import ownership
from ..common.errors import Refusal
from ..common.files import FileChange, FileVersion, digest_of
from ..common.ownership import Change, Record
from ..kubernetes import flags
from .desired import Wish
from .manifest import Manifest

FILES_ANNOTATION = "nodecraft.kubeadm/files-checksum"

HIDDEN = "(hidden)"  # stands for what is not shown


# ---- what was read ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class State:
    """What the node has.

    manifest: the manifest as it stands.
    record: what we own of it.
    files: every file that the wish or the record names, None when it does not exist.
    """

    manifest: Manifest
    record: Record
    files: t.Mapping[str, FileVersion | None]


# ---- the plan ----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class PolicyFileChange(FileChange):
    """One policy file that changes.

    wanted: the task asks for this content; otherwise what stood there before us goes back.
    """

    sensitive: bool
    wanted: bool


@dataclasses.dataclass(frozen=True)
class StaticPodPlan:
    """Everything that a run will do to one static pod. C(operations) empty: nothing at all."""

    before: Manifest
    after: Manifest
    files: tuple[PolicyFileChange, ...]
    operations: tuple[Change, ...]
    record: Record
    warnings: tuple[str, ...]


def plan(wish: Wish, state: State) -> StaticPodPlan:
    """Work out a wish against what the node has. Raises Refusal for what cannot be done safely."""
    live = {
        **state.manifest.values(),
        "files": {path: file.digest for path, file in state.files.items() if file is not None},
    }
    wanted = dict(wish.values)
    wanted["files"] = {entry.path: digest_of(entry.version) for entry in wish.files}
    resolution = ownership.resolve(
        wish=wanted, live=live, record=_comparable(state.record), state=wish.state, purge=wish.purge
    )
    file_changes = tuple(_file_change(change, wish, state) for change in resolution.changes if change.field == "files")
    record = _with_originals(resolution.record, state, file_changes)
    manifest = state.manifest
    for change in resolution.changes:
        if change.field != "files":
            manifest = manifest.change(change)
    manifest = _with_checksum(manifest, record, file_changes)
    _refuse_shared_mount_paths(manifest)
    _refuse_anonymous_probes(wish, state.manifest, manifest)
    _refuse_unreachable_probes(state.manifest, manifest)
    open_files = [entry.path for entry in wish.files if not entry.sensitive]
    return StaticPodPlan(
        before=state.manifest,
        after=manifest,
        files=file_changes,
        operations=tuple(without_secrets(change, open_files) for change in resolution.changes),
        record=record,
        warnings=resolution.warnings,
    )


def _file_change(change: Change, wish: Wish, state: State) -> PolicyFileChange:
    named = next((entry for entry in wish.files if entry.path == change.key), None)
    version = named.version if named else None
    wanted = version is not None and change.after == version.digest
    before = state.files.get(change.key)
    if change.after is None:
        after = None
    elif version is not None and wanted:
        after = version.in_place_of(before)
    else:
        after = _load_original(state.record["files"][change.key].original).in_place_of(before)
    return PolicyFileChange(change.key, before, after, named is None or named.sensitive, wanted)


# The record holds the whole former content of a file that we replaced; everything else compares digests.


def _comparable(record: Record) -> Record:
    files = {
        path: ownership.Owned(owned.set, _digest_only(owned.original))
        for path, owned in record.get("files", {}).items()
    }
    return {
        **{field: keys for field, keys in record.items() if field != "files"},
        **({"files": files} if files else {}),
    }


def _digest_only(original: t.Mapping[str, t.Any] | None) -> dict[str, t.Any] | None:
    return None if original is None else _load_original(original).digest


def _with_originals(record: Record, state: State, changes: t.Sequence[PolicyFileChange]) -> Record:
    if "files" not in record:
        return record
    before = {change.path: change.before for change in changes}
    files = {}
    for path, owned in record["files"].items():
        known = state.record.get("files", {}).get(path)
        # Unlike a flag, which a kubeadm upgrade may write anew, a file that we made is nobody else's to change.
        original = known.original if known else _dump_original(before[path])
        files[path] = ownership.Owned(owned.set, original)
    return {**record, "files": files}


def _dump_original(file: FileVersion | None) -> dict[str, str] | None:
    return (
        None
        if file is None
        else {"content": base64.b64encode(file.content).decode("ascii"), "mode": f"{file.mode:04o}"}
    )


def _load_original(original: t.Mapping[str, t.Any]) -> FileVersion:
    return FileVersion(base64.b64decode(original["content"]), int(original["mode"], 8))


def _with_checksum(manifest: Manifest, record: Record, changes: t.Sequence[PolicyFileChange]) -> Manifest:
    """Tie the manifest to the content of its files: a component reads them at start only, and the kubelet restarts it
    only when the pod differs."""
    if not changes:
        return manifest
    owned = record.get("files", {})
    checksum = None
    if owned:
        text = "\n".join(f"{path} {entry.set}" for path, entry in sorted(owned.items()))
        checksum = hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
    current = manifest.values()["annotations"].get(FILES_ANNOTATION)
    if checksum == current:
        # Somebody else changed a file since, or wrote the manifest anew, so the same content is a change all the same.
        drift = "\n".join(f"{change.path} {digest_of(change.before)} {digest_of(change.after)}" for change in changes)
        checksum = hashlib.sha256(f"{current}\n{drift}".encode()).hexdigest()[:16]
    return manifest.change(Change("annotations", FILES_ANNOTATION, current, checksum))


def _refuse_shared_mount_paths(manifest: Manifest) -> None:
    paths = [posixpath.normpath(mount["mountPath"]) for mount in manifest.container.get("volumeMounts") or []]
    for path in paths:
        if paths.count(path) > 1:
            raise Refusal(
                f"volumes: {path} is already mounted in {manifest.document.source}; the kubelet refuses two mounts at one path."
            )


def _refuse_anonymous_probes(wish: Wish, before: Manifest, after: Manifest) -> None:
    """Most probes carry no credentials: without anonymous requests each gets 401 and the pod is killed for ever."""
    probes = [
        probe
        for probe in after.probes()
        if probe["kind"] == "http" and "authorization" not in map(str.lower, probe["headers"])
    ]
    off = [
        flags.gate_value(flags.last(each.arguments, "anonymous-auth") or "true") is False for each in (before, after)
    ]
    if wish.name == "kube-apiserver" and probes and off == [False, True]:
        raise Refusal(
            "args: anonymous-auth=false would make the API server answer the kubelet's own probes with 401, and the kubelet"
            " would restart it for ever. Use an AuthenticationConfiguration with anonymous conditions"
            " (--authentication-config) that lets /livez, /readyz and /healthz through instead."
        )


def _refuse_unreachable_probes(before: Manifest, after: Manifest) -> None:
    """The probes in the manifest have an address of their own. Away from it, a component is killed for ever as well."""
    port, address = (_changed_flag(name, before, after) for name in ("secure-port", "bind-address"))
    for probe in after.probes():
        if probe["kind"] != "http":
            continue
        if port is not None and port != str(probe["port"]):
            raise Refusal(
                f"args: with secure-port {port} the kubelet's probes, which ask port {probe['port']}, would fail and the"
                " component would be restarted for ever. Probes are not changed by this module."
            )
        if address not in (None, "0.0.0.0", "::", probe["host"]):  # noqa: S104  # compared, not bound
            raise Refusal(
                f"args: with bind-address {address} the kubelet's probes, which ask {probe['host']}, would fail and the"
                " component would be restarted for ever. Probes are not changed by this module."
            )


def _changed_flag(name: str, before: Manifest, after: Manifest) -> str | None:
    value = flags.last(after.arguments, name)
    return value if value != flags.last(before.arguments, name) else None


# ---- what is shown -----------------------------------------------------------------------------------------------------


def without_secrets(change: Change, open_files: t.Container[str]) -> Change:
    """A change without secrets: values of environment variables and digests of files that are not open stay on the node."""
    if change.field == "env":
        return dataclasses.replace(change, before=change.before and HIDDEN, after=change.after and HIDDEN)
    if change.field == "files" and change.key not in open_files:
        return dataclasses.replace(change, before=_mode_only(change.before), after=_mode_only(change.after))
    return change


def _mode_only(digest: dict[str, t.Any] | None) -> dict[str, t.Any] | None:
    return None if digest is None else {"mode": digest["mode"]}

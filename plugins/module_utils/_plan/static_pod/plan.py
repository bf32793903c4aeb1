# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of the module C(static_pod): a desired state and what was read, in; every byte that will change, out. Also its rollback and its diff."""

from __future__ import annotations

import dataclasses
import hashlib
import posixpath
import typing as t

from ..common import ownership
from ..common.errors import Refusal
from ..common.file_values import FileVersion, digest_of
from ..common.ownership import Change, Record, Values
from ..documents.yaml_edit import Path
from ..kubernetes import notable_settings
from ..transaction import previous_change
from ..transaction.previous_change import Rollback
from . import etcd_change, leader_election, pod_fields, probe_targets, reconciliation
from .desired import SETTINGS, Desired
from .manifest import Manifest
from .policy_files import PolicyFileChange, PolicyFiles
from .reconciliation import FILES_ANNOTATION

# The scheduler's flags that only count without --config, and the fields of that file which count instead.
_OF_SCHEDULER = {
    "contention-profiling": "enableContentionProfiling",
    "kube-api-burst": "clientConnection.burst",
    "kube-api-content-type": "clientConnection.contentType",
    "kube-api-qps": "clientConnection.qps",
    "kubeconfig": "clientConnection.kubeconfig",
    "profiling": "enableProfiling",
}

HIDDEN = "(hidden)"  # stands for what is not displayed

# ---- what was read ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class State:
    """What the node has.

    record: what we own of the manifest.
    files: every file that the desired state or the record names, None when it does not exist.
    users, groups: the number of each owner and group that the desired state names.
    written_image: the component's image at our last write; None when it is not known. former: the manifest before our first change; None when
    it is not known, or another program has changed it since. changed: when the manifest was changed last, UTC.
    """

    manifest: Manifest
    record: Record
    files: t.Mapping[str, FileVersion | None]
    users: t.Mapping[str, int] = dataclasses.field(default_factory=dict)
    groups: t.Mapping[str, int] = dataclasses.field(default_factory=dict)
    written_image: str | None = None
    former: str | None = None
    changed: str = ""


# ---- the plan ----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class StaticPodPlan:
    """Everything that a run will do to one static pod. C(operations) empty: nothing at all.

    lost: by field, the keys of what a kubeadm upgrade took. image: the component's image at our last write, in the record.
    former: in the record, the manifest before our first change; None when that is not known.
    """

    before: Manifest
    after: Manifest
    files: tuple[PolicyFileChange, ...]
    operations: tuple[Change, ...]
    record: Record
    warnings: tuple[str, ...]
    lost: t.Mapping[str, t.Sequence[str]] = dataclasses.field(default_factory=dict)
    image: str | None = None
    former: str | None = None

    def seconds_until_leading(self) -> int:
        """How long an instance may be healthy and do nothing; of either side, because a rollback is watched as well."""
        return max(map(leader_election.seconds_until_leading, (self.before, self.after)))


def plan(desired: Desired, state: State) -> StaticPodPlan:
    """Work out a desired state against what the node has. Raises Refusal for what cannot be done safely."""
    files = PolicyFiles(desired.files, state.record.get("files", {}), state.files, state.users, state.groups)
    live, image = state.manifest.values(), state.manifest.container.get("image")
    found = reconciliation.reconcile(state.record, live, image=image, written_image=state.written_image)
    if desired.state == "present" and not desired.restore_removed:
        reconciliation.refuse_removed(desired.values, found, live, state.manifest.document.source, state.changed)
    resources = pod_fields.keep_spelling(desired.values[pod_fields.RESOURCES], live[pod_fields.RESOURCES])
    resolution = ownership.resolve(
        desired={**desired.values, pod_fields.RESOURCES: resources, "files": files.targets()},
        live={**live, "files": files.values()},
        record=reconciliation.add_files(found.owned, files.comparable()),
        state=desired.state,
        complete=desired.complete,
    )
    file_changes = tuple(files.change(change) for change in resolution.changes if change.field == "files")
    record = dict(resolution.record)
    if "files" in record:
        record["files"] = files.with_originals(record["files"], file_changes)
    before = manifest = state.manifest.with_blanks(_blanks(state.record))
    for change in resolution.changes:
        if change.field != "files":
            manifest = manifest.change(change)
    manifest = _with_checksum(manifest, record, file_changes, is_changed=manifest is not before)
    record = _with_blanks(record, manifest)
    former = state.former if state.record else state.manifest.text
    if manifest is not before and not record:
        manifest = _restore_former_text(manifest, former, desired.name)
    _refuse_shared_mount_paths(manifest)
    pod_fields.refuse_contradictions(live, manifest.values())
    probe_targets.refuse_failing_probes(desired.name, state.manifest, manifest)
    open_files = [change.path for change in file_changes if not change.sensitive]
    return StaticPodPlan(
        before=state.manifest,
        after=manifest,
        files=file_changes,
        operations=tuple(without_secrets(change, open_files) for change in resolution.changes),
        record=record,
        warnings=(
            *resolution.warnings,
            *reconciliation.foreign_warnings(found, desired.values),
            *_unread_warnings(desired.name, manifest, record.get("args", {})),
            *notable_settings.warnings(desired.name, state.manifest.flag_value, manifest.flag_value),
        ),
        lost=reconciliation.keys_by_field(found.lost),
        # What is lost and neither requested nor given up still counts as lost.
        image=state.written_image if _is_any_left(found.lost, record, manifest.values()) else image,
        former=former,
    )


def _restore_former_text(manifest: Manifest, former: str | None, name: str) -> Manifest:
    """The bytes from before our first change, where nothing is ours any more: edits leave the values, not the place of each line and what stood
    there for nothing."""
    before = None if former is None else Manifest.parse(former, manifest.document.source, name)
    return before if before and before.values() == manifest.values() else manifest


def _blanks(record: Record) -> dict[str, str]:
    """What was empty in the manifest before us."""
    return {name: text for keys in record.values() for entry in keys.values() for name, text in entry.blanks.items()}


def _with_blanks(record: Record, manifest: Manifest) -> Record:
    """The record with what was empty before us, recorded with each value in it: it is gone with the last of them."""
    return {
        field: {key: dataclasses.replace(entry, blanks=manifest.blanks_of(field, key)) for key, entry in keys.items()}
        for field, keys in record.items()
    }


def _is_any_left(lost: Record, record: Record, values: Values) -> bool:
    """Whether something that is lost stays ours and does not come back."""
    return any(
        entry.set != values.get(field, {}).get(key) and key in record.get(field, {})
        for field, keys in lost.items()
        for key, entry in keys.items()
    )


def _with_checksum(
    manifest: Manifest, record: Record, changes: t.Sequence[PolicyFileChange], *, is_changed: bool
) -> Manifest:
    """Tie the manifest to the content of its files: a component reads them at start only, and the kubelet restarts it
    only when the pod differs. is_changed: whether the manifest changes anyway."""
    owned, current = record.get("files", {}), manifest.values()["annotations"].get(FILES_ANNOTATION)
    # An upgrade takes it. That alone restarts nothing: the component has read its files since then.
    is_missed = bool(owned) and current is None and is_changed
    if not changes and not is_missed:
        return manifest
    checksum = None
    if owned:
        text = "\n".join(f"{path} {entry.set}" for path, entry in sorted(owned.items()))
        checksum = hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
    if checksum == current:
        # Another program changed a file since, or wrote the manifest again, so the same content is a change all the same.
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


# ---- the report -----------------------------------------------------------------------------------------------------


def without_secrets(change: Change, open_files: t.Container[str]) -> Change:
    """A change without secrets: values of environment variables and digests of files that are not open stay on the node."""
    if change.field == "env":
        return dataclasses.replace(change, before=change.before and HIDDEN, after=change.after and HIDDEN)
    if change.field == "files" and change.key not in open_files:
        return dataclasses.replace(change, before=_without_content(change.before), after=_without_content(change.after))
    return change


def _without_content(digest: dict[str, t.Any] | None) -> dict[str, t.Any] | None:
    return None if digest is None else {key: value for key, value in digest.items() if key != "sha256"}


_HIDDEN_OTHER = "(hidden, different)"


def build_diff(plan_: StaticPodPlan) -> list[dict[str, str]]:
    """The difference in Ansible's form: the manifest, then each file. Values of environment variables are hidden."""
    entries: list[dict[str, str]] = []
    if plan_.before.text != plan_.after.text:
        former = _environment_values(plan_.before)
        texts = [
            manifest.document.masked_text(
                {
                    path: HIDDEN if value in former.values() else _HIDDEN_OTHER
                    for path, value in _environment_values(manifest).items()
                }
            )
            for manifest in (plan_.before, plan_.after)
        ]
        entries.append(_diff_entry(plan_.before.document.source, *texts))
    entries.extend(_diff_entry(change.path, *_file_texts(change)) for change in plan_.files)
    return entries


def _file_texts(change: PolicyFileChange) -> tuple[str, str]:
    if not change.sensitive:
        before, after = (
            "" if file is None else file.content.decode("utf-8", "replace") for file in (change.before, change.after)
        )
        return before, after
    return (
        f"{HIDDEN}\n" if change.before else "",
        f"{_HIDDEN_OTHER if change.before else HIDDEN}\n" if change.after else "",
    )


def _environment_values(manifest: Manifest) -> dict[Path, str]:
    """Where the literal values of environment variables stand in a manifest, in all of its containers."""
    return {
        ("spec", kind, number, "env", position, "value"): str(entry["value"])
        for kind in ("initContainers", "containers")
        for number, container in enumerate(manifest.pod["spec"].get(kind) or [])
        for position, entry in enumerate(container.get("env") or [])
        if entry.get("value")
    }


def _diff_entry(path: str, before: str, after: str) -> dict[str, str]:
    return {"before_header": path, "after_header": path, "before": before, "after": after}


_SETTINGS = tuple(field for field in SETTINGS if field != "files")


def plan_undo(name: str, rollback: Rollback | None, state: State, warnings: t.Sequence[str] = ()) -> StaticPodPlan:
    """Work out what reverting a change comes to. rollback: None when there is nothing to revert.

    Raises Refusal when a file is not what the change left.
    """
    manifest = state.manifest
    if rollback is None or rollback.is_done:
        return StaticPodPlan(manifest, manifest, (), (), state.record, tuple(warnings), image=state.written_image)
    rollback.refuse_foreign_edits()
    after = next(
        (
            Manifest.parse(file.former.text, manifest.document.source, name)
            for file in rollback.files
            if file.switch and file.former  # a manifest is never made by us
        ),
        manifest,
    )
    files = [file for file in rollback.component_files if not file.switch]
    changes = [
        *_changed_settings(manifest, after),
        *(Change("files", file.path, digest_of(file.now), digest_of(file.former)) for file in files),
    ]
    return StaticPodPlan(
        before=manifest,
        after=after,
        # It is unknown by now whether a content was sensitive.
        files=tuple(PolicyFileChange(file.path, file.now, file.former, True, False) for file in files),
        operations=previous_change.revert_operations(
            (without_secrets(change, ()) for change in changes), rollback.component_files
        ),
        record=rollback.record,
        warnings=tuple(warnings),
    )


def _changed_settings(before: Manifest, after: Manifest) -> t.Iterator[Change]:
    then, now = after.values(), before.values()
    for field in _SETTINGS:
        for key in dict.fromkeys([*now[field], *then[field]]):
            if now[field].get(key) != then[field].get(key):
                yield Change(field, key, now[field].get(key), then[field].get(key))


def _unread_warnings(name: str, manifest: Manifest, requested: t.Iterable[str]) -> list[str]:
    """The warnings about arguments that a component passes over, because it has a configuration file: neither its start nor its health shows them.

    name: of the static pod. requested: the arguments that a task sets."""
    if name == "kube-scheduler":
        file, fields = manifest.flag_value("config"), _OF_SCHEDULER
    elif name == "etcd":  # which reads such a file alone
        file, fields = (
            etcd_change.setting(manifest, etcd_change.CONFIG_FILE),
            {key: key for key in requested if key != etcd_change.CONFIG_FILE},
        )
    else:
        return []
    return [
        f"args {key}: {name} does not read it beside its configuration file {file}, so it has no effect. Set {fields[key]} in that file."
        for key in requested
        if file and key in fields and manifest.flag_value(key) is not None
    ]

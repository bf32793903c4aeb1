# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of a static pod beside its manifest as it stands: what is still ours, what a kubeadm upgrade took, what someone took out.

kubeadm writes a manifest again as a whole, so nothing of ours is left in it. Someone who takes a value out leaves the rest.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..common.errors import Refusal
from ..common.ownership import Owned, Record, Values

FILES_ANNOTATION = "nodecraft.kubeadm/files-checksum"
FILES = "files"  # they stand beside the manifest, and no upgrade takes them


@dataclasses.dataclass(frozen=True)
class Reconciliation:
    """What is ours of a manifest, each without files.

    unchanged: it has our value. lost: gone, or as it was before us, with a manifest that was written again. removed: the same in a manifest that was
    not. foreign: it has a value that is neither ours nor the one before us, so it is no longer ours; field and key of each.
    """

    unchanged: Record
    lost: Record
    removed: Record
    foreign: tuple[tuple[str, str], ...]

    @property
    def owned(self) -> Record:
        """What counts as ours from now on. What is lost does until it is requested again, or given up."""
        return {
            field: {**self.unchanged.get(field, {}), **self.lost.get(field, {})}
            for field in {**self.unchanged, **self.lost}
        }


def reconcile(record: Record, live: Values, *, image: t.Any, written_image: str | None) -> Reconciliation:
    """Compare the record with what the manifest has. live: its values.

    image: of the component. written_image: the one at our last write; None when it is not known, and then it counts as another.
    """
    parts: dict[str, Record] = {"unchanged": {}, "gone": {}}
    foreign: list[tuple[str, str]] = []
    for field, keys in record.items():
        for key, entry in keys.items() if field != FILES else ():
            now = live.get(field, {}).get(key)
            if now == entry.set:
                parts["unchanged"].setdefault(field, {})[key] = entry
            elif now in (entry.original, None):
                parts["gone"].setdefault(field, {})[key] = dataclasses.replace(entry, original=now)
            else:
                foreign.append((field, key))
    unchanged, gone = parts["unchanged"], parts["gone"]
    is_written_again = image != written_image or _is_all_gone(unchanged, gone, record, live)
    return Reconciliation(unchanged, gone if is_written_again else {}, {} if is_written_again else gone, tuple(foreign))


def _is_all_gone(unchanged: Record, gone: Record, record: Record, live: Values) -> bool:
    """Whether a manifest of the same image is one that kubeadm wrote again: nothing of ours is in it, and it was more than one thing.

    Who takes out our only setting leaves just what kubeadm would write. That counts as taken out.
    """
    is_annotated = FILES_ANNOTATION in live.get("annotations", {})
    return not unchanged and not is_annotated and sum(map(len, gone.values())) + bool(record.get(FILES)) > 1


def refuse_removed(values: Values, found: Reconciliation, live: Values, path: str, changed: str) -> None:
    """Raise Refusal when the desired state has what someone took out. path: of the manifest. changed: when that was changed."""
    names = [
        f"{field} {key}"
        for field, keys in found.removed.items()
        for key in keys
        if values.get(field, {}).get(key) not in (None, live.get(field, {}).get(key))
    ]
    if names:
        raise Refusal(
            f"{', '.join(names)}: this collection set it in {path}, and it was removed: the file was changed at {changed or 'an unknown time'},"
            " and its image is still the same. Nothing was changed. Remove it from the desired state as well to keep it removed;"
            " or set restore_removed to true (control_plane_restore_removed of the role) to set it again."
        )


def foreign_warnings(found: Reconciliation, values: Values) -> list[str]:
    """The warnings about values that are not ours any more. values: the desired ones, which are in the operations."""
    return [
        f"{field} {key}: it was changed since this collection set it, so it is left alone from now on."
        for field, key in found.foreign
        if key not in values.get(field, {})
    ]


def keys_by_field(record: Record) -> dict[str, list[str]]:
    """The keys of each field, without values."""
    return {field: sorted(keys) for field, keys in record.items()}


def add_files(owned: Record, files: t.Mapping[str, Owned]) -> Record:
    """The record with what is ours beside the manifest."""
    return {**owned, **({FILES: dict(files)} if files else {})}

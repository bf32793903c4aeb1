# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of C(state=previous): the last change of a static pod, reverted."""

from __future__ import annotations

import typing as t

from ..common.file_values import digest_of
from ..common.ownership import Change
from ..transaction import previous_change
from ..transaction.previous_change import Rollback
from . import plan as static_pod
from .desired import SETTINGS
from .manifest import Manifest
from .plan import State, StaticPodPlan
from .policy_files import PolicyFileChange

_SETTINGS = tuple(field for field in SETTINGS if field != "files")


def plan(name: str, rollback: Rollback | None, state: State, warnings: t.Sequence[str] = ()) -> StaticPodPlan:
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
        operations=previous_change.operations(
            (static_pod.without_secrets(change, ()) for change in changes), rollback.component_files
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

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The plan of C(state=previous) of the module C(kubelet): the last change of a kubelet, taken back."""

from __future__ import annotations

import posixpath
import typing as t

from ..common.errors import Refusal
from ..common.files import TextFile
from ..common.ownership import Change, Record
from ..documents.systemd_unit import with_drop_in
from ..transaction import undo
from ..transaction.undo import WayBack, WrittenFile
from . import layout as kubelet_layout
from . import plan as kubelet
from .layout import FRAGMENT, HOOK, Layout
from .plan import ADOPTED, KubeletFileChange, KubeletPlan, State


def plan(way: WayBack | None, state: State, *, force: bool, warnings: t.Sequence[str] = ()) -> KubeletPlan:
    """Work out what taking a change back comes to. way: None when there is nothing to take back.

    force: as in the module's option. Raises Refusal for what cannot be done safely.
    """
    live = kubelet.changeable(state)
    if way is None or way.is_done:
        return KubeletPlan(live, live, (), None, (), (), state.record, tuple(warnings))
    way.refuse_foreign_edits()
    if not force:
        kubelet.refuse_newer_files(state)
    files = [_file_change(file) for file in way.component_files]
    after, fragment = _former(state, files)
    _refuse_sleeping_fragments(state, live, after, force=force)
    _refuse_outdated_drop_in(state, after, files, way)
    return KubeletPlan(
        before=live,
        after=after,
        files=tuple(files),
        fragment=fragment,
        policies=kubelet.changed_policies(live, after, state),
        operations=undo.operations(_changes(live, after, files, state.record, way.record), way.component_files),
        record=way.record,
        warnings=tuple(warnings),
    )


def _file_change(file: WrittenFile) -> KubeletFileChange:
    is_ours = file.path == kubelet_layout.DROP_IN or posixpath.basename(file.path) == FRAGMENT
    return KubeletFileChange(file.path, file.now, file.former, not is_ours)


def _former(state: State, files: t.Sequence[KubeletFileChange]) -> tuple[Layout, TextFile | None]:
    """The kubelet as the former files make it, and our fragment among them."""
    versions = {file.path: file.after for file in files}
    texts = {path: version.text if version else None for path, version in versions.items()}
    drop_in = kubelet_layout.DROP_IN
    unit = with_drop_in(state.unit, drop_in, texts[drop_in]) if drop_in in texts else state.unit
    environment = {**state.variables, **{file.path: texts[file.path] for file in files if file.is_environment}}
    fragments = {file.path: file for file in state.fragments}
    for path, version in versions.items():
        if posixpath.basename(path) == FRAGMENT:
            fragments.pop(path, None)
            if version is not None:
                fragments[path] = TextFile(path, version)
    found = [file for dummy, file in sorted(fragments.items())]
    ours = next((file for file in found if posixpath.basename(file.path) == FRAGMENT), None)
    return kubelet_layout.layout(unit, environment, state.main, found), ours


def _refuse_sleeping_fragments(state: State, live: Layout, after: Layout, *, force: bool) -> None:
    wakes = kubelet_layout.config_dir(live.command) is None and kubelet_layout.config_dir(after.command) is not None
    if wakes and not force:
        kubelet.refuse_sleeping_fragments(
            [file for file in state.fragments if posixpath.basename(file.path) != FRAGMENT]
        )


def _refuse_outdated_drop_in(state: State, after: Layout, files: t.Sequence[KubeletFileChange], way: WayBack) -> None:
    """Our drop-in repeats what the unit said when it was written. A former one may repeat what does not hold any more."""
    former = next((file.after for file in files if file.path == kubelet_layout.DROP_IN), None)
    if former is None:
        return
    kubelet.refuse_ineffective_hook(former.text, after)
    base = kubelet_layout.layout(with_drop_in(state.unit, kubelet_layout.DROP_IN, None), state.variables, None, ())
    said, hook = after.service.variables[HOOK].value, base.service.variables[HOOK]
    if not f"{said} ".startswith(f"{hook.value.strip()} "):
        raise Refusal(
            f"state: previous would take back transaction {way.transaction} on {way.node}, but {hook.source} sets {HOOK} to something"
            " else than it did then, and the former drop-in would undo that. Take single settings back with state: absent."
        )


def _changes(
    live: Layout, after: Layout, files: t.Sequence[KubeletFileChange], owned: Record, former: Record
) -> t.Iterator[Change]:
    """What changes, of everything that is ours now or was before."""
    for file in files:
        if file.is_environment:
            is_adopted = file.path in former.get(ADOPTED, {})
            yield Change(ADOPTED, file.path, *(("put back", None) if is_adopted else (None, "put back")))
    places = [(field, key) for record in (owned, former) for field, keys in record.items() for key in keys]
    for field, key in dict.fromkeys(place for place in places if place[0] != ADOPTED):
        before, then = _value(live, owned, field, key), _value(after, former, field, key)
        if before != then:
            yield Change(field, key, before, then)


def _value(layout: Layout, record: Record, field: str, key: str) -> t.Any:
    """A setting's value. The text of a flag is given as the record has it when it means the same."""
    entry = record.get(field, {}).get(key)
    return layout.settings.value(field, key, entry.set if entry else None)

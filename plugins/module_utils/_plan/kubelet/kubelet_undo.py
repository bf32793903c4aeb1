# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of C(state=previous): the last change of a kubelet, reverted."""

from __future__ import annotations

import typing as t

from ..common.errors import Refusal
from ..common.ownership import Change, Record
from ..documents.systemd_service import unit_variables
from ..transaction import previous_change
from ..transaction.previous_change import Rollback
from . import layout as kubelet_layout
from . import plan as kubelet
from .kubelet_state import State
from .layout import UNIT, Layout
from .plan import ADOPTED, KubeletFileChange, KubeletPlan


def plan(rollback: Rollback | None, state: State, *, force: bool, warnings: t.Sequence[str] = ()) -> KubeletPlan:
    """Work out what reverting a change comes to. rollback: None when there is nothing to revert.

    force: as in the module's option. Raises Refusal for what cannot be done safely.
    """
    live = kubelet.check_changeable(state)
    if rollback is None or rollback.is_done:
        return KubeletPlan(live, live, (), None, (), (), state.record, tuple(warnings))
    rollback.refuse_foreign_edits()
    if not force:
        kubelet.refuse_newer_files(state)
    files = [KubeletFileChange(file.path, file.now, file.former) for file in rollback.component_files]
    former = state.with_files({file.path: file.after for file in files})
    after = former.layout()
    _refuse_unread_fragments(state, live, after, force=force)
    if any(file.path == kubelet_layout.DROP_IN for file in files):
        _refuse_outdated_drop_in(former, after, rollback)
    return KubeletPlan(
        before=live,
        after=after,
        files=tuple(files),
        fragment=next((file for file in former.fragments if file not in former.foreign_fragments), None),
        policies=kubelet.changed_policies(live, after, state),
        operations=previous_change.revert_operations(
            _changes(live, after, files, state.record, rollback.record), rollback.component_files
        ),
        record=rollback.record,
        warnings=tuple(warnings),
    )


def _refuse_unread_fragments(state: State, live: Layout, after: Layout, *, force: bool) -> None:
    wakes = kubelet_layout.config_dir(live.command) is None and kubelet_layout.config_dir(after.command) is not None
    if wakes and not force:
        kubelet.refuse_unread_fragments(state.foreign_fragments)


def _refuse_outdated_drop_in(former: State, after: Layout, rollback: Rollback) -> None:
    """Our drop-in repeats values of the unit from when it was written. Those of a former one may be outdated."""
    ours = next((file for file in former.unit if file.path == kubelet_layout.DROP_IN), None)
    if ours is None:
        return
    foreign_variables = former.without_ours().layout().service.variables
    for name, variable in unit_variables(ours, UNIT, former.host).items():
        effective, foreign = after.service.variables[name], foreign_variables.get(name)
        why = None
        if f"${name}" not in after.service.words:
            why = f"ExecStart in {after.service.arguments[0].source} does not use ${name} any more"
        elif effective.source.path != ours.path:
            why = f"{effective.source} sets {name} after it"
        elif foreign is not None and not f"{variable.value} ".startswith(f"{foreign.value.strip()} "):
            why = f"{foreign.source} sets {name} to another value than it did then"
        if why is not None:
            raise Refusal(
                f"state: previous would revert transaction {rollback.transaction} on {rollback.node}, but {why}, and the former {ours.path}"
                " would override that or have no effect. Revert single settings with state: absent."
            )


def _changes(
    live: Layout, after: Layout, files: t.Sequence[KubeletFileChange], owned: Record, former: Record
) -> t.Iterator[Change]:
    """What changes, of everything that is ours now or was before."""
    for file in files:
        if file.is_foreign:
            is_adopted = file.path in former.get(ADOPTED, {})
            yield Change(ADOPTED, file.path, *(("reverted", None) if is_adopted else (None, "reverted")))
    places = [(field, key) for record in (owned, former) for field, keys in record.items() for key in keys]
    for field, key in dict.fromkeys(place for place in places if place[0] != ADOPTED):
        before, then = _value(live, owned, field, key), _value(after, former, field, key)
        if before != then:
            yield Change(field, key, before, then)


def _value(layout: Layout, record: Record, field: str, key: str) -> t.Any:
    """A setting's value. The text of a flag is given as the record has it when it means the same."""
    entry = record.get(field, {}).get(key)
    return layout.settings.value(field, key, entry.set if entry else None)

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who set what: which keys a task changes, and which of them the collection owns afterwards.

Values are grouped by field ("args", "feature_gates", ...) and key. A value is anything that JSON can hold;
None means that the key is not set. The record of what we own is a file on the node (static pods, kubelets) or an annotation of the Node.
"""

from __future__ import annotations

import dataclasses
import typing as t

Values = dict[str, dict[str, t.Any]]


@dataclasses.dataclass(frozen=True)
class Owned:
    """One key that we set: to what, and what stood there before us (None: nothing).

    blanks: name of a list or mapping around it that was empty before us -> its YAML text then.
    """

    set: t.Any
    original: t.Any
    blanks: t.Mapping[str, str] = dataclasses.field(default_factory=dict)


Record = dict[str, dict[str, Owned]]


@dataclasses.dataclass(frozen=True)
class Change:
    """One key that gets another value. None as a value: the key is not set.

    no_longer_desired: whether it is reverted only because the desired state, which is complete for its field, does not name it any more.
    """

    field: str
    key: str
    before: t.Any
    after: t.Any
    no_longer_desired: bool = False

    def to_result(self) -> dict[str, t.Any]:
        """As results of modules have it."""
        result = {"field": self.field, "key": self.key, "before": self.before, "after": self.after}
        return {**result, "no_longer_desired": True} if self.no_longer_desired else result


@dataclasses.dataclass(frozen=True)
class Resolution:
    """The result of a comparison: the changes, the record after them, and warnings for the user."""

    changes: tuple[Change, ...]
    record: Record
    warnings: tuple[str, ...]


def resolve(
    *, desired: Values, live: Values, record: Record, state: str, complete: t.Collection[str] = ()
) -> Resolution:
    """Compare a desired state with what is there.

    desired: the keys that the task names, with their desired values.
    live: the values that are set now. Keys with other fields than the desired state's are allowed.
    record: what we own.
    state: C(present): named keys get their values, other keys stay. C(absent): named keys that we own go back to what
    stood there before us. What others set stays: taking that away is what None with C(present) is for, and only there
    would a second run find nothing to do.
    complete: the fields of which everything that we own and the task does not name goes back as well.
    """
    targets = _find_targets(desired, record, state, complete)
    changes: list[Change] = []
    warnings: list[str] = []
    after: Record = {field: dict(keys) for field, keys in record.items()}
    for (field, key), target in targets.items():
        now = live.get(field, {}).get(key)
        owned = record.get(field, {}).get(key)
        if target.restores_original and owned is not None and now != owned.set:
            if now != owned.original:
                warnings.append(
                    f"{field} {key}: it was changed since this collection set it, so it is left alone from now on."
                )
            after[field].pop(key)
            continue
        if now != target.value:
            changes.append(Change(field, key, now, target.value, target.no_longer_desired))
        _update_record(after, field, key, now, target.value, owned)
    return Resolution(tuple(changes), {field: keys for field, keys in after.items() if keys}, tuple(warnings))


@dataclasses.dataclass(frozen=True)
class _Target:
    """The value that a key shall get. restores_original: because a change of ours is reverted."""

    value: t.Any
    restores_original: bool = False
    no_longer_desired: bool = False


def _find_targets(
    desired: Values, record: Record, state: str, complete: t.Collection[str]
) -> dict[tuple[str, str], _Target]:
    named = {(field, key): value for field, keys in desired.items() for key, value in keys.items()}
    owned = {(field, key): entry for field, keys in record.items() for key, entry in keys.items()}
    targets: dict[tuple[str, str], _Target] = {}
    for name, value in named.items():
        if state == "present":
            targets[name] = _Target(value)
        elif name in owned:
            targets[name] = _Target(owned[name].original, restores_original=True)
    for name, entry in owned.items():
        if name[0] in complete and name not in named:
            targets[name] = _Target(entry.original, restores_original=True, no_longer_desired=state == "present")
    return targets


def complete_fields(options: t.Mapping[str, t.Any], state: str, *, purge: bool) -> frozenset[str]:
    """The fields whose options are complete, so that all else is reverted: with purge those that are given, and with C(absent) all where none is.

    options: by field, None for one that is not given. One that is not given means nothing, so that a forgotten variable reverts nothing; with
    C(absent) neither does one that is empty.
    """
    given = frozenset(field for field, value in options.items() if value is not None)
    if state == "absent" and not given:
        return frozenset(options)
    return given if purge else frozenset()


def left_alone(record: Record, fields: t.Iterable[str], desired: t.Collection[str]) -> dict[str, list[str]]:
    """What we own in fields that a task does not name, by field. desired: the fields that it names."""
    return {field: sorted(record[field]) for field in fields if field not in desired and record.get(field)}


def _update_record(record: Record, field: str, key: str, now: t.Any, target: t.Any, owned: Owned | None) -> None:
    """Enter what a change makes ours, a removal included. A key that already had the desired value is not ours."""
    if owned is None and now == target:
        return
    # What another program put in place of ours, an upgrade for one, is what stood there before us from now on.
    original = owned.original if owned is not None and now == owned.set else now
    keys = record.setdefault(field, {})
    if target == original:
        keys.pop(key, None)
    else:
        keys[key] = Owned(set=target, original=original)


def load_record(data: t.Mapping[str, t.Any]) -> Record:
    """The record from its JSON form."""
    return {
        field: {key: Owned(entry["set"], entry["original"], entry.get("blanks", {})) for key, entry in keys.items()}
        for field, keys in data.items()
    }


def dump_record(record: Record) -> dict[str, t.Any]:
    """The record's JSON form."""
    return {field: {key: _dump(entry) for key, entry in sorted(keys.items())} for field, keys in sorted(record.items())}


def _dump(entry: Owned) -> dict[str, t.Any]:
    dumped = {"set": entry.set, "original": entry.original}
    return {**dumped, "blanks": dict(entry.blanks)} if entry.blanks else dumped

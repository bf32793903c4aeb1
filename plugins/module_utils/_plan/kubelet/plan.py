# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The plan of the module C(kubelet): a wish and what was read, in; every byte that will change, out.

Two files are ours: a drop-in of the kubelet's unit, and a fragment in its C(--config-dir). Both are rendered from the
record of what we own and from nothing else, so an empty record means no file. What others set is found below ours (the
"base"), which is also what a setting goes back to. An entry of KUBELET_EXTRA_ARGS that would win over the wish is moved
away only when the task says so (C(adopt)).
"""

from __future__ import annotations

import dataclasses
import json
import posixpath
import re
import typing as t

from ..common import ownership
from ..common.errors import Refusal
from ..common.files import FileChange, FileVersion, TextFile
from ..common.ownership import Change, Owned, Record, Values
from ..documents.systemd_unit import with_drop_in
from . import adoption as kubelet_adoption
from . import config as kubelet_config
from . import layout as kubelet_layout
from . import limits as kubelet_limits
from . import policies as kubelet_policies
from .adoption import EXTRA, Move
from .config import CONFIG
from .desired import Wish
from .layout import FRAGMENT, HOOK, Layout
from .own_files import OwnFiles
from .policies import PolicyChange, Remembered

ADOPTED = "adopted"


# ---- what was read ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class State:
    """What the node has.

    unit: the unit's file and its drop-ins, in systemd's order. environment: each environment file, None for one that is not there.
    main: the file of C(--config). fragments: the files of the C(--config-dir) that is used, or that would be.
    record: what we own. version: the kubelet's. running: the command line of its process, None when it is down.
    newer: files of others, its binary among them, that changed after that process was started. remembered: its state files.
    """

    unit: tuple[TextFile, ...]
    environment: t.Mapping[str, FileVersion | None]
    main: TextFile | None
    fragments: tuple[TextFile, ...]
    record: Record
    version: tuple[int, int]
    running: tuple[str, ...] | None
    newer: tuple[str, ...] = ()
    remembered: Remembered = dataclasses.field(default_factory=dict)

    @property
    def variables(self) -> dict[str, str | None]:
        """The texts of the environment files."""
        return {path: version.text if version else None for path, version in self.environment.items()}


# ---- the plan --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class KubeletFileChange(FileChange):
    """One file of a kubelet that changes. is_environment: it is others' file of variables, whose values are nobody's business."""

    keeps_mode: t.ClassVar[bool] = True

    is_environment: bool = False

    def shown(self, version: FileVersion | None) -> str:
        """A version of this file as it may be shown."""
        lines = version.text.splitlines(keepends=True) if version else []
        return "".join(map(_without_value, lines) if self.is_environment else lines)


@dataclasses.dataclass(frozen=True)
class KubeletPlan:
    """Everything that a run will do to one kubelet. C(operations) empty: nothing at all.

    fragment: our configuration file as it will be, None without one. policies: those for which the node has to be drained.
    """

    before: Layout
    after: Layout
    files: tuple[KubeletFileChange, ...]
    fragment: TextFile | None
    policies: tuple[PolicyChange, ...]
    operations: tuple[Change, ...]
    record: Record
    warnings: tuple[str, ...]

    @property
    def limits(self) -> kubelet_limits.Limits | None:
        """What is left to pods afterwards; None when that does not change."""
        return kubelet_limits.change(self.before.settings, self.after.settings)


def plan(wish: Wish, state: State) -> KubeletPlan:
    """Work out a wish against what the node has. Raises Refusal for what cannot be done safely."""
    live = changeable(state)
    base_unit = with_drop_in(state.unit, kubelet_layout.DROP_IN, None)
    theirs = tuple(file for file in state.fragments if posixpath.basename(file.path) != FRAGMENT)
    # Others may rely on the folder that the kubelet reads for our sake.
    awake = bool(theirs) and kubelet_layout.config_dir(live.command) is not None
    moved = _adopt(
        wish, kubelet_layout.layout(base_unit, state.variables, state.main, theirs, reads_fragments=awake), state
    )
    environment = {**state.variables, **{path: move.text for path, move in moved.items()}}
    base = kubelet_layout.layout(base_unit, environment, state.main, theirs, reads_fragments=awake)

    resolution = _resolve(wish, state, live, base, moved)
    owned = {field: keys for field, keys in resolution.record.items() if field != ADOPTED}
    adopted, returned, warnings = kubelet_adoption.account_for(
        state.record.get(ADOPTED, {}), moved, owned, state.record, state.variables
    )
    environment.update(returned)

    ours = OwnFiles.render(owned, base, state.version, keeps_folder=awake)
    folder = kubelet_layout.config_dir(base.command) or kubelet_layout.CONFIG_DIR
    if not awake and not wish.force and kubelet_layout.config_dir(base.command) is None and ours.fragment is not None:
        refuse_sleeping_fragments(theirs)
    fragment = None if ours.fragment is None else TextFile.of(posixpath.join(folder, FRAGMENT), ours.fragment, 0o600)
    unit = with_drop_in(state.unit, kubelet_layout.DROP_IN, ours.drop_in)
    after = kubelet_layout.layout(unit, environment, state.main, [*theirs, *([fragment] if fragment else [])])
    refuse_ineffective_hook(ours.drop_in, after)
    _refuse_overridden(wish, after, live)

    operations = (
        *(Change(ADOPTED, f"{path} {name}", text, None) for path, move in moved.items() for name, text in move.entries),
        *(Change(ADOPTED, path, None, "put back") for path in returned),
        *resolution.changes,
    ) or tuple(_stale_hook(live, after))
    if operations and not wish.force:
        refuse_newer_files(state)
    return KubeletPlan(
        before=live,
        after=after,
        files=tuple(_file_changes(state, ours.drop_in, fragment, folder, environment)),
        fragment=fragment,
        policies=changed_policies(live, after, state) if operations else (),
        operations=operations,
        record={**owned, **({ADOPTED: adopted} if adopted else {})},
        warnings=(
            *resolution.warnings,
            *warnings,
            *_kept_folder(owned, base, theirs if awake else ()),
            *(() if operations else _forgotten(live, state)),
        ),
    )


def changeable(state: State) -> Layout:
    """A kubelet as it is now. Raises Refusal for one that cannot be changed."""
    live = kubelet_layout.layout(state.unit, state.variables, state.main, state.fragments)
    kubelet_layout.refuse_unknown_layout(live.service)
    _refuse_out_of_step(live, state)
    return live


def _adopt(wish: Wish, base: Layout, state: State) -> dict[str, Move]:
    if not wish.adopt or wish.state != "present":
        return {}
    return kubelet_adoption.take_out(wish.keys, base.service, base.settings, state.variables)


def _resolve(wish: Wish, state: State, live: Layout, base: Layout, moved: t.Mapping[str, Move]) -> ownership.Resolution:
    """Compare the wish with what counts now. What a setting goes back to is always what others say today."""
    record = _without_relatives(wish, state.record)
    likes = {(field, key): value for field, keys in wish.values.items() for key, value in keys.items()}
    places = {*likes, *((field, key) for field, keys in record.items() for key in keys)}

    def values(of: Layout, places: t.Iterable[tuple[str, str]]) -> Values:
        found: Values = {}
        for field, key in places:
            value = of.settings.value(field, key, likes.get((field, key)))
            if value is not None:
                found.setdefault(field, {})[key] = value
        return found

    below = values(base, places)
    now = {field: dict(keys) for field, keys in values(live, places).items()}
    # What is moved into ours does not count as set any more, so that it is set by us.
    taken = {place for move in moved.values() for place in move.places}
    for field, key in taken:
        now.get(field, {}).pop(key, None)
        if key in below.get(field, {}):
            now.setdefault(field, {})[key] = below[field][key]
    fresh = {
        field: {
            key: Owned(_as_written(live, field, key, entry, now), below.get(field, {}).get(key))
            for key, entry in keys.items()
        }
        for field, keys in record.items()
    }
    resolution = ownership.resolve(wish=wish.values, live=now, record=fresh, state=wish.state, purge=wish.purge)
    after = {field: dict(keys) for field, keys in resolution.record.items()}
    if wish.state == "present":
        # Others may by now say what we said before them. It stays ours: dropping it would restart for nothing.
        for (field, key), value in likes.items():
            is_ours = key in record.get(field, {}) or (field, key) in taken
            if is_ours and key not in after.get(field, {}):
                after.setdefault(field, {})[key] = Owned(value, below.get(field, {}).get(key))
    return dataclasses.replace(resolution, record=after)


def _as_written(live: Layout, field: str, key: str, entry: Owned, now: Values) -> t.Any:
    """What our own files say of a setting, whoever edited them: it comes and goes with these files."""
    sources = live.settings.sources(field, key)
    is_ours = bool(sources) and sources[-1].path.endswith((kubelet_layout.DROP_IN, FRAGMENT))
    return now.get(field, {}).get(key) if is_ours else entry.set


def _without_relatives(wish: Wish, record: Record) -> Record:
    """What we own, without fields above or below a named one: the named one replaces them."""
    named = [kubelet_config.path_of(key) for key in wish.values[CONFIG]] if wish.state == "present" else []

    def is_replaced(key: str) -> bool:
        path = kubelet_config.path_of(key)
        return any(path != other and path[: len(other)] == other[: len(path)] for other in named)

    kept = {key: entry for key, entry in record.get(CONFIG, {}).items() if not is_replaced(key)}
    return {field: kept if field == CONFIG else keys for field, keys in record.items() if field != ADOPTED}


# ---- what changes ----------------------------------------------------------------------------------------------------


def _file_changes(
    state: State,
    drop_in: str | None,
    fragment: TextFile | None,
    folder: str,
    environment: t.Mapping[str, str | None],
) -> t.Iterator[KubeletFileChange]:
    """Our two files, and those of others that change. The fragment comes first: the drop-in names its folder."""
    path = posixpath.join(folder, FRAGMENT)
    former = {file.path: file.version for file in (*state.fragments, *state.unit)}
    drop_in_path = kubelet_layout.DROP_IN
    changes = [
        _file_change(path, former.get(path), fragment.text if fragment else None, 0o600),
        _file_change(drop_in_path, former.get(drop_in_path), drop_in, 0o644),
        *(
            _file_change(name, state.environment[name], text, 0o644, is_environment=True)
            for name, text in environment.items()
        ),
    ]
    yield from (change for change in changes if change.before != change.after)


def _file_change(
    path: str, before: FileVersion | None, text: str | None, mode: int, *, is_environment: bool = False
) -> KubeletFileChange:
    """A file that gets a text. mode: of one that is new; one that is there keeps mode and owner."""
    after = (
        None if text is None else dataclasses.replace(before or FileVersion(b"", mode), content=text.encode("utf-8"))
    )
    return KubeletFileChange(path, before, after, is_environment)


def _stale_hook(live: Layout, after: Layout) -> t.Iterator[Change]:
    """Our drop-in repeats what the unit said when it was written. When that changed since, it is written anew."""
    before, now = (each.service.variables[HOOK].value for each in (live, after))
    if before != now:
        yield Change("unit", HOOK, before, now)


def changed_policies(live: Layout, after: Layout, state: State) -> tuple[PolicyChange, ...]:
    """The policies for which the node has to be drained."""
    return tuple(kubelet_policies.changes(live.settings, after.settings, state.remembered))


def _forgotten(live: Layout, state: State) -> t.Iterator[str]:
    """Tell of state files that do not match. Nothing is restarted for them: a kubelet that runs may do so for long."""
    for mismatch in kubelet_policies.mismatches(live.settings, state.remembered):
        yield (
            f"{mismatch}: a kubelet does not start with that. The next change of this kubelet moves the file away, on a"
            " drained node or with force: true."
        )


# ---- what is refused ---------------------------------------------------------------------------------------------------


def _refuse_out_of_step(live: Layout, state: State) -> None:
    """Starting the kubelet anew would bring in what somebody else changed, and nobody asked for."""
    if state.running is None or list(state.running) == live.command:
        return
    pending = [argument for argument in live.command if argument not in state.running]
    gone = [argument for argument in state.running if argument not in live.command]
    raise Refusal(
        "the kubelet runs with another command line than its unit gives it"
        f" (only in the unit: {' '.join(pending) or 'nothing'}; only in the process: {' '.join(gone) or 'nothing'}):"
        " somebody changed a file and did not restart it. Run systemctl daemon-reload and systemctl restart kubelet, or take"
        " that change back, and run again."
    )


def refuse_newer_files(state: State) -> None:
    """The same for what the command line does not show: the content of files, and the binary."""
    if state.newer:
        raise Refusal(
            f"{', '.join(state.newer)} changed after the kubelet was started, so starting it anew would bring that in too."
            " Look at it, run systemctl restart kubelet or take that change back, and run again; or set force: true."
        )


def refuse_sleeping_fragments(theirs: t.Sequence[TextFile]) -> None:
    """Fragments of others that nobody reads now would come into effect with ours."""
    if theirs:
        raise Refusal(
            f"{', '.join(file.path for file in theirs)}: the kubelet does not read this folder now, and would with this change."
            " Move the file away, or set force: true if it shall count."
        )


def _kept_folder(owned: Record, base: Layout, theirs: t.Sequence[TextFile]) -> t.Iterator[str]:
    """Tell why something of ours stays although nothing is asked for any more."""
    if theirs and not any(owned.values()) and kubelet_layout.config_dir(base.command) is None:
        paths = ", ".join(file.path for file in theirs)
        yield f"{kubelet_layout.DROP_IN} stays with nothing but --config-dir, because the kubelet reads {paths} by it."


def refuse_ineffective_hook(drop_in: str | None, after: Layout) -> None:
    """A later drop-in that sets the hook too makes ours count for nothing."""
    hook = after.service.variables[HOOK]
    if drop_in is not None and hook.source.path != kubelet_layout.DROP_IN:
        raise Refusal(
            f"{hook.source} sets {HOOK} after {kubelet_layout.DROP_IN}, so that one would count for nothing. Rename that drop-in so that it"
            " sorts before, or take the assignment out of it."
        )


def _refuse_overridden(wish: Wish, after: Layout, live: Layout) -> None:
    """A source that wins over ours makes a wish come to nothing; it is named."""
    if wish.state != "present":
        return
    for field, key in wish.keys:
        wanted = wish.values[field][key]
        found = after.settings.value(field, key, wanted)
        if found != wanted:
            sources = [
                source
                for source in after.settings.sources(field, key)
                if source.path not in (kubelet_layout.DROP_IN,) and FRAGMENT not in source.path
            ]
            where = str(sources[-1]) if sources else "another source"
            raise Refusal(
                f"{field}: {key} shall be {_shown(wanted)}, but {where} makes it {_shown(found)} and wins over what this"
                f" module writes. Take it out there{_adoptable(after, field, key)}."
            )


def _adoptable(after: Layout, field: str, key: str) -> str:
    found = after.settings.flags_for(field, key)
    in_extra = any(after.service.arguments[flag.index].variable == EXTRA for flag in found)
    return ", or set adopt: true to have the entry moved into the files of this collection" if in_extra else ""


def _shown(value: t.Any) -> str:
    return "unset" if value is None else json.dumps(value)


# ---- what is shown -------------------------------------------------------------------------------------------------------


def diff(plan_: KubeletPlan) -> list[dict[str, str]]:
    """The difference as Ansible shows it, file by file."""
    return [
        {
            "before_header": change.path,
            "after_header": change.path,
            "before": change.shown(change.before),
            "after": change.shown(change.after),
        }
        for change in plan_.files
    ]


def _without_value(line: str) -> str:
    """A line of a file of variables: the kubelet's own arguments, or only a name. A comment may hold a variable as well."""
    if re.match(rf"\s*({EXTRA}=|#[^=]*$|$)", line):
        return line
    name, equals, _value = line.partition("=")
    return f"{name}=...\n" if equals else "...\n"

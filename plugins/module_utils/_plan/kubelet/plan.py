# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of the module C(kubelet): a desired state and what was read, in; every byte that will change, out.

Ours are a drop-in of the kubelet's unit, a fragment in its C(--config-dir), and for a unit that takes no variable a
generator. All are rendered from the record of what we own and from nothing else, so an empty record means no file. What
others set is found below ours (the "base"), which is also what a setting goes back to. An entry of a variable of others
that would win over the desired state is moved away only with the option C(adopt).
"""

from __future__ import annotations

import dataclasses
import json
import posixpath
import re
import typing as t

from ..common import ownership
from ..common.errors import Refusal
from ..common.file_values import FileChange, FileVersion, TextFile
from ..common.ownership import Change, Owned, Record, Values
from ..documents.systemd_service import Service, Variable, clears_variables, quote_argument, quote_assignment
from ..kubernetes import flags
from . import adoption as kubelet_adoption
from . import config as kubelet_config
from . import generator as kubelet_generator
from . import layout as kubelet_layout
from . import limits, rejoining
from . import manager_policies as kubelet_policies
from .adoption import AdoptedFile
from .config import ARGS, CONFIG, GATES, TAINTS
from .desired import Desired
from .kubelet_state import State, Versions
from .layout import FRAGMENT, UNIT, Layout
from .limits import Limits
from .manager_policies import PolicyChange

ADOPTED = "adopted"
_CONFIG_DIR_SINCE = (1, 30)  # before, a kubelet wants a variable of its environment as well
_HEAD = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
_COMMENT = "# Written by the Ansible collection nodecraft.kubeadm, which also removes it. Manual changes are lost.\n"
_RELOAD = "systemctl daemon-reload and systemctl restart kubelet"


# ---- the plan --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class KubeletFileChange(FileChange):
    """One file of a kubelet that changes."""

    @property
    def is_foreign(self) -> bool:
        """Whether it is others' file of variables, whose values are not shown."""
        return not _is_named_as_ours(self.path)

    @property
    def preserved_attributes(self) -> tuple[str, ...]:
        """What a file that is there keeps of its own. A program has to be executable, whatever changed that."""
        return ("uid", "gid") if self.path == kubelet_generator.GENERATOR else ("mode", "uid", "gid")

    def visible_text(self, version: FileVersion | None) -> str:
        """A version of this file as it may be shown."""
        lines = version.text.splitlines(keepends=True) if version else []
        return "".join(map(_mask_value, lines) if self.is_foreign else lines)


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
    def limits(self) -> Limits | None:
        """What is left to pods afterwards; None when that does not change."""
        return limits.limits_change(self.before.settings, self.after.settings)


def plan(desired: Desired, state: State) -> KubeletPlan:
    """Work out a desired state against what the node has. Raises Refusal for what cannot be done safely."""
    live, below = check_changeable(state), state.without_ours()
    foreign_fragments = state.foreign_fragments
    # Others may rely on the directory that the kubelet reads for our sake.
    reads_fragments = bool(foreign_fragments) and kubelet_layout.config_dir(live.command) is not None
    moved = _adopt(desired, below.layout(reads_fragments=reads_fragments), below)
    below = below.with_files({path: _make_version(below, path, file.text) for path, file in moved.items()})
    base = below.layout(reads_fragments=reads_fragments)

    resolution = _resolve(desired, state, live, base, moved)
    owned = {field: keys for field, keys in resolution.record.items() if field != ADOPTED}
    adopted, returned, warnings = kubelet_adoption.update_adopted(
        state.record.get(ADOPTED, {}), moved, owned, state.record, state.texts
    )
    ours = _OwnFiles.render(owned, base, state.version, keeps_directory=reads_fragments)
    sleeps = not reads_fragments and kubelet_layout.config_dir(base.command) is None
    if sleeps and ours.fragment is not None and not desired.force:
        refuse_unread_fragments(foreign_fragments)
    path = posixpath.join(kubelet_layout.config_dir(base.command) or kubelet_layout.CONFIG_DIR, FRAGMENT)
    files = _own_versions(ours, state, path)
    files.update({path: _make_version(state, path, text) for path, text in returned.items()})
    done = below.with_files(files)
    after = done.layout()
    _refuse_cleared(ours, done.unit, after.service.variables.get(ours.variable))
    _refuse_overridden(desired, _with_origins(after, base))

    operations = (
        *(Change(ADOPTED, f"{path} {name}", text, None) for path, file in moved.items() for name, text in file.entries),
        *(Change(ADOPTED, path, None, "reverted") for path in returned),
        *resolution.changes,
    ) or tuple(_outdated_drop_in(live, after, ours.variable))
    if operations and not desired.force:
        refuse_newer_files(state)
    return KubeletPlan(
        before=live,
        after=after,
        files=tuple(_file_changes(state, {**files, **{path: below.files[path] for path in moved}})),
        fragment=TextFile(path, version) if (version := files[path]) else None,
        policies=changed_policies(live, after, state) if operations else (),
        operations=operations,
        record={**owned, **({ADOPTED: adopted} if adopted else {})},
        warnings=(
            *resolution.warnings,
            *warnings,
            *_directory_warnings(owned, base, foreign_fragments if reads_fragments else ()),
            *rejoining.warnings(desired, owned, base, state.joined),
            *(() if operations else _state_file_warnings(live, state)),
        ),
    )


def unverified(change: KubeletPlan) -> list[str]:
    """What of a change cannot be verified. The kubelet may take a value that is none to us: what it leaves to pods is not known then, which is
    not the same as unchanged."""
    if limits.limits_of(change.after.settings) is not None:
        return []
    return ["whether running pods still fit: what the kubelet leaves to them cannot be worked out from its settings"]


def check_changeable(state: State) -> Layout:
    """A kubelet as it is now. Raises Refusal for one that cannot be changed."""
    live = state.layout()
    refuse_unsupported_unit(state)
    _refuse_unrecorded(state)
    _refuse_outdated_process(live, state)
    return live


def refuse_unsupported_unit(state: State) -> None:
    """Refuse a unit that takes no variable of ours, and out of which our generator could derive no command that does."""
    below = state.without_ours()
    if kubelet_layout.free_variable(below.layout().service) is None:
        any_version = FileVersion(b"", 0o644)
        below.with_files({kubelet_layout.DROP_IN: any_version, kubelet_generator.GENERATOR: any_version})


def _adopt(desired: Desired, base: Layout, below: State) -> dict[str, AdoptedFile]:
    if not desired.adopt or desired.state != "present":
        return {}
    return kubelet_adoption.extract_settings(desired.keys, base, below.texts, below.host)


def _resolve(
    desired: Desired, state: State, live: Layout, base: Layout, adopted_files: t.Mapping[str, AdoptedFile]
) -> ownership.Resolution:
    """Compare the desired state with what counts now. A setting is always reverted to what others set today."""
    record = _without_related_fields(desired, state.record)
    desired_values = {(field, key): value for field, keys in desired.values.items() for key, value in keys.items()}
    places = {*desired_values, *((field, key) for field, keys in record.items() for key in keys)}

    def values(of: Layout, places: t.Iterable[tuple[str, str]]) -> Values:
        found: Values = {}
        for field, key in places:
            value = of.settings.value(field, key, desired_values.get((field, key)))
            if value is not None:
                found.setdefault(field, {})[key] = value
        return found

    below = values(base, places)
    now = {field: dict(keys) for field, keys in values(live, places).items()}
    # What is moved into ours does not count as set any more, so that it is set by us.
    adopted_keys = {place for move in adopted_files.values() for place in move.places}
    for field, key in adopted_keys:
        now.get(field, {}).pop(key, None)
        if key in below.get(field, {}):
            now.setdefault(field, {})[key] = below[field][key]
    current_record = {
        field: {
            key: Owned(_as_written(live, field, key, entry, now), below.get(field, {}).get(key))
            for key, entry in keys.items()
        }
        for field, keys in record.items()
    }
    resolution = ownership.resolve(
        desired=desired.values, live=now, record=current_record, state=desired.state, complete=desired.complete
    )
    after = {field: dict(keys) for field, keys in resolution.record.items()}
    if desired.state == "present":
        # Others may by now set what we set before them. It stays ours: dropping it would restart for nothing.
        for (field, key), value in desired_values.items():
            is_ours = key in record.get(field, {}) or (field, key) in adopted_keys
            if is_ours and key not in after.get(field, {}):
                after.setdefault(field, {})[key] = Owned(value, below.get(field, {}).get(key))
    return dataclasses.replace(resolution, record=after)


def _as_written(live: Layout, field: str, key: str, entry: Owned, now: Values) -> t.Any:
    """The value of a setting in our own files, also after a foreign edit: it comes and goes with these files."""
    sources = live.settings.sources(field, key)
    is_ours = bool(sources) and sources[-1].path.endswith((kubelet_layout.DROP_IN, FRAGMENT))
    return now.get(field, {}).get(key) if is_ours else entry.set


def _without_related_fields(desired: Desired, record: Record) -> Record:
    """What we own, without fields above or below a named one: the named one replaces them."""
    named = [kubelet_config.path_of(key) for key in desired.values[CONFIG]] if desired.state == "present" else []

    def is_replaced(key: str) -> bool:
        path = kubelet_config.path_of(key)
        return any(path != other and path[: len(other)] == other[: len(path)] for other in named)

    unrelated = {key: entry for key, entry in record.get(CONFIG, {}).items() if not is_replaced(key)}
    return {field: unrelated if field == CONFIG else keys for field, keys in record.items() if field != ADOPTED}


# ---- our files -------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _OwnFiles:
    """The texts of our files, None for one that is not needed, and the variable by which the drop-in brings arguments."""

    drop_in: str | None
    fragment: str | None
    generator: str | None
    variable: str

    @classmethod
    def render(cls, record: Record, base: Layout, version: tuple[int, int], *, keeps_directory: bool) -> _OwnFiles:
        """Our files for what we own. keeps_directory: others have files in the directory of fragments that are read now."""
        has_directory = version >= _CONFIG_DIR_SINCE
        data = _fragment_data(record, base) if has_directory else {}
        arguments = [] if has_directory else _as_flags(record, base)
        for name, entry in sorted(record.get(ARGS, {}).items()):
            arguments += [f"--{name}={value}" for value in entry.set or []]
        makes_directory = (bool(data) or keeps_directory) and kubelet_layout.config_dir(base.command) is None
        if makes_directory:
            arguments.insert(0, f"--config-dir={kubelet_layout.CONFIG_DIR}")
        text = None if not data else _COMMENT + json.dumps({**_HEAD, **data}, indent=2, sort_keys=True) + "\n"
        free = kubelet_layout.free_variable(base.service)
        variable = free or kubelet_generator.VARIABLE
        drop_in = _drop_in(variable, base.service, arguments, makes_directory) if arguments else None
        return cls(drop_in, text, kubelet_generator.TEXT if arguments and free is None else None, variable)


def _fragment_data(record: Record, base: Layout) -> dict[str, t.Any]:
    data: dict[str, t.Any] = {}
    for key, entry in sorted(record.get(CONFIG, {}).items()):
        data = kubelet_config.with_value(data, kubelet_config.path_of(key), entry.set)
    gates = {gate: entry.set for gate, entry in record.get(GATES, {}).items()}
    taints = _taint_list(record, base)
    return {**data, **({"featureGates": gates} if gates else {}), **({"registerWithTaints": taints} if taints else {})}


def _taint_list(record: Record, base: Layout) -> list[dict[str, t.Any]]:
    """Lists are replaced as a whole, so ours holds the taints of others too."""
    ours = record.get(TAINTS, {})
    if not ours:
        return []
    others = [taint for taint in base.settings.taint_list() if kubelet_config.taint_key(taint) not in ours]
    added = []
    for place, entry in sorted(ours.items()):
        key, dummy, effect = place.rpartition(":")
        added.append({"key": key, "value": entry.set, "effect": effect})
    return others + added


def _as_flags(record: Record, base: Layout) -> list[str]:
    """The same for a kubelet without a directory of fragments. Raises Refusal for what has no flag."""
    if record.get(CONFIG):
        raise Refusal(
            f"config: kubelets before {'.'.join(map(str, _CONFIG_DIR_SINCE))} read no directory of fragments, and"
            " their configuration file is kubeadm's. Use args."
        )
    gates = {gate: str(entry.set).lower() for gate, entry in record.get(GATES, {}).items()}
    taints = _taint_list(record, base)
    return [
        *([f"--{flags.FEATURE_GATES}={flags.render_gates(gates)}"] if gates else []),
        *([f"--{kubelet_config.REGISTER_WITH_TAINTS}={kubelet_config.render_taints(taints)}"] if taints else []),
    ]


def _drop_in(name: str, base: Service, arguments: t.Sequence[str], makes_directory: bool) -> str:
    """base: the service without it, whose own value of that variable it repeats."""
    foreign_fragments = [base.variables[name].value.strip()] if name in base.variables else []
    value = " ".join([*foreign_fragments, *(quote_argument(argument) for argument in arguments)])
    # Someone may remove all of /etc/kubernetes; without the directory a kubelet does not start.
    directory = f"ExecStartPre=-/bin/mkdir -p {kubelet_layout.CONFIG_DIR}\n" if makes_directory else ""
    return f"{_COMMENT}[Service]\n{directory}Environment={quote_assignment(name, value)}\n"


# ---- what changes ----------------------------------------------------------------------------------------------------


def _own_versions(ours: _OwnFiles, state: State, fragment: str) -> dict[str, FileVersion | None]:
    """Our files. The fragment comes first: the drop-in names its directory."""
    files = (
        (fragment, ours.fragment, 0o600),
        (kubelet_layout.DROP_IN, ours.drop_in, 0o644),
        (kubelet_generator.GENERATOR, ours.generator, kubelet_generator.MODE),
    )
    return {path: None if text is None else _make_version(state, path, text, mode) for path, text, mode in files}


def _make_version(state: State, path: str, text: str, mode: int = 0o644) -> FileVersion:
    """A file that gets a text. mode: of one that is new; one that is there keeps its owner, and its mode unless it is a program."""
    former = state.files.get(path)
    own_mode = mode if former is None or path == kubelet_generator.GENERATOR else former.mode
    return FileVersion(text.encode("utf-8"), own_mode).with_owner_of(former)


def _file_changes(state: State, files: Versions) -> t.Iterator[KubeletFileChange]:
    before = state.files
    for path, version in files.items():
        if before.get(path) != version:
            yield KubeletFileChange(path, before.get(path), version)


def _outdated_drop_in(live: Layout, after: Layout, variable: str) -> t.Iterator[Change]:
    """Our drop-in repeats values of the unit from when it was written, and its variable is one that the unit took then. When that
    changed since, it is written again."""
    if live.command != after.command:
        before, now = (
            each.service.variables[variable].value if f"${variable}" in each.service.words else None
            for each in (live, after)
        )
        yield Change("unit", variable, before, now)


def changed_policies(live: Layout, after: Layout, state: State) -> tuple[PolicyChange, ...]:
    """The policies for which the node has to be drained."""
    return tuple(kubelet_policies.policy_changes(live.settings, after.settings, state.state_policies))


def _state_file_warnings(live: Layout, state: State) -> t.Iterator[str]:
    """Tell of state files that do not match. Nothing is restarted for them: a kubelet that runs may do so for long."""
    for mismatch in kubelet_policies.find_mismatches(live.settings, state.state_policies):
        yield (
            f"{mismatch}: a kubelet does not start with that. The next change of this kubelet moves the file away, on a"
            " drained node or with force: true."
        )


# ---- what is refused ---------------------------------------------------------------------------------------------------


def _refuse_outdated_process(live: Layout, state: State) -> None:
    """A restart of the kubelet would bring in what others changed, and what is not part of the task."""
    if state.running is None or list(state.running) == live.command:
        return
    wrapper = live.service.wrapper
    if wrapper and list(state.running) == [*wrapper, *live.command]:
        raise Refusal(
            f"{live.service.arguments[0].source}: {wrapper[0]} starts the kubelet and stays in its place as the process of the unit, so what"
            " becomes of the kubelet is not known. Start the kubelet itself there, with settings of the unit such as Nice=, CPUAffinity="
            " or IOSchedulingClass=, or by a program that gives way to it, as nice and taskset do; run systemctl daemon-reload and"
            " systemctl restart kubelet, and run again."
        )
    pending = [argument for argument in live.command if argument not in state.running]
    gone = [argument for argument in state.running if argument not in live.command]
    raise Refusal(
        "the kubelet runs with another command line than its unit gives it"
        f" (only in the unit: {' '.join(pending) or 'nothing'}; only in the process: {' '.join(gone) or 'nothing'}):"
        " a file was changed without a restart. Run systemctl daemon-reload and systemctl restart kubelet, or revert"
        " that change, and run again."
    )


def refuse_newer_files(state: State) -> None:
    """The same for what the command line does not show: the content of files, and the binary."""
    if state.newer:
        raise Refusal(
            f"{', '.join(state.newer)} changed after the kubelet was started, so a restart would apply that too."
            " Check it, run systemctl restart kubelet or revert that change, and run again; or set force: true."
        )


def refuse_unread_fragments(foreign: t.Sequence[TextFile]) -> None:
    """Fragments of others that are not read now would come into effect with ours."""
    if foreign:
        raise Refusal(
            f"{', '.join(file.path for file in foreign)}: the kubelet does not read this directory now, and would with this change."
            " Move the file away, or set force: true if it is to take effect."
        )


def _refuse_unrecorded(state: State) -> None:
    """Refuse files of our names where no record has their owner and what was there before. Our drop-in may stay without a record, for the
    directory that it names."""
    if state.record:
        return
    for path, version in state.files.items():
        if version is None or not _is_named_as_ours(path):
            continue
        if posixpath.basename(path) == FRAGMENT or _COMMENT not in version.text:
            raise Refusal(
                f"{path}: it has the name of a file of this module, and the node has no record that this module wrote it. Put what it sets into"
                f" the task, or into a file of another name, and remove it; run {_RELOAD}, and run again."
            )


def _is_named_as_ours(path: str) -> bool:
    return path in (kubelet_layout.DROP_IN, kubelet_generator.GENERATOR) or posixpath.basename(path) == FRAGMENT


def _directory_warnings(owned: Record, base: Layout, foreign_fragments: t.Sequence[TextFile]) -> t.Iterator[str]:
    """Warn that something of ours stays although nothing is desired any more."""
    if foreign_fragments and not any(owned.values()) and kubelet_layout.config_dir(base.command) is None:
        paths = ", ".join(file.path for file in foreign_fragments)
        yield f"{kubelet_layout.DROP_IN} stays with only --config-dir, because the kubelet reads {paths} by it."


def _refuse_cleared(ours: _OwnFiles, unit: t.Sequence[TextFile], variable: Variable | None) -> None:
    """Refuse a unit in which a later drop-in takes away what ours sets. variable: what is left of it."""
    cleared = clears_variables(unit) if ours.drop_in is not None else None
    if cleared and (variable is None or variable.source.path != kubelet_layout.DROP_IN):
        raise Refusal(
            f"{cleared}: an empty Environment= takes away every variable that is set before it, and {kubelet_layout.DROP_IN}, which would"
            " bring in the arguments of this module, is read before it. Write there Environment=NAME= for each variable that is meant, run"
            f" {_RELOAD}, and run again."
        )


def _refuse_overridden(desired: Desired, after: Layout) -> None:
    """A source that wins over ours makes a desired state come to nothing; it is named."""
    if desired.state != "present":
        return
    for field, key in desired.keys:
        desired_value = desired.values[field][key]
        found = after.settings.value(field, key, desired_value)
        if found != desired_value:
            raise Refusal(
                f"{field}: {key} must be {_as_json(desired_value)}, but {_winning_source(after, field, key)} sets it to {_as_json(found)} and takes precedence"
                f" over this module. {_remedy(desired, after, field, key)}"
            )


def _with_origins(after: Layout, base: Layout) -> Layout:
    """The same, where what our drop-in repeats of a variable has the source where others wrote it."""
    known = {(argument.variable, argument.text): argument for argument in base.service.arguments}
    arguments = tuple(
        known.get((argument.variable, argument.text), argument)
        if argument.source.path == kubelet_layout.DROP_IN
        else argument
        for argument in after.service.arguments
    )
    return dataclasses.replace(
        after,
        service=dataclasses.replace(after.service, arguments=arguments),
        settings=dataclasses.replace(after.settings, arguments=arguments),
    )


def _winning_source(after: Layout, field: str, key: str) -> str:
    """The file and line that makes a setting what it is, besides ours."""
    ours = (kubelet_layout.DROP_IN, FRAGMENT)
    sources = [source for source in after.settings.sources(field, key) if not source.path.endswith(ours)]
    return str(sources[-1]) if sources else "another source"


def _remedy(desired: Desired, after: Layout, field: str, key: str) -> str:
    """What to do about the flag, or the file, that wins."""
    found = [(after.service.arguments[flag.index], flag) for flag in after.settings.flags_for(field, key)]
    foreign_fragments = [(argument, flag) for argument, flag in found if argument.source.path != kubelet_layout.DROP_IN]
    fixed = [each for each in foreign_fragments if not kubelet_adoption.is_movable(*each, field, key, desired.keys)]
    if foreign_fragments and not fixed:
        return "Remove it there, or set adopt: true to have the entry moved into the files of this collection."
    if fixed and kubelet_adoption.is_foreign(fixed[-1][0].source.path):
        return (
            f"That file belongs to a package or to this boot only, so do not edit it: have a drop-in below /etc/systemd/system/{UNIT}.d"
            f" set it otherwise, run {_RELOAD}, and run again."
        )
    return f"Remove it there{f', run {_RELOAD}, and run again' if fixed else ''}."


def _as_json(value: t.Any) -> str:
    return "unset" if value is None else json.dumps(value)


# ---- output --------------------------------------------------------------------------------------------------------------


def diff_files(plan_: KubeletPlan) -> list[dict[str, str]]:
    """The difference as Ansible shows it, file by file."""
    return [
        {
            "before_header": change.path,
            "after_header": change.path,
            "before": change.visible_text(change.before),
            "after": change.visible_text(change.after),
        }
        for change in plan_.files
    ]


def _mask_value(line: str) -> str:
    """A line that sets variables: the kubelet's own arguments, or only the name. A comment may hold a variable as well."""
    if not re.match(r"\s*#", line):
        names = re.findall(r"(?:^|[\s\"'])([A-Za-z_]\w*)=", re.sub(r"^\s*Environment\s*=", "", line))
        if names and all(name.startswith("KUBE") for name in names):
            return line
    name, equals, _value = line.partition("=")
    return f"{name}=...\n" if equals else line if re.match(r"\s*(#|\[|$)", line) else "...\n"

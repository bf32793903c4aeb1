# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Adopting: entries of variables that others set move into our files, and come back when the settings are reverted."""

from __future__ import annotations

import base64
import dataclasses
import re
import typing as t

from ..common.errors import Refusal
from ..common.file_values import TextFile, text_digest
from ..common.ownership import Owned, Record
from ..documents.command_line import Argument
from ..documents.systemd_service import Variable, file_variables, lines_of, split_words, unit_variables
from ..kubernetes import flags
from . import config as kubelet_config
from .config import ARGS, CONFIG, GATES, TAINTS
from .layout import UNIT, Layout

_SettingKey = tuple[str, str]


@dataclasses.dataclass(frozen=True)
class AdoptedFile:
    """A file without the entries that were adopted from it: its text, the (name, text) of each entry, and the settings that they set."""

    text: str
    entries: tuple[tuple[str, str], ...]
    places: tuple[tuple[str, str], ...]


def extract_settings(
    named: t.Sequence[_SettingKey], layout: Layout, texts: t.Mapping[str, str | None], host: str
) -> dict[str, AdoptedFile]:
    """Take the named settings out of the files that set the unit's variables: what changes, by path.

    texts: those of environment files, and of the unit's own. host: the name of the host.
    """
    files: dict[str, AdoptedFile] = {}
    for flag in layout.settings.command_flags:
        argument = layout.service.arguments[flag.index]
        if argument.variable is None:
            continue
        mine = [place for place in named if is_movable(argument, flag, *place, named)]
        if mine:
            variable = layout.service.variables[argument.variable]
            path = variable.source.path
            before = files.get(path) or AdoptedFile(texts[path] or "", (), ())
            text = _remove_entry(before.text, variable, host, argument, flag, [key for dummy, key in mine])
            files[path] = AdoptedFile(text, (*before.entries, (f"--{flag.name}", flag.text)), (*before.places, *mine))
    return files


def is_movable(argument: Argument, flag: flags.Flag, field: str, key: str, named: t.Sequence[_SettingKey]) -> bool:
    """Whether a flag can be taken out of the file that it comes from, and sets one of the named settings only."""
    is_word = argument.variable is not None and not is_foreign(argument.source.path)
    return is_word and _sets_only(flag, field, key, named)


def is_foreign(path: str) -> bool:
    """Whether a file is neither the administrator's nor kubeadm's: an entry that is removed from it comes back by itself."""
    return path.startswith(("/usr/", "/lib/", "/run/"))


def _sets_only(flag: flags.Flag, field: str, key: str, named: t.Sequence[_SettingKey]) -> bool:
    """Whether a flag sets this setting and nothing else that would be lost with it."""
    if field == GATES:
        return flag.name == flags.FEATURE_GATES and key in flags.gate_values(flags.parse_gates([flag.text]))
    if field == CONFIG:
        path = kubelet_config.path_of(key)
        return kubelet_config.sets_field(flag.name, path) and not kubelet_config.sets_field(
            flag.name, path[:-1] or ("",)
        )
    if field == ARGS:
        return flag.name == key
    taints = [kubelet_config.taint_key(taint) for taint in kubelet_config.parse_taints(flag.text)]
    return flag.name == kubelet_config.REGISTER_WITH_TAINTS and all((TAINTS, taint) in named for taint in taints)


def _remove_entry(
    text: str, variable: Variable, host: str, argument: Argument, flag: flags.Flag, keys: t.Sequence[str]
) -> str:
    """A file without an entry of a variable; of feature gates, without the named ones. Verified by reading it again."""
    left = ""
    if flag.name == flags.FEATURE_GATES:
        gates = {gate: value for gate, value in flags.parse_gates([flag.text]).items() if gate not in keys}
        left = f"--{flags.FEATURE_GATES}={flags.render_gates(gates)}" if gates else ""
    before, source = _variable_words(text, variable, host), variable.source
    words = [argument.text, *([flag.text] if flag.split else [])]
    entry = r"\s+".join(map(re.escape, words))
    lines = lines_of(text)
    head, tail = "".join(lines[: source.line - 1]), "".join(lines[source.line - 1 :])
    pattern = rf"(?<![^\s\"'=])({entry})(?![^\s\"'])(?P<space>[ \t]*)"
    changed, count = re.subn(pattern, lambda found: left + (found["space"] if left else ""), tail, count=1)
    if not left:
        # A blank behind a backslash stays: without it the next line would be a part of this one.
        changed = re.sub(r"(?<!\\)[ \t]+(?=[\"']?\n?$)", "", changed, count=1) if changed.count("\n") <= 1 else changed
    position = next((n for n in range(len(before)) if before[n : n + len(words)] == words), 0)
    expected = [*before[:position], *([left] if left else []), *before[position + len(words) :]]
    if count != 1 or _variable_words(head + changed, variable, host) != expected:
        raise Refusal(
            f"adopt: {' '.join(words)} cannot be removed from {source} without changing more than that. Remove it manually, run"
            " systemctl daemon-reload and systemctl restart kubelet, and run again."
        )
    return head + changed


def _variable_words(text: str, variable: Variable, host: str) -> list[str]:
    """What a variable gives as words when the file that sets it has this text."""
    path = variable.source.path
    found = file_variables(path, text) if variable.from_file else unit_variables(TextFile.of(path, text), UNIT, host)
    return split_words(found[variable.name].value, variable.source) if variable.name in found else []


def update_adopted(
    known: t.Mapping[str, Owned],
    moved: t.Mapping[str, AdoptedFile],
    owned: Record,
    former: Record,
    texts: t.Mapping[str, str | None],
) -> tuple[dict[str, Owned], dict[str, str], list[str]]:
    """(what is adopted after the change, files that get their former text back, warnings).

    owned, former: what is ours after the change, and before it. texts: of the files of others.
    """
    adopted: dict[str, Owned] = {}
    restored: dict[str, str] = {}
    warnings: list[str] = []
    for path in {**known, **moved}:
        before = texts.get(path)
        original = known[path].original if path in known else _encode(before or "")
        places = [tuple(place) for place in known[path].set["places"]] if path in known else []
        places += [place for place in (moved[path].places if path in moved else ()) if place not in places]
        if any(key in owned.get(field, {}) for field, key in places):
            text = moved[path].text if path in moved else None
            digest = known[path].set["sha256"] if text is None else text_digest(text)
            adopted[path] = Owned({"sha256": digest, "places": [list(place) for place in places]}, original)
            dropped = [key for field, key in places if key in former.get(field, {}) and key not in owned.get(field, {})]
            if dropped:
                warnings.append(
                    f"the former entries of {path} for {', '.join(dropped)} are not restored there before all that was adopted from it is reverted."
                )
        elif before is not None and text_digest(before) == known[path].set["sha256"]:
            restored[path] = base64.b64decode(original).decode("utf-8")
        else:
            warnings.append(
                f"{path} was changed since entries were removed from it, so they are not restored: check its content."
            )
    return adopted, restored, warnings


def _encode(text: str) -> str:
    return base64.b64encode(text.encode("utf-8")).decode("ascii")

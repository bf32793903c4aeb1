# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Adopting: entries of KUBELET_EXTRA_ARGS move into our files, and come back when the settings are taken back."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
import typing as t

from ..common.errors import Refusal
from ..common.files import TextFile
from ..common.ownership import Owned, Record
from ..documents.systemd_unit import Argument, Service, Source, read_service
from ..kubernetes import flags
from . import config as kubelet_config
from .config import ARGS, CONFIG, GATES, TAINTS, Settings

# The administrator's variable, which stands last on the command line and so wins.
EXTRA = "KUBELET_EXTRA_ARGS"

_Place = tuple[str, str]


@dataclasses.dataclass(frozen=True)
class Move:
    """What is taken out of one environment file: its text then, the (name, text) of each entry, and whose settings they are."""

    text: str
    entries: tuple[tuple[str, str], ...]
    places: tuple[tuple[str, str], ...]


def take_out(
    named: t.Sequence[_Place], service: Service, settings: Settings, environment: t.Mapping[str, str | None]
) -> dict[str, Move]:
    """Take the named settings out of the administrator's environment file: what changes, by path."""
    variable = service.variables.get(EXTRA)
    if variable is None or not variable.from_file:
        return {}
    path = variable.source.path
    text = t.cast(str, environment[path])
    entries: list[tuple[str, str]] = []
    places: list[tuple[str, str]] = []
    for flag in settings.given:
        argument = service.arguments[flag.index]
        if argument.variable != EXTRA:
            continue
        mine = [place for place in named if _is_movable(flag, *place, named)]
        if mine:
            text = _without(text, variable.source, argument, flag, [key for dummy, key in mine])
            entries.append((f"--{flag.name}", flag.text))
            places.extend(mine)
    return {path: Move(text, tuple(entries), tuple(places))} if entries else {}


def _is_movable(flag: flags.Flag, field: str, key: str, named: t.Sequence[_Place]) -> bool:
    """Whether a flag says this setting and nothing else that would be lost with it."""
    if field == GATES:
        return flag.name == flags.FEATURE_GATES and key in flags.gate_values(flags.parse_gates([flag.text]))
    if field == CONFIG:
        path = kubelet_config.path_of(key)
        return kubelet_config.sets(flag.name, path) and not kubelet_config.sets(flag.name, path[:-1] or ("",))
    if field == ARGS:
        return flag.name == key
    taints = [kubelet_config.taint_key(taint) for taint in kubelet_config.parse_taints(flag.text)]
    return flag.name == kubelet_config.REGISTER_WITH_TAINTS and all((TAINTS, taint) in named for taint in taints)


def _without(text: str, source: Source, argument: Argument, flag: flags.Flag, keys: t.Sequence[str]) -> str:
    """An environment file without an entry; of feature gates, without the named ones. Proven by reading it again."""
    left = ""
    if flag.name == flags.FEATURE_GATES:
        gates = {gate: value for gate, value in flags.parse_gates([flag.text]).items() if gate not in keys}
        left = f"--{flags.FEATURE_GATES}={flags.render_gates(gates)}" if gates else ""
    before = _extra_arguments(text, source)
    entry = re.escape(argument.text) + (rf"\s+{re.escape(flag.text)}" if flag.split else "")
    lines = text.splitlines(keepends=True)
    head, tail = "".join(lines[: source.line - 1]), "".join(lines[source.line - 1 :])
    pattern = rf"(?<![^\s\"'=])({entry})(?![^\s\"'])(?P<space>[ \t]*)"
    changed, count = re.subn(pattern, lambda found: left + (found["space"] if left else ""), tail, count=1)
    if not left:
        changed = re.sub(r"[ \t]+(?=[\"']?\n?$)", "", changed, count=1) if changed.count("\n") <= 1 else changed
    after = _extra_arguments(head + changed, source)
    items = 2 if flag.split else 1
    position = next((n for n in range(len(before)) if before[n : n + items] == [argument.text, flag.text][:items]), 0)
    wanted = [*before[:position], *([left] if left else []), *before[position + items :]]
    if count != 1 or after != wanted:
        raise Refusal(
            f"adopt: {argument.text} cannot be taken out of {source} without touching more than that. Take it out by hand."
        )
    return head + changed


def _extra_arguments(text: str, source: Source) -> list[str]:
    unit = [TextFile.of("unit", f"[Service]\nEnvironmentFile={source.path}\nExecStart=/kubelet ${EXTRA}\n")]
    return read_service(unit, {source.path: text}).command[1:]


def account_for(
    known: t.Mapping[str, Owned],
    moved: t.Mapping[str, Move],
    owned: Record,
    former: Record,
    environment: t.Mapping[str, str | None],
) -> tuple[dict[str, Owned], dict[str, str], list[str]]:
    """(what is adopted after the change, files that get their former text back, warnings).

    owned, former: what is ours after the change, and before it.
    """
    adopted: dict[str, Owned] = {}
    returned: dict[str, str] = {}
    warnings: list[str] = []
    for path in {**known, **moved}:
        before = environment.get(path)
        original = known[path].original if path in known else _encode(before or "")
        places = [tuple(place) for place in known[path].set["places"]] if path in known else []
        places += [place for place in (moved[path].places if path in moved else ()) if place not in places]
        if any(key in owned.get(field, {}) for field, key in places):
            text = moved[path].text if path in moved else None
            digest = known[path].set["sha256"] if text is None else _digest(text)
            adopted[path] = Owned({"sha256": digest, "places": [list(place) for place in places]}, original)
            dropped = [key for field, key in places if key in former.get(field, {}) and key not in owned.get(field, {})]
            if dropped:
                warnings.append(
                    f"what {path} once said of {', '.join(dropped)} is not put back there before all that was adopted from it is taken back."
                )
        elif before is not None and _digest(before) == known[path].set["sha256"]:
            returned[path] = base64.b64decode(original).decode("utf-8")
        else:
            warnings.append(
                f"{path} was changed since entries were taken out of it, so they are not put back: compare {EXTRA}."
            )
    return adopted, returned, warnings


def _encode(text: str) -> str:
    return base64.b64encode(text.encode("utf-8")).decode("ascii")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()

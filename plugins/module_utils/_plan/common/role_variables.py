# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Variables that a role does not know or cannot use."""

from __future__ import annotations

import difflib
import typing as t

Specs = t.Mapping[str, t.Mapping[str, t.Any]]


def options(specs: Specs) -> dict[str, t.Any]:
    """The variables of a role with their specifications. specs: C(argument_specs) of its C(meta/argument_specs.yml), by entry point."""
    return {name: option for entry in specs.values() for name, option in entry["options"].items()}


def mappings(specs: Specs) -> list[str]:
    """The variables of a role that are mappings."""
    return [name for name, option in options(specs).items() if option["type"] == "dict"]


def objections(role: str, specs: Specs, names: t.Iterable[str], *, ignored: t.Collection[str] = ()) -> list[str]:
    """What is wrong with the names of variables, each with the name that was probably meant.

    names: of all variables of a host. ignored: names that belong to something else, as the user says.
    """
    prefix = f"{role}_"
    known = {name.removeprefix(prefix): name for name in [*options(specs), f"{role}_report"]}
    found = []
    for name in sorted(names):
        rest = name.removeprefix(prefix)
        if rest == name or rest in known or name in ignored:
            continue
        meant = difflib.get_close_matches(rest, known, n=1)
        hint = f" (did you mean {known[meant[0]]}?)" if meant else ""
        found.append(
            f"This role does not know {name}{hint}; correct it, or list it in {prefix}ignored_variables when it belongs to something else."
        )
    return found


def text_objection(name: str, value: t.Any) -> str:
    """What is wrong with a variable that must be a mapping, which on the command line is easily a text; empty when it is one."""
    if not isinstance(value, str):
        return ""
    return f"invalid {name}: must be a mapping, not text. Write it in YAML, or as JSON around the name too: -e '{{\"{name}\": {{}}}}'."

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Values that several modules take: checked, and in the one form in which they are compared."""

from __future__ import annotations

import re
import typing as t

from ..common.errors import Refusal
from . import flags

_GATE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_FLAG_NAME = re.compile(r"[a-z][a-zA-Z0-9._-]*")
_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def parse_gate(name: str, value: t.Any) -> bool | None:
    """A feature gate's value. Raises Refusal for what is neither a boolean nor null."""
    if not _GATE_NAME.fullmatch(name):
        raise Refusal(f"feature_gates: invalid name {name!r}: must be letters and digits.")
    if value is None or isinstance(value, bool):
        return value
    # Jinja2 hands over text, inventories in INI form always do.
    parsed = _BOOLEANS.get(str(value).lower())
    if parsed is None:
        raise Refusal(f"feature_gates: invalid value {value!r} of {name}: must be true, false, or null to remove it.")
    return parsed


def parse_argument(name: str, value: t.Any, own_options: t.Mapping[str, str]) -> list[str] | None:
    """A flag's values. own_options: flags that an option of their own sets. Raises Refusal for what no flag can take."""
    if not _FLAG_NAME.fullmatch(name):
        raise Refusal(f"args: invalid name {name!r}: must be a flag without leading dashes and without a value.")
    if flags.normalise(name) in own_options:
        raise Refusal(
            f"args: --{name} is merged entry by entry; use the option {own_options[flags.normalise(name)]} instead."
        )
    if value is None:
        return None
    items = value if isinstance(value, list) else [value]
    if not items:
        raise Refusal(f"args: invalid value [] of {name}: must be null to remove it, not an empty list.")
    return [_argument_text(name, item) for item in items]


def _argument_text(name: str, value: t.Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if not isinstance(value, str):
        raise Refusal(
            f"args: invalid value {value!r} of {name}: must be a string, a number, a boolean, a list of them, or null."
        )
    return require_text("args", name, value)


def require_text(option: str, name: str, value: str) -> str:
    """The text, when it is not empty. Raises Refusal otherwise."""
    # A template that yields None arrives as '' on ansible-core 2.18 and as None later: '' must not mean two things.
    if not value.strip():
        raise Refusal(f"{option}: invalid value '' of {name}: must be null to remove it, not an empty string.")
    if "\n" in value or "\0" in value:
        raise Refusal(f"{option}: {name} holds a line break or a NUL, which is not allowed there.")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise Refusal(f"{option}: {name} is not Unicode text.")
    return value


def refuse_duplicates(option: str, keys: t.Sequence[str]) -> None:
    """Refuse a list that names something twice."""
    for key in keys:
        if keys.count(key) > 1:
            raise Refusal(f"{option}: {key} is named twice.")

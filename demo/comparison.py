# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How two snapshots of the same thing differ, as text."""

from __future__ import annotations

import difflib
import json
import typing as t

DEPTH = 2  # how deep a part stands
MISSING = object()  # what one side does not have; null is something else


def difference(before: t.Any, after: t.Any, place: str = "") -> list[str]:
    """The unified diff of the JSON of both, one for each part that differs; empty when they are equal.

    A part is an entry of an entry, such as the processes of one node: its name stands in the header of its diff.
    """
    if before == after:
        return []
    if isinstance(before, dict) and isinstance(after, dict) and place.count("/") < DEPTH:
        lines = []
        for key in sorted({*before, *after}):
            lines += difference(before.get(key, MISSING), after.get(key, MISSING), f"{place}/{key}")
        return lines
    return list(difflib.unified_diff(_text(before), _text(after), f"before{place}", f"after{place}", lineterm=""))


def _text(value: t.Any) -> list[str]:
    return [] if value is MISSING else json.dumps(value, indent=1, sort_keys=True).splitlines()


def changed_lines(before: str, after: str) -> list[str]:
    """The lines of a text that differ, marked."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [f"{line[0]} {line[1:].strip()}" for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")]

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""What the role C(placement_guard) tells of what became of a guard."""

from __future__ import annotations

import typing as t

_TOLD: dict[str, t.Any] = {"enforced": False, "nodes": [], "added": [], "removed": [], "stale": [], "untainted": []}


def report(result: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """What became of it. result: of the module C(placement_guard); empty when it did not run."""
    return {
        "changed": bool(result.get("changed")),
        **{name: result.get(name) or value for name, value in _TOLD.items()},
    }


def lines(result: t.Mapping[str, t.Any]) -> list[str]:
    """The same for people."""
    return list(result.get("summary") or [result.get("msg") or "nothing was done"])

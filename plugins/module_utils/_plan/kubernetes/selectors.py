# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Selectors of labels, as the API writes them."""

from __future__ import annotations

import typing as t

Labels = t.Mapping[str, str]


def selects(selector: t.Mapping[str, t.Any] | None, labels: Labels) -> bool:
    """Whether a LabelSelector selects an object with these labels. One that is empty, or not there, selects all."""
    found = selector or {}
    wanted = found.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        meets(requirement, labels) for requirement in found.get("matchExpressions") or []
    )


def meets(requirement: t.Mapping[str, t.Any], labels: Labels) -> bool:
    """Whether labels meet one requirement of C(matchExpressions)."""
    value, values = labels.get(requirement["key"]), requirement.get("values") or []
    operator = requirement["operator"]
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    return _compares(operator, value, values)


def _compares(operator: str, value: str | None, values: t.Sequence[str]) -> bool:
    try:
        here, there = int(value or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return here > there if operator == "Gt" else here < there

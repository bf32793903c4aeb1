# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether what kubeadm generates from the old and from the new kubeadm-config differs in exactly what shall stand there."""

from __future__ import annotations

import typing as t

from ..common.ownership import Values
from .settings import Place

Manifests = t.Mapping[str, Values]


def objections(
    *,
    before: Manifests,
    after: Manifests,
    live: Manifests,
    settings: t.Mapping[str, t.Mapping[str, t.Mapping[str, t.Any]]],
    changes: t.Collection[Place],
) -> list[str]:
    """What is wrong, in words; nothing when the proof holds.

    before, after: the values of what kubeadm generates from either text, by static pod. live: those of the manifests that are there. settings: what
    shall stand in kubeadm-config, by static pod, field and key. changes: what differs between the texts.
    """
    differing = {
        Place(name, field, key)
        for name in {*before, *after}
        for field in {*before.get(name, {}), *after.get(name, {})}
        for key in {*_of(before, name, field), *_of(after, name, field)}
        if _of(before, name, field).get(key) != _of(after, name, field).get(key)
    }
    found = [f"{place} would change as well" for place in sorted(differing.difference(changes))]
    for name, fields in settings.items():
        for field, keys in fields.items():
            for key, wanted in keys.items():
                if name in after:
                    found += _unequal(
                        Place(name, field, key),
                        wanted,
                        _of(after, name, field).get(key),
                        _of(live, name, field).get(key),
                    )
    return found


def _of(manifests: Manifests, name: str, field: str) -> t.Mapping[str, t.Any]:
    return manifests.get(name, {}).get(field, {})


def _unequal(place: Place, wanted: t.Any, generated: t.Any, live: t.Any) -> list[str]:
    if live != wanted:
        return [f"{place} is not what it was when the run planned"]
    return [f"{place} would be generated as another value"] if generated != wanted else []

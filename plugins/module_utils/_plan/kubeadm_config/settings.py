# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""What of a static pod could stand in kubeadm-config, as each node tells it of its own, and what is known of that ConfigMap."""

from __future__ import annotations

import typing as t

from ..common.ownership import Record, Values
from ..static_pod import reconciliation

Json = dict[str, t.Any]

# What ClusterConfiguration can say of a static pod.
FIELDS = ("args", "volumes", "admission_plugins", "feature_gates", "env")
COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
_BESIDE = (reconciliation.FILES, "annotations")  # they come with something else


class Place(t.NamedTuple):
    """One setting of one static pod, in the words of the modules."""

    component: str
    field: str
    key: str

    def __str__(self) -> str:
        return f"{self.component} {self.field} {self.key}"


def settings(
    values: Values, record: Record, named: Values, persisted: t.Iterable[tuple[str, str]], env: t.Container[str]
) -> Json:
    """Of one static pod what a node has as it is meant to be, with the changes that are planned.

    values: of the manifest. record: what this collection owns of it. named: the values that the desired state names. persisted: field and key of
    what it put into kubeadm-config. env: the variables of the environment whose values may be told.

    Returns C(settings), field -> key -> value, original (None where it is not ours), ours, named; and C(others), what is ours and cannot stand in
    kubeadm-config, in words.
    """
    ours = {
        (field, key): entry
        for field, keys in record.items()
        for key, entry in keys.items()
        if field not in _BESIDE and values.get(field, {}).get(key) == entry.set
    }
    wanted = [
        (field, key)
        for field, keys in named.items()
        for key, value in keys.items()
        if value is not None and values.get(field, {}).get(key) == value
    ]
    found: dict[str, Json] = {}
    for field, key in dict.fromkeys([*ours, *wanted, *persisted]):
        entry, value = ours.get((field, key)), values.get(field, {}).get(key)
        if field not in FIELDS or (field == "env" and key not in env) or (entry is None and value is None):
            continue
        found.setdefault(field, {})[key] = {
            "value": value,
            "original": entry.original if entry else None,
            "ours": entry is not None,
            "named": key in named.get(field, {}),
        }
    others = [f"{field} {key}" for field, key in ours if field not in FIELDS or (field == "env" and key not in env)]
    return {"settings": found, "others": sorted(others)}


def places(told: t.Mapping[str, Json]) -> dict[Place, Json]:
    """What a node tells of its static pods, by name, as one table."""
    return {
        Place(component, field, key): entry
        for component, facts in told.items()
        for field, keys in facts["settings"].items()
        for key, entry in keys.items()
    }


def malformed(settings: t.Any) -> str:
    """What is wrong with the option C(settings) of the module C(kubeadm_config); empty when nothing is."""
    for component, fields in settings.items():
        if component not in COMPONENTS:
            return f"invalid settings {component}: must be of {', '.join(COMPONENTS)}"
        for field, keys in fields.items() if isinstance(fields, dict) else [(fields, {})]:
            if field not in FIELDS:
                return f"invalid settings {component} {field}: must be of {', '.join(FIELDS)}"
            for key, entry in keys.items() if isinstance(keys, dict) else [(keys, None)]:
                if not isinstance(entry, dict) or "value" not in entry:
                    return f"invalid settings {component} {field} {key}: must be a mapping with value"
    return ""

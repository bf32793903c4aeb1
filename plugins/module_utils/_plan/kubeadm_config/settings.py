# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What of a static pod could stand in kubeadm-config, as each node reports it; and whether what kubeadm generates differs in just that."""

from __future__ import annotations

import re
import typing as t

from ..common.ownership import Record, Values
from ..kubernetes import flags
from ..static_pod import reconciliation

Json = dict[str, t.Any]

# The fields that ClusterConfiguration has for a static pod.
FIELDS = ("args", "volumes", "admission_plugins", "feature_gates", "env")
COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
_ACCOMPANYING_FIELDS = (reconciliation.FILES, "annotations")  # they come with something else


class SettingKey(t.NamedTuple):
    """One setting of one static pod, in the words of the modules."""

    component: str
    field: str
    key: str

    def __str__(self) -> str:
        return f"{self.component} {self.field} {self.key}"


def collect_settings(
    values: Values,
    record: Record,
    named: Values,
    persisted: t.Collection[tuple[str, str]],
    env: t.Collection[str] | None,
) -> Json:
    """Of one static pod what a node has as it is meant to be, with the changes that are planned.

    values: of the manifest. record: what this collection owns of it. named: the values that the desired state names. persisted: field and key of
    what it put into kubeadm-config. env: the variables of the environment whose values may be reported; None: those in persisted.

    Returns C(settings), field -> key -> value, original (None where it is not ours), ours, named; and C(others), what is ours and cannot stand in
    kubeadm-config, in words.
    """
    visible = [key for field, key in persisted if field == "env"] if env is None else env
    ours = {
        (field, key): entry
        for field, keys in record.items()
        for key, entry in keys.items()
        if field not in _ACCOMPANYING_FIELDS and values.get(field, {}).get(key) == entry.set
    }
    desired = [
        (field, key)
        for field, keys in named.items()
        for key, value in keys.items()
        if value is not None and values.get(field, {}).get(key) == value
    ]
    found: dict[str, Json] = {}
    for field, key in dict.fromkeys([*ours, *desired, *persisted]):
        entry, value = ours.get((field, key)), values.get(field, {}).get(key)
        if field not in FIELDS or (field == "env" and key not in visible) or (entry is None and value is None):
            continue
        found.setdefault(field, {})[key] = {
            "value": value,
            "original": entry.original if entry else None,
            "ours": entry is not None,
            "named": key in named.get(field, {}),
        }
    others = [f"{field} {key}" for field, key in ours if field not in FIELDS or (field == "env" and key not in visible)]
    return {"settings": found, "others": sorted(others)}


def by_setting_key(reported: t.Mapping[str, Json]) -> dict[SettingKey, Json]:
    """The settings that a node reports of its static pods, by name, as one table."""
    return {
        SettingKey(component, field, key): entry
        for component, facts in reported.items()
        for field, keys in facts["settings"].items()
        for key, entry in keys.items()
    }


def settings_error(settings: t.Any) -> str:
    """What is wrong with the option C(settings) of the module C(kubeadm_config); empty when nothing is."""
    for component, fields in settings.items():
        if component not in COMPONENTS:
            return f"invalid settings {component}: must be of {', '.join(COMPONENTS)}"
        for field, keys in fields.items() if isinstance(fields, dict) else [(fields, {})]:
            if field not in FIELDS:
                return f"invalid settings {component} {field}: must be of {', '.join(FIELDS)}"
            for key, entry in keys.items() if isinstance(keys, dict) else [(keys, None)]:
                if objection := _entry_error(field, str(key), entry):
                    return f"invalid settings {component} {field} {key}: must {objection}"
    return ""


_FORMS = {
    "args": "a list of strings",
    "volumes": "a mapping with host_path, mount_path, path_type and read_only",
    "admission_plugins": "enabled or disabled",
    "feature_gates": "a boolean",
    "env": "a string",
}
_VOLUME = {"host_path": str, "mount_path": str, "path_type": str, "read_only": bool}
_FLAG_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")
_OWN_FIELDS = (flags.FEATURE_GATES, flags.ENABLE_PLUGINS, flags.DISABLE_PLUGINS)


def _entry_error(field: str, key: str, entry: t.Any) -> str:
    """What an entry must be and is not; empty when nothing is wrong."""
    if not isinstance(entry, dict) or "value" not in entry:
        return "be a mapping with value"
    if field == "args" and (not _FLAG_NAME.fullmatch(key) or key in _OWN_FIELDS):
        return "be the name of a flag with dashes between its words, and no list of gates or plugins"
    is_valid = entry["value"] is None or _has_form(field, entry["value"])
    return "" if is_valid else f"have {_FORMS[field]} as its value, or null"


def _has_form(field: str, value: t.Any) -> bool:
    if field == "args":
        return isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)
    if field == "volumes":
        is_volume = isinstance(value, dict) and set(value) == set(_VOLUME)
        return is_volume and all(isinstance(value[name], kind) for name, kind in _VOLUME.items())
    if field == "env":
        return isinstance(value, (str, dict))  # one that is computed is skipped by the plan
    return value in ("enabled", "disabled") if field == "admission_plugins" else isinstance(value, bool)


Manifests = t.Mapping[str, Values]


def proof_errors(
    *,
    before: Manifests,
    after: Manifests,
    live: Manifests,
    settings: t.Mapping[str, t.Mapping[str, t.Mapping[str, t.Any]]],
    changes: t.Collection[SettingKey],
) -> list[str]:
    """What is wrong, in words; nothing when the proof holds.

    before, after: the values of what kubeadm generates from either text, by static pod. live: those of the manifests that are there. settings: what
    shall stand in kubeadm-config, by static pod, field and key. changes: what differs between the texts.
    """
    differing = {
        SettingKey(name, field, key)
        for name in {*before, *after}
        for field in {*before.get(name, {}), *after.get(name, {})}
        for key in {*_field_values(before, name, field), *_field_values(after, name, field)}
        if _field_values(before, name, field).get(key) != _field_values(after, name, field).get(key)
    }
    found = [f"{place} would change as well" for place in sorted(differing.difference(changes))]
    for name, fields in settings.items():
        for field, keys in fields.items():
            for key, desired in keys.items():
                if name in after:
                    found += _value_errors(
                        SettingKey(name, field, key),
                        desired,
                        _field_values(after, name, field).get(key),
                        _field_values(live, name, field).get(key),
                    )
    return found


def _field_values(manifests: Manifests, name: str, field: str) -> t.Mapping[str, t.Any]:
    return manifests.get(name, {}).get(field, {})


def _value_errors(place: SettingKey, desired: t.Any, generated: t.Any, live: t.Any) -> list[str]:
    if live != desired:
        return [f"{place} is not what it was when the run planned"]
    return [f"{place} would be generated as another value"] if generated != desired else []

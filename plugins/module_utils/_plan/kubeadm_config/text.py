# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The text of ClusterConfiguration as values of static pods that can be read and changed: everything else in it stays as it is, byte by byte."""

from __future__ import annotations

import dataclasses
import typing as t

from ..common.errors import Refusal
from ..documents.yaml_edit import Document, Operation, Path
from ..kubernetes import flags
from .cluster_configuration import IN_CONFIG_MAP, LISTS, SECTIONS
from .settings import SettingKey

# kubeadm gives the API server this list, and a flag in extraArgs stands in its place.
_DEFAULT_PLUGINS = {("kube-apiserver", flags.ENABLE_PLUGINS): ("NodeRestriction",)}


@dataclasses.dataclass(frozen=True)
class Text:
    """Immutable: C(set) returns a new one."""

    document: Document

    @classmethod
    def parse(cls, text: str) -> Text:
        """Read it. Raises Refusal, with the line, for what cannot be edited safely."""
        return cls(Document.parse(text, IN_CONFIG_MAP))

    def value(self, place: SettingKey) -> t.Any:
        """The value of a setting, in the form of the modules; None for nothing."""
        component, field, key = place
        if field == "args":
            return self._flag(component, key)
        if field == "feature_gates":
            return flags.gate_values(flags.parse_gates(self._flag(component, flags.FEATURE_GATES) or ())).get(key)
        if field == "admission_plugins":
            return self._plugin(component, key)
        found = self._entries_named(component, field, key)
        if not found:
            return None
        entry = found[-1][1]  # the last one counts
        return _parse_volume(entry) if field == "volumes" else entry.get("valueFrom", str(entry.get("value") or ""))

    def set(self, place: SettingKey, value: t.Any) -> Text:
        """With another value of a setting; None takes it out. Raises Refusal for what cannot be changed in this text without touching more."""
        component, field, key = place
        if field == "args":
            return self._set_flag(component, key, value or [])
        if field == "feature_gates":
            return self._set_gate(component, key, value)
        if field == "admission_plugins":
            enabled = self._set_plugin(component, flags.ENABLE_PLUGINS, key, is_listed=value == "enabled")
            return enabled._set_plugin(component, flags.DISABLE_PLUGINS, key, is_listed=value == "disabled")
        return self._set_named(component, field, key, value)

    # ---- flags -------------------------------------------------------------------------------------------------------

    def _flag(self, component: str, name: str) -> list[str] | None:
        """All values of a flag, in order; None where it is not there."""
        return [
            str("" if (value := each.get("value")) is None else value)
            for dummy, each in self._entries_named(component, "args", name)
        ] or None

    def _set_flag(self, component: str, name: str, values: t.Sequence[str]) -> Text:
        """Give a flag exactly these values: replace, append behind, take out what is too much."""
        path, text = self._list(component, "args"), self
        for number, value in enumerate(values):
            places = [index for index, dummy in text._entries_named(component, "args", name)]
            if number < len(places):
                text = text._set_value((*path, places[number], "value"), value)
            else:
                text = text._insert(path, places[-1] + 1 if places else None, {"name": name, "value": value})
        for index, dummy in reversed(text._entries_named(component, "args", name)[len(values) :]):
            text = text._remove((*path, index))
        return text

    def _single_flag(self, component: str, name: str) -> str | None:
        """The value of a flag that is a list of several settings."""
        found = self._flag(component, name)
        if found and len(found) > 1:
            raise Refusal(f"extraArgs has {name} {len(found)} times; write one entry with all of its values.")
        return found[0] if found else None

    def _set_gate(self, component: str, key: str, value: bool | None) -> Text:
        gates = flags.parse_gates([self._single_flag(component, flags.FEATURE_GATES) or ""])
        spelling = flags.gate_key(gates, key)
        if value is None:
            gates.pop(spelling, None)
        else:
            gates[spelling] = "true" if value else "false"
        return self._set_flag(component, flags.FEATURE_GATES, [flags.render_gates(gates)] if gates else [])

    def _plugin(self, component: str, key: str) -> str | None:
        """Disabled, enabled, or None for neither. What kubeadm enables by itself counts as long as no flag stands in its place."""
        if key in flags.parse_plugins(self._flag(component, flags.DISABLE_PLUGINS) or ()):
            return "disabled"
        return "enabled" if key in self._plugins(component, flags.ENABLE_PLUGINS) else None

    def _plugins(self, component: str, name: str) -> list[str]:
        written = self._flag(component, name)
        return list(_DEFAULT_PLUGINS.get((component, name), ())) if written is None else flags.parse_plugins(written)

    def _set_plugin(self, component: str, name: str, key: str, *, is_listed: bool) -> Text:
        base, before = list(_DEFAULT_PLUGINS.get((component, name), ())), self._plugins(component, name)
        if is_listed == (key in before):
            return self
        self._single_flag(component, name)  # refuses a flag that stands there twice
        after = [*before, key] if is_listed else [plugin for plugin in before if plugin != key]
        return self._set_flag(component, name, [] if after == base else [",".join(after)])

    # ---- entries with names ------------------------------------------------------------------------------------------

    def _entries_named(self, component: str, field: str, name: str) -> list[tuple[int, dict[str, t.Any]]]:
        """The entries of a list that have a name, with their places."""
        path = self._list(component, field)
        entries = self._value_at(path) or []
        if not isinstance(entries, list):
            raise Refusal(
                f"{IN_CONFIG_MAP} line {self.document.line(path)}: {'.'.join(map(str, path))} is not a list. Write one entry with a name for"
                " each setting there; kubeadm config validate checks the text."
            )
        spelled = flags.normalise if field == "args" else str
        return [
            (index, each)
            for index, each in enumerate(entries)
            if isinstance(each, dict) and spelled(str(each.get("name"))) == name
        ]

    def _set_named(self, component: str, field: str, key: str, value: t.Any) -> Text:
        path, found = self._list(component, field), self._entries_named(component, field, key)
        if len(found) > 1:
            raise Refusal(f"{LISTS[field]} has {key} {len(found)} times; leave one of them.")
        desired = None if value is None else _render_entry(field, key, value)
        if not found:
            return self if desired is None else self._insert(path, None, desired)
        (index, entry) = found[0]
        if "valueFrom" in entry:
            raise Refusal(_computed_error(key))
        if desired is None:
            return self._remove((*path, index))
        text = self
        for name in (each for each in (*_KEYS[field], *desired) if each in entry or each in desired):
            text = text._set_value((*path, index, name), desired.get(name))
        return text

    # ---- the document ------------------------------------------------------------------------------------------------

    @staticmethod
    def _list(component: str, field: str) -> Path:
        return (*SECTIONS[component], LISTS.get(field, LISTS["args"]))

    def _value_at(self, path: Path) -> t.Any:
        data = self.document.data
        for step in path:
            data = data.get(step) if isinstance(data, dict) else _list_item(data, step)
        return data

    def _set_value(self, path: Path, value: t.Any) -> Text:
        """Give a key of a mapping a value, and make what is missing around it; None takes the key out."""
        parent = self._value_at(path[:-1])
        if parent is None:
            return self if value is None else self._set_value(path[:-1], {path[-1]: value})
        if not isinstance(parent, dict):
            raise Refusal(f"{IN_CONFIG_MAP}: {'.'.join(map(str, path[:-1]))} is not a mapping.")
        if value is None:
            return self._remove(path) if path[-1] in parent else self
        if not parent and len(path) > 1:
            return self._apply("fill", path[:-1], {path[-1]: value})
        if path[-1] not in parent:
            return self._apply("add", path, value)
        if parent[path[-1]] is None and isinstance(value, (dict, list)):
            return self._apply("fill", path, value)
        return self if parent[path[-1]] == value else self._apply("replace", path, value)

    def _insert(self, path: Path, index: int | None, item: t.Any) -> Text:
        entries = self._value_at(path)
        if entries is None:
            return self._set_value(path, [item])
        return self._apply("add", (*path, len(entries) if index is None else index), item)

    def _remove(self, path: Path) -> Text:
        """Take an entry out, and every list and mapping around it in which nothing else is. A section is an empty mapping then, as kubeadm has it."""
        if len(self._value_at(path[:-1])) > 1:
            return self._apply("remove", path)
        return self._apply("clear", path[:-1], " {}") if len(path) == 2 else self._remove(path[:-1])

    def _apply(self, operation: str, path: Path, value: t.Any = None) -> Text:
        return Text(self.document.apply(Operation(operation, path, value)))


def _list_item(data: t.Any, step: str | int) -> t.Any:
    return data[step] if isinstance(data, list) and isinstance(step, int) else None


_KEYS = {"volumes": ("hostPath", "mountPath", "readOnly", "pathType"), "env": ("value",)}


def _parse_volume(entry: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {
        "host_path": entry.get("hostPath"),
        "path_type": entry.get("pathType") or "",
        "mount_path": entry.get("mountPath"),
        "read_only": bool(entry.get("readOnly", False)),
    }


def _computed_error(key: str) -> str:
    return f"{key} is computed (valueFrom), which this collection does not change."


def _render_entry(field: str, key: str, value: t.Any) -> dict[str, t.Any]:
    """One entry of extraVolumes or extraEnvs."""
    if field == "env":
        if not isinstance(value, str):
            raise Refusal(_computed_error(key))
        return {"name": key, "value": value}
    return {
        "name": key,
        "hostPath": value["host_path"],
        "mountPath": value["mount_path"],
        **({"readOnly": True} if value["read_only"] else {}),
        **({"pathType": value["path_type"]} if value["path_type"] else {}),
    }

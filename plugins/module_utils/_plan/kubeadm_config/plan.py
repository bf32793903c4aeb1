# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The change of kubeadm-config: what shall stand there of ours, in; the whole new text and the new record, out."""

from __future__ import annotations

import dataclasses
import typing as t

from ..common.errors import Refusal
from ..common.file_values import text_digest
from ..common.ownership import Change
from .cluster_configuration import CONFIG_MAP_SOURCE, CURRENT_API_VERSION, IN_CONFIG_MAP, ClusterConfiguration
from .record import Entry, Persisted
from .settings import SettingKey
from .text import Text

_MIGRATE = (
    "kubectl -n kube-system get configmap kubeadm-config -o jsonpath='{.data.ClusterConfiguration}' > old.yaml; kubeadm config migrate"
    " --old-config old.yaml --new-config new.yaml"
)


@dataclasses.dataclass(frozen=True)
class DesiredSetting:
    """What shall stand in kubeadm-config. original: what the nodes had before us. named: whether the desired state names the setting."""

    value: t.Any
    original: t.Any = None
    named: bool = True


@dataclasses.dataclass(frozen=True)
class ConfigPlan:
    """operations: by static pod, field and key. skipped: what cannot be written, with the reason."""

    before: str
    after: str
    record: Persisted
    operations: tuple[Change, ...]
    skipped: t.Mapping[SettingKey, str]
    warnings: tuple[str, ...] = ()


def parse_configuration(text: str) -> ClusterConfiguration:
    """The text, when it is of the API version that has a field for each setting. Raises Refusal."""
    configuration = ClusterConfiguration.parse(text)
    if configuration.api_version != CURRENT_API_VERSION:
        raise Refusal(
            f"{CONFIG_MAP_SOURCE} has {configuration.api_version}, and only {CURRENT_API_VERSION} is written. Migrate it on a control plane ({_MIGRATE}), check"
            " new.yaml, and put its ClusterConfiguration into the ConfigMap."
        )
    if configuration.text != text:
        line = configuration.text.count("\n") + 1
        raise Refusal(
            f"{IN_CONFIG_MAP} line {line}: another document begins, of which kubeadm reads nothing and which its next upgrade drops. Remove it:"
            " kubectl -n kube-system edit configmap kubeadm-config."
        )
    return configuration


def plan(text: str, persisted: Persisted, desired_settings: t.Mapping[SettingKey, DesiredSetting]) -> ConfigPlan:
    """Plan the change. persisted: what is there of ours. Raises Refusal for a text that cannot be edited safely."""
    configuration = parse_configuration(text)
    base, warnings = _revert_ours(text, persisted)
    is_known = persisted.matches(text)
    # Where another has written since, nothing moves that is right where it stands.
    after = base if is_known else Text.parse(text)
    entries: dict[SettingKey, Entry] = {}
    skipped: dict[SettingKey, str] = {}
    for setting, desired in sorted(desired_settings.items()):
        configured = base.value(setting)
        reason = _unsupported_reason(setting, configuration) or _skip_reason(setting, desired, configured)
        if reason or desired.value == configured:
            skipped.update({setting: reason} if reason else {})
            continue
        try:
            after = after if after.value(setting) == desired.value else after.set(setting, desired.value)
        except Refusal as exc:
            skipped[setting] = str(exc)
            continue
        former = persisted.entries.get(setting)
        entry = Entry(desired.value, desired.original, configured)
        is_same = former is not None and (former.value, former.configured) == (entry.value, entry.configured)
        entries[setting] = dataclasses.replace(former, former=()) if former is not None and is_same else entry
    for setting in persisted.entries:
        if setting not in entries and after.value(setting) != base.value(setting):
            after = after.set(setting, base.value(setting))
    return _build_plan(text, persisted, base, after, entries, skipped, warnings)


def _revert_ours(text: str, persisted: Persisted) -> tuple[Text, tuple[str, ...]]:
    """The text without what is ours: as it was where no other has touched it since, else with each value of ours reverted."""
    if persisted.matches(text):
        return Text.parse(persisted.text), ()
    base, warnings = Text.parse(text), []
    for setting, entry in persisted.entries.items():
        now = base.value(setting)
        if now in (entry.value, *entry.former):
            base = base.set(setting, entry.configured)
        elif now != entry.configured:
            warnings.append(
                f"{setting}: it was changed in kubeadm-config since this collection wrote it, so that value counts as set by others."
            )
    return base, tuple(warnings)


def _unsupported_reason(setting: SettingKey, configuration: ClusterConfiguration) -> str:
    """Why kubeadm has no such static pod; empty when it has."""
    is_foreign = setting.component == "etcd" and configuration.has_external_etcd
    return (
        "kubeadm-config has etcd.external, and etcd.local beside it keeps every kubeadm from reading it"
        if is_foreign
        else ""
    )


def _skip_reason(setting: SettingKey, desired: DesiredSetting, configured: t.Any) -> str:
    """Why a setting is skipped; empty when it is not."""
    if desired.value is None and configured is None and setting.field in ("args", "volumes"):
        return "kubeadm sets it by itself, and kubeadm-config cannot express that it is unset"
    if configured is not None and desired.value != configured and not desired.named:
        return "kubeadm-config has another value, and the desired state does not name it"
    return ""


def _build_plan(
    text: str,
    persisted: Persisted,
    base: Text,
    after: Text,
    entries: dict[SettingKey, Entry],
    skipped: dict[SettingKey, str],
    warnings: tuple[str, ...],
) -> ConfigPlan:
    before = Text.parse(text)
    operations = [
        Change(each.component, f"{each.field} {each.key}", was, now)
        for each in sorted({*persisted.entries, *entries})
        for was, now in [(before.value(each), after.value(each))]
        if was != now
    ]
    # Where another has written in between, what is ours need not stand in the order in which it would be written again.
    new = after.document.text if operations else text
    is_same = new == text and entries == dict(persisted.entries)
    record = (
        persisted if is_same else Persisted(entries, base.document.text, text_digest(new)) if entries else Persisted()
    )
    if not is_same and not operations:
        places = sorted({*persisted.entries} ^ {*entries}) or sorted(entries)
        operations = [Change("record", str(each), each in persisted.entries, each in entries) for each in places]
    return ConfigPlan(text, new, record, tuple(operations), skipped, warnings)


def format_change(change: Change) -> str:
    """One operation in a line."""
    return f"{change.field} {change.key}: {_format_value(change.before)} -> {_format_value(change.after)}"


def _format_value(value: t.Any) -> str:
    if value is None:
        return "unset"
    if isinstance(value, list):
        return ",".join(map(str, value))
    if isinstance(value, dict):
        return str(value.get("host_path", "set"))
    return str(value).lower() if isinstance(value, bool) else str(value)

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What this collection put into kubeadm-config, and what stood there before. It has a ConfigMap of its own: kubeadm writes its own one again."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ..common.errors import Refusal
from ..common.file_values import text_digest
from .settings import COMPONENTS, FIELDS, SettingKey

NAME, KEY = "nodecraft-kubeadm-persisted", "record"
SOURCE = f"ConfigMap kube-system/{NAME}"
_FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Entry:
    """One setting of ours in kubeadm-config: its value, what the nodes had before us, and what kubeadm-config had (None: nothing).

    former: values of ours that may still stand there, because a write that was to replace them may not have been made.
    """

    value: t.Any
    original: t.Any
    configured: t.Any
    former: tuple[t.Any, ...] = ()


@dataclasses.dataclass(frozen=True)
class Persisted:
    """All of them. text: kubeadm-config without them, as it was. digest: of what we wrote, by which a text is known that no other has touched.

    former: the digest of what that was to replace, which stands there where the write was not made.
    """

    entries: t.Mapping[SettingKey, Entry] = dataclasses.field(default_factory=dict)
    text: str = ""
    digest: str = ""
    former: str = ""

    @classmethod
    def parse(cls, text: str | None) -> Persisted:
        """Read the ConfigMap's key; nothing of ours where there is none. Raises Refusal for what we did not write."""
        if not text:
            return cls()
        try:
            data = json.loads(text)
            if data["format"] != _FORMAT:
                raise ValueError
            entries = {
                SettingKey(each["component"], each["field"], each["key"]): Entry(
                    each["value"], each["original"], each["configured"], tuple(each.get("former", ()))
                )
                for each in data["entries"]
            }
            if any(setting.component not in COMPONENTS or setting.field not in FIELDS for setting in entries):
                raise ValueError
            return cls(entries, str(data["text"]), str(data["digest"]), str(data.get("former", "")))
        except (ValueError, LookupError, TypeError) as exc:
            raise Refusal(
                f"{SOURCE}, {KEY}: it is not as this collection wrote it, so the former content of kubeadm-config is not known. Restore it, or delete"
                f" it (kubectl -n kube-system delete configmap {NAME}): then what kubeadm-config has counts as set by others."
            ) from exc

    def dump(self) -> str:
        """The text of the ConfigMap's key."""
        entries = [
            {**setting._asdict(), **dataclasses.asdict(entry)} for setting, entry in sorted(self.entries.items())
        ]
        rest = {"text": self.text, "digest": self.digest, "former": self.former}
        return json.dumps({"format": _FORMAT, "entries": entries, **rest})

    def matches(self, text: str) -> bool:
        """Whether a text is as it was written, or as it was before that."""
        return text_digest(text) in (self.digest, self.former)

    def merge_former(self, former: Persisted, text: str) -> Persisted:
        """The record while it is not known which of both texts is there. former: the record before. text: what the write is to replace."""
        if not self.entries:
            return former
        ours = {setting: _merge_former(entry, former.entries.get(setting)) for setting, entry in self.entries.items()}
        digest = text_digest(text) if former.entries else ""  # a text without anything of ours needs none
        return dataclasses.replace(self, entries={**former.entries, **ours}, former=digest)

    def of(self, component: str) -> dict[tuple[str, str], Entry]:
        """What is ours of one static pod, by field and key."""
        return {
            (setting.field, setting.key): entry
            for setting, entry in self.entries.items()
            if setting.component == component
        }


def _merge_former(entry: Entry, former: Entry | None) -> Entry:
    values = [] if former is None else [value for value in (former.value, *former.former) if value != entry.value]
    return dataclasses.replace(entry, former=tuple(values))

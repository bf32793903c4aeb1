# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""What this collection put into kubeadm-config, and what stood there before. It has a ConfigMap of its own: kubeadm writes its own one again."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import typing as t

from ..common.errors import Refusal
from .settings import Place

NAME, KEY = "nodecraft-kubeadm-persisted", "record"
SOURCE = f"ConfigMap kube-system/{NAME}"
_FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Entry:
    """One setting of ours in kubeadm-config: its value, what the nodes had before us, and what kubeadm-config had (None: nothing)."""

    value: t.Any
    original: t.Any
    configured: t.Any


@dataclasses.dataclass(frozen=True)
class Persisted:
    """All of them. text: kubeadm-config without them, as it was. digest: of what we wrote, by which a text is known that no other has touched."""

    entries: t.Mapping[Place, Entry] = dataclasses.field(default_factory=dict)
    text: str = ""
    digest: str = ""

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
                Place(each["component"], each["field"], each["key"]): Entry(
                    each["value"], each["original"], each["configured"]
                )
                for each in data["entries"]
            }
            return cls(entries, str(data["text"]), str(data["digest"]))
        except (ValueError, LookupError, TypeError) as exc:
            raise Refusal(
                f"{SOURCE}, {KEY}: it is not as this collection wrote it, so what stood in kubeadm-config before is not known. Restore it, or delete"
                f" it (kubectl -n kube-system delete configmap {NAME}): then what kubeadm-config has counts as set by others."
            ) from exc

    def dump(self) -> str:
        """The text of the ConfigMap's key."""
        entries = [{**place._asdict(), **dataclasses.asdict(entry)} for place, entry in sorted(self.entries.items())]
        return json.dumps({"format": _FORMAT, "entries": entries, "text": self.text, "digest": self.digest})

    def of(self, component: str) -> dict[tuple[str, str], Entry]:
        """What is ours of one static pod, by field and key."""
        return {
            (place.field, place.key): entry for place, entry in self.entries.items() if place.component == component
        }


def digest_of(text: str) -> str:
    """By what a text is known again."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()

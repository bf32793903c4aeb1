# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a sampler saw, and what it means."""

from __future__ import annotations

import dataclasses
import json
import typing as t
from pathlib import Path

Json = dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Span:
    """A time in which something was so. until: None while it still is."""

    since: float
    until: float | None
    value: t.Any


@dataclasses.dataclass(frozen=True)
class Samples:
    """Everything that changed while a sampler watched; times in seconds of the monotonic clock."""

    lines: tuple[Json, ...]

    @classmethod
    def read(cls, path: Path) -> Samples:
        """From what a sampler printed."""
        return cls(
            tuple(
                json.loads(line)
                for line in path.read_text(encoding="utf-8").splitlines(keepends=True)
                if line.endswith("\n")
            )
        )

    def spans(self, kind: str) -> list[Span]:
        """The values of one kind, in order."""
        found = [line for line in self.lines if line["kind"] == kind]
        ends = [line["at"] for line in found[1:]] + [None]
        return [Span(line["at"], end, line["value"]) for line, end in zip(found, ends, strict=True)]

    @property
    def ended(self) -> float:
        """When the sampler stopped."""
        return float(self.lines[-1]["at"])

    @property
    def effort(self) -> Json:
        """How often the manifest was read, and the longest pause between two reads, in seconds."""
        return t.cast(Json, self.spans("end")[0].value)

    @property
    def manifests(self) -> list[Span]:
        """Every version of the manifest; a value of None means that there was no file."""
        return self.spans("manifest")

    def versions(self) -> list[str | None]:
        """The checksums of the manifest's versions, each once, in the order of their first appearance."""
        return list(dict.fromkeys(span.value["sha256"] if span.value else None for span in self.manifests))

    def written(self) -> float | None:
        """When the manifest changed first; None when it never did."""
        return self.manifests[1].since if len(self.manifests) > 1 else None

    def last_written(self) -> float:
        """When the manifest or its company changed last; at the beginning when they never did."""
        return max(self.spans(kind)[-1].since for kind in ("manifest", "names"))

    def restored_at(self) -> float | None:
        """When the manifest got its first version back for good; None when it did not, or never lost it."""
        spans = self.manifests
        return spans[-1].since if len(spans) > 1 and spans[-1].value == spans[0].value else None

    def appearances(self) -> list[Json | None]:
        """Mode, owner and link of the manifest, each combination once."""
        keys = ("mode", "owner", "link")
        found: list[Json | None] = []
        for span in self.manifests:
            value = {key: span.value[key] for key in keys} if span.value else None
            if value not in found:
                found.append(value)
        return found

    def names(self) -> list[str]:
        """Every name without a leading dot that stood in the directory at any time."""
        return sorted({name for span in self.spans("names") for name in span.value})

    def outages(self, path: str = "readyz") -> list[float]:
        """How long the API server was not ready, each time; the last one may be open."""
        return [round(until - since, 2) for since, until in self._unready(path)]

    def absences(self) -> list[tuple[float, float]]:
        """From when the API server took no connections until it was ready again, each time.

        One that is slow on a busy machine, or unready for a moment while etcd elects, is not away; whether clients could bear that
        shows a prober. One that stops again before it was ready has been away all along.
        """
        ready_times = [span.since for span in self.spans("readyz") if span.value]
        found: list[tuple[float, float]] = []
        for span in self.spans("listens"):
            if not span.value and not (found and span.since < found[-1][1]):
                back = span.until if span.until is not None else self.ended
                found.append((span.since, min((at for at in ready_times if at >= back), default=self.ended)))
        return found

    def unready(self, longer_than: float) -> list[tuple[float, float]]:
        """From when to when the API server was not ready for more than so many seconds, each time. While etcd elects, each is for a moment."""
        return [(since, until) for since, until in self._unready("readyz") if until - since > longer_than]

    def _unready(self, path: str) -> list[tuple[float, float]]:
        return [(span.since, span.until or self.ended) for span in self.spans(path) if not span.value]

    def ready_since(self, path: str = "readyz") -> float | None:
        """Since when the API server is ready; None when it is not at the end."""
        last = self.spans(path)[-1]
        return last.since if last.value else None

    def restore_seconds(self) -> float | None:
        """From the write of the new manifest until the API server was ready with the former one; None without a restore."""
        written, restored_at, ready_at = self.written(), self.restored_at(), self.ready_since()
        if written is None or restored_at is None or ready_at is None:
            return None
        return round(max(restored_at, ready_at) - written, 2)


def most_at_once(absences: t.Iterable[tuple[float, float]]) -> int:
    """How many API servers were away at the same time, at the most. absences: of all of them."""
    events = [(at, change) for since, until in absences for at, change in ((since, 1), (until, -1))]
    now = most = 0
    # At the same instant one that is ready again counts first.
    for dummy, change in sorted(events):
        now += change
        most = max(most, now)
    return most

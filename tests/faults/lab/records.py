# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of one fault that was tried."""

from __future__ import annotations

import dataclasses
import json
import typing as t
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.tests.faults.lab.samples import Samples

Json = dict[str, t.Any]


@dataclasses.dataclass
class Record:
    """One fault, by one way of making the change.

    fault_evidence: what proves that the fault happened. outcome: how the change ended, in a word. runs_then: whether the node runs
    the old or the new state, or none. false_restore: whether a good change was rolled back.
    requests: through the load balancer; repeated on a new connection; lost. list_seconds: from the end of a fault of a
    device plugin until the kubelet had the right list. Times in seconds.
    """

    fault: str
    title: str
    way: str
    fault_evidence: str = ""
    outcome: str = ""
    runs_then: str = ""
    reported: bool | None = None
    outages: list[float] = dataclasses.field(default_factory=list)
    restore_seconds: float | None = None
    false_restore: bool | None = None
    list_seconds: float | None = None
    requests: int = 0
    repeated: int = 0
    lost: int = 0
    note: str = ""
    effort: Json | None = None

    def observe(self, samples: Samples) -> None:
        """Take the times from what a sampler saw from beginning to end."""
        self.outages = samples.outages()
        self.restore_seconds = samples.restore_seconds()
        self.effort = samples.effort

    def write(self, path: Path, *, passed: bool) -> None:
        """Write it as JSON."""
        content = {**dataclasses.asdict(self), "passed": passed}
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


Recorder = t.Callable[..., Record]

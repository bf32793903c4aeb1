# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The invariants that every test of a change checks, by what was seen from outside."""

from __future__ import annotations

import hashlib
import typing as t

from ansible_collections.nodecraft.kubeadm.tests.faults.lab.cluster import Json, Node, Process, until
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.records import Record
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.samples import Samples


def check_untouched(record: Record, node: Node, samples: Samples, result: Json, running: t.Sequence[Process]) -> None:
    """A change that was refused: nothing was written and nothing restarted."""
    record.outcome, record.runs_then = "refused", "old"
    record.reported = bool(result["failed"])
    record.observe(samples)
    assert result["failed"]
    assert result["transaction"] is None
    assert samples.written() is None
    assert node.processes() == list(running)
    _check_directory(samples)


def check_restored(record: Record, node: Node, samples: Samples, ended: Json) -> None:
    """A change that was rolled back: by the node's own word, and by the file, the process and the API server."""
    record.outcome, record.runs_then = ended["outcome"], "old"
    record.observe(samples)
    assert ended["outcome"] == "rolled_back"
    assert ended["healthy"]
    assert ended["reason"]
    assert len(samples.versions()) == 2, "there was no change, or a third version"
    assert samples.restored_at() is not None
    _check_alone_and_well(node, samples)
    refused = node.history()[-1]
    assert refused["id"] == ended.get("id", refused["id"])
    assert any(entry["switch"] and entry["after"]["content"] for entry in refused["files"])


def check_committed(record: Record, node: Node, samples: Samples, ended: Json) -> None:
    """A change that holds, by the same signs."""
    record.outcome, record.runs_then = ended["outcome"], "new" if ended["outcome"] == "committed" else "old"
    record.false_restore = ended["outcome"] == "rolled_back"
    record.observe(samples)
    assert ended["outcome"] == "committed"
    assert len(samples.versions()) == 2
    assert len(samples.manifests) == 2, "it was written more than once"
    _check_alone_and_well(node, samples)


def _check_alone_and_well(node: Node, samples: Samples) -> None:
    running = node.processes()
    assert len(running) == 1, "a second one runs, or none"
    until(node.is_ready, f"a ready API server on {node.name}", 15)
    assert hashlib.sha256(node.manifest().read_bytes()).hexdigest() == samples.manifests[-1].value["sha256"]
    _check_directory(samples)


def _check_directory(samples: Samples) -> None:
    """At every instant there was a manifest, whole, with its mode and owner, and no other file that is a pod's."""
    assert None not in samples.versions()
    assert len(samples.appearances()) == 1
    assert len(samples.spans("names")) == 1

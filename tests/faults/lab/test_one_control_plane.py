# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of a change of the only API server of a cluster."""

from __future__ import annotations

import os
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.faults.lab import wishes
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.cluster import Cluster, Json, Process, until
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.judge import (
    check_committed,
    check_restored,
    check_untouched,
)
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.records import Recorder

pytestmark = pytest.mark.skipif("FAULTS_ONE" not in os.environ, reason="FAULTS_ONE names no lab of one control plane")

Wish = t.Mapping[str, t.Any]

REFUSED = (
    ("F01", "unknown flag", wishes.UNKNOWN_FLAG, "unknown flag"),
    ("F02", "unknown feature gate", wishes.UNKNOWN_GATE, "unrecognized feature gate"),
    ("F03", "known flag, bad value", wishes.BAD_VALUE, "invalid argument"),
    ("F04", "file that does not exist", wishes.MISSING_FILE, "does not exist"),
    ("F04", "file that is not mounted", wishes.UNMOUNTED_FILE, "no volume"),
    ("F05", "malformed file", wishes.MALFORMED_FILE, "loading audit policy file"),
)


def names(faults: t.Iterable[tuple[t.Any, ...]]) -> list[str]:
    return [f"{fault[0]}-{fault[1].replace(' ', '-')}" for fault in faults]


@pytest.mark.parametrize(("fault", "title", "wish", "words"), REFUSED, ids=names(REFUSED))
def test_is_refused_before_anything_is_written(
    one: Cluster, record: Recorder, fault: str, title: str, wish: Json, words: str
) -> None:
    entry = record(fault, title)
    running = one.first.processes()
    with one.sampled(one.first) as sampling, one.change(wish) as change:
        result = change.result()
    check_untouched(entry, one.first, sampling.samples, result, running)
    assert words in result["msg"]
    entry.reached = result["msg"]


FORCED = (REFUSED[0], REFUSED[1], REFUSED[2], REFUSED[5])


@pytest.mark.parametrize(("fault", "title", "wish", "words"), FORCED, ids=names(FORCED))
def test_without_rehearsal_it_is_restored(
    one: Cluster, record: Recorder, fault: str, title: str, wish: Json, words: str
) -> None:
    entry = record(fault, f"{title}, not rehearsed")
    with one.sampled(one.first) as sampling, one.change(wish, rehearse=False) as change:
        result = change.result()
    check_restored(entry, one.first, sampling.samples, result["transaction"])
    assert words in "\n".join(result["transaction"]["log"])
    entry.reached = result["msg"]
    assert not one.first.path(wishes.FOLDER).exists()


def test_what_never_gets_ready_is_restored_at_the_deadline(one: Cluster, record: Recorder) -> None:
    entry = record("F07", "starts, never ready")
    with one.sampled(one.first) as sampling, one.change(wishes.NEVER_READY, wait_timeout=30) as change:
        result = change.result()
    assert result["rehearsal"]["verdict"] == "accepted"
    check_restored(entry, one.first, sampling.samples, result["transaction"])
    assert "not healthy within 30 s: it runs, not ready yet" in result["msg"]
    entry.reached = result["msg"]


def new_processes(one: Cluster, former: t.Sequence[Process]) -> list[Process]:
    return [process for process in one.first.processes() if process not in former]

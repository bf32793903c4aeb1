# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the fault tests on labs make of what they saw."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.faults.lab import tables
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.records import Record
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.samples import Samples, most_at_once
from ansible_collections.nodecraft.kubeadm.tests.faults.reliability import PAGE, table_in, with_table

Json = dict[str, t.Any]


def manifest(at: float, content: str | None, mode: str = "0600") -> Json:
    value = None if content is None else {"sha256": content, "size": 9, "mode": mode, "owner": [0, 0], "link": None}
    return {"at": at, "kind": "manifest", "value": value}


def ready(at: float, value: bool) -> Json:
    return {"at": at, "kind": "readyz", "value": value}


def listens(at: float, value: bool) -> Json:
    return {"at": at, "kind": "listens", "value": value}


def end(at: float) -> Json:
    return {"at": at, "kind": "end", "value": {"reads": 9, "longest_pause": 0.01}}


ROLLED_BACK = Samples(
    (
        manifest(1, "old"),
        ready(1, True),
        manifest(10, "new"),
        ready(10.5, False),
        manifest(40, "old"),
        ready(55, True),
        end(60),
    )
)


def test_a_restore_is_timed_from_the_write_until_the_api_server_is_well() -> None:
    assert ROLLED_BACK.versions() == ["old", "new"]
    assert ROLLED_BACK.written() == 10
    assert ROLLED_BACK.restored_at() == 40
    assert ROLLED_BACK.outages() == [44.5]
    assert ROLLED_BACK.restore_seconds() == 45


def test_what_is_not_well_at_the_end_is_no_restore_and_its_outage_lasts_until_then() -> None:
    samples = Samples((manifest(1, "old"), ready(1, True), manifest(10, "new"), ready(11, False), end(31)))
    assert samples.restored_at() is None
    assert samples.restore_seconds() is None
    assert samples.outages() == [20]
    assert samples.ready_since() is None


def test_a_manifest_that_was_away_or_had_another_mode_is_reported() -> None:
    samples = Samples((manifest(1, "old"), manifest(2, None), manifest(3, "old", mode="0644"), end(4)))
    assert samples.versions() == ["old", None]
    assert len(samples.appearances()) == 3
    assert samples.restored_at() is None, "with another mode it is not what it was"


def test_a_line_that_is_not_whole_yet_is_left_for_later(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps(ready(1, True)) + '\n{"at": 2, "ki', encoding="utf-8")
    assert Samples.read(path).lines == (ready(1, True),)


def restarted(down: float, listening: float, well: float) -> Samples:
    """An API server that is restarted, and takes connections before it is well."""
    return Samples(
        (ready(1, True), listens(1, True), listens(down, False), ready(down, False))
        + (listens(listening, True), ready(well, True), end(40))
    )


@pytest.mark.parametrize(
    ("second", "most"), [((21, 25, 30), 1), ((19, 25, 30), 2), ((20, 25, 30), 1), ((16, 17, 18), 2)]
)
def test_api_servers_that_are_away_at_the_same_time_are_counted(second: tuple[float, float, float], most: int) -> None:
    assert most_at_once([*restarted(10, 15, 20).absences(), *restarted(*second).absences()]) == most


def test_one_that_is_only_slow_is_not_away() -> None:
    slow = Samples((ready(1, True), listens(1, True), ready(12, False), ready(24, True), end(40)))
    assert slow.absences() == []
    assert slow.unready(longer_than=11) == [(12, 24)]
    assert slow.unready(longer_than=12) == []


def test_one_that_never_comes_back_is_away_to_the_end() -> None:
    gone = Samples((ready(1, True), listens(1, True), listens(10, False), ready(10, False), end(40)))
    assert gone.absences() == [(10, 40)]


def test_one_that_stops_again_before_it_was_well_is_away_once() -> None:
    lines = (ready(1, True), listens(1, True), listens(10, False), ready(10, False), listens(15, True))
    restored = Samples((*lines, listens(20, False), listens(25, True), ready(30, True), end(40)))
    assert restored.absences() == [(10, 30)]
    assert most_at_once(restored.absences()) == 1


def record(fault: str, way: str = "collection", **values: t.Any) -> Json:
    return {**vars(Record(fault, f"what {fault} is", way)), "passed": True, **values}


ENTRIES = [
    record("good", outcome="committed", runs_then="new", outages=[18.0], false_restore=False),
    record("F01", outcome="rolled_back", runs_then="old", outages=[0.0, 70.0], restore_seconds=73.0),
    record("F09", outcome="committed", runs_then="new", outages=[200.0], false_restore=False),
    record("F16", outcome="alarm", outages=[30.0], passed=False),
    record(
        "F46", outcome="rolled_back", runs_then="old", outages=[30.0], requests=900, repeated=2, restore_seconds=40.0
    ),
    record("D03", outcome="recovered", list_seconds=0.4),
    record("D04", passed=False),
    record("F01", "lineinfile", outcome="run failed", runs_then="down", outages=[150.0]),
]


def test_the_figures_count_what_was_tried_and_what_failed() -> None:
    summary = tables.text(ENTRIES).partition("###")[0]
    assert "| faults tried | 4 |" in summary
    assert "| survived | 3 |" in summary
    assert "| median outage where the component was restarted | 30 s |" in summary
    assert "| median time from a bad write until the former state was healthy | 56 s |" in summary
    assert "| good changes rolled back by mistake, of 2 | 0 |" in summary


def test_failures_of_the_collection_are_in_the_table() -> None:
    assert "| F16 | what F16 is | alarm | - | 30 s | - | **failed** |" in tables.faults(ENTRIES)


def test_faults_of_a_device_plugin_have_a_table_of_their_own() -> None:
    text = tables.text(ENTRIES)
    assert "| D03 | what D03 is | recovered | 0.4 s | passed |" in text
    assert "| D04 | what D04 is | - | - | **failed** |" in text
    assert "| faults tried | 4 |" in text


def test_ways_are_compared_by_the_faults_that_were_tried_manually() -> None:
    compared = tables.compared(ENTRIES).splitlines()[2:]
    assert compared == [
        "| F01 | what F01 is | this collection | rolled_back | old | 70 s |",
        "| F01 | what F01 is | `lineinfile`, `backup: true` | run failed | down | more than 150 s |",
    ]


def test_the_page_has_a_place_for_the_tables() -> None:
    page = with_table(PAGE.read_text(encoding="utf-8"), "lab", tables.text(ENTRIES))
    assert "| F16 | what F16 is | alarm |" in table_in(page, "lab")

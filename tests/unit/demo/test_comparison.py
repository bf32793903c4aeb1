# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the demo compares two snapshots: any difference breaks a claim, and is in the record."""

from __future__ import annotations

import copy
import json
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.demo import part_steady
from ansible_collections.nodecraft.kubeadm.demo.comparison import changed_lines, difference
from ansible_collections.nodecraft.kubeadm.demo.story import Story
from ansible_collections.nodecraft.kubeadm.lab.runs import Lab, Observer, Run

Json = dict[str, t.Any]

SNAPSHOT: dict[str, Json] = {
    "demo-cp1": {
        "manifests": {"etcd.yaml": {"mode": "0600", "lines": ["kind: Pod\n", "metadata: {}\n"]}},
        "kubelets": [{"pid": 90, "arguments": ["/usr/bin/kubelet"]}],
    },
    "demo-w1": {"in_pods": [{"pod": "a", "container": "b", "pid": 7, "started": 11, "command": "/pause"}]},
}


def changed(*path: str | int, value: t.Any) -> dict[str, Json]:
    """The snapshot with one other value."""
    snapshot = copy.deepcopy(SNAPSHOT)
    place: t.Any = snapshot
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return snapshot


INJECTED = {
    "a line of a manifest": changed("demo-cp1", "manifests", "etcd.yaml", "lines", 1, value="metadata: {a: b}\n"),
    "a mode": changed("demo-cp1", "manifests", "etcd.yaml", "mode", value="0644"),
    "another file": changed("demo-cp1", "manifests", "x.yaml", value={"mode": "0600", "lines": []}),
    "a process with the same number": changed("demo-w1", "in_pods", 0, "started", value=12),
    "a container that is gone": changed("demo-w1", "in_pods", value=[]),
    "a node without a side": {"demo-cp1": SNAPSHOT["demo-cp1"], "demo-w1": {}},
    "a node that is gone": {"demo-cp1": SNAPSHOT["demo-cp1"]},
    "null instead of nothing": changed("demo-w1", "extra", value=None),
}


class LabThatChanges(Lab):
    """Its nodes are read twice."""

    snapshots: t.ClassVar[list[dict[str, Json]]] = []

    def take_snapshot(self) -> dict[str, Json]:
        return self.snapshots.pop(0)

    def node_objects(self) -> dict[str, Json]:
        return {"demo-w1": {"labels": {}}}


class StoryWithoutRuns(Story):
    """A run of site.yml changes nothing, it says."""

    def run(
        self, record: str, *arguments: str, observer: Observer, variables: t.Mapping[str, t.Any] | None = None
    ) -> Run:
        return Run(0, 1.0, {"plays": [], "stats": {"demo-cp1": {"changed": 0}}})


def story(directory: Path, *snapshots: dict[str, Json]) -> Story:
    lab = LabThatChanges("demo", "1.32", 1, 1)
    LabThatChanges.snapshots = list(snapshots)
    return StoryWithoutRuns(lab, directory, 3)


@pytest.mark.parametrize("after", INJECTED.values(), ids=INJECTED)
def test_one_difference_breaks_the_claim_and_is_on_record(
    after: dict[str, Json], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = story(tmp_path, SNAPSHOT, after)
    part_steady.again(run)
    run.write_record()
    written = (tmp_path / "4-again-difference.txt").read_text(encoding="utf-8").splitlines()
    assert run.broken_claims == ["changed=0, no component, kubelet or container restarted (1 s)"]
    assert json.loads((tmp_path / "demo.json").read_text(encoding="utf-8"))["differences"] == {"4-again": written}
    assert written[0].startswith("--- before/demo-")
    assert "NOT AS CLAIMED: changed=0" in (printed := capsys.readouterr().out)
    assert f"     {written[0]}\n" in printed


def test_no_difference_is_no_file(tmp_path: Path) -> None:
    run = story(tmp_path, SNAPSHOT, copy.deepcopy(SNAPSHOT))
    part_steady.again(run)
    assert (run.broken_claims, list(tmp_path.iterdir())) == ([], [])


def test_a_difference_of_an_earlier_demo_is_no_difference_of_this_one(tmp_path: Path) -> None:
    (tmp_path / "4-again-difference.txt").write_text("old", encoding="utf-8")
    story(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_difference_names_its_node_and_side() -> None:
    assert difference(SNAPSHOT, INJECTED["a process with the same number"]) == [
        "--- before/demo-w1/in_pods",
        "+++ after/demo-w1/in_pods",
        "@@ -4,6 +4,6 @@",
        '   "container": "b",',
        '   "pid": 7,',
        '   "pod": "a",',
        '-  "started": 11',
        '+  "started": 12',
        "  }",
        " ]",
    ]


def test_the_lines_of_a_text_that_differ_are_marked() -> None:
    assert changed_lines("a\n  b\nc\n", "a\n  d\nc\n") == ["- b", "+ d"]

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each release left on a node is read by this one: its open transaction ends, its history is listed, what it owned is reverted.

``RECORD_STATE=1 pytest tests/unit/plugins/module_utils/_node/test_records_of_releases.py`` records the state of the version in galaxy.yml.
That of a version with a tag never changes.
"""

from __future__ import annotations

import json
import os
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    COMMITTED,
    history_ids,
    save_journal,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import owned_record
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import ownership
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.guard import policies
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.record import Entry, Persisted
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.settings import SettingKey
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.node import labels, plan
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import lease
from ansible_collections.nodecraft.kubeadm.tests.unit.support import guards, stored_state
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import OLD, FakeNode, pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun
from ansible_collections.nodecraft.kubeadm.tests.unit.support.static_pod_runs import carry_out, steps

Json = dict[str, t.Any]
COMMITTED_TEXT, OPEN_TEXT = pod("--v=4"), pod("--v=5")
MARK = lease.Halt(node="cp1", reason="unhealthy", intent="a" * 64, by="run-1", at="2027-01-15T08:00:00.000000Z")
PLACE = SettingKey("kube-apiserver", "args", "v")
PERSISTED = Persisted({PLACE: Entry("4", None, None)}, "a: 1\n", "b" * 64)
OWNED: ownership.Record = {labels.LABELS.field: {"example.com/rack": ownership.Owned("r7", None)}}
GUARDED, GUARD = "n1", "ValidatingAdmissionPolicy"


def version() -> str:
    """The version that this code is, or will be."""
    galaxy = Path(__file__).parents[6] / "galaxy.yml"
    return str(yaml.safe_load(galaxy.read_text("utf-8"))["version"])


# That of this version may not be recorded yet.
RECORDED = sorted({*stored_state.DIRECTORY.glob("*.json"), stored_state.DIRECTORY / f"{version()}.json"})


def left_behind(node: FakeNode, run: FakeRun) -> Json:
    """The state after a change that was committed, and with one that is open; and what is in the cluster."""
    node.allowed |= {COMMITTED_TEXT.encode(), OPEN_TEXT.encode()}
    carry_out(node, run, args={"v": 4})
    following = steps(node, run, args={"v": 5})
    with following.session():
        following.read()
        following.plan()
        following.apply()
    journal = node.opened()
    for entry in journal["files"]:  # this may not run as root
        if entry["after"]:
            entry["after"].update(uid=os.getuid(), gid=os.getgid())
    save_journal(str(node.state), journal)
    request = lease.LeaseRequest("run-1", 60, intents=(MARK.intent,))
    lease_body = lease.acquire(None, request, 1.8e9).body
    cluster = {
        "lease": lease.halt(lease_body, request, 1.8e9, MARK).body,
        "persisted": json.loads(PERSISTED.dump()),
        "guard": guards.by_kind(list(guards.stored_objects(guards.desired(), GUARDED).values()))[GUARD],
        "labels": ownership.dump_record(OWNED)[labels.LABELS.field],
    }
    return {"node": stored_state.record_state(node), "cluster": cluster}


def unnamed(node_files: Json) -> list[stored_state.Shape]:
    """The shapes of the files of a node; ids are in their names."""
    return [
        stored_state.shape_of(content) for _name, content in sorted(node_files.items(), key=lambda item: len(item[0]))
    ]


def test_the_state_of_this_version_is_recorded(master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    stored_state.hide_recorder(monkeypatch)
    path, now = stored_state.DIRECTORY / f"{version()}.json", left_behind(master, run)
    if "RECORD_STATE" in os.environ:
        path.write_text(json.dumps(now, sort_keys=True) + "\n", "utf-8")
    recorded = json.loads(path.read_text("utf-8"))
    assert unnamed(recorded["node"]) == unnamed(now["node"])
    assert stored_state.shape_of(recorded["cluster"]) == stored_state.shape_of(now["cluster"])
    master.run()  # the node of the tests is left whole


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_an_open_transaction_of_a_release_ends_and_what_it_owned_is_reverted(
    master: FakeNode, run: FakeRun, path: Path
) -> None:
    recorded = json.loads(path.read_text("utf-8"))["node"]
    master.allowed |= {COMMITTED_TEXT.encode(), OPEN_TEXT.encode()}
    master.write_manifest(COMMITTED_TEXT)
    master.stabilize()
    stored_state.restore_state(master, recorded)
    (closed,) = history_ids(str(master.state))
    ended = master.run()
    assert (ended["outcome"], ended["reason"]) == (COMMITTED, None)
    assert master.manifest.read_text("utf-8") == OPEN_TEXT
    assert history_ids(str(master.state)) == [closed, recorded["journal.json"]["id"]]
    carry_out(master, run, purge=True)
    assert master.manifest.read_text("utf-8") == OLD
    assert not Path(owned_record.record_path("kube-apiserver")).exists()


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_what_a_release_left_in_the_cluster_is_read(path: Path) -> None:
    recorded = json.loads(path.read_text("utf-8"))["cluster"]
    found = lease.parse(recorded["lease"])
    assert (found.holder, found.last_holder, found.halt) == ("", "run-1", MARK)
    assert Persisted.parse(json.dumps(recorded["persisted"])) == PERSISTED
    assert policies.nodes_of(recorded["guard"]) == [GUARDED]
    node = {"metadata": {"name": "n1", "annotations": {labels.LABELS.annotation: json.dumps(recorded["labels"])}}}
    assert plan.read_record(labels.LABELS, node) == OWNED[labels.LABELS.field]

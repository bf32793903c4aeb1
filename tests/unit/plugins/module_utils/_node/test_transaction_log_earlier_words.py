# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node whose state was written by an earlier version of the collection: its words are read as those of today.

The former words stand here once more, so that an entry that is missing in a table fails a test.
"""

from __future__ import annotations

import hashlib
import json
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import to_json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    ABORTED,
    COMMITTED,
    ROLLED_BACK,
    ROLLING_BACK,
    VERIFYING,
    Progress,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.transaction import Engine
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node import transaction_log
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod_report import read_all
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import lease, rollback
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import (
    FOREIGN,
    NAME,
    NODE,
    OLD,
    Behaviour,
    FakeNode,
    pod,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun
from ansible_collections.nodecraft.kubeadm.tests.unit.support.static_pod_runs import (
    carry_out,
    change_while,
    report,
    steps,
)

Json = dict[str, t.Any]

PHASES = {ROLLING_BACK: "restoring", VERIFYING: "proving"}
OUTCOMES = {ROLLED_BACK: "restored", ABORTED: "abandoned"}
FOUR, EIGHT = pod("--v=4"), pod("--v=8")
# The record as every version wrote it: its keys have not changed.
OWNED = {
    "format": 1,
    "image": "registry.k8s.io/kube-apiserver:v1.37.2",
    "owned": {"args": {"v": {"set": ["8"], "original": ["1"]}}},
}
MARK = '{"at": "2026-01-01T00:00:00Z", "by": "them", "node": "cp1", "reason": "it failed.", "wish": "w1"}'
HALTED: Json = {
    "metadata": {
        "name": "nodecraft-kubeadm-control-plane",
        "annotations": {"nodecraft.kubeadm/halted": MARK, "nodecraft.kubeadm/last-holder": "them"},
    },
    "spec": {"holderIdentity": "", "leaseDurationSeconds": 100, "renewTime": "2026-01-01T00:00:00.000000Z"},
}
SAME = lease.LeaseRequest("us", 100, intents=("w1",))
NOW = 1_800_000_000.0


class Killed(BaseException):
    """The engine's process ends here."""


class DyingEngine(Engine):
    """An engine that is killed as soon as its journal is in a phase."""

    dies_in = ""

    def _save(self, changes: Progress | None = None) -> None:
        super()._save(changes)
        if self.journal["phase"] == self.dies_in:
            raise Killed


def as_earlier(state: Path) -> None:
    """Give the state of a component the words of an earlier version, each journal with the checksum that this version wrote."""
    for path in [*state.glob("*.json"), *state.glob("history/*.json"), *state.glob("backup/*.json")]:
        content = json.loads(path.read_text(encoding="utf-8"))
        if "phase" not in content:  # the record, whose bytes count, and hints without any of these words
            continue
        content["phase"] = PHASES.get(content["phase"], content["phase"])
        if content.pop("sha256", None):
            content["takes_back"] = content.pop("reverts", None)
            result = content["result"]
            if result:
                result["outcome"] = OUTCOMES.get(result["outcome"], result["outcome"])
            content["sha256"] = hashlib.sha256(to_json(content)).hexdigest()
        path.write_text(json.dumps(content), encoding="utf-8")


def make_history(node: FakeNode, run: FakeRun) -> Path:
    """Changes that were committed, reverted, committed, rolled back and aborted, the first one on top of another. Returns the record."""
    node.allowed = {OLD.encode(), FOREIGN.encode(), *(pod(f"--v={number}").encode() for number in range(4, 9))}
    node.kubelet.behaviours["--v=6"] = Behaviour(alive=0.5, back_off=0.5)
    carry_out(node, run, args={"v": 4})
    carry_out(node, run, args={"v": 5})
    carry_out(node, run, state="previous")
    carry_out(node, run, args={"v": 8})
    carry_out(node, run, args={"v": 6})
    change_while(steps(node, run, args={"v": 7}), lambda: None)
    node.write_manifest(FOREIGN)
    assert node.run()["outcome"] == ABORTED
    node.write_manifest(EIGHT)
    node.stabilize()
    node.watcher.events()
    return node.state / "owned.json"


def observed(node: FakeNode, run: FakeRun) -> Json:
    """What static_pod_info shows."""
    ((found),) = read_all(None, None, run=run, warn=pytest.fail, host=node.host)["static_pods"]
    return t.cast(Json, found)


def test_a_node_with_a_closed_history_shows_the_words_of_today_and_its_last_change_is_reverted(
    master: FakeNode, run: FakeRun
) -> None:
    record = make_history(master, run)
    as_earlier(master.state)
    assert json.loads(record.read_text(encoding="utf-8")) == OWNED

    outcomes = [report(run, id=identifier)["transaction"] for identifier in transaction_log.history(NAME)]
    assert [each["outcome"] for each in outcomes] == [COMMITTED] * 4 + [ROLLED_BACK, ABORTED]
    assert [each["reverts"] for each in outcomes] == [None, None, outcomes[1]["id"], None, None, None]
    found = observed(master, run)
    assert (found["last_transaction"]["outcome"], found["last_known_good"]) == (ABORTED, outcomes[3]["id"])
    assert (found["unreadable_journals"], found["undo"]["transaction"]) == ([], outcomes[3]["id"])

    # What rollback.yml checks, and then what the role has the module do.
    undos = {NODE: rollback.undos_of({"static_pods": [found]}, {})}
    assert rollback.objection(rollback.RollbackRequest([NAME], [NODE]), undos, [NODE], {}) == ""
    assert carry_out(master, run, state="previous")["reverts"] == outcomes[3]["id"]
    assert (master.result()["outcome"], master.manifest.read_text(encoding="utf-8")) == (COMMITTED, FOUR)
    assert json.loads(record.read_text(encoding="utf-8"))["owned"]["args"]["v"]["set"] == ["4"]
    assert observed(master, run)["undo"] is None


@pytest.mark.parametrize("phase", [ROLLING_BACK, VERIFYING])
def test_an_open_transaction_is_recovered(master: FakeNode, run: FakeRun, phase: str) -> None:
    master.kubelet.behaviours["--v=2"] = Behaviour(ready=None)
    master.prepare(wait_timeout=6)

    dying = t.cast("DyingEngine", master.new_engine(DyingEngine))
    dying.dies_in = phase
    with pytest.raises(Killed):
        dying.run()
    news = {"id": master.opened()["id"], "phase": phase, "message": "at work"}
    (master.state / "progress.json").write_text(json.dumps(news), encoding="utf-8")
    as_earlier(master.state)
    assert (master.opened()["phase"], report(run)["phase"]) == (phase, phase)
    assert observed(master, run)["open_transaction"]["phase"] == phase
    assert master.run()["outcome"] == ROLLED_BACK
    assert master.manifest.read_text(encoding="utf-8") == OLD


def test_a_halted_lease_refuses_the_same_desired_state_and_can_be_resumed() -> None:
    with pytest.raises(Refusal, match=r"the same desired state failed on cp1 .* \(run of them\): it failed"):
        lease.hold(HALTED, SAME, NOW)
    assert lease.hold(HALTED, lease.LeaseRequest("us", 100, intents=("w2",)), NOW).body
    held = lease.hold(HALTED, lease.LeaseRequest("us", 100, intents=("w1",), resume=True), NOW).body
    assert held
    released = lease.release(held, SAME, NOW + 1, completed=True).body
    assert released
    assert released["metadata"]["annotations"] == {"nodecraft.kubeadm/last-holder": "us"}

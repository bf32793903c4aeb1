# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taking changes back on a node: which journal is used, what the engine gets, and how it ends."""

from __future__ import annotations

import json
import os
import shutil
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import files
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    COMMITTED,
    ROLLED_BACK,
    UNHEALTHY,
    WAITING,
    copies_of,
    load_journal,
    save_journal,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod.static_pod_report import read_all
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod.static_pod_steps import StaticPodSteps
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import (
    journal_history,
    owned_record,
    state,
    undo,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import (
    FOREIGN,
    NAME,
    OLD,
    Behaviour,
    FakeNode,
    pod,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun
from ansible_collections.nodecraft.kubeadm.tests.unit.support.static_pod_runs import PodCourse
from ansible_collections.nodecraft.kubeadm.tests.unit.support.steps_run import StepRunner

Json = files.Json
FOUR, FIVE = pod("--v=4"), pod("--v=5")


class Pod:
    """The API server of a node, changed and taken back as a task does it."""

    def __init__(self, node: FakeNode, run: FakeRun) -> None:
        self.node = node
        self.programs = run
        self.count = 0
        node.allowed |= {FOUR.encode(), FIVE.encode()}

    def steps(self, *, dry: bool = False, **given: t.Any) -> PodCourse:
        parameters = samples.parameters(**{"wait_timeout": 20, "min_ready_seconds": 3, **given})
        steps = StaticPodSteps(parameters, diff=True, run=self.programs, host=self.node.host, ready_timeout=0)
        return StepRunner(steps, dry=dry)

    def plan(self, *, dry: bool = False, **given: t.Any) -> t.Any:
        steps = self.steps(dry=dry, **given)
        with steps.session():
            steps.read()
            steps.notes()
            return steps.plan()

    def run(self, **given: t.Any) -> Json:
        """A whole run of the module and of its engine: the module's report and the transaction's result."""
        steps = self.steps(**given)
        with steps.session():
            steps.read()
            steps.notes()
            if steps.plan().operations:
                assert not given.get("rehearse", True) or steps.rehearse().verdict == "accepted"
                steps.apply()
            else:
                steps.verify()
        report = steps.report()
        return {**report, "result": self._finish() if report["transaction"] else None}

    def back(self, **given: t.Any) -> Json:
        """The last change, taken back."""
        return self.run(state="previous", **given)

    def _finish(self) -> Json:
        """The engine's part. Ids hold seconds, and this node's clock is not the wall's."""
        journal, dummy = load_journal(str(self.node.state))
        assert journal is not None
        self.count += 1
        journal["id"] = f"20260101T0000{self.count:02}.000000Z-abcdef"
        for entry in journal["files"]:  # this may not run as root
            if entry["after"]:
                entry["after"].update({"uid": os.getuid(), "gid": os.getgid()})
        save_journal(str(self.node.state), journal)
        return self.node.run()

    @property
    def text(self) -> str:
        return self.node.manifest.read_text(encoding="utf-8")

    @property
    def owned(self) -> Json | None:
        """The arguments in our record."""
        record = state.read_state_file(owned_record.record_path(NAME))
        return record["owned"].get("args") if record else None

    def describe(self) -> Json | None:
        """The rollback as the info module returns it."""
        ((found),) = read_all(None, None, run=self.programs, warn=pytest.fail, host=self.node.host)["static_pods"]
        return t.cast("Json | None", found["undo"])

    def history(self, number: int) -> Path:
        """The journal of the so manieth transaction."""
        return self.node.state / "history" / f"20260101T0000{number:02}.000000Z-abcdef.json"


@pytest.fixture(name="api")
def fixture_api(master: FakeNode, run: FakeRun) -> Pod:
    return Pod(master, run)


# ---- a change and its rollback ---------------------------------------------------------------------------------------


def test_the_last_change_is_reverted_with_what_is_ours(api: Pod) -> None:
    api.run(args={"v": 4})
    first = api.owned
    api.run(args={"v": 5})
    api.node.manifest.chmod(0o400)  # an administrator hardens the node, which is no edit
    report = api.back()
    assert report["result"]["outcome"] == COMMITTED
    assert (api.text, api.owned) == (FOUR, first)
    assert api.node.manifest.stat().st_mode & 0o7777 == 0o600
    assert report["reverts"] == api.node.closed()["reverts"] == "20260101T000002.000000Z-abcdef"
    assert [operation["before"] for operation in report["operations"]] == [["5"]]
    assert report["diff"][0]["after"] == FOUR
    assert (journal_history.last_outcome(NAME) or {})["reverts"] == report["reverts"]


def test_requested_again_nothing_changes(api: Pod) -> None:
    api.run(args={"v": 4})
    api.run(args={"v": 5})
    api.back()
    starts = dict(api.node.kubelet.starts)
    for dummy in range(2):
        report = api.back()
        assert (report["transaction"], report["reverts"], report["operations"]) == (None, None, [])
    assert api.describe() is None
    assert (api.text, api.node.kubelet.starts) == (FOUR, starts)


def test_a_change_behind_it_can_be_reverted_in_turn(api: Pod) -> None:
    api.run(args={"v": 4})
    api.back()
    api.run(args={"v": 5})
    assert api.back()["reverts"] == "20260101T000003.000000Z-abcdef"
    assert (api.text, api.owned) == (OLD, None)
    assert not Path(owned_record.record_path(NAME)).exists()


def test_the_refused_attempts_in_between_are_passed_over(api: Pod) -> None:
    api.run(args={"v": 4})
    api.node.kubelet.behaviours["--v=5"] = Behaviour(alive=0.5, back_off=0.5)
    assert api.run(args={"v": 5})["result"]["outcome"] == ROLLED_BACK
    assert api.back()["reverts"] == "20260101T000001.000000Z-abcdef"
    assert api.text == OLD


def test_one_that_fails_leaves_the_change_and_may_be_requested_again(api: Pod) -> None:
    api.run(args={"v": 4})
    api.node.kubelet.behaviours["--v=1"] = Behaviour(alive=0.5, back_off=0.5)
    assert api.back()["result"]["outcome"] == ROLLED_BACK
    assert api.text == FOUR
    api.node.kubelet.behaviours.clear()
    assert api.back()["result"]["outcome"] == COMMITTED
    assert api.text == OLD


def test_policy_files_and_their_directory_go_too(api: Pod) -> None:
    directory = api.node.policy.parent
    policy = str(api.node.policy)
    os.makedirs(directory.parent)
    desired: Json = {
        "files": [samples.file(policy, "secret", mode="0640")],
        "volumes": [samples.volume("p", str(directory.parent))],
    }
    api.node.allowed = {OLD.encode(), api.plan(**desired).after.text.encode()}
    api.run(**desired)
    assert directory.is_dir()
    described = api.describe()
    assert "secret" not in json.dumps(described)
    assert {"path": policy, "change": "removed", "diff": None} in (described or {})["files"]
    report = api.back()
    assert "secret" not in json.dumps(report["diff"])
    assert (api.text, directory.exists()) == (OLD, False)


def test_check_mode_plans_it_and_writes_nothing(api: Pod) -> None:
    api.run(args={"v": 4})
    before = sorted(path for path in api.node.state.rglob("*"))
    assert api.plan(state="previous", dry=True).operations
    assert sorted(path for path in api.node.state.rglob("*")) == before
    assert api.text == FOUR


def test_settings_whose_changes_are_gone_are_not_called_nothing(api: Pod) -> None:
    api.run(args={"v": 4})
    for directory in ("history", "backup"):
        shutil.rmtree(api.node.state / directory)
    (warning,) = api.plan(state="previous").warnings
    assert "this collection set args v, and " in warning


def test_without_any_change_there_is_nothing_and_that_is_reported(api: Pod) -> None:
    assert "has no change in effect" in api.plan(state="previous").warnings[0]
    api.run(args={"v": 4})
    api.back()
    assert api.plan(state="previous").warnings == ()


# ---- what is refused ---------------------------------------------------------------------------------------------------


def test_settings_beside_it_are_refused(api: Pod) -> None:
    with pytest.raises(Refusal, match="args, purge is given too"):
        api.plan(state="previous", args={"v": 4}, purge=True)


def test_an_edit_since_is_refused_and_reported(api: Pod) -> None:
    api.run(args={"v": 4})
    api.node.foreign_edit(FOREIGN)
    with pytest.raises(Refusal, match=r"kube-apiserver\.yaml on cp1 is not what that left") as refusal:
        api.back()
    assert str(api.history(1)) in str(refusal.value)
    assert api.text == FOREIGN
    described = api.describe() or {}
    assert (described["transaction"], described["blocked_by"]) == ("20260101T000001.000000Z-abcdef", str(refusal.value))


def test_what_was_reverted_manually_needs_nothing(api: Pod) -> None:
    api.run(args={"v": 4})
    api.node.write_manifest(OLD)
    api.node.stabilize()
    assert api.back()["transaction"] is None
    assert api.describe() is None


def damage(path: Path) -> None:
    """Flip what a journal holds of the former manifest, and leave it a readable journal, twice."""
    directory = str(path.parent.parent)
    journal, dummy = load_journal(directory, path.stem)
    assert journal is not None
    entry: t.Any = next(entry for entry in journal["files"] if entry["switch"])
    entry["before"]["content"] = "AAAA"
    save_journal(directory, journal, path.stem)


def cut(path: Path) -> None:
    """Cut both copies of a journal short."""
    for copy in copies_of(str(path.parent.parent), path.stem):
        Path(copy).write_text("{", encoding="utf-8")


@pytest.mark.parametrize("how", [damage, cut])
def test_nothing_older_is_reverted_in_place_of_a_damaged_one(api: Pod, how: t.Callable[[Path], t.Any]) -> None:
    api.run(args={"v": 4})
    api.run(args={"v": 5})
    how(api.history(2))
    with pytest.raises(KubeadmError, match=str(api.history(2))):
        api.back()
    assert api.text == FIVE


def test_a_damaged_copy_is_reported(api: Pod) -> None:
    api.run(args={"v": 4})
    damage(api.history(1))
    assert "does not match its checksum" in (api.describe() or {})["blocked_by"]


def test_a_file_beside_the_manifest_is_reported(api: Pod) -> None:
    api.run(args={"v": 4})
    stray = api.node.manifests / "kube-apiserver.yaml.bak"
    stray.write_text(OLD, encoding="utf-8")
    blocked_by = (api.describe() or {})["blocked_by"]
    stray.unlink()
    api.node.watcher.events()
    assert f"{stray} on " in blocked_by


def test_a_damaged_older_journal_does_not_matter(api: Pod) -> None:
    api.run(args={"v": 4})
    api.run(args={"v": 5})
    damage(api.history(1))
    assert api.back()["result"]["outcome"] == COMMITTED
    assert api.text == FOUR


def test_an_open_transaction_stands_in_the_way(api: Pod) -> None:
    api.run(args={"v": 4})
    save_journal(str(api.node.state), api.node.journal(phase=WAITING))
    assert "is open" in (api.describe() or {})["blocked_by"]
    # Check mode reports that and plans nothing from an unfinished change.
    assert api.plan(state="previous", dry=True).operations == ()


def test_the_journal_of_a_change_in_place_is_used(api: Pod) -> None:
    api.node.kubelet.behaviours["--v=4"] = Behaviour(alive=0.5, back_off=0.5)
    assert api.run(args={"v": 4}, rollback=False)["result"]["outcome"] == UNHEALTHY
    assert undo.find_rollback(NAME, "cp1") is not None
    assert api.back(rehearse=False)["result"]["outcome"] == COMMITTED
    assert api.text == OLD

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An engine that dies goes on where it stopped: after every step, after a reboot, and never with damaged bytes."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import transaction
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.engine_errors import (
    Damaged,
    LockBusy,
    OtherFormat,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import locked
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    ABORTED,
    ALARM,
    APPLYING,
    COMMITTED,
    CONFIRMED,
    CONFIRMING,
    PREPARED,
    ROLLED_BACK,
    ROLLING_BACK,
    VERIFYING,
    WAITING,
    Progress,
    save_journal,
    version_of,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.open_journal import OpenJournal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.transaction import LOCK_SECONDS, MAX_ATTEMPTS
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import FOREIGN, NEW, OLD, Behaviour, FakeNode

QUICK = Behaviour(stop=1, start=1, ready=0.5)


class Killed(BaseException):
    """The engine's process ends here."""


class DeadlyJournal(OpenJournal):
    """A journal around whose saving the engine is killed."""

    saves = 0
    dies_at = 0
    before_saving = False

    def save(self, changes: Progress | None = None) -> None:
        """Save, and be killed before or after it."""
        self.saves += 1
        if self.saves == self.dies_at and self.before_saving:
            raise Killed
        super().save(changes)
        if self.saves == self.dies_at:
            raise Killed


def start_over(node: FakeNode, tmp: str, ready: float | None, *, confirm: bool) -> None:
    """The node as it was at first, with a journal, and the confirmation that it may need."""
    node.write_manifest(OLD)
    node.kubelet.behaviours = {"--v=1": QUICK, "--v=2": Behaviour(stop=1, start=1, ready=ready)}
    node.stabilize()
    node.prepare(
        files=[node.entry(node.policy, "policy")],
        directories=[str(node.policy.parent.parent), str(node.policy.parent)],
        wait_timeout=6,
        min_ready_seconds=1,
        id=tmp,
        confirm_timeout=60 if confirm else None,
    )
    (node.state / CONFIRMED).write_text(tmp, encoding="ascii")
    node.watcher.events()


@pytest.mark.parametrize("before_saving", [True, False], ids=["before a save", "after a save"])
@pytest.mark.parametrize(
    ("ready", "confirm", "outcome"),
    [(0.5, False, COMMITTED), (0.5, True, COMMITTED), (None, False, ROLLED_BACK)],
)
def test_an_engine_killed_at_any_step_is_finished_by_the_next(
    node: FakeNode,
    monkeypatch: pytest.MonkeyPatch,
    ready: float | None,
    confirm: bool,
    outcome: str,
    before_saving: bool,
) -> None:
    monkeypatch.setattr(DeadlyJournal, "before_saving", before_saving)
    phases = set()
    for dies_at in range(1, 40):
        start_over(node, f"2026{dies_at:04}", ready, confirm=confirm)
        monkeypatch.setattr(DeadlyJournal, "dies_at", dies_at)
        monkeypatch.setattr(transaction, "OpenJournal", DeadlyJournal)
        try:
            node.new_engine().run()
        except Killed:
            phases.add(node.opened()["phase"])
        else:
            break
        monkeypatch.setattr(transaction, "OpenJournal", OpenJournal)
        assert node.run()["outcome"] == outcome
        assert node.manifest.read_text(encoding="utf-8") == (NEW if ready else OLD)
        assert node.policy.exists() == bool(ready)
        node.assert_only_whole_files_appeared()
        if ready:
            node.policy.unlink()
            node.policy.parent.rmdir()
            node.policy.parent.parent.rmdir()
    else:
        pytest.fail("the engine never got to its end")
    expected = {PREPARED, APPLYING, WAITING} | (set() if ready else {ROLLING_BACK, VERIFYING})
    expected |= {CONFIRMING} if confirm else set()
    assert expected <= phases, "every phase was met"


def test_an_engine_killed_before_it_filed_its_journal_away_files_it(node: FakeNode) -> None:
    node.prepare()
    node.run()
    closed = node.closed()
    save_journal(str(node.state), closed)
    assert node.run() == closed["result"]


def test_a_deadline_holds_over_a_restart_of_the_engine(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None)
    node.prepare(wait_timeout=20)
    began = node.clock.now

    def die() -> None:
        raise Killed

    node.at(15, die)
    with pytest.raises(Killed):
        node.new_engine().run()
    assert node.run()["outcome"] == ROLLED_BACK
    assert node.clock.now - began == pytest.approx(20 + 6 + 3, abs=1.5)


def reboot(node: FakeNode) -> None:
    """The monotonic clock begins again; the kubelet brings up whatever the manifest says."""
    journal = node.opened()
    save_journal(str(node.state), journal | {"boot": "another boot"})
    for instance in list(node.kubelet.instances):
        node.kubelet.kill(instance)
    node.clock.now = 5.0
    node.kubelet.due = None


def die_when_waiting(node: FakeNode) -> None:
    def die() -> None:
        raise Killed

    node.once(WAITING, die)
    with pytest.raises(Killed):
        node.new_engine().run()


@pytest.mark.parametrize(("ready", "outcome"), [(1.0, COMMITTED), (None, ROLLED_BACK)])
def test_a_reboot_in_the_middle_is_survived(node: FakeNode, ready: float | None, outcome: str) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=ready)
    node.prepare()
    die_when_waiting(node)
    reboot(node)
    result = node.run()
    assert result["outcome"] == outcome
    assert result["outage_seconds"] is None
    assert result["seconds"] is None or 0 <= result["seconds"] < 100


def test_outage_of_a_change_that_a_second_engine_ends_is_not_known(node: FakeNode) -> None:
    node.prepare()
    die_when_waiting(node)
    node.clock.now += 30
    node.run()
    assert node.closed()["result"]["outage_seconds"] is None


def test_outage_that_the_first_engine_saved_goes_on_in_the_second(node: FakeNode) -> None:
    node.prepare(wait_timeout=60)

    def die() -> None:
        raise Killed

    node.at(4, die)
    with pytest.raises(Killed):
        node.new_engine().run()
    node.clock.now += 20
    assert node.run()["outage_seconds"] == pytest.approx(20 + 5, abs=3)


def test_a_change_that_had_not_started_before_a_reboot_is_dropped(node: FakeNode) -> None:
    node.prepare(boot="another boot")
    assert node.run()["outcome"] == ABORTED
    assert node.manifest.read_text(encoding="utf-8") == OLD


def test_a_foreign_edit_and_a_reboot_are_an_alarm_and_nothing_is_written(node: FakeNode) -> None:
    node.prepare(files=[node.entry(node.policy, "policy")], directories=[str(node.policy.parent)])
    die_when_waiting(node)
    node.foreign_edit()
    reboot(node)
    result = node.run()
    assert result["outcome"] == ALARM
    assert node.manifest.read_text(encoding="utf-8") == FOREIGN
    assert node.policy.exists()


def test_an_engine_that_never_finishes_leaves_it_to_a_human(node: FakeNode) -> None:
    node.prepare()
    node.kubelet.enabled = False

    def die() -> None:
        raise Killed

    for dummy in range(MAX_ATTEMPTS):
        node.at(0, die)
        with pytest.raises(Killed):
            node.new_engine().run()
    result = node.run()
    assert result["outcome"] == ALARM
    assert "never finished" in result["reason"]
    assert node.manifest.read_text(encoding="utf-8") == NEW


@pytest.mark.parametrize("content", ["", "{", '{"format": 1, "phase"', "\0\0\0"])
def test_a_damaged_journal_is_not_guessed_at(node: FakeNode, content: str) -> None:
    node.journal_path.write_text(content, encoding="ascii")
    with pytest.raises(Damaged, match="is damaged"):
        node.new_engine().run()
    assert node.manifest.read_text(encoding="utf-8") == OLD
    assert node.journal_path.read_text(encoding="ascii") == content


@pytest.mark.parametrize(("number", "version"), [(0, "an older"), (2, "a newer")])
def test_a_journal_of_another_format_is_refused_and_kept(node: FakeNode, number: int, version: str) -> None:
    node.prepare(format=number)
    content = node.journal_path.read_bytes()
    with pytest.raises(OtherFormat, match=f"has format {number}, which {version} version"):
        node.new_engine().run()
    assert node.journal_path.read_bytes() == content
    assert node.manifest.read_text(encoding="utf-8") == OLD


@pytest.mark.parametrize("side", ["before", "after"])
def test_bytes_that_do_not_match_their_checksum_are_never_written(node: FakeNode, side: str) -> None:
    journal = node.journal()
    journal["files"][-1][side]["content"] = version_of(b"damaged", 0o600, 0, 0)["content"]
    save_journal(str(node.state), journal)
    with pytest.raises(Damaged, match=f"copy of {node.manifest} .*does not match its checksum"):
        node.new_engine().run()
    assert node.manifest.read_text(encoding="utf-8") == OLD


def test_a_second_engine_waits_for_the_lock_and_then_gives_up(node: FakeNode) -> None:
    node.prepare()
    began = node.clock.now
    with (
        locked(str(node.state), seconds=0, clock=node.clock, sleep=node.clock.sleep),
        pytest.raises(LockBusy, match="another process holds"),
    ):
        node.new_engine().run()
    assert node.clock.now - began >= LOCK_SECONDS
    assert node.run()["outcome"] == COMMITTED

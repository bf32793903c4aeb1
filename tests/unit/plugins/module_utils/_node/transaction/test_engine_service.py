# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transactions of a node beside each other and after one another, and what is reported of them."""

from __future__ import annotations

import json
import os
import types
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import (
    Json,
    locked,
    make_directory,
    write_json,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    ABORTED,
    ALARM,
    CLOSED,
    COMMITTED,
    CONFIRMED,
    CONFIRMING,
    OBSERVED,
    OBSERVING,
    PREPARED,
    ROLLING_BACK,
    WAITING,
    archive_journal,
    save_journal,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod.static_pod_report import read_all
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import (
    engine_service,
    journal_history,
    owned_record,
    transaction_progress,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction.state import Unusable
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Busy, KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.tests.unit.support.documents import documented, schema_errors
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, OLD, FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun
from ansible_collections.nodecraft.kubeadm.tests.unit.support.static_pod_runs import change_while, damage, report, steps

UNIT = "nodecraft-kubeadm@kube-apiserver.service"


# ---- runs beside each other, and after one another -------------------------------------------------------------------


def test_two_runs_at_once_are_refused(master: FakeNode) -> None:
    with (
        engine_service.hold_lock(NAME, dry=False),
        pytest.raises(Busy, match="another run prepares a change"),
        engine_service.hold_lock(NAME, dry=False),
    ):
        pass
    with engine_service.hold_lock(NAME, dry=False):
        pass


def test_a_transaction_at_work_is_named_with_who_requested_it(master: FakeNode, run: FakeRun) -> None:
    journal = master.prepare(phase=WAITING)
    with (
        locked(str(master.state), seconds=0, clock=master.clock, sleep=master.clock.sleep),
        pytest.raises(KubeadmError) as busy,
        engine_service.hold_lock(NAME, dry=True),
    ):
        pass
    for word in (journal["id"], "10.0.0.99", "2026-01-01T00:00:00Z", "phase waiting"):
        assert word in str(busy.value)


@pytest.mark.parametrize("dry", [True, False])
def test_a_run_that_is_refused_because_of_another_is_reported(master: FakeNode, run: FakeRun, dry: bool) -> None:
    late = steps(master, run, dry=dry)
    with engine_service.hold_lock(NAME, dry=False), pytest.raises(Busy), late.session():
        pass
    assert late.report()["busy"] is True


def test_any_other_failure_is_not_called_busy(master: FakeNode, run: FakeRun) -> None:
    bad = steps(master, run, wait_timeout=0)
    with pytest.raises(Refusal), bad.session():
        pass
    assert bad.report()["busy"] is False


def test_an_engine_at_work_makes_a_run_busy(master: FakeNode, run: FakeRun) -> None:
    master.prepare(phase=WAITING)
    run.results["systemctl is-active"] = (0, "active\n", "")
    late = steps(master, run)
    with pytest.raises(Busy), late.session():
        pass
    assert late.report()["busy"] is True


def begin_another(master: FakeNode) -> str:
    """An open transaction of another component of the node; its id."""
    directory = str(master.state.parent / "kube-scheduler")
    make_directory(directory)
    save_journal(directory, master.journal(phase=WAITING) | {"name": "kube-scheduler", "id": "beside"})
    return "beside"


@pytest.mark.parametrize("dry", [True, False])
def test_another_component_that_is_being_changed_makes_a_run_busy(master: FakeNode, run: FakeRun, dry: bool) -> None:
    another = begin_another(master)
    run.results["systemctl is-active"] = (0, "active\n", "")
    late = steps(master, run, dry=dry)
    with pytest.raises(Busy, match=rf"kube-scheduler on .* is open: transaction {another}"), late.session():
        pass
    assert late.report()["busy"] is True


def test_engine_of_unknown_state_counts_as_running(master: FakeNode, run: FakeRun) -> None:
    master.prepare()
    run.results["systemctl is-active"] = (1, "", "Failed to retrieve unit state: Connection timed out")
    with pytest.raises(Busy):
        engine_service.refuse_busy_node("kubelet", run=run)
    with pytest.raises(Busy), engine_service.hold_lock(NAME, dry=True):
        engine_service.read_stopped_journal(NAME, run)


def test_another_component_whose_engine_was_stopped_blocks_nothing(master: FakeNode, run: FakeRun) -> None:
    begin_another(master)
    with steps(master, run).session():
        pass


def test_another_component_that_is_started_meanwhile_is_not_joined(master: FakeNode, run: FakeRun) -> None:
    def begin() -> None:
        begin_another(master)
        run.results["systemctl is-active"] = (0, "active\n", "")

    with pytest.raises(Busy, match=r"kube-scheduler on .* is open"):
        change_while(steps(master, run, args={"v": 4}), begin)
    assert not master.journal_path.exists()
    assert not run.ran("systemctl start")


def test_two_components_of_a_node_are_not_started_at_once(master: FakeNode, run: FakeRun) -> None:
    node = str(master.state.parent / ".node")
    make_directory(node)
    with (
        locked(node, seconds=0, clock=master.clock, sleep=master.clock.sleep),
        engine_service.hold_lock(NAME, dry=False),
        pytest.raises(Busy, match="another run begins a change on"),
    ):
        engine_service.start_engine(master.journal(), run=run)
    assert not master.journal_path.exists()


def test_recover_without_a_journal(master: FakeNode, run: FakeRun) -> None:
    assert engine_service.resume_transaction(NAME, run=run) is None
    assert run.calls == []


def test_recover_drops_a_journal_whose_engine_was_never_started(master: FakeNode, run: FakeRun) -> None:
    master.prepare()
    assert engine_service.resume_transaction(NAME, run=run) is None
    assert not master.journal_path.exists()
    assert not run.ran("systemctl start")


def test_recover_starts_the_engine_of_an_open_journal_again(master: FakeNode, run: FakeRun) -> None:
    journal = master.prepare(phase=WAITING)
    assert engine_service.resume_transaction(NAME, run=run) == journal["id"]
    assert run.calls[-1] == ["systemctl", "start", "--no-block", UNIT]


def test_recover_leaves_an_engine_that_is_at_work_alone(master: FakeNode, run: FakeRun) -> None:
    master.prepare()
    run.results["systemctl is-active"] = (0, "active\n", "")
    with pytest.raises(KubeadmError, match="is open"):
        engine_service.resume_transaction(NAME, run=run)
    assert master.journal_path.exists()


def test_recover_does_not_guess_at_a_damaged_journal(master: FakeNode, run: FakeRun) -> None:
    master.prepare()
    damage(master.state)
    with pytest.raises(KubeadmError, match="is damaged"):
        engine_service.resume_transaction(NAME, run=run)
    assert master.journal_path.read_text(encoding="ascii") == "{"


def test_a_closed_journal_that_is_damaged_is_reported_and_blocks_nothing(master: FakeNode, run: FakeRun) -> None:
    master.change()
    (identifier,) = journal_history.ended_ids(NAME)
    damage(master.state, identifier=identifier)
    again = steps(master, run)
    with again.session():
        again.read()
        (note,) = again.notes()
    assert f"{identifier}.json is damaged" in note
    described = journal_history.describe_transactions(NAME)
    assert (described["last_transaction"], described["last_known_good"]) == (None, None)
    assert f"{identifier}.json is damaged" in described["unreadable_journals"][0]


def test_check_mode_reports_an_open_transaction_and_plans_on(master: FakeNode, run: FakeRun) -> None:
    journal = master.prepare(phase=WAITING)
    dry = steps(master, run, dry=True, args={"v": 4})
    with dry.session():
        dry.read()
        (note,) = dry.notes()
        assert dry.plan().operations
    assert journal["id"] in note
    assert dry.report()["open_transaction"] == {"id": journal["id"], "phase": WAITING}


def test_a_transaction_that_was_not_followed_is_reported_once(master: FakeNode, run: FakeRun) -> None:
    master.change()
    for dry, acknowledge, number in ((True, True, 1), (False, False, 1), (False, True, 1), (False, True, 0)):
        again = steps(master, run, dry=dry, acknowledge=acknowledge)
        with again.session():
            again.read()
            notes = again.notes()
        assert len(notes) == number
        assert bool(again.report()["previous_transaction"]) is bool(number)


def test_a_version_that_is_not_tested(master: FakeNode, run: FakeRun) -> None:
    for tag, number in (("v1.37.9", 0), ("v1.38.0", 1)):
        master.foreign_edit(OLD.replace("v1.37.2", tag))
        all_steps = steps(master, run)
        with all_steps.session():
            all_steps.read()
            notes = all_steps.notes()
        warnings: list[str] = []
        read_all(None, None, run=run, warn=warnings.append, host=master.host)
        assert notes == warnings
        assert [note.startswith("cp1: kube-apiserver v1.38.0 (newer than tested). ") for note in notes] == [
            True
        ] * number


# ---- following -------------------------------------------------------------------------------------------------------


def follow(
    master: FakeNode, identifier: str, seconds: float = 5, seen: str | None = ""
) -> tuple[Json | None, str, str]:
    return transaction_progress.follow(
        NAME, identifier, seconds=seconds, seen=seen, clock=master.clock, sleep=master.clock.sleep
    )


def test_following_returns_at_once_with_news(master: FakeNode) -> None:
    journal = master.prepare()
    began = master.clock.now
    assert follow(master, journal["id"]) == (None, PREPARED, "starting")
    assert master.clock.now == began


def test_following_waits_for_news_as_long_as_it_may(master: FakeNode) -> None:
    journal = master.prepare()
    began = master.clock.now
    assert follow(master, journal["id"], seen="starting")[0] is None
    assert master.clock.now - began >= 5


def test_following_ends_with_the_outcome(master: FakeNode) -> None:
    journal = master.prepare()
    master.at(2, lambda: end(master))
    ended, phase, message = follow(master, journal["id"], seconds=60, seen="starting")
    assert ended is not None
    assert (ended["id"], ended["outcome"]) == (journal["id"], ABORTED)
    assert (phase, message) == (CLOSED, ABORTED)
    assert "files" not in ended


def end(master: FakeNode) -> None:
    journal = master.opened()
    save_journal(str(master.state), journal | {"phase": CLOSED, "result": {"outcome": ABORTED}})
    archive_journal(str(master.state), journal["id"])


def test_following_an_unknown_transaction_is_an_error(master: FakeNode) -> None:
    with pytest.raises(KubeadmError, match="transaction x of kube-apiserver is not known"):
        follow(master, "x")


@pytest.mark.parametrize("content", ["{", "[]", "null", '"x"', "\0\0\0"])
def test_a_damaged_hint_blocks_nothing(master: FakeNode, content: str) -> None:
    """Only the journal is synced; the engine's other files may hold anything after a power loss."""
    journal = master.prepare()
    (master.state / "progress.json").write_text(content, encoding="utf-8")
    assert follow(master, journal["id"]) == (None, PREPARED, "starting")
    (master.state / "progress.json").unlink()
    end(master)
    (master.state / "followed.json").write_text(content, encoding="utf-8")
    assert journal_history.unreported_outcome(NAME) is not None


@pytest.mark.parametrize("content", ["{", "[]", "null", "{}", '{"format": 1}', '{"format": 1, "files": [{}]}'])
def test_a_journal_without_an_intact_copy_is_refused_not_guessed_at(master: FakeNode, content: str) -> None:
    master.prepare()
    damage(master.state, content)
    with pytest.raises(Unusable, match=r"journal\.json .*It is not used"):
        journal_history.open_journal(NAME)


def test_a_journal_of_another_version_is_refused_and_left_as_it_is(master: FakeNode, run: FakeRun) -> None:
    master.prepare(format=99)
    content = master.journal_path.read_bytes()
    for dry in (False, True):
        with (
            pytest.raises(
                Unusable, match=r"journal\.json has format 99, which a newer version .*continue with the version"
            ),
            steps(master, run, dry=dry).session(),
        ):
            engine_service.read_stopped_journal(NAME, run)
    assert master.journal_path.read_bytes() == content
    assert not run.ran("systemctl start")
    described = journal_history.describe_transactions(NAME)
    assert "format 99" in described["open_transaction"]["message"]
    assert "format 99" in described["unreadable_journals"][0]


def test_a_record_of_another_version_is_refused(master: FakeNode) -> None:
    write_json(owned_record.record_path(NAME), {"format": 99})
    with pytest.raises(Unusable, match=r"owned\.json has format 99"):
        owned_record.read_record(NAME)


def wait_for_end(master: FakeNode, identifier: str, run: FakeRun) -> Json:
    return engine_service.wait_for_end(NAME, identifier, run=run, clock=master.clock, sleep=master.clock.sleep)


def test_waiting_for_the_end_has_an_end(master: FakeNode, run: FakeRun) -> None:
    journal = master.prepare(wait_timeout=1, min_ready_seconds=0)
    run.results["systemctl is-active"] = (0, "active\n", "")
    master.clock.pace = 40
    with pytest.raises(KubeadmError, match=f"transaction {journal['id']} .* does not end.* and .*backup/journal.json"):
        wait_for_end(master, journal["id"], run)
    master.at(1, lambda: end(master))
    assert wait_for_end(master, journal["id"], run)["outcome"] == ABORTED


def test_an_engine_that_is_not_at_work_is_not_waited_for(master: FakeNode, run: FakeRun) -> None:
    journal = master.prepare()
    began = master.clock.now
    with pytest.raises(KubeadmError, match="does not end"):
        wait_for_end(master, journal["id"], run)
    assert master.clock.now - began < 15


def test_the_follower_marks_what_it_reported(master: FakeNode, run: FakeRun) -> None:
    report = transaction_progress.report_progress(NAME, None, wait=0, seen="", dry=False, run=run)
    assert (report["phase"], report["transaction"]) == (None, None)
    master.change()
    assert journal_history.unreported_outcome(NAME) is not None
    transaction_progress.report_progress(NAME, None, wait=0, seen="", dry=True, run=run)
    assert journal_history.unreported_outcome(NAME) is not None
    transaction_progress.report_progress(NAME, None, wait=0, seen="", dry=False, run=run, acknowledges=False)
    assert journal_history.unreported_outcome(NAME) is not None
    report = transaction_progress.report_progress(NAME, None, wait=0, seen="", dry=False, run=run)
    assert report["transaction"]["outcome"] == COMMITTED
    assert journal_history.unreported_outcome(NAME) is None
    assert (master.state / "followed.json").stat().st_mode & 0o7777 == 0o600


def test_a_change_that_does_not_count_as_verified_is_left_to_the_next_run(master: FakeNode, run: FakeRun) -> None:
    journal = master.prepare()
    end(master)
    problem = "its restart ended 1 of 2 pods"
    transaction_progress.report_progress(NAME, journal["id"], wait=0, seen="", dry=False, run=run, problem=problem)
    outcome = journal_history.unreported_outcome(NAME)
    assert outcome is not None
    assert (outcome["id"], outcome["problem"]) == (journal["id"], problem)
    transaction_progress.report_progress(NAME, journal["id"], wait=0, seen="", dry=False, run=run)
    assert journal_history.unreported_outcome(NAME) is None


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"f_bfree": 0}, "No space left on device"),
        ({"f_ffree": 0, "f_files": 9}, "No space left on device"),
        ({"f_flag": os.ST_RDONLY}, "Read-only file system"),
        ({"f_ffree": 0, "f_files": 0}, ""),
    ],
)
def test_follower_reports_why_engine_cannot_save_its_state(
    master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch, changes: dict[str, int], why: str
) -> None:
    master.prepare()
    space = {"f_bfree": 99, "f_frsize": 4096, "f_files": 9, "f_ffree": 9, "f_flag": 0, **changes}
    monkeypatch.setattr(os, "statvfs", lambda _path: types.SimpleNamespace(**space))
    report = transaction_progress.report_progress(NAME, None, wait=0, seen="", dry=False, run=run)
    place = f"{master.state} on {os.uname().nodename}"
    assert report["message"] == (f"starting; cannot save its state: {why}: {place}" if why else "starting")


def test_the_follower_takes_no_path_for_a_name(master: FakeNode, run: FakeRun) -> None:
    with pytest.raises(KubeadmError, match="must be kubelet or the name of a static pod"):
        transaction_progress.report_progress("../x", None, wait=0, seen="", dry=False, run=run)


# ---- confirming ------------------------------------------------------------------------------------------------------


def test_without_a_known_message_only_the_end_is_waited_for(master: FakeNode) -> None:
    journal = master.prepare(phase=CONFIRMING, confirm_timeout=60)
    began = master.clock.now
    assert follow(master, journal["id"], seen="")[0] is None
    assert master.clock.now == began
    assert follow(master, journal["id"], seconds=5, seen=None)[0] is None
    assert master.clock.now - began >= 5


def test_a_change_that_waits_is_confirmed(master: FakeNode, run: FakeRun) -> None:
    journal = master.prepare(phase=CONFIRMING, confirm_timeout=60)
    word = master.state / CONFIRMED
    foretold = report(run, confirmed=journal["id"], dry=True)
    assert (foretold["transaction"], foretold["id"], foretold["changed"]) == (None, journal["id"], True)
    assert not word.exists()
    assert report(run)["changed"] is False
    result = report(run, confirmed=journal["id"])
    assert (result["transaction"], result["changed"]) == (None, True)
    assert report(run, confirmed=journal["id"])["changed"] is False
    assert word.read_text(encoding="ascii").strip() == journal["id"]
    assert word.stat().st_mode & 0o7777 == 0o600
    end(master)
    assert report(run, confirmed=journal["id"])["transaction"]["outcome"] == ABORTED


@pytest.mark.parametrize("losses", ["", "what worked before does not: the pod's log (502)"])
def test_what_was_observed_is_handed_to_a_change_that_waits(master: FakeNode, run: FakeRun, losses: str) -> None:
    journal = master.prepare(phase=OBSERVING, observation_timeout=60)
    word = master.state / OBSERVED
    assert report(run, observed=journal["id"], losses=losses, dry=True)["changed"] is True
    assert not word.exists()
    assert report(run, observed=journal["id"], losses=losses)["changed"] is True
    assert report(run, observed=journal["id"], losses=losses)["changed"] is False
    assert json.loads(word.read_text(encoding="ascii")) == {"id": journal["id"], "losses": losses}
    end(master)
    assert report(run, observed=journal["id"], losses=losses)["transaction"]["outcome"] == ABORTED


def test_a_change_that_does_not_wait_is_not_observed(master: FakeNode, run: FakeRun) -> None:
    journal = master.prepare(phase=WAITING)
    expected = "waits for no observation: it is in phase waiting. It waits for one in phase observing, which exists only with observation_timeout"
    with pytest.raises(KubeadmError, match=expected):
        report(run, observed=journal["id"])
    with pytest.raises(KubeadmError, match="confirm and observed exclude each other"):
        report(run, observed=journal["id"], confirmed=journal["id"])
    with pytest.raises(KubeadmError, match="invalid observed"):
        report(run, observed="../x")


def test_a_change_that_does_not_wait_is_not_confirmed(master: FakeNode, run: FakeRun) -> None:
    journal = master.prepare(phase=WAITING)
    with pytest.raises(KubeadmError, match="waits for no confirmation: it is in phase waiting"):
        report(run, confirmed=journal["id"])
    with pytest.raises(KubeadmError, match="transaction 0 of kube-apiserver is not known"):
        report(run, confirmed="0")
    master.prepare(phase=ROLLING_BACK)
    with pytest.raises(KubeadmError, match=r"in phase rolling_back\. The change is being rolled back"):
        report(run, confirmed=journal["id"])
    with pytest.raises(KubeadmError, match="must be the id of a transaction"):
        report(run, confirmed="../x")
    assert not (master.state / CONFIRMED).exists()


def test_an_unreadable_journal_is_an_alarm_once_no_engine_is_at_work(master: FakeNode, run: FakeRun) -> None:
    journal = master.prepare(phase=WAITING)
    damage(master.state)
    run.results["systemctl is-active"] = (0, "active\n", "")
    result = report(run, id=journal["id"])
    assert (result["running"], result["transaction"]) == (True, None)
    run.results["systemctl is-active"] = (3, "failed\n", "")
    result = report(run, id=journal["id"])
    assert result["transaction"]["outcome"] == ALARM
    assert schema_errors("node_transaction", result, added_later={"busy"}) == []
    assert (
        schema_errors(
            "static_pod", {"transaction": result["transaction"]}, added_later=documented("static_pod") - {"transaction"}
        )
        == []
    )
    assert "is damaged" in result["transaction"]["reason"]


CONFIRM = {"confirm": True, "confirm_url": "https://lb:6443/readyz"}


def test_what_a_journal_reports_of_a_confirmation(master: FakeNode, run: FakeRun) -> None:
    longest = {}
    desired_states: dict[str, dict[str, t.Any]] = {"no": {}, "yes": {**CONFIRM, "confirm_timeout": 77}}
    for name, desired in desired_states.items():
        all_steps = steps(master, run, args={"v": 4}, **desired)
        with all_steps.session():
            all_steps.read()
            all_steps.plan()
            all_steps.apply()
        assert master.opened()["confirm_timeout"] == (77 if desired else None)
        longest[name] = all_steps.report()["transaction"]["longest_seconds"]
    assert longest["yes"] == longest["no"] + 77


def test_a_transaction_takes_as_long_as_what_it_observes(master: FakeNode) -> None:
    journal = master.prepare()
    longest = [engine_service.longest_seconds(journal)]
    for observations in ([{"kind": "tokens"}], [{"kind": "tokens"}, {"kind": "canary", "seconds": 300}]):
        journal["watch"]["observations"] = observations
        longest.append(engine_service.longest_seconds(journal))
    assert [longest[1] - longest[0], longest[2] - longest[0]] == [0, 30 + 2 * 300]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"confirm_url": None}, "confirm_url is None; set the address"),
        ({"confirm_url": "lb:6443"}, "confirm_url is 'lb:6443'"),
        ({"confirm_url": "https://lb:x/"}, "confirm_url is 'https://lb:x/'"),
        ({"confirm_timeout": 0}, "invalid confirm_timeout 0"),
        ({"rollback": False}, "cannot be used with rollback: false"),
    ],
)
def test_a_confirmation_that_makes_no_sense_is_refused(
    master: FakeNode, run: FakeRun, given: dict[str, t.Any], message: str
) -> None:
    with pytest.raises(Refusal, match=message), steps(master, run, **{**CONFIRM, **given}).session():
        pass

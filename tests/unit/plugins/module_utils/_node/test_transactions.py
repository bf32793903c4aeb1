# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the module's parameters to a journal, its engine, and what is told of it."""

from __future__ import annotations

import json
import os
import typing as t
import zipfile
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import (
    FORMAT,
    Json,
    locked,
    make_folder,
    write_json,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    ABANDONED,
    ALARM,
    CLOSED,
    COMMITTED,
    CONFIRMED,
    CONFIRMING,
    KEEP_HISTORY,
    PREPARED,
    RESTORED,
    SIDES,
    UNHEALTHY,
    WAITING,
    Journal,
    content_of,
    copies_of,
    file_journal,
    save_journal,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.program import STUCK
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node import (
    journals,
    preflight,
    space,
    state,
    static_pods,
    transactions,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.state import Unusable
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod_report import read_all
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod_steps import StaticPodSteps
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Busy, KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.documents import documented
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, NEW, OLD, Behaviour, FakeNode, pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun

UNIT = "nodecraft-kubeadm@kube-apiserver.service"
KEYS = documented("static_pod") - {"rehearsal"}  # which is the runner's


def steps(master: FakeNode, run: FakeRun, *, dry: bool = False, diff: bool = True, **wish: t.Any) -> StaticPodSteps:
    given = {"wait_timeout": 20, "min_ready_seconds": 3, **wish}
    return StaticPodSteps(samples.parameters(**given), dry=dry, diff=diff, run=run, host=master.host, patience=0)


def carry_out(master: FakeNode, run: FakeRun, **wish: t.Any) -> Json:
    """A whole run of the module, and then of the engine."""
    all_steps = steps(master, run, **wish)
    with all_steps.session():
        all_steps.read()
        all_steps.notes()
        all_steps.plan()
        all_steps.apply()
    journal = master.opened()
    for entry in journal["files"]:  # this may not run as root
        if entry["after"]:
            entry["after"].update(uid=os.getuid(), gid=os.getgid())
    save_journal(str(master.state), journal)
    master.run()
    return all_steps.report()


# ---- one run ---------------------------------------------------------------------------------------------------------


def test_a_change_from_the_wish_to_the_commit(master: FakeNode, run: FakeRun) -> None:
    master.allowed.add(pod("--v=4", "--feature-gates=A=true").encode())
    report = carry_out(master, run, args={"v": 4}, feature_gates={"A": True})
    assert set(report) == KEYS
    assert (report["name"], report["node"], report["manifest"]) == (NAME, "cp1", str(master.manifest))
    assert {operation["key"] for operation in report["operations"]} == {"A", "v"}
    assert report["transaction"]["outcome"] is None
    assert report["transaction"]["longest_seconds"] >= 2 * (20 + 3)
    assert report["transaction"]["id"] == master.closed()["id"]
    assert master.result()["outcome"] == COMMITTED
    assert "--feature-gates=A=true" in master.manifest.read_text(encoding="utf-8")
    record = Path(state.record_path(NAME))
    assert record.stat().st_mode & 0o7777 == 0o600
    assert set(json.loads(record.read_text(encoding="utf-8"))["owned"]) == {"args", "feature_gates"}


def test_the_end_of_a_change_is_told_under_the_id_that_it_was_given(master: FakeNode, run: FakeRun) -> None:
    master.allowed.add(pod("--v=4").encode())
    started = carry_out(master, run, args={"v": 4})["transaction"]
    ended = report(run, id=started["id"])["transaction"]
    assert (ended["id"], ended["outcome"]) == (started["id"], COMMITTED)
    assert set(ended) == documented("static_pod", "transaction") == documented("kubelet", "transaction")


def test_f20_an_outcome_is_told_where_it_cannot_be_noted_that_it_was(master: FakeNode, run: FakeRun) -> None:
    master.allowed.add(pod("--v=4").encode())
    started = carry_out(master, run, args={"v": 4})["transaction"]
    (master.state / "followed.json").mkdir()
    assert report(run, id=started["id"])["transaction"]["outcome"] == COMMITTED


def test_f40_a_clock_that_was_set_back_makes_a_change_no_older_than_those_before_it(
    master: FakeNode, run: FakeRun
) -> None:
    closed: t.Any = {"format": FORMAT, "name": NAME, "requested": {}, "phase": CLOSED, "files": []}
    result: t.Any = {"outcome": COMMITTED, "reason": None, "ended": "2099-01-01T00:00:00Z"}
    for number in range(KEEP_HISTORY):
        identifier = f"20990101T000000.00000{number}Z-abcdef"
        save_journal(str(master.state), closed | {"id": identifier, "result": result}, identifier)
    master.allowed.add(pod("--v=4").encode())
    started = carry_out(master, run, args={"v": 4})["transaction"]
    assert report(run, id=started["id"])["transaction"]["outcome"] == COMMITTED
    assert transactions.summary(NAME)["last_known_good"] == transactions.history(NAME)[-1] == started["id"]
    assert transactions.unreported(NAME) is None


def test_purge_gives_the_bytes_back_and_drops_the_record(master: FakeNode, run: FakeRun) -> None:
    master.allowed.add(pod("--v=4").encode())
    carry_out(master, run, args={"v": 4})
    assert static_pods.read_static_pod(NAME, str(master.manifests), "cp1").record
    carry_out(master, run, purge=True)
    assert master.manifest.read_text(encoding="utf-8") == OLD
    assert not Path(state.record_path(NAME)).exists()


def test_a_restore_takes_the_record_back_too(master: FakeNode, run: FakeRun) -> None:
    master.allowed.add(pod("--v=4").encode())
    master.kubelet.behaviours["--v=4"] = Behaviour(ready=None)
    master.clock.pace = 4
    original = journals.journal_for

    def with_probe(*given: t.Any) -> Journal:
        journal = original(*given)
        for side in SIDES:
            journal["watch"][side]["probes"] = [master.web.probe()]
        return journal

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journals, "journal_for", with_probe)  # a probe that answers on this machine
        carry_out(master, run, args={"v": 4})
    assert master.result()["outcome"] == RESTORED
    assert not Path(state.record_path(NAME)).exists()


def test_check_mode_leaves_no_trace(master: FakeNode, run: FakeRun) -> None:
    master.state.rmdir()
    dry = steps(master, run, dry=True, args={"v": 4})
    with dry.session():
        dry.read()
        assert dry.plan().operations
        assert dry.rehearse().verdict == "accepted"
    assert not master.state.exists()
    assert dry.report()["transaction"] is None
    assert dry.report()["diff"]
    assert master.manifest.read_text(encoding="utf-8") == OLD


@pytest.mark.parametrize("dry", [True, False])
def test_a_change_that_nobody_would_start_is_refused(master: FakeNode, run: FakeRun, dry: bool) -> None:
    config = master.proc / "50/root/var/lib/kubelet/config.yaml"
    config.write_text(f"staticPodPath: {master.manifests}\nhealthzPort: {master.web.port}\n", encoding="ascii")
    master.web.status = 503
    refused = steps(master, run, dry=dry, args={"v": 4})
    with refused.session():
        refused.read()
        with pytest.raises(Refusal, match=r"the kubelet on .* answers 503"):
            refused.plan()
    assert not master.journal_path.exists()
    assert refused.report()["operations"]
    unchanged = steps(master, run, dry=dry, args={"v": 1})
    with unchanged.session():
        unchanged.read()
        assert unchanged.plan().operations == ()


def test_the_preflight_tells_what_a_user_should_know(
    master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "check", lambda *given: ("etcd is alone",))
    change = steps(master, run, dry=True, args={"v": 4})
    with change.session():
        change.read()
        assert change.plan().warnings[-1] == "etcd is alone"


def settle(master: FakeNode, run: FakeRun, *, dry: bool = False, **wish: t.Any) -> list[str]:
    """A run of the module that has nothing to change; what it warned of."""
    idle = steps(master, run, dry=dry, **wish)
    with idle.session():
        idle.read()
        plan = idle.plan()
        assert not plan.operations
        idle.settle()
        return list(plan.warnings)


def test_nothing_to_change_is_no_success_over_a_component_that_is_down(master: FakeNode, run: FakeRun) -> None:
    assert settle(master, run) == []
    master.kubelet.kill(master.kubelet.instances[0])
    for dry in (False, True):
        with pytest.raises(KubeadmError, match="kube-apiserver on cp1: there is nothing to change, but it is down"):
            settle(master, run, dry=dry)


def test_a_component_that_is_broken_is_told_with_its_last_transaction_and_words(master: FakeNode, run: FakeRun) -> None:
    master.kubelet.behaviours["--v=2"] = Behaviour(ready=None, log=("E1 why it hangs",))
    assert master.change(rollback=False)["outcome"] == UNHEALTHY
    master.kubelet.kill(master.kubelet.instances[-1])
    with pytest.raises(KubeadmError, match=r"said last: E1 why it hangs. .*ended unhealthy: .*not healthy"):
        settle(master, run)


def test_what_somebody_else_changed_is_theirs_from_then_on(master: FakeNode, run: FakeRun) -> None:
    master.allowed.add(pod("--v=4").encode())
    carry_out(master, run, args={"v": 4})
    master.foreign_edit(pod("--v=3"))
    for dummy in range(60):
        master.clock.sleep(0.5)
    (warning,) = settle(master, run, dry=True, purge=True)
    assert "left alone from now on" in warning
    assert settle(master, run, purge=True) == [warning]
    assert settle(master, run, purge=True) == []


def test_without_diff_mode_there_is_no_diff(master: FakeNode, run: FakeRun) -> None:
    quiet = steps(master, run, dry=True, diff=False, args={"v": 4})
    with quiet.session():
        quiet.read()
        quiet.plan()
    assert quiet.report()["diff"] == []


def test_the_report_has_its_keys_before_anything_was_read(master: FakeNode, run: FakeRun) -> None:
    assert set(steps(master, run).report()) == KEYS


@pytest.mark.parametrize("given", [{"wait_timeout": 0}, {"min_ready_seconds": -1}, {"name": "../x"}])
def test_bad_parameters_are_refused_before_anything_is_touched(
    master: FakeNode, run: FakeRun, given: dict[str, t.Any]
) -> None:
    with pytest.raises(Refusal), steps(master, run, **given).session():
        pass
    assert run.calls == []
    assert os.listdir(master.state) == []


def test_a_policy_file_in_the_folder_of_manifests_is_refused(master: FakeNode, run: FakeRun) -> None:
    bad = steps(master, run, files=[samples.file(str(master.manifests / "policy.yaml"), "x")])
    with bad.session(), pytest.raises(KubeadmError, match="would stand in the folder of static pods"):
        bad.read()


# ---- the journal -----------------------------------------------------------------------------------------------------


def test_what_a_journal_holds(master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CLIENT", "10.0.0.99 51000 22")
    policy = master.policy
    volume = samples.volume("audit", str(policy.parent), path_type="DirectoryOrCreate")
    wish: dict[str, t.Any] = {
        "files": [samples.file(str(policy), "p", mode="0640")],
        "volumes": [volume],
        "args": {"audit-policy-file": str(policy)},
        "feature_gates": {"A": True},
        "rollback": False,
    }
    all_steps = steps(master, run, **wish)
    with all_steps.session():
        all_steps.read()
        all_steps.plan()
        all_steps.apply()
    journal = master.opened()
    assert master.journal_path.stat().st_mode & 0o7777 == 0o600
    assert (journal["format"], journal["phase"], journal["rollback"]) == (FORMAT, PREPARED, False)
    assert journal["requested"]["from"] == "10.0.0.99"
    assert [entry["path"] for entry in journal["files"]] == [
        str(policy),
        str(master.manifest),
        state.record_path(NAME),
    ]
    assert [entry["switch"] for entry in journal["files"]] == [False, True, False]
    first, switch, record = journal["files"]
    assert (first["before"], first["after"]["mode"]) == (None, 0o640)
    assert content_of(switch["before"]) == OLD.encode()
    assert switch["after"]["mode"] == switch["before"]["mode"]
    assert record["after"]["mode"] == 0o600
    assert journal["directories"] == [str(policy.parent.parent), str(policy.parent)]
    assert journal["watch"]["feature_gates"] == {"A": True}
    assert f"--audit-policy-file={policy}" in journal["watch"]["after"]["arguments"]
    assert journal["watch"]["before"]["arguments"] == [NAME, "--v=1"]
    # Its engine, its unit, and the start.
    with zipfile.ZipFile(master.state / "engine.pyz") as packed:
        assert "_engine/transaction.py" in packed.namelist()
    unit = (master.state.parent / "unit.service").read_text(encoding="ascii")
    assert "UMask=0077" in unit
    for path in copies_of("/var/lib/nodecraft-kubeadm/%i"):
        assert f"ConditionPathExists=|{path}\n" in unit
    assert "Restart=on-failure" in unit
    assert f"RestartPreventExitStatus={STUCK}" in unit
    assert run.calls[-1] == ["systemctl", "start", "--no-block", UNIT]
    assert run.ran("systemctl daemon-reload")
    # A node that is restarted in the middle goes on by itself.
    link = master.state.parent / "multi-user.target.wants" / UNIT
    assert link.readlink() == master.state.parent / "unit.service"
    assert "WantedBy=multi-user.target" in unit


def test_a_service_that_does_not_start_leaves_no_journal(master: FakeNode, run: FakeRun) -> None:
    run.answers["systemctl start"] = (1, "", "Unit is masked\n")
    all_steps = steps(master, run, args={"v": 4})
    with all_steps.session():
        all_steps.read()
        all_steps.plan()
        with pytest.raises(KubeadmError, match=r"does not start .*Unit is masked\. No file was changed"):
            all_steps.apply()
    assert not master.journal_path.exists()
    assert os.listdir(master.state / "backup") == []


def test_a_journal_that_cannot_be_written_leaves_none(master: FakeNode, run: FakeRun) -> None:
    (master.state / "backup").mkdir()
    (master.state / "backup" / ".journal.json.nodecraft-kubeadm").mkdir()
    all_steps = steps(master, run, args={"v": 4})
    with all_steps.session():
        all_steps.read()
        all_steps.plan()
        with pytest.raises(OSError, match=r"backup/journal\.json"):
            all_steps.apply()
    assert not master.journal_path.exists()
    assert not run.ran("systemctl start")


def test_without_room_nothing_is_begun(master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "COPIES", 10**12)
    all_steps = steps(master, run, args={"v": 4})
    with all_steps.session():
        all_steps.read()
        all_steps.plan()
        with pytest.raises(KubeadmError, match=r"bytes free, and this change needs .*Nothing was changed"):
            all_steps.apply()
    assert os.listdir(master.state) == ["lock"]
    assert not run.ran("systemctl start")


def change_while(all_steps: StaticPodSteps, meanwhile: t.Callable[[], object]) -> None:
    """A run of the module in which something happens between its plan and its change."""
    with all_steps.session():
        all_steps.read()
        all_steps.plan()
        meanwhile()
        all_steps.apply()


def test_a_journal_that_appeared_meanwhile_is_never_overwritten(master: FakeNode, run: FakeRun) -> None:
    all_steps = steps(master, run, args={"v": 4})
    with pytest.raises(Busy, match="transaction theirs"):
        change_while(all_steps, lambda: master.prepare(phase=WAITING, id="theirs"))
    assert master.opened()["id"] == "theirs"
    assert all_steps.report()["busy"] is True


# ---- runs beside each other, and after one another -------------------------------------------------------------------


def test_two_runs_at_once_are_refused(master: FakeNode) -> None:
    with (
        transactions.exclusive(NAME, dry=False),
        pytest.raises(Busy, match="another run prepares a change"),
        transactions.exclusive(NAME, dry=False),
    ):
        pass
    with transactions.exclusive(NAME, dry=False):
        pass


def test_a_transaction_at_work_is_named_with_who_asked_for_it(master: FakeNode, run: FakeRun) -> None:
    journal = master.prepare(phase=WAITING)
    with (
        locked(str(master.state), seconds=0, clock=master.clock, sleep=master.clock.sleep),
        pytest.raises(KubeadmError) as busy,
        transactions.exclusive(NAME, dry=True),
    ):
        pass
    for word in (journal["id"], "10.0.0.99", "2026-01-01T00:00:00Z", "phase waiting"):
        assert word in str(busy.value)


@pytest.mark.parametrize("dry", [True, False])
def test_a_run_that_is_refused_because_of_another_says_so(master: FakeNode, run: FakeRun, dry: bool) -> None:
    late = steps(master, run, dry=dry)
    with transactions.exclusive(NAME, dry=False), pytest.raises(Busy), late.session():
        pass
    assert late.report()["busy"] is True


def test_any_other_failure_is_not_called_busy(master: FakeNode, run: FakeRun) -> None:
    bad = steps(master, run, wait_timeout=0)
    with pytest.raises(Refusal), bad.session():
        pass
    assert bad.report()["busy"] is False


def test_an_engine_at_work_makes_a_run_busy(master: FakeNode, run: FakeRun) -> None:
    master.prepare(phase=WAITING)
    run.answers["systemctl is-active"] = (0, "active\n", "")
    late = steps(master, run)
    with pytest.raises(Busy), late.session():
        pass
    assert late.report()["busy"] is True


def begin_another(master: FakeNode) -> str:
    """An open transaction of another component of the node; its id."""
    folder = str(master.state.parent / "kube-scheduler")
    make_folder(folder)
    save_journal(folder, master.journal(phase=WAITING) | {"name": "kube-scheduler", "id": "beside"})
    return "beside"


@pytest.mark.parametrize("dry", [True, False])
def test_another_component_that_is_being_changed_makes_a_run_busy(master: FakeNode, run: FakeRun, dry: bool) -> None:
    another = begin_another(master)
    run.answers["systemctl is-active"] = (0, "active\n", "")
    late = steps(master, run, dry=dry)
    with pytest.raises(Busy, match=rf"kube-scheduler on .* is open: transaction {another}"), late.session():
        pass
    assert late.report()["busy"] is True


def test_another_component_whose_engine_was_stopped_is_in_nobodys_way(master: FakeNode, run: FakeRun) -> None:
    begin_another(master)
    with steps(master, run).session():
        pass


def test_another_component_that_is_begun_meanwhile_is_not_joined(master: FakeNode, run: FakeRun) -> None:
    def begin() -> None:
        begin_another(master)
        run.answers["systemctl is-active"] = (0, "active\n", "")

    with pytest.raises(Busy, match=r"kube-scheduler on .* is open"):
        change_while(steps(master, run, args={"v": 4}), begin)
    assert not master.journal_path.exists()
    assert not run.ran("systemctl start")


def test_two_components_of_a_node_are_not_begun_at_once(master: FakeNode, run: FakeRun) -> None:
    node = str(master.state.parent / ".node")
    make_folder(node)
    with (
        locked(node, seconds=0, clock=master.clock, sleep=master.clock.sleep),
        transactions.exclusive(NAME, dry=False),
        pytest.raises(Busy, match="another run begins a change on"),
    ):
        transactions.start(master.journal(), run=run)
    assert not master.journal_path.exists()


def test_recover_without_a_journal(master: FakeNode, run: FakeRun) -> None:
    assert transactions.recover(NAME, run=run) is None
    assert run.calls == []


def test_recover_drops_a_journal_whose_engine_was_never_started(master: FakeNode, run: FakeRun) -> None:
    master.prepare()
    assert transactions.recover(NAME, run=run) is None
    assert not master.journal_path.exists()
    assert not run.ran("systemctl start")


def test_recover_starts_the_engine_of_an_open_journal_again(master: FakeNode, run: FakeRun) -> None:
    journal = master.prepare(phase=WAITING)
    assert transactions.recover(NAME, run=run) == journal["id"]
    assert run.calls[-1] == ["systemctl", "start", "--no-block", UNIT]


def test_recover_leaves_an_engine_that_is_at_work_alone(master: FakeNode, run: FakeRun) -> None:
    master.prepare()
    run.answers["systemctl is-active"] = (0, "active\n", "")
    with pytest.raises(KubeadmError, match="is open"):
        transactions.recover(NAME, run=run)
    assert master.journal_path.exists()


def test_recover_does_not_guess_at_a_damaged_journal(master: FakeNode, run: FakeRun) -> None:
    master.prepare()
    damage(master.state)
    with pytest.raises(KubeadmError, match="is damaged"):
        transactions.recover(NAME, run=run)
    assert master.journal_path.read_text(encoding="ascii") == "{"


def test_a_closed_journal_that_is_damaged_is_told_and_no_obstacle(master: FakeNode, run: FakeRun) -> None:
    master.change()
    (identifier,) = transactions.history(NAME)
    damage(master.state, identifier=identifier)
    again = steps(master, run)
    with again.session():
        again.read()
        (note,) = again.notes()
    assert f"{identifier}.json is damaged" in note
    told = transactions.summary(NAME)
    assert (told["last_transaction"], told["last_known_good"]) == (None, None)
    assert f"{identifier}.json is damaged" in told["unreadable_journals"][0]


def test_check_mode_tells_of_an_open_transaction_and_plans_on(master: FakeNode, run: FakeRun) -> None:
    journal = master.prepare(phase=WAITING)
    dry = steps(master, run, dry=True, args={"v": 4})
    with dry.session():
        dry.read()
        (note,) = dry.notes()
        assert dry.plan().operations
    assert journal["id"] in note
    assert dry.report()["open_transaction"] == {"id": journal["id"], "phase": WAITING}


def test_a_transaction_that_nobody_followed_is_told_once(master: FakeNode, run: FakeRun) -> None:
    master.change()
    for dry, told in ((True, 1), (False, 1), (False, 0)):
        again = steps(master, run, dry=dry)
        with again.session():
            again.read()
            notes = again.notes()
        assert len(notes) == told
        assert bool(again.report()["previous_transaction"]) is bool(told)


def test_a_version_that_is_not_tested(master: FakeNode, run: FakeRun) -> None:
    for tag, told in (("v1.37.9", 0), ("v1.38.0", 1)):
        master.foreign_edit(OLD.replace("v1.37.2", tag))
        all_steps = steps(master, run)
        with all_steps.session():
            all_steps.read()
            notes = all_steps.notes()
        warnings: list[str] = []
        read_all(None, None, run=run, warn=warnings.append, host=master.host)
        assert notes == warnings
        assert [note.startswith("cp1: kube-apiserver v1.38.0 (newer than tested). ") for note in notes] == [True] * told


# ---- following -------------------------------------------------------------------------------------------------------


def follow(master: FakeNode, identifier: str, seconds: float = 5, seen: str = "") -> tuple[Json | None, str, str]:
    return transactions.follow(
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
    assert (ended["id"], ended["outcome"]) == (journal["id"], ABANDONED)
    assert (phase, message) == (CLOSED, ABANDONED)
    assert "files" not in ended


def end(master: FakeNode) -> None:
    journal = master.opened()
    save_journal(str(master.state), journal | {"phase": CLOSED, "result": {"outcome": ABANDONED}})
    file_journal(str(master.state), journal["id"])


def test_following_an_unknown_transaction_is_an_error(master: FakeNode) -> None:
    with pytest.raises(KubeadmError, match="transaction x of kube-apiserver is not known"):
        follow(master, "x")


@pytest.mark.parametrize("content", ["{", "[]", "null", '"x"', "\0\0\0"])
def test_a_damaged_hint_is_no_obstacle(master: FakeNode, content: str) -> None:
    """Only the journal is synced; what else the engine says may be anything after a power loss."""
    journal = master.prepare()
    (master.state / "progress.json").write_text(content, encoding="utf-8")
    assert follow(master, journal["id"]) == (None, PREPARED, "starting")
    (master.state / "progress.json").unlink()
    end(master)
    (master.state / "followed.json").write_text(content, encoding="utf-8")
    assert transactions.unreported(NAME) is not None


def damage(folder: Path, content: str = "{", identifier: str | None = None) -> None:
    """Both copies of a journal hold something else."""
    for path in copies_of(str(folder), identifier):
        Path(path).write_text(content, encoding="utf-8")


@pytest.mark.parametrize("content", ["{", "[]", "null", "{}", '{"format": 1}', '{"format": 1, "files": [{}]}'])
def test_a_journal_without_an_intact_copy_is_refused_not_guessed_at(master: FakeNode, content: str) -> None:
    master.prepare()
    damage(master.state, content)
    with pytest.raises(Unusable, match=r"journal\.json .*Nothing is guessed from it"):
        transactions.open_journal(NAME)


def test_a_journal_of_another_version_is_refused_and_left_as_it_is(master: FakeNode, run: FakeRun) -> None:
    master.prepare(format=99)
    content = master.journal_path.read_bytes()
    for dry in (False, True):
        with (
            pytest.raises(
                Unusable, match=r"journal\.json has format 99, which a newer version .*go on with the version"
            ),
            steps(master, run, dry=dry).session(),
        ):
            transactions.left_open(NAME, run)
    assert master.journal_path.read_bytes() == content
    assert not run.ran("systemctl start")
    told = transactions.summary(NAME)
    assert "format 99" in told["open_transaction"]["message"]
    assert "format 99" in told["unreadable_journals"][0]


def test_a_record_of_another_version_is_refused(master: FakeNode) -> None:
    write_json(state.record_path(NAME), {"format": 99})
    with pytest.raises(Unusable, match=r"owned\.json has format 99"):
        state.load_record(NAME)


def wait_for_end(master: FakeNode, identifier: str, run: FakeRun) -> Json:
    return transactions.wait_for_end(NAME, identifier, run=run, clock=master.clock, sleep=master.clock.sleep)


def test_waiting_for_the_end_has_an_end(master: FakeNode, run: FakeRun) -> None:
    journal = master.prepare(wait_timeout=1, min_ready_seconds=0)
    run.answers["systemctl is-active"] = (0, "active\n", "")
    master.clock.pace = 40
    with pytest.raises(KubeadmError, match=f"transaction {journal['id']} .* does not end.* and .*backup/journal.json"):
        wait_for_end(master, journal["id"], run)
    master.at(1, lambda: end(master))
    assert wait_for_end(master, journal["id"], run)["outcome"] == ABANDONED


def test_nobody_waits_for_an_engine_that_is_not_at_work(master: FakeNode, run: FakeRun) -> None:
    journal = master.prepare()
    began = master.clock.now
    with pytest.raises(KubeadmError, match="does not end"):
        wait_for_end(master, journal["id"], run)
    assert master.clock.now - began < 15


def test_the_follower_marks_what_it_told(master: FakeNode, run: FakeRun) -> None:
    report = transactions.report_progress(NAME, None, wait=0, seen="", dry=False, run=run)
    assert (report["phase"], report["transaction"]) == (None, None)
    master.change()
    assert transactions.unreported(NAME) is not None
    transactions.report_progress(NAME, None, wait=0, seen="", dry=True, run=run)
    assert transactions.unreported(NAME) is not None
    report = transactions.report_progress(NAME, None, wait=0, seen="", dry=False, run=run)
    assert report["transaction"]["outcome"] == COMMITTED
    assert transactions.unreported(NAME) is None
    assert (master.state / "followed.json").stat().st_mode & 0o7777 == 0o600


def test_the_follower_takes_no_path_for_a_name(master: FakeNode, run: FakeRun) -> None:
    with pytest.raises(KubeadmError, match="neither kubelet nor the name of a static pod"):
        transactions.report_progress("../x", None, wait=0, seen="", dry=False, run=run)


# ---- confirming ------------------------------------------------------------------------------------------------------


def report(run: FakeRun, *, dry: bool = False, **given: t.Any) -> Json:
    return transactions.report_progress(NAME, given.pop("id", None), wait=0, seen="", dry=dry, run=run, **given)


def test_a_change_that_waits_is_confirmed(master: FakeNode, run: FakeRun) -> None:
    journal = master.prepare(phase=CONFIRMING, confirm_timeout=60)
    word = master.state / CONFIRMED
    assert report(run, confirmed=journal["id"], dry=True)["transaction"] is None
    assert not word.exists()
    assert report(run, confirmed=journal["id"])["transaction"] is None
    assert word.read_text(encoding="ascii").strip() == journal["id"]
    assert word.stat().st_mode & 0o7777 == 0o600
    end(master)
    assert report(run, confirmed=journal["id"])["transaction"]["outcome"] == ABANDONED


def test_a_change_that_does_not_wait_is_not_confirmed(master: FakeNode, run: FakeRun) -> None:
    journal = master.prepare(phase=WAITING)
    with pytest.raises(KubeadmError, match="waits for no confirmation: it is in phase waiting"):
        report(run, confirmed=journal["id"])
    with pytest.raises(KubeadmError, match="transaction 0 of kube-apiserver is not known"):
        report(run, confirmed="0")
    with pytest.raises(KubeadmError, match="is no id of a transaction"):
        report(run, confirmed="../x")
    assert not (master.state / CONFIRMED).exists()


def test_a_journal_nobody_can_read_is_an_alarm_once_no_engine_is_at_work(master: FakeNode, run: FakeRun) -> None:
    journal = master.prepare(phase=WAITING)
    damage(master.state)
    run.answers["systemctl is-active"] = (0, "active\n", "")
    told = report(run, id=journal["id"])
    assert (told["running"], told["transaction"]) == (True, None)
    run.answers["systemctl is-active"] = (3, "failed\n", "")
    told = report(run, id=journal["id"])
    assert told["transaction"]["outcome"] == ALARM
    assert set(told) | {"busy"} == documented("node_transaction")
    assert set(told["transaction"]) == documented("static_pod", "transaction")
    assert "is damaged" in told["transaction"]["reason"]


CONFIRM = {"confirm": True, "confirm_url": "https://lb:6443/readyz"}


def test_what_a_journal_says_of_a_confirmation(master: FakeNode, run: FakeRun) -> None:
    longest = {}
    wishes: dict[str, dict[str, t.Any]] = {"no": {}, "yes": {**CONFIRM, "confirm_timeout": 77}}
    for name, wish in wishes.items():
        all_steps = steps(master, run, args={"v": 4}, **wish)
        with all_steps.session():
            all_steps.read()
            all_steps.plan()
            all_steps.apply()
        assert master.opened()["confirm_timeout"] == (77 if wish else None)
        longest[name] = all_steps.report()["transaction"]["longest_seconds"]
    assert longest["yes"] == longest["no"] + 77


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"confirm_url": None}, "confirm_url is None; write the address"),
        ({"confirm_url": "lb:6443"}, "confirm_url is 'lb:6443'"),
        ({"confirm_url": "https://lb:x/"}, "confirm_url is 'https://lb:x/'"),
        ({"confirm_timeout": 0}, "confirm_timeout is 0"),
        ({"rollback": False}, "cannot go with rollback: false"),
    ],
)
def test_a_confirmation_that_makes_no_sense_is_refused(
    master: FakeNode, run: FakeRun, given: dict[str, t.Any], complaint: str
) -> None:
    with pytest.raises(Refusal, match=complaint), steps(master, run, **{**CONFIRM, **given}).session():
        pass


# ---- static_pod_info -------------------------------------------------------------------------------------------------


def test_what_is_told_of_a_node(master: FakeNode, run: FakeRun) -> None:
    master.allowed.add(pod("--v=4").encode())
    carry_out(master, run, args={"v": 4})
    (master.manifests / ".hidden").write_text("x", encoding="ascii")
    found = read_all(None, None, run=run, warn=pytest.fail, host=master.host)
    assert (found["node"], found["manifest_dir"], found["unreadable_files"]) == ("cp1", str(master.manifests), [])
    (told,) = found["static_pods"]
    assert set(found) == documented("static_pod_info")
    assert set(told) == documented("static_pod_info", "static_pods")
    assert set(told["way_back"]) == documented("static_pod_info", "static_pods", "way_back")
    assert told["name"] == NAME
    assert told["args"] == {"v": ["4"]}
    assert told["owned"] == {"args": ["v"]}
    assert told["in_step"] is True
    assert (told["ready"], told["problem"]) == (True, None)
    assert told["process"]["pid"] == master.kubelet.instances[0].pid
    assert told["process"]["started"] > 1700000000
    assert told["last_transaction"]["outcome"] == COMMITTED
    assert told["last_known_good"] == master.closed()["id"]
    assert (told["open_transaction"], told["error"], told["stray_files"]) == (None, None, [])


def test_what_is_told_of_a_node_in_trouble(master: FakeNode, run: FakeRun, tmp_path: Path) -> None:
    folder = tmp_path / "others"
    folder.mkdir()
    (folder / "kube-apiserver.yaml").write_text(OLD + "\nx: &a b\n", encoding="utf-8")
    (folder / "notes.txt").write_text("no pod", encoding="utf-8")
    journal = master.prepare(phase=WAITING)
    found = read_all(NAME, str(folder), run=run, warn=pytest.fail, host=master.host)
    assert found["unreadable_files"] == [str(folder / "notes.txt")]
    (told,) = found["static_pods"]
    assert set(told) == documented("static_pod_info", "static_pods")
    assert "anchor" in told["error"]
    assert told["arguments"] is None
    assert (told["ready"], told["problem"]) == (False, told["error"])
    # Without news of the engine, which a power loss may take, the journal says how far it is.
    assert (told["open_transaction"]["id"], told["open_transaction"]["phase"]) == (journal["id"], WAITING)
    assert read_all("etcd", str(folder), run=run, warn=pytest.fail, host=master.host)["static_pods"] == []
    assert read_all(None, str(folder / "missing"), run=run, warn=pytest.fail, host=master.host)["static_pods"] == []


def test_what_keeps_a_component_from_being_ready(master: FakeNode, run: FakeRun) -> None:
    master.foreign_edit(NEW)
    (told,) = read_all(None, None, run=run, warn=pytest.fail, host=master.host)["static_pods"]
    assert (told["ready"], told["problem"]) == (False, "starts, or runs with other arguments than its manifest has")


def test_no_value_of_the_environment_is_told(master: FakeNode, run: FakeRun) -> None:
    text = OLD.replace(
        "    name: kube-apiserver\n", "    env:\n    - name: TOKEN\n      value: secret\n    name: kube-apiserver\n"
    )
    master.foreign_edit(text)
    found = read_all(None, None, run=run, warn=pytest.fail, host=master.host)
    assert found["static_pods"][0]["env"] == ["TOKEN"]
    assert "secret" not in json.dumps(found)


def test_no_value_of_the_environment_is_told_of_a_process_that_is_out_of_step(master: FakeNode, run: FakeRun) -> None:
    """The process has the argument expanded, with the value that the variable had when it was started."""
    text = OLD.replace("--v=1", "--v=$(TOKEN)").replace(
        "    name: kube-apiserver\n", "    env:\n    - name: TOKEN\n      value: later\n    name: kube-apiserver\n"
    )
    master.foreign_edit(text)
    process = read_all(None, None, run=run, warn=pytest.fail, host=master.host)["static_pods"][0]["process"]
    assert process["arguments"][-1] == "--v=$(TOKEN)"


def test_a_damaged_record_of_one_static_pod_keeps_nobody_from_reading_the_others(
    master: FakeNode, run: FakeRun
) -> None:
    Path(state.record_path(NAME)).write_text("{", encoding="utf-8")
    (found,) = read_all(None, None, run=run, warn=pytest.fail, host=master.host)["static_pods"]
    assert found["error"] == found["problem"]
    assert f"{state.record_path(NAME)} is damaged" in found["error"]


@pytest.mark.parametrize("name", ["../owned", "journal"])
def test_the_name_of_a_file_is_no_id(master: FakeNode, run: FakeRun, name: str) -> None:
    master.prepare()
    with pytest.raises(KubeadmError, match="no id of a transaction"):
        transactions.report_progress(NAME, name, wait=0, seen="", dry=True, run=run)

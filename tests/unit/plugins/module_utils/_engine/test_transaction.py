# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transactions from their journal to their end, on a node in a directory."""

from __future__ import annotations

import errno
import json
import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import open_journal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import Json, read_json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    ABORTED,
    ALARM,
    COMMITTED,
    ROLLED_BACK,
    UNHEALTHY,
    VERIFYING,
    WAITING,
    Journal,
    save_journal,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import (
    FOREIGN,
    NAME,
    NEW,
    OLD,
    Behaviour,
    FakeNode,
)


def text_of(node: FakeNode) -> str:
    return node.manifest.read_text(encoding="utf-8")


# ---- commit ----------------------------------------------------------------------------------------------------------


def test_a_healthy_change_is_committed_and_verified(node: FakeNode) -> None:
    result = node.change()
    assert result["outcome"] == COMMITTED
    assert result["reason"] is None
    assert text_of(node) == NEW
    (instance,) = node.kubelet.instances
    proof = result["proof"]
    assert proof["pid"] == instance.pid
    assert proof["uid"] == instance.uid
    assert len(proof["container_id"]) == 64
    assert proof["arguments"] == [NAME, "--v=2"]
    assert proof["probes"] == [f"http://127.0.0.1:{node.web.port}/livez answers 200"]
    assert result["log"] == []


def test_the_figures_of_a_change(node: FakeNode) -> None:
    """Stops after 2 s, starts 3 s later, is ready 1 s later: 6 s, and 3 s of watching. A look is 0.25 s apart."""
    result = node.change()
    assert result["outage_seconds"] == pytest.approx(6.0, abs=0.6)
    assert result["restart_seconds"] == pytest.approx(6.0, abs=0.6)
    assert result["seconds"] == pytest.approx(9.0, abs=0.6)
    assert result["ended"].endswith("Z")


def test_the_steps_are_reported_in_words(node: FakeNode) -> None:
    node.change()
    assert node.messages == [
        "stops",
        "is down, waiting for its start",
        "runs, not ready yet",
        "is healthy, watched for 3 s",
    ]
    assert read_json(str(node.state / "progress.json"))["message"] == COMMITTED


def test_without_a_journal_there_is_nothing_to_do(node: FakeNode) -> None:
    assert node.new_engine().run() == 0
    assert os.listdir(node.state) == ["lock"]


def test_a_former_process_that_lingers_is_waited_for(node: FakeNode) -> None:
    """The new process beside the old one is no success yet."""
    node.prepare()
    node.once(WAITING, lambda: node.add_process(500, node.kubelet.instances[0].uid, [NAME, "--v=1"]))
    node.at(14, lambda: node.remove_process(500))
    began = node.clock.now
    result = node.run()
    assert result["outcome"] == COMMITTED
    assert "runs, and the former process as well" in node.messages
    assert node.clock.now - began >= 14 + 3


def test_a_process_with_other_arguments_is_no_proof(node: FakeNode) -> None:
    watch = {"after": {**node.instance(NEW), "arguments": [NAME, "--v=2", "--more"]}}
    result = node.change(watch=watch)
    assert result["outcome"] == ROLLED_BACK
    assert "runs with other arguments than its manifest has" in result["reason"]
    assert text_of(node) == OLD


def test_an_argument_that_only_the_kubelet_knows_may_be_anything(node: FakeNode) -> None:
    watch = {"after": {**node.instance(NEW), "arguments": [NAME, None]}}
    assert node.change(watch=watch)["outcome"] == COMMITTED


def test_a_process_that_changes_while_it_is_watched_restarts_the_watch(node: FakeNode) -> None:
    node.prepare(min_ready_seconds=5)
    node.at(6 + 4, node.kubelet.restart)
    began = node.clock.now
    result = node.run()
    assert result["outcome"] == COMMITTED
    assert node.clock.now - began >= 6 + 4 + 5
    assert result["proof"]["pid"] == node.kubelet.instances[0].pid


def test_a_probe_that_fails_while_the_process_is_watched_restarts_the_watch(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(unready=(4.0, 5.0))
    began = node.clock.now
    result = node.change(min_ready_seconds=5)
    assert result["outcome"] == COMMITTED
    assert node.clock.now - began >= 2 + 3 + 5 + 5


def test_a_slow_start_is_not_restored(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(start=200, ready=80)
    node.clock.pace = 10
    result = node.change(wait_timeout=300)
    assert result["outcome"] == COMMITTED
    assert result["outage_seconds"] > 280


def test_a_component_without_probes_is_verified_by_its_process(node: FakeNode) -> None:
    node.web.health_status = 500
    watch = {side: {**node.instance(text), "probes": []} for side, text in (("before", OLD), ("after", NEW))}
    result = node.change(watch=watch)
    assert result["outcome"] == COMMITTED
    assert result["outage_seconds"] is None


def test_probes_that_need_the_kubelet_are_left_to_it(node: FakeNode) -> None:
    watch = {
        "after": {
            **node.instance(NEW),
            "probes": [{"kind": "exec"}, node.web.probe()],
        }
    }
    result = node.change(watch=watch)
    assert result["outcome"] == COMMITTED
    (limit,) = result["proof"]["unverified"]
    assert limit.startswith("whether its probes pass: exec probe: what the kubelet reports is not known (")


def test_a_component_that_was_down_is_repaired(node: FakeNode) -> None:
    (instance,) = node.kubelet.instances
    instance.behaviour = Behaviour(alive=0.0, back_off=1000)
    node.stabilize()
    assert node.kubelet.instances == []
    result = node.change()
    assert result["outcome"] == COMMITTED
    assert result["proof"]["arguments"] == [NAME, "--v=2"]


# ---- restore ---------------------------------------------------------------------------------------------------------


def test_the_log_that_is_kept_shows_no_hidden_value(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None, log=("E1 invalid secret and secret-2",))
    journal = node.prepare()
    journal["watch"]["hidden"] = {"secret": "$(A)", "secret-2": "$(B)"}
    save_journal(str(node.state), journal)
    assert node.run()["log"] == ["E1 invalid $(A) and $(B)"]


def test_what_never_gets_ready_is_restored_and_the_former_state_verified(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None, log=("I1 one", "E1 why it hangs"))
    began = node.clock.now
    result = node.change()
    assert result["outcome"] == ROLLED_BACK
    assert text_of(node) == OLD
    assert "kube-apiserver was not healthy within 20 s: it runs, not ready yet" in result["reason"]
    assert "answers 500" in result["reason"]
    assert result["log"] == ["I1 one", "E1 why it hangs"]
    assert result["proof"]["arguments"] == [NAME, "--v=1"]
    assert result["proof"]["uid"] == node.kubelet.instances[0].uid
    assert node.clock.now - began == pytest.approx(20 + 6 + 3, abs=1.5)
    assert result["outage_seconds"] == pytest.approx(20 + 6, abs=1.5)
    assert node.closed()["files"][-1]["after"]["sha256"], "the refused bytes are kept"


def test_a_crash_loop_is_restored_before_the_time_is_up(node: FakeNode) -> None:
    words = ('E1 "command failed" err="unrecognized feature gate: X"',)
    node.kubelet.behaviours["--v=2"] = Behaviour(alive=0.5, ready=None, back_off=2, log=words)
    began = node.clock.now
    result = node.change(wait_timeout=300)
    assert result["outcome"] == ROLLED_BACK
    assert "crashed 3 times and was never ready" in result["reason"]
    assert result["log"] == list(words)
    assert node.clock.now - began < 40


def test_component_that_is_ready_for_a_second_is_restored_after_three_crashes(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(alive=1.5, ready=0.5, back_off=0.5)
    began = node.clock.now
    result = node.change(wait_timeout=40)
    assert result["outcome"] == ROLLED_BACK
    assert "crashed 3 times while it was watched" in result["reason"]
    assert node.clock.now - began < 30


def test_leader_that_ends_without_its_api_gets_its_whole_time(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(alive=1.5, ready=0.5, back_off=0.5)
    result = node.change(wait_timeout=40, watch={"program": "kube-scheduler"})
    assert result["outcome"] == ROLLED_BACK
    assert "not healthy within 40 s" in result["reason"]


def test_a_crash_in_the_watched_seconds_is_restored_after_the_time(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(alive=3.0, back_off=1000)
    result = node.change(min_ready_seconds=5)
    assert result["outcome"] == ROLLED_BACK
    assert "is down after 1 start(s)" in result["reason"]


def test_without_rollback_the_change_stays_and_is_called_unhealthy(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None, log=("E1 why",))
    result = node.change(rollback=False)
    assert result["outcome"] == UNHEALTHY
    assert text_of(node) == NEW
    assert result["log"] == ["E1 why"]


def test_a_former_state_that_does_not_come_back_is_an_alarm(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None)
    node.once(VERIFYING, lambda: node.kubelet.behaviours.update({"--v=1": Behaviour(ready=None)}))
    node.clock.pace = 10
    result = node.change()
    assert result["outcome"] == ALARM
    assert text_of(node) == OLD
    assert "rolled back to the former files, but kube-apiserver was not healthy" in result["reason"]


def test_what_was_broken_before_need_not_be_healthy_after_a_restore(node: FakeNode) -> None:
    node.kubelet.behaviours.update({"--v=1": Behaviour(ready=None), "--v=2": Behaviour(ready=None)})
    node.kubelet.instances[0].behaviour = Behaviour(ready=None)
    node.stabilize()
    node.clock.pace = 10
    result = node.change()
    assert result["outcome"] == ROLLED_BACK
    assert text_of(node) == OLD


def test_a_kubelet_that_does_nothing_is_named_by_what_is_missing(node: FakeNode) -> None:
    """Nothing stops and nothing starts: the former process still runs, so the former bytes prove at once."""
    node.kubelet.enabled = False
    result = node.change()
    assert result["outcome"] == ROLLED_BACK
    assert "it stops" in result["reason"]


# ---- files -----------------------------------------------------------------------------------------------------------


def with_policy(node: FakeNode, text: str | None = "kind: Policy\n", **given: t.Any) -> dict[str, t.Any]:
    missing = [
        str(directory) for directory in (node.policy.parent.parent, node.policy.parent) if not directory.exists()
    ]
    return {"files": [node.entry(node.policy, text, **given)], "directories": missing}


def test_policy_files_are_there_before_the_manifest_names_them(node: FakeNode) -> None:
    seen: list[bool] = []
    node.once(WAITING, lambda: seen.append(node.policy.exists()))
    result = node.change(**with_policy(node, mode=0o640))
    assert result["outcome"] == COMMITTED
    assert seen == [True]
    assert node.policy.read_text(encoding="utf-8") == "kind: Policy\n"
    assert node.policy.stat().st_mode & 0o7777 == 0o640


@pytest.mark.parametrize(("mode", "directory"), [(0o640, 0o755), (0o600, 0o700)])
def test_a_new_directory_is_open_unless_all_of_it_is_secret(node: FakeNode, mode: int, directory: int) -> None:
    assert node.change(**with_policy(node, mode=mode))["outcome"] == COMMITTED
    assert node.policy.parent.stat().st_mode & 0o777 == directory


def test_a_restore_takes_files_and_directories_away_again(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None)
    result = node.change(**with_policy(node))
    assert result["outcome"] == ROLLED_BACK
    assert not node.policy.parent.parent.exists()


def test_a_restore_leaves_a_directory_that_is_used_by_now(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None)
    node.once(WAITING, lambda: (node.policy.parent / "theirs").write_text("x", encoding="utf-8"))
    assert node.change(**with_policy(node))["outcome"] == ROLLED_BACK
    assert os.listdir(node.policy.parent) == ["theirs"]


def test_a_restore_brings_content_and_mode_of_files_back(node: FakeNode) -> None:
    node.policy.parent.mkdir(parents=True)
    node.policy.write_bytes(b"theirs \xff\n")
    node.policy.chmod(0o444)
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None)
    node.prepare(**with_policy(node, mode=0o600))
    seen: list[bytes] = []
    node.once(WAITING, lambda: seen.append(node.policy.read_bytes()))
    assert node.run()["outcome"] == ROLLED_BACK
    assert seen == [b"kind: Policy\n"]
    assert node.policy.read_bytes() == b"theirs \xff\n"
    assert node.policy.stat().st_mode & 0o7777 == 0o444


def test_a_file_that_goes_is_removed_after_the_manifest_and_comes_back_before_it(node: FakeNode) -> None:
    node.policy.parent.mkdir(parents=True)
    node.policy.write_text("policy", encoding="utf-8")
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None)
    node.prepare(**with_policy(node, None))
    seen: list[bool] = []
    node.once(WAITING, lambda: seen.append(node.policy.exists()))
    assert node.run()["outcome"] == ROLLED_BACK
    assert seen == [False]
    assert node.policy.read_text(encoding="utf-8") == "policy"


def test_a_change_of_a_files_mode_alone_is_made_and_reverted(node: FakeNode) -> None:
    node.policy.parent.mkdir(parents=True)
    node.policy.write_text("same", encoding="utf-8")
    node.policy.chmod(0o644)
    node.prepare(**with_policy(node, "same", mode=0o600))
    assert node.run()["outcome"] == COMMITTED
    assert node.policy.stat().st_mode & 0o7777 == 0o600


class Blocked(t.NamedTuple):
    """Why a file cannot be written, by any program; and what has to be there again afterwards."""

    path: str
    blocker: str


BLOCKED = {
    "its directory is a file": Blocked("blocked/policy.yaml", "blocked"),
    "its temporary name is too long": Blocked("x" * 250, ""),
    "its temporary name is taken by a directory": Blocked("policy.yaml", ".policy.yaml.nodecraft-kubeadm/"),
}


@pytest.mark.parametrize("blocked", BLOCKED.values(), ids=BLOCKED)
def test_a_file_that_cannot_be_written_leaves_everything_as_it_was(
    node: FakeNode, tmp_path: Path, blocked: Blocked
) -> None:
    if blocked.blocker.endswith("/"):
        (tmp_path / blocked.blocker).mkdir()
    elif blocked.blocker:
        (tmp_path / blocked.blocker).write_text("a file", encoding="utf-8")
    first, second = with_policy(node), node.entry(tmp_path / blocked.path, "content")
    result = node.change(files=[*first["files"], second], directories=first["directories"])
    assert result["outcome"] == ABORTED
    assert result["reason"].startswith("a file could not be written: ")
    assert text_of(node) == OLD
    assert not node.policy.parent.parent.exists()
    assert node.messages == []


def test_a_manifest_that_cannot_be_written_leaves_everything_as_it_was(node: FakeNode) -> None:
    blocker = node.manifests / f".{node.manifest.name}.nodecraft-kubeadm"
    blocker.mkdir()
    result = node.change(**with_policy(node))
    assert result["outcome"] == ABORTED
    assert text_of(node) == OLD
    assert not node.policy.parent.parent.exists()


def test_a_restore_that_cannot_be_written_is_tried_until_it_can(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None)
    blocker = node.manifests / f".{node.manifest.name}.nodecraft-kubeadm"
    node.once(WAITING, blocker.mkdir)
    node.at(40, blocker.rmdir)
    assert node.change()["outcome"] == ROLLED_BACK
    assert text_of(node) == OLD
    assert any(message.startswith("cannot be rolled back yet: ") for message in node.messages)


def test_a_restore_that_can_never_be_written_is_an_alarm(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None)
    blocker = node.manifests / f".{node.manifest.name}.nodecraft-kubeadm"
    node.once(WAITING, blocker.mkdir)
    node.clock.pace = 10
    result = node.change()
    assert result["outcome"] == ALARM
    assert "the rollback to the former files failed" in result["reason"]
    assert text_of(node) == NEW


def test_a_full_disk_of_ours_does_not_keep_the_component_down(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that a restore needs is on the disk before the change begins."""
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None)
    node.prepare()
    full: list[bool] = []

    def save(directory: str, journal: Journal) -> None:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        save_journal(directory, journal)

    monkeypatch.setattr(open_journal, "save_journal", save)
    node.at(2, lambda: full.append(True))
    node.at(60, full.clear)
    result = node.run()
    assert result["outcome"] == ROLLED_BACK
    assert text_of(node) == OLD


# ---- other writers ---------------------------------------------------------------------------------------------------


def test_a_foreign_edit_before_the_change_is_kept_and_the_change_abandoned(node: FakeNode) -> None:
    node.prepare(**with_policy(node))
    node.foreign_edit()
    result = node.run()
    assert result["outcome"] == ABORTED
    assert "was changed by another process in the meantime" in result["reason"]
    assert text_of(node) == FOREIGN
    assert not node.policy.exists()


def test_a_foreign_file_where_ours_would_go_is_kept_and_the_change_abandoned(node: FakeNode) -> None:
    node.prepare(**with_policy(node))
    node.policy.parent.mkdir(parents=True)
    node.policy.write_text("theirs", encoding="utf-8")
    result = node.run()
    assert result["outcome"] == ABORTED
    assert node.policy.read_text(encoding="utf-8") == "theirs"
    assert text_of(node) == OLD


def test_a_foreign_edit_after_the_change_is_an_alarm_and_nothing_is_written(node: FakeNode) -> None:
    node.prepare(**with_policy(node))
    node.once(WAITING, node.foreign_edit)
    result = node.run()
    assert result["outcome"] == ALARM
    assert f"not rolled back, because another process changed {node.manifest}" in result["reason"]
    assert text_of(node) == FOREIGN
    assert node.policy.exists()


def test_a_foreign_edit_of_a_policy_file_after_the_change_is_an_alarm(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None)
    node.prepare(**with_policy(node))
    node.once(WAITING, lambda: node.policy.write_text("theirs", encoding="utf-8"))
    result = node.run()
    assert result["outcome"] == ALARM
    assert text_of(node) == NEW
    assert node.policy.read_text(encoding="utf-8") == "theirs"


def test_a_manifest_that_vanished_after_the_change_is_an_alarm_and_nothing_is_written(node: FakeNode) -> None:
    node.prepare()

    def vanish() -> None:
        node.manifest.rename(node.manifests / ".taken-away")
        node.clock.watchers.remove(node.check_manifest)

    node.once(WAITING, vanish)
    result = node.run()
    assert result["outcome"] == ALARM
    assert not node.manifest.exists()
    (node.manifests / ".taken-away").rename(node.manifest)
    node.watcher.events()


# ---- edits that were not read yet ----------------------------------------------------------------------------------


def edit_while_watched(node: FakeNode, action: t.Callable[[], t.Any], **given: t.Any) -> Json:
    """The new state is healthy; another program edits in the watched seconds, and no kubelet looks."""
    node.prepare(min_ready_seconds=30, **given)

    def act() -> None:
        node.kubelet.enabled = False
        action()

    node.at(15, act)
    return node.run()


@pytest.mark.parametrize("rollback", [True, False])
def test_an_edit_in_the_watched_seconds_is_never_committed_over(node: FakeNode, rollback: bool) -> None:
    result = edit_while_watched(node, node.foreign_edit, rollback=rollback)
    assert result["outcome"] == ALARM
    assert f"{node.manifest} was changed by another process while kube-apiserver was watched" in result["reason"]
    assert node.manifest.read_text(encoding="utf-8") == FOREIGN


def test_an_edit_of_a_policy_file_in_the_watched_seconds_is_an_alarm(node: FakeNode) -> None:
    result = edit_while_watched(
        node,
        lambda: node.policy.write_text("theirs", encoding="utf-8"),
        files=[node.entry(node.policy, "policy")],
        directories=[str(node.policy.parent)],
    )
    assert result["outcome"] == ALARM
    assert str(node.policy) in result["reason"]
    assert node.policy.read_text(encoding="utf-8") == "theirs"
    assert node.manifest.read_text(encoding="utf-8") == NEW


def test_a_file_that_is_reverted_in_the_watched_seconds_is_not_committed(node: FakeNode) -> None:
    result = edit_while_watched(node, lambda: node.write_manifest(OLD))
    assert result["outcome"] != COMMITTED
    assert "was changed by another process" in result["reason"]
    assert node.manifest.read_text(encoding="utf-8") == OLD


def test_an_edit_while_the_former_state_is_verified_is_an_alarm(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None)
    node.prepare()
    node.once(VERIFYING, node.foreign_edit)
    result = node.run()
    assert result["outcome"] == ALARM
    assert f"but {node.manifest} was changed by another process" in result["reason"]


# ---- what stays ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ready", [1.0, None])
def test_mode_and_owner_stay_over_commit_and_restore(node: FakeNode, ready: float | None) -> None:
    node.manifest.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(node.manifest, 1234, 4321)
    status = node.manifest.stat()
    journal = node.journal()
    journal["files"][-1]["before"] = node.version(node.manifest)
    journal["files"][-1]["after"].update(mode=0o640, uid=status.st_uid, gid=status.st_gid)
    save_journal(str(node.state), journal)
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=ready)
    assert node.run()["outcome"] == (COMMITTED if ready else ROLLED_BACK)
    after = node.manifest.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (status.st_mode, status.st_uid, status.st_gid)


def test_a_symbolic_link_stays_and_its_target_is_changed(node: FakeNode, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.yaml"
    node.manifest.rename(target)
    node.manifest.symlink_to(target)
    node.watcher.events()
    assert node.change()["outcome"] == COMMITTED
    assert node.manifest.is_symlink()
    assert target.read_text(encoding="utf-8") == NEW
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_a_link_that_leads_nowhere_does_so_again_after_a_restore(node: FakeNode, tmp_path: Path) -> None:
    target, seen = tmp_path / "elsewhere.yaml", []
    node.policy.parent.mkdir(parents=True)
    node.policy.symlink_to(target)
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None)
    node.once(WAITING, lambda: seen.append(target.exists()))
    assert node.change(**with_policy(node))["outcome"] == ROLLED_BACK
    assert seen == [True]
    assert node.policy.is_symlink()
    assert not target.exists()


def test_everything_of_ours_is_for_root_alone(node: FakeNode) -> None:
    umask = os.umask(0o022)
    try:
        node.prepare()
        open_mode = node.journal_path.stat().st_mode & 0o7777
        node.run()
    finally:
        os.umask(umask)
    assert open_mode == 0o600
    for directory in ("history", "backup"):
        assert (node.state / directory).stat().st_mode & 0o7777 == 0o700
        (closed,) = (node.state / directory).iterdir()
        assert closed.stat().st_mode & 0o7777 == 0o600
    assert (node.state / "lock").stat().st_mode & 0o7777 == 0o600


def test_the_result_holds_no_content_of_files(node: FakeNode) -> None:
    node.change(**with_policy(node, "secret"))
    result = json.dumps(node.result())
    encoded = node.entry(node.policy, "secret")["after"]["content"]
    assert "secret" not in result
    assert encoded not in result

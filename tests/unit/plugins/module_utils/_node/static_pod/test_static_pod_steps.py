# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the parameters of static_pod to the end of its transaction."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import FORMAT
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    CLOSED,
    COMMITTED,
    KEEP_HISTORY,
    ROLLED_BACK,
    SIDES,
    UNHEALTHY,
    Journal,
    save_journal,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import Host
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet import kubelet_down
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime import programs
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import (
    preflight,
    static_pod_journal,
    static_pod_steps,
    static_pods,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import (
    journal_history,
    owned_record,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.verdict import REFUSED, Verdict
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.documents import documented, schema_errors
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, OLD, Behaviour, FakeNode, pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun
from ansible_collections.nodecraft.kubeadm.tests.unit.support.owners import Owners
from ansible_collections.nodecraft.kubeadm.tests.unit.support.static_pod_runs import carry_out, report, steps

RUNNERS = {"rehearsal"}  # what the runner adds
UNFINISHED = {"id", "requested", "outcome", "longest_seconds"}  # of a transaction


def test_a_change_from_the_desired_state_to_the_commit(master: FakeNode, run: FakeRun) -> None:
    master.allowed.add(pod("--v=4", "--feature-gates=A=true").encode())
    report = carry_out(master, run, args={"v": 4}, feature_gates={"A": True})
    assert schema_errors("static_pod", {**report, "transaction": None}, added_later=RUNNERS) == []
    assert set(report["transaction"]) == UNFINISHED
    assert (report["name"], report["node"], report["manifest"]) == (NAME, "cp1", str(master.manifest))
    assert {operation["key"] for operation in report["operations"]} == {"A", "v"}
    assert report["transaction"]["outcome"] is None
    assert report["transaction"]["longest_seconds"] >= 2 * (20 + 3)
    assert report["transaction"]["id"] == master.closed()["id"]
    assert master.result()["outcome"] == COMMITTED
    assert "--feature-gates=A=true" in master.manifest.read_text(encoding="utf-8")
    record = Path(owned_record.record_path(NAME))
    assert record.stat().st_mode & 0o7777 == 0o600
    assert set(json.loads(record.read_text(encoding="utf-8"))["owned"]) == {"args", "feature_gates"}


def test_the_end_of_a_change_is_reported_under_the_id_that_it_was_given(master: FakeNode, run: FakeRun) -> None:
    master.allowed.add(pod("--v=4").encode())
    result = carry_out(master, run, args={"v": 4})
    started = result["transaction"]
    ended = report(run, id=started["id"])["transaction"]
    assert (ended["id"], ended["outcome"]) == (started["id"], COMMITTED)
    assert schema_errors("static_pod", {**result, "transaction": ended}, added_later=RUNNERS) == []
    assert documented("static_pod", "transaction") == documented("kubelet", "transaction")


def test_f20_an_outcome_is_reported_where_it_cannot_be_noted_that_it_was(master: FakeNode, run: FakeRun) -> None:
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
    assert (
        journal_history.describe_transactions(NAME)["last_known_good"]
        == journal_history.ended_ids(NAME)[-1]
        == started["id"]
    )
    assert journal_history.unreported_outcome(NAME) is None


def test_purge_gives_the_bytes_back_and_drops_the_record(master: FakeNode, run: FakeRun) -> None:
    master.allowed.add(pod("--v=4").encode())
    carry_out(master, run, args={"v": 4})
    assert static_pods.read_static_pod(NAME, str(master.manifests), "cp1").record
    carry_out(master, run, purge=True)
    assert master.manifest.read_text(encoding="utf-8") == OLD
    assert not Path(owned_record.record_path(NAME)).exists()


def test_directories_made_for_files_go_with_the_last_of_them(master: FakeNode, run: FakeRun) -> None:
    def change(**desired: t.Any) -> None:
        planned = steps(master, run, dry=True, **desired)
        with planned.session():
            planned.read()
            master.allowed.add(planned.plan().after.text.encode())
        carry_out(master, run, **desired)

    policies, former = master.manifests.parent / "policies", master.manifests.parent / "former"
    former.mkdir()
    first, second = policies / "a" / "policy.yaml", policies / "b" / "policy.yaml"
    volumes = [samples.volume("policies", str(master.manifests.parent))]
    change(volumes=volumes, files=[samples.file(str(first), "x"), samples.file(str(former / "x.yaml"), "x")])
    change(files=[samples.file(str(second), "x")])
    change(files=[samples.file(str(second), "x")], purge=True)
    assert not first.parent.exists()
    assert second.exists()
    change(state="absent")
    assert not policies.exists()
    assert list(former.iterdir()) == []
    assert master.manifest.read_text(encoding="utf-8") == OLD


def test_the_record_notes_the_image_of_our_last_write(master: FakeNode, run: FakeRun) -> None:
    """It distinguishes a manifest that kubeadm wrote for another version from one that someone edited."""
    master.allowed.add(pod("--v=4").encode())
    carry_out(master, run, args={"v": 4})
    before = static_pods.read_static_pod(NAME, str(master.manifests), "cp1")
    assert before.written_image == before.manifest.container["image"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", before.changed)
    upgraded = pod("--v=4").replace("v1.37.2", "v1.36.3")
    master.foreign_edit(upgraded)
    unchanged = steps(master, run, args={"v": 4})
    with unchanged.session():
        unchanged.read()
        assert unchanged.plan().operations == ()
        unchanged.verify()
    after = static_pods.read_static_pod(NAME, str(master.manifests), "cp1")
    assert (after.written_image, after.record) == ("registry.k8s.io/kube-apiserver:v1.36.3", before.record)
    master.foreign_edit(pod().replace("v1.37.2", "v1.36.3"))
    stopped = steps(master, run, args={"v": 4})
    with stopped.session():
        stopped.read()
        with pytest.raises(Refusal, match=r"it was removed: the file was changed at \d"):
            stopped.plan()


def test_the_record_keeps_the_manifest_from_before_until_others_change_it(master: FakeNode, run: FakeRun) -> None:
    def former() -> str | None:
        return static_pods.read_static_pod(NAME, str(master.manifests), "cp1").former

    assert former() is None
    for level in (4, 5):
        master.allowed.add(pod(f"--v={level}").encode())
        carry_out(master, run, args={"v": level})
        assert former() == OLD
    master.foreign_edit(f"{pod('--v=5')}# by someone else\n")
    assert former() is None
    master.allowed.add(f"{pod('--v=6')}# by someone else\n".encode())
    carry_out(master, run, args={"v": 6})
    assert former() is None


def test_a_control_plane_that_was_joined_again_has_manifests_of_kubeadm(master: FakeNode, run: FakeRun) -> None:
    """Nothing was taken out of them, though their image is the one of our last write."""
    master.allowed.add(pod("--v=4").encode())
    carry_out(master, run, args={"v": 4})
    master.foreign_edit(OLD)
    joined = os.stat(owned_record.record_path(NAME)).st_mtime + 60
    root = master.proc / "50/root"
    for name in ("var/lib/kubelet/pki/kubelet-client-2026-01-01-00-00-00.pem", "etc/kubernetes/kubelet.conf"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
        os.utime(root / name, (joined, joined))
    again = steps(master, run, args={"v": 4})
    with again.session():
        again.read()
        assert again.plan().lost == {"args": ["v"]}
        again.apply()
    paths = [entry["path"] for entry in master.opened()["files"]]
    assert owned_record.record_path(NAME) in paths, (
        "it is newer than that then, so the next value that is missing was taken out"
    )


def test_what_an_upgrade_took_is_reported(master: FakeNode, run: FakeRun) -> None:
    master.allowed.add(pod("--v=4").encode())
    carry_out(master, run, args={"v": 4})
    master.foreign_edit(OLD.replace("v1.37.2", "v1.36.3"))
    master.allowed.add(pod("--v=4").replace("v1.37.2", "v1.36.3").encode())
    assert carry_out(master, run, args={"v": 4})["lost"] == {"args": ["v"]}
    assert static_pods.read_static_pod(NAME, str(master.manifests), "cp1").written_image is not None
    assert steps(master, run).report()["lost"] == {}


def test_a_restore_takes_the_record_back_too(master: FakeNode, run: FakeRun) -> None:
    master.allowed.add(pod("--v=4").encode())
    master.kubelet.behaviours["--v=4"] = Behaviour(ready=None)
    master.clock.pace = 4
    original = static_pod_journal.static_pod_journal

    def with_probe(*given: t.Any) -> Journal:
        journal = original(*given)
        for side in SIDES:
            journal["watch"][side]["probes"] = [master.web.probe()]
        return journal

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static_pod_journal, "static_pod_journal", with_probe)  # a probe that succeeds on this machine
        carry_out(master, run, args={"v": 4})
    assert master.result()["outcome"] == ROLLED_BACK
    assert not Path(owned_record.record_path(NAME)).exists()


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


def test_new_file_in_a_refused_rehearsal_is_no_revert(
    master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refused = Verdict(REFUSED, "unknown gate")
    monkeypatch.setattr(programs, "rehearse", lambda *_arguments, **_options: refused)
    volumes = [samples.volume("policies", str(tmp_path), path_type="DirectoryOrCreate")]
    files = [samples.file(str(tmp_path / "policy.yaml"), "x")]
    dry = steps(master, run, dry=True, volumes=volumes, files=files)
    with dry.session():
        dry.read()
        dry.plan()
        assert dry.rehearse().message == "unknown gate"


@pytest.mark.parametrize("dry", [True, False])
def test_a_change_that_no_kubelet_would_start_is_refused(master: FakeNode, run: FakeRun, dry: bool) -> None:
    config = master.proc / "50/root/var/lib/kubelet/config.yaml"
    config.write_text(f"staticPodPath: {master.manifests}\nhealthzPort: {master.web.port}\n", encoding="ascii")
    master.web.health_status = 503
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


def test_the_preflight_reports_what_a_user_should_know(
    master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "check", lambda *given: ("etcd is alone",))
    change = steps(master, run, dry=True, args={"v": 4})
    with change.session():
        change.read()
        assert change.plan().warnings[0] == "etcd is alone"


def carry_out_nothing(master: FakeNode, run: FakeRun, *, dry: bool = False, **desired: t.Any) -> list[str]:
    """A run of the module that has nothing to change; what it warned of."""
    idle = steps(master, run, dry=dry, **desired)
    with idle.session():
        idle.read()
        plan = idle.plan()
        assert not plan.operations
        idle.verify()
        return list(plan.warnings)


def test_nothing_to_change_is_no_success_over_a_component_that_is_down(master: FakeNode, run: FakeRun) -> None:
    assert carry_out_nothing(master, run) == []
    master.kubelet.kill(master.kubelet.instances[0])
    for dry in (False, True):
        with pytest.raises(KubeadmError, match="kube-apiserver on cp1: there is nothing to change, but it is down"):
            carry_out_nothing(master, run, dry=dry)


def test_a_component_that_is_broken_is_reported_with_its_last_transaction_and_words(
    master: FakeNode, run: FakeRun
) -> None:
    master.kubelet.behaviours["--v=2"] = Behaviour(ready=None, log=("E1 why it hangs",))
    assert master.change(rollback=False)["outcome"] == UNHEALTHY
    master.kubelet.kill(master.kubelet.instances[-1])
    with pytest.raises(KubeadmError, match=r"logged last: E1 why it hangs. .*ended unhealthy: .*not healthy"):
        carry_out_nothing(master, run)


def test_unreadable_file_beside_the_manifest_is_not_verified(master: FakeNode, run: FakeRun) -> None:
    (master.manifests / ".two").write_text("kind: Pod\n---\nkind: Pod\n", encoding="utf-8")
    (master.manifests / ".two").rename(master.manifests / "two.yaml")
    found = steps(master, run, args={"v": 1})
    with found.session():
        found.read()
        note = found.notes()[0]
    (master.manifests / "two.yaml").unlink()
    master.watcher.events()
    assert note.startswith(f"cp1: {NAME}: not verified: whether its kubelet takes ")
    assert note.endswith("/two.yaml for it: it cannot be read as a pod")


@pytest.mark.parametrize("age", [60, -60])
def test_file_that_is_newer_than_the_process_is_not_verified(
    master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch, age: int
) -> None:
    policy = master.manifests.parent / "policy.yaml"
    desired: dict[str, t.Any] = {
        "volumes": [samples.volume("policies", str(master.manifests.parent))],
        "files": [samples.file(str(policy), "x")],
    }
    first = steps(master, run, dry=True, **desired)
    with first.session():
        first.read()
        master.allowed.add(first.plan().after.text.encode())
    carry_out(master, run, **desired)
    monkeypatch.setattr(Host, "read_start_time", lambda host, pid: policy.stat().st_mtime + age)
    again = steps(master, run, **desired)
    with again.session():
        again.read()
        assert not again.plan().operations
        again.verify()
    warnings = [
        each for each in again.report()["unverified"] if each.startswith(f"whether it has read {policy} as it is: ")
    ]
    assert len(warnings) == (age < 0)


def test_file_that_only_an_argument_names_is_not_verified_when_it_is_newer(
    master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = master.manifests.parent / "policy.yaml"
    policy.write_text("x", encoding="ascii")
    desired: dict[str, t.Any] = {
        "volumes": [samples.volume("policies", str(master.manifests.parent))],
        "args": {"audit-policy-file": str(policy)},
    }
    first = steps(master, run, dry=True, **desired)
    with first.session():
        first.read()
        master.allowed.add(first.plan().after.text.encode())
    carry_out(master, run, **desired)
    started = policy.stat().st_mtime - 60
    monkeypatch.setattr(Host, "read_start_time", lambda host, pid: started)
    again = steps(master, run, **desired)
    with again.session():
        again.read()
        assert not again.plan().operations
        again.verify()
    (unverified,) = (each for each in again.report()["unverified"] if each.startswith("whether it has read "))
    assert unverified.startswith(f"whether it has read {policy} as it is: the file was changed at ")
    policy.unlink()  # so it would not start again
    again = steps(master, run, **desired)
    with again.session():
        again.read()
        assert not again.plan().operations
        again.verify()
    (unverified,) = (each for each in again.report()["unverified"] if each.startswith("whether it has read "))
    assert unverified.startswith(f"whether it has read {policy} as it is: the file does not exist")


def test_component_whose_kubelet_is_down_is_not_verified(
    master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubelet = kubelet_down.read_running_kubelet(run, master.host, 0)
    down = dataclasses.replace(kubelet, problem="is down")
    monkeypatch.setattr(static_pod_steps, "read_running_kubelet", lambda *given: down)
    found = steps(master, run, args={"v": 1})
    with found.session():
        found.read()
        assert not found.plan().operations
        found.verify()
    assert found.report()["unverified"] == ["whether it works: its kubelet does not, so it was not looked at"]


UNKNOWN = "exec probe: not known"


def test_component_with_unknown_probe_is_not_verified(
    master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    genuine = static_pods.observe
    monkeypatch.setattr(
        static_pods, "observe", lambda *a, **k: genuine(*a, **k)._replace(probes=(UNKNOWN,), unknown=(UNKNOWN,))
    )
    found = steps(master, run, args={"v": 1})
    with found.session():
        found.read()
        found.plan()
        found.verify()
    assert found.report()["unverified"][0] == f"whether its probes pass: {UNKNOWN}"


def test_what_another_program_changed_is_foreign_from_then_on(master: FakeNode, run: FakeRun) -> None:
    master.allowed.add(pod("--v=4").encode())
    carry_out(master, run, args={"v": 4})
    master.foreign_edit(pod("--v=3"))
    for dummy in range(60):
        master.clock.sleep(0.5)
    (warning,) = carry_out_nothing(master, run, dry=True, purge=True)
    assert "left alone from now on" in warning
    assert carry_out_nothing(master, run, purge=True) == [warning]
    assert carry_out_nothing(master, run, purge=True) == []


def test_without_diff_mode_there_is_no_diff(master: FakeNode, run: FakeRun) -> None:
    quiet = steps(master, run, dry=True, diff=False, args={"v": 4})
    with quiet.session():
        quiet.read()
        quiet.plan()
    assert quiet.report()["diff"] == []


def test_the_report_has_its_keys_before_anything_was_read(master: FakeNode, run: FakeRun) -> None:
    assert schema_errors("static_pod", steps(master, run).report(), added_later=RUNNERS) == []


@pytest.mark.parametrize("given", [{"wait_timeout": 0}, {"min_ready_seconds": -1}, {"name": "../x"}])
def test_bad_parameters_are_refused_before_anything_is_touched(
    master: FakeNode, run: FakeRun, given: dict[str, t.Any]
) -> None:
    with pytest.raises(Refusal), steps(master, run, **given).session():
        pass
    assert run.calls == []
    assert os.listdir(master.state) == []


def test_a_policy_file_in_the_directory_of_manifests_is_refused(master: FakeNode, run: FakeRun) -> None:
    bad = steps(master, run, files=[samples.file(str(master.manifests / "policy.yaml"), "x")])
    with bad.session(), pytest.raises(KubeadmError, match="would be in the directory of static pods"):
        bad.read()
    report = bad.report()
    assert (report["node"], report["manifest"]) == ("cp1", str(master.manifest)), (
        "what is known by then is in the report"
    )


def test_a_policy_file_among_our_own_state_is_refused(master: FakeNode, run: FakeRun) -> None:
    bad = steps(master, run, files=[samples.file(str(master.state / "owned.json"), "x")])
    with bad.session(), pytest.raises(KubeadmError, match="where this collection keeps its own state"):
        bad.read()


def test_a_policy_file_in_a_directory_of_others_is_refused(
    master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = master.manifests.parent / "theirs"
    theirs.mkdir()
    Owners(monkeypatch).give(theirs)
    (theirs / "policy.yaml").symlink_to(master.manifests.parent / "target")
    bad = steps(master, run, files=[samples.file(str(theirs / "policy.yaml"), "x")])
    with (
        bad.session(),
        pytest.raises(Refusal, match=r"theirs belongs to \w+ \(uid 65534\), who can replace what is in it"),
    ):
        bad.read()


def test_a_link_that_is_followed_shows_its_target(master: FakeNode, run: FakeRun) -> None:
    policies = master.manifests.parent / "policies"
    policies.mkdir()
    (policies / "link.yaml").symlink_to(policies / "real.yaml")
    (policies / "real.yaml").write_text("old", encoding="utf-8")
    volume = {
        "name": "policies",
        "host_path": str(policies),
        "mount_path": str(policies),
        "read_only": True,
        "path_type": None,
        "state": "present",
    }
    found = steps(master, run, dry=True, volumes=[volume], files=[samples.file(str(policies / "link.yaml"), "new")])
    with found.session():
        found.read()
        found.plan()
    path_with_target = f"{policies / 'link.yaml'} -> {policies / 'real.yaml'}"
    assert path_with_target in [operation["key"] for operation in found.report()["operations"]]
    assert path_with_target in [entry["after_header"] for entry in found.report()["diff"]]

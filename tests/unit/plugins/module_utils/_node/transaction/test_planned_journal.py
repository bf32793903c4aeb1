# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of a planned change, and what it starts."""

from __future__ import annotations

import os
import typing as t
import zipfile
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import FORMAT
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    PREPARED,
    WAITING,
    content_of,
    copies_of,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.program import STUCK
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import (
    disk_space,
    owned_record,
    planned_journal,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Busy, KubeadmError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import FileChange, FileVersion
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.plan import KubeletFileChange
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.policy_files import PolicyFileChange
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, OLD, FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun
from ansible_collections.nodecraft.kubeadm.tests.unit.support.static_pod_runs import change_while, steps

UNIT = "nodecraft-kubeadm@kube-apiserver.service"


def test_what_a_journal_holds(master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CLIENT", "10.0.0.99 51000 22")
    policy = master.policy
    volume = samples.volume("audit", str(policy.parent), path_type="DirectoryOrCreate")
    desired: dict[str, t.Any] = {
        "files": [samples.file(str(policy), "p", mode="0640")],
        "volumes": [volume],
        "args": {"audit-policy-file": str(policy)},
        "feature_gates": {"A": True},
        "rollback": False,
    }
    all_steps = steps(master, run, **desired)
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
        owned_record.record_path(NAME),
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
    run.results["systemctl start"] = (1, "", "Unit is masked\n")
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


def test_without_room_nothing_is_started(master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_space, "COPIES", 10**12)
    all_steps = steps(master, run, args={"v": 4})
    with all_steps.session():
        all_steps.read()
        all_steps.plan()
        with pytest.raises(KubeadmError, match=r"bytes free, and this change needs .*Nothing was changed"):
            all_steps.apply()
    assert os.listdir(master.state) == ["lock"]
    assert not run.ran("systemctl start")


def test_a_journal_that_appeared_meanwhile_is_never_overwritten(master: FakeNode, run: FakeRun) -> None:
    all_steps = steps(master, run, args={"v": 4})
    with pytest.raises(Busy, match="transaction theirs"):
        change_while(all_steps, lambda: master.prepare(phase=WAITING, id="theirs"))
    assert master.opened()["id"] == "theirs"
    assert all_steps.report()["busy"] is True


@pytest.mark.parametrize(("kind", "mode"), [(FileChange, 0o644), (KubeletFileChange, 0o600)])
def test_a_file_that_was_closed_since_it_was_read_is_not_opened_again(
    tmp_path: Path, kind: type[FileChange], mode: int
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o644)
    change = kind(str(path), FileVersion(b"old", 0o644, 7, 7), FileVersion(b"new", 0o644, 7, 7))
    path.chmod(0o600)
    entry = planned_journal.file_entry(change)
    assert entry["before"] is not None
    assert entry["after"] is not None
    assert entry["before"]["mode"] == 0o600
    # A mode that a task sets is used; a kubelet's file keeps its own.
    assert entry["after"]["mode"] == mode
    assert (entry["after"]["uid"], entry["after"]["gid"]) == (os.getuid(), os.getgid())


@pytest.mark.parametrize(("chosen", "owner"), [((), None), (("gid", "uid"), (7, 8))])
def test_an_owner_that_a_task_chose_is_what_a_file_gets(
    tmp_path: Path, chosen: tuple[str, ...], owner: tuple[int, int] | None
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    after = FileVersion(b"new", 0o600, 7, 8)
    entry = planned_journal.file_entry(
        PolicyFileChange(str(path), FileVersion(b"old", 0o644), after, False, True, chosen)
    )
    assert entry["after"] is not None
    assert (entry["after"]["uid"], entry["after"]["gid"]) == (owner or (os.getuid(), os.getgid()))

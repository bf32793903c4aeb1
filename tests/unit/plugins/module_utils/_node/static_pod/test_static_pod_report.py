# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of static_pod_info for a node."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import COMMITTED, WAITING
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod.static_pod_report import read_all
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import (
    owned_record,
    transaction_progress,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.documents import schema_errors
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, NEW, OLD, FakeNode, pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun
from ansible_collections.nodecraft.kubeadm.tests.unit.support.static_pod_runs import carry_out


def test_what_is_reported_of_a_node(master: FakeNode, run: FakeRun) -> None:
    master.allowed.add(pod("--v=4").encode())
    machine = master.proc / "50/root/etc/machine-id"
    machine.parent.mkdir()
    machine.write_text("m\n", encoding="ascii")
    assert carry_out(master, run, args={"v": 4})["cluster"]["machine_id"] == "m"
    (master.manifests / ".hidden").write_text("x", encoding="ascii")
    found = read_all(None, None, run=run, warn=pytest.fail, host=master.host)
    assert (found["node"], found["manifest_dir"], found["unreadable_files"]) == ("cp1", str(master.manifests), [])
    (described,) = found["static_pods"]
    assert schema_errors("static_pod_info", found) == []
    assert found["cluster"] == {"ca_sha256": "", "server": "", "machine_id": "m"}
    assert described["name"] == NAME
    assert described["args"] == {"v": ["4"]}
    assert described["owned"] == {"args": ["v"]}
    assert described["in_sync"] is True
    assert (described["ready"], described["problem"]) == (True, None)
    assert described["process"]["pid"] == master.kubelet.instances[0].pid
    assert described["process"]["started"] > 1700000000
    assert described["last_transaction"]["outcome"] == COMMITTED
    assert described["last_known_good"] == master.closed()["id"]
    assert (described["open_transaction"], described["error"], described["stray_files"]) == (None, None, [])
    assert described["unverified"] == ["whether it works: its manifest has no probe, so only its process was watched"]


def test_manifest_in_place_of_directory_is_reported(master: FakeNode, run: FakeRun) -> None:
    (path,) = master.manifests.iterdir()
    found = read_all(None, str(path), run=run, warn=pytest.fail, host=master.host)
    assert [(each["name"], each["manifest"], each["ready"]) for each in found["static_pods"]] == [
        (NAME, str(path), True)
    ]
    assert read_all(None, f"{path}.none", run=run, warn=pytest.fail, host=master.host)["static_pods"] == []
    with pytest.raises(KubeadmError, match="cannot be listed"):
        read_all(None, f"{path}/below", run=run, warn=pytest.fail, host=master.host)


def test_what_is_ours_what_an_upgrade_took_and_what_someone_took_out(master: FakeNode, run: FakeRun) -> None:
    def described() -> tuple[object, ...]:
        (found,) = read_all(NAME, None, run=run, warn=pytest.fail, host=master.host)["static_pods"]
        return found["owned"], found["lost"], found["removed"]

    both, one = pod("--v=4", "--feature-gates=A=true"), pod("--v=1", "--feature-gates=A=true")
    master.allowed.add(both.encode())
    carry_out(master, run, args={"v": 4}, feature_gates={"A": True})
    assert described() == ({"args": ["v"], "feature_gates": ["A"]}, {}, {})
    master.foreign_edit(one)
    assert described() == ({"feature_gates": ["A"]}, {}, {"args": ["v"]})
    master.foreign_edit(OLD.replace("v1.37.2", "v1.36.3"))
    assert described() == ({}, {"args": ["v"], "feature_gates": ["A"]}, {})


def test_a_component_that_is_not_recognised_is_not_called_down(master: FakeNode, run: FakeRun) -> None:
    for directory in master.pod_logs.iterdir():
        shutil.rmtree(directory)
    (described,) = read_all(NAME, None, run=run, warn=pytest.fail, host=master.host)["static_pods"]
    assert (described["process"], described["ready"]) == (None, False)
    pid = master.kubelet.instances[0].pid
    assert f"runs in the node's network (PID {pid}), and could not be matched to the static pod" in described["problem"]
    assert "is down" not in described["problem"]


def test_what_is_reported_of_a_node_in_trouble(master: FakeNode, run: FakeRun, tmp_path: Path) -> None:
    directory = tmp_path / "others"
    directory.mkdir()
    (directory / "kube-apiserver.yaml").write_text(OLD + "\nx: &a b\n", encoding="utf-8")
    (directory / "notes.txt").write_text("no pod", encoding="utf-8")
    journal = master.prepare(phase=WAITING)
    found = read_all(NAME, str(directory), run=run, warn=pytest.fail, host=master.host)
    assert found["unreadable_files"] == [str(directory / "notes.txt")]
    (described,) = found["static_pods"]
    assert schema_errors("static_pod_info", found) == []
    assert "anchor" in described["error"]
    assert described["arguments"] is None
    assert (described["ready"], described["problem"]) == (False, described["error"])
    # Without the engine's progress file, which a power loss may take, the journal has the phase.
    assert (described["open_transaction"]["id"], described["open_transaction"]["phase"]) == (journal["id"], WAITING)
    assert read_all("etcd", str(directory), run=run, warn=pytest.fail, host=master.host)["static_pods"] == []
    assert read_all(None, str(directory / "missing"), run=run, warn=pytest.fail, host=master.host)["static_pods"] == []


def test_what_keeps_a_component_from_being_ready(master: FakeNode, run: FakeRun) -> None:
    master.foreign_edit(NEW)
    (described,) = read_all(None, None, run=run, warn=pytest.fail, host=master.host)["static_pods"]
    assert (described["ready"], described["problem"]) == (
        False,
        "starts, or runs with other arguments than its manifest has",
    )


def test_no_value_of_the_environment_is_reported(master: FakeNode, run: FakeRun) -> None:
    text = OLD.replace(
        "    name: kube-apiserver\n", "    env:\n    - name: TOKEN\n      value: secret\n    name: kube-apiserver\n"
    )
    master.foreign_edit(text)
    found = read_all(None, None, run=run, warn=pytest.fail, host=master.host)
    assert found["static_pods"][0]["env"] == ["TOKEN"]
    assert "secret" not in json.dumps(found)


def test_no_value_of_the_environment_is_reported_of_a_process_that_is_out_of_step(
    master: FakeNode, run: FakeRun
) -> None:
    """The process has the argument expanded, with the value that the variable had when it was started."""
    text = OLD.replace("--v=1", "--v=$(TOKEN)").replace(
        "    name: kube-apiserver\n", "    env:\n    - name: TOKEN\n      value: later\n    name: kube-apiserver\n"
    )
    master.foreign_edit(text)
    process = read_all(None, None, run=run, warn=pytest.fail, host=master.host)["static_pods"][0]["process"]
    assert process["arguments"][-1] == "--v=$(TOKEN)"


def test_a_damaged_record_of_one_static_pod_does_not_hide_the_others(master: FakeNode, run: FakeRun) -> None:
    Path(owned_record.record_path(NAME)).write_text("{", encoding="utf-8")
    (found,) = read_all(None, None, run=run, warn=pytest.fail, host=master.host)["static_pods"]
    assert found["error"] == found["problem"]
    assert f"{owned_record.record_path(NAME)} is damaged" in found["error"]


@pytest.mark.parametrize("name", ["../owned", "journal"])
def test_the_name_of_a_file_is_no_id(master: FakeNode, run: FakeRun, name: str) -> None:
    master.prepare()
    with pytest.raises(KubeadmError, match="must be the id of a transaction"):
        transaction_progress.report_progress(NAME, name, wait=0, seen="", dry=True, run=run)

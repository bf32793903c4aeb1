# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a restore ends that cannot be made, or does not bring back what was there, and what the kubelet says of a pod that it does not start."""

from __future__ import annotations

import errno
import os

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import open_journal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import Json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import ALARM, ROLLED_BACK, WAITING
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import LOG_PREFIX, NEW, Behaviour, FakeNode


def test_broken_component_that_ran_before_has_to_run_after_a_restore(node: FakeNode) -> None:
    node.kubelet.behaviours.update({"--v=1": Behaviour(start=1e6), "--v=2": Behaviour(ready=None)})
    node.kubelet.instances[0].behaviour = Behaviour(ready=None)
    node.stabilize()
    node.clock.pace = 10
    result = node.change()
    assert result["outcome"] == ALARM
    assert "rolled back to the former files, but kube-apiserver was not healthy" in result["reason"]


ADMISSION = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "no set of running pods found"}
WAITING_CONTAINER = {
    "containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull", "message": "no such host"}}}]
}


def mirror_pod(uid: str, status: Json) -> Json:
    return {"metadata": {"annotations": {"kubernetes.io/config.hash": uid}}, "status": status}


@pytest.mark.parametrize(
    ("status", "report"),
    [
        (ADMISSION, "UnexpectedAdmissionError: no set of running pods found"),
        (WAITING_CONTAINER, "ErrImagePull: no such host"),
    ],
)
def test_pod_that_is_never_started_quotes_its_mirror_pod(node: FakeNode, status: Json, report: str) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(start=1e6)
    node.http_get = lambda kubeconfig, path: (mirror_pod("e" * 32, status), "")
    result = node.change(wait_timeout=20)
    assert result["outcome"] == ROLLED_BACK
    assert "it is down, waiting for its start" in result["reason"]
    assert result["reason"].endswith(f"; its kubelet reports: {report}")


def test_mirror_pod_of_the_former_instance_is_not_quoted(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(start=1e6)
    former = node.kubelet.instances[0].uid
    node.http_get = lambda kubeconfig, path: (mirror_pod(former, WAITING_CONTAINER), "")
    assert "its kubelet reports" not in node.change(wait_timeout=20)["reason"]


def test_mirror_pod_of_the_former_instance_reports_that_the_new_one_is_not_admitted(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(start=1e6)
    former = node.kubelet.instances[0].uid
    node.http_get = lambda kubeconfig, path: (mirror_pod(former, ADMISSION), "")
    assert "its kubelet reports: UnexpectedAdmissionError: no set" in node.change(wait_timeout=20)["reason"]


def test_pod_that_is_never_started_quotes_the_last_error_about_it(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(start=1e6)
    former = node.kubelet.instances[0].uid
    name = LOG_PREFIX.rstrip("_").replace("_", "/")
    node.kubelet.log = "".join(
        f'E1129 15:16:19.540486 590 pod_workers.go:1338] "Error syncing pod, skipping" err="{error}" pod="{pod}" podUID="{uid}"\n'
        for error, pod, uid in (
            ("no sandbox image", name, "e" * 32),
            ("of the former one", name, former),
            ("of another pod", "kube-system/other", "e" * 32),
        )
    )
    result = node.change(wait_timeout=20)
    assert result["outcome"] == ROLLED_BACK
    assert 'err="no sandbox image"' in result["reason"]
    assert "former one" not in result["reason"]
    assert "another pod" not in result["reason"]


@pytest.mark.parametrize("error", [errno.EPERM, errno.EROFS])
def test_restore_to_an_immutable_file_is_an_alarm_at_once(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None)
    node.prepare(wait_timeout=20)

    def refuse(*args: object, **options: object) -> None:
        raise OSError(error, os.strerror(error))

    node.once(WAITING, lambda: monkeypatch.setattr(open_journal, "write_atomically", refuse))
    began = node.clock.now
    result = node.run()
    assert result["outcome"] == ALARM
    assert os.strerror(error) in result["reason"]
    assert node.clock.now - began < 60
    assert node.manifest.read_text(encoding="utf-8") == NEW

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rehearsals: what is handed to the sandbox, and what its answer comes to."""

from __future__ import annotations

import base64
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node import rehearsals, static_pods
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.verdict import (
    ACCEPTED,
    REFUSED,
    SKIPPED,
    Verdict,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import plan as static_pod
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import rehearsal
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, OLD, FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun


def rehearse(master: FakeNode, run: FakeRun, **wish: t.Any) -> Verdict:
    pod = static_pods.read_static_pod(wish.get("name", NAME), str(master.manifests), "cp1")
    files = {entry["path"]: None for entry in wish.get("files", [])}
    plan = static_pod.plan(samples.wish(**wish), static_pod.State(pod.manifest, {}, files))
    return rehearsals.rehearse(pod, plan, run=run, clock=master.clock, host=master.host)


def test_the_new_command_line_is_tried_with_the_running_binary(master: FakeNode, run: FakeRun) -> None:
    volume = samples.volume("audit", "/etc/audit", mount_path="/audit", path_type="DirectoryOrCreate")
    verdict = rehearse(
        master,
        run,
        args={"v": 4},
        env={"TOKEN": "secret"},
        volumes=[volume],
        files=[samples.file("/etc/audit/p", "text")],
    )
    assert verdict.verdict == ACCEPTED
    (request,) = run.requests
    assert request["binary_is_open"]
    assert request["root_is_empty_folder"]
    assert request["arguments"][:2] == [NAME, "--v=4"]
    assert list(verdict.command) == request["arguments"]
    assert request["environment"]["TOKEN"] == "secret"  # noqa: S105  # the component's, not ours
    assert {"source": "/etc/audit", "target": "/audit", "missing": "folder"} in request["mounts"]
    assert base64.b64decode(request["staged"]["/etc/audit/p"]) == b"text"
    assert run.calls[-1][:3] == ["timeout", "--signal=KILL", str(rehearsal.TIME_LIMIT)]


def test_no_value_of_the_environment_is_shown(master: FakeNode, run: FakeRun) -> None:
    verdict = rehearse(master, run, args={"v": "$(TOKEN)"}, env={"TOKEN": "secret"})
    assert "--v=secret" in run.requests[0]["arguments"]
    assert "secret" not in repr(verdict)


def test_no_value_of_the_environment_is_shown_by_a_refusal(master: FakeNode, run: FakeRun) -> None:
    run.answers["timeout"] = (1, "", 'invalid argument "secret" for "-v, --v" flag: strconv.ParseInt\n')
    verdict = rehearse(master, run, args={"v": "$(TOKEN)"}, env={"TOKEN": "secret"})
    assert (verdict.verdict, "secret" in verdict.message) == (REFUSED, False)
    assert 'invalid argument "$(TOKEN)"' in verdict.message


def test_a_refusal_carries_the_components_words(master: FakeNode, run: FakeRun) -> None:
    run.answers["timeout"] = (1, "", 'E1 run.go:72] "command failed" err="unrecognized feature gate: NoSuchGate"\n')
    verdict = rehearse(master, run, feature_gates={"NoSuchGate": True})
    assert (verdict.verdict, verdict.message) == (REFUSED, "unrecognized feature gate: NoSuchGate")


def test_a_sandbox_that_cannot_be_built_is_an_error(master: FakeNode, run: FakeRun) -> None:
    run.answers["timeout"] = (125, "", "sandbox: Operation not permitted: unshare\n")
    with pytest.raises(KubeadmError, match="could not be set up: sandbox: Operation not permitted"):
        rehearse(master, run, args={"v": 4})


def test_what_cannot_be_rehearsed_runs_nothing(master: FakeNode, run: FakeRun) -> None:
    verdict = rehearse(master, run, args={"service-account-signing-endpoint": "@x"})
    assert verdict.verdict == SKIPPED
    assert run.calls == []


def test_a_component_that_is_down_is_tried_out_of_its_image(master: FakeNode, run: FakeRun) -> None:
    text = OLD.replace("registry.k8s.io/kube-apiserver:v1.37.2", "example.com/api:v1")
    master.foreign_edit(text)
    master.kubelet.kill(master.kubelet.instances[0])

    def mount(arguments: list[str], **options: t.Any) -> tuple[int, str, str]:
        if arguments[:5] == ["ctr", "--namespace", "k8s.io", "images", "mount"]:
            assert arguments[5] == "example.com/api:v1"
            binaries = Path(arguments[6]) / "usr/local/bin"
            binaries.mkdir(parents=True)
            (binaries / NAME).write_text("binary", encoding="ascii")
        return run(arguments, **options)

    run.answers["ctr"] = (0, "", "")
    pod = static_pods.read_static_pod(NAME, str(master.manifests), "cp1")
    plan = static_pod.plan(samples.wish(args={"v": 4}), static_pod.State(pod.manifest, {}, {}))
    verdict = rehearsals.rehearse(pod, plan, run=mount, clock=master.clock, host=master.host)
    assert verdict.verdict == ACCEPTED
    assert run.requests[0]["binary"].endswith("/usr/local/bin/kube-apiserver")
    assert run.calls[-1][3:5] == ["images", "unmount"]


def test_an_image_that_cannot_be_opened_is_named(master: FakeNode, run: FakeRun) -> None:
    master.kubelet.kill(master.kubelet.instances[0])
    run.answers["ctr"] = (1, "", "image not found\n")
    with pytest.raises(KubeadmError, match=r"does not run .*image not found"):
        rehearse(master, run, args={"v": 4})


def test_an_image_without_the_binary_is_named_and_unmounted(master: FakeNode, run: FakeRun) -> None:
    master.kubelet.kill(master.kubelet.instances[0])
    run.answers["ctr"] = (0, "", "")
    with pytest.raises(KubeadmError, match="the image holds no kube-apiserver"):
        rehearse(master, run, args={"v": 4})
    assert run.calls[-1][3:5] == ["images", "unmount"]

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rehearsals: the request to the sandbox, and the verdict from its output."""

from __future__ import annotations

import base64
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime import programs
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime.container_runtime import runtime_at
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import static_pods
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
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun

RUNTIME = "unix:///run/containerd/containerd.sock"


def rehearse(master: FakeNode, run: FakeRun, **desired: t.Any) -> Verdict:
    pod = static_pods.read_static_pod(desired.get("name", NAME), str(master.manifests), "cp1")
    files = {entry["path"]: None for entry in desired.get("files", [])}
    plan = static_pod.plan(samples.desired(**desired), static_pod.State(pod.manifest, {}, files))
    runtime = runtime_at(RUNTIME, run)
    return programs.rehearse(pod, plan, run=run, runtime=runtime, clock=master.clock, host=master.host)


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
    assert request["root_is_empty_directory"]
    assert request["arguments"][:2] == [NAME, "--v=4"]
    assert list(verdict.command) == request["arguments"]
    assert request["environment"]["TOKEN"] == "secret"  # noqa: S105  # the component's, not ours
    assert {"source": "/etc/audit", "target": "/audit", "missing": "directory"} in request["mounts"]
    assert base64.b64decode(request["staged"]["/etc/audit/p"]) == b"text"
    assert run.calls[-1][:3] == ["timeout", "--signal=KILL", str(rehearsal.TIME_LIMIT)]


def test_no_value_of_the_environment_is_shown(master: FakeNode, run: FakeRun) -> None:
    verdict = rehearse(master, run, args={"v": "$(TOKEN)"}, env={"TOKEN": "secret"})
    assert "--v=secret" in run.requests[0]["arguments"]
    assert "secret" not in repr(verdict)


def test_no_value_of_the_environment_is_shown_by_a_refusal(master: FakeNode, run: FakeRun) -> None:
    run.results["timeout"] = (1, "", 'invalid argument "secret" for "-v, --v" flag: strconv.ParseInt\n')
    verdict = rehearse(master, run, args={"v": "$(TOKEN)"}, env={"TOKEN": "secret"})
    assert (verdict.verdict, "secret" in verdict.message) == (REFUSED, False)
    assert 'invalid argument "$(TOKEN)"' in verdict.message


def test_a_refusal_carries_the_components_words(master: FakeNode, run: FakeRun) -> None:
    run.results["timeout"] = (1, "", 'E1 run.go:72] "command failed" err="unrecognized feature gate: NoSuchGate"\n')
    verdict = rehearse(master, run, feature_gates={"NoSuchGate": True})
    assert (verdict.verdict, verdict.message) == (REFUSED, "unrecognized feature gate: NoSuchGate")


def test_a_sandbox_that_cannot_be_built_is_an_error(master: FakeNode, run: FakeRun) -> None:
    run.results["timeout"] = (125, "", "sandbox: Operation not permitted: unshare\n")
    with pytest.raises(KubeadmError, match="could not be set up: sandbox: Operation not permitted"):
        rehearse(master, run, args={"v": 4})


def test_what_cannot_be_rehearsed_runs_nothing(master: FakeNode, run: FakeRun) -> None:
    verdict = rehearse(master, run, args={"service-account-signing-endpoint": "@x"})
    assert verdict.verdict == SKIPPED
    assert run.calls == []


def test_a_sandbox_that_cannot_be_built_reports_what_to_do(master: FakeNode, run: FakeRun) -> None:
    run.results["timeout"] = (125, "", "sandbox: Operation not permitted: unshare\n")
    with pytest.raises(KubeadmError, match="set rehearse: false"):
        rehearse(master, run, args={"v": 4})


def test_the_component_sees_its_image_and_its_volumes(master: FakeNode, run: FakeRun) -> None:
    volume = samples.volume("audit", "/etc/audit", mount_path="/audit", path_type="DirectoryOrCreate")
    root = master.show_root(master.kubelet.instances[0].pid)
    rehearse(master, run, args={"v": 4}, volumes=[volume])
    targets = {mount["target"]: mount["source"] for mount in run.requests[0]["mounts"]}
    assert targets == {"/": str(root), rehearsal.DIRECTORY: rehearsal.DIRECTORY, "/audit": "/etc/audit"}


def test_a_component_that_runs_needs_no_program_of_the_runtime(master: FakeNode, run: FakeRun) -> None:
    run.results["ctr"] = (127, "", "there is no program ctr in /usr/bin")
    assert rehearse(master, run, args={"v": 4}).verdict == ACCEPTED
    assert [call[0] for call in run.calls] == ["timeout"]

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checking for an image, and loading it."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime.image_steps import ImageSteps, Observed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.batch import TaskPlan
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.verdict import NOT_NEEDED, Verdict
from ansible_collections.nodecraft.kubeadm.tests.unit.support.documents import schema_errors
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_cri import FakeCri
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NODE, FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun, add_kubelet
from ansible_collections.nodecraft.kubeadm.tests.unit.support.steps_run import StepRunner

IMAGE = "localhost/plugin:1"
ARCHIVE = "/var/tmp/plugin.tar"  # noqa: S108  # nothing is read


def steps(
    node: FakeNode, run: FakeRun, archive: str | None = ARCHIVE, *, dry: bool = False
) -> StepRunner[Observed, TaskPlan]:
    """The steps up to the plan, on a node with CRI-O that has no static pods."""
    add_kubelet(node, config="containerRuntimeEndpoint: unix:///run/crio/crio.sock\n")
    found = StepRunner(ImageSteps({"name": IMAGE, "archive": archive}, run=run, host=node.host), dry=dry)
    with found.session():
        found.read()
    return found


def test_an_image_that_is_missing_is_loaded(node: FakeNode, run: FakeRun, runtime: FakeCri) -> None:
    run.results["podman load"] = (0, "Loaded image: x\n", "")
    runtime.images = set()
    found = steps(node, run)
    assert found.notes() == []
    assert found.plan().operations
    runtime.images.add(IMAGE)
    found.apply()
    assert run.ran(f"podman load --quiet --input={ARCHIVE}")
    assert schema_errors("node_image", found.report(), added_later={"rehearsal"}) == []
    assert found.report() == {"name": IMAGE, "node": NODE, "runtime": "CRI-O", "present": False, "unverified": []}


@pytest.mark.parametrize("dry", [False, True])
def test_the_verdict_reports_that_an_archive_cannot_be_rehearsed(
    node: FakeNode, run: FakeRun, runtime: FakeCri, dry: bool
) -> None:
    runtime.images = set()
    found = steps(node, run, dry=dry)
    found.plan()
    assert found.rehearse() == Verdict(NOT_NEEDED, "an archive cannot be tested before it is loaded")


@pytest.mark.parametrize(("present", "archive"), [(True, ARCHIVE), (True, None), (False, None)])
def test_nothing_is_loaded_that_is_there_or_has_no_archive(
    node: FakeNode, run: FakeRun, runtime: FakeCri, present: bool, archive: str | None
) -> None:
    runtime.images = {IMAGE} if present else set()
    found = steps(node, run, archive)
    assert not found.plan().operations
    assert found.report()["present"] is present


def test_an_archive_of_something_else_is_refused(node: FakeNode, run: FakeRun, runtime: FakeCri) -> None:
    run.results["podman load"] = (0, "Loaded image: localhost/other:1\n", "")
    runtime.images = set()
    found = steps(node, run)
    found.plan()
    with pytest.raises(KubeadmError, match=r"still no image localhost/plugin:1.*Loaded image: localhost/other:1"):
        found.apply()


def test_a_runtime_without_its_program_is_named(node: FakeNode, run: FakeRun, runtime: FakeCri) -> None:
    missing = (127, "", "there is no program podman in /usr/bin")
    run.results.update({"podman": missing, "podman --version": missing})
    runtime.images = set()
    found = steps(node, run)
    assert (found.report()["node"], found.report()["runtime"], found.report()["present"]) == (NODE, "CRI-O", False)
    with pytest.raises(
        KubeadmError, match=r"there is no program podman in /usr/bin. Install podman on the node: it shows"
    ):
        found.plan()
    with pytest.raises(
        KubeadmError, match=r"CRI-O at /run/crio/crio.sock: there is no program podman in /usr/bin. Install podman"
    ):
        found.apply()


def test_image_of_unreachable_runtime_is_not_verified(node: FakeNode, run: FakeRun, runtime: FakeCri) -> None:
    runtime.stop()
    run.results["podman load"] = (0, "Loaded image: x\n", "")
    found = steps(node, run)
    limit = f"whether the image {IMAGE} is in CRI-O: it does not answer at /run/crio/crio.sock"
    found.plan()
    found.apply()
    assert found.finish() == [f"{NODE}: {IMAGE}: not verified: {limit}"]
    assert found.report()["unverified"] == [limit]


def test_a_version_that_is_not_tested_is_worth_a_warning(node: FakeNode, run: FakeRun) -> None:
    run.results["/usr/bin/kubelet --version"] = (0, "Kubernetes v1.20.0\n", "")
    assert "1.20" in steps(node, run).notes()[0]

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which canary is planned for a change of a static pod, and why there is none."""

from __future__ import annotations

import dataclasses
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import Json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import static_pods
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod.planned_canary import (
    Unplanned,
    plan_canary,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples

ARGUMENTS = ".containers.kube-scheduler.command"
PAUSE = "registry.k8s.io/pause:3.10"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"


@pytest.fixture(name="directory")
def fixture_directory(tmp_path: Path) -> Path:
    """A directory of manifests, beside an administrator's kubeconfig."""
    (tmp_path / "admin.conf").touch()
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    (manifests / "kube-apiserver.yaml").write_text(samples.API_SERVER, encoding="utf-8")
    scheduler = samples.API_SERVER.replace("kube-apiserver", "kube-scheduler")
    (manifests / "kube-scheduler.yaml").write_text(scheduler, encoding="utf-8")
    return manifests


def plan(directory: Path, name: str, image: str = PAUSE, change: Json | None = None, **params: t.Any) -> t.Any:
    pod = static_pods.parse_static_pod(name, str(directory / f"{name}.yaml"), "cp1")
    planned = samples.planned(samples.state(pod.manifest.text), **(change or {"args": {"v": "4"}}))
    planned = dataclasses.replace(planned, before=pod.manifest)
    return plan_canary(
        pod,
        planned,
        {**samples.parameters(**params), "sandbox_image": image},
        "cp1",
        str(directory.parent / "admin.conf"),
    )


def test_an_api_server_is_queried_at_its_own_address(directory: Path) -> None:
    found = plan(directory, "kube-apiserver", wait_timeout=200)
    assert found["after"]["server"] == {"scheme": "https", "host": "10.0.0.11", "port": 6443}
    assert found["after"]["lease"] == ""
    assert (found["seconds"], found["must_start"]) == (200, True)


def test_others_use_the_api_server_of_their_node_and_a_lease(directory: Path) -> None:
    found = plan(directory, "kube-scheduler", force=True)
    assert (
        found["before"]["server"] == found["after"]["server"] == {"scheme": "https", "host": "10.0.0.11", "port": 6443}
    )
    assert (found["before"]["lease"], found["seconds"], found["must_start"]) == (LEASE, 60, False)
    assert (found["after"]["has"], found["after"]["lacks"]) == ([f"{ARGUMENTS}=--v=4"], [])
    assert (found["before"]["has"], found["before"]["lacks"]) == ([], [f"{ARGUMENTS}=--v=4"])


@pytest.mark.parametrize(
    ("change", "has", "lacks"),
    [
        (
            {"env": {"GOGC": "50"}},
            ["containers.kube-scheduler.env.GOGC.name=GOGC", "containers.kube-scheduler.env.GOGC.value=50"],
            [],
        ),
        (
            {"resources": {"requests": {"cpu": "300m"}}},
            ["containers.kube-scheduler.resources.requests.cpu=300m"],
            ["containers.kube-scheduler.resources.requests.cpu=250m"],
        ),
    ],
)
def test_settings_differ_by_what_is_no_argument_as_well(
    directory: Path, change: Json, has: list[str], lacks: list[str]
) -> None:
    found = plan(directory, "kube-scheduler", change=change)
    assert [each.removeprefix(".") for each in found["after"]["has"]] == has
    assert [each.removeprefix(".") for each in found["after"]["lacks"]] == lacks


def test_its_image_and_namespace_may_be_others(directory: Path) -> None:
    found = plan(directory, "kube-scheduler", image="", canary_image="a.example/canary:1", canary_namespace="canaries")
    made = {each["path"]: each["body"] for each in found["objects"]}
    deployment = made["/apis/apps/v1/namespaces/canaries/deployments"]
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "a.example/canary:1"


@pytest.mark.parametrize(
    ("options", "missing", "why"),
    [
        ({"canary": False}, "", "canary is false"),
        ({"image": ""}, "", "no image is known to be on the node; canary_image names one"),
        ({}, "admin.conf", "admin.conf does not exist on "),
        ({}, "manifests/kube-apiserver.yaml", "the API server of this node is not known ("),
    ],
)
def test_what_keeps_it_from_being_made_is_named(
    directory: Path, options: t.Mapping[str, t.Any], missing: str, why: str
) -> None:
    if missing:
        (directory.parent / missing).unlink()
    found = plan(directory, "kube-scheduler", **options)
    assert isinstance(found, Unplanned)
    assert why in found.unverified()
    assert found.unverified().startswith("whether the cluster makes, schedules and starts pods: ")

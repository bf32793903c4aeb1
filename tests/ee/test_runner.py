# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user of AWX does with a cluster, as jobs of ansible-runner in the image: plan, apply, upgrade check, rollback, and cancel."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.ee.runner import NAMESPACE, Job, Json, Runner, lease, wait_for_change
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.cluster import API_SERVER, Cluster, until
from ansible_collections.nodecraft.kubeadm.tests.sessions import ee_parts, limits
from ansible_collections.nodecraft.kubeadm.tests.sessions.awx import survey_vars

LABEL = "example.com/ee"


def desired(verbosity: int) -> Json:
    """A desired state for each kind of change. The lab's pods end after 3 seconds, so short waits are long enough."""
    return {
        "control_plane_components": {API_SERVER: {"args": {"v": verbosity}}},
        "control_plane_min_ready_seconds": 5,
        "control_plane_wait_timeout": 120,
        "node_kubelet_config": {"serializeImagePulls": False},
        "node_kubelet_min_ready_seconds": 5,
        "node_resources_labels": {LABEL: "1"},
    }


def successful(job: Job) -> Job:
    """The job, which ended well and left all that AWX reads."""
    assert (job.status, job.rc) == ("successful", 0), job.output[-4000:]
    assert [event["counter"] for event in job.events] == list(range(1, len(job.events) + 1))
    assert "".join(event["stdout"] + "\r\n" for event in job.events if event["stdout"]).strip() != ""
    assert job.recap["failures"] == job.recap["dark"] == {}
    return job


def arguments(cluster: Cluster) -> tuple[str, ...]:
    """What the API server runs with."""
    (process,) = cluster.first.processes()
    return process.arguments


def labels(cluster: Cluster, label: str = LABEL) -> int:
    """How many nodes have a label."""
    return len(cluster.lab.kubectl("get", "nodes", f"--selector={label}", "--output=name").split())


def test_a_plan_an_apply_and_a_second_apply(cluster: Cluster, runner: Runner) -> None:
    runner.write_inventory(cluster, **desired(1))
    before = {node.name: node.manifests() for node in cluster.control_planes}

    plan = successful(runner.run("site.yml", "--check", "--diff"))
    assert set(plan.statistics) >= {"control_plane_report", "node_kubelet_report", "node_resources_report"}
    assert set(plan.statistics["node_kubelet_report"]) == set(cluster.nodes)
    assert "--v=1" in plan.output
    assert {node.name: node.manifests() for node in cluster.control_planes} == before
    assert [node.history() for node in cluster.nodes.values()] == [[], []]
    assert labels(cluster) == 0

    apply = successful(runner.run("site.yml", extra_vars=survey_vars("site.yml")))
    report = apply.statistics["control_plane_report"][cluster.first.name]
    assert report[API_SERVER]["changed"] is True
    assert set(apply.statistics["node_kubelet_report"]) == set(cluster.nodes)
    assert "--v=1" in arguments(cluster)
    assert labels(cluster) == 2

    again = successful(runner.run("site.yml"))
    assert again.changed == {}
    assert len(again.events) < len(apply.events)


def test_an_upgrade_check(cluster: Cluster, runner: Runner) -> None:
    runner.write_inventory(cluster, **desired(1))
    given = {"upgrade_check_target": cluster.lab.kubernetes, "upgrade_check_programs": "/usr/bin"}
    job = runner.run("upgrade_check.yml", extra_vars=survey_vars("upgrade_check.yml", **given))
    report = job.statistics["upgrade_check_report"]
    assert set(report["nodes"]) == set(cluster.nodes), job.output[-4000:]
    assert report["target"] == cluster.lab.kubernetes
    assert (job.rc == 0) is report["safe"]


def test_a_rollback(cluster: Cluster, runner: Runner) -> None:
    runner.write_inventory(cluster, **desired(4))
    successful(runner.run("site.yml", extra_vars=survey_vars("site.yml")))
    given = survey_vars("rollback.yml", rollback_components=[API_SERVER])
    successful(runner.run("rollback.yml", "--check", "--diff", extra_vars=given))
    assert "--v=4" in arguments(cluster)
    job = successful(runner.run("rollback.yml", extra_vars=given))
    assert job.statistics["control_plane_report"][cluster.first.name][API_SERVER]["changed"] is True
    assert "--v=4" not in arguments(cluster)


def test_a_job_that_queries_the_api_from_the_controller(cluster: Cluster, runner: Runner) -> None:
    """All hosts of the inventory become root, and the controller must not: the image has no program for that."""

    def requested_cpu() -> str:
        where = "jsonpath={.items[*].spec.containers[0].resources.requests.cpu}"
        return cluster.lab.kubectl("get", "pods", f"--namespace={NAMESPACE}", "--selector=app=web", f"--output={where}")

    runner.write_token(cluster)
    amounts = {"requests": {"cpu": "60m"}, "limits": {"cpu": "60m"}}
    survey = survey_vars("resize.yml", pod_resize_namespace=NAMESPACE, pod_resize_label_selector="app=web")
    given = {**survey, "pod_resize_containers": [{"name": "app", "resources": amounts}]}
    successful(runner.run("resize.yml", "--check", "--diff", extra_vars=given))
    assert requested_cpu() == "50m"
    job = successful(runner.run("resize.yml", extra_vars=given))
    assert requested_cpu() == "60m"
    assert len(job.statistics["pod_resize_report"]["pods"]) == 1
    assert successful(runner.run("resize.yml", extra_vars=given)).changed == {}


def test_a_job_that_is_cancelled_in_the_middle(cluster: Cluster, runner: Runner) -> None:
    runner.write_inventory(cluster, **{**desired(2), "control_plane_min_ready_seconds": 30})
    started = runner.start("site.yml")
    wait_for_change(cluster.first)
    assert started.container
    started.cancel()
    job = started.wait_for_job()
    assert job.status == "canceled"
    until(lambda: not started.container, "the end of the container", 30)

    # The node ends its change by itself.
    assert cluster.first.wait_for_end()["outcome"] == "committed"
    assert "--v=2" in arguments(cluster)
    # Ansible was killed, so it could not release the Lease.
    assert lease(cluster)["holderIdentity"] != ""

    # The next job that changes something need not wait for that.
    runner.write_inventory(cluster, **desired(5))
    given = survey_vars("site.yml", control_plane_lease_takeover="true", node_kubelet_lease_takeover="true")
    successful(runner.run("site.yml", extra_vars=given))
    assert lease(cluster).get("holderIdentity", "") == ""
    assert successful(runner.run("site.yml")).changed == {}


def test_a_job_slice(cluster: Cluster, runner: Runner) -> None:
    """Slices are parts of the inventory: the one without the control plane is refused, and no node of it changes."""
    label = "example.com/slice"
    runner.write_inventory(cluster, hosts=cluster.workers, **{**desired(3), "node_resources_labels": {label: "1"}})
    before = [node.history() for node in cluster.nodes.values()]
    job = runner.run("site.yml")
    assert (job.status, job.rc) == ("failed", 2)
    assert "The inventory has no host in kube_control_plane." in job.output
    assert [node.history() for node in cluster.nodes.values()] == before
    assert labels(cluster, label) == 0


@pytest.mark.parametrize(
    ("lost", "sentence"),
    [
        (
            "python3 -m pip uninstall --yes kubernetes jsonpatch",
            "the Python package jsonpatch, the Python package kubernetes",
        ),
        ("rm -r /usr/share/ansible/collections/ansible_collections/kubernetes", "the collection kubernetes.core"),
    ],
    ids=["API packages", "kubernetes.core"],
)
def test_an_image_that_lacks_something_is_refused(image: str, tmp_path: Path, lost: str, sentence: str) -> None:
    name = f"localhost/nodecraft-kubeadm-ee-test:{tmp_path.name}"
    (tmp_path / "Containerfile").write_text(f"FROM {image}\nUSER root\nRUN {lost}\n", encoding="utf-8")
    build = ["podman", "build", "--quiet", "--isolation=chroot", *limits.options(), f"--tag={name}", str(tmp_path)]
    subprocess.run(build, check=True, capture_output=True)
    try:
        assert ee_parts.inspect_image(name, limits.options()).missing() == sentence.split(", ")
    finally:
        subprocess.run(["podman", "rmi", name], check=True, capture_output=True)

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Part 7: our device plugin on one node, with devices that are nothing and one that is a node in /dev."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.nodecraft.kubeadm.demo.part_change import LABEL
from ansible_collections.nodecraft.kubeadm.demo.pods import DONGLE, Pods
from ansible_collections.nodecraft.kubeadm.demo.story import Story
from ansible_collections.nodecraft.kubeadm.lab.console import show
from ansible_collections.nodecraft.kubeadm.lab.runs import FULL, UNIT, Json, Observer, Run, run_module, run_playbook
from ansible_collections.nodecraft.kubeadm.lab.waiting import Waiting

TOKEN_SECRET = "nodecraft-device-plugin-token"  # noqa: S105
DEVICES: Json = {
    "device_plugin_pod_resources_token": "of-the-demo-only",
    "device_plugin_node_selector": {LABEL: "r7"},
    "device_plugin_config": {
        "resources": [
            {
                "name": UNIT,
                "discover": [{"fake": {"count": 4}}],
                "container": {
                    "env": {"UNITS": "{ids}"},
                    "mounts": [{"hostPath": "/etc/hostname", "containerPath": "/opt/node", "readOnly": True}],
                },
            },
            {"name": FULL, "discover": [{"path": {"glob": "/dev/full", "containerPath": "/dev/unit{index}"}}]},
        ]
    },
    "device_plugin_expected": [{"resources": {UNIT: 4, FULL: 1}}],
}
ECHOED = "UNITS=$UNITS /opt/node=$(cat /opt/node) /dev/unit0=$(stat --format %t:%T /dev/unit0)"


def device_plugin(story: Story) -> None:
    """Deploy, use, and remove it."""
    lab, first = story.lab, story.lab.worker_names[0]
    show(f"7. A device plugin on {first}: four units of nothing, and one that is /dev/full")
    image = story.wait_for_image()
    desired = {**image, **DEVICES}
    observer = Observer("the device plugin is deployed, and its node advertises devices", 45)
    run = _deploy(story, "7-devices.json", desired, observer)
    if run.rc != 0:
        raise SystemExit(f"device_plugin.yml failed: {' '.join(run.reasons)}")
    story.facts["device_plugin"] = {"seconds": run.seconds}
    allocatable = lab.get("node", first)["status"]["allocatable"]
    story.claim(
        allocatable[UNIT] == "4" and allocatable[FULL] == "1",
        f"without a registry and without privileges; allocatable was right when the role ended ({run.seconds:.0f} s)",
    )
    pods = Pods(lab)
    _use(story, pods, image["device_plugin_image"])
    if story.second_runs:
        again = _deploy(
            story, "7-again.json", desired, Observer("the device plugin is checked, and nothing changes", 20)
        )
        story.claim(
            again.rc == 0 and again.changed == 0, f"the same again: changed={again.changed} ({again.seconds:.0f} s)"
        )
    pods.remove_all()
    absent = Observer("the device plugin is removed with its namespace", 37)
    gone = _deploy(story, "7-absent.json", {"device_plugin_state": "absent"}, absent)
    left = lab.kubectl("get", "namespace", "nodecraft-device-plugin", "--ignore-not-found", "--output=name")
    story.claim(
        gone.rc == 0 and not left,
        "state absent: removed with its namespace; the kubelet shows the names for some time",
    )


def _use(story: Story, pods: Pods, image: str) -> None:
    lab, first = story.lab, story.lab.worker_names[0]
    with Waiting("a pod starts that uses the devices", 5):
        pods.make("user", devices={UNIT: 2, FULL: 1}, tolerates=DONGLE, image=image, echo=ECHOED)
        pods.wait("user", lambda pod: pod["status"]["phase"] == "Running")
        logs = pods.wait_for_logs("user")
    story.claim(
        re.fullmatch(rf"UNITS=fake-\d,fake-\d /opt/node={first} /dev/unit0=1:7", logs) is not None,
        f"a pod that requests two and one has environment, mount and device: {logs}",
    )
    options = {"plugin_token_secret": TOKEN_SECRET, "nodes": [first]}
    found = run_module(lab, "pod_resource_info", options, story.output / "7-held.json")
    allocations = next(found.results("pod_resource_info")).get("allocations", [])
    story.claim(
        {entry["pod"] for entry in allocations} == {"user"} and len(allocations) == 3,
        f"pod_resource_info shows which pod holds what: {', '.join(entry['pod'] + ' ' + entry['device_id'] for entry in allocations)}",
    )


def _deploy(story: Story, record: str, variables: t.Mapping[str, t.Any], observer: Observer) -> Run:
    return run_playbook(story.lab, variables, story.output / record, name="device_plugin", observer=observer)

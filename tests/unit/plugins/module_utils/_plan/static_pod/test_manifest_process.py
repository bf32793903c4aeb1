# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a manifest tells of the process that its kubelet starts: its program, and how long a broken one may stand."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples


@pytest.mark.parametrize(
    ("command", "program"),
    [
        (["/usr/local/bin/other", "--x"], "other"),
        (["/bin/sh", "-c", "exec other"], "kube-apiserver"),
        (["bash"], "kube-apiserver"),
    ],
)
def test_the_name_of_the_program(command: list[str], program: str) -> None:
    """Of a shell's script no more is known than the name of the container."""
    container = {"name": "kube-apiserver", "command": command, "args": ["--x"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": [container]}}
    assert samples.manifest(yaml.safe_dump(pod)).program == program


@pytest.mark.parametrize(
    ("probes", "seconds"),
    [
        ({}, 0),
        ({"livenessProbe": {"exec": {"command": ["x"]}}}, 31),
        ({"startupProbe": {"grpc": {"port": 1}}, "livenessProbe": {"grpc": {"port": 1}}}, 31),
        (
            {
                "livenessProbe": {
                    "exec": {"command": ["x"]},
                    "initialDelaySeconds": 15,
                    "failureThreshold": 8,
                    "periodSeconds": 5,
                    "timeoutSeconds": 15,
                }
            },
            70,
        ),
        ({"livenessProbe": {"exec": {"command": ["x"]}}, "readinessProbe": {"exec": {"command": ["x"]}}}, 0),
        ({"livenessProbe": {"tcpSocket": {"port": 1, "host": "127.0.0.1"}}}, 0),
        ({"livenessProbe": {"tcpSocket": {"port": 1}}}, 31),
        ({"readinessProbe": {"exec": {"command": ["x"]}}}, 0),
    ],
)
def test_how_long_nothing_but_the_kubelets_patience_reports_whether_it_works(
    probes: dict[str, t.Any], seconds: int
) -> None:
    container = {"name": "kube-apiserver", "command": ["kube-apiserver"], **probes}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": [container]}}
    assert samples.manifest(yaml.safe_dump(pod)).seconds_until_killed() == seconds

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which program of a unit is run with --version: a kubelet, and no script that may start one."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet import kubelet_units
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import state
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import generator as kubelet_generator
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelet_nodes import Node


@pytest.fixture(name="node")
def fixture_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.setattr(state, "STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(kubelet_generator, "GENERATOR", str(tmp_path / "generator"))
    return Node(tmp_path)


@pytest.mark.parametrize(
    ("program", "arguments", "pid", "found"),
    [
        (
            "/bin/bash",
            "-c 'exec /usr/bin/kubelet $KUBELET_EXTRA_ARGS'",
            "7",
            "the process of the unit is /usr/bin/kubelet",
        ),
        ("/opt/start", "$KUBELET_EXTRA_ARGS", "0", "the unit has no process"),
    ],
)
def test_a_script_is_refused_and_not_run(node: Node, program: str, arguments: str, pid: str, found: str) -> None:
    node.kubeadm.write_text(f"[Service]\nExecStart=\nExecStart={program} {arguments}\n", encoding="utf-8")
    node.properties["MainPID"] = pid
    message = rf"10-kubeadm.conf:3: {program} is no kubelet by its name, and {found}: .*Start the kubelet"
    with pytest.raises(Refusal, match=message):
        kubelet_units.read_unit(node.run, node.host)
    assert not [call for call in node.calls if "--version" in call]


def test_a_kubelet_of_another_name_is_known_by_its_process(node: Node) -> None:
    node.kubeadm.write_text("[Service]\nExecStart=\nExecStart=/opt/agent --v=2\n", encoding="utf-8")
    node.write("proc/7/cmdline", "/opt/agent\0--v=2\0")
    assert kubelet_units.read_unit(node.run, node.host).binary == "/opt/agent"


@pytest.mark.parametrize("name", ["kubelet", "kubelet.sh", "kubelet-wrapper"])
def test_script_with_the_name_of_a_kubelet_is_not_run(node: Node, tmp_path: Path, name: str) -> None:
    program = tmp_path / name
    program.write_text("#!/bin/bash\n/usr/bin/kubelet --config=/etc/kubernetes/kubelet-config.yaml\n", encoding="utf-8")
    node.kubeadm.write_text(f"[Service]\nExecStart=\nExecStart={program}\n", encoding="utf-8")
    node.write("proc/7/cmdline", f"/bin/bash\0{program}\0")
    with pytest.raises(
        Refusal, match=f"{program} is a script, and the process of the unit is /bin/bash: .*Start the kubelet"
    ):
        kubelet_units.read_unit(node.run, node.host)
    assert not [call for call in node.calls if "--version" in call]


def test_script_that_its_kubelet_replaces_under_its_name_is_read(node: Node, tmp_path: Path) -> None:
    program = tmp_path / "kubelet"
    program.write_text('#!/bin/sh\nexec -a "$0" /usr/bin/.kubelet-wrapped "$@"\n', encoding="utf-8")
    node.kubeadm.write_text(f"[Service]\nExecStart=\nExecStart={program} --v=2\n", encoding="utf-8")
    node.write("proc/7/cmdline", f"{program}\0--v=2\0")
    assert kubelet_units.read_unit(node.run, node.host).binary == str(program)

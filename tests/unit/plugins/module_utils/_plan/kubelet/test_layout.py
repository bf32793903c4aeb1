# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the files of a kubelet make of it, and by which variable a unit takes arguments."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import TextFile
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.documents.systemd_service import read_service
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import layout as kubelet_layout
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import plan as kubelet
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelet_layouts
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelets import desired, state


@pytest.mark.parametrize("name", sorted(kubelet_layouts.ALL))
def test_the_command_lines_of_others(name: str) -> None:
    files = kubelet_layouts.ALL[name]
    layout = files.state().layout()
    assert layout.command == files.command.split()
    found = kubelet_layout.free_variable(layout.service)
    assert found == (None if files.derived else files.variable)


@pytest.mark.parametrize(
    ("unit", "variable"),
    [
        ("ExecStart=/k $KUBELET_CONFIG_ARGS $Z\n", "KUBELET_CONFIG_ARGS"),
        ("EnvironmentFile=/e\nExecStart=/k $KUBELET_CONFIG_ARGS\n", None),
        (
            "EnvironmentFile=/e\nExecStart=/k $KUBELET_CONFIG_ARGS $A $B $KUBELET_EXTRA_ARGS $KUBELET_KUBEADM_ARGS\n",
            "B",
        ),
        ("Environment=A=1 B=2\nExecStart=/k $A $B\n", "B"),
        ("Environment=B=2\nExecStart=/k $A $B\n", "A"),
        ("ExecStart=/k $A $A ${B} x$C $$D\n", None),
    ],
)
def test_the_variable_of_a_unit(unit: str, variable: str | None) -> None:
    files = [TextFile.of("/etc/systemd/system/kubelet.service", f"[Service]\n{unit}")]
    service = read_service(files, {"/e": "KUBELET_CONFIG_ARGS=--config=/x\n"}, "w1")
    assert kubelet_layout.free_variable(service) == variable


def test_a_variable_that_a_later_drop_in_sets_is_not_used() -> None:
    files = [
        TextFile.of("/etc/systemd/system/kubelet.service", "[Service]\nExecStart=/k $A $B\n"),
        TextFile.of("/etc/systemd/system/kubelet.service.d/30-mine.conf", "[Service]\nEnvironment=B=1\n"),
    ]
    assert kubelet_layout.free_variable(read_service(files, {}, "w1")) == "A"


@pytest.mark.parametrize("text", ["", "- a\n", "a: [\n"])
def test_a_file_with_which_no_kubelet_starts_is_named(text: str) -> None:
    with pytest.raises(Refusal, match=r"config\.yaml"):
        kubelet.plan(desired(args={"v": 4}), state(main=text))

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the files of a kubelet make of it, and which units are not changed."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.files import TextFile
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import plan as kubelet
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelets import (
    state,
    wish,
)


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        (
            "EnvironmentFile=-/etc/kubernetes/kubelet.env\nExecStart=/usr/local/bin/kubelet $KUBE_LOGTOSTDERR $KUBELET_ARGS\n",
            "Kubespray",
        ),
        (
            "EnvironmentFile=-/etc/default/kubelet\nExecStart=/usr/local/bin/kubelet $KUBELET_EXTRA_ARGS\n",
            "does not take",
        ),
        ("ExecStart=/usr/bin/kubelet $KUBELET_CONFIG_ARGS\n", "KUBELET_CONFIG_ARGS is not set"),
        ("EnvironmentFile=/etc/default/kubelet\nExecStart=/k $KUBELET_CONFIG_ARGS\n", "no drop-in can override"),
    ],
)
def test_another_layout_is_refused_by_name(unit: str, words: str) -> None:
    other = state(
        "KUBELET_CONFIG_ARGS=--config=/x\n" if "override" in words else "",
        unit=(TextFile.of("/etc/systemd/system/kubelet.service", f"[Service]\n{unit}"),),
    )
    with pytest.raises(Refusal, match=words):
        kubelet.plan(wish(args={"v": 4}), other)


@pytest.mark.parametrize("text", ["", "- a\n", "a: [\n"])
def test_a_file_with_which_no_kubelet_starts_is_named(text: str) -> None:
    with pytest.raises(Refusal, match=r"config\.yaml"):
        kubelet.plan(wish(args={"v": 4}), state(main=text))

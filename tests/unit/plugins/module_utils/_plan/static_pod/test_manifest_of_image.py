# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Static pods without a command: only their image names the program."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Change
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.manifest import Manifest
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples


def of_image(text: str = samples.KUBE_VIP) -> Manifest:
    return samples.manifest(text, "kube-vip")


def test_a_manifest_without_a_command_can_be_read() -> None:
    manifest = of_image()
    assert (manifest.entrypoint, manifest.arguments) == (None, ["manager", "--log=4"])
    assert manifest.values()["args"] == {"log": ["4"]}
    assert manifest.values()["env"] == {"vip_arp": "true", "port": "6443"}


def test_all_but_flags_is_changed_without_a_command() -> None:
    volume = {"host_path": "/etc/vip", "mount_path": "/etc/vip", "path_type": "", "read_only": True}
    changes = [Change("env", "port", "6443", "8443"), Change("volumes", "vip", None, volume)]
    changed = of_image().change(changes[0]).change(changes[1])
    assert changed.values()["env"]["port"] == "8443"
    back = changed.change(Change("env", "port", "8443", "6443")).change(Change("volumes", "vip", volume, None))
    assert back.text == samples.KUBE_VIP


@pytest.mark.parametrize(
    "change", [Change("args", "log", ["4"], ["5"]), Change("feature_gates", "Alpha", None, True)], ids=["args", "gates"]
)
def test_flags_are_refused_without_a_command(change: Change) -> None:
    with pytest.raises(Refusal, match=r"line 9: container kube-vip has no command: its image decides what is started"):
        of_image().change(change)

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet has in this boot of its node, and not after the next one."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import reboot
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.config import ConfigDocument, Settings
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.reboot import BootFacts

STRICT = "vm.overcommit_memory = 1\nkernel.panic=10\n# kernel.panic_on_oops=0\n-kernel/panic_on_oops=1\n"
MOUNTS = """\
22 1 0:20 / / rw - overlay overlay rw
23 22 0:21 / /run rw,nosuid shared:2 - tmpfs tmpfs rw
24 23 8:1 / /run/disk rw - ext4 /dev/vda rw
25 22 0:22 / /mnt/a\\040b rw - ramfs none rw
damaged
"""


def settings(**config: t.Any) -> Settings:
    return Settings((), (ConfigDocument("/var/lib/kubelet/config.yaml", "", config),))


def strict_problem(facts: BootFacts, *, before: t.Any = None) -> str:
    return reboot.lost_parameters(settings(protectKernelDefaults=before), settings(protectKernelDefaults=True), facts)


def test_parameters_that_only_the_running_kubelet_has_set_are_named() -> None:
    problem = strict_problem(BootFacts())
    assert "nothing sets vm.overcommit_memory = 1, kernel.panic = 10, kernel.panic_on_oops = 1 then" in problem
    assert strict_problem(BootFacts((STRICT,))) == ""
    assert strict_problem(BootFacts(), before=True) == ""
    assert reboot.lost_parameters(settings(), settings(protectKernelDefaults=False), BootFacts()) == ""


def test_the_last_file_counts_and_comes_after_the_kernel_arguments() -> None:
    assert "kernel.panic = 10" in strict_problem(BootFacts((STRICT, "kernel.panic=0")))
    arguments = "quiet panic=10 oops=panic sysctl.vm.overcommit_memory=1"
    assert strict_problem(BootFacts(kernel_arguments=arguments)) == ""
    assert "vm.overcommit_memory = 1" in strict_problem(BootFacts(("vm.overcommit_memory=0",), arguments))
    assert "kernel.keys.root_maxkeys = 1000000" in strict_problem(BootFacts((STRICT, "kernel.keys.root_maxkeys=200")))


@pytest.mark.parametrize(
    ("fstab", "has_swap"),
    [
        ("/dev/vda2 none swap sw 0 0\n", True),
        ("# /dev/vda2 none swap sw 0 0\n", False),
        ("/dev/vda2 none swap sw,noauto 0 0\n", False),
        ("UUID=swap / ext4 defaults 0 1\n\n", False),
    ],
)
def test_swap_of_the_next_boot(fstab: str, has_swap: bool) -> None:
    assert reboot.has_swap(fstab) is has_swap


@pytest.mark.parametrize(
    ("config", "is_refused"),
    [({}, True), ({"failSwapOn": True}, True), ({"failSwapOn": False}, False), ({"failSwapOn": "0"}, False)],
)
def test_kubelet_that_swap_keeps_from_starting_is_not_restarted(config: dict[str, t.Any], is_refused: bool) -> None:
    assert bool(reboot.swap_problem(settings(**config), BootFacts(swap_on=True))) is is_refused
    assert reboot.swap_problem(settings(**config), BootFacts(swap_at_boot=True)) == ""


def test_swap_that_is_otherwise_after_the_next_boot_is_a_warning() -> None:
    limited = {"failSwapOn": False, "memorySwap": {"swapBehavior": "LimitedSwap"}}
    unconfigured, at_boot = BootFacts(swap_on=True), BootFacts(swap_at_boot=True)
    (lost,) = reboot.swap_warnings(settings(), settings(**limited), unconfigured)
    assert "pods have none after the next boot" in lost
    assert reboot.swap_warnings(settings(**limited), settings(**limited), unconfigured) == []
    assert reboot.swap_warnings(settings(), settings(**limited), at_boot) == []
    (down,) = reboot.swap_warnings(settings(), settings(maxPods=50), at_boot)
    assert "would not start after the next boot" in down


@pytest.mark.parametrize(
    ("cgroup", "is_named"), [("/kubereserved", True), ("/system.slice", False), ("", False), (None, False)]
)
def test_cgroup_that_a_boot_may_not_make_is_named(cgroup: str | None, is_named: bool) -> None:
    found = reboot.cgroup_warnings(settings(), settings(kubeReservedCgroup=cgroup))
    assert bool(found) is is_named
    assert reboot.cgroup_warnings(settings(kubeReservedCgroup=cgroup), settings(kubeReservedCgroup=cgroup)) == []


@pytest.mark.parametrize(
    ("path", "mount"),
    [
        ("/run/ca.crt", ("/run", True)),
        ("/run", ("/run", True)),
        ("/runner/ca.crt", None),
        ("/run/disk/ca.crt", ("/run/disk", False)),
        ("/mnt/a b/ca.crt", ("/mnt/a b", True)),
        ("/etc/ca.crt", None),
    ],
)
def test_mount_of_a_file(path: str, mount: tuple[str, bool] | None) -> None:
    assert reboot.mount_of(path, MOUNTS) == mount


def test_of_the_root_file_system_nothing_is_known() -> None:
    assert reboot.mount_of("/etc/ca.crt", "22 1 0:20 / / rw - tmpfs tmpfs rw") is None
    assert reboot.mount_of("/etc/ca.crt", "") is None

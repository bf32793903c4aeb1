# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node does when it boots, as its files have it."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import Host
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet import boot_facts
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.reboot import BootFacts


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(name="host")
def fixture_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setattr(
        boot_facts, "SYSCTL_DIRECTORIES", (str(tmp_path / "usr"), str(tmp_path / "none"), str(tmp_path / "etc"))
    )
    monkeypatch.setattr(boot_facts, "FSTAB", str(tmp_path / "fstab"))
    return Host(proc=str(tmp_path / "proc"))


def test_files_count_by_name_and_those_of_the_administrator_mask(host: Host, tmp_path: Path) -> None:
    write(tmp_path / "usr" / "50-a.conf", "kernel.panic=1")
    write(tmp_path / "usr" / "60-b.conf", "kernel.panic=2")
    write(tmp_path / "etc" / "40-c.conf", "kernel.panic=3")
    write(tmp_path / "etc" / "README", "kernel.panic=4")
    (tmp_path / "etc" / "60-b.conf").symlink_to("/dev/null")
    assert boot_facts.read_boot_facts(host).parameter("kernel.panic") == "1"
    write(tmp_path / "sysctl.conf", "kernel.panic = 10")
    (tmp_path / "etc" / "99-sysctl.conf").symlink_to("../sysctl.conf")
    assert boot_facts.read_boot_facts(host).parameter("kernel.panic") == "10"


def test_swap_now_and_at_boot(host: Host, tmp_path: Path) -> None:
    assert boot_facts.read_boot_facts(host) == BootFacts()
    write(tmp_path / "proc" / "swaps", "Filename Type Size Used Priority\n")
    write(tmp_path / "fstab", "/swapfile none swap sw 0 0\n")
    facts = boot_facts.read_boot_facts(host)
    assert (facts.swap_on, facts.swap_at_boot) == (False, True)
    write(tmp_path / "proc" / "swaps", "Filename Type Size Used Priority\n/swapfile file 1 0 -2\n")
    assert boot_facts.read_boot_facts(host).swap_on


def show_unit(fragment: str | None) -> t.Callable[[t.Sequence[str]], tuple[int, str, str]]:
    """A systemd with this file for a mount; None for one that does not respond."""
    return lambda arguments: (1, "", "") if fragment is None else (0, f"{fragment}\n", "")


def test_files_behind_links_are_where_they_lead(host: Host, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    write(tmp_path / "proc" / "1" / "mountinfo", f"23 22 0:21 / {memory} rw - tmpfs tmpfs rw\n")
    write(memory / "ca.crt", "")
    link = tmp_path / "link.crt"
    link.symlink_to(memory / "ca.crt")
    lost = boot_facts.lost_files([str(link), str(tmp_path / "other.crt")], host, show_unit(""))
    assert lost == ({str(link): str(memory)}, {})


@pytest.mark.parametrize(
    ("fragment", "is_named"), [("", True), ("/run/systemd/generator/disk.mount", False), (None, False)]
)
def test_mount_unconfigured_is_named(host: Host, tmp_path: Path, fragment: str | None, is_named: bool) -> None:
    disk = tmp_path / "disk"
    write(tmp_path / "proc" / "1" / "mountinfo", f"23 22 8:1 / {disk} rw - ext4 /dev/vdb rw\n")
    path = str(disk / "ca.crt")
    lost = boot_facts.lost_files([path], host, show_unit(fragment))
    assert lost == boot_facts.LostFiles({}, {path: str(disk)} if is_named else {})
    warning = f"{path} is on {disk}, which neither /etc/fstab nor a unit of systemd mounts, so it may be gone after the next boot"
    assert boot_facts.lost_files_warnings(lost) == ([warning] if is_named else [])

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a node does when it boots, and which of its files are gone then."""

from __future__ import annotations

import os
import typing as t

from ..._engine.files import read_bytes
from ..._engine.node import Host
from ..._plan.kubelet import reboot
from ..._plan.kubelet.reboot import BootFacts

# Where systemd-sysctl reads, the last one wins; what is in /run is of this boot only.
SYSCTL_DIRECTORIES = ("/usr/lib/sysctl.d", "/usr/local/lib/sysctl.d", "/etc/sysctl.d")
FSTAB = "/etc/fstab"


def read_boot_facts(host: Host) -> BootFacts:
    """A file that cannot be read counts as empty: then the plan names what it might set."""
    files = {name: os.path.join(directory, name) for directory in SYSCTL_DIRECTORIES for name in _files_in(directory)}
    swaps = _read_text(os.path.join(host.proc, "swaps")).splitlines()
    return BootFacts(
        tuple(_read_text(files[name]) for name in sorted(files)),
        _read_text(os.path.join(host.proc, "cmdline")),
        swap_on=len(swaps) > 1,
        swap_at_boot=reboot.has_swap(_read_text(FSTAB)),
    )


def volatile_files(paths: t.Iterable[str], host: Host) -> dict[str, str]:
    """Files that are gone after the next boot, each with the mount point of the memory in which it is."""
    mountinfo = _read_text(os.path.join(host.proc, "1", "mountinfo"))
    found = {path: reboot.volatile_mount(os.path.realpath(path), mountinfo) for path in paths}
    return {path: point for path, point in found.items() if point}


def _files_in(directory: str) -> list[str]:
    try:
        return [name for name in os.listdir(directory) if name.endswith(".conf")]
    except OSError:
        return []


def _read_text(path: str) -> str:
    """Links are followed: an empty file that masks another one is a link to /dev/null."""
    try:
        return (read_bytes(os.path.realpath(path)) or b"").decode("utf-8", "replace")
    except OSError:
        return ""

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
from ..transaction.state import Run

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


class LostFiles(t.NamedTuple):
    """Files that may be gone after the next boot, each with its mount point. volatile: in memory. unconfigured: on a mount that neither /etc/fstab nor a
    unit of systemd brings back."""

    volatile: dict[str, str]
    unconfigured: dict[str, str]


def lost_files(paths: t.Iterable[str], host: Host, run: Run) -> LostFiles:
    """Those of some files. run: asks systemd, only about a mount that is not the root file system's."""
    mountinfo = _read_text(os.path.join(host.proc, "1", "mountinfo"))
    mounts = {path: mount for path in paths if (mount := reboot.mount_of(os.path.realpath(path), mountinfo))}
    points = {mount.point for mount in mounts.values() if not mount.is_volatile}
    unconfigured = {point for point in points if not _has_unit(point, run)}
    return LostFiles(
        {path: mount.point for path, mount in mounts.items() if mount.is_volatile},
        {path: mount.point for path, mount in mounts.items() if mount.point in unconfigured},
    )


def lost_files_warnings(lost: LostFiles) -> list[str]:
    """About those whose mount is not known to come back."""
    return [
        f"{path} is on {point}, which neither /etc/fstab nor a unit of systemd mounts, so it may be gone after the next boot"
        for path, point in lost.unconfigured.items()
    ]


def _has_unit(point: str, run: Run) -> bool:
    """Whether a boot mounts it; of one that was mounted manually systemd has a unit without a file."""
    rc, stdout, _stderr = run(["systemctl", "show", "--property=FragmentPath", "--value", "--", point])
    return rc != 0 or bool(stdout.strip())


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

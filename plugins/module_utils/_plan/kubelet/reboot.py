# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a kubelet has in this boot of its node, and not after the next one.

A kubelet without C(protectKernelDefaults) sets six kernel parameters itself. With it, it ends where one of them has another value: green in this boot,
and down after the next where no file sets them.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..kubernetes import flags
from .config import Settings

_PROTECT, _FAIL_ON_SWAP, _SWAP_BEHAVIOR = "protectKernelDefaults", "failSwapOn", "memorySwap.swapBehavior"
# What a kubelet requires, and the kernel's own value (Kubernetes 1.37, cm/container_manager_linux.go; Linux 6.12).
_PARAMETERS = {
    "vm.overcommit_memory": ("1", "0"),
    "vm.panic_on_oom": ("0", "0"),
    "kernel.panic": ("10", "0"),
    "kernel.panic_on_oops": ("1", "0"),
    "kernel.keys.root_maxkeys": ("1000000", "1000000"),
    "kernel.keys.root_maxbytes": ("25000000", "25000000"),
}
_OF_KERNEL = {"panic": "kernel.panic"}  # arguments of the kernel with a name of their own
_LINE = re.compile(r"-?\s*(?P<name>[^\s=]+)\s*=\s*(?P<value>.*?)\s*")
_CGROUPS = ("kubeReservedCgroup", "systemReservedCgroup")
_MADE_AT_BOOT = ("system", "system.slice")
_VOLATILE = ("tmpfs ", "ramfs ")


@dataclasses.dataclass(frozen=True)
class BootFacts:
    """What a node does when it boots. sysctl_files: the contents of systemd's, in the order in which they count. kernel_arguments: of this boot.
    swap_on: whether it is used now. swap_at_boot: whether /etc/fstab has one."""

    sysctl_files: tuple[str, ...] = ()
    kernel_arguments: str = ""
    swap_on: bool = False
    swap_at_boot: bool = False

    def parameter(self, name: str) -> str | None:
        """The value that a kernel parameter gets at boot; None for the kernel's own."""
        found = [value for other, value in self._written() if other == name]
        return found[-1] if found else None

    def _written(self) -> t.Iterator[tuple[str, str]]:
        for argument in self.kernel_arguments.split():
            name, _equals, value = argument.partition("=")
            if argument == "oops=panic":
                yield "kernel.panic_on_oops", "1"
            elif name in _OF_KERNEL or name.startswith("sysctl."):
                yield _OF_KERNEL.get(name) or _dotted(name.removeprefix("sysctl.")), value
        for text in self.sysctl_files:
            for line in text.splitlines():
                found = _LINE.fullmatch(line.strip())
                if found and not line.lstrip().startswith(("#", ";")):
                    yield _dotted(found["name"]), found["value"]


def _dotted(name: str) -> str:
    """Whichever of the two separators comes first counts."""
    slash, dot = name.find("/"), name.find(".")
    return name.replace("/", ".") if slash >= 0 and (dot < 0 or slash < dot) else name


def has_swap(fstab: str) -> bool:
    """Whether a node switches swap on when it boots."""
    lines = (line.split() for line in fstab.splitlines() if not line.lstrip().startswith("#"))
    return any(len(fields) > 3 and fields[2] == "swap" and "noauto" not in fields[3].split(",") for fields in lines)


def swap_problem(after: Settings, facts: BootFacts) -> str:
    """Why no kubelet would start with the swap that is on now; empty when it would."""
    if not facts.swap_on or _is(after.field_named(_FAIL_ON_SWAP), False):
        return ""
    return "swap is on, and a kubelet does not start with it (failSwapOn). Switch it off, by swapoff --all, and in /etc/fstab for the next boot"


def lost_parameters(before: Settings, after: Settings, facts: BootFacts) -> str:
    """Why a kubelet that a change makes strict would not start after the next boot; empty when it would."""
    if not _is(after.field_named(_PROTECT), True) or _is(before.field_named(_PROTECT), True):
        return ""
    values = {name: facts.parameter(name) or default for name, (_required, default) in _PARAMETERS.items()}
    wrong = [f"{name} = {required}" for name, (required, _default) in _PARAMETERS.items() if values[name] != required]
    if not wrong:
        return ""
    return (
        f"{_PROTECT}: the kubelet would not start after the next boot, because nothing sets {', '.join(wrong)} then. Write them to"
        " /etc/sysctl.d/90-kubelet.conf"
    )


def swap_warnings(before: Settings, after: Settings, facts: BootFacts) -> list[str]:
    """What swap means for the next boot."""
    uses_swap = str(after.field_named(_SWAP_BEHAVIOR) or "") == "LimitedSwap"
    if facts.swap_at_boot and not facts.swap_on and not _is(after.field_named(_FAIL_ON_SWAP), False):
        return [
            "swap is off in this boot only: /etc/fstab has one, and the kubelet would not start after the next boot (failSwapOn)"
        ]
    if uses_swap and facts.swap_on and not facts.swap_at_boot and before.field_named(_SWAP_BEHAVIOR) != "LimitedSwap":
        return [
            "swap is on in this boot only: /etc/fstab has none, so pods have none after the next boot (memorySwap.swapBehavior)"
        ]
    return []


def cgroup_warnings(before: Settings, after: Settings) -> list[str]:
    """New cgroups for what is reserved, which a kubelet does not make: one that was made manually was gone after a boot, and the kubelet crashed (1.37.2)."""
    new = {name: after.field_named(name) for name in _CGROUPS if after.field_named(name) != before.field_named(name)}
    return [
        f"{name} {cgroup}: the kubelet does not start where this cgroup is missing, so a unit of systemd has to make it at each boot"
        for name, cgroup in new.items()
        if cgroup and str(cgroup).strip("/") not in _MADE_AT_BOOT
    ]


def _is(value: t.Any, expected: bool) -> bool:
    """Whether a field, or the text of its flag, is this boolean as the kubelet reads it."""
    return flags.gate_value(str(value)) is expected


class Mount(t.NamedTuple):
    """Where a file is. is_volatile: in memory, so that it is gone after the next boot."""

    point: str
    is_volatile: bool


def mount_of(path: str, mountinfo: str) -> Mount | None:
    """The mount in which a file is; None for the root file system, of which it is not known what a boot keeps. mountinfo: as in /proc."""
    found = None
    for line in mountinfo.splitlines():
        fields, _dash, kinds = line.partition(" - ")
        point = _unescaped(fields.split()[4]) if len(fields.split()) > 4 else "/"
        is_below = path == point or path.startswith(f"{point}/")
        if point != "/" and is_below and (found is None or len(point) >= len(found.point)):
            found = Mount(point, kinds.startswith(_VOLATILE))
    return found


def _unescaped(point: str) -> str:
    """The kernel writes a blank as C(\\040)."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), point)

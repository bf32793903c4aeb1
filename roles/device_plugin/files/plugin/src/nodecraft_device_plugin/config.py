# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration as frozen values. No I/O."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PathSource:
    """Device nodes by their path: a glob, or a regular expression for the names in one directory."""

    glob: str = ""
    directory: str = "/dev"
    regex: str = ""
    exclude: tuple[str, ...] = ()
    type: str = "device"
    container_path: str = ""


@dataclass(frozen=True)
class UsbSource:
    """USB devices by their ids (four hexadecimal digits) and serial number (a glob).

    nodes: the device nodes of a device: ``bus`` for the raw device, otherwise the names of kernel subsystems.
    """

    vendor: str
    product: str = ""
    serial: str = ""
    nodes: tuple[str, ...] = ("bus",)
    container_path: str = ""


@dataclass(frozen=True)
class PciSource:
    """PCI devices by their ids, class (its first digits), driver and address (a glob).

    nodes: ``vfio`` for the device's IOMMU group, otherwise the names of kernel subsystems.
    """

    vendor: str
    device: str = ""
    class_: str = ""
    driver: str = ""
    address: str = "*"
    nodes: tuple[str, ...] = ()
    container_path: str = ""


@dataclass(frozen=True)
class Member:
    """One path or glob of a group. shared: other devices may use the same node."""

    path: str
    optional: bool = False
    shared: bool = False
    type: str = "device"
    container_path: str = ""


@dataclass(frozen=True)
class GroupSource:
    """Several device nodes that are one device."""

    id: str
    members: tuple[Member, ...]


@dataclass(frozen=True)
class FakeSource:
    """Devices without device nodes, for tests. numa_nodes: assigned round-robin."""

    count: int
    prefix: str = "fake"
    numa_nodes: tuple[int, ...] = ()


Source = PathSource | UsbSource | PciSource | GroupSource | FakeSource


@dataclass(frozen=True)
class FileCheck:
    """A file whose text shows the health. healthy: the regular expression that it matches when the device is healthy."""

    path: str
    healthy: str


@dataclass(frozen=True)
class ExecCheck:
    """A command: exit status 0 is healthy, 1 unhealthy, any other one unknown. timeout: seconds."""

    command: tuple[str, ...]
    timeout: float = 5.0


@dataclass(frozen=True)
class HttpCheck:
    """A URL: below 400 is healthy. timeout: seconds."""

    url: str
    timeout: float = 5.0


@dataclass(frozen=True)
class HealthRules:
    """How health is determined. failures, successes: results in a row until the health changes. interval: seconds."""

    failures: int = 3
    successes: int = 2
    unknown: str = "keep"
    interval: float = 10.0
    open: bool = False
    file: FileCheck | None = None
    exec: ExecCheck | None = None
    http: HttpCheck | None = None

    @property
    def probes(self) -> bool:
        """Whether there are slow checks: commands or requests."""
        return bool(self.exec or self.http)


@dataclass(frozen=True)
class Sharing:
    """replicas: how often one physical device is advertised. distinct: a container never gets one device twice."""

    replicas: int = 1
    max_per_container: int = 0
    distinct: bool = False


@dataclass(frozen=True)
class Mount:
    """A path of the host in the container."""

    host_path: str
    container_path: str
    read_only: bool = True


@dataclass(frozen=True)
class ContainerEdits:
    """What a container gets with its devices."""

    permissions: str = "rw"
    env: tuple[tuple[str, str], ...] = ()
    mounts: tuple[Mount, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
    cdi: bool = False


@dataclass(frozen=True)
class PreStart:
    """A command before each start of a container, with the devices in its environment. timeout: seconds."""

    command: tuple[str, ...] = ()
    timeout: float = 10.0


@dataclass(frozen=True)
class Resource:
    """One extended resource. min_healthy: the number of healthy devices from which it counts as ready."""

    name: str
    sources: tuple[Source, ...] = ()
    health: HealthRules = HealthRules()
    sharing: Sharing = Sharing()
    preference: str = "packed"
    container: ContainerEdits = ContainerEdits()
    pre_start: PreStart | None = None
    min_healthy: int = 0


@dataclass(frozen=True)
class Scan:
    """When the host is scanned; all in seconds. recheck: while a device's health is about to change."""

    interval: float = 5.0
    debounce: float = 0.05
    recheck: float = 1.0
    forget_after: float = 300.0


@dataclass(frozen=True)
class PodResources:
    """Who may read which pod holds which device."""

    access: str = "off"
    token_file: str = ""


@dataclass(frozen=True)
class Config:
    """The whole configuration."""

    resources: tuple[Resource, ...] = ()
    scan: Scan = field(default_factory=Scan)
    pod_resources: PodResources = field(default_factory=PodResources)


def fill(template: str, values: t.Mapping[str, str]) -> str:
    """Replace the placeholders of a text."""
    return re.sub(r"\{([^}]*)\}", lambda match: values[match[1]], template)

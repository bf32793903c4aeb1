# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration as frozen values. No I/O."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PathSource:
    """Device nodes by their path: a glob, or a regular expression for the names in one folder."""

    glob: str = ""
    directory: str = "/dev"
    regex: str = ""
    exclude: tuple[str, ...] = ()
    type: str = "device"
    container_path: str = ""


@dataclass(frozen=True)
class UsbSource:
    """USB devices by their ids (four hexadecimal digits) and serial number (a glob).

    nodes: which device nodes belong to one: ``bus`` for the raw device, else the names of kernel subsystems.
    """

    vendor: str
    product: str = ""
    serial: str = ""
    nodes: tuple[str, ...] = ("bus",)
    container_path: str = ""


@dataclass(frozen=True)
class PciSource:
    """PCI devices by their ids, class (its first digits), driver and address (a glob).

    nodes: ``vfio`` for the device's IOMMU group, else the names of kernel subsystems.
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
    """One path or glob of a group. shared: other devices may have the node, too."""

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
    """Devices without any node, for tests. numa_nodes: handed out in turn."""

    count: int
    prefix: str = "fake"
    numa_nodes: tuple[int, ...] = ()


Source = PathSource | UsbSource | PciSource | GroupSource | FakeSource


@dataclass(frozen=True)
class FileCheck:
    """A file whose text tells the health: a regular expression that has to be found in it."""

    path: str
    healthy: str


@dataclass(frozen=True)
class ExecCheck:
    """A command: 0 is healthy, 1 is not, anything else says nothing. timeout: seconds."""

    command: tuple[str, ...]
    timeout: float = 5.0


@dataclass(frozen=True)
class HttpCheck:
    """A URL: below 400 is healthy. timeout: seconds."""

    url: str
    timeout: float = 5.0


@dataclass(frozen=True)
class HealthRules:
    """How health is found out. failures, successes: in a row until a device changes sides. interval: seconds."""

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
        """Whether there are checks that take their time."""
        return bool(self.exec or self.http)


@dataclass(frozen=True)
class Sharing:
    """replicas: how often one physical device is offered. distinct: a container never gets one device twice."""

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
    """One extended resource. at_least: how many healthy devices it has to offer until it counts as ready."""

    name: str
    sources: tuple[Source, ...] = ()
    health: HealthRules = HealthRules()
    sharing: Sharing = Sharing()
    preference: str = "packed"
    container: ContainerEdits = ContainerEdits()
    pre_start: PreStart | None = None
    at_least: int = 0


@dataclass(frozen=True)
class Scan:
    """When devices are looked for; all in seconds. recheck: while health is about to change."""

    interval: float = 5.0
    debounce: float = 0.05
    recheck: float = 1.0
    forget_after: float = 300.0


@dataclass(frozen=True)
class PodResources:
    """Who may ask which pod holds what."""

    access: str = "off"
    token_file: str = ""


@dataclass(frozen=True)
class Config:
    """The whole configuration."""

    resources: tuple[Resource, ...] = ()
    scan: Scan = field(default_factory=Scan)
    pod_resources: PodResources = field(default_factory=PodResources)


def fill(template: str, values: t.Mapping[str, str]) -> str:
    """Put values into the placeholders of a text."""
    return re.sub(r"\{([^}]*)\}", lambda match: values[match[1]], template)

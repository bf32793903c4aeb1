# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scans a host for the candidates of each kind of source. Reads only, keeps no state."""

from __future__ import annotations

import fnmatch
import functools
import os
import re
import typing as t
from dataclasses import dataclass, replace

from nodecraft_device_plugin import config, devices
from nodecraft_device_plugin.devices import Candidate, Node, Outcome, Skipped
from nodecraft_device_plugin.host import Found, Host, NotUsable, Unreadable, numa_of

USB = "/sys/bus/usb/devices"
PCI = "/sys/bus/pci/devices"
# The control node that all IOMMU groups need.
VFIO = "/dev/vfio/vfio"
# The interfaces of a device and their device nodes are not deeper below its directory in sysfs.
_DEPTH = 8
_CACHED = 16384


@dataclass(frozen=True)
class Discovery:
    """The result of a scan for one resource. failure: why the scan is incomplete; empty when it is complete."""

    candidates: tuple[Candidate, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    failure: str = ""


def discover(host: Host, resource: config.Resource) -> Discovery:
    """Scan for the devices of a resource."""
    found: list[Candidate] = []
    skipped: list[Skipped] = []
    failures: list[str] = []
    suffix_length = devices.replica_suffix_length(resource.sharing.replicas)
    for source in resource.sources:
        try:
            for item in _search(host, source):
                if isinstance(item, Candidate):
                    found.append(_checked(host, _named(item, suffix_length), resource.health))
                else:
                    skipped.append(item)
        except (Unreadable, NotUsable, OSError) as error:
            failures.append(str(error))
    return Discovery(tuple(found), tuple(skipped), "; ".join(failures))


def watched(sources: t.Iterable[config.Source]) -> set[str]:
    """The directories in which devices of these sources appear and disappear."""
    directories: set[str] = set()
    for source in sources:
        if isinstance(source, config.PathSource):
            directories.add(_plain_part(source.glob) if source.glob else source.directory)
        elif isinstance(source, config.GroupSource):
            directories |= {_plain_part(member.path) for member in source.members}
        elif isinstance(source, (config.UsbSource, config.PciSource)):
            directories |= {"/dev", "/dev/bus/usb"} if isinstance(source, config.UsbSource) else {"/dev", "/dev/vfio"}
    return directories


def _plain_part(pattern: str) -> str:
    """The directory above the first part of a pattern that has a wildcard."""
    directory = os.path.dirname(pattern)
    while re.search(r"[*?\[]", directory):
        directory = os.path.dirname(directory)
    return directory


def _search(host: Host, source: config.Source) -> t.Iterator[Candidate | Skipped]:
    if isinstance(source, config.PathSource):
        yield from _paths(host, source)
    elif isinstance(source, config.UsbSource):
        yield from _usb(host, source)
    elif isinstance(source, config.PciSource):
        yield from _pci(host, source)
    elif isinstance(source, config.GroupSource):
        yield _group(host, source)
    else:
        yield from _fakes(source)


def _paths(host: Host, source: config.PathSource) -> t.Iterator[Candidate | Skipped]:
    member = config.Member(source.glob, type=source.type, container_path=source.container_path)
    for path in _matching(host, source):
        if source.exclude and any(fnmatch.fnmatchcase(path, pattern) for pattern in source.exclude):
            yield Skipped(path, "matches exclude")
        else:
            yield _candidate(host, _path_id(path), [(path, member)])


def _matching(host: Host, source: config.PathSource) -> list[str]:
    if source.glob:
        return host.glob(source.glob)
    pattern = re.compile(source.regex)
    directory = source.directory.rstrip("/")
    return sorted(f"{directory}/{name}" for name in host.names(directory) if pattern.fullmatch(name))


def _candidate(host: Host, identifier: str, members: t.Sequence[tuple[str, config.Member]]) -> Candidate:
    """A device of several paths. An unusable one makes the device unhealthy, an unreadable one unknown."""
    nodes: list[tuple[str, Found, bool]] = []
    numa: int | None = None
    outcome = devices.HEALTHY
    for path, member in members:
        try:
            found = host.find(path, member.type)
        except NotUsable as error:
            outcome = Outcome(False, str(error), final=True)
            continue
        except Unreadable as error:
            # Unhealthy takes precedence over unknown.
            if outcome.healthy is not False:
                outcome = Outcome(None, str(error), final=True)
            continue
        nodes.append((member.container_path or path, found, member.shared))
        if numa is None:
            numa = host.numa_node(found)
    clash = _clash(nodes)
    if clash:
        outcome = Outcome(False, clash, final=True)
    return _built(identifier, tuple(nodes), numa, outcome, ", ".join(path for path, _member in members))


def _clash(nodes: t.Iterable[tuple[str, Found, bool]]) -> str:
    """Why a container cannot get all nodes of one device; empty when it can."""
    seen: dict[str, Found] = {}
    for inside, found, _shared in nodes:
        other = seen.setdefault(inside, found)
        if other.number != found.number:
            return (
                f"{other.path} and {found.path} would both be {inside} in a container;"
                " remove containerPath, select only one of them, or set a containerPath for each in a group"
            )
    return ""


# An unchanged candidate is the same object in each scan, so that a thousand devices cost little while nothing changes.
@functools.lru_cache(maxsize=_CACHED)
def _built(
    identifier: str, nodes: tuple[tuple[str, Found, bool], ...], numa: int | None, outcome: Outcome, found_as: str
) -> Candidate:
    made = tuple(
        Node(found.path, inside, found.number, found.kind == "regular file", shared) for inside, found, shared in nodes
    )
    return Candidate(identifier, made, numa, outcome, found_as)


_path_id = functools.lru_cache(maxsize=_CACHED)(devices.path_id)


@functools.lru_cache(maxsize=_CACHED)
def _identifier(name: str, suffix_length: int) -> str:
    return devices.device_id(name, suffix_length)


def _named(candidate: Candidate, suffix_length: int) -> Candidate:
    """A candidate with an id that the kubelet accepts."""
    identifier = _identifier(candidate.id, suffix_length)
    return candidate if identifier == candidate.id else replace(candidate, id=identifier)


def _group(host: Host, source: config.GroupSource) -> Candidate | Skipped:
    present: list[tuple[str, config.Member]] = []
    for member in source.members:
        paths = host.glob(member.path)
        if not paths and not member.optional:
            return Skipped(f"group {source.id}", f"{member.path} does not exist")
        present += [(path, member) for path in paths]
    return _candidate(host, source.id, present)


def _fakes(source: config.FakeSource) -> t.Iterator[Candidate]:
    nodes = source.numa_nodes
    for number in range(source.count):
        numa = nodes[number % len(nodes)] if nodes else None
        yield Candidate(f"{source.prefix}-{number}", numa=numa, found_as="fake")


def _usb(host: Host, source: config.UsbSource) -> t.Iterator[Candidate | Skipped]:
    for port in sorted(host.names(USB)):
        directory = f"{USB}/{port}"
        vendor = host.read(f"{directory}/idVendor", "")
        product = host.read(f"{directory}/idProduct", "")
        if vendor != source.vendor or source.product not in ("", product):
            continue
        serial = host.read(f"{directory}/serial", "")
        label = f"USB {vendor}:{product} at {port}"
        if source.serial and not fnmatch.fnmatchcase(serial, source.serial):
            yield Skipped(label, f"serial number {serial!r} does not match {source.serial!r}")
            continue
        paths = _usb_paths(host, directory, source.nodes)
        # Without a serial number the port is the stable part.
        identifier = f"usb-{vendor}-{product}-{serial or port}"
        yield _sysfs_candidate(host, identifier, label, paths, source.nodes, source.container_path)


def _usb_paths(host: Host, directory: str, nodes: t.Sequence[str]) -> list[str]:
    paths = _nodes_below(host, host.resolve(directory), nodes)
    if "bus" in nodes:
        bus, device = (host.read(f"{directory}/{name}", "0") for name in ("busnum", "devnum"))
        paths.append(f"/dev/bus/usb/{int(bus):03d}/{int(device):03d}")
    return paths


def _pci(host: Host, source: config.PciSource) -> t.Iterator[Candidate | Skipped]:
    for address in sorted(host.names(PCI)):
        directory = f"{PCI}/{address}"
        vendor, device, class_ = (
            host.read(f"{directory}/{name}", "").removeprefix("0x") for name in ("vendor", "device", "class")
        )
        if vendor != source.vendor or source.device not in ("", device) or not class_.startswith(source.class_):
            continue
        label = f"PCI {vendor}:{device} at {address}"
        driver = host.link_name(f"{directory}/driver")
        if not fnmatch.fnmatchcase(address, source.address):
            yield Skipped(label, f"address does not match {source.address!r}")
        elif source.driver not in ("", driver):
            yield Skipped(label, f"driver is {driver or 'none'}, not {source.driver}")
        else:
            numa = numa_of(host.read(f"{directory}/numa_node", ""))
            paths = _pci_paths(host, directory, source.nodes)
            item = _sysfs_candidate(host, f"pci-{address}", label, paths, source.nodes, source.container_path)
            yield replace(item, numa=numa) if isinstance(item, Candidate) else item


def _pci_paths(host: Host, directory: str, nodes: t.Sequence[str]) -> list[str]:
    paths = _nodes_below(host, host.resolve(directory), nodes)
    if "vfio" in nodes and (group := host.link_name(f"{directory}/iommu_group")):
        paths += [f"/dev/vfio/{group}", VFIO]
    return paths


def _sysfs_candidate(
    host: Host, identifier: str, label: str, paths: t.Sequence[str], nodes: t.Sequence[str], container_path: str
) -> Candidate | Skipped:
    if not paths:
        return Skipped(label, f"has no device node of {', '.join(nodes)}")
    members = [(path, config.Member(path, container_path=container_path)) for path in paths if path != VFIO]
    if VFIO in paths:
        members.append((VFIO, config.Member(VFIO, shared=True)))
    return replace(_candidate(host, identifier, members), found_as=label)


def _nodes_below(host: Host, directory: str, subsystems: t.Sequence[str], depth: int = _DEPTH) -> list[str]:
    """The device nodes of the given subsystems below a directory of sysfs."""
    paths: list[str] = []
    for name in sorted(host.names(directory)):
        below = f"{directory}/{name}"
        full = host.below(below)
        if os.path.islink(full) or not os.path.isdir(full):
            continue
        subsystem = host.link_name(f"{below}/subsystem")
        if subsystem in subsystems and (node := _node_name(host, below)):
            paths.append(f"/dev/{node}")
        # A USB device below a hub and a PCI device below a bridge are separate devices.
        if depth and subsystem != "pci" and not os.path.exists(f"{full}/idVendor"):
            paths += _nodes_below(host, below, subsystems, depth - 1)
    return paths


def _node_name(host: Host, directory: str) -> str:
    """DEVNAME of a directory of sysfs; empty when it has no device node."""
    match = re.search(r"^DEVNAME=(.+)$", host.read(f"{directory}/uevent", ""), re.MULTILINE)
    return match[1] if match else ""


def _checked(host: Host, candidate: Candidate, rules: config.HealthRules) -> Candidate:
    """A candidate with the results of the checks that only read and open files."""
    if candidate.outcome is not devices.HEALTHY:
        return candidate
    try:
        if rules.open:
            for node in candidate.nodes:
                host.try_open(node.host_path)
        if rules.file:
            _check_file(host, candidate, rules.file)
    except NotUsable as error:
        return replace(candidate, outcome=Outcome(False, str(error)))
    except Unreadable as error:
        return replace(candidate, outcome=Outcome(None, str(error)))
    return candidate


def _check_file(host: Host, candidate: Candidate, check: config.FileCheck) -> None:
    path = config.fill(check.path, {"id": candidate.id})
    text = host.read(path)
    if not re.search(check.healthy, text):
        raise NotUsable(f"{path} is {text[:60]!r}, which does not match {check.healthy!r}")

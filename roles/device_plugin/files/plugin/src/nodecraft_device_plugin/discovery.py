# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Candidates of each kind of source, found on a host. Reads only, remembers nothing."""

from __future__ import annotations

import fnmatch
import functools
import os
import re
import typing as t
from dataclasses import dataclass, replace

from nodecraft_device_plugin import config, devices
from nodecraft_device_plugin.devices import Candidate, LeftOut, Node, Outcome
from nodecraft_device_plugin.host import Found, Host, NotUsable, Unreadable, numa_of

USB = "/sys/bus/usb/devices"
PCI = "/sys/bus/pci/devices"
# All IOMMU groups are opened through it.
VFIO = "/dev/vfio/vfio"
# A device's own folder in sysfs holds its interfaces and what the kernel made of them, not much deeper.
_DEPTH = 8
_REMEMBERED = 16384


@dataclass(frozen=True)
class Discovery:
    """What was found for one resource. failure: why nothing can be said of what is there; empty: all was read."""

    candidates: tuple[Candidate, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    failure: str = ""


def discover(host: Host, resource: config.Resource) -> Discovery:
    """Look for the devices of a resource."""
    found: list[Candidate] = []
    left_out: list[LeftOut] = []
    failures: list[str] = []
    room = devices.room_for(resource.sharing.replicas)
    for source in resource.sources:
        try:
            for item in _search(host, source):
                if isinstance(item, Candidate):
                    found.append(_checked(host, _named(item, room), resource.health))
                else:
                    left_out.append(item)
        except (Unreadable, NotUsable, OSError) as error:
            failures.append(str(error))
    return Discovery(tuple(found), tuple(left_out), "; ".join(failures))


def watched(sources: t.Iterable[config.Source]) -> set[str]:
    """The folders in which a device of these sources comes and goes."""
    folders: set[str] = set()
    for source in sources:
        if isinstance(source, config.PathSource):
            folders.add(_plain_part(source.glob) if source.glob else source.directory)
        elif isinstance(source, config.GroupSource):
            folders |= {_plain_part(member.path) for member in source.members}
        elif isinstance(source, (config.UsbSource, config.PciSource)):
            folders |= {"/dev", "/dev/bus/usb"} if isinstance(source, config.UsbSource) else {"/dev", "/dev/vfio"}
    return folders


def _plain_part(pattern: str) -> str:
    """The folder above the first part of a pattern that is no plain name."""
    folder = os.path.dirname(pattern)
    while re.search(r"[*?\[]", folder):
        folder = os.path.dirname(folder)
    return folder


def _search(host: Host, source: config.Source) -> t.Iterator[Candidate | LeftOut]:
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


def _paths(host: Host, source: config.PathSource) -> t.Iterator[Candidate | LeftOut]:
    member = config.Member(source.glob, type=source.type, container_path=source.container_path)
    for path in _matching(host, source):
        if source.exclude and any(fnmatch.fnmatchcase(path, pattern) for pattern in source.exclude):
            yield LeftOut(path, "exclude names it")
        else:
            yield _candidate(host, _path_id(path), [(path, member)])


def _matching(host: Host, source: config.PathSource) -> list[str]:
    if source.glob:
        return host.glob(source.glob)
    pattern = re.compile(source.regex)
    folder = source.directory.rstrip("/")
    return sorted(f"{folder}/{name}" for name in host.names(folder) if pattern.fullmatch(name))


def _candidate(host: Host, identifier: str, members: t.Sequence[tuple[str, config.Member]]) -> Candidate:
    """A device of some paths; one that cannot be used makes the device unhealthy, not unknown."""
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
            # What is broken stays so, whatever cannot be read besides.
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
    """Why a container could not be given all nodes of one device; empty when it can."""
    seen: dict[str, Found] = {}
    for inside, found, _shared in nodes:
        other = seen.setdefault(inside, found)
        if other.number != found.number:
            return (
                f"{other.path} and {found.path} would both be {inside} in a container;"
                " leave containerPath out, or take only one of them, or give each its own in a group"
            )
    return ""


# What has not changed is the same object at each look, so that a thousand devices cost little while nothing happens.
@functools.lru_cache(maxsize=_REMEMBERED)
def _built(
    identifier: str, nodes: tuple[tuple[str, Found, bool], ...], numa: int | None, outcome: Outcome, found_as: str
) -> Candidate:
    made = tuple(
        Node(found.path, inside, found.number, found.kind == "regular file", shared) for inside, found, shared in nodes
    )
    return Candidate(identifier, made, numa, outcome, found_as)


_path_id = functools.lru_cache(maxsize=_REMEMBERED)(devices.path_id)


@functools.lru_cache(maxsize=_REMEMBERED)
def _identifier(name: str, room: int) -> str:
    return devices.device_id(name, room)


def _named(candidate: Candidate, room: int) -> Candidate:
    """A candidate with an id as the kubelet takes it."""
    identifier = _identifier(candidate.id, room)
    return candidate if identifier == candidate.id else replace(candidate, id=identifier)


def _group(host: Host, source: config.GroupSource) -> Candidate | LeftOut:
    present: list[tuple[str, config.Member]] = []
    for member in source.members:
        paths = host.glob(member.path)
        if not paths and not member.optional:
            return LeftOut(f"group {source.id}", f"{member.path} is not there")
        present += [(path, member) for path in paths]
    return _candidate(host, source.id, present)


def _fakes(source: config.FakeSource) -> t.Iterator[Candidate]:
    nodes = source.numa_nodes
    for number in range(source.count):
        numa = nodes[number % len(nodes)] if nodes else None
        yield Candidate(f"{source.prefix}-{number}", numa=numa, found_as="fake")


def _usb(host: Host, source: config.UsbSource) -> t.Iterator[Candidate | LeftOut]:
    for port in sorted(host.names(USB)):
        folder = f"{USB}/{port}"
        vendor = host.read(f"{folder}/idVendor", "")
        product = host.read(f"{folder}/idProduct", "")
        if vendor != source.vendor or source.product not in ("", product):
            continue
        serial = host.read(f"{folder}/serial", "")
        called = f"USB {vendor}:{product} at {port}"
        if source.serial and not fnmatch.fnmatchcase(serial, source.serial):
            yield LeftOut(called, f"its serial number {serial!r} does not match {source.serial!r}")
            continue
        paths = _usb_paths(host, folder, source.nodes)
        # Without a serial number the port is what stays the same.
        identifier = f"usb-{vendor}-{product}-{serial or port}"
        yield _sysfs_candidate(host, identifier, called, paths, source.nodes, source.container_path)


def _usb_paths(host: Host, folder: str, nodes: t.Sequence[str]) -> list[str]:
    paths = _nodes_below(host, host.resolve(folder), nodes)
    if "bus" in nodes:
        bus, device = (host.read(f"{folder}/{name}", "0") for name in ("busnum", "devnum"))
        paths.append(f"/dev/bus/usb/{int(bus):03d}/{int(device):03d}")
    return paths


def _pci(host: Host, source: config.PciSource) -> t.Iterator[Candidate | LeftOut]:
    for address in sorted(host.names(PCI)):
        folder = f"{PCI}/{address}"
        vendor, device, class_ = (
            host.read(f"{folder}/{name}", "").removeprefix("0x") for name in ("vendor", "device", "class")
        )
        if vendor != source.vendor or source.device not in ("", device) or not class_.startswith(source.class_):
            continue
        called = f"PCI {vendor}:{device} at {address}"
        driver = host.link_name(f"{folder}/driver")
        if not fnmatch.fnmatchcase(address, source.address):
            yield LeftOut(called, f"its address does not match {source.address!r}")
        elif source.driver not in ("", driver):
            yield LeftOut(called, f"its driver is {driver or 'none'}, not {source.driver}")
        else:
            numa = numa_of(host.read(f"{folder}/numa_node", ""))
            paths = _pci_paths(host, folder, source.nodes)
            item = _sysfs_candidate(host, f"pci-{address}", called, paths, source.nodes, source.container_path)
            yield replace(item, numa=numa) if isinstance(item, Candidate) else item


def _pci_paths(host: Host, folder: str, nodes: t.Sequence[str]) -> list[str]:
    paths = _nodes_below(host, host.resolve(folder), nodes)
    if "vfio" in nodes and (group := host.link_name(f"{folder}/iommu_group")):
        paths += [f"/dev/vfio/{group}", VFIO]
    return paths


def _sysfs_candidate(
    host: Host, identifier: str, called: str, paths: t.Sequence[str], nodes: t.Sequence[str], container_path: str
) -> Candidate | LeftOut:
    if not paths:
        return LeftOut(called, f"it has no device node of {', '.join(nodes)}")
    members = [(path, config.Member(path, container_path=container_path)) for path in paths if path != VFIO]
    if VFIO in paths:
        members.append((VFIO, config.Member(VFIO, shared=True)))
    return replace(_candidate(host, identifier, members), found_as=called)


def _nodes_below(host: Host, folder: str, subsystems: t.Sequence[str], depth: int = _DEPTH) -> list[str]:
    """The device nodes that the kernel made for a folder of sysfs, of the subsystems asked for."""
    paths: list[str] = []
    for name in sorted(host.names(folder)):
        below = f"{folder}/{name}"
        full = host.below(below)
        if os.path.islink(full) or not os.path.isdir(full):
            continue
        subsystem = host.link_name(f"{below}/subsystem")
        if subsystem in subsystems and (node := _node_name(host, below)):
            paths.append(f"/dev/{node}")
        # A USB device below a hub, and a PCI device below a bridge, is a device of its own.
        if depth and subsystem != "pci" and not os.path.exists(f"{full}/idVendor"):
            paths += _nodes_below(host, below, subsystems, depth - 1)
    return paths


def _node_name(host: Host, folder: str) -> str:
    """DEVNAME of a folder of sysfs; empty when it has no device node."""
    match = re.search(r"^DEVNAME=(.+)$", host.read(f"{folder}/uevent", ""), re.MULTILINE)
    return match[1] if match else ""


def _checked(host: Host, candidate: Candidate, rules: config.HealthRules) -> Candidate:
    """A candidate with what the checks say that only read and open files."""
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
        raise NotUsable(f"{path} is {text[:60]!r}, in which {check.healthy!r} is not found")

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scans of a host that is a directory."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from nodecraft_device_plugin import config, devices, discovery
from nodecraft_device_plugin.devices import Outcome, Skipped
from nodecraft_device_plugin.discovery import Discovery
from nodecraft_device_plugin.host import Found, Host, Unreadable
from running_plugin import lstat, plug

USB = "sys/devices/pci0000:00/0000:00:14.0/usb1"


def write(root: Path, files: dict[str, str]) -> None:
    """Files by their paths; a value after -> is the target of a link."""
    for name, value in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if value.startswith("->"):
            path.symlink_to(value[2:])
        else:
            path.write_text(value, encoding="utf-8")


def discover(root: Path, source: config.Source, **settings: t.Any) -> Discovery:
    return discovery.discover(Host(str(root), lstat), config.Resource("example.com/x", (source,), **settings))


def usb_stick(root: Path, port: str, serial: str, number: int) -> None:
    directory = f"{USB}/{port}"
    tty = f"{directory}/{port}:1.0/ttyUSB{number}/tty/ttyUSB{number}"
    write(
        root,
        {
            f"{directory}/idVendor": "0403\n",
            f"{directory}/idProduct": "6001\n",
            f"{directory}/busnum": "1\n",
            f"{directory}/devnum": f"{number + 5}\n",
            f"{directory}/subsystem": "->../../../../../bus/usb",
            f"{tty}/uevent": f"MAJOR=188\nDEVNAME=ttyUSB{number}\n",
            f"{tty}/subsystem": "->../../../../../../../../../class/tty",
            f"sys/bus/usb/devices/{port}": f"->../../../devices/pci0000:00/0000:00:14.0/usb1/{port}",
            f"dev/ttyUSB{number}": f"char 188:{number}",
            f"dev/bus/usb/001/{number + 5:03d}": f"char 189:{number}",
            f"sys/dev/char/188:{number}": f"->../../devices/pci0000:00/0000:00:14.0/usb1/{port}/{port}:1.0/ttyUSB{number}/tty/ttyUSB{number}",
        },
    )
    if serial:
        write(root, {f"{directory}/serial": f"{serial}\n"})


def graphics_card(root: Path, address: str, minor: int, numa: str = "1") -> None:
    directory = f"sys/devices/pci0000:00/{address}"
    write(
        root,
        {
            f"{directory}/vendor": "0x8086\n",
            f"{directory}/device": "0x56a0\n",
            f"{directory}/class": "0x030000\n",
            f"{directory}/numa_node": f"{numa}\n",
            f"{directory}/driver": "->../../../bus/pci/drivers/i915",
            f"{directory}/iommu_group": f"->../../../kernel/iommu_groups/{minor}",
            f"{directory}/drm/renderD{minor}/uevent": f"DEVNAME=dri/renderD{minor}\n",
            f"{directory}/drm/renderD{minor}/subsystem": "->../../../../../class/drm",
            f"sys/bus/pci/devices/{address}": f"->../../../devices/pci0000:00/{address}",
            f"dev/dri/renderD{minor}": f"char 226:{minor}",
            f"dev/vfio/{minor}": f"char 240:{minor}",
        },
    )


def test_a_stable_link_is_the_identity_and_its_target_is_allocated(tmp_path: Path) -> None:
    plug(tmp_path, "usb-FTDI_A", 3)
    (found,) = discover(tmp_path, config.PathSource(glob="/dev/serial/by-id/*")).candidates
    assert found.id == "usb-FTDI_A"
    (node,) = found.nodes
    assert (node.host_path, node.container_path) == ("/dev/ttyUSB3", "/dev/serial/by-id/usb-FTDI_A")
    assert node.key == ("char", 188, 3)


def test_names_by_regular_expression_without_those_excluded(tmp_path: Path) -> None:
    for number in (0, 1, 12):
        plug(tmp_path, f"usb-{number}", number)
    found = discover(tmp_path, config.PathSource(regex=r"ttyUSB\d", exclude=("/dev/ttyUSB1",)))
    assert [candidate.id for candidate in found.candidates] == ["ttyUSB0"]
    assert found.skipped == (Skipped("/dev/ttyUSB1", "matches exclude"),)


def test_a_file_is_a_device_with_type_file(tmp_path: Path) -> None:
    write(tmp_path, {"opt/licences/a": "x"})
    (found,) = discover(tmp_path, config.PathSource(glob="/opt/licences/*", type="file")).candidates
    assert (found.id, found.outcome, found.nodes[0].is_file) == ("opt-licences-a", devices.HEALTHY, True)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"dev/ttyUSB0": "text"}, "/dev/ttyUSB0 is a regular file, not a character device or block device"),
        ({"dev/ttyUSB0": "->gone"}, "/dev/ttyUSB0 is a link to /dev/gone, which does not exist"),
        ({"dev/ttyUSB0": "->ttyUSB0"}, "/dev/ttyUSB0 is a symbolic link loop"),
    ],
)
def test_an_unusable_path_has_a_reason(tmp_path: Path, files: dict[str, str], reason: str) -> None:
    write(tmp_path, files)
    (found,) = discover(tmp_path, config.PathSource(glob="/dev/ttyUSB*")).candidates
    assert found.outcome == Outcome(False, reason, final=True)


def test_an_unreadable_directory_is_a_failure_not_an_empty_one(tmp_path: Path) -> None:
    class Forbidden(Host):
        def names(self, directory: str) -> list[str]:
            raise Unreadable(f"{directory}: Permission denied")

    sources = (config.PathSource(glob="/dev/ttyUSB*"), config.FakeSource(1))
    found = discovery.discover(Forbidden(str(tmp_path)), config.Resource("example.com/x", sources))
    assert found.failure == "/dev: Permission denied"
    assert [candidate.id for candidate in found.candidates] == ["fake-0"]


def test_usb_by_ids_and_serial_number(tmp_path: Path) -> None:
    usb_stick(tmp_path, "1-1", "A1", 0)
    usb_stick(tmp_path, "1-2", "B1", 1)
    found = discover(tmp_path, config.UsbSource("0403", "6001", "A*", ("tty", "bus")))
    (candidate,) = found.candidates
    assert candidate.id == "usb-0403-6001-A1"
    assert [node.host_path for node in candidate.nodes] == ["/dev/ttyUSB0", "/dev/bus/usb/001/005"]
    assert found.skipped == (Skipped("USB 0403:6001 at 1-2", "serial number 'B1' does not match 'A*'"),)


def test_usb_without_a_serial_number_is_known_by_its_port(tmp_path: Path) -> None:
    usb_stick(tmp_path, "1-1.4", "", 0)
    (candidate,) = discover(tmp_path, config.UsbSource("0403")).candidates
    assert candidate.id == "usb-0403-6001-1-1.4"


def test_usb_without_the_configured_nodes_is_skipped(tmp_path: Path) -> None:
    usb_stick(tmp_path, "1-1", "A1", 0)
    found = discover(tmp_path, config.UsbSource("0403", nodes=("hidraw",)))
    assert found.skipped == (Skipped("USB 0403:6001 at 1-1", "has no device node of hidraw"),)


def test_pci_by_ids_class_and_driver(tmp_path: Path) -> None:
    graphics_card(tmp_path, "0000:03:00.0", 128)
    graphics_card(tmp_path, "0000:04:00.0", 129, numa="-1")
    first, second = discover(tmp_path, config.PciSource("8086", "56a0", "0300", "i915", nodes=("drm",))).candidates
    assert (first.id, first.numa, first.nodes[0].host_path) == ("pci-0000:03:00.0", 1, "/dev/dri/renderD128")
    assert second.numa is None


def test_devices_behind_a_pci_bridge_are_separate(tmp_path: Path) -> None:
    """A root port of one vendor with a disk of another vendor behind it."""
    bridge = "sys/devices/pci0000:00/0000:00:1d.0"
    disk = f"{bridge}/0000:02:00.0"
    for directory, vendor, class_ in ((bridge, "0x8086", "0x060400"), (disk, "0x144d", "0x010802")):
        address = Path(directory).name
        write(
            tmp_path,
            {
                f"{directory}/vendor": f"{vendor}\n",
                f"{directory}/class": f"{class_}\n",
                f"{directory}/subsystem": "->../../../bus/pci",
                f"sys/bus/pci/devices/{address}": f"->../../../{directory.removeprefix('sys/')}",
            },
        )
    write(
        tmp_path,
        {
            f"{disk}/nvme/nvme0/uevent": "DEVNAME=nvme0\n",
            f"{disk}/nvme/nvme0/subsystem": "->../../../../../../class/nvme",
            "dev/nvme0": "char 240:0",
        },
    )
    foreign = discover(tmp_path, config.PciSource("8086", nodes=("nvme",)))
    assert (foreign.candidates, [item.reason for item in foreign.skipped]) == ((), ["has no device node of nvme"])
    (own,) = discover(tmp_path, config.PciSource("144d", nodes=("nvme",))).candidates
    assert [node.host_path for node in own.nodes] == ["/dev/nvme0"]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (config.PciSource("8086", driver="vfio-pci", nodes=("drm",)), "driver is i915, not vfio-pci"),
        (config.PciSource("8086", address="0000:9*", nodes=("drm",)), "address does not match '0000:9*'"),
    ],
)
def test_pci_that_is_skipped(tmp_path: Path, source: config.PciSource, reason: str) -> None:
    graphics_card(tmp_path, "0000:03:00.0", 128)
    assert discover(tmp_path, source).skipped == (Skipped("PCI 8086:56a0 at 0000:03:00.0", reason),)


def test_vfio_takes_the_group_and_shares_the_control_node(tmp_path: Path) -> None:
    graphics_card(tmp_path, "0000:03:00.0", 11)
    write(tmp_path, {"dev/vfio/vfio": "char 10:196"})
    source = config.PciSource("8086", nodes=("vfio",), container_path="/dev/vfio/mine")
    (candidate,) = discover(tmp_path, source).candidates
    assert (candidate.outcome, [node.container_path for node in candidate.nodes]) == (
        devices.HEALTHY,
        ["/dev/vfio/mine", "/dev/vfio/vfio"],
    )
    assert [(node.host_path, node.shared) for node in candidate.nodes] == [
        ("/dev/vfio/11", False),
        ("/dev/vfio/vfio", True),
    ]


def test_a_group_is_one_device_with_its_present_members(tmp_path: Path) -> None:
    write(tmp_path, {"dev/snd/controlC0": "char 116:2", "dev/snd/pcmC0D0p": "char 116:3"})
    members = (
        config.Member("/dev/snd/controlC0"),
        config.Member("/dev/snd/pcm*"),
        config.Member("/dev/snd/midi*", optional=True),
    )
    (found,) = discover(tmp_path, config.GroupSource("sound", members)).candidates
    assert [node.host_path for node in found.nodes] == ["/dev/snd/controlC0", "/dev/snd/pcmC0D0p"]
    (tmp_path / "dev/snd/pcmC0D0p").unlink()
    assert discover(tmp_path, config.GroupSource("sound", members)).skipped == (
        Skipped("group sound", "/dev/snd/pcm* does not exist"),
    )


def test_a_broken_member_is_not_hidden_by_one_that_cannot_be_read(tmp_path: Path) -> None:
    class Forbidden(Host):
        def find(self, path: str, expected: str = "device") -> Found:
            if path == "/dev/b":
                raise Unreadable("/dev/b: Permission denied")
            return super().find(path, expected)

    write(tmp_path, {"dev/a": "no device", "dev/b": "char 10:2"})
    for paths in (("/dev/a", "/dev/b"), ("/dev/b", "/dev/a")):
        source = config.GroupSource("g", tuple(config.Member(path) for path in paths))
        resource = config.Resource("example.com/x", (source,))
        (found,) = discovery.discover(Forbidden(str(tmp_path), lstat), resource).candidates
        assert (found.outcome.healthy, found.outcome.final) == (False, True)
        assert found.outcome.reason.startswith("/dev/a is a regular file")


def test_two_nodes_of_a_device_cannot_have_one_path_in_a_container(tmp_path: Path) -> None:
    write(tmp_path, {"dev/a": "char 10:1", "dev/b": "char 10:2", "dev/link": "->a"})
    clash = config.GroupSource("g", (config.Member("/dev/[ab]", container_path="/dev/x{index}"),))
    (found,) = discover(tmp_path, clash).candidates
    assert found.outcome == Outcome(
        False,
        "/dev/a and /dev/b would both be /dev/x{index} in a container;"
        " remove containerPath, select only one of them, or set a containerPath for each in a group",
        final=True,
    )
    same = config.GroupSource(
        "g", tuple(config.Member(path, container_path="/dev/x") for path in ("/dev/a", "/dev/link"))
    )
    assert discover(tmp_path, same).candidates[0].outcome == devices.HEALTHY


def test_numa_node_of_a_device_node_comes_from_the_hardware_above_it(tmp_path: Path) -> None:
    usb_stick(tmp_path, "1-1", "A1", 0)
    write(tmp_path, {"sys/devices/pci0000:00/0000:00:14.0/numa_node": "1\n"})
    (found,) = discover(tmp_path, config.PathSource(glob="/dev/ttyUSB*")).candidates
    assert found.numa == 1


def test_the_numa_node_is_read_again_when_a_number_is_another_device(tmp_path: Path) -> None:
    host = Host(str(tmp_path), lstat)
    write(tmp_path, {f"sys/devices/{name}/numa_node": f"{number}\n" for number, name in enumerate("ab")})
    link = tmp_path / "sys/dev/char/188:0"
    write(tmp_path, {"dev/ttyUSB0": "char 188:0", "sys/dev/char/188:0": "->../../devices/a"})
    assert host.numa_node(host.find("/dev/ttyUSB0")) == 0
    link.unlink()
    write(tmp_path, {"dev/new": "char 188:0", "sys/dev/char/188:0": "->../../devices/b"})
    (tmp_path / "dev/new").rename(tmp_path / "dev/ttyUSB0")
    assert host.numa_node(host.find("/dev/ttyUSB0")) == 1


def test_fakes_have_numa_nodes_round_robin(tmp_path: Path) -> None:
    found = discover(tmp_path, config.FakeSource(3, "unit", (0, 1))).candidates
    assert [(candidate.id, candidate.numa) for candidate in found] == [("unit-0", 0), ("unit-1", 1), ("unit-2", 0)]


@pytest.mark.parametrize(("text", "healthy"), [("state: ok\n", True), ("state: failed\n", False), (None, None)])
def test_a_file_determines_the_health(tmp_path: Path, text: str | None, healthy: bool | None) -> None:
    if text is not None:
        write(tmp_path, {"sys/state/fake-0": text})
    rules = config.HealthRules(file=config.FileCheck("/sys/state/{id}", "ok"))
    (found,) = discover(tmp_path, config.FakeSource(1), health=rules).candidates
    assert found.outcome.healthy is healthy


def test_a_denied_open_is_unknown(tmp_path: Path) -> None:
    """Without privileges the device cgroup denies to open a node."""

    class Guarded(Host):
        def try_open(self, path: str) -> None:
            raise Unreadable(f"{path} cannot be opened without privileges: Operation not permitted")

    plug(tmp_path, "usb-A", 0)
    resource = config.Resource(
        "example.com/x", (config.PathSource(glob="/dev/ttyUSB*"),), health=config.HealthRules(open=True)
    )
    (found,) = discovery.discover(Guarded(str(tmp_path), lstat), resource).candidates
    assert found.outcome.healthy is None
    (found,) = discovery.discover(Host(str(tmp_path), lstat), resource).candidates
    assert found.outcome.healthy is True


def test_a_failed_open_is_unhealthy(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/a").mkdir()
    with pytest.raises(Exception, match="/dev/a cannot be opened: Is a directory"):
        Host(str(tmp_path)).try_open("/dev/a")


def test_watched_directories() -> None:
    sources = (
        config.PathSource(glob="/dev/serial/by-id/*"),
        config.PathSource(glob="/dev/*/x*/y"),
        config.PathSource(regex="a"),
        config.UsbSource("0403"),
        config.GroupSource("g", (config.Member("/dev/snd/control"),)),
        config.FakeSource(1),
    )
    assert discovery.watched(sources) == {"/dev/serial/by-id", "/dev", "/dev/bus/usb", "/dev/snd"}


@pytest.mark.parametrize("suffix_length", [0, 6])
def test_ids_are_never_longer_than_the_kubelet_accepts(suffix_length: int) -> None:
    one, other = (devices.device_id("x" * 80 + end, suffix_length) for end in "ab")
    assert len(one) == 63 - suffix_length
    assert one != other
    assert devices.device_id("usb-FTDI_A", suffix_length) == "usb-FTDI_A"
    assert devices.device_id("a b") not in ("a_b", devices.device_id("a/b"))


@pytest.mark.parametrize("physical", ["pci-0000:03:00.0", "usb-0403-6001-A:", ":", "fake-0"])
def test_replicas_lead_back_to_their_device(physical: str) -> None:
    ids = devices.replica_ids(physical, 2)
    assert ids == [f"{physical}::0", f"{physical}::1"]
    assert {devices.physical_of(identifier) for identifier in (*ids, physical)} == {physical}
    assert "::" not in devices.device_id("a::b")

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a container gets, as device nodes or as CDI names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nodecraft_device_plugin import cdi
from nodecraft_device_plugin.allocation import Allocation, DeviceNode, Rejected, allocate, selected
from nodecraft_device_plugin.config import ContainerEdits, FakeSource, Mount, Resource, Sharing
from nodecraft_device_plugin.devices import Candidate, Node
from nodecraft_device_plugin.inventory import Health, Known

NAME = "example.com/dongle"
EDITS = ContainerEdits(
    permissions="r",
    env=(("IDS", "{ids}"), ("PATHS", "{paths}"), ("N", "{count}")),
    mounts=(Mount("/opt", "/opt/x"),),
    annotations=(("devices", "{ids}"),),
)


def resource(**settings: object) -> Resource:
    return Resource(NAME, (FakeSource(1),), container=EDITS, **settings)  # type: ignore[arg-type]


def known(name: str, *paths: str, inside: str = "", healthy: bool = True, is_file: bool = False) -> Known:
    nodes = tuple(Node(path, inside or path, ("char", ord(name), number), is_file) for number, path in enumerate(paths))
    return Known(Candidate(name, nodes), Health(healthy, "" if healthy else "broken"))


INVENTORY = {"a": known("a", "/dev/a"), "b": known("b", "/dev/b"), "c": known("c", "/dev/c", healthy=False)}


def test_everything_a_container_gets() -> None:
    found = selected(resource(), INVENTORY, ["b", "a"])
    assert allocate(resource(), found, 2, with_cdi=False) == Allocation(
        env={"IDS": "a,b", "PATHS": "/dev/a,/dev/b", "N": "2"},
        mounts=(Mount("/opt", "/opt/x"),),
        nodes=(DeviceNode("/dev/a", "/dev/a", "r"), DeviceNode("/dev/b", "/dev/b", "r")),
        annotations={"devices": "a,b"},
    )


def test_devices_are_numbered_in_the_container() -> None:
    found = [
        known("a", "/dev/ttyUSB7", inside="/dev/dongle{index}"),
        known("b", "/dev/ttyUSB3", inside="/dev/dongle{index}"),
    ]
    nodes = allocate(resource(), found, 2, with_cdi=False).nodes
    assert [(node.host_path, node.container_path) for node in nodes] == [
        ("/dev/ttyUSB7", "/dev/dongle0"),
        ("/dev/ttyUSB3", "/dev/dongle1"),
    ]


def test_two_nodes_cannot_have_one_path() -> None:
    found = [known("a", "/dev/a", inside="/dev/x"), known("b", "/dev/b", inside="/dev/x")]
    with pytest.raises(Rejected, match="/dev/x in the container would be both /dev/a and /dev/b"):
        allocate(resource(), found, 2, with_cdi=False)


def test_a_file_is_mounted() -> None:
    result = allocate(resource(), [known("a", "/opt/licence", is_file=True)], 1, with_cdi=False)
    assert (result.nodes, result.mounts[-1]) == ((), Mount("/opt/licence", "/opt/licence", read_only=True))


@pytest.mark.parametrize(
    ("sharing", "ids", "problem"),
    [
        (Sharing(), ["x"], "device x does not exist"),
        (Sharing(), ["c"], "device c is unhealthy: broken"),
        (Sharing(4, max_per_container=1), ["a::0", "b::0"], "2 devices requested, at most 1 per container"),
        (Sharing(4, distinct=True), ["a::1", "a::0"], "a::0, a::1 include one device twice"),
    ],
)
def test_what_is_rejected(sharing: Sharing, ids: list[str], problem: str) -> None:
    with pytest.raises(Rejected, match=problem):
        selected(resource(sharing=sharing), INVENTORY, ids)


def test_replicas_of_one_device_are_allocated_once() -> None:
    found = selected(resource(sharing=Sharing(4)), INVENTORY, ["a::1", "a::0"])
    assert [entry.candidate.id for entry in found] == ["a"]


def test_with_cdi_the_runtime_creates_the_nodes() -> None:
    result = allocate(resource(), selected(resource(), INVENTORY, ["a"]), 1, with_cdi=True)
    assert (result.nodes, result.cdi) == ((), ("example.com/dongle=a",))
    assert result.env["PATHS"] == "/dev/a"


def test_the_specification_names_every_device() -> None:
    inventory = {"a": INVENTORY["a"], "fake-0": known("f")}
    assert cdi.specification(resource(), inventory) == {
        "cdiVersion": "0.5.0",
        "kind": NAME,
        "devices": [
            {
                "name": "a",
                "containerEdits": {"deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/a", "permissions": "r"}]},
            },
            {"name": "fake-0", "containerEdits": {"env": ["CDI_DEVICE_fake_0=present"]}},
        ],
    }


def test_the_specification_is_written_only_when_it_changes(tmp_path: Path) -> None:
    files = cdi.Files(tmp_path / "cdi")
    files.write(resource(), INVENTORY)
    (path,) = (tmp_path / "cdi").iterdir()
    assert path.name == "nodecraft-example.com-dongle.json"
    assert json.loads(path.read_text(encoding="utf-8")) == cdi.specification(resource(), INVENTORY)
    before = path.stat().st_ino
    files.write(resource(), INVENTORY)
    assert path.stat().st_ino == before
    files.write(resource(), {"b": INVENTORY["b"]})
    assert path.stat().st_ino != before
    files.write(resource(), {})
    assert list((tmp_path / "cdi").iterdir()) == []
    files.write(resource(), INVENTORY)
    files.remove(NAME)
    files.remove(NAME)
    assert list((tmp_path / "cdi").iterdir()) == []

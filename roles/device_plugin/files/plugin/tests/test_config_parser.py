# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration: its values, and the message for each mistake."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from nodecraft_device_plugin import config, config_parser
from nodecraft_device_plugin.config import (
    FakeSource,
    GroupSource,
    Member,
    PathSource,
    PciSource,
    UsbSource,
)
from nodecraft_device_plugin.config_parser import ConfigError

FULL = """
version: v1
scan: {interval: 2, debounce: 0.5, recheck: 0.5, forgetAfter: 60}
podResources: {access: token, tokenFile: /etc/token}
resources:
  - name: example.com/all
    discover:
      - path: {glob: /dev/serial/by-id/*, exclude: ["*-if01"], containerPath: "/dev/dongle{index}"}
      - path: {regex: "ttyUSB[0-9]+", type: char}
      - usb: {vendor: 0403, product: "6001", serial: A*, nodes: [tty]}
      - pci: {vendor: "0x8086", device: 56a0, class: "0x0380", driver: i915, nodes: [drm]}
      - group: {id: sound, members: [{path: /dev/snd/controlC0}, {path: /dev/snd/pcm*, optional: true, shared: true}]}
      - fake: {count: 4, prefix: unit, numaNodes: [0, 1]}
    health:
      failures: 4
      successes: 1
      unknown: unhealthy
      interval: 30
      open: true
      file: {path: "/sys/x/{id}", healthy: "^ok"}
      exec: {command: [check, -q], timeout: 2}
      http: {url: "http://127.0.0.1:80/{id}"}
    sharing: {replicas: 4, maxPerContainer: 2, distinct: true}
    preference: spread
    container:
      permissions: r
      env: {DONGLES: "{ids}", NUMBER: 010}
      mounts: [{hostPath: /opt, containerPath: /opt/x, readOnly: false}]
      annotations: {paths: "{paths}"}
    preStart: {command: [reset], timeout: 20}
"""


def resource(text: str) -> config.Resource:
    (found,) = config_parser.parse(f"resources:\n  - name: example.com/x\n    {text}\n").resources
    return found


def problems_of(text: str) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        config_parser.parse(text)
    return caught.value.problems


def problems(text: str) -> tuple[str, ...]:
    """The problems of a resource; its lines begin with the third."""
    return problems_of(f"resources:\n  - name: example.com/x\n    {text}\n")


def test_everything_is_read() -> None:
    read = config_parser.parse(FULL)
    assert read.scan == config.Scan(2, 0.5, 0.5, 60)
    assert read.pod_resources == config.PodResources("token", "/etc/token")
    (found,) = read.resources
    assert found.sources == (
        PathSource(glob="/dev/serial/by-id/*", exclude=("*-if01",), container_path="/dev/dongle{index}"),
        PathSource(regex="ttyUSB[0-9]+", type="char"),
        UsbSource("0403", "6001", "A*", ("tty",)),
        PciSource("8086", "56a0", "0380", "i915", "*", ("drm",)),
        GroupSource("sound", (Member("/dev/snd/controlC0"), Member("/dev/snd/pcm*", optional=True, shared=True))),
        FakeSource(4, "unit", (0, 1)),
    )
    assert found.health == config.HealthRules(
        4,
        1,
        "unhealthy",
        30,
        True,
        config.FileCheck("/sys/x/{id}", "^ok"),
        config.ExecCheck(("check", "-q"), 2),
        config.HttpCheck("http://127.0.0.1:80/{id}"),
    )
    assert found.sharing == config.Sharing(4, 2, True)
    assert found.preference == "spread"
    assert found.container == config.ContainerEdits(
        "r",
        (("DONGLES", "{ids}"), ("NUMBER", "010")),
        (config.Mount("/opt", "/opt/x", False),),
        (("paths", "{paths}"),),
    )
    assert found.pre_start == config.PreStart(("reset",), 20)


def test_scalars_are_read_as_they_are_written() -> None:
    """YAML would read octal numbers and booleans."""
    (source,) = resource("discover: [{usb: {vendor: 0403, serial: on}}]").sources
    assert source == UsbSource("0403", serial="on")


def test_defaults() -> None:
    assert resource("discover: [{fake: {count: 1}}]") == config.Resource("example.com/x", (FakeSource(1),))


def test_all_problems_are_reported_at_once_with_their_lines() -> None:
    assert problems("discover: [{fake: {count: -1}}]\n    preference: best\n    colour: red") == (
        "line 3: resources[0].discover[0].fake.count: invalid value '-1': must be an integer, 0 or more",
        "line 4: resources[0].preference: invalid value 'best': must be one of packed, spread",
        "line 5: resources[0].colour: unknown key: must be one of container, discover, health, minHealthy, name, preStart, preference, sharing",
    )


# The text of a resource, and what is said of it.
MISTAKES = [
    ("discover: []", "discover: invalid value: must be a list of at least one of path, usb, pci, group, fake"),
    ("discover: [{}]", "discover[0]: invalid value: must have exactly one of"),
    (
        "discover: [{fake: {count: 1}, usb: {vendor: '0403'}}]",
        "discover[0]: invalid value: must have exactly one of",
    ),
    ("discover: [text]", "discover[0]: invalid value: must be a mapping"),
    ("discover: {fake: 1}", "discover: invalid value: must be a list"),
    ("discover: [{fake: {}}]", "fake.count: is required"),
    ("discover: [{fake: {count: 99999}}]", "must be at most 10000"),
    ("discover: [{fake: {count: nan}}]", "must be an integer"),
    ("discover: [{fake: {count: 1, prefix: 'a:b'}}]", "prefix: invalid value 'a:b'"),
    ("discover: [{fake: {count: 1, numaNodes: [x]}}]", "numaNodes: invalid value: must be a list of integers"),
    ("discover: [{path: {}}]", "invalid value: must have either glob or regex"),
    ("discover: [{path: {glob: /dev/a, regex: b}}]", "invalid value: must have either glob or regex"),
    ("discover: [{path: {glob: dev/a}}]", "must be an absolute path without .."),
    ("discover: [{path: {glob: /dev/../a}}]", "must be an absolute path without .."),
    ("discover: [{path: {regex: '('}}]", "must be a regular expression"),
    (
        "discover: [{path: {glob: /dev/a, type: pipe}}]",
        "type: invalid value 'pipe': must be one of device, char, block, file",
    ),
    (
        "discover: [{path: {glob: /dev/a, containerPath: '/dev/{name}'}}]",
        "invalid placeholder {name}: must be one of {id}, {index}",
    ),
    ("discover: [{usb: {vendor: 403}}]", "vendor: invalid value '403': must be four hexadecimal digits"),
    (
        "discover: [{usb: {vendor: '0403', nodes: [tty, bus], containerPath: /dev/x}}]",
        "must not be set with more than one kind",
    ),
    ("discover: [{pci: {vendor: '8086'}}]", "nodes: is required"),
    ("discover: [{group: {id: a, members: []}}]", "members: invalid value: must be a list"),
    (
        "discover: [{group: {id: a, members: [{path: /dev/a, optional: true}]}}]",
        "members: invalid value: at least one member",
    ),
    ("discover: [{group: {members: [{path: /dev/a}]}}]", "group.id: is required"),
    ("health: {unknown: maybe}", "unknown: invalid value 'maybe': must be one of keep, healthy, unhealthy"),
    ("health: {open: perhaps}", "open: invalid value 'perhaps': must be true or false"),
    ("health: {exec: {command: []}}", "command: invalid value: must be a list of strings"),
    ("health: {http: {url: 'https://x/'}}", "must begin with http://"),
    (
        "health: {http: {url: 'http://[bad/'}}",
        "url: invalid value 'http://[bad/': must begin with http:// and a host",
    ),
    ("health: {http: {url: 'http://h:99999/'}}", "a port must be at most 65535"),
    ("health: {http: {url: 'http://h:abc/'}}", "a port must be at most 65535"),
    ("health: {http: {url: 'http://h:0/'}}", "a port must be at most 65535"),
    ("discover: [{fake: {count: 1, numaNodes: ['²']}}]", "numaNodes: invalid value: must be a list of integers"),
    (
        "discover: [{pci: {vendor: '8086', class: display, nodes: [drm]}}]",
        "class: invalid value 'display': must be the first",
    ),
    ("discover: [{pci: {vendor: '8086', class: '0x0300000', nodes: [drm]}}]", "class: invalid value '0x0300000'"),
    ("health: {file: {path: '/sys/{ids}', healthy: ok}}", "invalid placeholder {ids}: must be one of {id}"),
    ("health: {interval: 0.1}", "interval: invalid value '0.1': must be a number, 1.0 or more"),
    ("sharing: {replicas: 0}", "replicas: invalid value '0'"),
    ("container: {permissions: rx}", "permissions: invalid value 'rx': must be letters of rwm, each once"),
    ("container: {env: {1A: x}}", "invalid environment variable '1A': must"),
    ("container: {env: {A: '{id}'}}", "invalid placeholder {id} in A: must be one of {count}, {ids}, {paths}"),
    ("container: {mounts: [{hostPath: /a}]}", "containerPath: is required"),
    ("preStart: {timeout: 60}", "must be at most 25"),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    MISTAKES,
)
def test_a_mistake_in_a_resource_is_named(text: str, expected: str) -> None:
    full = text if text.startswith("discover") else f"discover: [{{fake: {{count: 1}}}}]\n    {text}"
    assert any(expected in problem for problem in problems(full)), problems(full)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dongle", "must be an extended resource such as example.com/dongle"),
        ("example.com/", "must be an extended resource such as"),
        ("example.com/a/b", "must be an extended resource such as"),
        (f"example.com/{'d' * 64}", "must be an extended resource such as"),
        ("-x.com/a", "must be an extended resource such as"),
        (f"{'d.' * 122}d/a", "must be an extended resource such as"),
        ("mykubernetes.io/a", "must not contain kubernetes.io/ or begin with requests."),
        ("kubernetes.io/a", "must not contain kubernetes.io/ or begin with requests."),
        ("x.kubernetes.io/a", "must not contain kubernetes.io/ or begin with requests."),
        ("requests.example.com/a", "must not contain kubernetes.io/ or begin with requests."),
    ],
)
def test_a_name_that_the_api_server_would_refuse(name: str, expected: str) -> None:
    (problem,) = problems_of(f"resources: [{{name: '{name}', discover: [{{fake: {{count: 1}}}}]}}]")
    assert expected in problem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "line 1: invalid configuration: must be a mapping"),
        ("- a", "line 1: invalid configuration: must be a mapping"),
        ("a: [", "line 1: invalid YAML"),
        ("resources: []\nversion: v2", "line 2: version: invalid value 'v2': must be one of v1"),
        ("version: v1", "resources: is required"),
        ("resources: []\nresources: []", "line 2: resources: duplicate key"),
        ("resources: []\npodResources: {access: token}", "tokenFile: is required with access: token"),
        ("resources: []\nscan: 5", "scan: invalid value: must be a mapping"),
    ],
)
def test_a_mistake_outside_of_resources(text: str, expected: str) -> None:
    assert any(expected in problem for problem in problems_of(text)), problems_of(text)


def test_a_resource_is_named_once() -> None:
    one = "{name: example.com/x, discover: [{fake: {count: 1}}]}"
    assert problems_of(f"resources:\n  - {one}\n  - {one}\n") == (
        "line 3: resources[1].name: duplicate resource name example.com/x",
    )


def test_cdi_does_not_support_index() -> None:
    text = "discover: [{path: {glob: /dev/a*, containerPath: '/dev/x{index}'}}]\n    container: {cdi: true}"
    assert any("cdi does not support {index}" in problem for problem in problems(text))


@pytest.mark.parametrize("name", ["3e.com/xy", "e.com/1x", "e.com/x", "e/xy", "e.com/x.y"])
def test_cdi_requires_a_valid_kind(name: str) -> None:
    """Container runtimes ignore a specification of such a kind, or fail."""
    text = f"resources: [{{name: {name}, discover: [{{fake: {{count: 1}}}}], container: {{cdi: %s}}}}]"
    (problem,) = problems_of(text % "true")
    assert problem.startswith(f"line 1: resources[0].name: invalid resource name {name!r}: with cdi, both parts must")
    assert config_parser.parse(text % "false").resources[0].name == name


def test_a_configuration_without_resources_is_valid() -> None:
    assert config_parser.parse("resources: []") == config.Config()


@pytest.mark.parametrize("document", ["README.md", "config.example.yaml"])
def test_documented_configurations_are_valid(document: str) -> None:
    text = (Path(__file__).parents[1] / document).read_text(encoding="utf-8")
    documents = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if document.endswith(".md") else [text]
    (parsed,) = [config_parser.parse(one) for one in documents]
    assert parsed.scan == config.Scan()
    assert parsed.resources


def test_the_defaults_are_those_that_the_documentation_shows() -> None:
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    (resource,) = config_parser.parse(example).resources
    checks = {"file": None, "exec": None, "http": None}
    assert replace(resource.health, **checks) == config.HealthRules()  # type: ignore[arg-type]
    assert (resource.sharing, resource.preference) == (config.Sharing(), "packed")
    assert resource.container.permissions == config.ContainerEdits().permissions

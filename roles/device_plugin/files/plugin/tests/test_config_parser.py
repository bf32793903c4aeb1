# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration: what is read, and what is said of each mistake."""

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
    """What is wrong with a resource; its lines begin with the third."""
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


def test_scalars_are_taken_as_they_are_written() -> None:
    """YAML would make octal numbers and booleans of them."""
    (source,) = resource("discover: [{usb: {vendor: 0403, serial: on}}]").sources
    assert source == UsbSource("0403", serial="on")


def test_defaults() -> None:
    assert resource("discover: [{fake: {count: 1}}]") == config.Resource("example.com/x", (FakeSource(1),))


def test_all_problems_are_told_at_once_with_their_lines() -> None:
    assert problems("discover: [{fake: {count: -1}}]\n    preference: best\n    colour: red") == (
        "line 3: resources[0].discover[0].fake.count: is '-1'; it has to be a whole number, 0 or more",
        "line 4: resources[0].preference: is 'best'; allowed: packed, spread",
        "line 5: resources[0].colour: is unknown; allowed here: container, discover, health, minHealthy, name, preStart, preference, sharing",
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("discover: []", "discover: has to be a list of at least one of: path, usb, pci, group, fake"),
        ("discover: [{}]", "discover[0]: has to have exactly one of"),
        ("discover: [{fake: {count: 1}, usb: {vendor: '0403'}}]", "discover[0]: has to have exactly one of"),
        ("discover: [text]", "discover[0]: has to be a mapping"),
        ("discover: {fake: 1}", "discover: has to be a list"),
        ("discover: [{fake: {}}]", "fake.count: is required"),
        ("discover: [{fake: {count: 99999}}]", "at most 10000 is allowed"),
        ("discover: [{fake: {count: nan}}]", "has to be a whole number"),
        ("discover: [{fake: {count: 1, prefix: 'a:b'}}]", "prefix: is 'a:b'"),
        ("discover: [{fake: {count: 1, numaNodes: [x]}}]", "numaNodes: has to be a list of whole numbers"),
        ("discover: [{path: {}}]", "has to have either glob or regex"),
        ("discover: [{path: {glob: /dev/a, regex: b}}]", "has to have either glob or regex"),
        ("discover: [{path: {glob: dev/a}}]", "has to be an absolute path without .."),
        ("discover: [{path: {glob: /dev/../a}}]", "has to be an absolute path without .."),
        ("discover: [{path: {regex: '('}}]", "no regular expression"),
        ("discover: [{path: {glob: /dev/a, type: pipe}}]", "type: is 'pipe'; allowed: device, char, block, file"),
        ("discover: [{path: {glob: /dev/a, containerPath: '/dev/{name}'}}]", "has {name}; allowed: {id}, {index}"),
        ("discover: [{usb: {vendor: 403}}]", "vendor: is '403'; it has to be four hexadecimal digits"),
        (
            "discover: [{usb: {vendor: '0403', nodes: [tty, bus], containerPath: /dev/x}}]",
            "only be given with one kind",
        ),
        ("discover: [{pci: {vendor: '8086'}}]", "nodes: is required"),
        ("discover: [{group: {id: a, members: []}}]", "members: has to be a list"),
        ("discover: [{group: {id: a, members: [{path: /dev/a, optional: true}]}}]", "members: are all optional"),
        ("discover: [{group: {members: [{path: /dev/a}]}}]", "group.id: is required"),
        ("health: {unknown: maybe}", "unknown: is 'maybe'; allowed: keep, healthy, unhealthy"),
        ("health: {open: perhaps}", "open: is 'perhaps'; allowed: true, false"),
        ("health: {exec: {command: []}}", "command: has to be a list of texts"),
        ("health: {http: {url: 'https://x/'}}", "has to begin with http://"),
        ("health: {http: {url: 'http://[bad/'}}", "url: is 'http://[bad/'; it has to begin with http:// and a host"),
        ("health: {http: {url: 'http://h:99999/'}}", "a port is a number up to 65535"),
        ("health: {http: {url: 'http://h:abc/'}}", "a port is a number up to 65535"),
        ("health: {http: {url: 'http://h:0/'}}", "a port is a number up to 65535"),
        ("discover: [{fake: {count: 1, numaNodes: ['²']}}]", "numaNodes: has to be a list of whole numbers"),
        (
            "discover: [{pci: {vendor: '8086', class: display, nodes: [drm]}}]",
            "class: is 'display'; it has to be the first",
        ),
        ("discover: [{pci: {vendor: '8086', class: '0x0300000', nodes: [drm]}}]", "class: is '0x0300000'"),
        ("health: {file: {path: '/sys/{ids}', healthy: ok}}", "has {ids}; allowed: {id}"),
        ("health: {interval: 0.1}", "interval: is '0.1'; it has to be a number, 1.0 or more"),
        ("sharing: {replicas: 0}", "replicas: is '0'"),
        ("container: {permissions: rx}", "permissions: is 'rx'; allowed: letters of rwm, each once"),
        ("container: {env: {1A: x}}", "'1A' is no name of an environment variable"),
        ("container: {env: {A: '{id}'}}", "A has {id}; allowed: {count}, {ids}, {paths}"),
        ("container: {mounts: [{hostPath: /a}]}", "containerPath: is required"),
        ("preStart: {timeout: 60}", "at most 25 is allowed"),
    ],
)
def test_a_mistake_in_a_resource_is_named(text: str, complaint: str) -> None:
    full = text if text.startswith("discover") else f"discover: [{{fake: {{count: 1}}}}]\n    {text}"
    assert any(complaint in problem for problem in problems(full)), problems(full)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("dongle", "has to look like example.com/dongle"),
        ("example.com/", "has to look like"),
        ("example.com/a/b", "has to look like"),
        (f"example.com/{'d' * 64}", "has to look like"),
        ("-x.com/a", "has to look like"),
        (f"{'d.' * 122}d/a", "has to look like"),
        ("mykubernetes.io/a", "belongs to Kubernetes"),
        ("kubernetes.io/a", "belongs to Kubernetes"),
        ("x.kubernetes.io/a", "belongs to Kubernetes"),
        ("requests.example.com/a", "belongs to Kubernetes"),
    ],
)
def test_a_name_that_the_api_server_would_refuse(name: str, complaint: str) -> None:
    (problem,) = problems_of(f"resources: [{{name: '{name}', discover: [{{fake: {{count: 1}}}}]}}]")
    assert complaint in problem


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "line 1: the text has to be a mapping"),
        ("- a", "line 1: the text has to be a mapping"),
        ("a: [", "line 1: no YAML"),
        ("resources: []\nversion: v2", "line 2: version: is 'v2'; allowed: v1"),
        ("version: v1", "resources: is required"),
        ("resources: []\nresources: []", "line 2: resources: is given twice"),
        ("resources: []\npodResources: {access: token}", "tokenFile: is required with access: token"),
        ("resources: []\nscan: 5", "scan: has to be a mapping"),
    ],
)
def test_a_mistake_outside_of_resources(text: str, complaint: str) -> None:
    assert any(complaint in problem for problem in problems_of(text)), problems_of(text)


def test_a_resource_is_named_once() -> None:
    one = "{name: example.com/x, discover: [{fake: {count: 1}}]}"
    assert problems_of(f"resources:\n  - {one}\n  - {one}\n") == (
        "line 3: resources[1].name: example.com/x is the name of another resource, too",
    )


def test_cdi_knows_no_numbers_in_a_container() -> None:
    text = "discover: [{path: {glob: /dev/a*, containerPath: '/dev/x{index}'}}]\n    container: {cdi: true}"
    assert any("cdi cannot go with {index}" in problem for problem in problems(text))


@pytest.mark.parametrize("name", ["3e.com/xy", "e.com/1x", "e.com/x", "e/xy", "e.com/x.y"])
def test_cdi_takes_not_every_name(name: str) -> None:
    """Container runtimes drop a specification of such a kind, or worse."""
    text = f"resources: [{{name: {name}, discover: [{{fake: {{count: 1}}}}], container: {{cdi: %s}}}}]"
    (problem,) = problems_of(text % "true")
    assert problem.startswith(f"line 1: resources[0].name: {name!r} cannot go with cdi")
    assert config_parser.parse(text % "false").resources[0].name == name


def test_a_configuration_without_resources_is_valid() -> None:
    assert config_parser.parse("resources: []") == config.Config()


@pytest.mark.parametrize("document", ["README.md", "config.example.yaml"])
def test_what_is_shown_to_users_is_valid(document: str) -> None:
    text = (Path(__file__).parents[1] / document).read_text(encoding="utf-8")
    shown = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if document.endswith(".md") else [text]
    (wanted,) = [config_parser.parse(one) for one in shown]
    assert wanted.scan == config.Scan()
    assert wanted.resources


def test_the_defaults_are_those_that_the_documentation_shows() -> None:
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    (resource,) = config_parser.parse(shown).resources
    checks = {"file": None, "exec": None, "http": None}
    assert replace(resource.health, **checks) == config.HealthRules()  # type: ignore[arg-type]
    assert (resource.sharing, resource.preference) == (config.Sharing(), "packed")
    assert resource.container.permissions == config.ContainerEdits().permissions

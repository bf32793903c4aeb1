# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parses the configuration: a YAML text in, frozen values or all problems with their lines out. No I/O."""

from __future__ import annotations

import re
import typing as t
from urllib.parse import urlsplit

from nodecraft_device_plugin import yaml_reader
from nodecraft_device_plugin.config import (
    Config,
    ContainerEdits,
    ExecCheck,
    FakeSource,
    FileCheck,
    GroupSource,
    HealthRules,
    HttpCheck,
    Member,
    Mount,
    PathSource,
    PciSource,
    PodResources,
    PreStart,
    Resource,
    Scan,
    Sharing,
    Source,
    UsbSource,
)
from nodecraft_device_plugin.yaml_reader import Mapping, Problems

VERSION = "v1"
SOURCES = ("path", "usb", "pci", "group", "fake")
TYPES = ("device", "char", "block", "file")
POLICIES = ("packed", "spread")
UNKNOWN = ("keep", "healthy", "unhealthy")
ACCESS = ("off", "token", "open")
PLACEHOLDERS = frozenset({"id", "ids", "paths", "count", "index"})

# What the API server accepts as the name of an extended resource.
_DOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_ENV = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEX = re.compile(r"(0x)?[0-9a-fA-F]{4}")
_CLASS = re.compile(r"(0x)?[0-9a-fA-F]{1,6}")
# What container runtimes accept as the kind of a specification of this version.
_CDI_KIND = re.compile(r"[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]/[A-Za-z][A-Za-z0-9_-]*[A-Za-z0-9]")
# The kubelet counts requests.NAME in quotas, and the part before the slash has 253 characters at most.
_DOMAIN_LENGTH = 253 - len("requests.")
_PREFIX = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,38}[A-Za-z0-9])?")


class ConfigError(Exception):
    """The configuration is invalid. problems: one line each."""

    def __init__(self, problems: t.Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


def parse(text: str) -> Config:
    """Parse a configuration. Raises ConfigError with all problems."""
    problems = Problems()
    root = yaml_reader.parse(text, problems)
    config = _config(root) if root else Config()
    if problems:
        raise ConfigError(problems)
    return config


def _config(root: Mapping) -> Config:
    root.choice("version", (VERSION,), VERSION)
    if not root.has("resources"):
        root.add_problem("resources", "is required")
    sections = root.mappings("resources")
    config = Config(
        resources=tuple(_resource(section) for section in sections),
        scan=_scan(root.mapping("scan")),
        pod_resources=_pod_resources(root.mapping("podResources")),
    )
    _check_unique_names(config, sections)
    root.end()
    return config


def _check_unique_names(config: Config, sections: t.Sequence[Mapping]) -> None:
    seen: set[str] = set()
    for resource, section in zip(config.resources, sections, strict=True):
        if resource.name in seen:
            section.add_problem("name", f"duplicate resource name {resource.name}")
        seen.add(resource.name)


def _resource(section: Mapping) -> Resource:
    discover = section.mappings("discover")
    if not discover:
        section.add_problem("discover", f"invalid value: must be a list of at least one of {', '.join(SOURCES)}")
    resource = Resource(
        name=_resource_name(section),
        sources=tuple(source for entry in discover if (source := _source(entry)) is not None),
        health=_health(section.mapping("health")),
        sharing=_sharing(section.mapping("sharing")),
        preference=section.choice("preference", POLICIES, "packed"),
        container=_container(section.mapping("container")),
        pre_start=_pre_start(section.mapping("preStart")),
        min_healthy=section.integer("minHealthy", 0, minimum=0),
    )
    paths = [getattr(source, "container_path", "") for source in resource.sources]
    if resource.container.cdi and any("{index}" in path for path in paths):
        section.add_problem("container", "cdi does not support {index} in a containerPath; use {id}")
    if resource.container.cdi and resource.name and not _CDI_KIND.fullmatch(resource.name):
        section.add_problem(
            "name",
            f"invalid resource name {resource.name!r}: with cdi, both parts must begin with a letter and have two characters or more,"
            " and the second part must have no dot",
        )
    section.end()
    return resource


def _resource_name(section: Mapping) -> str:
    name = section.text("name")
    domain, slash, rest = name.partition("/")
    if name and not (slash and _DOMAIN.fullmatch(domain) and len(domain) <= _DOMAIN_LENGTH and _NAME.fullmatch(rest)):
        section.add_problem(
            "name", f"invalid resource name {name!r}: must be an extended resource such as example.com/dongle"
        )
    elif "kubernetes.io/" in name or name.startswith("requests."):
        section.add_problem(
            "name",
            f"invalid resource name {name!r}: must not contain kubernetes.io/ or begin with requests., which Kubernetes reserves",
        )
    return name


def _source(entry: Mapping) -> Source | None:
    given = [kind for kind in SOURCES if entry.has(kind)]
    entry.end()
    if len(given) != 1:
        entry.problems.at(entry.node, entry.where, f"invalid value: must have exactly one of {', '.join(SOURCES)}")
        return None
    section = entry.mapping(given[0])
    if section is None:
        return None
    source = _READERS[given[0]](section)
    section.end()
    return source


def _path_source(section: Mapping) -> PathSource:
    if section.has("glob") == section.has("regex"):
        section.problems.at(section.node, section.where, "invalid value: must have either glob or regex")
    return PathSource(
        glob=_absolute(section, "glob", ""),
        directory=_absolute(section, "directory", "/dev"),
        regex=_regex(section, "regex", ""),
        exclude=section.texts("exclude"),
        type=section.choice("type", TYPES, "device"),
        container_path=_container_path(section),
    )


def _usb_source(section: Mapping) -> UsbSource:
    nodes = section.texts("nodes", ("bus",))
    return UsbSource(
        vendor=_hex(section, "vendor", None),
        product=_hex(section, "product", ""),
        serial=section.text("serial", ""),
        nodes=nodes,
        container_path=_container_path(section, nodes),
    )


def _pci_source(section: Mapping) -> PciSource:
    nodes = section.texts("nodes", None)
    return PciSource(
        vendor=_hex(section, "vendor", None),
        device=_hex(section, "device", ""),
        class_=_pci_class(section),
        driver=section.text("driver", ""),
        address=section.text("address", "*"),
        nodes=nodes,
        container_path=_container_path(section, nodes),
    )


def _group_source(section: Mapping) -> GroupSource:
    members = section.mappings("members")
    if not members:
        section.add_problem("members", "invalid value: must be a list of at least one path")
    group = GroupSource(id=_id_prefix(section, "id", None), members=tuple(_member(member) for member in members))
    if members and all(member.optional for member in group.members):
        section.add_problem(
            "members",
            "invalid value: at least one member must not be optional, because its node shows whether the device exists",
        )
    return group


def _member(section: Mapping) -> Member:
    member = Member(
        path=_absolute(section, "path", None),
        optional=section.boolean("optional", False),
        shared=section.boolean("shared", False),
        type=section.choice("type", TYPES, "device"),
        container_path=_container_path(section),
    )
    section.end()
    return member


def _fake_source(section: Mapping) -> FakeSource:
    nodes = section.texts("numaNodes")
    if not all(node.isascii() and node.isdigit() for node in nodes):
        section.add_problem("numaNodes", "invalid value: must be a list of integers, 0 or more")
        nodes = ()
    return FakeSource(
        count=section.integer("count", None, minimum=0),
        prefix=_id_prefix(section, "prefix", "fake"),
        numa_nodes=tuple(int(node) for node in nodes),
    )


_READERS: dict[str, t.Callable[[Mapping], Source]] = {
    "path": _path_source,
    "usb": _usb_source,
    "pci": _pci_source,
    "group": _group_source,
    "fake": _fake_source,
}


def _health(section: Mapping | None) -> HealthRules:
    if section is None:
        return HealthRules()
    rules = HealthRules(
        failures=section.integer("failures", 3),
        successes=section.integer("successes", 2),
        unknown=section.choice("unknown", UNKNOWN, "keep"),
        interval=section.number("interval", 10.0, minimum=1.0),
        open=section.boolean("open", False),
        file=_file_check(section.mapping("file")),
        exec=_exec_check(section.mapping("exec")),
        http=_http_check(section.mapping("http")),
    )
    section.end()
    return rules


def _file_check(section: Mapping | None) -> FileCheck | None:
    if section is None:
        return None
    check = FileCheck(_absolute(section, "path", None), _regex(section, "healthy", None))
    _placeholders(section, "path", check.path, {"id"})
    section.end()
    return check


def _exec_check(section: Mapping | None) -> ExecCheck | None:
    if section is None:
        return None
    check = ExecCheck(section.texts("command", None), section.number("timeout", 5.0, minimum=0.1))
    section.end()
    return check


def _http_check(section: Mapping | None) -> HttpCheck | None:
    if section is None:
        return None
    url = section.text("url")
    if url and not _is_http(url):
        section.add_problem(
            "url", f"invalid value {url!r}: must begin with http:// and a host, and a port must be at most 65535"
        )
    _placeholders(section, "url", url, {"id"})
    check = HttpCheck(url, section.number("timeout", 5.0, minimum=0.1))
    section.end()
    return check


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme == "http" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _sharing(section: Mapping | None) -> Sharing:
    if section is None:
        return Sharing()
    sharing = Sharing(
        replicas=section.integer("replicas", 1, maximum=1000),
        max_per_container=section.integer("maxPerContainer", 0, minimum=0),
        distinct=section.boolean("distinct", False),
    )
    section.end()
    return sharing


def _container(section: Mapping | None) -> ContainerEdits:
    if section is None:
        return ContainerEdits()
    permissions = section.text("permissions", "rw")
    if not permissions or set(permissions) - set("rwm") or len(set(permissions)) != len(permissions):
        section.add_problem("permissions", f"invalid value {permissions!r}: must be letters of rwm, each once")
    edits = ContainerEdits(
        permissions=permissions,
        env=section.pairs("env"),
        mounts=tuple(_mount(mount) for mount in section.mappings("mounts")),
        annotations=section.pairs("annotations"),
        cdi=section.boolean("cdi", False),
    )
    for key, values in {"env": edits.env, "annotations": edits.annotations}.items():
        for name, value in values:
            _placeholders(section, key, value, PLACEHOLDERS - {"id", "index"}, name)
    for name, _value in edits.env:
        if not _ENV.fullmatch(name):
            section.add_problem(
                "env",
                f"invalid environment variable {name!r}: must begin with a letter or _, followed by letters, digits and _",
            )
    section.end()
    return edits


def _mount(section: Mapping) -> Mount:
    mount = Mount(
        host_path=_absolute(section, "hostPath", None),
        container_path=_absolute(section, "containerPath", None),
        read_only=section.boolean("readOnly", True),
    )
    section.end()
    return mount


def _pre_start(section: Mapping | None) -> PreStart | None:
    if section is None:
        return None
    # The kubelet cancels the call after 30 s.
    timeout = section.number("timeout", 10.0, minimum=0.1)
    if timeout > 25:
        section.add_problem(
            "timeout", f"invalid value {timeout:g}: must be at most 25, because the kubelet cancels the call after 30 s"
        )
    pre_start = PreStart(section.texts("command"), timeout)
    section.end()
    return pre_start


def _scan(section: Mapping | None) -> Scan:
    if section is None:
        return Scan()
    scan = Scan(
        interval=section.number("interval", 5.0, minimum=0.5),
        debounce=section.number("debounce", 0.05),
        recheck=section.number("recheck", 1.0, minimum=0.1),
        forget_after=section.number("forgetAfter", 300.0),
    )
    section.end()
    return scan


def _pod_resources(section: Mapping | None) -> PodResources:
    if section is None:
        return PodResources()
    settings = PodResources(
        access=section.choice("access", ACCESS, "off"),
        token_file=_absolute(section, "tokenFile", ""),
    )
    if settings.access == "token" and not settings.token_file:
        section.add_problem("tokenFile", "is required with access: token")
    section.end()
    return settings


def _absolute(section: Mapping, key: str, default: str | None) -> str:
    path = section.text(key, default)
    if path and (not path.startswith("/") or ".." in path.split("/")):
        section.add_problem(key, f"invalid value {path!r}: must be an absolute path without ..")
    return path


def _regex(section: Mapping, key: str, default: str | None) -> str:
    text = section.text(key, default)
    try:
        re.compile(text)
    except re.error as error:
        section.add_problem(key, f"invalid value {text!r}: must be a regular expression: {error}")
    return text


def _hex(section: Mapping, key: str, default: str | None) -> str:
    text = section.text(key, default)
    if text and not _HEX.fullmatch(text):
        section.add_problem(key, f"invalid value {text!r}: must be four hexadecimal digits")
    return text.lower().removeprefix("0x")


def _pci_class(section: Mapping) -> str:
    text = section.text("class", "")
    if text and not _CLASS.fullmatch(text):
        section.add_problem(
            "class", f"invalid value {text!r}: must be the first one to six hexadecimal digits of a class"
        )
    return text.lower().removeprefix("0x")


def _id_prefix(section: Mapping, key: str, default: str | None) -> str:
    text = section.text(key, default)
    if text and not _PREFIX.fullmatch(text):
        section.add_problem(
            key,
            f"invalid value {text!r}: must be up to 40 letters, digits and . _ -, with a letter or digit first and last",
        )
    return text


def _container_path(section: Mapping, nodes: t.Sequence[str] = ()) -> str:
    path = _absolute(section, "containerPath", "")
    if path and len(nodes) > 1:
        section.add_problem("containerPath", "invalid value: must not be set with more than one kind of nodes")
    _placeholders(section, "containerPath", path, {"id", "index"})
    return path


def _placeholders(section: Mapping, key: str, text: str, allowed: t.AbstractSet[str], name: str = "") -> None:
    for found in re.findall(r"\{([^}]*)\}", text):
        if found not in allowed:
            place = f" in {name}" if name else ""
            choices = ", ".join(sorted(f"{{{word}}}" for word in allowed))
            section.add_problem(key, f"invalid placeholder {{{found}}}{place}: must be one of {choices}")

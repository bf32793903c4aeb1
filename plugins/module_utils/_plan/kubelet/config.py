# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A kubelet's settings as they come out of its command line, its configuration file and the fragments beside it.

Later sources win: defaults, C(--config), the files of C(--config-dir) in alphabetic order, flags. Files are merged by
RFC 7386 (JSON Merge Patch): mappings key by key, anything else as a whole, null takes a key away. Feature gates are
merged gate by gate, on the command line as well.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..common.errors import Refusal
from ..common.file_values import TextFile
from ..documents import configuration
from ..documents.command_line import Argument, Source
from ..kubernetes import flags

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # the module respawns or names the missing package

FieldPath = tuple[str, ...]

GATES, CONFIG, ARGS, TAINTS = "feature_gates", "config", "args", "register_with_taints"
REGISTER_WITH_TAINTS = "register-with-taints"
# Flags whose field has another name, or lies deeper. All others have the field's name in kebab case.
_FIELDS_BY_FLAG: dict[str, FieldPath] = {
    "anonymous-auth": ("authentication", "anonymous", "enabled"),
    "authentication-token-webhook": ("authentication", "webhook", "enabled"),
    "authentication-token-webhook-cache-ttl": ("authentication", "webhook", "cacheTTL"),
    "authorization-mode": ("authorization", "mode"),
    "authorization-webhook-cache-authorized-ttl": ("authorization", "webhook", "cacheAuthorizedTTL"),
    "authorization-webhook-cache-unauthorized-ttl": ("authorization", "webhook", "cacheUnauthorizedTTL"),
    "client-ca-file": ("authentication", "x509", "clientCAFile"),
    "contention-profiling": ("enableContentionProfiling",),
    "event-qps": ("eventRecordQPS",),
    "image-gc-high-threshold": ("imageGCHighThresholdPercent",),
    "image-gc-low-threshold": ("imageGCLowThresholdPercent",),
    "kube-api-content-type": ("contentType",),
    "log-flush-frequency": ("logging", "flushFrequency"),
    "log-json-info-buffer-size": ("logging", "options", "json", "infoBufferSize"),
    "log-json-split-stream": ("logging", "options", "json", "splitStream"),
    "log-text-info-buffer-size": ("logging", "options", "text", "infoBufferSize"),
    "log-text-split-stream": ("logging", "options", "text", "splitStream"),
    "logging-format": ("logging", "format"),
    "manifest-url": ("staticPodURL",),
    "manifest-url-header": ("staticPodURLHeader",),
    "minimum-image-ttl-duration": ("imageMinimumGCAge",),
    "pod-manifest-path": ("staticPodPath",),
    "pod-max-pids": ("podPidsLimit",),
    "registry-qps": ("registryPullQPS",),
    "reserved-cpus": ("reservedSystemCPUs",),
    "rotate-server-certificates": ("serverTLSBootstrap",),
    "v": ("logging", "verbosity"),
    "vmodule": ("logging", "vmodule"),
}
# Flags of lists and mappings: each occurrence adds to those before. Of the others the last one counts.
_CUMULATIVE_FLAGS = frozenset(
    (
        "allowed-unsafe-sysctls",
        "cluster-dns",
        "cpu-manager-policy-options",
        "enforce-node-allocatable",
        "eviction-hard",
        "eviction-minimum-reclaim",
        "eviction-soft",
        "eviction-soft-grace-period",
        "kube-reserved",
        "qos-reserved",
        "system-reserved",
        "tls-cipher-suites",
        "topology-manager-policy-options",
    )
)


# ---- paths of fields ---------------------------------------------------------------------------------------------------


def key_of(path: FieldPath) -> str:
    """A field's path as one text: its keys with slashes between, which names of Kubernetes' fields never hold."""
    return "/".join(part.replace("~", "~0").replace("/", "~1") for part in path)


def path_of(key: str) -> FieldPath:
    """The path of a field out of its text."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in key.split("/"))


def flatten(data: t.Mapping[str, t.Any], above: FieldPath = ()) -> dict[FieldPath, t.Any]:
    """Every value of nested mappings by its path. Lists are values, empty mappings are nothing."""
    found: dict[FieldPath, t.Any] = {}
    for name, value in data.items():
        path = (*above, str(name))
        if isinstance(value, dict):
            found.update(flatten(value, path))
        else:
            found[path] = value
    return found


def value_at(data: t.Any, path: FieldPath) -> t.Any:
    """The value at a path; None when it is not set."""
    for part in path:
        if not isinstance(data, dict) or part not in data:
            return None
        data = data[part]
    return data


def with_value(data: t.Mapping[str, t.Any], path: FieldPath, value: t.Any) -> dict[str, t.Any]:
    """Nested mappings with a value set at a path."""
    inner = data.get(path[0])
    below = value if len(path) == 1 else with_value(inner if isinstance(inner, dict) else {}, path[1:], value)
    return {**data, path[0]: below}


def merge_patch(target: t.Any, patch: t.Any) -> t.Any:
    """JSON Merge Patch, RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


# ---- files ---------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class ConfigDocument:
    """A configuration file that was parsed."""

    path: str
    text: str
    data: dict[str, t.Any]

    def source(self, path: FieldPath) -> Source | None:
        """Where the file sets a field, or something above it; None when it does not."""
        node = configuration.compose(self.text)
        line = None
        for part in path:
            pairs = node.value if isinstance(node, yaml.MappingNode) else []
            found = next(((key, value) for key, value in pairs if key.value == part), None)
            merge = next((key for key, dummy in pairs if key.value == "<<"), None)
            if found is None and merge is not None and value_at(self.data, path) is not None:
                return Source(self.path, merge.start_mark.line + 1)
            if found is None:
                # A null or a list above the field sets it as well; a mapping without it does not.
                return None if line is None or isinstance(node, yaml.MappingNode) else Source(self.path, line)
            line, node = found[0].start_mark.line + 1, found[1]
        return None if line is None else Source(self.path, line)


def merge_order(path: str) -> list[str]:
    """What fragments are sorted by: a kubelet walks through directories, so the names on the way count one by one."""
    return path.split("/")


def parse_document(file: TextFile) -> ConfigDocument:
    """Read a configuration file. Raises Refusal when the kubelet could not."""
    try:
        data = configuration.load(file.text)
    except yaml.YAMLError as exc:
        tab, mark = configuration.describe_tab_error(exc), getattr(exc, "problem_mark", None)
        if tab and mark:
            raise Refusal(f"{file.path} line {mark.line + 1}: {tab}.") from exc
        if mark and configuration.is_multi_document_error(exc):
            raise Refusal(
                f"{file.path} line {mark.line + 1}: another document begins, of which a kubelet reads nothing. Remove it and run again."
            ) from exc
        raise Refusal(f"{file.path} is not YAML: {' '.join(str(exc).split())}.") from exc
    if not isinstance(data, dict):
        raise Refusal(f"{file.path} holds no KubeletConfiguration; a kubelet does not start with such a file.")
    return ConfigDocument(file.path, file.text, data)


# ---- what counts -----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Settings:
    """All sources of a kubelet's settings. documents: configuration files in the order in which they are merged."""

    arguments: tuple[Argument, ...]
    documents: tuple[ConfigDocument, ...]

    @property
    def config(self) -> dict[str, t.Any]:
        """The merged files."""
        merged: dict[str, t.Any] = {}
        for document in self.documents:
            merged = merge_patch(merged, document.data)
        return merged

    @property
    def command_flags(self) -> list[flags.Flag]:
        """The command line's flags."""
        return flags.parse([argument.text for argument in self.arguments])

    def gates(self) -> dict[str, t.Any]:
        """Feature gates by name."""
        gates = self.config.get("featureGates")
        on_command_line = flags.gate_values(flags.parse_gates(flags.values(self.command_flags, flags.FEATURE_GATES)))
        return {**(gates if isinstance(gates, dict) else {}), **on_command_line}

    def field_named(self, name: str) -> t.Any:
        """A field's value by its name, the parts joined by dots."""
        return self.field(tuple(name.split(".")))

    def field(self, path: FieldPath, like: t.Any = None) -> t.Any:
        """A field's value. One that a flag sets is given as C(like) when the flag's text means the same."""
        found = [flag for flag in self.command_flags if sets_field(flag.name, path)]
        if not found:
            return value_at(self.config, path)
        texts = [flag.text for flag in found]
        text = flags.join_values(texts) if found[-1].name in _CUMULATIVE_FLAGS else texts[-1]
        return like if like is not None and text in flag_texts(like) else text

    def pairs(self, name: str) -> dict[str, str] | None:
        """A field that is a mapping of texts, or its form as a flag: C(cpu=1,memory=1Gi), C(memory.available<100Mi).

        Raises AttributeError when it is no mapping.
        """
        value = self.field((name,))
        if isinstance(value, str):
            parts = [re.split("[=<]", entry, maxsplit=1) for entry in value.split(",") if entry.strip()]
            value = {part[0].strip(): part[-1].strip() for part in parts}
        return None if value is None else {key: str(text) for key, text in value.items()}

    def flag(self, name: str, like: t.Any = None) -> list[str] | None:
        """A flag's values: all of them to compare with a list of several, else the one that counts."""
        texts = flags.values(self.command_flags, name)
        return None if not texts else texts if like is not None and len(like) > 1 else texts[-1:]

    def taints(self) -> dict[str, str]:
        """The taints with which the node registers: key and effect -> value."""
        return {taint_key(taint): str(taint.get("value") or "") for taint in self.taint_list()}

    def taint_list(self) -> list[dict[str, t.Any]]:
        """The same as it is configured. A flag replaces the list of the files."""
        text = flags.last_value([argument.text for argument in self.arguments], REGISTER_WITH_TAINTS)
        return list(self.config.get("registerWithTaints") or []) if text is None else parse_taints(text)

    def value(self, field: str, key: str, like: t.Any = None) -> t.Any:
        """What a setting of ours comes to; None when it is not set."""
        if field == GATES:
            return self.gates().get(key)
        if field == CONFIG:
            return self.field(path_of(key), like)
        return self.flag(key, like) if field == ARGS else self.taints().get(key)

    def sources(self, field: str, key: str) -> list[Source]:
        """Where a setting is set, the one that counts last."""
        path = {GATES: ("featureGates", key), TAINTS: ("registerWithTaints",), ARGS: ()}.get(field, path_of(key))
        in_files = [document.source(path) for document in self.documents] if path else []
        return [source for source in in_files if source] + [
            self.arguments[flag.index].source for flag in self.flags_for(field, key)
        ]

    def flags_for(self, field: str, key: str) -> list[flags.Flag]:
        """The flags that set a setting."""
        return [flag for flag in self.command_flags if _sets_key(flag, field, key)]


def _sets_key(flag: flags.Flag, field: str, key: str) -> bool:
    if field == GATES:
        return flag.name == flags.FEATURE_GATES and key in flags.gate_values(flags.parse_gates([flag.text]))
    if field == CONFIG:
        return sets_field(flag.name, path_of(key))
    return flag.name == (key if field == ARGS else REGISTER_WITH_TAINTS)


def sets_field(flag: str, path: FieldPath) -> bool:
    """Whether a flag sets a field of the configuration, or one above it."""
    target = _FIELDS_BY_FLAG.get(flag)
    if target is None:
        return flag.replace("-", "").lower() == path[0].lower()
    return path[: len(target)] == target


def flag_texts(value: t.Any) -> list[str]:
    """The texts of a flag with a value."""
    if isinstance(value, bool):
        return sorted(flags.TRUE if value else flags.FALSE)
    if isinstance(value, list):
        return [",".join(str(item) for item in value)]
    return [str(value)]


# ---- taints ----------------------------------------------------------------------------------------------------------------


def taint_key(taint: t.Mapping[str, t.Any]) -> str:
    """The identity of a taint: key and effect."""
    return f"{taint['key']}:{taint['effect']}"


def parse_taints(text: str) -> list[dict[str, t.Any]]:
    """The taints in the flag's form, key=value:effect with commas between."""
    taints = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, dummy, effect = entry.rpartition(":")
        key, dummy, value = name.partition("=")
        taints.append({"key": key, "value": value, "effect": effect})
    return taints


def render_taints(taints: t.Iterable[t.Mapping[str, t.Any]]) -> str:
    """The flag's form."""
    return ",".join(f"{taint['key']}={taint.get('value') or ''}:{taint['effect']}" for taint in taints)

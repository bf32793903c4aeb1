# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""A static pod's manifest as values that can be read and changed: flags, gates, plugins, environment, volumes.

C(Manifest.values) and C(Manifest.change) speak the language of C(ownership): a field, a key, a value.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from . import flags
from .errors import Refusal
from .ownership import Change, Values
from .yaml_edit import Document, Operation, Path

FIELDS = ("feature_gates", "admission_plugins", "args", "env", "volumes", "annotations")
_MERGED_FLAGS = {
    flags.FEATURE_GATES: "feature_gates",
    flags.ENABLE_PLUGINS: "admission_plugins",
    flags.DISABLE_PLUGINS: "admission_plugins",
}
_REFERENCE = re.compile(r"\$\$|\$\(([^)]+)\)")
# What the kubelet itself adds to the environment of a container: the addresses of services.
_SERVICE_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*_(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT(?:_[A-Z0-9_]+)?)")
_SHORTEST_SECRET = 4
_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


@dataclasses.dataclass(frozen=True)
class Mount:
    """A host path that the component sees. path_type: Kubernetes' HostPathType, '' when not set."""

    host_path: str
    mount_path: str
    read_only: bool
    path_type: str


@dataclasses.dataclass(frozen=True)
class Manifest:
    """The manifest of one static pod and the container in it that is meant. Immutable."""

    document: Document
    container_index: int

    @classmethod
    def parse(cls, text: str, source: str, name: str) -> Manifest:
        """Read a manifest. name: the component; its container is the one of that name, or the only one.

        Raises Refusal when the file is no single Pod, or holds something that makes changes ineffective.
        """
        document = Document.parse(text, source)
        try:
            return cls._of(document, source, name)
        except (AttributeError, KeyError, TypeError, ValueError) as exc:
            raise Refusal(f"{source} is not a Pod that the kubelet could run: {type(exc).__name__}: {exc}.") from exc

    @classmethod
    def _of(cls, document: Document, source: str, name: str) -> Manifest:
        data = document.data
        if not isinstance(data, dict) or data.get("apiVersion") != "v1" or data.get("kind") != "Pod":
            raise Refusal(f"{source} is not a v1 Pod, so it is not the manifest of static pod {name}.")
        if (data.get("metadata") or {}).get("uid"):
            raise Refusal(
                f"{source} sets metadata.uid: the kubelet then never notices a change of the manifest. Remove that line first."
            )
        containers = (data.get("spec") or {}).get("containers") or []
        names = [container.get("name") for container in containers]
        if name in names:
            index = names.index(name)
        elif len(containers) == 1:
            index = 0
        else:
            raise Refusal(f"{source}: no container is named {name}; found: {', '.join(map(str, names)) or 'none'}.")
        manifest = cls(document, index)
        manifest._check_argument_types()
        manifest.values(), manifest.mounts(), manifest.probes()  # a pod that cannot be read through is no pod
        return manifest

    def _check_argument_types(self) -> None:
        for list_name in ("command", "args"):
            items = self.container.get(list_name) or []
            wrong = [item for item in items if not isinstance(item, str)] if isinstance(items, list) else [items]
            if wrong:
                raise Refusal(
                    f"{self.document.source}: {list_name} holds {wrong[0]!r}, which is no text; the kubelet refuses such a pod."
                )
        if not self.container.get("command"):
            raise Refusal(
                f"{self.document.source}: container {self.container.get('name')} has no command, so its flags cannot be known."
            )

    # -- reading -------------------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The whole file."""
        return self.document.text

    @property
    def pod(self) -> dict[str, t.Any]:
        """The parsed pod."""
        return t.cast(dict[str, t.Any], self.document.data)

    @property
    def container(self) -> dict[str, t.Any]:
        """The parsed container."""
        return t.cast(dict[str, t.Any], self.pod["spec"]["containers"][self.container_index])

    @property
    def arguments(self) -> list[str]:
        """The command line as written, the binary's name first."""
        return list(self.container.get("command") or []) + list(self.container.get("args") or [])

    @property
    def environment(self) -> dict[str, str | None]:
        """The manifest's environment variables with their expanded values; None for a value that only the kubelet knows."""
        found: dict[str, str | None] = {}
        for entry in self.container.get("env") or []:
            # Kubernetes expands a value by the variables that stand before it.
            found[entry["name"]] = None if "valueFrom" in entry else _expand(str(entry.get("value") or ""), found)
        return found

    @property
    def hidden(self) -> dict[str, str]:
        """Values of the environment that stand on the command line -> what is shown instead: nobody else may read them."""
        referenced = {match.group(1) for argument in self.arguments for match in _REFERENCE.finditer(argument)}
        return {
            value: f"$({name})"
            for name, value in self.environment.items()
            # A shorter one is no secret, and every other number in a message would be hidden with it.
            if name in referenced and value and len(value) >= _SHORTEST_SECRET
        }

    def expected_arguments(self) -> list[str | None]:
        """The command line of the running process: C($(VAR)) expanded as the kubelet does.

        None for an argument that depends on a value which only the kubelet knows.
        """
        environment = self.environment
        return [_expand(argument, environment) for argument in self.arguments]

    def mounts(self) -> list[Mount]:
        """The host paths that the container mounts."""
        volumes = {
            volume["name"]: volume["hostPath"]
            for volume in self.pod["spec"].get("volumes") or []
            if volume.get("hostPath")
        }
        return [
            Mount(
                host_path=volumes[mount["name"]]["path"],
                mount_path=mount["mountPath"],
                read_only=bool(mount.get("readOnly", False)),
                path_type=volumes[mount["name"]].get("type") or "",
            )
            for mount in self.container.get("volumeMounts") or []
            if mount["name"] in volumes
        ]

    def probes(self) -> list[dict[str, t.Any]]:
        """The container's own probes, each once.

        kind (http, tcp, or the kind that cannot be run from outside), host, port; of http also scheme, path, headers.
        """
        found: list[dict[str, t.Any]] = []
        for name in _PROBES:
            probe = self.container.get(name)
            if probe:
                described = self._probe(probe)
                if described not in found:
                    found.append(described)
        return found

    def _probe(self, probe: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        if "httpGet" in probe:
            get = probe["httpGet"]
            return {
                "kind": "http",
                "scheme": str(get.get("scheme", "HTTP")).lower(),
                "host": get.get("host") or "127.0.0.1",
                "port": self._port(get["port"]),
                "path": get.get("path") or "/",
                "headers": {header["name"]: header["value"] for header in get.get("httpHeaders") or []},
            }
        if "tcpSocket" in probe:
            return {
                "kind": "tcp",
                "host": probe["tcpSocket"].get("host") or "127.0.0.1",
                "port": self._port(probe["tcpSocket"]["port"]),
            }
        return {"kind": "grpc" if "grpc" in probe else "exec"}

    def _port(self, port: int | str) -> int:
        if isinstance(port, int):
            return port
        for entry in self.container.get("ports") or []:
            if entry.get("name") == port:
                return int(entry["containerPort"])
        raise Refusal(f"{self.document.source}: a probe names the port {port!r}, which the container does not declare.")

    # -- values --------------------------------------------------------------------------------------------------------

    def values(self) -> Values:
        """Everything that can be changed, as field -> key -> value."""
        found = self._all_flags()
        args: dict[str, t.Any] = {}
        for flag in found:
            if flag.name not in _MERGED_FLAGS:
                args.setdefault(flag.name, []).append(flag.text)
        plugins = dict.fromkeys(flags.parse_plugins(flags.values(found, flags.DISABLE_PLUGINS)), "disabled")
        plugins.update(dict.fromkeys(flags.parse_plugins(flags.values(found, flags.ENABLE_PLUGINS)), "enabled"))
        return {
            "feature_gates": flags.gate_values(flags.parse_gates(flags.values(found, flags.FEATURE_GATES))),
            "admission_plugins": dict(plugins),
            "args": args,
            "env": {
                entry["name"]: entry.get("valueFrom", entry.get("value", ""))
                for entry in self.container.get("env") or []
            },
            "volumes": self._volume_values(),
            "annotations": dict((self.pod.get("metadata") or {}).get("annotations") or {}),
        }

    def _all_flags(self) -> list[flags.Flag]:
        return [flag for list_name in ("command", "args") for flag in flags.parse(self.container.get(list_name) or [])]

    def _volume_values(self) -> dict[str, t.Any]:
        mounts: dict[str, list[dict[str, t.Any]]] = {}
        for mount in self.container.get("volumeMounts") or []:
            mounts.setdefault(mount["name"], []).append(mount)
        values: dict[str, t.Any] = {}
        for volume in self.pod["spec"].get("volumes") or []:
            used = mounts.get(volume["name"], [])
            if volume.get("hostPath") and len(used) == 1:
                values[volume["name"]] = {
                    "host_path": volume["hostPath"]["path"],
                    "path_type": volume["hostPath"].get("type") or "",
                    "mount_path": used[0]["mountPath"],
                    "read_only": bool(used[0].get("readOnly", False)),
                }
            else:
                values[volume["name"]] = {"other": volume}
        return values

    # -- changing ------------------------------------------------------------------------------------------------------

    def change(self, change: Change) -> Manifest:
        """The manifest with one value changed; every other byte stays. Raises Refusal when that cannot be done."""
        return getattr(self, f"_change_{change.field}")(change.key, change.after)  # type: ignore[no-any-return]

    def _apply(self, op: str, path: Path, value: t.Any = None) -> Manifest:
        return dataclasses.replace(self, document=self.document.apply(Operation(op, path, value)))

    @property
    def _container_path(self) -> Path:
        return ("spec", "containers", self.container_index)

    def _change_args(self, key: str, after: t.Sequence[str] | None) -> Manifest:
        return self._set_flag(key, list(after or []))

    def _change_feature_gates(self, key: str, after: bool | None) -> Manifest:
        gates = flags.parse_gates(flags.values(self._all_flags(), flags.FEATURE_GATES))
        spelling = flags.gate_key(gates, key)
        if after is None:
            gates.pop(spelling, None)
        else:
            gates[spelling] = "true" if after else "false"
        return self._set_flag(flags.FEATURE_GATES, [flags.render_gates(gates)] if gates else [])

    def _change_admission_plugins(self, key: str, after: str | None) -> Manifest:
        manifest = self._set_plugin(flags.ENABLE_PLUGINS, key, after == "enabled")
        return manifest._set_plugin(flags.DISABLE_PLUGINS, key, after == "disabled")

    def _set_plugin(self, flag: str, plugin: str, wanted: bool) -> Manifest:
        plugins = flags.parse_plugins(flags.values(self._all_flags(), flag))
        if wanted == (plugin in plugins):
            return self
        plugins = plugins + [plugin] if wanted else [name for name in plugins if name != plugin]
        return self._set_flag(flag, [",".join(plugins)] if plugins else [])

    def _change_env(self, key: str, after: str | None) -> Manifest:
        path = self._container_path + ("env",)
        entries = self.container.get("env") or []
        index = next((number for number, entry in enumerate(entries) if entry["name"] == key), None)
        if index is None:
            return self._append(path, {"name": key, "value": after})
        if "valueFrom" in entries[index]:
            raise Refusal(
                f"{self.document.source}: the environment variable {key} is computed (valueFrom); remove that entry by hand before you set it."
            )
        if after is None:
            return self._remove(path + (index,))
        return self._set_key(path + (index,), "value", after)

    def _change_annotations(self, key: str, after: str | None) -> Manifest:
        path: Path = ("metadata", "annotations")
        if after is None:
            return self._remove(path + (key,))
        if self.pod["metadata"].get("annotations") is None:
            return self._set_key(path[:-1], path[-1], {key: after})
        return self._set_key(path, key, after)

    def _change_volumes(self, key: str, after: t.Mapping[str, t.Any] | None) -> Manifest:
        volumes, mounts = ("spec", "volumes"), self._container_path + ("volumeMounts",)
        volume = _index_of(self.pod["spec"].get("volumes"), key)
        mount = _index_of(self.container.get("volumeMounts"), key)
        if volume is not None and "other" in self._volume_values()[key]:
            raise Refusal(
                f"{self.document.source}: the volume {key} is no hostPath volume with one mount; it cannot be changed here."
            )
        if after is None:
            return self._remove(mounts + (t.cast(int, mount),))._remove(volumes + (t.cast(int, volume),))
        if volume is None:
            host = {"path": after["host_path"], **({"type": after["path_type"]} if after["path_type"] else {})}
            entry = {
                "mountPath": after["mount_path"],
                "name": key,
                **({"readOnly": True} if after["read_only"] else {}),
            }
            return self._append(mounts, entry)._append(volumes, {"hostPath": host, "name": key})
        return (
            self._set_key(volumes + (volume, "hostPath"), "path", after["host_path"])
            ._set_key(volumes + (volume, "hostPath"), "type", after["path_type"] or None)
            ._set_key(mounts + (t.cast(int, mount),), "mountPath", after["mount_path"])
            ._set_key(mounts + (t.cast(int, mount),), "readOnly", after["read_only"] or None)
        )

    def _set_flag(self, name: str, wanted: t.Sequence[str]) -> Manifest:
        """Give a flag exactly these values, in this order: replace, then append behind, then drop what is too much."""
        manifest = self
        for number, value in enumerate(wanted):
            manifest = manifest._put_flag(manifest._flag_places(name), number, name, value)
        for list_name, flag in reversed(manifest._flag_places(name)[len(wanted) :]):
            for offset in (1, 0) if flag.split else (0,):
                manifest = manifest._remove(self._container_path + (list_name, flag.index + offset))
        return manifest

    def _put_flag(self, places: list[tuple[str, flags.Flag]], number: int, name: str, value: str) -> Manifest:
        if number < len(places):
            return self._replace_flag(*places[number], value=value)
        return self._insert_flag(places, f"--{name}={value}")

    def _flag_places(self, name: str) -> list[tuple[str, flags.Flag]]:
        return [
            (list_name, flag)
            for list_name in ("command", "args")
            for flag in flags.parse(self.container.get(list_name) or [])
            if flag.name == name
        ]

    def _replace_flag(self, list_name: str, flag: flags.Flag, *, value: str) -> Manifest:
        if flag.text == value:
            return self
        path = self._container_path + (list_name,)
        if flag.split:
            return self._apply("replace", path + (flag.index + 1,), value)
        spelling = self.container[list_name][flag.index].partition("=")[0]
        return self._apply("replace", path + (flag.index,), f"{spelling}={value}")

    def _insert_flag(self, places: t.Sequence[tuple[str, flags.Flag]], argument: str) -> Manifest:
        if places:
            list_name, flag = places[-1]
            index = flag.index + (2 if flag.split else 1)
        else:
            list_name = "args" if self.container.get("args") else "command"
            index = len(self.container[list_name])
        return self._apply("add", self._container_path + (list_name, index), argument)

    def _append(self, path: Path, item: t.Any) -> Manifest:
        """Add an item to a list, creating the list when it is missing."""
        existing = self._at(path)
        if existing is None:
            return self._set_key(path[:-1], t.cast(str, path[-1]), [item])
        return self._apply("add", path + (len(existing),), item)

    def _remove(self, path: Path) -> Manifest:
        """Take an entry away, and its list or mapping with it when nothing else is in it: YAML has no empty block."""
        return self._apply("remove", path if len(self._at(path[:-1])) > 1 else path[:-1])

    def _set_key(self, path: Path, key: str | int, value: t.Any) -> Manifest:
        """Set a key of a mapping; None takes it away."""
        current = self._at(path)
        if value is None:
            return self._apply("remove", path + (key,)) if key in current else self
        if key not in current:
            return self._apply("add", path + (key,), value)
        return self if current[key] == value else self._apply("replace", path + (key,), value)

    def _at(self, path: Path) -> t.Any:
        data: t.Any = self.pod
        for step in path:
            data = data.get(step) if isinstance(data, dict) else data[step]
        return data


def _index_of(entries: t.Sequence[t.Mapping[str, t.Any]] | None, name: str) -> int | None:
    return next((number for number, entry in enumerate(entries or []) if entry.get("name") == name), None)


def _expand(text: str, environment: t.Mapping[str, str | None]) -> str | None:
    """Kubernetes' expansion: C($(NAME)) of a known variable, C($$) for a dollar sign, everything else as it stands.

    None when it depends on a value that only the kubelet knows.
    """
    names = {match.group(1) for match in _REFERENCE.finditer(text)} - {None}
    if any(environment.get(name, "") is None for name in names):
        return None
    if any(name not in environment and _SERVICE_VARIABLE.fullmatch(name) for name in names):
        return None
    return _REFERENCE.sub(
        lambda match: "$" if match.group(0) == "$$" else t.cast(str, environment.get(match.group(1), match.group(0))),
        text,
    )

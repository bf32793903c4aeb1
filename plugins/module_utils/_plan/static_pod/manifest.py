# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A static pod's manifest as values that can be read and changed: flags, gates, plugins, environment, volumes, single fields.

C(Manifest.values) and C(Manifest.change) speak the language of C(ownership): a field, a key, a value.
"""

from __future__ import annotations

import copy
import dataclasses
import posixpath
import re
import typing as t

from ..common.errors import Refusal
from ..common.ownership import Change, Values
from ..documents.command_line import find_program
from ..documents.yaml_edit import Document, Operation, Path
from ..kubernetes import flags, versions
from . import container_probes, pod_fields
from .container_probes import Probe

_MERGED_FLAGS = {
    flags.FEATURE_GATES: "feature_gates",
    flags.ENABLE_PLUGINS: "admission_plugins",
    flags.DISABLE_PLUGINS: "admission_plugins",
}
_REFERENCE = re.compile(r"\$\$|\$\(([^)]+)\)")
# What the kubelet itself adds to the environment of a container: the addresses of services.
_SERVICE_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*_(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT(?:_[A-Z0-9_]+)?)")
_SHORTEST_SECRET = 4
_OF_A_MOUNT = frozenset(("name", "mountPath", "readOnly"))
# Their arguments are words of a script, not flags of the component.
_SHELLS = frozenset(("ash", "bash", "dash", "sh"))
_NAMED = ("env", "volumes")  # lists whose entries are told by their names
# The lists and mappings in which a field stands; those of the container by their way from there.
_VOLUMES, _ANNOTATIONS = "spec.volumes", "metadata.annotations"
_OUTSIDE: dict[str, Path] = {_VOLUMES: ("spec", "volumes"), _ANNOTATIONS: ("metadata", "annotations")}
_COLLECTIONS = {
    "env": ("env",),
    "volumes": (_VOLUMES, "volumeMounts"),
    "annotations": (_ANNOTATIONS,),
    "files": (_ANNOTATIONS,),  # their checksum
}


@dataclasses.dataclass(frozen=True)
class Mount:
    """A host path that the component sees. path_type: Kubernetes' HostPathType, '' when not set."""

    host_path: str
    mount_path: str
    read_only: bool
    path_type: str


@dataclasses.dataclass(frozen=True)
class Manifest:
    """The manifest of one static pod and the container in it that is meant. Immutable.

    blanks: how lists and mappings that changes filled were written when they were empty, by their place: the text behind the colon.
    """

    document: Document
    container_index: int
    blanks: t.Mapping[str, str] = dataclasses.field(default_factory=dict, compare=False)

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
        manifest._check_path_types()
        manifest.values(), manifest.mounts(), manifest.probes()  # a pod that cannot be read through is no pod
        return manifest

    def _check_argument_types(self) -> None:
        for list_name in ("command", "args"):
            items = self.container.get(list_name) or []
            wrong = [item for item in items if not isinstance(item, str)] if isinstance(items, list) else [items]
            if wrong:
                why = f"{list_name} holds {wrong[0]!r}, which is not a string; the kubelet refuses such a pod."
                self._refuse(self._container_path + (list_name,), why)

    def _check_path_types(self) -> None:
        mounts = enumerate(self.container.get("volumeMounts") or [])
        volumes = enumerate(self.pod["spec"].get("volumes") or [])
        paths: dict[Path, t.Any] = {
            **{
                self._container_path + ("volumeMounts", index, "mountPath"): mount["mountPath"]
                for index, mount in mounts
            },
            **{
                ("spec", "volumes", index, "hostPath", "path"): volume["hostPath"]["path"]
                for index, volume in volumes
                if volume.get("hostPath")
            },
        }
        for place, path in paths.items():
            if not isinstance(path, str):
                self._refuse(place, f"the path is {path!r}, which is not a string: was a template not rendered?")

    # -- reading -------------------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The whole file."""
        return self.document.text

    @property
    def pod(self) -> dict[str, t.Any]:
        """The parsed pod."""
        pod: dict[str, t.Any] = self.document.data  # which is one, or it would have been refused
        return pod

    @property
    def container(self) -> dict[str, t.Any]:
        """The parsed container."""
        container: dict[str, t.Any] = self.pod["spec"]["containers"][self.container_index]
        return container

    @property
    def entrypoint(self) -> str | None:
        """The component's program as the command names it; None when the manifest leaves that to the image."""
        return self.arguments[0] if self.container.get("command") else None

    @property
    def command_line(self) -> list[str]:
        """What the container is given to run, as written: the first word first, if the manifest names one."""
        return list(self.container.get("command") or []) + list(self.container.get("args") or [])

    @property
    def arguments(self) -> list[str]:
        """The component's own command line as written: its program first, if the manifest names one, without a wrapper in front."""
        return self.command_line[self._wrapper_length :]

    @property
    def is_wrapped(self) -> bool:
        """Whether another program, such as kube-log-runner, starts the component."""
        return self._wrapper_length > 0

    @property
    def _wrapper_length(self) -> int:
        """How many words stand before the component's program. Words of a shell are no command line of another program."""
        line = self.command_line
        names = {str(self.container["name"]), "etcd", *versions.COMPONENTS}
        if not line or posixpath.basename(line[0]) in _SHELLS:
            return 0
        return find_program(line, lambda word: posixpath.basename(word) in names)

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
        """Values of the environment that stand on the command line -> what is shown instead: they are secret."""
        referenced = {match.group(1) for argument in self.command_line for match in _REFERENCE.finditer(argument)}
        return {
            value: f"$({name})"
            for name, value in self.environment.items()
            # A shorter one is no secret, and every other number in a message would be hidden with it.
            if name in referenced and value and len(value) >= _SHORTEST_SECRET
        }

    @property
    def program(self) -> str:
        """The name of the component's program; where a shell or the image tells which that is, the container's name."""
        name = posixpath.basename(self.entrypoint or "")
        return str(self.container["name"]) if not name or name in _SHELLS else name

    def expected_arguments(self) -> list[str | None]:
        """The command line of the component's process: C($(VAR)) expanded as the kubelet does.

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

    def probes(self) -> list[Probe]:
        """The container's own probes, each once."""
        return container_probes.of_container(self.container, self.document.source)

    def seconds_until_killed(self) -> int:
        """How long the kubelet leaves a container that does not work, where only the kubelet can ask for it; 0 for every other."""
        return container_probes.seconds_until_killed(self.container, self.document.source)

    # -- values --------------------------------------------------------------------------------------------------------

    def values(self) -> Values:
        """Everything that can be changed, as field -> key -> value."""
        found = self._flags()
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
                entry["name"]: entry.get("valueFrom", "" if entry.get("value") is None else entry["value"])
                for entry in self.container.get("env") or []
            },
            "volumes": self._volume_values(),
            **pod_fields.values(self.pod["spec"], self.container),
            "annotations": dict((self.pod.get("metadata") or {}).get("annotations") or {}),
        }

    def _flags(self) -> list[flags.Flag]:
        """The component's flags, with their places on the whole command line."""
        before = self._wrapper_length
        found = flags.parse(self.arguments)
        return [dataclasses.replace(flag, index=flag.index + before) for flag in found]

    def _volume_values(self) -> dict[str, t.Any]:
        return {volume["name"]: self._volume_value(volume) for volume in self.pod["spec"].get("volumes") or []}

    def _volume_value(self, volume: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        host, mounts = volume.get("hostPath"), self._mounts_of(volume["name"])
        # What says more than the option `volumes` can say is not ours to change: it could not be rolled back.
        if not host or len(mounts) != 1 or _says_more(volume, host, mounts[0]):
            return {"other": volume}
        return {
            "host_path": host["path"],
            "path_type": host.get("type") or "",
            "mount_path": mounts[0]["mountPath"],
            "read_only": bool(mounts[0].get("readOnly", False)),
        }

    def _mounts_of(self, volume: str) -> list[dict[str, t.Any]]:
        """In all containers of the pod; those of others are marked by their container's name."""
        return [
            mount if container is self.container else {**mount, "container": container.get("name")}
            for kind in ("initContainers", "containers")
            for container in self.pod["spec"].get(kind) or []
            for mount in container.get("volumeMounts") or []
            if mount["name"] == volume
        ]

    def line(self, field: str, key: str) -> int | None:
        """The line that sets a value, the last one where several do; None when none does."""
        if field in ("args", *_MERGED_FLAGS.values()):
            places: list[Path] = [self._argument_path(flag.index) for flag in self._flags_for(field, key)]
        elif field in _NAMED:
            path = (*self._container_path, "env") if field == "env" else ("spec", field)
            index = _index_of(self._at(path), key)
            places = [] if index is None else [(*path, index)]
        elif field == "annotations":
            places = [("metadata", "annotations", key)]
        else:
            places = [pod_fields.place(field, key, self._container_path)]
        found = [place for place in places if self._at(place) is not None]
        return self.document.line(found[-1]) if found else None

    def _flags_for(self, field: str, key: str) -> list[flags.Flag]:
        """The flags that set an argument, or have a gate or a plugin among their values."""
        found = self._flags()
        if field == "args":
            return [flag for flag in found if flag.name == key]
        merged = [flag for flag in found if _MERGED_FLAGS.get(flag.name) == field]
        return [flag for flag in merged if key in flags.gate_values(flags.parse_gates([flag.text]))]

    # -- changing ------------------------------------------------------------------------------------------------------

    def with_blanks(self, blanks: t.Mapping[str, str]) -> Manifest:
        """With what is known of earlier changes, as far as it fits: what was empty then has entries now."""
        return dataclasses.replace(
            self, blanks={name: text for name, text in blanks.items() if self._at(self._path(name))}
        )

    def blanks_of(self, field: str, key: str) -> dict[str, str]:
        """What was empty of the lists and mappings around a value."""
        return {
            name: self.blanks[name]
            for name in (*_COLLECTIONS.get(field, ()), *pod_fields.collections(field, key))
            if name in self.blanks and self._at(self._path(name))
        }

    def _path(self, name: str) -> Path:
        """Where a list or mapping stands, by its name in C(blanks)."""
        return _OUTSIDE.get(name) or (*self._container_path, *name.split("."))

    def _name(self, path: Path) -> str:
        """The reverse of C(_path)."""
        return ".".join(map(str, path[len(self._container_path) :] if path[:3] == self._container_path else path))

    def change(self, change: Change) -> Manifest:
        """The manifest with one value changed; every other byte stays. Raises Refusal when that cannot be done."""
        changed: Manifest = (
            self._change_field(change)
            if change.field in pod_fields.FIELDS
            else getattr(self, f"_change_{change.field}")(change.key, change.after)
        )
        changed._check_argument_types()
        if changed.values() != self._values_after(change):
            self._refuse(
                self._container_path,
                f"{change.field} {change.key} cannot be changed alone: it is set twice, or words that belong to no flag"
                " are among the arguments. Correct that manually first.",
            )
        return changed

    def _values_after(self, change: Change) -> Values:
        values = copy.deepcopy(self.values())
        values[change.field].pop(change.key, None)
        if change.after is not None:
            values[change.field][change.key] = change.after
        return values

    def _refuse(self, path: Path, why: str) -> t.NoReturn:
        raise Refusal(f"{self.document.source} line {self.document.line(path)}: {why}")

    def _apply(self, op: str, path: Path, value: t.Any = None) -> Manifest:
        return dataclasses.replace(self, document=self.document.apply(Operation(op, path, value)))

    @property
    def _container_path(self) -> Path:
        return ("spec", "containers", self.container_index)

    def _change_field(self, change: Change) -> Manifest:
        path = pod_fields.place(change.field, change.key, self._container_path)
        if change.field == pod_fields.PROBES and not self._at(path[:-1]):
            why = f"container {self.container.get('name')} has no {path[-2]}, and this module changes only existing probes."
            self._refuse(self._container_path, why)
        return self._remove(path) if change.after is None else self._put(path, change.after)

    def _put(self, path: Path, value: t.Any) -> Manifest:
        """Set a value, with the mappings around it that are missing."""
        parent = self._at(path[:-1])
        if parent:
            return self._set_key(path[:-1], path[-1], value)
        if path[-2] in (self._at(path[:-2]) or ()):
            return self._fill(path[:-1], path[-1], value)
        return self._put(path[:-1], {path[-1]: value})

    def _fill(self, path: Path, step: str | int, value: t.Any) -> Manifest:
        """Give an empty list or mapping, or a key without a value, its first entry."""
        blanks = {**self.blanks, self._name(path): self.document.written(path)}
        is_null = self._at(path) is None
        content = [value] if isinstance(step, int) else {step: value}
        filled = self._apply("fill", path, content) if is_null else self._apply("add", (*path, step), value)
        return dataclasses.replace(filled, blanks=blanks)

    def _change_args(self, key: str, after: t.Sequence[str] | None) -> Manifest:
        return self._set_flag(key, list(after or []))

    def _change_feature_gates(self, key: str, after: bool | None) -> Manifest:
        gates = flags.parse_gates(flags.values(self._flags(), flags.FEATURE_GATES))
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
        plugins = flags.parse_plugins(flags.values(self._flags(), flag))
        if wanted == (plugin in plugins):
            return self
        plugins = plugins + [plugin] if wanted else [name for name in plugins if name != plugin]
        return self._set_flag(flag, [",".join(plugins)] if plugins else [])

    def _change_env(self, key: str, after: str | None) -> Manifest:
        path = self._container_path + ("env",)
        entries = self.container.get("env") or []
        places = [number for number, entry in enumerate(entries) if entry["name"] == key]
        if not places:
            return self._append(path, {"name": key, "value": after})
        index = places[-1]
        if len(places) > 1:
            self._refuse(
                path + (index,), f"the environment variable {key} is set twice; remove one of the two manually."
            )
        if "valueFrom" in entries[index]:
            why = (
                f"the environment variable {key} is computed (valueFrom); remove that entry manually before you set it."
            )
            self._refuse(path + (index,), why)
        if after is None:
            return self._remove(path + (index,))
        return self._set_key(path + (index,), "value", after)

    def _change_annotations(self, key: str, after: str | None) -> Manifest:
        path: Path = ("metadata", "annotations")
        if after is None:
            return self._remove(path + (key,))
        return self._put(path + (key,), after)

    def _change_volumes(self, key: str, after: t.Mapping[str, t.Any] | None) -> Manifest:
        volumes, mounts = ("spec", "volumes"), self._container_path + ("volumeMounts",)
        volume = _index_of(self.pod["spec"].get("volumes"), key)
        mount = _index_of(self.container.get("volumeMounts"), key)
        before = self._volume_values().get(key, {})
        if volume is not None and "other" in before:
            why = f"the volume {key} is not a plain hostPath volume with one mount; it cannot be changed here."
            self._refuse(volumes + (volume,), why)
        there = None if volume is None or mount is None else (volumes + (volume,), mounts + (mount,))
        if after is None:
            return self._remove(there[1])._remove(there[0]) if there else self
        if there is None:
            host = {"path": after["host_path"], **({"type": after["path_type"]} if after["path_type"] else {})}
            entry = {
                "mountPath": after["mount_path"],
                "name": key,
                **({"readOnly": True} if after["read_only"] else {}),
            }
            return self._append(mounts, entry)._append(volumes, {"hostPath": host, "name": key})
        host_path, own_mount = there[0] + ("hostPath",), there[1]
        manifest = self
        for name, path, field in (
            ("host_path", host_path, "path"),
            ("path_type", host_path, "type"),
            ("mount_path", own_mount, "mountPath"),
            ("read_only", own_mount, "readOnly"),
        ):
            if after[name] != before[name]:
                manifest = manifest._set_key(path, field, after[name] or None)
        return manifest

    def _set_flag(self, name: str, wanted: t.Sequence[str]) -> Manifest:
        """Give a flag exactly these values, in this order: replace, then append behind, then drop what is too much."""
        if self.entrypoint is None:
            why = (
                f"container {self.container.get('name')} has no command: its image decides what is started, so --{name} cannot be"
                " changed here. env, volumes and files can; write a command to have flags changed, too."
            )
            self._refuse(self._container_path, why)
        shell = next((word for word in self.container["command"] if posixpath.basename(word) in _SHELLS), None)
        if shell is not None and not self.is_wrapped:
            why = f"the component is started by a shell ({shell}), so --{name} would not reach it. Start it directly."
            self._refuse(self._argument_path(0), why)
        manifest = self
        for number, value in enumerate(wanted):
            manifest = manifest._put_flag(manifest._occurrences(name), number, name, value)
        for flag in reversed(manifest._occurrences(name)[len(wanted) :]):
            for index in (flag.index + 1, flag.index) if flag.split else (flag.index,):
                manifest = manifest._remove(manifest._argument_path(index))
        return manifest

    def _occurrences(self, name: str) -> list[flags.Flag]:
        return [flag for flag in self._flags() if flag.name == name]

    def _argument_path(self, index: int) -> Path:
        """Where an item of the command line stands."""
        return self._container_path + self._argument_place(index)

    def _argument_place(self, index: int) -> tuple[str, int]:
        """In which list, and at which position: C(args) go on where C(command) ends."""
        behind = index - len(self.container.get("command") or ())
        return ("command", index) if behind < 0 else ("args", behind)

    def _put_flag(self, places: list[flags.Flag], number: int, name: str, value: str) -> Manifest:
        if number < len(places):
            return self._replace_flag(places[number], value=value)
        return self._insert_flag(places, f"--{name}={value}")

    def _replace_flag(self, flag: flags.Flag, *, value: str) -> Manifest:
        if flag.text == value:
            return self
        if flag.split and flags.can_follow(value):
            return self._apply("replace", self._argument_path(flag.index + 1), value)
        # What looks like a flag has to be tied to its own.
        manifest = self._remove(self._argument_path(flag.index + 1)) if flag.split else self
        spelling = self.command_line[flag.index].partition("=")[0]
        return manifest._apply("replace", self._argument_path(flag.index), f"{spelling}={value}")

    def _insert_flag(self, places: t.Sequence[flags.Flag], argument: str) -> Manifest:
        """Behind its last occurrence, else behind all arguments."""
        before = places[-1].index + places[-1].split if places else len(self.command_line) - 1
        name, index = self._argument_place(before)
        return self._apply("add", (*self._container_path, name, index + 1), argument)

    def _append(self, path: Path, item: t.Any) -> Manifest:
        """Add an item to a list, creating the list when it is missing."""
        existing = self._at(path)
        if existing:
            return self._apply("add", path + (len(existing),), item)
        if path[-1] in self._at(path[:-1]):
            return self._fill(path, 0, item)
        return self._set_key(path[:-1], path[-1], [item])

    def _remove(self, path: Path) -> Manifest:
        """Take an entry away, and every list and mapping around it in which nothing else is: YAML has no empty block.

        What was empty before this collection filled it is written as it was then.
        """
        if len(self._at(path[:-1])) > 1:
            return self._apply("remove", path)
        blank = self.blanks.get(self._name(path[:-1]))
        return self._remove(path[:-1]) if blank is None else self._apply("clear", path[:-1], blank)

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
            data = data.get(step) if isinstance(data, dict) else None if data is None else data[step]
        return data


def _index_of(entries: t.Sequence[t.Mapping[str, t.Any]] | None, name: str) -> int | None:
    return next((number for number, entry in enumerate(entries or []) if entry.get("name") == name), None)


def _says_more(volume: t.Mapping[str, t.Any], host: t.Mapping[str, t.Any], mount: t.Mapping[str, t.Any]) -> bool:
    return bool(volume.keys() - {"name", "hostPath"} or host.keys() - {"path", "type"} or mount.keys() - _OF_A_MOUNT)


def _expand(text: str, environment: t.Mapping[str, str | None]) -> str | None:
    """Kubernetes' expansion: C($(NAME)) of a known variable, C($$) for a dollar sign, everything else as it stands.

    None when it depends on a value that only the kubelet knows.
    """
    names = {match.group(1) for match in _REFERENCE.finditer(text)} - {None}
    if any(environment.get(name, "") is None for name in names):
        return None
    if any(name not in environment and _SERVICE_VARIABLE.fullmatch(name) for name in names):
        return None

    def value(reference: re.Match[str]) -> str:
        found = environment.get(reference.group(1))
        return "$" if reference.group(0) == "$$" else reference.group(0) if found is None else found

    return _REFERENCE.sub(value, text)

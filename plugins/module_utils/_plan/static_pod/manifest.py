# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A static pod's manifest as values that can be read and changed: flags, gates, plugins, environment, volumes, single fields.

C(Manifest.values) and C(Manifest.change) have the terms of C(ownership): a field, a key, a value. C(Manifest) is the parsed value,
C(ManifestEditor) knows what a change means in the text, and C(pod_yaml) makes it there.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import posixpath
import re
import typing as t

from ..common.errors import Refusal
from ..common.ownership import Change, Values
from ..documents.command_line import find_program
from ..documents.yaml_edit import Document, Path
from ..kubernetes import flags, versions
from . import pod_fields
from .pod_fields import Probe
from .pod_yaml import ANNOTATIONS, VOLUMES, PodYaml, collection_path, value_at

_FIELD_BY_LIST_FLAG = {
    flags.FEATURE_GATES: "feature_gates",
    flags.ENABLE_PLUGINS: "admission_plugins",
    flags.DISABLE_PLUGINS: "admission_plugins",
}
_REFERENCE = re.compile(r"\$\$|\$\(([^)]+)\)")
# What the kubelet itself adds to the environment of a container: the addresses of services.
_SERVICE_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*_(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z0-9_]+)?|PORT(?:_[A-Z0-9_]+)?)")
_SHORTEST_SECRET = 4
_MOUNT_KEYS = frozenset(("name", "mountPath", "readOnly"))
# Their arguments are words of a script, not flags of the component.
_SHELLS = frozenset(("ash", "bash", "dash", "sh"))
OTHER_VOLUME = "other"  # the key of a volume that is not ours to change
_NAMED_LISTS = ("env", "volumes")  # lists whose entries have names
# The lists and mappings in which a field stands, by their names in `blanks`.
_COLLECTIONS = {
    "env": ("env",),
    "volumes": (VOLUMES, "volumeMounts"),
    "annotations": (ANNOTATIONS,),
    "files": (ANNOTATIONS,),  # their checksum
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
    """The manifest of one static pod, and the container of the component in it. Immutable, and each part is parsed once.

    blanks: name of a list or mapping -> its YAML text while it was empty, restored when its last entry goes.
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
            return cls._of(document, name)
        except (AttributeError, KeyError, TypeError, ValueError) as exc:
            raise Refusal(f"{source} is not a Pod that the kubelet could run: {type(exc).__name__}: {exc}.") from exc

    @classmethod
    def _of(cls, document: Document, name: str) -> Manifest:
        manifest = cls(document, _container_index(document, name))
        manifest.refuse_non_string_arguments()
        manifest._refuse_non_string_paths()
        manifest.values(), manifest.mounts(), manifest.probes()  # a pod that cannot be read through is no pod
        return manifest

    def refuse_non_string_arguments(self) -> None:
        """Raises Refusal for an argument that is no string."""
        for list_name in ("command", "args"):
            items = self.container.get(list_name) or []
            wrong = [item for item in items if not isinstance(item, str)] if isinstance(items, list) else [items]
            if wrong:
                why = f"{list_name} holds {wrong[0]!r}, which is not a string; the kubelet refuses such a pod."
                self.refuse(self.container_path + (list_name,), why)

    def _refuse_non_string_paths(self) -> None:
        mounts = enumerate(self.container.get("volumeMounts") or [])
        volumes = enumerate(self.pod["spec"].get("volumes") or [])
        paths: list[tuple[Path, t.Any]] = [
            ((*self.container_path, "volumeMounts", index, "mountPath"), mount["mountPath"]) for index, mount in mounts
        ]
        paths += [
            (("spec", "volumes", index, "hostPath", "path"), volume["hostPath"]["path"])
            for index, volume in volumes
            if volume.get("hostPath")
        ]
        for place, path in paths:
            if not isinstance(path, str):
                self.refuse(place, f"the path is {path!r}, which is not a string: was a template not rendered?")

    def refuse(self, path: Path, why: str) -> t.NoReturn:
        """Raise Refusal with the line of a value."""
        raise Refusal(f"{self.document.source} line {self.document.line(path)}: {why}")

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
    def container_path(self) -> Path:
        """Where the container stands in the pod."""
        return ("spec", "containers", self.container_index)

    @property
    def entrypoint(self) -> str | None:
        """The component's program as the command names it; None when the manifest leaves that to the image."""
        return self.arguments[0] if self.container.get("command") else None

    @functools.cached_property
    def command_line(self) -> list[str]:
        """What the container is given to run, as written: the first word first, if the manifest names one."""
        return list(self.container.get("command") or []) + list(self.container.get("args") or [])

    @functools.cached_property
    def arguments(self) -> list[str]:
        """The component's own command line as written: its program first, if the manifest names one, without a wrapper in front."""
        return self.command_line[self._wrapper_length :]

    @property
    def is_wrapped(self) -> bool:
        """Whether another program, such as kube-log-runner, starts the component."""
        return self._wrapper_length > 0

    @functools.cached_property
    def _wrapper_length(self) -> int:
        """How many words stand before the component's program. Words of a shell are no command line of another program."""
        line = self.command_line
        names = {str(self.container["name"]), "etcd", *versions.COMPONENTS}
        if not line or posixpath.basename(line[0]) in _SHELLS:
            return 0
        return find_program(line, lambda word: posixpath.basename(word) in names)

    @property
    def shell(self) -> str | None:
        """The shell that starts the component, if one does: its words are none of the component's flags."""
        found = next(
            (word for word in self.container.get("command") or () if posixpath.basename(word) in _SHELLS), None
        )
        return None if self.is_wrapped else found

    @functools.cached_property
    def given_flags(self) -> list[flags.Flag]:
        """The component's flags, with their places on the whole command line."""
        found = flags.parse(self.arguments)
        return [dataclasses.replace(flag, index=flag.index + self._wrapper_length) for flag in found]

    def flag_value(self, name: str) -> str | None:
        """The value that counts for a flag that takes one: the last one given; None when it is not set."""
        return flags.value(self.given_flags, name)

    @functools.cached_property
    def environment(self) -> dict[str, str | None]:
        """The manifest's environment variables with their expanded values; None for a value that only the kubelet knows."""
        found: dict[str, str | None] = {}
        for entry in self.container.get("env") or []:
            # Kubernetes expands a value by the variables that stand before it.
            found[entry["name"]] = None if "valueFrom" in entry else _expand_refs(str(entry.get("value") or ""), found)
        return found

    @functools.cached_property
    def hidden(self) -> dict[str, str]:
        """Values of the environment that stand on the command line -> what is displayed instead: they are secret."""
        referenced = {match.group(1) for argument in self.command_line for match in _REFERENCE.finditer(argument)}
        return {
            value: f"$({name})"
            for name, value in self.environment.items()
            # A shorter one is no secret, and every other number in a message would be hidden with it.
            if name in referenced and value and len(value) >= _SHORTEST_SECRET
        }

    @property
    def program(self) -> str:
        """The name of the component's program; where a shell or the image decides which that is, the container's name."""
        name = posixpath.basename(self.entrypoint or "")
        return str(self.container["name"]) if not name or name in _SHELLS else name

    def expected_arguments(self) -> list[str | None]:
        """The command line of the component's process: C($(VAR)) expanded as the kubelet does.

        None for an argument that depends on a value which only the kubelet knows.
        """
        return [_expand_refs(argument, self.environment) for argument in self.arguments]

    @functools.cached_property
    def expected_flags(self) -> list[flags.Flag]:
        """The flags of the component's process, without those that depend on what only the kubelet knows."""
        return flags.parse([argument for argument in self.expected_arguments() if argument is not None])

    def mounts(self) -> list[Mount]:
        """The host paths that the container mounts, but for one whose C(subPathExpr) only the kubelet knows."""
        return _mounts(self.pod["spec"], self.container, self.environment)

    def probes(self) -> list[Probe]:
        """The container's own probes, each once."""
        return pod_fields.probes_of_container(self.pod["spec"], self.container, self.document.source)

    def seconds_until_killed(self) -> int:
        """How long the kubelet leaves a container that does not work, where only the kubelet can probe it; 0 for every other."""
        return pod_fields.seconds_until_killed(self.pod["spec"], self.container, self.document.source)

    # -- values --------------------------------------------------------------------------------------------------------

    def values(self) -> Values:
        """Everything that can be changed, as field -> key -> value: the same object each time, never to be changed in place."""
        return self._values

    @functools.cached_property
    def _values(self) -> Values:
        found = self.given_flags
        args: dict[str, t.Any] = {}
        for flag in found:
            if flag.name not in _FIELD_BY_LIST_FLAG:
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
            "volumes": _volume_values(self.pod["spec"], self.container),
            **pod_fields.values(self.pod["spec"], self.container),
            "annotations": dict((self.pod.get("metadata") or {}).get("annotations") or {}),
        }

    def line(self, field: str, key: str) -> int | None:
        """The line that sets a value, the last one where several do; None when none does."""
        places: list[Path]
        if field in ("args", *_FIELD_BY_LIST_FLAG.values()):
            places = [self.argument_path(flag.index) for flag in _flags_for(self.given_flags, field, key)]
        elif field in _NAMED_LISTS:
            path = (*self.container_path, "env") if field == "env" else ("spec", field)
            index = _index_of(value_at(self.pod, path), key)
            places = [] if index is None else [(*path, index)]
        elif field == "annotations":
            places = [("metadata", "annotations", key)]
        else:
            places = [pod_fields.path_of(field, key, self.container_path)]
        found = [place for place in places if value_at(self.pod, place) is not None]
        return self.document.line(found[-1]) if found else None

    def argument_path(self, index: int) -> Path:
        """Where an item of the command line stands in the pod."""
        return (*self.container_path, *self.argument_place(index))

    def argument_place(self, index: int) -> tuple[str, int]:
        """In which list, and at which position: C(args) go on where C(command) ends."""
        behind = index - len(self.container.get("command") or ())
        return ("command", index) if behind < 0 else ("args", behind)

    # -- changing ------------------------------------------------------------------------------------------------------

    def with_blanks(self, blanks: t.Mapping[str, str]) -> Manifest:
        """With what is known of earlier changes, as far as it fits: what was empty then has entries now."""
        return dataclasses.replace(self, blanks={name: text for name, text in blanks.items() if self._is_filled(name)})

    def blanks_of(self, field: str, key: str) -> dict[str, str]:
        """What was empty of the lists and mappings around a value."""
        names = (*_COLLECTIONS.get(field, ()), *pod_fields.collections(field, key))
        return {name: self.blanks[name] for name in names if name in self.blanks and self._is_filled(name)}

    def _is_filled(self, name: str) -> bool:
        return bool(value_at(self.pod, collection_path(name, self.container_path)))

    def change(self, change: Change) -> Manifest:
        """The manifest with one value changed; every other byte stays. Raises Refusal when that cannot be done."""
        return ManifestEditor(self).edited(change)


def expected_flag(manifest: Manifest, name: str) -> str | None:
    """The value that counts for a flag of the component's process."""
    return flags.value(manifest.expected_flags, name)


def other_containers(manifest: Manifest) -> list[str]:
    """The names of the pod's other containers that run as long as it does, sidecars among them."""
    spec = manifest.pod["spec"]
    sidecars = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
    return [str(each["name"]) for each in (*spec["containers"], *sidecars) if each is not manifest.container]


def image_tag(manifest: Manifest) -> str:
    """The tag of the component's image; empty when it has none."""
    return versions.tag_of(str(manifest.container.get("image") or ""))


class ManifestEditor:
    """What one change of a setting means in the text of a manifest, and the proof that nothing but that setting is another afterwards. For one change."""

    def __init__(self, manifest: Manifest) -> None:
        self._before = manifest
        self._path = manifest.container_path
        self._yaml = PodYaml(manifest.document, self._path, manifest.blanks)

    @property
    def _manifest(self) -> Manifest:
        """The manifest as far as it is edited."""
        if self._yaml.document is self._before.document:
            return self._before
        return dataclasses.replace(self._before, document=self._yaml.document, blanks=self._yaml.blanks)

    def edited(self, change: Change) -> Manifest:
        """The manifest with this change. Raises Refusal when that cannot be done."""
        if change.field in pod_fields.FIELDS:
            self._change_field(change)
        else:
            getattr(self, f"_change_{change.field}")(change.key, change.after)
        changed = self._manifest
        changed.refuse_non_string_arguments()
        if changed.values() != self._values_after(change):
            self._before.refuse(
                self._path,
                f"{change.field} {change.key} cannot be changed alone: it is set twice, or words that belong to no flag"
                " are among the arguments. Correct that manually first.",
            )
        return changed

    def _values_after(self, change: Change) -> Values:
        values = copy.deepcopy(self._before.values())
        values[change.field].pop(change.key, None)
        if change.after is not None:
            values[change.field][change.key] = change.after
        return values

    # -- flags ---------------------------------------------------------------------------------------------------------

    def _change_args(self, key: str, after: t.Sequence[str] | None) -> None:
        self._set_flag(key, list(after or []))

    def _change_feature_gates(self, key: str, after: bool | None) -> None:
        gates = flags.parse_gates(flags.values(self._manifest.given_flags, flags.FEATURE_GATES))
        spelling = flags.gate_key(gates, key)
        if after is None:
            gates.pop(spelling, None)
        else:
            gates[spelling] = "true" if after else "false"
        self._set_flag(flags.FEATURE_GATES, [flags.render_gates(gates)] if gates else [])

    def _change_admission_plugins(self, key: str, after: str | None) -> None:
        self._set_plugin(flags.ENABLE_PLUGINS, key, after == "enabled")
        self._set_plugin(flags.DISABLE_PLUGINS, key, after == "disabled")

    def _set_plugin(self, flag: str, plugin: str, desired: bool) -> None:
        plugins = flags.parse_plugins(flags.values(self._manifest.given_flags, flag))
        if desired != (plugin in plugins):
            plugins = plugins + [plugin] if desired else [name for name in plugins if name != plugin]
            self._set_flag(flag, [",".join(plugins)] if plugins else [])

    def _set_flag(self, name: str, desired: t.Sequence[str]) -> None:
        """Give a flag exactly these values, in this order."""
        manifest = self._manifest
        if manifest.entrypoint is None:
            why = (
                f"container {manifest.container.get('name')} has no command: its image decides what is started, so --{name} cannot be"
                " changed here. env, volumes and files can; write a command to have flags changed, too."
            )
            manifest.refuse(self._path, why)
        if manifest.shell is not None:
            why = f"the component is started by a shell ({manifest.shell}), so --{name} would not reach it. Start it directly."
            manifest.refuse(manifest.argument_path(0), why)
        for edit in flags.plan_edits(manifest.command_line, manifest.given_flags, name, desired):
            if edit.op == "add":  # into the list of the item before
                name_of_list, before = self._manifest.argument_place(edit.index - 1)
                self._yaml.insert((*self._path, name_of_list, before + 1), edit.text)
            elif edit.op == "remove":
                self._yaml.remove(self._manifest.argument_path(edit.index))
            else:
                self._yaml.replace(self._manifest.argument_path(edit.index), edit.text)

    # -- entries of the pod --------------------------------------------------------------------------------------------

    def _change_field(self, change: Change) -> None:
        path = pod_fields.path_of(change.field, change.key, self._path)
        if change.field == pod_fields.PROBES and not self._yaml.at(path[:-1]):
            name = self._manifest.container.get("name")
            why = f"container {name} has no {path[-2]}, and this module changes only existing probes."
            self._manifest.refuse(self._path, why)
        self._put_or_remove(path, change.after)

    def _change_annotations(self, key: str, after: str | None) -> None:
        self._put_or_remove(("metadata", "annotations", key), after)

    def _put_or_remove(self, path: Path, after: t.Any) -> None:
        if after is None:
            self._yaml.remove(path)
        else:
            self._yaml.put(path, after)

    def _change_env(self, key: str, after: str | None) -> None:
        path = (*self._path, "env")
        entries = self._manifest.container.get("env") or []
        places = [number for number, entry in enumerate(entries) if entry["name"] == key]
        if not places:
            self._yaml.append(path, {"name": key, "value": after})
            return
        place = (*path, places[-1])
        if len(places) > 1:
            self._manifest.refuse(
                place, f"the environment variable {key} is set twice; remove one of the two manually."
            )
        if "valueFrom" in entries[places[-1]]:
            why = (
                f"the environment variable {key} is computed (valueFrom); remove that entry manually before you set it."
            )
            self._manifest.refuse(place, why)
        if after is None:
            self._yaml.remove(place)
        else:
            self._yaml.set_key(place, "value", after)

    def _change_volumes(self, key: str, after: t.Mapping[str, t.Any] | None) -> None:
        volumes_path, mounts_path = ("spec", "volumes"), (*self._path, "volumeMounts")
        volume_index = _index_of(self._manifest.pod["spec"].get("volumes"), key)
        mount_index = _index_of(self._manifest.container.get("volumeMounts"), key)
        before = self._manifest.values()["volumes"].get(key, {})
        if volume_index is not None and OTHER_VOLUME in before:
            why = f"the volume {key} is not a plain hostPath volume with one mount; it cannot be changed here."
            self._manifest.refuse((*volumes_path, volume_index), why)
        if volume_index is None or mount_index is None:
            if after is not None:
                self._yaml.append(mounts_path, _mount_entry(key, after))
                self._yaml.append(volumes_path, _volume_entry(key, after))
        elif after is None:
            self._yaml.remove((*mounts_path, mount_index))
            self._yaml.remove((*volumes_path, volume_index))
        else:
            host_path_place, mount_place = (*volumes_path, volume_index, "hostPath"), (*mounts_path, mount_index)
            for name, path, field in (
                ("host_path", host_path_place, "path"),
                ("path_type", host_path_place, "type"),
                ("mount_path", mount_place, "mountPath"),
                ("read_only", mount_place, "readOnly"),
            ):
                if after[name] != before[name]:
                    self._yaml.set_key(path, field, after[name] or None)


# ---- parts of a manifest ---------------------------------------------------------------------------------------------


def _container_index(document: Document, name: str) -> int:
    """Which container of a pod is the component's. Raises Refusal for what is no pod, or one whose changes the kubelet does not see."""
    source = document.source
    data = document.data
    if not isinstance(data, dict) or data.get("apiVersion") != "v1" or data.get("kind") != "Pod":
        raise Refusal(f"{source} is not a v1 Pod, so it is not the manifest of static pod {name}.")
    if (data.get("metadata") or {}).get("uid"):
        raise Refusal(
            f"{source} line {document.line(('metadata', 'uid'))} sets metadata.uid: the kubelet then never notices a change of the manifest."
            " Remove that line first."
        )
    containers = (data.get("spec") or {}).get("containers") or []
    names = [container.get("name") for container in containers]
    if name not in names and len(containers) != 1:
        raise Refusal(f"{source}: no container is named {name}; found: {', '.join(map(str, names)) or 'none'}.")
    return names.index(name) if name in names else 0


def _flags_for(given: t.Sequence[flags.Flag], field: str, key: str) -> list[flags.Flag]:
    """The flags that set an argument, or have a gate or a plugin among their values."""
    if field == "args":
        return [flag for flag in given if flag.name == key]
    merged = [flag for flag in given if _FIELD_BY_LIST_FLAG.get(flag.name) == field]
    return [flag for flag in merged if key in flags.gate_values(flags.parse_gates([flag.text]))]


def _index_of(entries: t.Sequence[t.Mapping[str, t.Any]] | None, name: str) -> int | None:
    return next((number for number, entry in enumerate(entries or []) if entry.get("name") == name), None)


def _mounts(
    spec: t.Mapping[str, t.Any], container: t.Mapping[str, t.Any], environment: t.Mapping[str, str | None]
) -> list[Mount]:
    volumes = {volume["name"]: volume["hostPath"] for volume in spec.get("volumes") or [] if volume.get("hostPath")}
    return [
        Mount(
            host_path=posixpath.join(volumes[mount["name"]]["path"], below)
            if below
            else volumes[mount["name"]]["path"],
            mount_path=mount["mountPath"],
            read_only=bool(mount.get("readOnly", False)),
            path_type="" if below else volumes[mount["name"]].get("type") or "",  # it is about the volume
        )
        for mount in container.get("volumeMounts") or []
        for below in [mount.get("subPath") or _expand_refs(mount.get("subPathExpr") or "", environment)]
        if mount["name"] in volumes and below is not None
    ]


def _volume_values(spec: t.Mapping[str, t.Any], container: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {
        volume["name"]: _volume_value(volume, _mounts_of(volume["name"], spec, container))
        for volume in spec.get("volumes") or []
    }


def _volume_value(volume: t.Mapping[str, t.Any], mounts: t.Sequence[t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    host = volume.get("hostPath")
    # What has more than the option `volumes` has is not ours to change: it could not be rolled back.
    if not host or len(mounts) != 1 or _has_other_fields(volume, host, mounts[0]):
        return {OTHER_VOLUME: volume}
    return {
        "host_path": host["path"],
        "path_type": host.get("type") or "",
        "mount_path": mounts[0]["mountPath"],
        "read_only": bool(mounts[0].get("readOnly", False)),
    }


def _mounts_of(
    volume: str, spec: t.Mapping[str, t.Any], container: t.Mapping[str, t.Any]
) -> list[t.Mapping[str, t.Any]]:
    """In all containers of the pod; those of others are marked by their container's name."""
    return [
        mount if each is container else {**mount, "container": each.get("name")}
        for kind in ("initContainers", "containers")
        for each in spec.get(kind) or []
        for mount in each.get("volumeMounts") or []
        if mount["name"] == volume
    ]


def _mount_entry(name: str, desired: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {"mountPath": desired["mount_path"], "name": name, **({"readOnly": True} if desired["read_only"] else {})}


def _volume_entry(name: str, desired: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    host = {"path": desired["host_path"], **({"type": desired["path_type"]} if desired["path_type"] else {})}
    return {"hostPath": host, "name": name}


def _has_other_fields(volume: t.Mapping[str, t.Any], host: t.Mapping[str, t.Any], mount: t.Mapping[str, t.Any]) -> bool:
    return bool(volume.keys() - {"name", "hostPath"} or host.keys() - {"path", "type"} or mount.keys() - _MOUNT_KEYS)


def _expand_refs(text: str, environment: t.Mapping[str, str | None]) -> str | None:
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

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The plan of the module C(static_pod): a wish and what was read, in; every byte that will change, out."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import posixpath
import re
import typing as t

from ..common import ownership
from ..common.errors import Refusal
from ..common.names import is_pod_name
from ..common.ownership import Change, Record, Values
from ..documents.yaml_edit import Path
from ..kubernetes import flags
from ..kubernetes import option_values as settings
from .manifest import Manifest

FILES_ANNOTATION = "nodecraft.kubeadm/files-checksum"

_VOLUME_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
# Where a mount would stand over the component's binary and its libraries, or over what every container needs.
_OF_THE_IMAGE = frozenset(
    ("/", "/bin", "/dev", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/local")
) | {"/usr/local/bin", "/usr/local/sbin", "/usr/sbin"}
_ENV_NAME = re.compile(r"[A-Za-z_.-][A-Za-z0-9_.-]*")
_PLUGIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_PLUGIN_STATES = {"enabled": "enabled", "disabled": "disabled", "default": None}
_OWN_OPTION = {
    flags.FEATURE_GATES: "feature_gates",
    flags.ENABLE_PLUGINS: "admission_plugins",
    flags.DISABLE_PLUGINS: "admission_plugins",
}
SETTINGS = ("feature_gates", "admission_plugins", "args", "env", "volumes", "files")
_HIDDEN = "(hidden)"
_DIFFERENT = "(hidden, different)"


# ---- the wish ------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class NodeFile:
    """A file on the node. content: its bytes. mode: the permission bits."""

    content: bytes
    mode: int

    @property
    def digest(self) -> dict[str, t.Any]:
        """What the record and comparisons hold instead of the content."""
        return {"sha256": hashlib.sha256(self.content).hexdigest(), "mode": f"{self.mode:04o}"}


@dataclasses.dataclass(frozen=True)
class WantedFile:
    """A file that the task names. content: None when the task removes it. sensitive: never show its content."""

    path: str
    content: bytes | None
    mode: int
    sensitive: bool


@dataclasses.dataclass(frozen=True)
class Wish:
    """What a task asks for, checked and in canonical form.

    values: field -> key -> value, None to remove. state: what to do with the named keys. purge: whether everything else
    that we own goes back.
    """

    name: str
    values: Values
    files: tuple[WantedFile, ...]
    state: str
    purge: bool


def parse_wish(params: t.Mapping[str, t.Any]) -> Wish:
    """Turn module parameters into a wish. Raises Refusal for values that no component could take."""
    if not is_pod_name(params["name"]):
        raise Refusal(
            f"name: {params['name']!r} is no name of a static pod (lower case letters, digits, dots and dashes)."
        )
    values: Values = {
        "feature_gates": {gate: settings.gate(gate, value) for gate, value in (params["feature_gates"] or {}).items()},
        "admission_plugins": {
            plugin: _plugin(plugin, value) for plugin, value in (params["admission_plugins"] or {}).items()
        },
        "args": {
            flags.normalise(name): settings.argument(name, value, _OWN_OPTION)
            for name, value in (params["args"] or {}).items()
        },
        "env": {name: _environment(name, value) for name, value in (params["env"] or {}).items()},
        "volumes": {volume["name"]: _volume(volume) for volume in params["volumes"] or []},
    }
    if values["admission_plugins"] and params["name"] != "kube-apiserver":
        raise Refusal(
            f"admission_plugins was given for {params['name']}, but only kube-apiserver has admission plugins."
        )
    files = tuple(_wanted_file(entry) for entry in params["files"] or [])
    settings.refuse_twice("args", [flags.normalise(name) for name in params["args"] or {}])
    settings.refuse_twice("volumes", [volume["name"] for volume in params["volumes"] or []])
    settings.refuse_twice("files", [entry.path for entry in files])
    # An option that is given but empty names nothing: an empty variable must not take back everything.
    everything = params["state"] == "absent" and all(params[option] is None for option in SETTINGS)
    return Wish(params["name"], values, files, params["state"], params["purge"] or everything)


def _plugin(plugin: str, value: t.Any) -> str | None:
    if not _PLUGIN_NAME.fullmatch(plugin):
        raise Refusal(f"admission_plugins: {plugin!r} is no name of an admission plugin (letters and digits).")
    if value is None:
        return None
    if not isinstance(value, str) or value not in _PLUGIN_STATES:
        raise Refusal(f"admission_plugins: {plugin} is {value!r}; write enabled, disabled or default.")
    return _PLUGIN_STATES[value]


def _environment(name: str, value: t.Any) -> str | None:
    if not _ENV_NAME.fullmatch(name):
        raise Refusal(f"env: {name!r} is no name of an environment variable.")
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, (str, int, float)):
        raise Refusal(f"env: the value of {name} is neither text, number nor boolean.")
    return settings.no_empty_text("env", name, str(value))


def _volume(volume: t.Mapping[str, t.Any]) -> dict[str, t.Any] | None:
    if volume["state"] == "absent":
        return None
    if not _VOLUME_NAME.fullmatch(volume["name"]):
        raise Refusal(
            f"volumes: {volume['name']!r} is no name of a volume (at most 63 lower case letters, digits and dashes)."
        )
    for key in ("host_path", "mount_path"):
        if not volume[key] or not volume[key].startswith("/"):
            raise Refusal(f"volumes: {volume['name']} needs {key}, an absolute path; found {volume[key]!r}.")
    plain = "/" + posixpath.normpath(volume["mount_path"]).lstrip("/")
    if plain != (volume["mount_path"].rstrip("/") or "/"):
        raise Refusal(f"volumes: mount_path {volume['mount_path']!r} of {volume['name']} is not in its plain form.")
    if ".." in volume["host_path"].split("/") or ":" in volume["mount_path"]:
        raise Refusal(
            f"volumes: the kubelet refuses '..' in host_path and ':' in mount_path of {volume['name']}, and with them the pod."
        )
    if plain in _OF_THE_IMAGE:
        raise Refusal(
            f"volumes: {volume['name']} at {volume['mount_path']} would hide the component's own image or what its container needs."
        )
    return {
        "host_path": volume["host_path"],
        "path_type": volume["path_type"] or "",
        "mount_path": volume["mount_path"],
        "read_only": volume["read_only"],
    }


def _wanted_file(entry: t.Mapping[str, t.Any]) -> WantedFile:
    path = entry["path"]
    if not path.startswith("/") or path.startswith("//") or posixpath.normpath(path) != path:
        raise Refusal(f"files: {path!r} is no absolute path in its plain form.")
    if not re.fullmatch(r"0[0-7]{3}", entry["mode"]):
        raise Refusal(
            f"files: mode {entry['mode']!r} of {path}: write a zero and three octal digits in quotes, such as '0600'."
        )
    if entry["state"] == "present" and entry["content"] is None:
        raise Refusal(f"files: {path} has no content.")
    content = _file_content(path, entry["content"]) if entry["state"] == "present" else None
    return WantedFile(path, content, int(entry["mode"], 8), entry["sensitive"])


def _file_content(path: str, content: t.Any) -> bytes:
    """Text as it is; a mapping or a list as JSON, which is YAML too: Ansible turns text that looks like one into one."""
    if isinstance(content, (dict, list)):
        content = json.dumps(content, indent=2, sort_keys=True) + "\n"
    if not isinstance(content, str):
        raise Refusal(f"files: the content of {path} is neither text nor a mapping or list.")
    try:
        return content.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise Refusal(f"files: the content of {path} is no UTF-8 text.") from exc


# ---- what was read ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class State:
    """What the node has.

    manifest: the manifest as it stands.
    mode: its permission bits.
    record: what we own of it, its raw bytes in C(record_file) (None: never changed by us).
    files: every file that the wish or the record names, None when it does not exist.
    """

    manifest: Manifest
    record: Record
    files: t.Mapping[str, NodeFile | None]


# ---- the plan ----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class FileChange:
    """One policy file that changes. None: it does not exist before, or after.

    wanted: the task asks for this content; otherwise what stood there before us goes back.
    """

    path: str
    before: NodeFile | None
    after: NodeFile | None
    sensitive: bool
    wanted: bool


@dataclasses.dataclass(frozen=True)
class StaticPodPlan:
    """Everything that a run will do to one static pod. C(operations) empty: nothing at all."""

    before: Manifest
    after: Manifest
    files: tuple[FileChange, ...]
    operations: tuple[Change, ...]
    record: Record
    warnings: tuple[str, ...]


def plan(wish: Wish, state: State) -> StaticPodPlan:
    """Work out a wish against what the node has. Raises Refusal for what cannot be done safely."""
    live = {
        **state.manifest.values(),
        "files": {path: file.digest for path, file in state.files.items() if file is not None},
    }
    wanted = dict(wish.values)
    wanted["files"] = {entry.path: _digest_of(entry) for entry in wish.files}
    resolution = ownership.resolve(
        wish=wanted, live=live, record=_comparable(state.record), state=wish.state, purge=wish.purge
    )
    file_changes = tuple(_file_change(change, wish, state) for change in resolution.changes if change.field == "files")
    record = _with_originals(resolution.record, state, file_changes)
    manifest = state.manifest
    for change in resolution.changes:
        if change.field != "files":
            manifest = manifest.change(change)
    manifest = _with_checksum(manifest, record, file_changes)
    _refuse_shared_mount_paths(manifest)
    _refuse_anonymous_probes(wish, state.manifest, manifest)
    _refuse_unreachable_probes(state.manifest, manifest)
    open_files = [entry.path for entry in wish.files if not entry.sensitive]
    return StaticPodPlan(
        before=state.manifest,
        after=manifest,
        files=file_changes,
        operations=tuple(without_secrets(change, open_files) for change in resolution.changes),
        record=record,
        warnings=resolution.warnings,
    )


def _digest_of(entry: WantedFile) -> dict[str, t.Any] | None:
    return None if entry.content is None else NodeFile(entry.content, entry.mode).digest


def _file_change(change: Change, wish: Wish, state: State) -> FileChange:
    named = next((entry for entry in wish.files if entry.path == change.key), None)
    wanted = named is not None and named.content is not None and change.after == _digest_of(named)
    if change.after is None:
        after = None
    elif named is not None and named.content is not None and wanted:
        after = NodeFile(named.content, named.mode)
    else:
        after = _load_original(state.record["files"][change.key].original)
    return FileChange(change.key, state.files.get(change.key), after, named is None or named.sensitive, wanted)


# The record holds the whole former content of a file that we replaced; everything else compares digests.


def _comparable(record: Record) -> Record:
    files = {
        path: ownership.Owned(owned.set, _digest_only(owned.original))
        for path, owned in record.get("files", {}).items()
    }
    return {
        **{field: keys for field, keys in record.items() if field != "files"},
        **({"files": files} if files else {}),
    }


def _digest_only(original: t.Mapping[str, t.Any] | None) -> dict[str, t.Any] | None:
    return None if original is None else _load_original(original).digest


def _with_originals(record: Record, state: State, changes: t.Sequence[FileChange]) -> Record:
    if "files" not in record:
        return record
    before = {change.path: change.before for change in changes}
    files = {}
    for path, owned in record["files"].items():
        known = state.record.get("files", {}).get(path)
        # Unlike a flag, which a kubeadm upgrade may write anew, a file that we made is nobody else's to change.
        original = known.original if known else _dump_original(before[path])
        files[path] = ownership.Owned(owned.set, original)
    return {**record, "files": files}


def _digest(file: NodeFile | None) -> dict[str, t.Any] | None:
    return None if file is None else file.digest


def _dump_original(file: NodeFile | None) -> dict[str, str] | None:
    return (
        None
        if file is None
        else {"content": base64.b64encode(file.content).decode("ascii"), "mode": f"{file.mode:04o}"}
    )


def _load_original(original: t.Mapping[str, t.Any]) -> NodeFile:
    return NodeFile(base64.b64decode(original["content"]), int(original["mode"], 8))


def _with_checksum(manifest: Manifest, record: Record, changes: t.Sequence[FileChange]) -> Manifest:
    """Tie the manifest to the content of its files: a component reads them at start only, and the kubelet restarts it
    only when the pod differs."""
    if not changes:
        return manifest
    owned = record.get("files", {})
    checksum = None
    if owned:
        text = "\n".join(f"{path} {entry.set}" for path, entry in sorted(owned.items()))
        checksum = hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
    current = manifest.values()["annotations"].get(FILES_ANNOTATION)
    if checksum == current:
        # Somebody else changed a file since, or wrote the manifest anew, so the same content is a change all the same.
        drift = "\n".join(f"{change.path} {_digest(change.before)} {_digest(change.after)}" for change in changes)
        checksum = hashlib.sha256(f"{current}\n{drift}".encode()).hexdigest()[:16]
    return manifest.change(Change("annotations", FILES_ANNOTATION, current, checksum))


def _refuse_shared_mount_paths(manifest: Manifest) -> None:
    paths = [posixpath.normpath(mount["mountPath"]) for mount in manifest.container.get("volumeMounts") or []]
    for path in paths:
        if paths.count(path) > 1:
            raise Refusal(
                f"volumes: {path} is already mounted in {manifest.document.source}; the kubelet refuses two mounts at one path."
            )


def _refuse_anonymous_probes(wish: Wish, before: Manifest, after: Manifest) -> None:
    """Most probes carry no credentials: without anonymous requests each gets 401 and the pod is killed for ever."""
    probes = [
        probe
        for probe in after.probes()
        if probe["kind"] == "http" and "authorization" not in map(str.lower, probe["headers"])
    ]
    off = [
        flags.gate_value(flags.last(each.arguments, "anonymous-auth") or "true") is False for each in (before, after)
    ]
    if wish.name == "kube-apiserver" and probes and off == [False, True]:
        raise Refusal(
            "args: anonymous-auth=false would make the API server answer the kubelet's own probes with 401, and the kubelet"
            " would restart it for ever. Use an AuthenticationConfiguration with anonymous conditions"
            " (--authentication-config) that lets /livez, /readyz and /healthz through instead."
        )


def _refuse_unreachable_probes(before: Manifest, after: Manifest) -> None:
    """The probes in the manifest have an address of their own. Away from it, a component is killed for ever as well."""
    port, address = (_changed_flag(name, before, after) for name in ("secure-port", "bind-address"))
    for probe in after.probes():
        if probe["kind"] != "http":
            continue
        if port is not None and port != str(probe["port"]):
            raise Refusal(
                f"args: with secure-port {port} the kubelet's probes, which ask port {probe['port']}, would fail and the"
                " component would be restarted for ever. Probes are not changed by this module."
            )
        if address not in (None, "0.0.0.0", "::", probe["host"]):  # noqa: S104  # compared, not bound
            raise Refusal(
                f"args: with bind-address {address} the kubelet's probes, which ask {probe['host']}, would fail and the"
                " component would be restarted for ever. Probes are not changed by this module."
            )


def _changed_flag(name: str, before: Manifest, after: Manifest) -> str | None:
    value = flags.last(after.arguments, name)
    return value if value != flags.last(before.arguments, name) else None


# ---- what is shown -----------------------------------------------------------------------------------------------------


def without_secrets(change: Change, open_files: t.Container[str]) -> Change:
    """A change without secrets: values of environment variables and digests of files that are not open stay on the node."""
    if change.field == "env":
        return dataclasses.replace(change, before=change.before and _HIDDEN, after=change.after and _HIDDEN)
    if change.field == "files" and change.key not in open_files:
        return dataclasses.replace(change, before=_mode_only(change.before), after=_mode_only(change.after))
    return change


def _mode_only(digest: dict[str, t.Any] | None) -> dict[str, t.Any] | None:
    return None if digest is None else {"mode": digest["mode"]}


def diff(plan_: StaticPodPlan) -> list[dict[str, str]]:
    """The difference as Ansible shows it: the manifest, then each file. Values of environment variables are hidden."""
    shown: list[dict[str, str]] = []
    if plan_.before.text != plan_.after.text:
        former = _environment_values(plan_.before)
        texts = [
            manifest.document.masked(
                {
                    path: _HIDDEN if value in former.values() else _DIFFERENT
                    for path, value in _environment_values(manifest).items()
                }
            )
            for manifest in (plan_.before, plan_.after)
        ]
        shown.append(_diff_entry(plan_.before.document.source, *texts))
    shown.extend(_diff_entry(change.path, *_file_texts(change)) for change in plan_.files)
    return shown


def _file_texts(change: FileChange) -> tuple[str, str]:
    if not change.sensitive:
        before, after = (
            "" if file is None else file.content.decode("utf-8", "replace") for file in (change.before, change.after)
        )
        return before, after
    return (
        f"{_HIDDEN}\n" if change.before else "",
        f"{_DIFFERENT if change.before else _HIDDEN}\n" if change.after else "",
    )


def _environment_values(manifest: Manifest) -> dict[Path, str]:
    """Where the literal values of environment variables stand in a manifest, in all of its containers."""
    return {
        ("spec", kind, number, "env", position, "value"): str(entry["value"])
        for kind in ("initContainers", "containers")
        for number, container in enumerate(manifest.pod["spec"].get(kind) or [])
        for position, entry in enumerate(container.get("env") or [])
        if entry.get("value")
    }


def _diff_entry(path: str, before: str, after: str) -> dict[str, str]:
    return {"before_header": path, "after_header": path, "before": before, "after": after}

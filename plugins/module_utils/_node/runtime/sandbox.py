# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Start a component's binary where it can do no harm: no network, nothing but its own mounts, and those read-only.

Runs alone, as a child of the rehearsal, because it leaves the namespaces and the root directory it was born in:

    python3 sandbox.py < request.json

Request: C(binary) (a path that is opened before the root changes, so it may be C(/proc/PID/exe) of the running
component), C(arguments), C(environment), C(root) (an empty directory), C(mounts) ([{source, target, missing}]; C(missing)
is what to make of a source that does not exist: "directory", "file" or null for an error; the one with the target / is the root
file system of the component's image; what the program writes to one with C(writable) persists), C(staged) ({path on the host:
base64 content} of files that the change brings, or null for those that it removes).
Everything is created in a tmpfs of a private mount namespace and is gone when the process ends.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import re
import sys
import typing as t

_CLONE_NEWNS, _CLONE_NEWNET = 0x00020000, 0x40000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
_MOST_LINKS = 40  # the kernel's own limit for one path
_WRITABLE = ("/tmp", "/run", "/var/run")  # noqa: S108  # of the sandbox; a container may write to all of its own root

_libc = ctypes.CDLL(None, use_errno=True)

Staged = t.Mapping[str, t.Optional[str]]


def _call_libc(name: str, *arguments: t.Any) -> None:
    encoded = [argument.encode() if isinstance(argument, str) else argument for argument in arguments]
    if getattr(_libc, name)(*encoded) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}", str(arguments[0]))


def _mount(source: str, target: str, kind: str | None, options: int) -> None:
    _call_libc("mount", source, target, kind, ctypes.c_ulong(options), None)


class MountPoint(t.NamedTuple):
    """A line of C(mountinfo). tree: the file system and the directory of it that is mounted at the point."""

    tree: tuple[str, str]
    point: str


def mount_table(proc: str, pid: str) -> list[MountPoint]:
    """What a process has mounted. The kernel writes special characters as octal escapes."""
    with open(os.path.join(proc, pid, "mountinfo"), encoding="utf-8", errors="surrogateescape") as stream:
        lines = [line.split(" ") for line in stream]
    return [
        MountPoint((fields[2], fields[3]), re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4]))
        for fields in lines
    ]


def resolve_within(root: str, path: str) -> str:
    """Where a path of the component is on the node: links are followed as they are inside of a root file system."""
    found: list[str] = []
    ahead = path.split("/")[::-1]
    links = 0
    while ahead:
        name = ahead.pop()
        if name == "..":
            found = found[:-1]
        elif name not in ("", "."):
            place = "/".join((root, *found, name))
            if os.path.islink(place) and links < _MOST_LINKS:
                links += 1
                link = os.readlink(place)
                found = [] if link.startswith("/") else found
                ahead += link.split("/")[::-1]
            else:
                found.append(name)
    return "/".join((root.rstrip("/"), *found))


def _bind(source: str, target: str) -> None:
    """Bind a path of the host read-only, with everything that is mounted below it, as the kubelet does."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
        _mount(source, target, None, _MS_BIND | _MS_REC)
        points = [mount.point for mount in mount_table("/proc", "self")]
        mounted = [point for point in points if point == target or point.startswith(target + "/")]
    else:
        _write(target, b"")
        _mount(source, target, None, _MS_BIND)
        mounted = [target]
    for point in mounted:
        _mount(source, point, None, _MS_BIND | _MS_REMOUNT | _MS_RDONLY)


def _write(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(content)


def provide_path(source: str, target: str, missing: str | None, staged: Staged, inner: t.Collection[str] = ()) -> None:
    """Provide a host path as it will be after the change. inner: targets of other mounts."""
    staged_below = _staged_below(source, staged)
    nested = [path for path in inner if path.startswith(target.rstrip("/") + "/")]
    if source in staged:
        content = staged[source]
        if content is not None:
            _write(target, base64.b64decode(content))
    elif staged_below or (nested and os.path.isdir(source)):
        _compose_directory(source, target, staged_below, nested)
    elif os.path.lexists(source):
        _bind(source, target)
    elif missing == "directory":
        os.makedirs(target, exist_ok=True)
    elif missing == "file":
        _write(target, b"")
    else:
        raise FileNotFoundError(2, "the volume's host path does not exist", source)


def _staged_below(directory: str, staged: Staged) -> Staged:
    return {path: content for path, content in staged.items() if path.startswith(directory.rstrip("/") + "/")}


def _compose_directory(source: str, target: str, staged: Staged, nested: t.Sequence[str]) -> None:
    """Compose a directory with new entries: the real one cannot be written to."""
    os.makedirs(target, exist_ok=True)
    names = set(os.listdir(source)) if os.path.isdir(source) else set()
    names.update(path[len(source.rstrip("/")) + 1 :].split("/", 1)[0] for path in staged)
    for name in sorted(names):
        entry, place = os.path.join(source, name), os.path.join(target, name)
        if place in nested:
            continue
        if os.path.islink(entry) and not any(path.startswith(place + "/") for path in nested):
            os.symlink(os.readlink(entry), place)
        else:
            provide_path(entry, place, "directory", staged, nested)


def build_root(root: str, mounts: t.Sequence[t.Mapping[str, t.Any]], staged: Staged) -> None:
    """The root file system that the component sees, each directory before the mounts inside of it."""
    image = next((mount["source"] for mount in mounts if mount["target"] == "/"), root).rstrip("/")

    def place(path: str) -> str:
        return root + resolve_within(image, path)[len(image) :]

    writable = [place(path) for path in _WRITABLE]
    by_target = {place(mount["target"]): mount for mount in mounts}
    for target, mount in sorted(by_target.items()):
        if mount.get("writable"):
            os.makedirs(target, exist_ok=True)
            _mount(mount["source"], target, None, _MS_BIND)
            continue
        provide_path(mount["source"], target, mount["missing"], staged, {*writable, *by_target} - {target})
    for path in writable:
        os.makedirs(path, mode=0o1777, exist_ok=True)


def main() -> None:
    """Build the sandbox and become the component."""
    request = json.load(sys.stdin)
    binary = os.open(request["binary"], os.O_RDONLY)
    _call_libc("unshare", _CLONE_NEWNS | _CLONE_NEWNET)
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    root = request["root"]
    _mount("rehearsal", root, "tmpfs", 0)
    build_root(root, request["mounts"], request["staged"])
    os.chroot(root)
    os.chdir("/")
    try:
        # This process is the rehearsal's child and has nothing left to do but to become the component.
        os.execve(binary, request["arguments"], request["environment"])  # noqa: S606  # pylint: disable=ansible-bad-function
    except OSError as exc:
        why = f"the program cannot be started, or what it is linked with is not in its root file system: {exc.strerror}"
        raise OSError(exc.errno, why, request["arguments"][0]) from exc


if __name__ == "__main__":
    try:
        main()
    except OSError as exc:
        sys.stderr.write(f"sandbox: {exc.strerror}: {exc.filename}\n")
        raise SystemExit(125) from exc  # as timeout(1) says of itself

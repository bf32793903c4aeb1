# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Start a component's binary where it can do no harm: no network, nothing but its own mounts, and those read-only.

Runs alone, as a child of the rehearsal, because it leaves the namespaces and the root folder it was born in:

    python3 sandbox.py < request.json

Request: C(binary) (a path that is opened before the root changes, so it may be C(/proc/PID/exe) of the running
component), C(arguments), C(environment), C(root) (an empty folder), C(mounts) ([{source, target, missing}]; C(missing)
is what to make of a source that does not exist: "folder", "file" or null for an error), C(staged) ({path on the host:
base64 content} of files that the change brings, or null for those that it removes).
Everything that is made lies in a tmpfs of a private mount namespace and is gone when the process ends.
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

_libc = ctypes.CDLL(None, use_errno=True)

Staged = t.Mapping[str, t.Optional[str]]


def _call(name: str, *arguments: t.Any) -> None:
    encoded = [argument.encode() if isinstance(argument, str) else argument for argument in arguments]
    if getattr(_libc, name)(*encoded) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}", str(arguments[0]))


def _mount(source: str, target: str, kind: str | None, options: int) -> None:
    _call("mount", source, target, kind, ctypes.c_ulong(options), None)


def _bind(source: str, target: str) -> None:
    """Show a path of the host read-only, with everything that is mounted below it, as the kubelet does."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.lexists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _write(target, b"")
    _mount(source, target, None, _MS_BIND | _MS_REC)
    for mounted in _mounts_below(target):
        _mount(source, mounted, None, _MS_BIND | _MS_REMOUNT | _MS_RDONLY)


def _mounts_below(path: str) -> list[str]:
    """The mount points at and below a path. The kernel writes special characters as octal escapes."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as stream:
        points = [re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), line.split(" ")[4]) for line in stream]
    return [point for point in points if point == path or point.startswith(path + "/")]


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as stream:
        stream.write(content)


def provide(source: str, target: str, missing: str | None, staged: Staged) -> None:
    """Show a host path at a place in the sandbox as it will be after the change."""
    below = {
        path: content for path, content in staged.items() if path == source or path.startswith(source.rstrip("/") + "/")
    }
    if source in below:
        content = below[source]
        if content is not None:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            _write(target, base64.b64decode(content))
    elif below:
        _compose(source, target, below)
    elif os.path.lexists(source):
        _bind(source, target)
    elif missing == "folder":
        os.makedirs(target, exist_ok=True)
    elif missing == "file":
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _write(target, b"")
    else:
        raise FileNotFoundError(2, "the volume's host path does not exist", source)


def _compose(source: str, target: str, staged: Staged) -> None:
    """A folder in which some files are new: made entry by entry, because nothing can be written to the real one."""
    os.makedirs(target, exist_ok=True)
    names = set(os.listdir(source)) if os.path.isdir(source) else set()
    names.update(path[len(source.rstrip("/")) + 1 :].split("/", 1)[0] for path in staged)
    for name in sorted(names):
        if os.path.islink(os.path.join(source, name)):
            os.symlink(os.readlink(os.path.join(source, name)), os.path.join(target, name))
            continue
        provide(os.path.join(source, name), os.path.join(target, name), "folder", staged)


def main() -> None:
    """Build the sandbox and become the component."""
    request = json.load(sys.stdin)
    binary = os.open(request["binary"], os.O_RDONLY)
    _call("unshare", _CLONE_NEWNS | _CLONE_NEWNET)
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    root = request["root"]
    _mount("rehearsal", root, "tmpfs", 0)
    os.makedirs(os.path.join(root, "tmp"), mode=0o1777)
    for mount in sorted(request["mounts"], key=lambda mount: str(mount["target"])):
        provide(mount["source"], root + mount["target"], mount["missing"], request["staged"])
    os.chroot(root)
    os.chdir("/")
    # This process is the rehearsal's child and has nothing left to do but to become the component.
    os.execve(binary, request["arguments"], request["environment"])  # noqa: S606  # pylint: disable=ansible-bad-function


if __name__ == "__main__":
    try:
        main()
    except OSError as exc:
        sys.stderr.write(f"sandbox: {exc.strerror}: {exc.filename}\n")
        raise SystemExit(125) from exc

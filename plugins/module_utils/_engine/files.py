# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""Files of a node: a reader, at every instant and after a power loss, finds the old or the new bytes."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import typing as t

from .errors import Damaged, LockHeld, OtherFormat

# Of all files of ours that say their format.
FORMAT = 1
# The file in the directory of a component that is locked while a change of it is prepared or made.
LOCK = "lock"
# Between two tries for a lock, and between two looks at a component.
POLL_SECONDS = 0.25
# A disk that is full, broken or read-only; what else keeps an attribute from being written is no fault of the disk.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)

Json = dict[str, t.Any]


@contextlib.contextmanager
def named(path: str) -> t.Iterator[None]:
    """Have every error name the file that was asked for: a write or a sync names none, and a temporary name says nothing."""
    try:
        yield
    except OSError as exc:
        raise OSError(exc.errno, exc.strerror, path) from exc


def read_bytes(path: str) -> bytes | None:
    """A file's content; None when it does not exist."""
    try:
        with named(path), open(path, "rb") as stream:
            return stream.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def sync_directory(path: str) -> None:
    """Make renames and removals in a directory survive a power loss."""
    with named(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def make_directory(path: str, mode: int = 0o700) -> None:
    """Make a directory, and what is missing above it, so that a power loss takes neither it nor what is written into it.

    One that is there already is synced too: a run that made it may have died before it did so.
    """
    parent = os.path.dirname(path)
    if not os.path.isdir(path):
        if not os.path.isdir(parent):
            make_directory(parent, mode)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, mode)
    sync_directory(path)
    sync_directory(parent)


def write_atomically(
    path: str, content: bytes, *, mode: int, uid: int, gid: int, recheck: t.Callable[[], None] = lambda: None
) -> None:
    """Replace a file so that every reader, at every instant and after a power loss, sees the old or the new bytes.

    The temporary file stands in the same directory (a rename must not cross file systems) under a name with a leading
    dot, because the kubelet takes every other name in its directory for a pod. Extended attributes (ACL, SELinux label)
    of the replaced file are kept. A symbolic link stays and its target is replaced. C(recheck) runs last before the
    rename and stops it by raising.
    """
    real = os.path.realpath(path)
    directory, name = os.path.split(real)
    temporary = os.path.join(directory, f".{name}.nodecraft-kubeadm")
    with named(path):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)  # of a run that was killed
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fchown(descriptor, uid, gid)
                _copy_attributes(real, descriptor)
                os.fchmod(descriptor, mode)
                os.fsync(descriptor)
            recheck()
            os.rename(temporary, real)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        sync_directory(directory)


def _copy_attributes(source: str, descriptor: int) -> None:
    try:
        names = os.listxattr(source)
    except OSError:  # the file is new, or its file system has no attributes
        return
    for name in names:
        _copy_attribute(name, source, descriptor)


def _copy_attribute(name: str, source: str, descriptor: int) -> None:
    try:
        os.setxattr(descriptor, name, os.getxattr(source, name))
    except OSError as exc:  # not every attribute may be written; owner and mode are set apart
        if exc.errno in DISK_ERRORS:
            raise


def remove(path: str) -> None:
    """Remove a file for good; one that is gone already is fine."""
    with contextlib.suppress(FileNotFoundError), named(path):
        os.unlink(path)
        sync_directory(os.path.dirname(path))


def to_json(data: t.Any) -> bytes:
    """The one form in which data of ours is written."""
    return (json.dumps(data, indent=1, sort_keys=True) + "\n").encode("utf-8")


def write_json(path: str, data: t.Any) -> None:
    """Replace a file of ours: 0600, atomically, synced."""
    write_atomically(path, to_json(data), mode=0o600, uid=os.getuid(), gid=os.getgid())


def json_object(text: str | bytes) -> Json:
    """The object that a text in JSON is. Raises ValueError when it is none."""
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("it is JSON, but no object")
    return data


def read_json(path: str) -> t.Any:
    """A JSON file's value; None when it does not exist. Raises Damaged when it is no JSON."""
    content = read_bytes(path)
    if content is None:
        return None
    try:
        return json.loads(content)
    except ValueError as exc:
        raise Damaged(f"{path} is damaged: {exc}") from exc


def read_formatted(path: str) -> Json | None:
    """A file of ours that says its format; None when it does not exist. Raises Damaged, and OtherFormat."""
    data = read_json(path)
    if data is None and not os.path.exists(path):
        return None
    if not isinstance(data, dict) or not isinstance(data.get("format"), int):
        raise Damaged(f"{path} is damaged: it has no format")
    found = data["format"]
    if found != FORMAT:
        raise OtherFormat(
            f"{path} has format {found}, which {'a newer' if found > FORMAT else 'an older'} version of nodecraft.kubeadm wrote;"
            f" this version knows {FORMAT}. It was not changed: continue with the version that wrote it"
        )
    return data


@contextlib.contextmanager
def locked(
    directory: str, *, seconds: float, clock: t.Callable[[], float], sleep: t.Callable[[float], None]
) -> t.Iterator[None]:
    """Hold the directory's lock. The kernel releases it when the holder dies. Raises LockHeld after C(seconds)."""
    descriptor = os.open(os.path.join(directory, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        limit = clock() + seconds
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as exc:
                if exc.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
                if clock() >= limit:
                    raise LockHeld(f"another process holds {directory}/lock") from exc
                sleep(POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of a node: a reader, at every instant and after a power loss, finds the old or the new bytes."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import grp
import json
import os
import pwd
import stat
import typing as t

from .engine_errors import Damaged, LockBusy, OtherFormat

# Of all files of ours that have a format number.
FORMAT = 1
# The file in the directory of a component that is locked while a change of it is prepared or made.
LOCK = "lock"
# Between two tries for a lock, or two observations of a component: its times are that exact.
POLL_SECONDS = 0.25
# A disk that is full, broken or read-only; what else keeps an attribute from being written is no fault of the disk.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)

Json = dict[str, t.Any]


@contextlib.contextmanager
def naming_path(path: str) -> t.Iterator[None]:
    """Have every error name this file: a write or a sync names none."""
    try:
        yield
    except OSError as exc:
        raise OSError(exc.errno, exc.strerror, path) from exc


# ---- the way to a file -----------------------------------------------------------------------------------------------
#
# Who can write to a directory, or owns it, can put a link in place of what is in it. Root writes through no such directory, and reads
# through none of their links.

_DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_LINKS = 40  # as Linux has it
# Its owner, which is not root with some installers, can replace manifests and credentials, and so is as good as root.
_KUBERNETES = "/etc/kubernetes"


@contextlib.contextmanager
def _resolve_parent(path: str, *, writes: bool, follows: bool = True) -> t.Iterator[tuple[int, str, str]]:
    """Open the directory of a file, part by part of the path: its descriptor, the file's name there, and its path without links.

    writes: refuse each directory in which others can replace what is next, not only links that they made.
    follows: whether a link at the end is followed as well. Raises OSError.
    """
    names = _names(os.path.join(os.getcwd(), path))
    place, links, directory = "/", 0, os.open("/", _DIRECTORY)
    try:
        while names:
            name = names.pop()
            status = _lstat(name, directory)
            is_link = status is not None and stat.S_ISLNK(status.st_mode)
            if status is not None and (is_link or writes) and name != "..":
                _refuse_foreign(place, directory, name, status, is_read_link=is_link and not writes)
            elif status is None and writes:
                _refuse_foreign(place, directory, name, None, is_read_link=False)
            if is_link and (names or follows):
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                if not (names and _is_of_kernel(directory)):
                    target = os.readlink(name, dir_fd=directory)
                    names += _names(target)
                    if target.startswith("/"):
                        place, directory = "/", _replace_descriptor(directory, os.open("/", _DIRECTORY))
                    continue
                # The kernel's own links, such as /proc/PID/root, lead where no text does.
                directory = _replace_descriptor(directory, os.open(name, _DIRECTORY & ~os.O_NOFOLLOW, dir_fd=directory))
            elif not names or status is None:
                if names and not writes:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
                yield directory, name, os.path.normpath(os.path.join(place, name, *reversed(names)))
                return
            else:
                directory = _replace_descriptor(directory, os.open(name, _DIRECTORY, dir_fd=directory))
            place = os.path.normpath(os.path.join(place, name))
        yield directory, ".", place
    finally:
        os.close(directory)


def _names(path: str) -> list[str]:
    """The parts of a path, the first one last."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _lstat(name: str, directory: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _replace_descriptor(old: int, descriptor: int) -> int:
    os.close(old)
    return descriptor


def _is_of_kernel(directory: int) -> bool:
    try:
        return os.fstat(directory).st_dev == os.stat("/proc").st_dev
    except FileNotFoundError:
        return False


def _refuse_foreign(
    place: str, directory: int, name: str, status: os.stat_result | None, *, is_read_link: bool
) -> None:
    """Raises OSError when others than root, and than who runs this, can replace this entry of a directory."""
    parent, users, groups = os.fstat(directory), _trusted_users(), (0, os.getegid())
    mode, entry = parent.st_mode, os.path.join(place, name)
    if is_read_link and status is not None and status.st_uid in users:
        return  # no other user can make such a link
    if parent.st_uid not in users:
        reason = f"{place} belongs to {_user(parent.st_uid)}, who can replace what is in it"
    elif mode & stat.S_ISVTX:  # there each may replace what is his own
        if status is None or status.st_uid in users:
            return
        reason = f"{entry} belongs to {_user(status.st_uid)}, who can replace it"
    elif mode & stat.S_IWOTH:
        reason = f"everybody can replace what is in {place} (mode {stat.S_IMODE(mode):04o})"
    elif mode & stat.S_IWGRP and (parent.st_gid not in groups or _has_access_list(directory)):
        reason = f"group {_group(parent.st_gid)} can replace what is in {place} (mode {stat.S_IMODE(mode):04o})"
    else:
        return
    effect = (
        f"{entry} is a link there, which is not followed" if is_read_link else "nothing is written or removed there"
    )
    raise PermissionError(
        errno.EPERM, f"{reason}; {effect}. Name a path that only root can change, or give that to root"
    )


def _trusted_users() -> set[int]:
    users = {0, os.geteuid()}
    with contextlib.suppress(OSError):
        users.add(os.stat(_KUBERNETES).st_uid)
    return users


def _has_access_list(directory: int) -> bool:
    """Whether an access control list gives others than the mode's group the same rights."""
    try:
        return "system.posix_acl_access" in os.listxattr(f"/proc/self/fd/{directory}")
    except OSError:  # its file system has none
        return False


def _user(uid: int) -> str:
    with contextlib.suppress(KeyError):
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    return f"uid {uid}"


def _group(gid: int) -> str:
    with contextlib.suppress(KeyError):
        return f"{grp.getgrgid(gid).gr_name} (gid {gid})"
    return f"gid {gid}"


def safe_path(path: str, *, follows: bool = True) -> str:
    """Where a path leads, without links, when only root can change what is on the way: no other user can make it lead elsewhere later.

    follows: whether a link at its end is followed as well. What does not exist may be missing. Raises OSError.
    """
    with naming_path(path), _resolve_parent(path, writes=True, follows=follows) as (dummy, dummy_name, real):
        return real


def safe_file(path: str) -> str:
    """The same of a file that is written, which is no device or the like: root would replace it for everybody. Raises OSError."""
    with naming_path(path), _resolve_parent(path, writes=True) as (directory, name, real):
        status = _lstat(name, directory)
        if status is not None and not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            what = real if real == os.path.normpath(path) else f"it leads to {real}, which"
            raise OSError(
                errno.EINVAL,
                f"{what} is no regular file: nothing is written there. Put a regular file in its place, or none",
            )
        return real


def open_to_read(path: str) -> t.BinaryIO:
    """Open a file through no link that others than root made. Raises OSError."""
    flags = (
        os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
    )  # a pipe in its place is not waited for
    with naming_path(path), _resolve_parent(path, writes=False) as (directory, name, dummy):
        return os.fdopen(os.open(name, flags, dir_fd=directory), "rb")


def read_file(path: str) -> tuple[bytes, os.stat_result] | None:
    """A file's content, mode and owner; None when it does not exist."""
    try:
        with naming_path(path), open_to_read(path) as stream:
            return stream.read(), os.fstat(stream.fileno())
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_bytes(path: str) -> bytes | None:
    """A file's content; None when it does not exist."""
    found = read_file(path)
    return found[0] if found else None


# ---- writing ---------------------------------------------------------------------------------------------------------


def sync_directory(path: str) -> None:
    """Make renames and removals in a directory survive a power loss."""
    with naming_path(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def make_directory(path: str, mode: int = 0o700) -> None:
    """Make a directory, and what is missing above it, so that a power loss takes neither it nor what is written into it.

    One that is there already is synced too: a run that made it may have died before it did so.
    """
    path = safe_path(path)
    parent = os.path.dirname(path)
    if not os.path.isdir(path):
        if not os.path.isdir(parent):
            make_directory(parent, mode)
        umask = os.umask(0o777 & ~mode)  # the service's own is for files of ours
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(path, mode)
        finally:
            os.umask(umask)
    sync_directory(path)
    sync_directory(parent)


def write_atomically(
    path: str, content: bytes, *, mode: int, uid: int, gid: int, recheck: t.Callable[[], None] = lambda: None
) -> None:
    """Replace a file so that every reader, at every instant and after a power loss, sees the old or the new bytes.

    The temporary file stands in the same directory (a rename must not cross file systems) under a name with a leading
    dot, because the kubelet takes every other name in its directory for a pod. Extended attributes (ACL, SELinux label)
    of the replaced file are kept. A symbolic link stays and its target is replaced, unless others than root could have made it.
    C(recheck) runs last before the rename and stops it by raising.
    """
    real = safe_file(path)
    directory, name = os.path.split(real)
    temporary = os.path.join(directory, f".{name}.nodecraft-kubeadm")
    with naming_path(path):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)  # of a run that was killed
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fchown(descriptor, uid, gid)
                _copy_attributes(real, descriptor)
                # Last: an access list sets bits of the mode.
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


def remove(path: str, *, follows: bool = False) -> None:
    """Remove a file for good; one that is gone already is fine.

    follows: of a link what it leads to, as it is written, and not the link itself, which others made.
    """
    path = safe_path(path, follows=follows)
    with contextlib.suppress(FileNotFoundError), naming_path(path):
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
    """A file of ours with its format number; None when it does not exist. Raises Damaged, and OtherFormat."""
    data = read_json(path)
    if data is None and not os.path.exists(path):
        return None
    if not isinstance(data, dict) or not isinstance(data.get("format"), int):
        raise Damaged(f"{path} is damaged: it has no format")
    version = data["format"]
    if version != FORMAT:
        raise OtherFormat(
            f"{path} has format {version}, which {'a newer' if version > FORMAT else 'an older'} version of nodecraft.kubeadm wrote;"
            f" this version knows {FORMAT}. It was not changed: continue with the version that wrote it"
        )
    return data


@contextlib.contextmanager
def locked(
    directory: str, *, seconds: float, clock: t.Callable[[], float], sleep: t.Callable[[float], None]
) -> t.Iterator[None]:
    """Hold the directory's lock. The kernel releases it when the holder dies. Raises LockBusy after C(seconds)."""
    descriptor = os.open(safe_path(os.path.join(directory, LOCK)), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
                    raise LockBusy(f"another process holds {directory}/lock") from exc
                sleep(POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The transaction: what changes files on a node, waits for the outcome, and commits or restores.

One file, Python's standard library only, because it runs in two places: imported by the modules, and alone on the node
under systemd, where neither a lost connection nor the end of Ansible stops it:

    python3 engine.py /var/lib/nodecraft-kubeadm/kube-apiserver

The folder holds one C(journal.json) while a transaction is open, and a second copy of it in C(backup). It is written and
synced before the first byte of a file changes, and after each step, so an engine that died goes on where it stopped. The
rule at the end is always the same: proven healthy, and confirmed where that was asked for, is committed; everything else is
restored to the former bytes, and the former state is proven too.

Journal (JSON, 0600; format 1):
    sha256                     checksum of all the rest
    id, name, requested        who asked for what, for messages
    phase                      prepared, applying, waiting, confirming, restoring, proving, or closed
    files                      [{path, switch, before, after}]; before and after: {content (base64), mode, uid, gid} or
                               null for a file that does not exist; the one with "switch" is the manifest, whose rename
                               makes the change take effect
    directories                folders that the files need and that do not exist yet
    obsolete                   folders of ours that nobody needs after a commit; removed when they are empty then
    watch                      how the component is recognised: kind, before and after, each with arguments (null stands
                               for any) and probes. Of a static pod (no kind, or "static_pod") log_prefix, container,
                               feature_gates with the metrics address, hidden (values that its log may show, and what is
                               shown instead), client (address and kubeconfig of somebody whom it must not lock out, or
                               null). Of a systemd unit ("systemd_unit") unit, node (name, kubeconfig),
                               set_aside (state files of the component that make way while it is stopped: path, aside,
                               existed, and the policy that the new one has to name)
    wait_timeout, min_ready_seconds, rollback
    confirm_timeout            seconds to wait for a word from outside before the commit; null when none is needed
    notes                      what was noticed on the way, for people
    result                     of a closed transaction: outcome, reason, proof, times in seconds, log lines
"""

from __future__ import annotations

import base64
import calendar
import contextlib
import dataclasses
import datetime
import errno
import fcntl
import glob
import hashlib
import http.client
import json
import os
import re
import socket
import ssl
import stat
import subprocess
import sys
import time
import typing as t
import urllib.parse

FORMAT = 1
PREPARED, APPLYING, WAITING, CONFIRMING, RESTORING, PROVING, CLOSED = (
    "prepared",
    "applying",
    "waiting",
    "confirming",
    "restoring",
    "proving",
    "closed",
)
# The phases in which the change stands and is not committed yet.
ON_TRIAL = (WAITING, CONFIRMING)
STATIC_POD, SYSTEMD_UNIT = "static_pod", "systemd_unit"
COMMITTED, RESTORED, ABANDONED, UNHEALTHY, ALARM = "committed", "restored", "abandoned", "unhealthy", "alarm"

# A disk that is full, broken or read-only; what else keeps an attribute from being written is no fault of the disk.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)

POLL_SECONDS = 0.25
PROBE_TIMEOUT = 5.0
LOCK_SECONDS = 10.0
HICCUP_SECONDS = 10.0
KEEP_HISTORY = 10
# The exit status that tells systemd not to start the engine again.
STUCK = 3
LOG_LINES = 20
# A restore gets at least this time, however short the user's patience with the change was: a component with watches
# open takes its whole grace period to stop, and the kubelet some time to start it again.
RESTORE_SECONDS = 300
# A kubelet that did nothing about a pod for this long does nothing about it any more: it stops one within its grace period
# (30 s), reads its folder anew every 20 s, looks at each pod every 60 s, and begins its back-off with 10 and 20 s.
QUIET_SECONDS = 90
# What a component gets at least once its kubelet was started anew for it.
REVIVAL_SECONDS = 120
KUBELET = "kubelet.service"
# A component that crashed this often without ever becoming ready does not come up later by waiting.
MAX_CRASHES = 3
# systemd starts a service anew in the same way each time, and a kubelet only every ten seconds.
MAX_UNIT_CRASHES = 2
# For these the kubelet evicts pods.
PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
# An API server has other things to do than to tell four times a second that a Node is ready.
NODE_SECONDS = 1.0
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
PROGRAM_SECONDS = 120
# The file with the id of a transaction that somebody confirmed.
CONFIRMED = "confirmed"
# Behind the name of a file that makes way, and before the id of the transaction.
ASIDE = ".nodecraft-kubeadm-"
# A kubelet describes its whole machine in one line of its log.
LOG_WIDTH = 500
# An engine that itself dies this often in one transaction leaves the decision to a human.
MAX_ATTEMPTS = 5

Json = dict[str, t.Any]
Run = t.Callable[[t.Sequence[str]], tuple[int, str, str]]
Ask = t.Callable[[str, str], tuple[t.Optional[Json], str]]


class EngineError(Exception):
    """The transaction cannot go on by itself; the message says why."""


class ForeignEdit(EngineError):
    """A file holds bytes that are neither the former nor the new ones: somebody else wrote it."""


class Busy(EngineError):
    """Somebody else is at work, and will be done in a while."""


class Damaged(EngineError):
    """A file of ours does not hold what was written. Nothing is guessed from it."""


class OtherFormat(EngineError):
    """A file of ours was written by another version of the collection. It is neither used nor overwritten."""


# ---- files ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def named(path: str) -> t.Iterator[None]:
    """Have every error name the file that was asked for: a write or a sync names none, and nobody knows a temporary name."""
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


def sync_folder(path: str) -> None:
    """Make renames and removals in a folder survive a power loss."""
    with named(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def make_folder(path: str, mode: int = 0o700) -> None:
    """Make a folder, and what is missing above it, so that a power loss takes neither it nor what is written into it.

    One that is there already is synced too: a run that made it may have died before it did so.
    """
    parent = os.path.dirname(path)
    if not os.path.isdir(path):
        if not os.path.isdir(parent):
            make_folder(parent, mode)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, mode)
    sync_folder(path)
    sync_folder(parent)


def write_atomically(
    path: str, content: bytes, *, mode: int, uid: int, gid: int, recheck: t.Callable[[], None] = lambda: None
) -> None:
    """Replace a file so that every reader, at every instant and after a power loss, sees the old or the new bytes.

    The temporary file stands in the same folder (a rename must not cross file systems) under a name with a leading
    dot, because the kubelet takes every other name in its folder for a pod. Extended attributes (ACL, SELinux label)
    of the replaced file are kept. A symbolic link stays and its target is replaced. C(recheck) runs last before the
    rename and stops it by raising.
    """
    real = os.path.realpath(path)
    folder, name = os.path.split(real)
    temporary = os.path.join(folder, f".{name}.nodecraft-kubeadm")
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
        sync_folder(folder)


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
        sync_folder(os.path.dirname(path))


def backups_of(manifest: str) -> list[str]:
    """Files beside a manifest that the kubelet takes for the same pod, such as an editor's backup."""
    folder, own = os.path.split(manifest)
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.startswith(own) and name != own]


def to_json(data: t.Any) -> bytes:
    """The one form in which data of ours is written."""
    return (json.dumps(data, indent=1, sort_keys=True) + "\n").encode("utf-8")


def write_json(path: str, data: t.Any) -> None:
    """Replace a file of ours: 0600, atomically, synced."""
    write_atomically(path, to_json(data), mode=0o600, uid=os.getuid(), gid=os.getgid())


def read_json(path: str) -> t.Any:
    """A JSON file's value; None when it does not exist. Raises Damaged when it is no JSON."""
    content = read_bytes(path)
    if content is None:
        return None
    try:
        return json.loads(content)
    except ValueError as exc:
        raise Damaged(f"{path} is damaged: {exc}") from exc


def named_policy(path: str) -> str | None:
    """The policy that a kubelet's state file was written under, in small letters; None without a file, and empty for one
    that names none. Damaged ones are the kubelet's to judge."""
    try:
        data = read_json(path)
    except (Damaged, OSError):
        return ""
    if data is None:
        return None
    name = data.get("policyName") if isinstance(data, dict) else None
    return name.lower() if isinstance(name, str) else ""


def read_formatted(path: str) -> Json | None:
    """A file of ours that says its format; None when it does not exist. Raises Damaged, and OtherFormat."""
    data = read_json(path)
    if data is None and not os.path.exists(path):
        return None
    found = data.get("format") if isinstance(data, dict) else None
    if not isinstance(found, int):
        raise Damaged(f"{path} is damaged: it says no format")
    if found != FORMAT:
        raise OtherFormat(
            f"{path} has format {found}, which {'a newer' if found > FORMAT else 'an older'} version of nodecraft.kubeadm wrote;"
            f" this version knows {FORMAT}. It is left as it is: go on with the version that wrote it"
        )
    return t.cast(Json, data)


def version_of(content: bytes, mode: int, uid: int, gid: int) -> Json:
    """A file's version as a journal holds it."""
    return {
        "content": base64.b64encode(content).decode("ascii"),
        "sha256": hashlib.sha256(content).hexdigest(),
        "mode": mode,
        "uid": uid,
        "gid": gid,
    }


def content_of(version: Json | None, path: str = "a file") -> bytes | None:
    """The bytes of a version of a file. Raises Damaged when they are: damaged bytes are never written anywhere."""
    if version is None:
        return None
    try:
        content = base64.b64decode(version["content"], validate=True)
    except (ValueError, TypeError) as exc:
        raise Damaged(f"the journal's copy of {path} is damaged: {exc}") from exc
    if hashlib.sha256(content).hexdigest() != version["sha256"]:
        raise Damaged(f"the journal's copy of {path} does not match its checksum")
    return content


def holds(path: str, version: Json | None) -> bool:
    """Whether a file has this version's bytes. One that cannot be read has none that are known."""
    try:
        return read_bytes(path) == content_of(version, path)
    except OSError:
        return False


def is_at(path: str, version: Json | None) -> bool:
    """Whether a file has this version's bytes, mode and owner."""
    if read_bytes(path) != content_of(version, path):
        return False
    if version is None:
        return True
    status = os.stat(path)
    return bool(
        [stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid] == [version[key] for key in ("mode", "uid", "gid")]
    )


@contextlib.contextmanager
def locked(
    folder: str, *, seconds: float, clock: t.Callable[[], float], sleep: t.Callable[[float], None]
) -> t.Iterator[None]:
    """Hold the folder's lock. The kernel releases it when the holder dies. Raises Busy after C(seconds)."""
    descriptor = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
                    raise Busy(f"another process holds {folder}/lock") from exc
                sleep(POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


# ---- journals on the disk --------------------------------------------------------------------------------------------

_CHECKSUM = "sha256"


def copies_of(folder: str, identifier: str | None = None) -> tuple[str, str]:
    """Where the two copies of a journal are: of the open one, or of a closed one by its id."""
    first = os.path.join("history", f"{identifier}.json") if identifier else "journal.json"
    return os.path.join(folder, first), os.path.join(folder, "backup", os.path.basename(first))


def save_journal(folder: str, journal: Json, identifier: str | None = None) -> None:
    """Write both copies of a journal, each with a checksum of the whole. The first one is never older than the second."""
    checksum = hashlib.sha256(to_json(journal)).hexdigest()
    for path in copies_of(folder, identifier):
        if not os.path.isdir(os.path.dirname(path)):
            make_folder(os.path.dirname(path))
        write_json(path, {**journal, _CHECKSUM: checksum})


def load_journal(folder: str, identifier: str | None = None) -> tuple[Json | None, str]:
    """The intact copy of a journal, and what is wrong with its first one when it is the second; None when there is none.

    Raises Damaged when there is a journal but no intact copy, OtherFormat for that of another version of the collection.
    """
    first, second = copies_of(folder, identifier)
    try:
        problem = f"{first} is missing"
        journal = _read_copy(first)
        if journal is not None:
            return journal, ""
    except Damaged as exc:
        problem = str(exc)
    try:
        journal = _read_copy(second)
    except Damaged as exc:
        raise Damaged(f"{problem}, and of its second copy: {exc}") from exc
    if journal is not None:
        return journal, f"{problem}; its second copy {second} was used"
    if os.path.exists(first):
        raise Damaged(f"{problem}, and its second copy {second} is missing")
    return None, ""


def _read_copy(path: str) -> Json | None:
    """One copy, intact as a whole and file by file; None when it is not there. Raises Damaged, and OtherFormat."""
    journal = read_formatted(path)
    if journal is None:
        return None
    checksum = journal.pop(_CHECKSUM, None)
    try:
        for entry in journal["files"]:
            for side in ("before", "after"):
                content_of(entry[side], f"{entry['path']} in {path}")
    except (KeyError, TypeError) as exc:
        raise Damaged(f"{path} is damaged: it is no journal") from exc
    if checksum != hashlib.sha256(to_json(journal)).hexdigest():
        raise Damaged(f"{path} does not match its checksum")
    return journal


def drop_journal(folder: str) -> None:
    """Remove the open journal, which nothing was done for. A second copy never stands alone."""
    for path in reversed(copies_of(folder)):
        remove(path)


def file_journal(folder: str, identifier: str) -> None:
    """Move the open journal to the history. A second copy never stands alone."""
    make_folder(os.path.join(folder, "history"))
    for source, target in reversed(list(zip(copies_of(folder), copies_of(folder, identifier)))):
        with named(target):
            os.rename(source, target)
        sync_folder(os.path.dirname(target))
        sync_folder(os.path.dirname(source))


def history_ids(folder: str) -> list[str]:
    """The ids of closed transactions, oldest first. Ids begin with a time stamp, so their order is theirs in time."""
    names: set[str] = set()
    for room in ("history", "backup"):
        with contextlib.suppress(FileNotFoundError):
            names.update(os.listdir(os.path.join(folder, room)))
    names.discard("journal.json")
    return sorted(name[: -len(".json")] for name in names if name.endswith(".json") and not name.startswith("."))


def last_known_good(folder: str) -> str | None:
    """The id of the newest committed transaction of which an intact copy is there."""
    for identifier in reversed(history_ids(folder)):
        with contextlib.suppress(Damaged, OtherFormat):
            journal, dummy = load_journal(folder, identifier)
            if journal and journal["result"]["outcome"] == COMMITTED:
                return identifier
    return None


def prune_history(folder: str) -> None:
    """Bound the history. The last known good and what another version of the collection wrote stay in any case."""
    good = last_known_good(folder)
    for identifier in history_ids(folder)[:-KEEP_HISTORY]:
        if identifier != good and not _is_of_another_version(folder, identifier):
            for path in reversed(copies_of(folder, identifier)):
                remove(path)


def _is_of_another_version(folder: str, identifier: str) -> bool:
    try:
        load_journal(folder, identifier)
    except OtherFormat:
        return True
    except Damaged:
        pass
    return False


# ---- processes of a static pod ---------------------------------------------------------------------------------------

_CGROUP = re.compile(r"pod(?P<uid>[0-9a-f]{32})(?:\.slice)?/(?:[a-z-]+-)?(?P<container>[0-9a-f]{64})")


@dataclasses.dataclass(frozen=True)
class Process:
    """One process of a component.

    uid: of the instance: a static pod's UID, which the kubelet derives from the manifest's content, or the id that systemd
    gives to each start of a service.
    """

    uid: str
    pid: int
    container_id: str
    arguments: tuple[str, ...]

    def runs(self, expected: t.Sequence[str | None]) -> bool:
        """Whether it runs exactly this command line; None stands for any one argument."""
        return len(expected) == len(self.arguments) and all(
            want in (None, have) for want, have in zip(expected, self.arguments)
        )


@dataclasses.dataclass(frozen=True)
class Host:
    """Where a node keeps what is observed here; other folders in tests."""

    proc: str = "/proc"
    pod_logs: str = "/var/log/pods"

    def pod_folders(self, log_prefix: str) -> dict[str, str]:
        """UID -> log folder of the static pod's instances, running or gone. UIDs of static pods have no dashes."""
        pattern = re.compile(re.escape(log_prefix) + r"([0-9a-f]{32})")
        try:
            names = os.listdir(self.pod_logs)
        except FileNotFoundError:
            return {}
        matches = ((name, pattern.fullmatch(name)) for name in names)
        return {match.group(1): os.path.join(self.pod_logs, name) for name, match in matches if match}

    def processes(self, uids: t.Container[str]) -> list[Process]:
        """The processes in the containers of these pods, without the pod's sandbox."""
        found: list[Process] = []
        for entry in os.listdir(self.proc):
            if not entry.isdigit():
                continue
            # A process may end between two reads; it is then no process of the pod any more.
            with contextlib.suppress(OSError):
                match = _CGROUP.search(self._read(entry, "cgroup"))
                if match and match.group("uid") in uids:
                    arguments = tuple(self._read(entry, "cmdline").split("\0")[:-1])
                    if arguments and os.path.basename(arguments[0]) != "pause":
                        found.append(Process(match.group("uid"), int(entry), match.group("container"), arguments))
        return sorted(found, key=lambda process: process.pid)

    def arguments(self, pid: int) -> tuple[str, ...]:
        """A process's command line; empty when it ended."""
        try:
            return tuple(self._read(str(pid), "cmdline").split("\0")[:-1])
        except OSError:
            return ()

    def _read(self, pid: str, name: str) -> str:
        with open(os.path.join(self.proc, pid, name), encoding="utf-8", errors="surrogateescape") as stream:
            return stream.read()

    def started(self, pid: int) -> float | None:
        """When a process started, in seconds since 1970; None when it ended."""
        try:
            ticks = int(self._read(str(pid), "stat").rpartition(")")[2].split()[19])
            boot = re.search(r"^btime (\d+)", self._read("", "stat"), re.MULTILINE)
        except OSError:
            return None
        return round(int(boot.group(1)) + ticks / os.sysconf("SC_CLK_TCK"), 2) if boot else None

    def log_files(self, folder: str, container: str) -> list[str]:
        """The log files of a container, one for each start, oldest first."""
        try:
            names = os.listdir(os.path.join(folder, container))
        except FileNotFoundError:
            return []
        numbers = sorted(int(name[: -len(".log")]) for name in names if re.fullmatch(r"\d+\.log", name))
        return [os.path.join(folder, container, f"{number}.log") for number in numbers]


def log_tail(path: str, lines: int = LOG_LINES) -> list[str]:
    """The last lines of a container's log, without the runtime's own columns."""
    try:
        with open(path, "rb") as stream:
            stream.seek(max(0, os.path.getsize(path) - 65536))
            text = stream.read().decode("utf-8", "replace")
    except OSError:
        return []
    columns = (line.split(" ", 3) for line in text.splitlines() if line)
    return [column[3] if len(column) == 4 else " ".join(column) for column in columns][-lines:]


def last_words(paths: t.Sequence[str]) -> list[str]:
    """The end of the newest log that is not empty: that of a process which has just been started says nothing yet."""
    tails = (log_tail(path) for path in reversed(paths))
    return next((lines for lines in tails if lines), [])


def hide(text: str, hidden: t.Mapping[str, str]) -> str:
    """A text without values that nobody may read. hidden: value -> what is shown instead."""
    for value in sorted(hidden, key=len, reverse=True):
        text = text.replace(value, hidden[value])
    return text


NODE = Host()


# ---- probes ------------------------------------------------------------------------------------------------------------


def run_probe(probe: Json) -> tuple[bool, str]:
    """Run a probe of the manifest as the kubelet does: with its headers, certificates not verified, 200-399 is success."""
    name = (
        f"{probe['scheme']}://{probe['host']}:{probe['port']}{probe['path']}"
        if probe["kind"] == "http"
        else f"{probe['host']}:{probe['port']}"
    )
    try:
        if probe["kind"] == "tcp":
            socket.create_connection((probe["host"], probe["port"]), timeout=PROBE_TIMEOUT).close()
            return True, name
        status, dummy = http_get(probe, probe["path"], context=_probe_context(probe), headers=probe.get("headers"))
        return 200 <= status < 400, f"{name} answers {status}"
    except (OSError, ValueError, OverflowError, http.client.HTTPException) as exc:
        return False, f"{name}: {exc}"


def http_get(
    address: Json,
    path: str,
    *,
    context: ssl.SSLContext,
    timeout: float = PROBE_TIMEOUT,
    headers: t.Mapping[str, str] | None = None,
) -> tuple[int, bytes]:
    """One GET request. address: scheme, host, port."""
    connection: http.client.HTTPConnection
    if address["scheme"] == "https":
        connection = http.client.HTTPSConnection(address["host"], address["port"], timeout=timeout, context=context)
    else:
        connection = http.client.HTTPConnection(address["host"], address["port"], timeout=timeout)
    try:
        connection.request("GET", path, headers=headers or {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def _probe_context(probe: Json) -> ssl.SSLContext:
    """As the kubelet does, nothing is verified. A member of etcd answers only who has a certificate."""
    context = _unverified()
    if "certificate" in probe:
        context.load_cert_chain(probe["certificate"], probe["key"])
    return context


def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def client_context(kubeconfig: str) -> ssl.SSLContext | None:
    """A TLS context with the client certificate of a kubeconfig that kubeadm wrote; None when it has none.

    A key in the kubeconfig itself never touches a disk: it is handed to OpenSSL through an anonymous file in memory.
    """
    text = (read_bytes(kubeconfig) or b"").decode("utf-8", "replace")
    context = _unverified()
    # A kubelet's certificate is renewed in a file of its own.
    paths = [_field(text, f"client-{part}") for part in ("certificate", "key")]
    if all(paths):
        context.load_cert_chain(t.cast(str, paths[0]), paths[1])
        return context
    parts = [_field(text, f"client-{part}-data") for part in ("certificate", "key")]
    if not all(parts):
        return None
    descriptor = os.memfd_create("client", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, b"\n".join(base64.b64decode(part) for part in parts if part))
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        return context
    finally:
        os.close(descriptor)


def _field(kubeconfig: str, name: str) -> str | None:
    """A field of a kubeconfig with one cluster and one user, as kubeadm and the kubelet write it."""
    match = re.search(rf"^[\s-]*{name}:\s*[\"']?([^\s\"']+)[\"']?\s*$", kubeconfig, re.MULTILINE)
    return match.group(1) if match else None


def api_get(kubeconfig: str, path: str) -> tuple[Json | None, str]:
    """Ask the API server for an object with a node's own credential. None, and why, when it does not give it."""
    text = (read_bytes(kubeconfig) or b"").decode("utf-8", "replace")
    server = urllib.parse.urlsplit(_field(text, "server") or "")
    try:
        context = client_context(kubeconfig)
        if context is None or not server.hostname:
            return None, f"{kubeconfig} names no API server, or holds no client certificate"
        # This certificate goes to nobody else than the cluster's API server.
        context.verify_mode = ssl.CERT_REQUIRED
        context.check_hostname = True
        authority = _field(text, "certificate-authority-data")
        context.load_verify_locations(
            cafile=None if authority else _field(text, "certificate-authority"),
            cadata=base64.b64decode(authority).decode("ascii") if authority else None,
        )
        address = {"scheme": server.scheme, "host": server.hostname, "port": server.port or 443}
        status, body = http_get(address, path, context=context)
        if status != 200:
            return None, f"the API server answers {status}"
        return t.cast(Json, json.loads(body)), ""
    except (OSError, ValueError, OverflowError, TypeError, http.client.HTTPException) as exc:
        return None, f"the API server cannot be asked: {exc}"


# etcd has gates of its own since 3.6.
_GATE_METRIC = re.compile(r'^(?:kubernetes|etcd_server)_feature_enabled\{name="([^"]+)"[^}]*\} ([0-9.]+)', re.MULTILINE)


def read_gates(metrics: Json | None) -> tuple[dict[str, bool] | None, str]:
    """The feature gates that a running component reports in its metrics: gate -> on. None, and why, when unreadable."""
    if metrics is None:
        return None, "the manifest has no HTTP probe, so the address of /metrics is not known"
    try:
        context = client_context(metrics["kubeconfig"])
        if context is None:
            return None, f"{metrics['kubeconfig']} holds no client certificate"
        status, body = http_get(metrics, "/metrics", context=context, timeout=4 * PROBE_TIMEOUT)
    except (OSError, ValueError, OverflowError, http.client.HTTPException) as exc:
        return None, f"/metrics cannot be read: {exc}"
    if status != 200:
        return None, f"/metrics answers {status}"
    return {gate: float(value) > 0 for gate, value in _GATE_METRIC.findall(body.decode("utf-8", "replace"))}, ""


# Somebody who may not read this may do nothing that matters; a path of health is open to everybody.
_GUARDED = "/api/v1/namespaces/kube-system"
_REFUSED = (401, 403)


def admission(client: Json | None) -> int | None:
    """The status with which an API server answers the client of a kubeconfig; None when it does not, or nobody is named.

    client: scheme, host, port, kubeconfig.
    """
    if client is None:
        return None
    try:
        context = client_context(client["kubeconfig"])
        return http_get(client, _GUARDED, context=context)[0] if context else None
    except (OSError, ValueError, OverflowError, http.client.HTTPException):
        return None


# ---- what is seen of a component -------------------------------------------------------------------------------------


class Seen(t.Protocol):
    """One look at a component, of whatever kind.

    process: the wanted one; None while there is none. probes_ok, probes: whether its probes pass, and what each said.
    crashes: how often the wanted instance ended by itself.
    """

    @property
    def process(self) -> Process | None:
        """The process that is wanted, when it is there."""

    @property
    def probes_ok(self) -> bool:
        """Whether all probes pass."""

    @property
    def probes(self) -> tuple[str, ...]:
        """What the probes said."""

    @property
    def crashes(self) -> int:
        """How often it ended since the change took effect."""

    @property
    def healthy(self) -> bool:
        """Whether all is well."""

    @property
    def hopeless(self) -> str:
        """Why to wait any longer would do harm; empty when it would not."""

    @property
    def rest(self) -> int | None:
        """What stays the same as long as nobody starts a component of which no process is left; None when that may be waited for."""

    def missing(self) -> str:
        """What is not as it should be, in words."""


class Watcher(t.Protocol):
    """What the transaction has to know of one kind of component. Everything else of it stands in the journal."""

    max_crashes: int

    def what_runs(self) -> Json:
        """What is remembered of the former instance, to tell the new one from it."""

    def look(self) -> Seen:
        """Look once for the instance that the journal's phase wants."""

    def has_seen_change(self) -> bool:
        """Whether the component may have seen the new files, so that a restore has to be proven on it."""

    def mark(self) -> Json | None:
        """What tells later whether the files were made to take effect; None when that needs no help."""

    def switch(self) -> None:
        """Make the files take effect, unless that happened since the mark. Raises EngineError."""

    def obstacle(self) -> str:
        """Why nobody starts or stops the component, in words; empty when nothing is known of that."""

    def nudge(self) -> None:
        """Remind of the component whoever should start it."""

    def verify(self) -> str | None:
        """What is wrong with an instance that is healthy; None when nothing is."""

    def log(self, sight: Seen) -> list[str]:
        """The component's last words."""

    def proof(self, sight: Seen) -> Json | None:
        """What was seen of it, for the result."""


# Which side of the journal's watch is looked for in which phase.
_WANTED = {PREPARED: "before", WAITING: "after", CONFIRMING: "after", PROVING: "before"}


@dataclasses.dataclass(frozen=True)
class Sight:
    """One look at a static pod.

    process: the process that runs the wanted command line in a pod that may be the wanted one; None when there is none.
    others: processes of other instances of the same pod that still run.
    probes_ok, probes: whether all of the manifest's own probes pass, and what each one said.
    strange: processes of an instance that may be the wanted one, with another command line. For a moment after its start
    that is the container runtime's own.
    starts: how often the wanted instance's container was started; logs: its log files, oldest first.
    """

    process: Process | None
    others: tuple[Process, ...]
    strange: tuple[Process, ...]
    probes_ok: bool
    probes: tuple[str, ...]
    starts: int
    logs: tuple[str, ...]

    @property
    def healthy(self) -> bool:
        """The one criterion: exactly the wanted process, alone, and ready."""
        return self.process is not None and not self.others and self.probes_ok

    @property
    def crashes(self) -> int:
        """How often the wanted instance ended by itself."""
        return max(self.starts - 1, 0)

    @property
    def hopeless(self) -> str:
        """A static pod can always be waited for."""
        return ""

    @property
    def rest(self) -> int | None:
        """How often it was started, when no process of any instance is there."""
        return None if self.process or self.others or self.strange else self.starts

    def missing(self) -> str:
        """What is not as it should be, in words."""
        if self.strange:
            return "starts, or runs with other arguments than its manifest has"
        if self.process is None and self.others:
            return "stops"
        if self.process is None:
            return "is down, waiting for its start" if self.starts == 0 else f"is down after {self.starts} start(s)"
        if self.others:
            return "runs, and the former process as well"
        return "runs, not ready yet"


def look(
    host: Host, watch: Json, wanted: Json, *, acceptable: t.Callable[[str], bool], baseline: t.Mapping[str, int]
) -> Sight:
    """Look at a static pod once.

    wanted: arguments and probes of the instance that should run. acceptable: whether an instance with this UID can be
    the wanted one. baseline: the starts of each UID that happened before, because the kubelet keeps counting when an
    instance with the same UID comes back.
    """
    folders = host.pod_folders(watch["log_prefix"])
    processes = host.processes(folders)
    right = [process for process in processes if acceptable(process.uid) and process.runs(wanted["arguments"])]
    process = right[-1] if right else None
    results = [run_probe(probe) for probe in wanted["probes"] if probe["kind"] in ("http", "tcp")]
    starts, logs = _starts(
        host, {uid: folder for uid, folder in folders.items() if acceptable(uid)}, watch["container"], baseline
    )
    return Sight(
        process=process,
        others=tuple(
            other for other in processes if not acceptable(other.uid) or (process and other.uid != process.uid)
        ),
        strange=() if process else tuple(other for other in processes if acceptable(other.uid)),
        probes_ok=all(ok for ok, dummy in results),
        probes=tuple(text for dummy, text in results),
        starts=starts,
        logs=logs,
    )


def count_starts(host: Host, folder: str, container: str) -> int:
    """How often the kubelet started a container, by the number of its newest log file."""
    logs = host.log_files(folder, container)
    return int(os.path.basename(logs[-1])[: -len(".log")]) + 1 if logs else 0


def _starts(
    host: Host, folders: t.Mapping[str, str], container: str, baseline: t.Mapping[str, int]
) -> tuple[int, tuple[str, ...]]:
    """The new starts among these instances, and the logs of the newest one."""
    fresh = {uid: count_starts(host, folder, container) - baseline.get(uid, 0) for uid, folder in folders.items()}
    logs = {uid: tuple(host.log_files(folders[uid], container)) for uid in fresh if fresh[uid] > 0}
    uid = max(logs, key=lambda uid: _written(logs[uid]), default=None)
    return (0, ()) if uid is None else (fresh[uid], logs[uid])


def _written(logs: t.Sequence[str]) -> int:
    """When the newest of these logs was last written; 0 when it is gone."""
    try:
        return os.stat(logs[-1]).st_mtime_ns
    except (OSError, IndexError):
        return 0


class StaticPodWatcher:
    """A static pod: the kubelet sees its manifest change, and each version of the manifest has a UID of its own."""

    max_crashes = MAX_CRASHES

    def __init__(
        self, journal: Json, host: Host, run: Run, clock: t.Callable[[], float], sleep: t.Callable[[float], None]
    ) -> None:
        self.journal = journal
        self.watch: Json = journal["watch"]
        self.host = host
        self.run = run
        self.clock = clock
        self.sleep = sleep

    def what_runs(self) -> Json:
        """UIDs, how often each was started, and whether it admits the client that must not be locked out."""
        folders = self.host.pod_folders(self.watch["log_prefix"])
        return {
            "admits": admission(self.watch.get("client")) == 200,
            "uids": sorted({process.uid for process in self.host.processes(folders)}),
            "starts": {uid: count_starts(self.host, path, self.watch["container"]) for uid, path in folders.items()},
        }

    def look(self) -> Sight:
        """One look at the pod's processes and probes."""
        phase = self.journal["phase"]
        acceptable = {PREPARED: lambda uid: True, PROVING: self._may_be_former}.get(phase, self._may_be_new)
        return look(
            self.host,
            self.watch,
            self.watch[_WANTED[phase]],
            acceptable=acceptable,
            baseline=self.journal.get("before", {}).get("starts", {}),
        )

    def _may_be_new(self, uid: str) -> bool:
        return uid not in self.journal["before"]["uids"]

    def _may_be_former(self, uid: str) -> bool:
        """A UID is derived from the manifest, so the former bytes bring the former UID back."""
        return not self.journal["before"]["uids"] or uid in self.journal["before"]["uids"]

    def has_seen_change(self) -> bool:
        """The kubelet reads the manifest as soon as it is there."""
        return any(
            entry["switch"] and read_bytes(entry["path"]) == content_of(entry["after"], entry["path"])
            for entry in self.journal["files"]
        )

    def mark(self) -> Json | None:
        """The kubelet needs no help."""
        return None

    def switch(self) -> None:
        """The kubelet does it."""

    def obstacle(self) -> str:
        """A kubelet that does not run."""
        state = self.run(["systemctl", "is-active", KUBELET])[1].strip() or "not known to run"
        return "" if state == "active" else f"{KUBELET} is {state}, and nobody else starts or stops pods"

    def nudge(self) -> None:
        """Start the kubelet anew, which reads all its manifests then. Containers run on meanwhile."""
        self.run(["systemctl", "restart", "--no-block", KUBELET])

    def verify(self) -> str | None:
        """Whether it locks nobody out, and the process itself reports the wanted feature gates."""
        return self._locked_out() or self._wrong_gates()

    def _locked_out(self) -> str | None:
        """No probe says who it is, so an API server that trusts nobody any more passes them all. One that has just been started
        forbids everything until it knows who may do what."""
        if not self.journal["before"].get("admits"):
            return None
        client: Json = self.watch["client"]
        limit = self.clock() + HICCUP_SECONDS
        while True:
            status = admission(client)
            if status not in _REFUSED:
                return None
            if self.clock() >= limit:
                return (
                    f"{self.journal['name']} answers {status} to the client of {client['kubeconfig']}, which it admitted before the"
                    " change"
                )
            self.sleep(POLL_SECONDS)

    def _wrong_gates(self) -> str | None:
        wanted = self.watch.get("feature_gates") or {}
        if not wanted:
            return None
        gates, why = read_gates(self.watch["metrics"])
        if gates is None:
            self.journal["gates_note"] = why
            return None
        self.journal["gates"] = {gate: gates.get(gate) for gate in wanted}
        wrong = [gate for gate, value in wanted.items() if gates.get(gate) != value]
        return f"the running process reports other values than asked for: {', '.join(wrong)}" if wrong else None

    def log(self, sight: Seen) -> list[str]:
        """The end of the newest container's log."""
        return last_words(t.cast(Sight, sight).logs)

    def proof(self, sight: Seen) -> Json | None:
        """The process, its probes and its gates."""
        if sight.process is None:
            return None
        is_new = self._may_be_new(sight.process.uid)
        return {
            "uid": sight.process.uid,
            "pid": sight.process.pid,
            "container_id": sight.process.container_id,
            # The process runs exactly these, with $(VARIABLES) expanded; their values are nobody's business.
            "arguments": self.watch["after" if is_new else "before"]["written"],
            "probes": list(sight.probes),
            "feature_gates": self.journal.get("gates") if is_new else None,
            "feature_gates_note": self.journal.get("gates_note") if is_new else None,
        }


# ---- a systemd unit --------------------------------------------------------------------------------------------------


def run_program(arguments: t.Sequence[str]) -> tuple[int, str, str]:
    """Run a program of the node: (status, output, error). One that hangs is given up."""
    try:
        # Under systemd there is no module whose run_command could be called.
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            list(arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, "LC_ALL": "C"},
            timeout=PROGRAM_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, "", f"no answer within {PROGRAM_SECONDS} s"
    except OSError as exc:
        return 127, "", str(exc)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def _condition(thing: Json, kind: str) -> Json | None:
    """A condition of a Node or a Pod."""
    return next((entry for entry in thing["status"].get("conditions") or [] if entry["type"] == kind), None)


@dataclasses.dataclass(frozen=True)
class UnitSight:
    """One look at a systemd unit.

    state: systemd's own word. strange: the unit runs, but not the wanted command line; of the former instance that is so
    until it stops. node_ok, node: whether the Node object counts as ready, and what was seen of it. hopeless: a shortage for
    which the kubelet evicts pods, and that the node did not have before.
    """

    process: Process | None
    state: str
    strange: bool
    probes_ok: bool
    probes: tuple[str, ...]
    crashes: int
    node_ok: bool
    node: str
    hopeless: str

    @property
    def healthy(self) -> bool:
        """The one criterion: exactly the wanted process, ready, and its Node too."""
        return self.process is not None and self.probes_ok and self.node_ok and not self.hopeless

    @property
    def rest(self) -> int | None:
        """systemd forgets nothing."""
        return None

    def missing(self) -> str:
        """What is not as it should be, in words."""
        if self.strange:
            return "stops or starts, or runs with other arguments than its unit has"
        if self.process is None:
            return f"is {self.state}" + (f" after {self.crashes} crash(es)" if self.crashes else "")
        return f"runs, {self.node}" if self.probes_ok else "runs, not ready yet"


class UnitWatcher:
    """A systemd unit, the kubelet's: it is started anew once, and each start has an id of its own."""

    max_crashes = MAX_UNIT_CRASHES

    def __init__(self, journal: Json, host: Host, run: Run, ask: Ask, clock: t.Callable[[], float]) -> None:
        self.journal = journal
        self.watch: Json = journal["watch"]
        self.host = host
        self.run = run
        self.ask = ask
        self.clock = clock
        self._node: tuple[float, Json | None, str] | None = None
        self._heard_of = ""
        self._former_restarts: int | None = None

    def what_runs(self) -> Json:
        """The id of what runs, whether its Node could be read, and complaints about its configuration that are not ours."""
        invocation = self._show()["InvocationID"]
        return {
            "invocation": invocation,
            "node": self._read_node()[0] is not None,
            "enough": sorted(kind for kind, (status, dummy) in self._pressures().items() if status == "False"),
            "static_pods": sorted(self._ready_static_pods()) if self.watch["has_static_pods"] else [],
            "complaints": self._complaints(invocation),
        }

    def look(self) -> UnitSight:
        """One look at unit, process, probes and Node."""
        shown, phase = self._show(), self.journal["phase"]
        wanted = self.watch[_WANTED[phase]]
        pid, is_active = int(shown["MainPID"] or 0), shown["ActiveState"] == "active"
        found = Process(shown["InvocationID"], pid, "", self.host.arguments(pid)) if pid and is_active else None
        # What runs before the change is taken as it is: its files may have changed since it was started.
        right = found is not None and (
            phase == PREPARED or (self._may_be_wanted(found.uid) and found.runs(wanted["arguments"]))
        )
        process = found if right else None
        results = [run_probe(probe) for probe in wanted["probes"]]
        probes_ok = all(ok for ok, dummy in results)
        node_ok, node = self._judge(process) if process and probes_ok else (False, "")
        return UnitSight(
            process=process,
            state=f"{shown['ActiveState']} ({shown['SubState']})",
            strange=found is not None and process is None,
            probes_ok=probes_ok and process is not None,
            probes=(*(text for dummy, text in results), *([node] if node else [])),
            crashes=self._crashes(shown),
            node_ok=node_ok,
            node=node,
            hopeless=self._new_shortage() if process and phase in ON_TRIAL else "",
        )

    def _judge(self, process: Process) -> tuple[bool, str]:
        """Whether it uses the policies of the change, as its own state files say, and whether its Node is ready."""
        if self.journal["phase"] in ON_TRIAL:
            for entry in self.watch["set_aside"]:
                found = named_policy(entry["path"])
                if found != entry["policy"]:
                    return False, f"{entry['path']} names {found or 'no policy'}, not {entry['policy']}"
        return self._judge_node(process)

    def _may_be_wanted(self, invocation: str) -> bool:
        """A former instance that was never stopped is what a restore wants; otherwise another one than the marked."""
        if self.journal["phase"] == PROVING and invocation == self.journal["before"]["invocation"]:
            return True
        return bool(invocation != self._marked("invocation"))

    def _show(self) -> dict[str, str]:
        names = ("ActiveState", "SubState", "MainPID", "InvocationID", "NRestarts")
        status, output, error = self.run(["systemctl", "show", f"--property={','.join(names)}", self.watch["unit"]])
        shown = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
        if status != 0 or not shown:
            # systemd is busy reloading itself: there is nothing to be seen at this moment.
            shown = {"ActiveState": "unknown", "SubState": error.strip() or "no answer"}
        return {**dict.fromkeys(names, ""), **shown}

    def _marked(self, key: str) -> t.Any:
        return (self.journal.get("mark") or {}).get(key)

    def _crashes(self, shown: t.Mapping[str, str]) -> int:
        """systemd counts its own starts. What it had counted when the new instance was first seen is not this one's."""
        if shown["InvocationID"] == self._marked("invocation"):
            return 0
        count = int(shown["NRestarts"] or 0)
        self._former_restarts = count if self._former_restarts is None else min(count, self._former_restarts)
        waits = 1 if shown["SubState"] == "auto-restart" or shown["ActiveState"] == "failed" else 0
        return count - self._former_restarts + waits

    # -- the Node ------------------------------------------------------------------------------------------------------

    def _judge_node(self, process: Process) -> tuple[bool, str]:
        """Whether the Node is ready, by a word of this process.

        Where the API server could be asked before the change it must be possible after it. It may be this very change
        that made it impossible; but an outage of the API server that was there before, or came while the former files
        are proven, is not the kubelet's.
        """
        node, why = self._read_node()
        phase = self.journal["phase"]
        if node is None:
            return phase not in ON_TRIAL or not self.journal["before"]["node"], f"its Node is not known ({why})"
        ready = _condition(node, "Ready")
        if ready is None or ready["status"] != "True":
            return False, f"its Node is not ready ({(ready or {}).get('message', 'no condition')})"
        if phase != PREPARED and process.uid != self.journal["before"]["invocation"] and not self._is_heard_of(process):
            return False, "its Node is ready by the word of the former process only"
        if phase != PREPARED and self.journal["before"]["static_pods"]:
            # A setting that changes a pod's defaults gives every static pod another UID: then all of them start anew, and
            # with them a member of etcd. The next node must not have its turn before they are back.
            missing = sorted(set(self.journal["before"]["static_pods"]) - self._ready_static_pods())
            if missing:
                return False, f"its static pods are not ready yet ({', '.join(missing)})"
        return True, "its Node is ready"

    def _new_shortage(self) -> str:
        """A threshold of eviction that the change made too high ends every pod of the node within seconds, and the Node stays ready.
        What was not known before the change may be older than it."""
        short = {kind: words for kind, (status, words) in self._pressures().items() if status == "True"}
        found = ", ".join(
            f"{kind} ({words})" for kind, words in short.items() if kind in self.journal["before"]["enough"]
        )
        return f"evicts pods, because with this change its Node reports {found}" if found else ""

    def _pressures(self) -> dict[str, tuple[str, str]]:
        """What the kubelet itself says of shortages: condition -> status and message."""
        node = self._read_node()[0] or {}
        return {
            condition["type"]: (condition["status"], condition.get("message", ""))
            for condition in node.get("status", {}).get("conditions") or []
            if condition["type"] in PRESSURES
        }

    def _ready_static_pods(self) -> set[str]:
        """The static pods of this node that are ready, by what the API server knows of them."""
        path = f"/api/v1/pods?fieldSelector=spec.nodeName%3D{self.watch['node']['name']}"
        found, dummy = self.ask(self.watch["node"]["kubeconfig"], path)
        return {
            pod["metadata"]["name"]
            for pod in (found or {}).get("items", [])
            if "kubernetes.io/config.mirror" in (pod["metadata"].get("annotations") or {})
            and (_condition(pod, "Ready") or {}).get("status") == "True"
        }

    def _is_heard_of(self, process: Process) -> bool:
        """Whether this process told the API server that it lives. It renews its Lease as soon as it runs; the conditions of
        its Node it writes only when they change, and every five minutes."""
        if self._heard_of == process.uid:
            return True
        renewed = self._renewed()
        if renewed is None or renewed == self._marked("renewed"):
            return False
        # Both clocks are this node's; the beginning of the one is known to a second.
        began = calendar.timegm(time.strptime(renewed[:19], "%Y-%m-%dT%H:%M:%S"))
        if began < (self.host.started(process.pid) or 0.0) - 1:
            return False
        self._heard_of = process.uid
        return True

    def _renewed(self) -> str | None:
        """When the Node's Lease was renewed."""
        node = self.watch["node"]
        lease, dummy = self.ask(node["kubeconfig"], f"{LEASES}/{node['name']}")
        return t.cast(t.Optional[str], lease["spec"].get("renewTime")) if lease else None

    def _read_node(self) -> tuple[Json | None, str]:
        if self._node is None or self.clock() - self._node[0] >= NODE_SECONDS:
            node = self.watch["node"]
            found = self.ask(node["kubeconfig"], f"/api/v1/nodes/{node['name']}")
            self._node = (self.clock(), *found)
        return self._node[1], self._node[2]

    # -- the change ----------------------------------------------------------------------------------------------------

    def has_seen_change(self) -> bool:
        """It reads its files when it is started, and is started after the mark is set."""
        return self.journal.get("mark") is not None

    def mark(self) -> Json | None:
        """The instance that has to go."""
        shown = self._show()
        return {
            "invocation": shown["InvocationID"],
            "renewed": self._renewed(),
        }

    def switch(self) -> None:
        """Start the unit anew, once: an engine that died after it had done so finds another instance than the marked one."""
        shown = self._show()
        is_other = shown["ActiveState"] == "active" and shown["InvocationID"] != self._marked("invocation")
        if is_other and self._runs_as_wanted(shown) and self._have_made_way():
            return
        self._systemctl("daemon-reload")
        is_former = shown["InvocationID"] == self.journal["before"]["invocation"]
        if self.journal["phase"] == RESTORING and shown["ActiveState"] == "active" and is_former:
            return  # it was never stopped
        if not self.watch["set_aside"]:
            self._systemctl("restart", "--no-block", self.watch["unit"])
            return
        # It writes these files whenever it likes as long as it runs, and reads them only when it starts.
        self._systemctl("stop", self.watch["unit"])
        for entry in self.watch["set_aside"]:
            if self.journal["phase"] == APPLYING:
                self._set_aside(entry["path"], entry["aside"], entry["existed"])
            else:
                self._bring_back(entry["path"], entry["aside"], entry["existed"])
        self._systemctl("start", "--no-block", self.watch["unit"])

    def _systemctl(self, *arguments: str) -> None:
        status, dummy, error = self.run(["systemctl", *arguments])
        if status != 0:
            raise EngineError(f"systemctl {' '.join(arguments)} failed: {error.strip()}")

    # Somebody else may have started it meanwhile, systemd after a crash or the node after a reboot: then from the unit as it was
    # loaded, and over the state files that were there.

    def _runs_as_wanted(self, shown: t.Mapping[str, str]) -> bool:
        """Whether what runs has the arguments that the journal's phase wants."""
        pid = int(shown["MainPID"] or 0)
        wanted = self.watch["after" if self.journal["phase"] == APPLYING else "before"]
        return Process(shown["InvocationID"], pid, "", self.host.arguments(pid)).runs(wanted["arguments"])

    def _have_made_way(self) -> bool:
        """Whether the state files are where the journal's phase wants them."""
        away = self.journal["phase"] == APPLYING
        return all(os.path.lexists(entry["aside"]) is away for entry in self.watch["set_aside"] if entry["existed"])

    @staticmethod
    def _set_aside(path: str, aside: str, existed: bool) -> None:
        # Moved and not copied into the journal: it needs no space, keeps all that a file has, and what is moved is what the
        # stopped component left, not what it said when the journal was written.
        if existed and not os.path.lexists(aside):
            for older in glob.glob(f"{glob.escape(path + ASIDE)}*"):
                remove(older)  # of an earlier transaction; one copy is kept
            with contextlib.suppress(FileNotFoundError):
                os.rename(path, aside)
        sync_folder(os.path.dirname(path))

    @staticmethod
    def _bring_back(path: str, aside: str, existed: bool) -> None:
        if not existed:
            remove(path)
        elif os.path.lexists(aside):
            os.replace(aside, path)
        sync_folder(os.path.dirname(path))

    def obstacle(self) -> str:
        """What keeps a unit from its work is seen by looking at it."""
        return ""

    def nudge(self) -> None:
        """systemd needs none."""

    # -- the end -------------------------------------------------------------------------------------------------------

    def verify(self) -> str | None:
        """Whether it read its configuration without passing over mistakes. What it complained of before is not ours."""
        former = [*self.journal["before"]["complaints"], *self.watch["complaints"]]
        found = [line for line in self._complaints(self._show()["InvocationID"]) if line not in former]
        return f"it passed over mistakes in its configuration: {'; '.join(found)}" if found else None

    def _complaints(self, invocation: str) -> list[str]:
        output = self.run(["journalctl", "--output=cat", "--no-pager", f"_SYSTEMD_INVOCATION_ID={invocation}"])[1]
        return sorted(set(re.findall(r"strict decoding error: [^\n]*", output)))

    def log(self, sight: Seen) -> list[str]:
        """The unit's last lines, which are those of a process that may be gone."""
        output = self.run(
            ["journalctl", "--output=cat", "--no-pager", f"--lines={LOG_LINES}", f"_SYSTEMD_UNIT={self.watch['unit']}"]
        )[1]
        return [line[:LOG_WIDTH] for line in output.splitlines()]

    def proof(self, sight: Seen) -> Json | None:
        """The process, its probes and its Node."""
        if sight.process is None:
            return None
        return {
            "uid": sight.process.uid,
            "pid": sight.process.pid,
            "arguments": list(sight.process.arguments),
            "probes": list(sight.probes),
        }


# ---- the transaction -------------------------------------------------------------------------------------------------


def boot_id() -> str:
    """What tells one start of this machine from another."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
        return stream.read().strip()


def utc_now() -> str:
    """The wall clock, for people. Deadlines never use it."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Engine:
    """Takes one journal to its end."""

    def __init__(
        self,
        folder: str,
        *,
        host: Host = NODE,
        clock: t.Callable[[], float] = time.monotonic,
        sleep: t.Callable[[float], None] = time.sleep,
        run: Run = run_program,
        ask: Ask = api_get,
    ) -> None:
        self.folder = folder
        self.host = host
        self.run_program = run
        self.ask = ask
        self.clock = clock
        self.sleep = sleep
        self.journal: Json = {}
        self.watcher: Watcher
        self._progress: tuple[str, str] = ("", "")
        # Since when nothing at all happens to a component that is not there.
        self._quiet: tuple[int | None, float] = (None, 0.0)

    def path(self, *names: str) -> str:
        """A path in the transaction's folder."""
        return os.path.join(self.folder, *names)

    def run(self) -> int:
        """Finish the open transaction, if there is one. Returns 0 when none is open any more."""
        with locked(self.folder, seconds=LOCK_SECONDS, clock=self.clock, sleep=self.sleep):
            journal, problem = load_journal(self.folder)
            if journal is None:
                return 0
            self.journal = journal
            self.watcher = self._watcher()
            self._note(problem)
            self._begin_attempt()
            while self.journal["phase"] != CLOSED:
                self._PHASES[self.journal["phase"]](self)
            self._file_away()
            return 0

    def _watcher(self) -> Watcher:
        """The watcher for the kind of component that the journal is about."""
        kind = self.journal["watch"].get("kind", STATIC_POD)
        if kind == STATIC_POD:
            return StaticPodWatcher(self.journal, self.host, self.run_program, self.clock, self.sleep)
        if kind == SYSTEMD_UNIT:
            return UnitWatcher(self.journal, self.host, self.run_program, self.ask, self.clock)
        raise EngineError(f"{self.path('journal.json')} is about a {kind}, which this engine does not know")

    def _begin_attempt(self) -> None:
        self.journal["attempts"] = self.journal.get("attempts", 0) + 1
        boot = boot_id()
        if self.journal.get("boot", boot) != boot and self.journal["phase"] == PREPARED:
            self._close(
                ABANDONED, "the node was started anew before the change began, and nobody waits for it any more"
            )
        if self.journal.get("boot") != boot:
            # The monotonic clock started anew: times from before a reboot mean nothing.
            self.journal.update(boot=boot, deadline=None, times={})
            if self.journal["phase"] == CONFIRMING:
                # What was healthy before has to show that it is after it, too. A word that was given stays given.
                self.journal["phase"] = WAITING
        if self.journal["attempts"] > MAX_ATTEMPTS and self.journal["phase"] != CLOSED:
            self._close(
                ALARM,
                f"the engine was started {MAX_ATTEMPTS} times and never finished; the files were left as they are",
            )
        self._save()

    def _save(self, **changes: t.Any) -> None:
        """Keep the journal. Once the change has begun, a full or broken disk must not keep an engine from ending it: all
        that a restore needs is on the disk already, and one that dies now comes to the same end by an older journal."""
        self.journal.update(changes)
        try:
            save_journal(self.folder, self.journal)
        except OSError:
            if self.journal["phase"] == PREPARED or "before" not in self.journal:
                raise

    def _note(self, text: str) -> None:
        """Keep what people should know of the way, whatever its end is."""
        notes = self.journal.setdefault("notes", [])
        if text and text not in notes:
            notes.append(text)

    def _say(self, message: str) -> None:
        """Tell followers where we are. Not synced: it is news, not state."""
        if (self.journal["phase"], message) != self._progress:
            self._progress = (self.journal["phase"], message)
            news = {"id": self.journal["id"], "phase": self.journal["phase"], "message": message, "clock": self.clock()}
            temporary = self.path(".progress.json")
            try:
                with open(temporary, "w", encoding="utf-8") as stream:
                    json.dump(news, stream)
                os.rename(temporary, self.path("progress.json"))
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)

    # -- phases --------------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Look at what runs before anything changes: what a failed change must come back to."""
        before = {"healthy": self._is_healthy_before(), **self.watcher.what_runs()}
        self._time("began")
        self._save(phase=APPLYING, before=before)

    def _is_healthy_before(self) -> bool:
        """Whether the component is healthy now. One failed probe of a busy node does not mean that it is not."""
        limit = self.clock() + HICCUP_SECONDS
        while not self.watcher.look().healthy:
            if self.clock() >= limit:
                return False
            self.sleep(POLL_SECONDS)
        return True

    def _apply(self) -> None:
        try:
            for folder in self.journal["directories"]:
                make_folder(folder)
            for entry in self._ordered("after"):
                self._put(entry, "before", "after")
        except (OSError, EngineError) as exc:
            self._begin_restore(f"a file could not be written: {exc}")
            return
        try:
            self._switch()
        except (OSError, EngineError) as exc:
            self._begin_restore(str(exc))
            return
        self._time("switched")
        self._save(phase=WAITING)

    def _switch(self) -> None:
        """Make the files take effect. The mark is on disk before, so that it happens once even if this engine dies."""
        if self.journal.get("mark") is None:
            self._save(mark=self.watcher.mark())
        self.watcher.switch()

    def _ordered(self, side: str) -> list[Json]:
        """The order that never lets the component see a manifest whose files are missing."""

        def rank(entry: Json) -> int:
            if entry["switch"]:
                return 1
            # A full disk of ours must not keep the component's own files from being put back.
            is_record = os.path.dirname(entry["path"]) == self.folder
            return 2 if entry[side] is None or (is_record and side == "before") else 0

        return sorted(self.journal["files"], key=rank)

    def _put(self, entry: Json, expected: str, wanted: str) -> None:
        """Bring one file from one version to the other; it may be there already. Raises ForeignEdit for a third one."""
        path = entry["path"]
        old, new = content_of(entry[expected], path), content_of(entry[wanted], path)

        def recheck() -> None:
            if read_bytes(path) != old:
                raise ForeignEdit(f"{path} was changed by someone else in the meantime")

        if is_at(path, entry[wanted]):
            return
        recheck()
        if new is None:
            remove(path)
        else:
            version = entry[wanted]
            write_atomically(path, new, mode=version["mode"], uid=version["uid"], gid=version["gid"], recheck=recheck)

    def _wait(self) -> None:
        failure, sight = self._watch_until_healthy()
        failure = failure or self.watcher.verify() or self._edited()
        if failure is not None:
            self._fail(failure, sight)
        elif self.journal.get("confirm_timeout") is not None:
            self._save(phase=CONFIRMING, deadline=self.clock() + self.journal["confirm_timeout"])
        else:
            self._close(COMMITTED, None, sight)

    def _confirm(self) -> None:
        """Wait for a word from outside: what is healthy on this node may be out of reach for everybody else."""
        self._say("is healthy, waits to be confirmed from outside")
        while True:
            sight = self.watcher.look()
            self._measure(sight)
            failure = self._edited()
            if failure is None and sight.healthy and self._is_confirmed():
                self._close(COMMITTED, None, sight)
                return
            if failure is None and self.clock() >= self.journal["deadline"]:
                failure = f"nobody confirmed within {self.journal['confirm_timeout']} s that it is within reach"
                if not sight.healthy:
                    failure = (
                        f"{self.journal['name']} {sight.missing()} after it was healthy ({'; '.join(sight.probes)})"
                    )
            if failure is not None:
                self._fail(failure, sight)
                return
            self.sleep(POLL_SECONDS)

    def _is_confirmed(self) -> bool:
        """Whether the word is there; it names this transaction."""
        try:
            return (read_bytes(self.path(CONFIRMED)) or b"").strip() == str(self.journal["id"]).encode("ascii")
        except OSError:
            return False

    def _fail(self, failure: str, sight: Seen) -> None:
        """Take back what is not committed. What somebody else wrote is for a restore to judge, also without rollback."""
        if not sight.healthy or self.journal["phase"] == WAITING:
            # What a component says that only lacks a word from outside is no reason.
            self.journal["log"] = self.watcher.log(sight)
        if self.journal["rollback"] or self._foreign():
            self._begin_restore(failure)
        else:
            self._close(UNHEALTHY, failure, sight)

    def _edited(self) -> str | None:
        """What somebody else did to our files, in words. Whoever reads them may not have done so yet."""
        side = "before" if self.journal["phase"] == PROVING else "after"
        found = [entry["path"] for entry in self.journal["files"] if not holds(entry["path"], entry[side])]
        return (
            f"{', '.join(found)} was changed by someone else while {self.journal['name']} was watched"
            if found
            else None
        )

    def _foreign(self) -> list[str]:
        """The files that hold neither the former nor the new bytes."""
        return [
            entry["path"]
            for entry in self.journal["files"]
            if not any(holds(entry["path"], entry[side]) for side in ("before", "after"))
        ]

    def _begin_restore(self, reason: str) -> None:
        """Note, before the first file goes back, whether the component has seen the change: it must be proven then."""
        switched = self.journal["phase"] in ON_TRIAL or self.watcher.has_seen_change()
        self._save(phase=RESTORING, reason=reason, switched=switched, deadline=None, mark=None)

    def _restore(self) -> None:
        self._say("did not become healthy, the former files are put back")
        foreign = self._foreign()
        if foreign and self.journal["switched"]:
            self._close(
                ALARM,
                f"{self.journal['reason']}; nothing was put back, because someone else changed {', '.join(foreign)}",
            )
            return
        failure = self._put_back([entry for entry in self._ordered("before") if entry["path"] not in foreign])
        if failure:
            self._close(ALARM, f"{self.journal['reason']}; the former files could not be put back: {failure}")
            return
        for folder in reversed(self.journal["directories"]):
            with contextlib.suppress(OSError):  # it was never made, or someone else uses it by now
                os.rmdir(folder)
        if self.journal["switched"]:
            # What cannot be switched back is found by the proof.
            self._persist(self._switch)
            self._save(phase=PROVING)
        else:
            self._close(ABANDONED, self.journal["reason"])

    def _put_back(self, entries: list[Json]) -> str | None:
        """Bring files back to their former versions. Returns why it did not work."""

        def put() -> None:
            for entry in entries:
                self._put(entry, "after", "before")

        return self._persist(put)

    def _persist(self, action: t.Callable[[], None]) -> str | None:
        """Do a part of a restore, trying as long as that may take: a full disk may get space, a read-only one be mounted
        anew. Returns why it did not work."""
        limit = self.clock() + RESTORE_SECONDS
        while True:
            try:
                action()
                return None
            except OSError as exc:
                if self.clock() >= limit:
                    return str(exc)
                self._say(f"cannot be restored yet: {exc}")
            except EngineError as exc:
                return str(exc)
            self.sleep(POLL_SECONDS)

    def _prove(self) -> None:
        failure, sight = self._watch_until_healthy()
        edited = self._edited()
        if edited is None and (failure is None or not self.journal["before"]["healthy"]):
            # What was broken before need not be healthy now: it is as it was.
            self._close(RESTORED, self.journal["reason"], sight)
        else:
            failure = edited or failure
            self._close(ALARM, f"{self.journal['reason']}; the former files were put back, but {failure}", sight)

    _PHASES: t.ClassVar[dict[str, t.Callable[[Engine], None]]] = {
        PREPARED: _prepare,
        APPLYING: _apply,
        WAITING: _wait,
        CONFIRMING: _confirm,
        RESTORING: _restore,
        PROVING: _prove,
    }

    # -- waiting -------------------------------------------------------------------------------------------------------

    def _watch_until_healthy(self) -> tuple[str | None, Seen]:
        """Watch until the wanted instance was healthy for min_ready_seconds without a break.

        Returns why not (None: it was), and the last look. The time limit is for becoming healthy; the seconds of
        proving come on top.
        """
        if self.journal.get("deadline") is None:
            self._save(deadline=self.clock() + self._patience())
        ready_since: float | None = None
        identity: Process | None = None
        while True:
            sight = self.watcher.look()
            now = self.clock()
            self._measure(sight)
            edited = self._edited()
            if edited is not None:
                return edited, sight
            if not sight.healthy:
                ready_since = None
            elif ready_since is None or sight.process != identity:
                ready_since = now
            identity = sight.process
            if ready_since is not None:
                self._say(f"is healthy, watched for {self.journal['min_ready_seconds']} s")
                left = ready_since + self.journal["min_ready_seconds"] - now
                if left <= 0:
                    return None, sight
                self.sleep(min(POLL_SECONDS, left))
            else:
                failure = self._given_up(sight, now)
                if failure:
                    return failure, sight
                self._say(sight.missing())
                self._nudge(sight, now)
                self.sleep(POLL_SECONDS)

    def _nudge(self, sight: Seen, now: float) -> None:
        """After a restart of the node a kubelet was seen not to start a pod whose manifest had been put back meanwhile. What
        was healthy before and is not started at all gets one reminder; what crashes is in the kubelet's hands."""
        if self.journal["phase"] != PROVING or self.journal.get("nudged") or not self.journal["before"]["healthy"]:
            return
        if sight.rest is None or sight.rest != self._quiet[0]:
            self._quiet = (sight.rest, now)
        if now - self._quiet[1] < QUIET_SECONDS:
            return
        self._quiet = (sight.rest, now)
        if not self.watcher.obstacle():
            self._note(
                f"{KUBELET} was started anew, because it did not start {self.journal['name']} for {QUIET_SECONDS} s"
            )
            self._save(nudged=True, deadline=max(self.journal["deadline"], now + REVIVAL_SECONDS))
            self.watcher.nudge()

    def _patience(self) -> float:
        """Seconds for becoming healthy."""
        wanted = float(self.journal["wait_timeout"])
        restores = self.journal["phase"] == PROVING and self.journal["before"]["healthy"]
        return max(wanted, RESTORE_SECONDS) if restores else wanted

    def _given_up(self, sight: Seen, now: float) -> str | None:
        name = self.journal["name"]
        if sight.hopeless:
            return f"{name} {sight.hopeless}"
        never_ready = self.journal["phase"] == WAITING and WAITING not in self.journal["times"]
        if never_ready and sight.crashes >= self.watcher.max_crashes:
            return f"{name} crashed {sight.crashes} times and was never ready"
        if now < self.journal["deadline"]:
            return None
        return (
            f"{name} was not healthy within {self._patience():.0f} s: it {sight.missing()} ({'; '.join(sight.probes)})"
            f"{self._backups()}{self._obstacle()}"
        )

    def _obstacle(self) -> str:
        found = self.watcher.obstacle()
        return f"; {found}" if found else ""

    def _backups(self) -> str:
        found = [path for entry in self.journal["files"] if entry["switch"] for path in backups_of(entry["path"])]
        return f"; the kubelet also reads {', '.join(found)}: move it out of the folder" if found else ""

    def _time(self, event: str) -> None:
        """Note when an event happened first, by the monotonic clock."""
        if event not in self.journal["times"]:
            self.journal["times"][event] = self.clock()
            self._save()

    def _measure(self, sight: Seen) -> None:
        """Note when the probes failed first after the switch, when they passed again, and when all was well."""
        times = self.journal["times"]
        if not sight.probes_ok:
            self._time("down")
            times.pop("up", None)
        elif "down" in times:
            self._time("up")
        if sight.healthy:
            self._time(self.journal["phase"])

    # -- the end -------------------------------------------------------------------------------------------------------

    def _close(self, outcome: str, reason: str | None, sight: Seen | None = None) -> None:
        times, now, phase = self.journal["times"], self.clock(), self.journal["phase"]
        result = {
            "outcome": outcome,
            "reason": reason,
            "healthy": sight.healthy if sight else None,
            "ended": utc_now(),
            "seconds": _span(times.get("began"), now),
            "restart_seconds": _span(times.get("switched"), times.get(WAITING if phase in ON_TRIAL else phase)),
            "outage_seconds": _span(times.get("down"), times.get("up", now)) or 0.0,
            "proof": self.watcher.proof(sight) if sight else None,
            "confirmed": None if self.journal.get("confirm_timeout") is None else self._is_confirmed(),
            "notes": self.journal.get("notes", []),
            "log": [hide(line, self.journal["watch"].get("hidden", {})) for line in self.journal.get("log", [])],
        }
        self.journal.update(phase=CLOSED, result=result)
        if outcome == COMMITTED:
            for folder in self.journal.get("obsolete", []):
                with contextlib.suppress(OSError):  # somebody else uses it by now
                    os.rmdir(folder)

    def _file_away(self) -> None:
        """Move the closed journal to the history, which keeps the last ones and always the last known good."""
        self._insist()
        # As long as the journal is open, a killed engine is followed by one that says it again.
        self._say(self.journal["result"]["outcome"])
        file_journal(self.folder, self.journal["id"])
        with contextlib.suppress(OSError):  # it names a transaction that is over
            remove(self.path(CONFIRMED))
        prune_history(self.folder)

    def _insist(self) -> None:
        """Keep the outcome, however long the disk is full: nobody could tell it otherwise."""
        limit = self.clock() + RESTORE_SECONDS
        while True:
            try:
                save_journal(self.folder, self.journal)
                return
            except OSError:
                if self.clock() >= limit:
                    raise
            self.sleep(POLL_SECONDS)


def _span(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else round(end - start, 2)


def main(arguments: t.Sequence[str]) -> int:
    """Finish the open transaction of a folder; for systemd."""
    if len(arguments) != 2:
        sys.stderr.write("usage: engine.py FOLDER\n")
        return 2
    try:
        return Engine(arguments[1]).run()
    except Busy as exc:  # systemd tries again
        sys.stderr.write(f"{arguments[1]}: {exc}\n")
        return 1
    except EngineError as exc:  # trying again would find the same
        sys.stderr.write(f"{arguments[1]}: {exc}\n")
        return STUCK
    except OSError as exc:
        sys.stderr.write(f"{arguments[1]}: {exc}\n")
        return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv))

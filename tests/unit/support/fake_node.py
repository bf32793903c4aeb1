# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node in a directory: a kubelet that runs one static pod, processes, logs, and time that passes only when one sleeps."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import functools
import hashlib
import json
import os
import shutil
import struct
import typing as t
from pathlib import Path

import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import FORMAT, Json, read_bytes, read_json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    PREPARED,
    StoredVersion,
    history_ids,
    load_journal,
    save_journal,
    version_of,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import KUBELET, Host
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.transaction import Engine
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import Web

NAME = "kube-apiserver"
NODE = "cp1"
TRANSACTION_ID = "20260101T000000.000000Z-abcdef"
LOG_PREFIX = f"kube-system_{NAME}-{NODE}_"
MIRROR = f"/api/v1/namespaces/kube-system/pods/{NAME}-{NODE}"


def pod(*arguments: str) -> str:
    """A manifest with these flags."""
    items = "".join(f"    - {argument}\n" for argument in (NAME, *arguments))
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: {NAME}\n  namespace: kube-system\n"
        f"spec:\n  containers:\n  - command:\n{items}    image: registry.k8s.io/{NAME}:v1.37.2\n    name: {NAME}\n"
    )


OLD = pod("--v=1")
NEW = pod("--v=2")
FOREIGN = pod("--v=3")


class Clock:
    """Monotonic time. Each of C(watchers) is called after each sleep. pace: how much longer a sleep takes."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.pace = 1.0
        self.watchers: list[t.Callable[[], None]] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds * self.pace
        for watcher in self.watchers:
            watcher()


# ---- what the kubelet would see --------------------------------------------------------------------------------------

_IN_MODIFY, _IN_MOVED_FROM, _IN_MOVED_TO, _IN_CREATE, _IN_DELETE = 0x2, 0x40, 0x80, 0x100, 0x200
_WATCHED = _IN_MODIFY | _IN_MOVED_FROM | _IN_MOVED_TO | _IN_CREATE | _IN_DELETE
_EVENT = struct.Struct("iIII")
_libc = ctypes.CDLL(None, use_errno=True)


class DirectoryWatcher:
    """Every change of a directory's entries, as the kernel reports it to the kubelet."""

    def __init__(self, directory: Path) -> None:
        self._descriptor = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self._descriptor >= 0
        assert _libc.inotify_add_watch(self._descriptor, os.fsencode(directory), _WATCHED) >= 0

    def events(self) -> list[tuple[str, int]]:
        """The (name, kind) of each change since the last call."""
        found: list[tuple[str, int]] = []
        with contextlib.suppress(BlockingIOError):
            while True:
                data = os.read(self._descriptor, 65536)
                while data:
                    dummy, kind, dummy, length = _EVENT.unpack_from(data)
                    name = data[_EVENT.size : _EVENT.size + length].rstrip(b"\0")
                    found.append((os.fsdecode(name), kind & _WATCHED))
                    data = data[_EVENT.size + length :]
        return found

    def close(self) -> None:
        """Stop watching."""
        os.close(self._descriptor)


# ---- the kubelet -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Behaviour:
    """How an instance of the component behaves; times in seconds.

    stop: until it ends when it is stopped. start: from the end of the former one to its process. ready: from the process to
    the first healthy response (None: never). alive: until it dies by itself (None: it lives). back_off: until it is started
    again then. log: its lines. unready: from when to when, since its start, it is unhealthy.
    """

    stop: float = 2.0
    start: float = 3.0
    ready: float | None = 1.0
    alive: float | None = None
    back_off: float = 2.0
    log: tuple[str, ...] = ("I1 started",)
    unready: tuple[float, float] | None = None


@dataclasses.dataclass
class _Instance:
    uid: str
    pid: int
    started: float
    behaviour: Behaviour
    stops: float | None = None


@functools.lru_cache
def instance_of(content: bytes, path: str) -> tuple[str, tuple[str, ...]]:
    """The UID and the arguments that a manifest gives a pod; empty when it is none. A kubelet reads it often."""
    try:
        data = yaml.safe_load(content)
        arguments = tuple(data["spec"]["containers"][0]["command"])
    except (yaml.YAMLError, TypeError, KeyError):
        return "", ()
    text = json.dumps(data, sort_keys=True) + path
    return hashlib.sha256(text.encode()).hexdigest()[:32], arguments


class Kubelet:
    """Runs the pod of one manifest: its UID comes from the content, its log directory and process from the UID."""

    def __init__(self, node: FakeNode) -> None:
        self.node = node
        self.behaviours: dict[str, Behaviour] = {}
        self.instances: list[_Instance] = []
        # When which UID is due: another manifest does not wait for the former one's back-off.
        self.due: tuple[str, float] | None = None
        self.next_pid = 100
        self.starts: dict[str, int] = {}
        self.enabled = True
        # The kubelet's state in systemd, and whether a restart repairs it.
        self.state = "active"
        self.recovers = True
        self.restarts = 0
        # What it logged, and what it reports of the pod at the API.
        self.log = ""
        # How long after an API server is ready it reports that one.
        self.reports_after = 0.5

    def systemctl(self, arguments: t.Sequence[str]) -> tuple[int, str, str]:
        """The calls of systemctl that the engine may make."""
        if list(arguments) == ["systemctl", "restart", "--no-block", KUBELET]:
            self.restarts += 1
            self.enabled = self.recovers
            return 0, "", ""
        if arguments[0] == "journalctl":
            return 0, self.log, ""
        assert list(arguments) == ["systemctl", "is-active", KUBELET]
        return 0 if self.state == "active" else 3, f"{self.state}\n", ""

    def step(self) -> None:
        """Whatever is due by now."""
        if self.enabled:
            uid, arguments = self._desired()
            self._stop_others(uid)
            self._remove_ended()
            if not self.instances and uid:
                self._start_when_due(uid, arguments)
        self._serve()

    def behaviour(self, arguments: list[str]) -> Behaviour:
        """How an instance with these arguments behaves: by the last of them."""
        return self.behaviours.get(arguments[-1], Behaviour())

    def _desired(self) -> tuple[str, list[str]]:
        content = read_bytes(str(self.node.manifest)) or b""
        uid, arguments = instance_of(content, str(self.node.manifest))
        return uid, list(arguments)

    def _stop_others(self, uid: str) -> None:
        for instance in self.instances:
            if instance.uid != uid and instance.stops is None:
                instance.stops = self.node.clock.now + instance.behaviour.stop

    def _remove_ended(self) -> None:
        now = self.node.clock.now
        for instance in list(self.instances):
            died = instance.behaviour.alive is not None and now >= instance.started + instance.behaviour.alive
            if died or (instance.stops is not None and now >= instance.stops):
                self.kill(instance)
                self.due = (instance.uid, now + instance.behaviour.back_off) if died else None

    def kill(self, instance: _Instance) -> None:
        """End a process."""
        self.instances.remove(instance)
        self.node.remove_process(instance.pid)

    def _start_when_due(self, uid: str, arguments: list[str]) -> None:
        now = self.node.clock.now
        behaviour = self.behaviour(arguments)
        if self.due is None or self.due[0] != uid:
            self.due = (uid, now + behaviour.start)
        if now >= self.due[1]:
            self.start(uid, arguments, behaviour)

    def start(self, uid: str, arguments: list[str], behaviour: Behaviour) -> None:
        """Start a container, with the log file that belongs to it."""
        self.next_pid += 1
        number = self.starts.get(uid, 0)
        self.starts[uid] = number + 1
        directory = self.node.pod_logs / f"{LOG_PREFIX}{uid}" / NAME
        directory.mkdir(parents=True, exist_ok=True)
        lines = [f"2026-01-01T00:00:00.0Z stderr F {line}\n" for line in behaviour.log]
        (directory / f"{number}.log").write_text("".join(lines), encoding="utf-8")
        self.node.add_process(self.next_pid, uid, arguments)
        self.instances.append(_Instance(uid, self.next_pid, self.node.clock.now, behaviour))
        self.due = None

    def restart(self) -> None:
        """The container dies and comes back at once: the same pod, another process."""
        (instance,) = self.instances
        arguments = list(self.node.arguments(instance.pid))
        self.kill(instance)
        self.start(instance.uid, arguments, dataclasses.replace(instance.behaviour, ready=0.0))

    def _serve(self) -> None:
        web = self.node.web
        web.up = bool(self.instances)
        web.health_status = 200 if any(self._is_ready(instance) for instance in self.instances) else 500
        self._report()

    def _report(self) -> None:
        """Create the mirror pod of what is ready."""
        for instance in self.instances:
            due = instance.started + (instance.behaviour.ready or 0.0) + self.reports_after
            if self._is_ready(instance) and self.node.clock.now >= due:
                metadata = {"annotations": {"kubernetes.io/config.hash": instance.uid}}
                self.node.web.objects[MIRROR] = {"metadata": metadata}

    def _is_ready(self, instance: _Instance) -> bool:
        age = self.node.clock.now - instance.started
        if instance.stops is not None or instance.behaviour.ready is None or age < instance.behaviour.ready:
            return False
        unready = instance.behaviour.unready
        return unready is None or not unready[0] <= age < unready[1]


# ---- the node --------------------------------------------------------------------------------------------------------


class FakeNode:
    """A control plane node whose API server runs and is healthy."""

    def __init__(self, root: Path, web: Web) -> None:
        self.web = web
        self.clock = Clock()
        self.proc, self.pod_logs, self.manifests, self.state = (
            root / name for name in ("proc", "pods", "manifests", f"state/{NAME}")
        )
        # Where else pods are looked for.
        self.container_logs, self.kubelet_root = root / "links", root / "kubelet"
        for directory in (self.proc, self.pod_logs, self.manifests, self.state):
            directory.mkdir(parents=True)
        self.manifest = self.manifests / f"{NAME}.yaml"
        self.policy = root / "policies" / "audit" / "policy.yaml"
        self.kubeconfig, self.kubelet_conf = root / "admin.conf", root / "kubelet.conf"
        self.allowed = {OLD.encode(), NEW.encode()}
        self.messages: list[str] = []
        # The API's responses to the kubelet, and so to the engine.
        self.http_get: t.Callable[[str, str], tuple[Json | None, str]] = lambda kubeconfig, path: (
            None,
            "there is none",
        )
        self.write_manifest(OLD)
        (self.proc / "stat").write_text("cpu 1 2\nbtime 1700000000\n", encoding="ascii")
        self.add_process(1, None, ["/sbin/init"])
        # A hosted control plane has processes of the same name in pods of its own.
        self.add_process(2, "f" * 32, [NAME, "--v=2"], network=2)
        self.kubelet = Kubelet(self)
        self.stabilize()
        self.watcher = DirectoryWatcher(self.manifests)
        self.clock.watchers += [self.kubelet.step, self.check_manifest]

    @property
    def host(self) -> Host:
        """The paths of this node."""
        return Host(
            proc=str(self.proc),
            pod_logs=str(self.pod_logs),
            container_logs=str(self.container_logs),
            kubelet_root=str(self.kubelet_root),
            kubelet_conf=str(self.kubelet_conf),
        )

    def stabilize(self) -> None:
        """Let the kubelet start what the manifest says."""
        for dummy in range(40):
            self.clock.now += 0.25
            self.kubelet.step()

    def write_manifest(self, text: str) -> None:
        """What an editor does that renames: 0600, whole."""
        temporary = self.manifests / ".editor"
        temporary.write_text(text, encoding="utf-8")
        temporary.chmod(0o600)
        temporary.rename(self.manifest)

    def foreign_edit(self, text: str = FOREIGN) -> None:
        """Another program writes the manifest."""
        self.allowed = {text.encode()}
        self.write_manifest(text)

    # -- processes -----------------------------------------------------------------------------------------------------

    def show_root(self, pid: int) -> Path:
        """The root file system of a process, mounted on the node as well."""
        root = self.proc.parent / f"root of {pid}"
        root.mkdir()
        (self.proc / str(pid) / "root").symlink_to(root)
        for name, point in ((str(pid), "/"), ("self", str(root).replace(" ", "\\040"))):
            (self.proc / name).mkdir(exist_ok=True)
            lines = ["22 1 8:1 / / rw - ext4 disk rw", f"23 22 0:44 / {point} ro - overlay overlay rw"]
            (self.proc / name / "mountinfo").write_text("\n".join(lines) + "\n", encoding="ascii")
        return root

    def add_process(self, pid: int, uid: str | None, arguments: list[str], *, network: int = 1) -> None:
        """A process, and with the first of a pod the pause process of its sandbox. network: 1 is the node's own."""
        directory = self.proc / str(pid)
        directory.mkdir()
        identifier = hashlib.sha256(str(pid).encode()).hexdigest()
        place = f"/kubepods.slice/kubepods-pod{uid}.slice/cri-containerd-{identifier}.scope" if uid else "/init.scope"
        (directory / "cgroup").write_text(f"0::{place}\n", encoding="ascii")
        (directory / "cmdline").write_bytes(b"".join(os.fsencode(argument) + b"\0" for argument in arguments))
        (directory / "exe").write_text("a binary", encoding="ascii")
        (directory / "ns").mkdir()
        (directory / "ns" / "net").symlink_to(f"net:[{network}]")
        ticks = 100 * pid
        (directory / "stat").write_text(f"{pid} (a b) c) S 1 {'0 ' * 17}{ticks} 0 0\n", encoding="ascii")
        if uid and arguments[0] != "/pause":
            self.add_process(pid + 10000, uid, ["/pause"], network=network)

    def remove_process(self, pid: int) -> None:
        """A process ends, and the pause process of its sandbox with it."""
        for number in (pid, pid + 10000):
            shutil.rmtree(self.proc / str(number), ignore_errors=True)

    def arguments(self, pid: int) -> list[str]:
        """A process's command line."""
        return (self.proc / str(pid) / "cmdline").read_text(encoding="utf-8").split("\0")[:-1]

    # -- what must always hold -----------------------------------------------------------------------------------------

    def check_manifest(self) -> None:
        """One sample: the manifest is complete, and nothing that the kubelet would read is beside it."""
        assert [name for name in os.listdir(self.manifests) if not name.startswith(".")] == [self.manifest.name]
        assert self.manifest.read_bytes() in self.allowed
        progress = read_json(str(self.state / "progress.json"))
        if progress and progress["message"] not in self.messages[-1:]:
            self.messages.append(progress["message"])

    def assert_only_whole_files_appeared(self) -> None:
        """By the kernel's events: the manifest was only ever replaced by a rename, all else has a leading dot."""
        for name, kind in self.watcher.events():
            assert name.startswith(".") or (name, kind) == (self.manifest.name, _IN_MOVED_TO), (name, hex(kind))

    # -- transactions --------------------------------------------------------------------------------------------------

    def version(self, path: Path) -> StoredVersion | None:
        """A file as it stands, in the form of a journal."""
        if not path.exists():
            return None
        status = path.stat()
        return version_of(path.read_bytes(), status.st_mode & 0o7777, status.st_uid, status.st_gid)

    def entry(self, path: Path, after: str | None, *, switch: bool = False, mode: int = 0o600) -> t.Any:
        """One file of a journal."""
        before = self.version(path)
        version = None if after is None else version_of(after.encode(), mode, os.getuid(), os.getgid())
        return {"path": str(path), "switch": switch, "before": before, "after": version}

    def journal(self, text: str = NEW, files: t.Sequence[t.Any] = (), **given: t.Any) -> t.Any:
        """The journal of a change of the manifest."""
        switch = self.entry(self.manifest, text, switch=True, mode=self.manifest.stat().st_mode & 0o7777)
        watch = {
            "log_prefix": LOG_PREFIX,
            "container": NAME,
            "before": self.instance(self.manifest.read_text(encoding="utf-8")),
            "after": self.instance(text),
            "feature_gates": {},
            "metrics": self.web.metrics(str(self.kubeconfig)),
            **given.pop("watch", {}),
        }
        return {
            "format": FORMAT,
            "id": TRANSACTION_ID,
            "name": NAME,
            "requested": {"at": "2026-01-01T00:00:00Z", "from": "10.0.0.99"},
            "phase": PREPARED,
            "files": [*files, switch],
            "directories": [],
            "watch": watch,
            "wait_timeout": 20,
            "min_ready_seconds": 3,
            "rollback": True,
            "times": {},
            "result": None,
            **given,
        }

    def instance(self, text: str) -> Json:
        """How an instance of a manifest is identified."""
        arguments = yaml.safe_load(text)["spec"]["containers"][0]["command"]
        return {"arguments": arguments, "written": arguments, "probes": [self.web.probe()]}

    @property
    def journal_path(self) -> Path:
        """Where the open journal stands."""
        return self.state / "journal.json"

    def prepare(self, text: str = NEW, files: t.Sequence[t.Any] = (), **given: t.Any) -> t.Any:
        """Put a journal on the disk."""
        journal = self.journal(text, files, **given)
        save_journal(str(self.state), journal)
        return journal

    def new_engine(self) -> Engine:
        """An engine of this node."""
        sleep, run = self.clock.sleep, self.kubelet.systemctl
        return Engine(str(self.state), host=self.host, clock=self.clock, sleep=sleep, run=run, http_get=self.http_get)

    def run(self) -> Json:
        """Take the open transaction to its end; its result."""
        assert self.new_engine().run() == 0
        return self.result()

    def change(self, text: str = NEW, files: t.Sequence[t.Any] = (), **given: t.Any) -> Json:
        """A whole transaction; its result."""
        self.prepare(text, files, **given)
        return self.run()

    def closed(self) -> t.Any:
        """The newest closed journal."""
        assert not self.journal_path.exists()
        closed, problem = load_journal(str(self.state), history_ids(str(self.state))[-1])
        assert closed is not None
        assert not problem
        return closed

    def opened(self) -> t.Any:
        """The open journal."""
        journal, problem = load_journal(str(self.state))
        assert journal is not None
        assert not problem
        return journal

    def result(self) -> Json:
        """How the newest transaction ended."""
        result: Json = self.closed()["result"]
        return result

    def at(self, seconds: float, action: t.Callable[[], t.Any]) -> None:
        """Do something once, so many seconds from now."""
        due = self.clock.now + seconds
        done: list[bool] = []

        def watcher() -> None:
            if self.clock.now >= due and not done:
                done.append(True)
                action()

        self.clock.watchers.insert(0, watcher)

    def once(self, phase: str, action: t.Callable[[], t.Any]) -> None:
        """Do something once, as soon as the transaction sleeps in a phase."""
        done: list[bool] = []

        def watcher() -> None:
            journal, dummy = load_journal(str(self.state))
            if journal and journal["phase"] == phase and not done:
                done.append(True)
                action()

        self.clock.watchers.insert(0, watcher)

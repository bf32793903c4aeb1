# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node in a directory on which real processes work: the fake node of the unit tests, and a systemd that starts engines."""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import signal
import typing as t
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import Json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    history_ids,
    load_journal,
    result_of,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import KUBELET, Host
from ansible_collections.nodecraft.kubeadm.tests.faults.processes import ProcessResult, Worker
from ansible_collections.nodecraft.kubeadm.tests.faults.system_calls import Fault
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_cri import FakeCri
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, Clock, FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun, add_kubelet
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_systemd import FakeUnit
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import Web

# What systemd takes for a clean end of a service, unless its unit says otherwise.
CLEAN = {0, *(-number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE))}
# What was previewed before, by the manifest and the desired state: the same nodes are made many times.
_PREVIEWS: dict[tuple[bytes, str], bytes] = {}


def manifest(port: int, *arguments: str) -> str:
    """A manifest with these flags, and with a probe that the test serves."""
    items = "".join(f"    - {argument}\n" for argument in (NAME, *arguments))
    return (
        f"# written manually\napiVersion: v1\nkind: Pod\nmetadata:\n  name: {NAME}\n  namespace: kube-system\n"
        f"spec:\n  containers:\n  - command:\n{items}    name: {NAME}\n"
        f"    readinessProbe:\n      httpGet:\n        host: 127.0.0.1\n        path: /livez\n        port: {port}\n"
        "        scheme: HTTP\n"
    )


class Unit(t.NamedTuple):
    """A unit file: section and key -> values, as systemd reads it."""

    values: dict[tuple[str, str], list[str]]

    @classmethod
    def read(cls, path: Path, instance: str) -> Unit:
        """The unit file on the disk, for one instance of it."""
        values: dict[tuple[str, str], list[str]] = {}
        section = ""
        for line in path.read_text(encoding="utf-8").replace("%i", instance).splitlines():
            if line.startswith("["):
                section = line.strip("[]")
            elif "=" in line and not line.startswith("#"):
                key, dummy, value = line.partition("=")
                values.setdefault((section, key), []).append(value)
        return cls(values)

    def values_of(self, section: str, key: str) -> list[str]:
        """The values of a setting."""
        return " ".join(self.values.get((section, key), [])).split()

    def restarts_after(self, status: int) -> bool:
        """Whether systemd starts it again: the rules of Restart=on-failure in systemd.service(5)."""
        name = signal.Signals(-status).name if status < 0 else str(status)
        if name in self.values_of("Service", "RestartPreventExitStatus"):
            return False
        if name in self.values_of("Service", "RestartForceExitStatus"):
            return True
        return self.values_of("Service", "Restart") == ["on-failure"] and status not in CLEAN


class Systemd:
    """Starts, and restarts, the service of the unit file on the disk."""

    def __init__(self, node: FaultNode) -> None:
        self._node = node
        self._name = node.state.name
        self._service = f"nodecraft-kubeadm@{self._name}.service"
        self.file = node.etc / "nodecraft-kubeadm@.service"
        self.due = False
        self.statuses: list[int] = []

    def run(self, arguments: list[str]) -> tuple[int, str, str] | None:
        """systemctl, as far as it is about our service; None when it is not."""
        if arguments[0] != "systemctl" or arguments[-1] != self._service:
            return None
        if arguments[1] == "start":
            self.start()
            return 0, "", ""
        if arguments[1] == "is-active":
            return (0, "active\n", "") if self.due else (3, "inactive\n", "")
        raise AssertionError(arguments)

    def start(self) -> None:
        """Start the service, when its condition holds."""
        conditions = self._unit().values_of("Unit", "ConditionPathExists")
        one_of = [path[1:] for path in conditions if path.startswith("|")]
        self.due = all(os.path.exists(path) for path in conditions if not path.startswith("|"))
        self.due = self.due and (not one_of or any(map(os.path.exists, one_of)))

    def boot(self) -> None:
        """Start what the target that a node boots into wants."""
        link = self.file.parent / "multi-user.target.wants" / self._service
        if link.is_symlink() and os.path.realpath(link) == str(self.file) and self.file.read_bytes():
            self.start()

    def umask(self) -> int:
        """The rights that files of the service never have."""
        return int(next(iter(self._unit().values_of("Service", "UMask")), "0022"), 8)

    def _unit(self) -> Unit:
        return Unit.read(self.file, self._name)

    def run_service(self, fault: Fault | None = None, *, traced: bool = False) -> list[ProcessResult]:
        """Run the service until systemd leaves it alone; the fault is put into its first process. Returns its processes."""
        ended: list[ProcessResult] = []
        while self.due:
            ended.append(self._node.engine(fault if not ended else None, traced=traced))
            self.statuses.append(ended[-1].status)
            self.due = self._unit().restarts_after(ended[-1].status)
            assert len(ended) < 20, f"systemd starts it for ever: {self.statuses}"
        return ended


class FaultNode:
    """What processes use of a node, whatever its component is. state: where the component's journal is."""

    state: Path
    clock: Clock

    def install(self, root: Path, worker: Worker, host: Host) -> None:
        """Where its unit files are, what runs its processes, and the directories that these use."""
        self.root = root
        self._host_fields = host._asdict()
        self.etc = root / "etc"
        self.etc.mkdir()
        self.worker = worker
        self.systemd = Systemd(self)
        # What happens while a process is stopped by a fault, once; and with each request of a process.
        self.on_stopped: t.Callable[[], None] | None = None
        self.on_request: t.Callable[[dict[str, t.Any]], None] = lambda request: None
        self._runs = 0

    def program(self, arguments: list[str]) -> tuple[int, str, str]:
        """A program of the node that is not about our service."""
        raise NotImplementedError

    def api(self, kubeconfig: str, path: str) -> tuple[Json | None, str]:
        """The API server."""
        return None, "there is no API server"

    def engine(self, fault: Fault | None = None, *, traced: bool = False) -> ProcessResult:
        """A run of the engine, as its service starts it."""
        program = self.state / "engine.pyz"
        self.worker.assert_packed_in(program)
        order = {"do": "engine", "program": str(program), "directory": str(self.state), "umask": self.systemd.umask()}
        return self.process(order, fault, traced=traced)

    def query_history(self, function: str, *arguments: t.Any) -> t.Any:
        """The result of a function of the module's side about the node's transactions."""
        return self.process({"do": "transactions", "function": function, "arguments": list(arguments)}).result

    def process(self, order: dict[str, t.Any], fault: Fault | None = None, *, traced: bool = False) -> ProcessResult:
        """Run a process on this node."""
        self._runs += 1
        place = {
            "host": self._host_fields,
            "state_dir": str(self.state.parent),
            "unit_file": str(self.systemd.file),
        }
        log = self.root / f"calls-{self._runs}"
        return self.worker.run(
            {**order, **place},
            handle=self._handle_request,
            clock=self.clock,
            log=log,
            fault=fault,
            traced=traced,
            on_stopped=self._run_on_stopped,
        )

    @property
    def was_stopped(self) -> bool:
        """Whether what was to happen while a process is stopped has happened."""
        return self.on_stopped is None

    def _run_on_stopped(self) -> None:
        action, self.on_stopped = self.on_stopped, None
        if action is not None:
            action()

    def _handle_request(self, request: dict[str, t.Any]) -> t.Any:
        self.on_request(request)
        if "sleep" in request:
            if self._lock_is_free():
                self.systemd.run_service()
            self.clock.sleep(request["sleep"])
            return None
        if "run" in request:
            return self.systemd.run(request["run"]) or self.program(request["run"])
        return self.api(*request["get"])

    def _lock_is_free(self) -> bool:
        try:
            descriptor = os.open(self.state / "lock", os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(descriptor)
        return True

    # -- outcomes ------------------------------------------------------------------------------------------------------

    def outcome(self) -> str | None:
        """How the newest transaction ended; None when there was none."""
        ids = history_ids(str(self.state))
        journal = load_journal(str(self.state), ids[-1])[0] if ids else None
        return str(result_of(journal)["outcome"]) if journal else None


# For all nodes: a worker reaches it by its socket.
RUNTIME = FakeCri()
atexit.register(RUNTIME.stop)


class StaticPodNode(FaultNode, FakeNode):
    """A control plane node: the module static_pod, and its transactions."""

    def __init__(self, root: Path, web: Web, worker: Worker) -> None:
        super().__init__(root, web)
        web.up, web.health_status = True, 200
        self.install(root, worker, self.host)
        self.old = manifest(web.port, "--v=1")
        self.give_manifest(self.old)
        config = f"staticPodPath: {self.manifests}\nhealthzPort: 0\ncontainerRuntimeEndpoint: {RUNTIME.endpoint}\n"
        add_kubelet(self, config=config)
        self.programs = FakeRun()
        self.programs.results["journalctl"] = (0, "", "")
        self.watcher.events()

    def give_manifest(self, text: str, *, mode: int = 0o600) -> None:
        """A manifest that another program wrote, and that runs."""
        self.allowed = {text.encode()}
        self.write_manifest(text)
        self.manifest.chmod(mode)
        self.stabilize()

    def accept(self, desired: dict[str, t.Any]) -> None:
        """From now on the manifest may also have the bytes that this desired state gives it, by the module's own preview."""
        key = (self.manifest.read_bytes(), json.dumps([str(self.root), desired], sort_keys=True))
        if key not in _PREVIEWS:
            preview = self.module(check=True, **desired).result
            assert not preview["failed"], preview["msg"]
            (manifest_diff,) = (part for part in preview["diff"] if part["before_header"] == str(self.manifest))
            _PREVIEWS[key] = manifest_diff["after"].encode()
        self.allowed = {key[0], _PREVIEWS[key]}

    def program(self, arguments: list[str]) -> tuple[int, str, str]:
        """Of the kubelet's own, what the engine calls; of the rest, what the module calls."""
        if arguments[-1] == KUBELET and arguments[1] in ("restart", "is-active"):
            return self.kubelet.systemctl(arguments)
        return self.programs(arguments)

    def module(
        self, fault: Fault | None = None, *, check: bool = False, traced: bool = False, **desired: t.Any
    ) -> ProcessResult:
        """A run of the module static_pod; without rehearsal."""
        given = {"rehearse": False, "wait_timeout": 20, "min_ready_seconds": 3, **desired}
        order = {"do": "module", "params": samples.parameters(**given), "check": check}
        return self.process(order, fault, traced=traced)


class KubeletNode(FaultNode, FakeUnit):
    """A node whose kubelet changes. Its journals are handed over by the module's side; how they are made is tested elsewhere."""

    def __init__(self, root: Path, web: Web, worker: Worker) -> None:
        super().__init__(root, web)
        self.install(root, worker, self.host)

    def begin(self, **given: t.Any) -> ProcessResult:
        """Hand over the journal of a change of the setting."""
        return self.process({"do": "start", "journal": self.journal(**given)})

    def program(self, arguments: list[str]) -> tuple[int, str, str]:
        """systemctl and journalctl, about the kubelet."""
        return self.run(arguments)

    def api(self, kubeconfig: str, path: str) -> tuple[Json | None, str]:
        """The API server."""
        return self.http_get(kubeconfig, path)

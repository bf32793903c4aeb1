# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node in a directory whose systemd runs one service, a kubelet with a Node; time passes only when one sleeps."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import time
import typing as t
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import FORMAT, Json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    PREPARED,
    SYSTEMD_UNIT,
    history_ids,
    load_journal,
    save_journal,
    version_of,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.kubelet_node import LEASES
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import Host
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.state_files import read_policy
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.transaction import Engine
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import Clock
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import Web, hold_port, open_socket

UNIT = "kubelet.service"
BOOT = 1_700_000_000
OLD, NEW = "v=1\n", "v=2\n"


@dataclasses.dataclass(frozen=True)
class Behaviour:
    """How a kubelet with some settings behaves, in seconds from its start.

    healthy: until its health port responds (None: never). listens: whether that is its own, and not another program's. beat: until it renews
    its Lease (None: never). over: until its start is over, so that it makes its socket and may write the conditions of its Node (None:
    never). alive: until it ends by itself (None: it lives). log: its lines in the journal.
    """

    healthy: float | None = 1.0
    listens: bool = True
    beat: float | None = 0.5
    over: float | None = 2.0
    alive: float | None = None
    log: str = "started"


# One that finds a state file of another policy than its own.
POLICY_MISMATCH = Behaviour(
    healthy=None, beat=None, over=None, alive=0.5, log="configured policy differs from state checkpoint policy"
)


def state_of(policy: str) -> str:
    """A state file."""
    return json.dumps({"policyName": policy, "entries": {}})


class FakeUnit:
    """The node. Its kubelet runs with the content of one file as its only argument, which is also the policy of its state file."""

    def __init__(self, root: Path, web: Web) -> None:
        self.clock = Clock()
        self.web = web
        self.proc, self.state, self.files = (root / name for name in ("proc", "state/kubelet", "files"))
        for directory in (self.proc, self.state, self.files):
            directory.mkdir(parents=True)
        (self.proc / "stat").write_text(f"btime {BOOT}\n", encoding="ascii")
        hold_port(self.proc, web.port)
        self.setting = self.files / "setting"
        self.setting.write_text(OLD, encoding="ascii")
        self.state_file: Path | None = None
        self.differs = False
        self.behaviours: dict[str, Behaviour] = {}
        self.calls: list[str] = []
        self.logs: dict[str, str] = {}
        self.fails: dict[str, str] = {}
        self.api_is_up = True
        self.lists_pods = True
        self.is_ready = True
        self.not_ready_message = "no network"
        self.pressures: set[str] = set()
        self.unknown: set[str] = set()
        self.ready_pods = {"etcd", "plain"}
        self.pid: int | None = None
        self.invocation = ""
        self.restarts = 0
        self.started_at = 0.0
        self.due: float | None = None
        self.last_beat = self.last_condition = 0.0
        # As Kubernetes 1.37 does; 1.32 writes conditions only when they change.
        self.writes_conditions = True
        self.socket: Path | None = root / "kubelet.sock"
        self.starts = 0
        self.start()
        self.clock.now += 30
        self.step()
        self.calls.clear()
        self.clock.watchers.append(self.step)

    # -- the service ---------------------------------------------------------------------------------------------------

    @property
    def behaviour(self) -> Behaviour:
        """How the running kubelet behaves."""
        return POLICY_MISMATCH if self.differs else self.behaviours.get(self.argument, Behaviour())

    def start(self) -> None:
        """A new process."""
        self.starts += 1
        self.pid, self.invocation = 100 + self.starts, f"{self.starts:032x}"
        self.argument = self.setting.read_text(encoding="ascii").strip()
        self.started_at, self.due = self.clock.now, None
        named = read_policy(str(self.state_file)) if self.state_file else None
        self.differs = named not in (None, self.argument)
        self.logs[self.invocation] = self.behaviour.log
        self.remember()
        directory = self.proc / str(self.pid)
        open_socket(self.proc, self.pid, **({} if self.behaviour.listens else {"inode": 1}))
        (directory / "cmdline").write_bytes(f"/usr/bin/kubelet\0--{self.argument}\0".encode())
        ticks = int(self.clock.now * os.sysconf("SC_CLK_TCK"))
        (directory / "stat").write_text(f"{self.pid} (kubelet) S 1 {'0 ' * 17}{ticks} 0 0\n", encoding="ascii")

    def remember(self) -> None:
        """It writes its state file at any time: at its start and at its end. Its policy is its setting."""
        if self.state_file is not None and not self.differs:
            text = state_of(self.argument)
            if not self.state_file.exists() or self.state_file.read_text(encoding="ascii") != text:
                self.state_file.write_text(text, encoding="ascii")

    def stop(self) -> None:
        """The process ends."""
        if self.pid is not None:
            self.remember()
            shutil.rmtree(self.proc / str(self.pid))
        self.pid, self.due = None, None

    def step(self) -> None:
        """Whatever is due by now."""
        age = self.clock.now - self.started_at
        behaviour = self.behaviour
        if self.pid is not None and behaviour.alive is not None and age >= behaviour.alive:
            self.stop()
            self.due = self.clock.now + 10
        if self.due is not None and self.clock.now >= self.due:
            self.restarts += 1
            self.start()
        age = self.clock.now - self.started_at
        self.web.up = True
        healthy = self.pid is not None and behaviour.healthy is not None and age >= behaviour.healthy
        self.web.health_status = 200 if healthy else 500
        if self.pid is not None and behaviour.beat is not None and age >= behaviour.beat:
            self.last_beat = max(self.last_beat, self.started_at + behaviour.beat)
        if self.pid is not None and behaviour.over is not None and age >= behaviour.over:
            self.finish_start(self.started_at + behaviour.over)

    def finish_start(self, at: float) -> None:
        """What a kubelet does once all that can end its start is behind it."""
        if self.writes_conditions:
            self.last_condition = max(self.last_condition, at)
        if self.socket is not None:
            self.socket.touch()
            os.utime(self.socket, (BOOT + at, BOOT + at))

    def run(self, arguments: t.Sequence[str]) -> tuple[int, str, str]:
        """systemctl and journalctl."""
        line = " ".join(arguments)
        self.calls.append(line)
        for beginning, error in self.fails.items():
            if line.startswith(beginning):
                return 1, "", error
        if line.startswith("systemctl show"):
            return 0, self._properties(), ""
        if line.startswith("journalctl"):
            invocation = line.partition("_SYSTEMD_INVOCATION_ID=")[2]
            return 0, self.logs.get(invocation or self.invocation, ""), ""
        verb = arguments[1]
        if verb in ("stop", "restart"):
            self.stop()
        if verb in ("start", "restart") and self.pid is None:
            self.restarts = 0
            self.start()
        return 0, "", ""

    def _properties(self) -> str:
        active, sub = (
            ("active", "running") if self.pid else ("activating", "auto-restart") if self.due else ("inactive", "dead")
        )
        return (
            f"ActiveState={active}\nSubState={sub}\nMainPID={self.pid or 0}\n"
            f"InvocationID={self.invocation}\nNRestarts={self.restarts}\n"
        )

    def http_get(self, kubeconfig: str, path: str) -> tuple[Json | None, str]:
        """The API server. The content of a Node stays until its kubelet writes it again."""
        assert kubeconfig == "/kubelet.conf"
        if not self.api_is_up:
            return None, "the API server cannot be queried: refused"
        if path == "/api/v1/pods?fieldSelector=spec.nodeName%3Dw1":
            if not self.lists_pods:
                return None, "the API server answers 503"
            return {"items": [self._pod(name, name in self.ready_pods) for name in ("etcd", "broken", "plain")]}, ""
        if path == f"{LEASES}/w1":
            renewed = time.strftime("%Y-%m-%dT%H:%M:%S.123456Z", time.gmtime(BOOT + self.last_beat))
            return {"spec": {"renewTime": renewed}}, ""
        assert path == "/api/v1/nodes/w1"
        condition = {
            "type": "Ready",
            "status": "True" if self.is_ready else "False",
            "message": self.not_ready_message,
            "lastHeartbeatTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(BOOT + self.last_condition)),
        }
        shortages = [
            {
                "type": f"{kind}Pressure",
                "status": "Unknown" if kind in self.unknown else str(kind in self.pressures),
                "message": "too little",
            }
            for kind in ("Memory", "Disk")
        ]
        return {"status": {"conditions": [{"type": "Other", "status": "x"}, condition, *shortages]}}, ""

    @staticmethod
    def _pod(name: str, ready: bool) -> Json:
        annotations = None if name == "plain" else {"kubernetes.io/config.mirror": "x"}
        conditions = [{"type": "Ready", "status": str(ready)}]
        return {"metadata": {"name": name, "annotations": annotations}, "status": {"conditions": conditions}}

    def verbs(self) -> list[str]:
        """What was done to the service."""
        return [call.split()[1] for call in self.calls if call.startswith("systemctl ") and " show " not in f"{call} "]

    # -- transactions ----------------------------------------------------------------------------------------------------

    def journal(self, **given: t.Any) -> t.Any:
        """The journal of a change of the setting."""
        owner = (os.getuid(), os.getgid())
        watch = {
            "kind": SYSTEMD_UNIT,
            "unit": UNIT,
            "before": self.instance(OLD),
            "after": self.instance(NEW),
            "node": {"name": "w1", "kubeconfig": "/kubelet.conf"},
            "complaints": [],
            "has_static_pods": False,
            "static_pods": [],
            "set_aside": [],
            **given.pop("watch", {}),
        }
        entry = {
            "path": str(self.setting),
            "switch": False,
            "before": version_of(OLD.encode(), 0o644, *owner),
            "after": version_of(NEW.encode(), 0o644, *owner),
        }
        return {
            "format": FORMAT,
            "id": "20260101T000000.000000Z-abcdef",
            "name": "kubelet",
            "requested": {"at": "2026-01-01T00:00:00Z", "from": "10.0.0.99"},
            "phase": PREPARED,
            "files": [entry],
            "directories": [],
            "watch": watch,
            "wait_timeout": 300,
            "min_ready_seconds": 3,
            "rollback": True,
            "times": {},
            "result": None,
            **given,
        }

    def instance(self, text: str) -> Json:
        """How a kubelet with a setting is identified."""
        return {"arguments": ["/usr/bin/kubelet", f"--{text.strip()}"], "probes": [self.web.probe("/healthz")]}

    @property
    def host(self) -> Host:
        """The paths of this node."""
        socket = str(self.socket or "/nonexistent")
        return Host(proc=str(self.proc), pod_logs="/nonexistent", device_socket=socket)

    def new_engine(self) -> Engine:
        """An engine of this node."""
        return Engine(
            str(self.state),
            host=self.host,
            clock=self.clock,
            sleep=self.clock.sleep,
            run=self.run,
            http_get=self.http_get,
        )

    def change(self, **given: t.Any) -> Json:
        """A whole transaction; its result."""
        save_journal(str(self.state), self.journal(**given))
        return self.finish()

    def finish(self) -> Json:
        """Take the open transaction to its end; its result."""
        assert self.new_engine().run() == 0
        journal, dummy = load_journal(str(self.state), history_ids(str(self.state))[-1])
        assert journal is not None
        return t.cast(Json, journal["result"])

    def at(self, seconds: float, action: t.Callable[[], t.Any]) -> None:
        """Do something once, so many seconds from now."""
        due = self.clock.now + seconds
        done: list[bool] = []

        def watcher() -> None:
            if self.clock.now >= due and not done:
                done.append(True)
                action()

        self.clock.watchers.insert(0, watcher)

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A systemd unit, the kubelet's: it is restarted, and its Node says how it fares."""

from __future__ import annotations

import re
import typing as t

from .engine_errors import EngineError
from .files import Json
from .journal import (
    APPLYING,
    ON_TRIAL,
    PREPARED,
    ROLLING_BACK,
    VERIFYING,
    Former,
    Mark,
    Probe,
    Progress,
    Side,
    UnitWatch,
    add_unverified,
)
from .kubelet_node import KubeletNode
from .node import Host, Process, Run, unit_log
from .probes import HttpGet, run_probe
from .state_files import StateFiles
from .watcher import WANTED, Observation, retry_until

# systemd restarts a service in the same way each time, and a kubelet only every ten seconds.
MAX_UNIT_CRASHES = 2
# Of a unit of which systemd says nothing at this moment, such as while it reloads itself.
_UNKNOWN = "unknown"
# What a kubelet logs and goes on.
_COMPLAINTS = re.compile(r"strict decoding error: [^\n]*")
# It goes on without its health port, too, and whoever holds that answers the probe.
_TAKEN = "another program listens at its health port"


class UnitObservation(t.NamedTuple):
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
    def is_probed(self) -> bool:
        """Without a probe, its process counts as one."""
        return True

    @property
    def logs(self) -> tuple[str, ...]:
        """The journal of systemd has its words."""
        return ()

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


def health_doubt(host: Host, pid: int, probe: Probe | None) -> str:
    """Why a kubelet that runs, and whose probe passes if it has one, is not known to be healthy; empty when it is."""
    if probe is None:
        return "healthzPort is 0"
    try:
        return "" if host.listens(pid, probe["port"]) else f"{_TAKEN} {probe['port']}"
    except OSError as exc:
        return f"who listens at its health port {probe['port']} cannot be read ({exc})"


class SystemdUnit:
    """A unit through systemd's own programs: what runs, what it logged, and its restart.

    Apart from the watcher, which compares what is seen here with the journal of a change.
    """

    def __init__(self, name: str, run: Run, clock: t.Callable[[], float], sleep: t.Callable[[float], None]) -> None:
        self.name = name
        self.run = run
        self.clock = clock
        self.sleep = sleep

    def show(self) -> dict[str, str]:
        """Its state, its process, the id of this start, and how often systemd restarted it."""
        names = ("ActiveState", "SubState", "MainPID", "InvocationID", "NRestarts")
        status, output, error = self.run(["systemctl", "show", f"--property={','.join(names)}", self.name])
        shown = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
        if status != 0 or not shown:
            shown = {"ActiveState": _UNKNOWN, "SubState": error.strip() or "no answer"}
        return {**dict.fromkeys(names, ""), **shown}

    def show_known(self) -> dict[str, str]:
        """The same, as soon as systemd has an answer."""
        return retry_until(lambda shown: shown["ActiveState"] != _UNKNOWN, self.show, self.clock, self.sleep)

    def find_invocation(self) -> str:
        """The id of what runs. Raises EngineError when systemd does not tell: without one it could not be told from what follows it."""
        shown = self.show_known()
        if shown["ActiveState"] == _UNKNOWN:
            raise EngineError(f"systemd does not tell what runs as {self.name}: {shown['SubState']}")
        return shown["InvocationID"]

    def read_complaints(self, invocation: str) -> tuple[list[str], str]:
        """What an instance logged about its configuration, and why that is not known; empty when it is. A kubelet always logs something."""
        command = ["journalctl", "--quiet", "--output=cat", "--no-pager", f"_SYSTEMD_INVOCATION_ID={invocation}"]
        status, output, error = self.run(command)
        if status != 0 or not output.strip():
            return [], f"journalctl shows nothing of it ({error.strip() or f'status {status}'})"
        return sorted(set(_COMPLAINTS.findall(output))), ""

    def reload(self) -> None:
        """Have systemd read the files of all units again. Raises EngineError, as all of these do."""
        self._systemctl("daemon-reload")

    def restart(self) -> None:
        """Restart it, without waiting for its start."""
        self._systemctl("restart", "--no-block", self.name)

    def stop(self) -> None:
        """Stop it, and wait until it has stopped."""
        self._systemctl("stop", self.name)

    def start(self) -> None:
        """Start it, without waiting for its start."""
        self._systemctl("start", "--no-block", self.name)

    def _systemctl(self, *arguments: str) -> None:
        status, dummy, error = self.run(["systemctl", *arguments])
        if status != 0:
            raise EngineError(f"systemctl {' '.join(arguments)} failed: {error.strip()}")


class UnitWatcher:
    """A systemd unit, the kubelet's: it is restarted once, and each start has an id of its own."""

    max_crashes = MAX_UNIT_CRASHES

    def __init__(
        self,
        journal: Progress,
        watch: UnitWatch,
        host: Host,
        run: Run,
        http_get: HttpGet,
        clock: t.Callable[[], float],
        sleep: t.Callable[[float], None],
    ) -> None:
        self.journal = journal
        self.watch = watch
        self.host = host
        self.unit = SystemdUnit(watch["unit"], run, clock, sleep)
        self.state_files = StateFiles(watch["set_aside"])
        self.node = KubeletNode(journal, watch, host, http_get, clock, sleep)
        self._former_restarts: int | None = None

    def what_runs(self) -> Former:
        """The id of what runs, what is known of its Node, and complaints about its configuration and its port that are not ours."""
        invocation = self.unit.find_invocation()
        complaints = [*self.unit.read_complaints(invocation)[0], self._health_doubt(self.unit.show_known())]
        return {"invocation": invocation, **self.node.observe(), "complaints": complaints}

    def observe(self) -> UnitObservation:
        """One look at unit, process, probes and Node."""
        shown, phase = self.unit.show(), self.journal["phase"]
        wanted = self.watch[WANTED[phase]]
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
        return UnitObservation(
            process=process,
            state=f"{shown['ActiveState']} ({shown['SubState']})",
            strange=found is not None and process is None,
            probes_ok=probes_ok and process is not None,
            probes=(*(text for dummy, text in results), *([node] if node else [])),
            crashes=self._crashes(shown),
            node_ok=node_ok,
            node=node,
            hopeless=self.node.shortage() if process and phase in ON_TRIAL else "",
        )

    def _judge(self, process: Process) -> tuple[bool, str]:
        """Whether it uses the policies of the change, as its own state files say, and whether its Node is ready."""
        problem = self.state_files.wrong_policy() if self.journal["phase"] in ON_TRIAL else ""
        return (False, problem) if problem else self.node.judge(process)

    def _may_be_wanted(self, invocation: str) -> bool:
        """A former instance that was never stopped is what a restore wants; otherwise another one than the marked."""
        if self.journal["phase"] == VERIFYING and invocation == self.journal["before"]["invocation"]:
            return True
        # Without a mark nothing was restarted, so what runs is what has to go.
        return self.journal.get("mark") is not None and invocation != self._marked()

    def _marked(self) -> str | None:
        return mark["invocation"] if (mark := self.journal.get("mark")) else None

    def _crashes(self, shown: t.Mapping[str, str]) -> int:
        """systemd counts its own starts. What it had counted when the new instance was first seen is not this one's."""
        if shown["InvocationID"] == self._marked():
            return 0
        count = int(shown["NRestarts"] or 0)
        self._former_restarts = count if self._former_restarts is None else min(count, self._former_restarts)
        waits = 1 if shown["SubState"] == "auto-restart" or shown["ActiveState"] == "failed" else 0
        return count - self._former_restarts + waits

    def has_seen_change(self) -> bool:
        """It reads its files when it is started, and is started after the mark is set."""
        return self.journal.get("mark") is not None

    def mark(self) -> Mark | None:
        """The instance that has to go. Raises EngineError."""
        return {"invocation": self.unit.find_invocation(), **self.node.reports()}

    def switch(self) -> None:
        """Restart the unit, once: an engine that died after it had done so finds another instance than the marked one."""
        shown = self.unit.show()
        is_other = shown["ActiveState"] == "active" and shown["InvocationID"] != self._marked()
        # It may have been started meanwhile, by systemd after a crash or the node after a reboot: then from the unit as it was
        # loaded, and over the state files that were there.
        is_applying = self.journal["phase"] == APPLYING
        if is_other and self._runs_as_wanted(shown) and self.state_files.are_aside(is_applying):
            return
        self.unit.reload()
        is_former = shown["InvocationID"] == self.journal["before"]["invocation"]
        if self.journal["phase"] == ROLLING_BACK and shown["ActiveState"] == "active" and is_former:
            return  # it was never stopped
        if not self.watch["set_aside"]:
            self.unit.restart()
            return
        # It writes these files whenever it likes as long as it runs, and reads them only when it starts.
        self.unit.stop()
        if is_applying:
            self.state_files.set_aside()
        else:
            self.state_files.bring_back()
        self.unit.start()

    def _runs_as_wanted(self, shown: t.Mapping[str, str]) -> bool:
        """Whether what runs has the arguments that the journal's phase wants."""
        pid = int(shown["MainPID"] or 0)
        side: Side = "after" if self.journal["phase"] == APPLYING else "before"
        return Process(shown["InvocationID"], pid, "", self.host.arguments(pid)).runs(self.watch[side]["arguments"])

    def blocker(self) -> str:
        """What keeps a unit from its work is seen by looking at it."""
        return ""

    def trigger(self) -> None:
        """systemd needs none."""

    def verify(self) -> str | None:
        """Whether it read its configuration without passing over mistakes, and has its port. What was wrong before is not ours."""
        former = [*self.journal["before"]["complaints"], *self.watch["complaints"]]
        instance = self.unit.show_known()
        complaints, why = self.unit.read_complaints(instance["InvocationID"])
        unread = [f"whether it ignored errors in its configuration: {why}"] if why else []
        doubt = self._health_doubt(instance)
        for text in [*self._limits(doubt), *unread]:
            add_unverified(self.journal, text)
        if doubt.startswith(_TAKEN) and doubt not in former:
            return f"it is not known to be healthy: {doubt}"
        new = [line for line in complaints if line not in former]
        return f"it ignored errors in its configuration: {'; '.join(new)}" if new else None

    def _health_doubt(self, instance: t.Mapping[str, str]) -> str:
        probe = next(iter(self.watch[WANTED[self.journal["phase"]]]["probes"]), None)
        return health_doubt(self.host, int(instance["MainPID"] or 0), probe)

    def unverified(self) -> list[str]:
        """What neither its own health nor its Node tells."""
        return self._limits(self._health_doubt(self.unit.show_known()))

    def _limits(self, doubt: str) -> list[str]:
        return [*([f"whether it is healthy: {doubt}"] if doubt else []), *self.node.unverified()]

    def log(self, observation: Observation) -> list[str]:
        """The unit's last lines, whatever was seen of it."""
        return unit_log(self.unit.run, self.unit.name)

    def proof(self, observation: Observation) -> Json | None:
        """The process, its probes and its Node."""
        if observation.process is None:
            return None
        return {
            "uid": observation.process.uid,
            "pid": observation.process.pid,
            "arguments": list(observation.process.arguments),
            "probes": list(observation.probes),
            "unverified": self.journal.get("unverified", []),
        }

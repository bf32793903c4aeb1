# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A systemd unit, the kubelet's: it is restarted, and its Node shows its health."""

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
    PreviousState,
    Probe,
    Progress,
    RestartMarker,
    Side,
    UnitWatch,
    add_unverified,
)
from .kubelet_node import KubeletNode
from .node import Host, Process, Run, read_unit_log
from .probes import HttpGet, run_probe
from .state_files import StateFiles
from .watcher import SIDE_BY_PHASE, Observation, PlainStop, retry_until

# systemd restarts a service in the same way each time, and a kubelet only every ten seconds.
MAX_UNIT_CRASHES = 2
# While systemd does not respond, such as while it reloads itself.
_UNKNOWN = "unknown"
# What a kubelet logs and goes on.
_CONFIG_ERRORS = re.compile(r"strict decoding error: [^\n]*")
# It goes on without its health port, too, and whoever listens there responds to the probe.
_PORT_IN_USE = "another program listens at its health port"


class UnitObservation(t.NamedTuple):
    """One observation of a systemd unit.

    state: as systemd calls it. strange: the unit runs, but not the expected command line; of the former instance that is so
    until it stops. node_ok, node: whether the Node object counts as ready, and what was observed of it. unrecoverable: a pressure for
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
    unrecoverable: str

    @property
    def healthy(self) -> bool:
        """The one criterion: exactly the expected process, ready, and its Node too."""
        return self.process is not None and self.probes_ok and self.node_ok and not self.unrecoverable

    @property
    def is_probed(self) -> bool:
        """Without a probe, its process counts as one."""
        return True

    @property
    def logs(self) -> tuple[str, ...]:
        """Its log is in systemd's journal."""
        return ()

    @property
    def idle_fingerprint(self) -> int | None:
        """systemd forgets nothing."""
        return None

    def missing(self) -> str:
        """What is not as it should be."""
        if self.strange:
            return "stops or starts, or runs with other arguments than its unit has"
        if self.process is None:
            return f"is {self.state}" + (f" after {self.crashes} crash(es)" if self.crashes else "")
        return f"runs, {self.node}" if self.probes_ok else "runs, not ready yet"


def unknown_health_reason(host: Host, pid: int, probe: Probe | None) -> str:
    """Why a kubelet that runs, and whose probe passes if it has one, is not known to be healthy; empty when it is."""
    if probe is None:
        return "healthzPort is 0"
    try:
        return "" if host.listens_on(pid, probe["port"]) else f"{_PORT_IN_USE} {probe['port']}"
    except OSError as exc:
        return f"who listens at its health port {probe['port']} cannot be read ({exc})"


class SystemdUnit:
    """A unit through systemd's own programs: what runs, what it logged, and its restart."""

    def __init__(self, name: str, run: Run, clock: t.Callable[[], float], sleep: t.Callable[[float], None]) -> None:
        self.name = name
        self.run = run
        self.clock = clock
        self.sleep = sleep

    def read_properties(self) -> dict[str, str]:
        """Its state, process, id of this start, and number of restarts."""
        names = ("ActiveState", "SubState", "MainPID", "InvocationID", "NRestarts")
        status, output, error = self.run(["systemctl", "show", f"--property={','.join(names)}", self.name])
        state = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
        if status != 0 or not state:
            state = {"ActiveState": _UNKNOWN, "SubState": error.strip() or "no answer"}
        return {**dict.fromkeys(names, ""), **state}

    def read_known_properties(self) -> dict[str, str]:
        """The same, as soon as systemd responds."""
        return retry_until(lambda state: state["ActiveState"] != _UNKNOWN, self.read_properties, self.clock, self.sleep)

    def find_invocation(self) -> str:
        """The id of what runs. Raises EngineError when it is not known."""
        state = self.read_known_properties()
        if state["ActiveState"] == _UNKNOWN:
            raise EngineError(f"systemd does not tell what runs as {self.name}: {state['SubState']}")
        return state["InvocationID"]

    def read_config_errors(self, invocation: str) -> tuple[list[str], str]:
        """What an instance logged about its configuration, and why that is not known; empty when it is. A kubelet always logs something."""
        command = ["journalctl", "--quiet", "--output=cat", "--no-pager", f"_SYSTEMD_INVOCATION_ID={invocation}"]
        status, output, error = self.run(command)
        if status != 0 or not output.strip():
            return [], f"journalctl shows nothing of it ({error.strip() or f'status {status}'})"
        return sorted(set(_CONFIG_ERRORS.findall(output))), ""

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


class UnitWatcher(PlainStop):
    """A systemd unit, the kubelet's: it is restarted once, and each start has an id of its own."""

    max_crashes = MAX_UNIT_CRASHES
    ends_without_api = False

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

    def read_previous_state(self) -> PreviousState:
        """The id of what runs, its Node, and errors of its configuration and port."""
        invocation = self.unit.find_invocation()
        complaints = [
            *self.unit.read_config_errors(invocation)[0],
            self._health_problem(self.unit.read_known_properties()),
        ]
        return {"invocation": invocation, **self.node.read_previous_state(), "complaints": complaints}

    def observe(self) -> UnitObservation:
        """Observe unit, process, probes and Node."""
        state, phase = self.unit.read_properties(), self.journal["phase"]
        expected = self.watch[SIDE_BY_PHASE[phase]]
        pid, is_active = int(state["MainPID"] or 0), state["ActiveState"] == "active"
        running = Process(state["InvocationID"], pid, "", self.host.read_arguments(pid)) if pid and is_active else None
        # What runs before the change is taken as it is: its files may have changed since it was started.
        is_expected = running is not None and (
            phase == PREPARED or (self._may_be_expected(running.uid) and running.runs(expected["arguments"]))
        )
        process = running if is_expected else None
        results = [run_probe(probe) for probe in expected["probes"]]
        probes_ok = all(ok for ok, dummy in results)
        node_ok, node = self._check_node(process) if process and probes_ok else (False, "")
        return UnitObservation(
            process=process,
            state=f"{state['ActiveState']} ({state['SubState']})",
            strange=running is not None and process is None,
            probes_ok=probes_ok and process is not None,
            probes=(*(text for dummy, text in results), *([node] if node else [])),
            crashes=self._crashes(state),
            node_ok=node_ok,
            node=node,
            unrecoverable=self.node.find_new_pressure() if process and phase in ON_TRIAL else "",
        )

    def _check_node(self, process: Process) -> tuple[bool, str]:
        """Whether it uses the policies of the change, as its own state files say, and whether its Node is ready."""
        problem = self.state_files.wrong_policy() if self.journal["phase"] in ON_TRIAL else ""
        return (False, problem) if problem else self.node.check_readiness(process)

    def _may_be_expected(self, invocation: str) -> bool:
        """A restore expects a former instance that was never stopped; otherwise another one than the marked."""
        if self.journal["phase"] == VERIFYING and invocation == self.journal["before"]["invocation"]:
            return True
        # Without a marker nothing was restarted, so what runs is what has to go.
        return self.journal.get("mark") is not None and invocation != self._marked()

    def _marked(self) -> str | None:
        return mark["invocation"] if (mark := self.journal.get("mark")) else None

    def _crashes(self, state: t.Mapping[str, str]) -> int:
        """systemd counts its own starts. What it had counted when the new instance was first seen is not this one's."""
        if state["InvocationID"] == self._marked():
            return 0
        count = int(state["NRestarts"] or 0)
        self._former_restarts = count if self._former_restarts is None else min(count, self._former_restarts)
        waits = 1 if state["SubState"] == "auto-restart" or state["ActiveState"] == "failed" else 0
        return count - self._former_restarts + waits

    def has_seen_change(self) -> bool:
        """It reads its files when it is started, and is started after the marker is set."""
        return self.journal.get("mark") is not None

    def read_restart_marker(self) -> RestartMarker | None:
        """The instance that has to go. Raises EngineError."""
        return {"invocation": self.unit.find_invocation(), **self.node.read_last_reports()}

    def activate_files(self) -> None:
        """Restart the unit, once: an engine that died after it had done so finds another instance than the marked one."""
        state = self.unit.read_properties()
        is_other = state["ActiveState"] == "active" and state["InvocationID"] != self._marked()
        # It may have been started meanwhile, by systemd after a crash or the node after a reboot: then from the unit as it was
        # loaded, and over the state files that were there.
        is_applying = self.journal["phase"] == APPLYING
        if is_other and self._has_expected_arguments(state) and self.state_files.are_moved(is_applying):
            return
        self.unit.reload()
        is_former = state["InvocationID"] == self.journal["before"]["invocation"]
        if self.journal["phase"] == ROLLING_BACK and state["ActiveState"] == "active" and is_former:
            return  # it was never stopped
        if not self.watch["set_aside"]:
            self.unit.restart()
            return
        # It writes these files whenever it likes as long as it runs, and reads them only when it starts.
        self.unit.stop()
        if is_applying:
            self.state_files.move_away()
        else:
            self.state_files.move_back()
        self.unit.start()

    def _has_expected_arguments(self, state: t.Mapping[str, str]) -> bool:
        """Whether what runs has the arguments of the journal's phase."""
        pid = int(state["MainPID"] or 0)
        side: Side = "after" if self.journal["phase"] == APPLYING else "before"
        process = Process(state["InvocationID"], pid, "", self.host.read_arguments(pid))
        return process.runs(self.watch[side]["arguments"])

    def find_blocker(self) -> str:
        """That is part of an observation."""
        return ""

    def retrigger(self) -> None:
        """systemd restarts it by itself."""

    def verify(self) -> str | None:
        """Whether it read its configuration without passing over mistakes, and has its port. What was wrong before is no part of the change."""
        former = [*self.journal["before"]["complaints"], *self.watch["complaints"]]
        instance = self.unit.read_known_properties()
        complaints, why = self.unit.read_config_errors(instance["InvocationID"])
        unread = [f"whether it ignored errors in its configuration: {why}"] if why else []
        reason = self._health_problem(instance)
        for text in [*self._limits(reason), *unread]:
            add_unverified(self.journal, text)
        if reason.startswith(_PORT_IN_USE) and reason not in former:
            return f"it is not known to be healthy: {reason}"
        new = [line for line in complaints if line not in former]
        return f"it ignored errors in its configuration: {'; '.join(new)}" if new else None

    def _health_problem(self, instance: t.Mapping[str, str]) -> str:
        probe = next(iter(self.watch[SIDE_BY_PHASE[self.journal["phase"]]]["probes"]), None)
        return unknown_health_reason(self.host, int(instance["MainPID"] or 0), probe)

    def unverified(self) -> list[str]:
        """What neither its own health nor its Node shows."""
        return self._limits(self._health_problem(self.unit.read_known_properties()))

    def _limits(self, reason: str) -> list[str]:
        return [*([f"whether it is healthy: {reason}"] if reason else []), *self.node.unverified()]

    def read_log(self, observation: Observation) -> list[str]:
        """The unit's last lines."""
        return read_unit_log(self.unit.run, self.unit.name)

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

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""A systemd unit, the kubelet's: it is restarted, and its Node says how it fares."""

from __future__ import annotations

import calendar
import contextlib
import glob
import os
import re
import time
import typing as t

from .errors import EngineError
from .files import Json, remove, sync_directory
from .journal import (
    APPLYING,
    ON_TRIAL,
    PREPARED,
    ROLLING_BACK,
    VERIFYING,
    Former,
    Mark,
    Progress,
    Side,
    UnitWatch,
    add_unverified,
)
from .node import Host, Process, Run, unit_log
from .probes import Ask, run_probe
from .state_files import named_policy
from .watcher import WANTED, Observation

# systemd restarts a service in the same way each time, and a kubelet only every ten seconds.
MAX_UNIT_CRASHES = 2
# For these the kubelet evicts pods.
PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
# An API server has other things to do than to tell four times a second that a Node is ready.
NODE_SECONDS = 1.0
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
# Behind the name of a file that makes way, and before the id of the transaction.
ASIDE = ".nodecraft-kubeadm-"


def _condition(thing: Json, kind: str) -> Json | None:
    """A condition of a Node or a Pod."""
    return next((entry for entry in thing["status"].get("conditions") or [] if entry["type"] == kind), None)


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


class UnitWatcher:
    """A systemd unit, the kubelet's: it is restarted once, and each start has an id of its own."""

    max_crashes = MAX_UNIT_CRASHES

    def __init__(
        self, journal: Progress, watch: UnitWatch, host: Host, run: Run, ask: Ask, clock: t.Callable[[], float]
    ) -> None:
        self.journal = journal
        self.watch = watch
        self.host = host
        self.run = run
        self.ask = ask
        self.clock = clock
        self._node: tuple[float, Json | None, str] | None = None
        self._heard_of = ""
        self._former_restarts: int | None = None

    def what_runs(self) -> Former:
        """The id of what runs, whether its Node could be read, and complaints about its configuration that are not ours."""
        invocation = self._show()["InvocationID"]
        static_pods, why = self._ready_static_pods() if self.watch["has_static_pods"] else ([], "")
        return {
            "invocation": invocation,
            "node": node is not None,
            "enough": sorted(kind for kind, (status, dummy) in self._pressures().items() if status == "False"),
            "static_pods": static_pods or [],
            "complaints": self._complaints(invocation) or [],
            "unverified": [f"whether its static pods are ready again: before the change {why}"] if why else [],
        }

    def look(self) -> UnitObservation:
        """One look at unit, process, probes and Node."""
        shown, phase = self._show(), self.journal["phase"]
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
        if self.journal["phase"] == VERIFYING and invocation == self.journal["before"]["invocation"]:
            return True
        return invocation != self._marked("invocation")

    def _show(self) -> dict[str, str]:
        names = ("ActiveState", "SubState", "MainPID", "InvocationID", "NRestarts")
        status, output, error = self.run(["systemctl", "show", f"--property={','.join(names)}", self.watch["unit"]])
        shown = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
        if status != 0 or not shown:
            # systemd is busy reloading itself: there is nothing to be seen at this moment.
            shown = {"ActiveState": "unknown", "SubState": error.strip() or "no answer"}
        return {**dict.fromkeys(names, ""), **shown}

    def _marked(self, key: t.Literal["invocation", "renewed"]) -> str | None:
        mark = self.journal.get("mark")
        return mark.get(key) if mark else None

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
        are verified, is not the kubelet's.
        """
        node, why = self._read_node()
        phase = self.journal["phase"]
        if node is None:
            return phase not in ON_TRIAL or not self.journal["before"]["node"], f"its Node is not known ({why})"
        ready = _condition(node, "Ready")
        if ready is None or ready["status"] != "True":
            return False, f"its Node is not ready ({(ready or {}).get('message', 'no condition')})"
        if phase != PREPARED and process.uid != self.journal["before"]["invocation"] and not self._is_heard_of(process):
            return False, "its Node is ready, as reported by the former process only"
        if phase != PREPARED and self.journal["before"]["static_pods"]:
            # A setting that changes a pod's defaults gives every static pod another UID: then all of them restart, and
            # with them a member of etcd. The next node must not have its turn before they are back.
            missing = sorted(set(self.journal["before"]["static_pods"]).difference(self._ready_static_pods()[0] or ()))
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

    def _ready_static_pods(self) -> tuple[list[str] | None, str]:
        """The static pods of this node that are ready, by what the API server knows of them. None, and why, when it does not tell."""
        path = f"/api/v1/pods?fieldSelector=spec.nodeName%3D{self.watch['node']['name']}"
        pods, why = self.ask(self.watch["node"]["kubeconfig"], path)
        if pods is None:
            return None, why
        ready = {
            pod["metadata"]["name"]
            for pod in pods.get("items") or ()
            if "kubernetes.io/config.mirror" in (pod["metadata"].get("annotations") or {})
            and (_condition(pod, "Ready") or {}).get("status") == "True"
        }
        return sorted(ready), ""

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
        renewed: str | None = lease["spec"].get("renewTime") if lease else None
        return renewed

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

    def mark(self) -> Mark | None:
        """The instance that has to go."""
        shown = self._show()
        return {
            "invocation": shown["InvocationID"],
            "renewed": self._renewed(),
        }

    def switch(self) -> None:
        """Restart the unit, once: an engine that died after it had done so finds another instance than the marked one."""
        shown = self._show()
        is_other = shown["ActiveState"] == "active" and shown["InvocationID"] != self._marked("invocation")
        if is_other and self._runs_as_wanted(shown) and self._have_made_way():
            return
        self._systemctl("daemon-reload")
        is_former = shown["InvocationID"] == self.journal["before"]["invocation"]
        if self.journal["phase"] == ROLLING_BACK and shown["ActiveState"] == "active" and is_former:
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

    # It may have been started meanwhile, by systemd after a crash or the node after a reboot: then from the unit as it was
    # loaded, and over the state files that were there.

    def _runs_as_wanted(self, shown: t.Mapping[str, str]) -> bool:
        """Whether what runs has the arguments that the journal's phase wants."""
        pid = int(shown["MainPID"] or 0)
        side: Side = "after" if self.journal["phase"] == APPLYING else "before"
        process = Process(shown["InvocationID"], pid, "", self.host.arguments(pid))
        return process.runs(self.watch[side]["arguments"])

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
        sync_directory(os.path.dirname(path))

    @staticmethod
    def _bring_back(path: str, aside: str, existed: bool) -> None:
        if not existed:
            remove(path)
        elif os.path.lexists(aside):
            os.replace(aside, path)
        sync_directory(os.path.dirname(path))

    def blocker(self) -> str:
        """What keeps a unit from its work is seen by looking at it."""
        return ""

    def trigger(self) -> None:
        """systemd needs none."""

    # -- the end -------------------------------------------------------------------------------------------------------

    def verify(self) -> str | None:
        """Whether it read its configuration without passing over mistakes. What it complained of before is not ours."""
        if not self.watch["after"]["probes"]:
            add_unverified(self.journal, "whether it is healthy: healthzPort is 0")
        self._limit_node()
        former = [*self.journal["before"]["complaints"], *self.watch["complaints"]]
        complaints = self._complaints(self._show()["InvocationID"])
        if complaints is None:
            add_unverified(self.journal, "whether it ignored errors in its configuration: journalctl shows nothing of it")
        new = [line for line in complaints or () if line not in former]
        return f"it ignored errors in its configuration: {'; '.join(new)}" if new else None

    def _limit_node(self) -> None:
        """Keep what its Node does not tell. Where it did before the change, a kubelet without it is not healthy."""
        node, why = self._read_node()
        if node is None:
            add_unverified(self.journal, f"whether its Node is ready and evicts no pods: {why}")
        elif not self.journal["before"]["node"]:
            short = ", ".join(kind for kind, (status, dummy) in self._pressures().items() if status == "True")
            if short:
                unknown = f"its Node reports {short}, and could not be read before the change"
                add_unverified(self.journal, f"whether it evicts pods because of the change: {unknown}")

    def _complaints(self, invocation: str) -> list[str] | None:
        """What it logged about its configuration; None where its log cannot be read: a kubelet always logs something."""
        command = ["journalctl", "--quiet", "--output=cat", "--no-pager", f"_SYSTEMD_INVOCATION_ID={invocation}"]
        status, output, dummy = self.run(command)
        if status != 0 or not output.strip():
            return None
        return sorted(set(re.findall(r"strict decoding error: [^\n]*", output)))

    def log(self, observation: Observation) -> list[str]:
        """The unit's last lines, whatever was seen of it."""
        return unit_log(self.run, self.watch["unit"])

    def proof(self, observation: Observation) -> Json | None:
        """The process, its probes and its Node."""
        if observation.process is None:
            return None
        return {
            "uid": observation.process.uid,
            "pid": observation.process.pid,
            "arguments": list(observation.process.arguments),
            "probes": list(observation.probes),
            "unverified": self.journal.get("unverified", []) if self.journal["phase"] in ON_TRIAL else [],
        }

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The device plugin on a worker of a lab: deployed by the role, watched from outside, and what can go wrong with it."""

from __future__ import annotations

import ctypes
import dataclasses
import hashlib
import json
import os
import re
import signal
import socket
import time
import types
import typing as t
from pathlib import Path

import yaml
from ansible_collections.nodecraft.kubeadm.tests.faults.lab import plugin_sampler
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.background import Program
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.cluster import Cluster, Json, Node, Process, until

NAME = NAMESPACE = PROGRAM = "nodecraft-device-plugin"
DIRECTORY = plugin_sampler.DIRECTORY
UNIT, FAKE = "example.com/unit", "example.com/fake"
# Character devices that do no harm: null, zero, full, random.
MINORS = (3, 5, 7, 8)
# The last one is unplugged all the time, so that it must not be called healthy.
UNPLUGGED = f"unit{len(MINORS) - 1}"
IDS = types.MappingProxyType({UNIT: [f"unit{number}" for number in range(len(MINORS) - 1)], FAKE: ["fake-0", "fake-1"]})
CONFIG: Json = {
    "podResources": {"access": "open"},
    "resources": [
        {"name": UNIT, "discover": [{"path": {"glob": "/dev/unit?"}}]},
        {"name": FAKE, "discover": [{"fake": {"count": len(IDS[FAKE])}}]},
    ],
}
# What is promised: the right list so many seconds after the end of a fault.
PROMISED = 10.0
# A kubelet that is gone is noticed by the end of its stream, which is a matter of milliseconds; the machine may be busy.
NOTICED = 2.0
WAIT_TIMEOUT = 90.0
PIDFD_GETFD = 438  # the number of the system call, the same on all architectures


@dataclasses.dataclass(frozen=True)
class Observation:
    """One observation of the sampler. ready: an HTTP status. allocatable: None when the kubelet does not respond."""

    began: float
    done: float
    ready: int
    message: str
    sockets: list[str]
    kubelet: list[int] | None
    allocatable: dict[str, list[str]] | None

    def is_right(self, ids: t.Mapping[str, t.Sequence[str]]) -> bool:
        """Whether the kubelet offers exactly these, and the plugin is ready."""
        return self.ready == 200 and all((self.allocatable or {}).get(name, []) == list(ids[name]) for name in ids)


class Watch:
    """A sampler at work, or done."""

    def __init__(self, output: Path) -> None:
        self._output = output
        self._read = 0
        self._observations: list[Observation] = []

    @property
    def observations(self) -> list[Observation]:
        """All of them until now."""
        with self._output.open(encoding="utf-8") as stream:
            stream.seek(self._read)
            for line in iter(stream.readline, ""):
                if line.endswith("\n"):
                    self._read += len(line.encode())
                    self._observations.append(Observation(**json.loads(line)))
        return self._observations

    def first_since(self, moment: float, holds: t.Callable[[Observation], bool]) -> Observation | None:
        """The first observation that began after a moment and of which this holds."""
        return next((obs for obs in self.observations if obs.began >= moment and holds(obs)), None)

    def until(self, moment: float, holds: t.Callable[[Observation], bool], what: str) -> Observation:
        """Wait for such an observation. Raises AssertionError."""
        return t.cast(Observation, until(lambda: self.first_since(moment, holds), what, WAIT_TIMEOUT))


def socket_prefix(resource: str) -> str:
    """What the names of the sockets of a resource begin with."""
    return f"nodecraft-{hashlib.sha256(resource.encode()).hexdigest()[:10]}-"


def start_time(process: Process) -> float:
    """When a process started, by the monotonic clock; a test that is slow must not take that for later than it was."""
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.monotonic() - age


def disconnect(server: Process, client: Process, path: str) -> int:
    """Shut down the connections of a client to a socket that a server has at a path; the socket itself stays. Returns how many."""
    # The kernel counts the server's end of a connection to the network of the client.
    inodes = {
        fields[6]
        for line in Path(f"/proc/{client.pid}/net/unix").read_text(encoding="utf-8").splitlines()[1:]
        if (fields := line.split())[5] == "03" and fields[7:] == [path]
    }
    count = 0
    for entry in Path(f"/proc/{server.pid}/fd").iterdir():
        if re.sub(r"socket:\[(\d+)\]", r"\1", os.readlink(entry)) in inodes:
            with _duplicate_socket(server.pid, int(entry.name)) as connection:
                connection.shutdown(socket.SHUT_RDWR)
                count += 1
    return count


def _duplicate_socket(pid: int, number: int) -> socket.socket:
    """A socket of another process."""
    handle = os.pidfd_open(pid)
    try:
        found = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, handle, number, 0)
    finally:
        os.close(handle)
    if found < 0:
        raise OSError(ctypes.get_errno(), f"file {number} of process {pid}")
    return socket.socket(fileno=found)


class Plugin:
    """The plugin on the first worker."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.node: Node = cluster.workers[0]

    # -- deploying -----------------------------------------------------------------------------------------------------

    def deploy(self) -> None:
        """By the role, as a user would."""
        image = self.cluster.lab.device_plugin(self.cluster.records / "device_plugin.log")
        for number in range(len(MINORS)):
            self.plug(number)
        expected = {name: len(ids) + (name == UNIT) for name, ids in IDS.items()}
        self._run(
            {
                **image,
                "device_plugin_node_selector": {"kubernetes.io/hostname": self.node.name},
                "device_plugin_config": CONFIG,
                "device_plugin_expected": [{"resources": expected}],
            }
        )

    def remove(self) -> None:
        """By the role, too."""
        self._run({"device_plugin_state": "absent"})
        self.node.run("sh", "-c", "rm -f /dev/unit?")

    def _run(self, variables: Json) -> None:
        with self.cluster.play("playbooks/device_plugin.yml", variables, f"--limit={self.node.name}") as play:
            run = play.finish()
        assert run.rc == 0, run.reasons

    def plug(self, number: int) -> None:
        """Make a device node."""
        self.node.run("sh", "-c", f"test -c /dev/unit{number} || mknod /dev/unit{number} c 1 {MINORS[number]}")

    def unplug(self, number: int) -> None:
        """Take it away."""
        self.node.run("rm", f"/dev/unit{number}")

    # -- reading -------------------------------------------------------------------------------------------------------

    def pod(self, selector: str = f"app.kubernetes.io/instance={NAME}", *, other_than: str = "") -> Json:
        """The pod of the plugin, or another one that is selected, as soon as it has an address and is the only one."""

        def found() -> Json | None:
            pods = self.cluster.lab.get("pods", f"--namespace={NAMESPACE}", f"--selector={selector}")["items"]
            alone = len(pods) == 1 and pods[0]["metadata"]["name"] != other_than
            return pods[0] if alone and pods[0]["status"].get("podIP") else None

        return t.cast(Json, until(found, f"a pod with {selector}", WAIT_TIMEOUT))

    def config_map(self) -> tuple[str, str, str]:
        """The ConfigMap that the pod mounts, as arguments of kubectl; the end of its name is a checksum of what the role wrote."""
        (name,) = (volume["configMap"]["name"] for volume in self.pod()["spec"]["volumes"] if "configMap" in volume)
        return "configmap", name, f"--namespace={NAMESPACE}"

    def identity(self) -> Json:
        """The identity of the plugin's container, and how often it was restarted."""
        (status,) = self.pod()["status"]["containerStatuses"]
        return {key: status[key] for key in ("containerID", "restartCount")}

    def processes(self) -> list[Process]:
        """The processes of the plugin, oldest first; more than one while a younger pod is there."""
        return self.node.programs(PROGRAM)

    def process(self) -> Process:
        """The process of the plugin."""
        (process,) = self.processes()
        return process

    def watched(self, pod: Json) -> Sampler:
        """A sampler that observes until the block ends."""
        output = self.cluster.records / "samples" / f"{pod['metadata']['name']}-{os.urandom(4).hex()}.jsonl"
        return Sampler(self.node, pod["status"]["podIP"], output)

    def page(self, path: str) -> str:
        """A page of the plugin."""
        code = f"{Path(plugin_sampler.__file__).read_text(encoding='utf-8').partition('def main')[0]}\nprint(page(*sys.argv[1:])[1])"
        return self.node.run("python3", "-c", code, self.pod()["status"]["podIP"], path)

    def allocatable(self, resource: str) -> str | None:
        """How many of a resource the node's status shows; None when it does not show it."""
        node_allocatable = self.cluster.lab.get("node", self.node.name)["status"]["allocatable"]
        return t.cast("str | None", node_allocatable.get(resource))

    def registrations(self, resource: str) -> int:
        """How often the kubelet accepted a resource of this process."""
        pattern = rf'^device_plugin_registrations_total{{resource="{resource}",result="accepted"}} ([\d.]+)$'
        found = re.search(pattern, self.page("/metrics"), re.MULTILINE)
        assert found, f"no registrations of {resource}"
        return int(float(found[1]))

    # -- changing ------------------------------------------------------------------------------------------------------

    def configure(self, text: str) -> None:
        """Write the configuration behind the role's back, and have the kubelet hand it to the pod at once."""
        patch = {"data": {"config.yaml": text}}
        self.cluster.lab.kubectl("patch", *self.config_map(), "--type=merge", f"--patch={json.dumps(patch)}")
        note = f"example.com/touched={hashlib.sha256(text.encode()).hexdigest()[:10]}-{os.urandom(4).hex()}"
        pod = self.pod()["metadata"]["name"]
        self.cluster.lab.kubectl("annotate", "pod", pod, f"--namespace={NAMESPACE}", "--overwrite", note)

    def reset(self) -> None:
        """Bring it to where each test begins: all healthy but the device that is unplugged, which was healthy before."""
        self.node.systemctl("start", "kubelet")
        self.node.kubelet().send(signal.SIGCONT)
        self.cluster.lab.kubectl(
            "delete", "pod", f"--namespace={NAMESPACE}", "--selector=example.com/twin", "--wait", "--now"
        )
        whole = yaml.safe_dump({"version": "v1", **CONFIG})
        current = self.cluster.lab.get(*self.config_map())["data"]["config.yaml"]
        if yaml.safe_load(current) != yaml.safe_load(whole):
            self.configure(whole)
        with self.watched(self.pod()) as watch:
            self.plug(len(MINORS) - 1)
            watch.until(0, lambda obs: obs.is_right({**IDS, UNIT: [*IDS[UNIT], UNPLUGGED]}), "all devices")
            self.unplug(len(MINORS) - 1)
            watch.until(watch.observations[-1].done, lambda obs: obs.is_right(IDS), f"all devices but {UNPLUGGED}")


class Sampler(Program):
    """A sampler on a node."""

    def __init__(self, node: Node, address: str, output: Path) -> None:
        code = Path(plugin_sampler.__file__).read_text(encoding="utf-8")
        super().__init__(["podman", "exec", "--interactive", node.name, "python3", "-c", code, address], output)
        self._watch = Watch(output)

    def __enter__(self) -> Watch:  # type: ignore[override]
        until(lambda: self._watch.observations, f"the first observation: {self.read_errors()}", WAIT_TIMEOUT)
        return self._watch


def recovery_seconds(watch: Watch, moment: float, ids: t.Mapping[str, t.Sequence[str]] = IDS) -> float:
    """Seconds from the end of a fault until the list is right; more than is promised is an error."""
    seconds = watch.until(moment, lambda obs: obs.is_right(ids), f"the right list, {ids}").done - moment
    assert seconds <= PROMISED, f"the list was right after {seconds:.1f} s"
    return seconds


def check_observations(watch: Watch, ids: t.Mapping[str, t.Sequence[str]] = IDS) -> None:
    """Check what has to hold in each single observation, whatever was done."""
    for obs in watch.observations:
        wrong = {
            name: found for name, found in (obs.allocatable or {}).items() if not set(found) <= set(ids.get(name, ()))
        }
        wrong = {name: found for name, found in wrong.items() if name in IDS}
        assert not wrong, f"offered although unplugged or unknown: {wrong}"
        served = [name for name in IDS if any(entry.startswith(socket_prefix(name)) for entry in obs.sockets)]
        assert obs.ready != 200 or served == list(IDS), f"ready with the sockets {obs.sockets}"


def is_unaffected(watch: Watch, resource: str) -> bool:
    """Whether a resource was always offered as a whole, as far as the kubelet responded."""
    return all(obs.allocatable is None or obs.allocatable.get(resource) == IDS[resource] for obs in watch.observations)

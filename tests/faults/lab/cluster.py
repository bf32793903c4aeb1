# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab as the fault tests use it: its nodes from outside, with the faults that tests put on them."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import shutil
import signal
import subprocess
import time
import typing as t
from pathlib import Path

import yaml
from ansible_collections.nodecraft.kubeadm.lab import runs
from ansible_collections.nodecraft.kubeadm.tests.faults.lab import desired_states, prober, sampler
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.background import Play, Probing, Program, Task
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.samples import Samples

API_SERVER = "kube-apiserver"
COMPONENTS = (API_SERVER, "kube-controller-manager", "kube-scheduler", "etcd")
MANIFESTS = "/etc/kubernetes/manifests"
STATE = "/var/lib/nodecraft-kubeadm"
KUBELET_HEALTH = "http://127.0.0.1:10248/healthz"
LEASE = "nodecraft-kubeadm-control-plane"
POLL_INTERVAL = 0.05
# A cluster of containers on a busy machine; a healthy one needs a few seconds.
HEALTHY_TIMEOUT = 240.0
# A kubelet waits minutes between two starts of what crashed often, as controllers do whose API server is away. One that is
# restarted has forgotten that.
KUBELET_SECONDS = 10.0

Json = dict[str, t.Any]
Value = t.TypeVar("Value")


def until(observe: t.Callable[[], Value], what: str, seconds: float = 180.0) -> Value:
    """Observe until there is a value, and return it. Raises AssertionError when there is none for so many seconds."""
    limit = time.monotonic() + seconds
    while True:
        value = observe()
        if value:
            return value
        assert time.monotonic() < limit, f"not seen within {seconds:.0f} s: {what}"
        time.sleep(POLL_INTERVAL)


def stays(holds: t.Callable[[], t.Any], what: str, seconds: float) -> None:
    """Watch for so many seconds that something stays as it is. Raises AssertionError when it does not."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        assert holds(), f"not so for {seconds:.0f} s: {what}"
        time.sleep(POLL_INTERVAL)


@dataclasses.dataclass(frozen=True)
class Process:
    """A process of a pod on a node. pid: on this machine, whose processes those of all nodes are."""

    pid: int
    arguments: tuple[str, ...]

    def send(self, number: signal.Signals) -> None:
        """Give it a signal; one that is gone already is fine."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def path(self, path: str) -> Path:
        """A path that the process sees, as this machine sees it: on a node also what is mounted there."""
        return Path(f"/proc/{self.pid}/root") / path.lstrip("/")

    def memory_group(self) -> MemoryGroup:
        """What counts and limits the memory of all processes of its pod."""
        groups = dict(
            line.split(":", 2)[1:] for line in Path(f"/proc/{self.pid}/cgroup").read_text(encoding="utf-8").splitlines()
        )
        is_old = "memory" in groups
        path = groups["memory"] if is_old else groups[""]
        directory = Path("/sys/fs/cgroup") / ("memory" if is_old else "") / path.lstrip("/")
        return MemoryGroup(directory.parent / ("memory.limit_in_bytes" if is_old else "memory.max"))


@dataclasses.dataclass(frozen=True)
class MemoryGroup:
    """A control group of memory, of either version."""

    file: Path

    def limit(self, size: int) -> str:
        """Allow so many bytes; empty while they are in use and cannot be taken away."""
        try:
            self.file.write_text(str(size), encoding="ascii")
        except OSError:
            return ""
        return f"limited to {self.file.read_text(encoding='ascii').strip()} bytes"


class Node:
    """One node of a lab, which is a container of podman."""

    def __init__(self, name: str) -> None:
        self.name = name

    @functools.cached_property
    def address(self) -> str:
        """Where the node is reached."""
        inspected = subprocess.run(
            ["podman", "inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", self.name],
            check=True,
            capture_output=True,
            text=True,
        )
        return inspected.stdout.strip()

    @property
    def api_server(self) -> str:
        """Where the API server of a control plane listens."""
        return f"{self.address}:6443"

    def is_ready(self) -> bool:
        """Whether the readyz of a control plane's API server is ok."""
        return sampler.is_healthy(self.api_server, "readyz")

    def has_healthy_kubelet(self) -> bool:
        """Whether the kubelet's healthz is ok, on the port that only the node itself reaches."""
        request = f"import urllib.request; print(urllib.request.urlopen({KUBELET_HEALTH!r}).status)"
        return self.run("python3", "-c", request, check=False).strip() == "200"

    # -- commands ------------------------------------------------------------------------------------------------------

    def run(self, *command: str, stdin: str | None = None, check: bool = True) -> str:
        """What a command on the node prints."""
        done = subprocess.run(
            ["podman", "exec", "--interactive", self.name, *command],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{self.name}: {' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def program(self, *command: str, output: Path) -> Program:
        """A program on the node that ends with the block."""
        return Program(["podman", "exec", "--interactive", self.name, *command], output)

    def systemctl(self, *arguments: str) -> str:
        """systemctl on the node; that a unit is not active is a result as well."""
        return self.run("systemctl", *arguments, check=arguments[0] not in ("is-active", "show")).strip()

    def boot(self) -> str:
        """The identity of a start of the node: when its first process started."""
        inspected = subprocess.run(
            ["podman", "inspect", "--format", "{{.State.StartedAt}}", self.name],
            check=True,
            capture_output=True,
            text=True,
        )
        return inspected.stdout.strip()

    def restart(self) -> None:
        """What a reboot is to a machine."""
        subprocess.run(["podman", "restart", "-t", "10", self.name], check=True, capture_output=True)

    def crash(self) -> None:
        """What pulling its plug and putting it back is to a machine: nothing gets a signal to end."""
        subprocess.run(["podman", "kill", "--signal", "KILL", self.name], check=True, capture_output=True)
        subprocess.run(["podman", "start", self.name], check=True, capture_output=True)

    # -- files ---------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def root(self) -> Path:
        """Where this machine sees the node's files, also while the node is down. /var/lib/kubelet and etcd's are not below it."""
        mounted = subprocess.run(["podman", "mount", self.name], check=True, capture_output=True, text=True)
        return Path(mounted.stdout.strip())

    def path(self, path: str) -> Path:
        """A path of the node as this machine sees it."""
        return self.root / path.lstrip("/")

    def manifest(self, component: str = API_SERVER) -> Path:
        """The manifest of a static pod."""
        return self.path(f"{MANIFESTS}/{component}.yaml")

    def manifests(self) -> dict[str, bytes]:
        """All files that the kubelet takes for pods."""
        return {
            name: self.path(f"{MANIFESTS}/{name}").read_bytes() for name in sampler.names_now(str(self.path(MANIFESTS)))
        }

    def replace(self, path: Path, content: bytes) -> None:
        """Put a file of root in its place at once."""
        temporary = path.with_name(f".{path.name}.by-hand")
        temporary.write_bytes(content)
        temporary.chmod(0o600)
        temporary.rename(path)

    # -- what runs -----------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _container(self) -> str:
        found = subprocess.run(
            ["podman", "inspect", "--format", "{{.Id}}", self.name], check=True, capture_output=True, text=True
        )
        return found.stdout.strip()

    def processes(self, component: str = API_SERVER) -> list[Process]:
        """The processes of a static pod, by their program's name and control group; a rehearsal is in no pod's."""
        return [found for found in self._processes("kubepods") if Path(found.arguments[0]).name == component]

    def programs(self, name: str) -> list[Process]:
        """The processes in pods that run a script of this name."""
        return [
            found
            for found in self._processes("kubepods")
            if name in [Path(argument).name for argument in found.arguments[:2]]
        ]

    def kubelet(self) -> Process:
        """The kubelet."""
        return next(found for found in self._processes("kubelet.service") if Path(found.arguments[0]).name == "kubelet")

    def modules(self) -> list[Process]:
        """What Ansible runs on the node at this moment."""
        return [found for found in self._processes("") if any("AnsiballZ" in argument for argument in found.arguments)]

    def _processes(self, group: str) -> list[Process]:
        found = []
        for directory in Path("/proc").iterdir():
            # A process may end between two reads.
            with contextlib.suppress(OSError):
                if directory.name.isdigit() and self._is_mine(
                    (directory / "cgroup").read_text(encoding="utf-8"), group
                ):
                    arguments = (directory / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")[:-1]
                    if arguments:
                        found.append(Process(int(directory.name), tuple(arguments)))
        return sorted(found, key=lambda process: process.pid)

    def _is_mine(self, groups: str, group: str) -> bool:
        return any(self._container in line and group in line for line in groups.splitlines())

    # -- transactions --------------------------------------------------------------------------------------------------

    def journal(self, component: str = API_SERVER) -> Json | None:
        """The open transaction."""
        return _read_json(self.path(f"{STATE}/{component}/journal.json"))

    def phase(self, component: str = API_SERVER) -> str | None:
        """Where the open transaction is; None when none is open."""
        journal = self.journal(component)
        return journal["phase"] if journal else None

    def progress(self, component: str = API_SERVER) -> str:
        """The last progress message of the engine."""
        progress = _read_json(self.path(f"{STATE}/{component}/progress.json"))
        return progress["message"] if progress else ""

    def history(self, component: str = API_SERVER) -> list[Json]:
        """The transactions that ended, oldest first."""
        directory = self.path(f"{STATE}/{component}/history")
        journals = [_read_json(path) for path in sorted(directory.glob("*.json"))] if directory.is_dir() else []
        return [journal for journal in journals if journal]

    def wait_for_phase(self, phase: str, component: str = API_SERVER, seconds: float = 120.0) -> None:
        """Until the open transaction is there."""
        until(lambda: self.phase(component) == phase, f"{component} of {self.name} {phase}", seconds)

    def wait_for_end(self, component: str = API_SERVER, seconds: float = 500.0) -> Json:
        """Until no transaction is open; what the last one came to."""
        until(lambda: self.journal(component) is None, f"the end of the change of {component} on {self.name}", seconds)
        return t.cast(Json, self.history(component)[-1]["result"])


def _read_json(path: Path) -> Json | None:
    # A file that is replaced at this moment is read the next time.
    with contextlib.suppress(OSError, ValueError):
        return t.cast(Json, json.loads(path.read_text(encoding="utf-8")))
    return None


class Cluster:
    """A lab with what it was like in the beginning."""

    def __init__(self, name: str, records: Path) -> None:
        shape = yaml.safe_load((runs.ROOT / "build/lab" / name / "lab.yml").read_text(encoding="utf-8"))
        self.lab = runs.Lab(name, str(shape["kubernetes"]), shape["control_planes"], shape["workers"])
        self.records = records
        self.nodes = {name: Node(name) for name in self.lab.names}

    @property
    def control_planes(self) -> list[Node]:
        """The control planes, in the order of the inventory."""
        return [self.nodes[name] for name in self.lab.control_plane_names]

    @property
    def workers(self) -> list[Node]:
        """The other nodes."""
        return [self.nodes[name] for name in self.lab.worker_names]

    @property
    def first(self) -> Node:
        """The first control plane."""
        return self.control_planes[0]

    # -- changes -------------------------------------------------------------------------------------------------------

    def task(self, node: Node, module: str, options: Json, *arguments: str, by_ssh: bool = False) -> Task:
        """Begin one task on a node, as a user would run it. It ends with the block, one way or the other."""
        output = self.records / "runs" / f"{module}-{time.monotonic_ns()}.json"
        return Task(self.lab, node.name, module, options, output, *arguments, by_ssh=by_ssh)

    def play(self, playbook: str, variables: Json, *arguments: str) -> Play:
        """Begin a playbook. It ends with the block, one way or the other."""
        output = self.records / "runs" / f"{Path(playbook).stem}-{time.monotonic_ns()}.json"
        return Play(self.lab, playbook, variables, output, *arguments)

    def change(self, desired: Json, **settings: t.Any) -> Task:
        """Begin a change of the first API server."""
        return self.task(
            self.first, "static_pod", {"name": API_SERVER, **desired_states.BRISK, **desired, **settings}, by_ssh=True
        )

    # -- watching ------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def sampled(self, node: Node, component: str = API_SERVER) -> t.Iterator[Sampling]:
        """Watch a manifest and its API server for as long as the block lasts."""
        output = self.records / "samples" / f"{node.name}-{time.monotonic_ns()}.jsonl"
        command = [sampler.__file__, str(node.manifest(component)), node.api_server]
        sampling = Sampling(output)
        with Program.python(*command, output=output) as program:
            until(lambda: sampling.kinds() >= {"manifest", "names", *sampler.PATHS}, "the first samples", 20)
            yield sampling
            program.close_input()

    @contextlib.contextmanager
    def probed(self) -> t.Iterator[Probing]:
        """Use the API through the load balancer for as long as the block lasts."""
        output = self.records / "probes" / f"{time.monotonic_ns()}.jsonl"
        probing = Probing(output)
        with Program.python(prober.__file__, str(self.lab.directory / "kubeconfig"), output=output) as program:
            until(lambda: probing.began, f"the first requests: {program.read_errors()}", 30)
            yield probing
            program.close_input()

    # -- the state of all ----------------------------------------------------------------------------------------------

    def find_problem(self) -> str:
        """What is wrong with a cluster that is not being changed; empty when nothing is."""
        for node in self.control_planes:
            for component in COMPONENTS:
                container = yaml.safe_load(node.manifest(component).read_bytes())["spec"]["containers"][0]
                running = node.processes(component)
                if [list(process.arguments) for process in running] != [container["command"]]:
                    return f"{component} on {node.name} does not run what its manifest says"
            if not node.is_ready():
                return f"the API server of {node.name} is not ready"
        return self.unready_nodes()

    def unready_nodes(self) -> str:
        """Which nodes are not ready according to the API, through the load balancer where there is one; empty when all are."""
        response = self.lab.kubectl("get", "nodes", "--output=json", "--request-timeout=5s", check=False)
        # Without a response kubectl prints nothing, or a list of nothing.
        nodes = json.loads(response)["items"] if response else []
        if not nodes:
            return "the API does not answer"
        unready = [
            node["metadata"]["name"]
            for node in nodes
            if not any(
                condition["type"] == "Ready" and condition["status"] == "True"
                for condition in node["status"]["conditions"]
            )
        ]
        return f"not ready: {', '.join(unready)}" if unready else ""

    def wait_until_healthy(self, seconds: float = HEALTHY_TIMEOUT) -> None:
        """Until nothing is wrong. Raises AssertionError with what is."""
        limit = time.monotonic() + seconds
        while True:
            find_problem = self.find_problem()
            if not find_problem:
                return
            assert time.monotonic() < limit, find_problem
            time.sleep(POLL_INTERVAL)

    @functools.cached_property
    def _original(self) -> Path:
        """The manifests as kubeadm wrote them, saved with the lab by the first test that ever used it."""
        directory = self.lab.directory / "original"
        if not directory.exists():
            self.wait_until_healthy()
            making = directory.with_name("original.part")
            for node in self.control_planes:
                shutil.copytree(node.path(MANIFESTS), making / node.name)
            making.rename(directory)
        return directory

    def original(self, node: Node) -> Path:
        """The directory of a control plane's manifests as kubeadm wrote them."""
        return self._original / node.name

    def reset(self) -> None:
        """Bring the lab back to what it was in the beginning, whatever a test left, and forget all transactions."""
        original = self._original
        for node in self.nodes.values():
            node.systemctl("stop", "nodecraft-kubeadm@*.service")
            shutil.rmtree(node.path(STATE), ignore_errors=True)
            _forget_kubelet_changes(node)
            node.systemctl("start", "containerd", "kubelet")
        for node in self.control_planes:
            _reset_manifests(node, original / node.name)
        self._wait_with_help()
        self.lab.kubectl("delete", "lease", "--namespace=kube-system", "--ignore-not-found", LEASE)

    def _wait_with_help(self) -> None:
        try:
            self.wait_until_healthy(KUBELET_SECONDS)
        except AssertionError:
            for node in self.control_planes:
                node.systemctl("restart", "kubelet")
            self.wait_until_healthy()


def _forget_kubelet_changes(node: Node) -> None:
    own_files = [
        node.path("/etc/systemd/system/kubelet.service.d/20-nodecraft-kubeadm.conf"),
        node.path("/etc/kubernetes/kubelet.conf.d"),
    ]
    if any(path.exists() for path in own_files):
        node.systemctl("stop", "kubelet")
        # A kubelet does not start over the state file of a policy that is taken away here.
        states = [
            path for name in ("cpu", "memory") for path in node.path("/var/lib/kubelet").glob(f"{name}_manager_state*")
        ]
        for path in [*own_files, *states]:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        node.systemctl("daemon-reload")
        node.systemctl("start", "kubelet")


def _reset_manifests(node: Node, original: Path) -> None:
    directory = node.path(MANIFESTS)
    for path in directory.iterdir():
        if not (original / path.name).exists():
            path.unlink()
    for original_file in original.iterdir():
        path = directory / original_file.name
        if path.is_symlink() or not path.exists() or path.read_bytes() != original_file.read_bytes():
            node.replace(path, original_file.read_bytes())


class Sampling:
    """A sampler at work, or done."""

    def __init__(self, output: Path) -> None:
        self._output = output

    def kinds(self) -> set[str]:
        """What it has seen at least once."""
        return {line["kind"] for line in self.samples.lines}

    def written(self) -> float | None:
        """When the manifest changed first; None when it did not yet."""
        return self.samples.written()

    def is_quiet(self, seconds: float) -> bool:
        """Whether no file changed for so long."""
        return time.monotonic() - self.samples.last_written() > seconds

    @property
    def samples(self) -> Samples:
        """What it has seen until now."""
        return Samples.read(self._output)

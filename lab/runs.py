# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What programs share that work on a lab: a fresh one, runs of ansible-playbook, and snapshots of nodes and cluster."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import subprocess
import tempfile
import threading
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.lab.guard import CommandFailed, lock_lab
from ansible_collections.nodecraft.kubeadm.lab.processes import end_process, run_ansible
from ansible_collections.nodecraft.kubeadm.lab.waiting import Waiting
from ansible_collections.nodecraft.kubeadm.tests.sessions.clusters import LAB_SETTINGS
from ansible_collections.nodecraft.kubeadm.tests.sessions.console import echo

ROOT = Path(__file__).resolve().parents[1]
UNIT, FULL = "example.com/unit", "example.com/full"
# What device plugins of the lab offer. A kubelet shows their capacity for five minutes after they are gone, and their names for ever.
PLUGIN_RESOURCES = (UNIT, FULL, "example.com/resource")
# What the lifecycle controller sets by the conditions of a node and by spec.unschedulable: these taints come and go.
LIFECYCLE_TAINTS = {
    f"node.kubernetes.io/{name}"
    for name in (
        "disk-pressure",
        "memory-pressure",
        "network-unavailable",
        "not-ready",
        "pid-pressure",
        "unreachable",
        "unschedulable",
    )
}
# Each prints, as JSON, one part of the state of the node that it runs on.
KUBELET_SNAPSHOT = ROOT / "extensions/molecule/node_kubelet/kubelet_snapshot.py"
SNAPSHOTS = (ROOT / "extensions/molecule/common/snapshot.py", KUBELET_SNAPSHOT)

KUBEADM_GRACE = 30  # terminationGracePeriodSeconds of static pods as kubeadm makes them
KUBELET_STATUS = 10  # seconds from one report of a kubelet on its node to the next, as Kubernetes has it

Json = dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Lab:
    """A lab as make describes it.

    by_ssh: whether its nodes are changed by SSH, else by podman. grace_seconds: what its control plane's pods get to end.
    node_status_seconds: how often its kubelets report.
    """

    name: str
    kubernetes: str
    control_planes: int
    workers: int
    by_ssh: bool = False
    grace_seconds: int = KUBEADM_GRACE
    node_status_seconds: int = KUBELET_STATUS

    @classmethod
    def from_environment(
        cls, *, by_ssh: bool = False, grace_seconds: int = KUBEADM_GRACE, node_status_seconds: int = KUBELET_STATUS
    ) -> Lab:
        """The lab that LAB, K8S, CONTROL_PLANES and WORKERS describe."""
        env = os.environ
        control_planes, workers = (_parse_positive(name, env[name]) for name in ("CONTROL_PLANES", "WORKERS"))
        return cls(env["LAB"], env["K8S"], control_planes, workers, by_ssh, grace_seconds, node_status_seconds)

    @property
    def first(self) -> str:
        """The first control plane node."""
        return f"{self.name}-cp1"

    @property
    def worker_names(self) -> list[str]:
        """The nodes that are no control planes."""
        return [f"{self.name}-w{number}" for number in range(1, self.workers + 1)]

    @property
    def control_plane_names(self) -> list[str]:
        """The control planes."""
        return [f"{self.name}-cp{number}" for number in range(1, self.control_planes + 1)]

    @property
    def names(self) -> list[str]:
        """All nodes."""
        return [*self.control_plane_names, *self.worker_names]

    @property
    def directory(self) -> Path:
        """What making the lab left there."""
        return ROOT / "build/lab" / self.name

    @property
    def inventory(self) -> Path:
        """Its nodes, with the connection that by_ssh selects."""
        return self.directory / ("inventory-ssh.yml" if self.by_ssh else "inventory.yml")

    @property
    def environment(self) -> dict[str, str]:
        """With the administrator's credentials, and past any proxy: the lab's network is this machine's own."""
        (server,) = re.findall(r"server: https://(.+):\d+", (self.directory / "kubeconfig").read_text(encoding="utf-8"))
        own = environment()
        return {
            **own,
            **{name: ",".join(filter(None, (server, own.get(name)))) for name in ("NO_PROXY", "no_proxy")},
            **dict.fromkeys(("KUBECONFIG", "K8S_AUTH_KUBECONFIG"), str(self.directory / "kubeconfig")),
        }

    def recreate(
        self, log: Path, program: str, on_removed: t.Callable[[], None] = lambda: None, seconds_after: float = 0
    ) -> float:
        """Remove what the program left of this lab and make it; returns the seconds that making it took.

        A lab that the program did not make stays, and so does each one when this one cannot be made.
        on_removed: called when nothing of it is there any more, and what is there from now on is the program's.
        seconds_after: what the program usually takes from then on.
        """
        log.unlink(missing_ok=True)
        variables: Json = {
            "lab_program": program,
            "lab_kubernetes": self.kubernetes,
            "lab_control_planes": self.control_planes,
            "lab_workers": self.workers,
            "lab_grace_seconds": self.grace_seconds,
            "lab_node_status_seconds": self.node_status_seconds,
        }
        with Waiting(f"the remains of an earlier lab {self.name} are removed", 5):
            self.play("down", log, **variables)
        on_removed()
        began = time.monotonic()
        self.play("up", log, show=True, seconds_after=seconds_after, lab_show_usage=False, **variables)
        return time.monotonic() - began

    def device_plugin(self, log: Path) -> Json:
        """The image archive of our device plugin, as variables of the role; built where it is not in the cache."""
        with self.build_device_plugin(log) as image:
            return image()

    @contextlib.contextmanager
    def build_device_plugin(self, log: Path) -> t.Iterator[t.Callable[[], Json]]:
        """Have the image archive of our device plugin built meanwhile, where it is not in the cache.

        Yields what waits for it, and returns it as variables of the role.
        """
        log.unlink(missing_ok=True)
        started: list[subprocess.Popen[str]] = []
        over = threading.Event()
        variables: Json = {"lab_kubernetes": self.kubernetes, "lab_sample_enabled": "false"}

        def wait_for_image() -> Json:
            with Waiting("the image of the device plugin is built (once)", 90):
                built.result()
            return t.cast(Json, json.loads((self.directory / "device_plugins.json").read_text(encoding="utf-8"))["own"])

        def register_process(process: subprocess.Popen[str]) -> None:
            started.append(process)
            if over.is_set():
                process.terminate()

        with ThreadPoolExecutor(1) as pool:
            built = pool.submit(self.play, "device_plugins", log, on_start=register_process, **variables)
            try:
                yield wait_for_image
            finally:
                over.set()
                for process in started if not built.done() else ():
                    end_process(process)

    def play(
        self,
        playbook: str,
        log: Path,
        *,
        show: bool = False,
        seconds_after: float = 0,
        on_start: t.Callable[[subprocess.Popen[str]], None] | None = None,
        **variables: t.Any,
    ) -> None:
        """Run a playbook of the lab: the one place where that is done. What it prints goes into a log; show: on the terminal, too.

        Its callback, lab/callback/progress.py, prints what takes long and, in one sentence, what failed.
        seconds_after: what usually comes after it. on_start: gets its process, and others have the processor first.
        """
        reasons: list[str] = []
        extra = json.dumps({"lab_name": self.name, **variables})
        command = [*(["nice"] if on_start else []), "ansible-playbook", f"lab/{playbook}.yml", f"--extra-vars={extra}"]
        with lock_lab(self.name) as lock, log.open("a", encoding="utf-8") as output:

            def on_line(line: str) -> None:
                print(line, file=output, flush=True)
                if show:
                    echo(f"   {line}")

            status = run_ansible(
                command,
                cwd=ROOT,
                env={**environment(), **LAB_SETTINGS, "SECONDS_AFTER_LAB": str(seconds_after)},
                stdout=None,
                on_start=on_start,
                on_event=lambda event: reasons.append(event["message"]) if event["event"] == "failure" else None,
                on_line=on_line,
                inherits=[lock],
            )
        if status != 0 and not reasons:
            raise CommandFailed(command[:2], log.read_text(encoding="utf-8"))
        if status != 0:
            # A loop has a failure of its own, without a reason: the first one has it. With show it is printed already.
            raise SystemExit(1 if show else " ".join(reasons[0].split()))

    def exec_on_first(self, *command: str) -> str:
        """Run a command on the first control plane node; returns its output."""
        done = subprocess.run(["podman", "exec", self.first, *command], capture_output=True, text=True, check=True)
        return done.stdout

    def take_snapshot(self) -> dict[str, Json]:
        """Of every node: manifests, files of the kubelet, processes."""
        return {
            name: {key: part for path in SNAPSHOTS for key, part in self._run_script(name, path).items()}
            for name in self.names
        }

    def pods_on_nodes(self) -> set[str]:
        """The UIDs of all pods of which a process runs on a node, whatever the API knows of them."""
        return {entry["pod"] for name in self.names for entry in self._run_script(name, KUBELET_SNAPSHOT)["in_pods"]}

    def pods_in_api(self) -> set[str]:
        """The UIDs of all pods that should run. A static pod has the hash of its manifest for a UID on its node."""
        found = [pod["metadata"] for pod in self.get("pods", "--all-namespaces")["items"]]
        return {
            meta.get("annotations", {}).get("kubernetes.io/config.hash", meta["uid"])
            for meta in found
            if "deletionTimestamp" not in meta
        }

    @staticmethod
    def _run_script(name: str, path: Path) -> Json:
        with path.open(encoding="utf-8") as script:
            done = subprocess.run(
                ["podman", "exec", "--interactive", name, "python3", "-"],
                stdin=script,
                capture_output=True,
                text=True,
                check=True,
            )
        return t.cast(Json, json.loads(done.stdout))

    def kubectl(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        """What kubectl prints, as the administrator."""
        done = self._kubectl(arguments, stdin)
        if check and done.returncode != 0:
            raise CommandFailed(done.args, done.stdout + done.stderr)
        return done.stdout

    def kubectl_error(self, *arguments: str, stdin: str | None = None) -> str:
        """Why kubectl fails; empty when it does not."""
        done = self._kubectl(arguments, stdin)
        return done.stderr.strip() if done.returncode != 0 else ""

    def _kubectl(self, arguments: t.Sequence[str], stdin: str | None) -> subprocess.CompletedProcess[str]:
        command = [str(self.directory / "kubectl"), f"--kubeconfig={self.directory / 'kubeconfig'}", *arguments]
        return subprocess.run(command, env=self.environment, input=stdin, capture_output=True, text=True, check=False)

    def get(self, *arguments: str) -> Json:
        """One object."""
        return t.cast(Json, json.loads(self.kubectl("get", "--output=json", *arguments)))

    def node_objects(self) -> dict[str, Json]:
        """Of every Node what the collection may change, its annotations, and whether pods may go there."""
        return {
            node["metadata"]["name"]: {
                "labels": node["metadata"]["labels"],
                "annotations": node["metadata"]["annotations"],
                "taints": [
                    {key: value for key, value in taint.items() if key != "timeAdded"}
                    for taint in node["spec"].get("taints", [])
                    if taint["key"] not in LIFECYCLE_TAINTS
                ],
                "unschedulable": node["spec"].get("unschedulable", False),
                "capacity": node["status"]["capacity"],
            }
            for node in self.get("nodes")["items"]
        }


def _parse_positive(name: str, text: str) -> int:
    if not (text.isdecimal() and int(text) > 0):
        raise SystemExit(f"invalid {name} {text}: must be a whole number above 0.")
    return int(text)


def environment() -> dict[str, str]:
    """That of this process. A module over one call into a node instead of five takes a fraction of the time."""
    return {"ANSIBLE_PIPELINING": "true", **os.environ}


class Observer:
    """Gets the events and lines of a run while it runs."""

    def __init__(self, what: str, usually: float | None = None) -> None:
        self.what = what
        self.usually = usually

    def on_event(self, event: Json, waiting: Waiting) -> None:
        """An event of lab/callback/lab_events.py."""

    def on_line(self, line: str, waiting: Waiting) -> None:
        """Another line, such as the progress of a transaction on a node."""


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of a playbook. report: what the JSON callback wrote."""

    rc: int
    seconds: float
    report: dict[str, t.Any]

    @property
    def changed(self) -> int:
        """How many tasks changed something, on all hosts together."""
        return sum(counts["changed"] for counts in self.report["stats"].values())

    def results(self, *modules: str) -> t.Iterator[Json]:
        """Every result of these modules, in the order of the tasks."""
        for play in self.report["plays"]:
            for task in play["tasks"]:
                for host, result in task["hosts"].items():
                    if result.get("action", "").rpartition(".")[2] in modules:
                        for one in result.get("results", [result]):
                            yield {**one, "host": host}

    @property
    def lines(self) -> list[str]:
        """The summary at its end: of the last step of its roles or its playbook."""
        steps = list(self.results("rollout"))
        return list(steps[-1].get("lines") or ()) if steps else []

    @property
    def reasons(self) -> list[str]:
        """Why it failed, each reason once."""
        tasks = [result for play in self.report["plays"] for task in play["tasks"] for result in task["hosts"].values()]
        # ansible-core 2.21 marks a failed item of a loop by its exception alone.
        failed = [
            one
            for result in tasks
            for one in result.get("results", [result])
            if one.get("failed") or "exception" in one
        ]
        return list(dict.fromkeys(one["msg"] for one in failed if "msg" in one))

    def changes(self, *modules: str) -> list[Json]:
        """The transactions on nodes, as results, in the order of the tasks."""
        return [result for result in self.results(*modules) if result.get("transaction")]


def run_playbook(
    lab: Lab,
    variables: t.Mapping[str, t.Any],
    record: Path,
    *arguments: str,
    desired: Path | None = None,
    name: str = "site",
    observer: Observer | None = None,
) -> Run:
    """Run a playbook as a user would, and keep the JSON of it. desired: an inventory with the desired state."""
    inventories = [f"--inventory={path}" for path in (lab.inventory, desired) if path]
    extra = f"--extra-vars={json.dumps(variables)}"
    command = ["ansible-playbook", *inventories, f"playbooks/{name}.yml", extra, *arguments]
    return _run(lab, record, command, observer or Observer(f"{name}.yml runs"))


def run_module(
    lab: Lab,
    name: str,
    options: t.Mapping[str, t.Any],
    record: Path,
    *arguments: str,
    host: str = "localhost",
    observer: Observer | None = None,
) -> Run:
    """Run a module of the collection, on the controller unless nodes are named, and keep the JSON of it. Nodes take turns."""
    inventory = [] if host == "localhost" else [f"--inventory={lab.inventory}", "--forks=1", "--diff"]
    module = [f"--module-name=nodecraft.kubeadm.{name}", f"--args={json.dumps(options)}"]
    return _run(lab, record, ["ansible", host, *inventory, *module, *arguments], observer or Observer(f"{name} runs"))


def _run(lab: Lab, record: Path, command: list[str], observer: Observer) -> Run:
    began = time.monotonic()
    lines: list[str] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as stdout, Waiting(observer.what, observer.usually) as waiting:

        def on_line(line: str) -> None:
            lines.append(line)
            observer.on_line(line, waiting)

        status = run_ansible(
            command,
            cwd=ROOT,
            env={**lab.environment, "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json"},
            stdout=stdout,
            on_event=lambda event: observer.on_event(event, waiting),
            on_line=on_line,
        )
        stdout.seek(0)
        output = stdout.read()
    seconds = time.monotonic() - began
    # Ansible may print other lines before the report.
    start = f"\n{output}".find("\n{\n")
    if start < 0:
        raise CommandFailed(command, output + "\n".join(lines))
    report = json.loads(output[start:])
    record.write_text(json.dumps(report, indent=2), encoding="utf-8")
    return Run(status, seconds, report)

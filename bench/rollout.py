# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rollout costs the controller, beside one ping of the same hosts.

No lab: the nodes are processes of this machine whose modules return at once, so all that is measured is overhead, that of
starting a module among it. Times are CPU seconds of ansible-playbook with all its processes and modules.
"""

from __future__ import annotations

import dataclasses
import math
import os
import shutil
import statistics
import subprocess
import sys
import threading
import typing as t
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.bench.figures import OUTPUT, Part
from ansible_collections.nodecraft.kubeadm.tests.sessions.console import echo
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage

if t.TYPE_CHECKING:
    from ansible_collections.nodecraft.kubeadm.lab.runs import Lab

CONTROL_PLANES = 3
# From here the start of ansible-playbook itself no longer counts.
FITTED_FROM = 20
POLL_INTERVAL = 0.05

# Each node offers devices, so a turn has both requests to the API: what its kubelet uses, and whether its devices are back.
PLAY: Json = {"node_kubelet_config": {"maxPods": 50}, "stub_api": {"devices": {"others": [4]}}}
SITE: Json = {**PLAY, "control_plane_components": {}}


@dataclasses.dataclass(frozen=True)
class Case:
    """One play. host: variables of each host. play: of the play. changes: whether every kubelet is changed."""

    title: str
    run: t.Callable[[Stage, t.Mapping[str, Json]], Outcome]
    host: Json = dataclasses.field(default_factory=dict)
    changes: bool = False


@dataclasses.dataclass(frozen=True)
class Sample:
    """What one play cost. cpu: seconds. rss: MiB of ansible-playbook and of its largest worker. tasks, all_tasks: of the worst
    host and of all, tasks that began and modules that ran. lines: of output."""

    cpu: float
    rss: float
    tasks: int
    all_tasks: int
    lines: int


def _ping(stage: Stage, groups: t.Mapping[str, Json]) -> Outcome:
    return stage.play(groups, tasks=[{"ansible.builtin.ping": {}}])


def _role(max_unavailable: int) -> t.Callable[[Stage, t.Mapping[str, Json]], Outcome]:
    variables = {**PLAY, "node_kubelet_max_unavailable": max_unavailable}
    return lambda stage, groups: stage.play(groups, roles=["nodecraft.kubeadm.node_kubelet"], vars=variables)


def _site(stage: Stage, groups: t.Mapping[str, Json]) -> Outcome:
    return stage.playbook("site", groups, variables={**SITE, "node_kubelet_max_unavailable": 10})


CHANGES: Json = {"stub": {"kubelet": "changes"}}
ALL_CHANGES: Json = {"stub": {"kubelet": "on", "kube-apiserver": "on"}, "stub_nodes": {"node_label": "changes"}}
PING = "ping"
CASES = {
    PING: Case("ping", _ping),
    "unchanged": Case("node_kubelet, nothing to change", _role(1)),
    "one": Case("node_kubelet, all change, one at a time", _role(1), CHANGES, changes=True),
    "ten": Case("node_kubelet, all change, ten at a time", _role(10), CHANGES, changes=True),
    "site-unchanged": Case("site.yml, nothing to change", _site),
    "site-ten": Case("site.yml, all change, kubelets ten at a time", _site, ALL_CHANGES, changes=True),
}
# The same for every case: what is played, by its core and its size.
Samples = dict[str, dict[int, dict[str, list[Sample]]]]


def list_from_environment(name: str, default: t.Sequence[str]) -> list[str]:
    """A list in the environment."""
    return os.environ.get(name, "").split() or list(default)


def pythons() -> list[str]:
    """The interpreters that have an ansible-core to measure: this one, and another release's."""
    return [sys.executable, *list_from_environment("BENCH_OTHER_PYTHON", ())]


def core_of(python: str) -> str:
    """Its release of ansible-core."""
    program = "import ansible.release; print(ansible.release.__version__)"
    return subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def groups_of(size: int, variables: Json) -> dict[str, Json]:
    """An inventory of so many hosts."""
    planes = {f"cp{number}": variables for number in range(1, CONTROL_PLANES + 1)}
    workers = {f"w{number}": variables for number in range(1, size - CONTROL_PLANES + 1)}
    return {"kube_control_plane": planes, "kube_node": workers}


class Meter:
    """Starts ansible-playbook. cpu: seconds that it and its processes took. rss: MiB that it and its largest worker had."""

    def __init__(self) -> None:
        self.cpu = 0.0
        self.rss = 0.0

    def start(self, command: list[str], directory: Path, environment: dict[str, str]) -> tuple[int, str]:
        """Run a command to its end."""
        log = directory / "output"
        with log.open("w", encoding="utf-8") as output:
            process = subprocess.Popen(command, cwd=directory, env=environment, stdout=output, stderr=subprocess.STDOUT)
        ended = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(process.pid, ended))
        watcher.start()
        _pid, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        ended.set()
        watcher.join()
        self.cpu = usage.ru_utime + usage.ru_stime
        return process.returncode, log.read_text(encoding="utf-8", errors="replace")

    def _watch(self, pid: int, ended: threading.Event) -> None:
        own = worker = 0.0
        while not ended.wait(POLL_INTERVAL):
            own = max(own, _peak(pid))
            worker = max([worker, *map(_peak, _children(pid))])
        self.rss = own + worker


def _peak(pid: int) -> float:
    """MiB that a process had at the most; 0 when it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), 0.0)


def _children(pid: int) -> list[int]:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for thread in threads for child in (thread / "children").read_text("ascii").split()]
    except OSError:
        return []


def sample(case: Case, python: str, size: int) -> Sample:
    """Play once, on a stage of its own. Ends the program when the play did not do what it is measured for."""
    directory = OUTPUT / "rollout"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    meter = Meter()
    outcome = case.run(Stage(directory, python=python, start_by=meter.start), groups_of(size, case.host))
    changed = len(set(outcome.hosts("change", "kubelet")))
    if outcome.status != 0 or changed != (size if case.changes else 0):
        raise SystemExit(
            f"{case.title} on {size} hosts changed {changed} kubelets and ended with {outcome.status}: see {directory}/output"
        )
    counts = outcome.tasks.values()
    return Sample(meter.cpu, meter.rss, max(counts), sum(counts), outcome.output.count("\n"))


def median(samples: t.Sequence[Sample]) -> float:
    """Of the CPU seconds."""
    return statistics.median(each.cpu for each in samples)


def exponent(seconds: t.Mapping[int, float]) -> float | None:
    """How cost grows with size: the slope of its logarithm over that of the size. None with less than two sizes."""
    points = [(math.log(size), math.log(cost)) for size, cost in seconds.items() if size >= FITTED_FROM and cost > 0]
    if len(points) < 2:
        return None
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def growth(by_size: t.Mapping[int, t.Mapping[str, t.Sequence[Sample]]], name: str) -> float | None:
    """The exponent of a case, net of ping."""
    sizes = {size: cases for size, cases in by_size.items() if cases.get(name) and cases.get(PING)}
    return exponent({size: median(cases[name]) - median(cases[PING]) for size, cases in sizes.items()})


def table(samples: Samples) -> list[str]:
    """Lines of Markdown: a row for each case, with a column for each core and size."""
    columns = [(core, size) for core, by_size in samples.items() for size in by_size]
    heads = [*(f"{core}: {size} hosts" for core, size in columns), *(f"{core}: exponent" for core in samples)]
    lines = [
        "CPU seconds (times ping; tasks and modules of the worst host; MiB of ansible-playbook with its largest worker)",
        "",
        f"| | {' | '.join(heads)} |",
        f"| --- |{' --- |' * len(heads)}",
    ]
    for name, case in CASES.items():
        cells = [_cell(samples[core][size], name) for core, size in columns]
        slopes = [None if name == PING else growth(by_size, name) for by_size in samples.values()]
        cells += ["" if slope is None else f"{slope:.2f}" for slope in slopes]
        if any(cells):
            lines.append(f"| {case.title} | {' | '.join(cells)} |")
    return lines


def _cell(cases: t.Mapping[str, t.Sequence[Sample]], name: str) -> str:
    found = cases.get(name)
    if not found:
        return ""
    ratio = f"{median(found) / median(cases[PING]):.1f} x; " if name != PING and cases.get(PING) else ""
    return f"{median(found):.1f} ({ratio}{found[0].tasks}; {max(each.rss for each in found):.0f} MiB)"


def measure(_lab: Lab) -> Part:
    """All cases in turn, at one size after the other.

    BENCH_SIZES, BENCH_CASES, BENCH_ROUNDS: how many hosts, which cases (ping is always one), how often. BENCH_OTHER_PYTHON: an
    interpreter with another ansible-core, for which BENCH_OTHER_SIZES may leave out some sizes.
    """
    sizes = [int(size) for size in list_from_environment("BENCH_SIZES", ("5", "20", "100", "200"))]
    other_sizes = [int(size) for size in list_from_environment("BENCH_OTHER_SIZES", [str(size) for size in sizes])]
    names = [PING, *(name for name in list_from_environment("BENCH_CASES", list(CASES)) if name != PING)]
    if unknown := set(names) - set(CASES):
        raise SystemExit(f"BENCH_CASES: {', '.join(sorted(unknown))}: choose from {', '.join(CASES)}")
    cores = {core_of(python): python for python in pythons()}
    own = core_of(sys.executable)
    measured = {core: [size for size in sizes if core == own or size in other_sizes] for core in cores}
    samples: Samples = {core: {size: {name: [] for name in names} for size in measured[core]} for core in cores}
    for size in sizes:
        for number in range(1, int(os.environ.get("BENCH_ROUNDS", "1")) + 1):
            for name in names:
                for core in (core for core in cores if size in measured[core]):
                    found = sample(CASES[name], cores[core], size)
                    samples[core][size][name].append(found)
                    echo(f"rollout, {size} hosts, {number}: {name} on {core}: {found.cpu:.1f} s, {found.tasks} tasks")
    figures = {
        core: {
            size: {name: [dataclasses.asdict(each) for each in found] for name, found in cases.items()}
            for size, cases in by_size.items()
        }
        for core, by_size in samples.items()
    }
    return Part("Rollouts", table(samples), {"samples": figures})

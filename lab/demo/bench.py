# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a change of the API server costs, beside the bare rename of the same manifest on the same cluster."""

from __future__ import annotations

import dataclasses
import http.client
import json
import os
import ssl
import statistics
import subprocess
import sys
import threading
import time
import typing as t

from runs import ROOT, Lab, run_playbook  # type: ignore[import-not-found]  # beside this program

OUTPUT = ROOT / "build/bench"
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
REPEATS = 5
PLUGIN = "ExtendedResourceToleration"
MANIFEST = "/etc/kubernetes/manifests/kube-apiserver.yaml"
# What people do by hand: edit a copy elsewhere, then put it in place with one rename.
RENAME = f"""
sed '{{expression}}' {MANIFEST} > /etc/kubernetes/bench.yaml && chmod 0600 /etc/kubernetes/bench.yaml && mv /etc/kubernetes/bench.yaml {MANIFEST}
"""
SWITCH_ON = f"s/=NodeRestriction$/=NodeRestriction,{PLUGIN}/"
SWITCH_OFF = f"s/=NodeRestriction,{PLUGIN}$/=NodeRestriction/"
MIN_READY = 10
# An API server whose clients have not come back yet stops sooner: every change starts from a cluster at rest.
SETTLE = 30


@dataclasses.dataclass(frozen=True)
class Sample:
    """One change. total: until the way that was taken calls it done. outage: from the first failed probe to the last."""

    way: str
    direction: str
    outage: float
    total: float


class Probe(threading.Thread):
    """Asks the API server whether it is ready, ten times a second, and keeps the answers."""

    def __init__(self, lab: Lab) -> None:
        super().__init__(daemon=True)
        networks = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        inspect = ["podman", "inspect", "--format", networks, lab.first]
        self._address = subprocess.run(inspect, capture_output=True, text=True, check=True).stdout.strip()
        self._tls = ssl.create_default_context(cadata=lab.ask("cat", "/etc/kubernetes/pki/ca.crt"))
        self._answers: list[tuple[float, bool]] = []

    def run(self) -> None:
        """Ask for ever."""
        while True:
            self._answers.append((time.monotonic(), self.ready()))
            time.sleep(0.1)

    def ready(self) -> bool:
        """Ask once."""
        connection = http.client.HTTPSConnection(self._address, 6443, timeout=2, context=self._tls)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False
        finally:
            connection.close()

    def failures_since(self, began: float) -> list[float]:
        """When probes failed."""
        return [at for at, ready in self._answers if at >= began and not ready]

    def wait_ready(self, began: float) -> None:
        """Until the API server went away and has been ready for two seconds."""
        while True:
            time.sleep(0.1)
            failed = self.failures_since(began)
            if failed and time.monotonic() - failed[-1] > 2:
                return

    def outage(self, began: float) -> float:
        """From the first failed probe until all succeed again, and when that was."""
        failed = self.failures_since(began)
        return failed[-1] + 0.1 - failed[0] if failed else 0.0

    def end(self, began: float) -> float:
        """Seconds until probes succeeded again."""
        return self.failures_since(began)[-1] + 0.1 - began


def rename(lab: Lab, probe: Probe, direction: str, expression: str) -> Sample:
    """The bare rename; done when the API server is ready."""
    began = time.monotonic()
    lab.ask("sh", "-c", RENAME.format(expression=expression))
    probe.wait_ready(began)
    return Sample("bare rename", direction, probe.outage(began), probe.end(began))


def module(lab: Lab, probe: Probe, direction: str, state: str) -> Sample:
    """The module by the ansible command; done when the command ends, proof and watching included."""
    options = {
        "name": "kube-apiserver",
        "admission_plugins": {PLUGIN: state},
        "min_ready_seconds": MIN_READY,
    }
    began = time.monotonic()
    ansible(lab, lab.first, "nodecraft.kubeadm.static_pod", f"--args={json.dumps(options)}")
    ended = time.monotonic()
    probe.wait_ready(began)
    return Sample("static_pod", direction, probe.outage(began), ended - began)


def ansible(lab: Lab, hosts: str, name: str, *arguments: str) -> float:
    """Run one module; returns the seconds that took."""
    began = time.monotonic()
    command = ["ansible", f"--inventory={lab.inventory}", hosts, f"--module-name={name}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    return time.monotonic() - began


def measure_changes(lab: Lab) -> list[Sample]:
    """Both ways in turn, on and off, so that neither has the better cluster."""
    probe = Probe(lab)
    probe.start()
    samples = []
    for number in range(1, ROUNDS + 1):
        for take in (
            lambda: rename(lab, probe, "on", SWITCH_ON),
            lambda: rename(lab, probe, "off", SWITCH_OFF),
            lambda: module(lab, probe, "on", "enabled"),
            lambda: module(lab, probe, "off", "default"),
        ):
            time.sleep(SETTLE)
            sample = take()
            samples.append(sample)
            say(
                f"round {number}: {sample.way}, {sample.direction}: outage {sample.outage:.1f} s, done after {sample.total:.1f} s"
            )
    return samples


def measure_rehearsals(lab: Lab) -> dict[str, list[float]]:
    """How long each component's rehearsal takes, as the role's check mode says."""
    gate = {"control_plane_feature_gates": {"AllBeta": True}}
    seconds: dict[str, list[float]] = {}
    for number in range(REPEATS):
        run = run_playbook(lab, gate, OUTPUT / f"rehearsal-{number}.json", "--check")
        for result in run.results():
            seconds.setdefault(result["name"], []).append(result["rehearsal"]["seconds"])
    return seconds


def measure_no_change(lab: Lab) -> dict[str, list[float]]:
    """A run of the role that has nothing to do, beside one ping of the same hosts."""
    seconds: dict[str, list[float]] = {"ping": [], "role": []}
    for number in range(REPEATS):
        seconds["ping"].append(ansible(lab, "kube_control_plane", "ansible.builtin.ping"))
        run = run_playbook(lab, {}, OUTPUT / f"no-change-{number}.json")
        if run.rc != 0 or run.changed:
            raise SystemExit("a run of the role that should have had nothing to do failed or changed something")
        seconds["role"].append(run.seconds)
    return seconds


def table(samples: list[Sample], rehearsals: dict[str, list[float]], no_change: dict[str, list[float]]) -> list[str]:
    """The figures as a Markdown table; medians, with the range."""
    lines = ["| what | outage | until done |", "| --- | --- | --- |"]
    for way in ("bare rename", "static_pod"):
        of_way = [sample for sample in samples if sample.way == way]
        outage, total = [sample.outage for sample in of_way], [sample.total for sample in of_way]
        note = "" if way == "bare rename" else f" (rehearsed, proven, watched for {MIN_READY} s)"
        lines.append(f"| kube-apiserver, {way}{note} | {spread(outage)} | {spread(total)} |")
    lines += [f"| rehearsal of {name} | none | {spread(found, 2)} |" for name, found in rehearsals.items()]
    ratio = statistics.median(no_change["role"]) / statistics.median(no_change["ping"])
    lines.append(f"| `ansible -m ping` | none | {spread(no_change['ping'])} |")
    lines.append(f"| role control_plane, nothing to change ({ratio:.1f} x ping) | none | {spread(no_change['role'])} |")
    return lines


def spread(values: t.Sequence[float], digits: int = 1) -> str:
    """Median and range."""
    return f"{statistics.median(values):.{digits}f} s ({min(values):.{digits}f} to {max(values):.{digits}f})"


def say(text: str) -> None:
    """Print at once, also into a pipe."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    """Measure, print, keep."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    lab = Lab.of_environment()
    say(f"Starting lab {lab.name}: Kubernetes {lab.kubernetes} (log: build/bench/lab.log)")
    lab.start_anew(OUTPUT / "lab.log")
    no_change = measure_no_change(lab)
    rehearsals = measure_rehearsals(lab)
    samples = measure_changes(lab)
    lines = table(samples, rehearsals, no_change)
    (OUTPUT / "bench.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    figures = {
        "kubernetes": lab.kubernetes,
        "min_ready_seconds": MIN_READY,
        "changes": [dataclasses.asdict(sample) for sample in samples],
        "rehearsal_seconds": rehearsals,
        "no_change_seconds": no_change,
    }
    (OUTPUT / "bench.json").write_text(json.dumps(figures, indent=2), encoding="utf-8")
    say("\n".join(["", *lines, "", f"make lab-down LAB={lab.name} removes the lab."]))


if __name__ == "__main__":
    main()

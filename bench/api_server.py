# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a change of the API server costs, beside the bare rename of the same manifest on the same cluster."""

from __future__ import annotations

import dataclasses
import http.client
import ssl
import subprocess
import threading
import time

from ansible_collections.nodecraft.kubeadm.bench.figures import OUTPUT, REPEATS, ROUNDS, Part, module, spread
from ansible_collections.nodecraft.kubeadm.lab.runs import Lab, run_playbook
from ansible_collections.nodecraft.kubeadm.tests.sessions.console import echo

PLUGIN = "ExtendedResourceToleration"
MANIFEST = "/etc/kubernetes/manifests/kube-apiserver.yaml"
# What people do manually: edit a copy elsewhere, then put it in place with one rename.
RENAME = f"""
sed '{{expression}}' {MANIFEST} > /etc/kubernetes/bench.yaml && chmod 0600 /etc/kubernetes/bench.yaml && mv /etc/kubernetes/bench.yaml {MANIFEST}
"""
SWITCH_ON = f"s/=NodeRestriction$/=NodeRestriction,{PLUGIN}/"
SWITCH_OFF = f"s/=NodeRestriction,{PLUGIN}$/=NodeRestriction/"
MIN_READY = 10
# An API server whose clients have not come back yet stops sooner: every change starts from a cluster at rest.
REST_SECONDS = 30


@dataclasses.dataclass(frozen=True)
class Sample:
    """One change. total: until this way is done. outage: from the first failed probe to the last."""

    way: str
    direction: str
    outage: float
    total: float


class Probe(threading.Thread):
    """Probes the readiness of the API server ten times a second, and records the results."""

    def __init__(self, lab: Lab) -> None:
        super().__init__(daemon=True)
        networks = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        inspect = ["podman", "inspect", "--format", networks, lab.first]
        self._address = subprocess.run(inspect, capture_output=True, text=True, check=True).stdout.strip()
        self._tls = ssl.create_default_context(cadata=lab.exec_on_first("cat", "/etc/kubernetes/pki/ca.crt"))
        self._results: list[tuple[float, bool]] = []

    def run(self) -> None:
        """Probe for ever."""
        while True:
            self._results.append((time.monotonic(), self.is_ready()))
            time.sleep(0.1)

    def is_ready(self) -> bool:
        """Probe once."""
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
        return [at for at, ready in self._results if at >= began and not ready]

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
    lab.exec_on_first("sh", "-c", RENAME.format(expression=expression))
    probe.wait_ready(began)
    return Sample("bare rename", direction, probe.outage(began), probe.end(began))


def by_module(lab: Lab, probe: Probe, direction: str, state: str) -> Sample:
    """The module by the ansible command; done when the command ends, proof and watching included."""
    options = {
        "name": "kube-apiserver",
        "admission_plugins": {PLUGIN: state},
        "min_ready_seconds": MIN_READY,
    }
    began = time.monotonic()
    module(lab, lab.first, "nodecraft.kubeadm.static_pod", options)
    ended = time.monotonic()
    probe.wait_ready(began)
    return Sample("static_pod", direction, probe.outage(began), ended - began)


def measure_changes(lab: Lab) -> list[Sample]:
    """Both ways in turn, on and off, so that neither has the better cluster."""
    probe = Probe(lab)
    probe.start()
    samples = []
    for number in range(1, ROUNDS + 1):
        for take in (
            lambda: rename(lab, probe, "on", SWITCH_ON),
            lambda: rename(lab, probe, "off", SWITCH_OFF),
            lambda: by_module(lab, probe, "on", "enabled"),
            lambda: by_module(lab, probe, "off", "default"),
        ):
            time.sleep(REST_SECONDS)
            sample = take()
            samples.append(sample)
            echo(
                f"round {number}: {sample.way}, {sample.direction}: outage {sample.outage:.1f} s, done after {sample.total:.1f} s"
            )
    return samples


def measure_rehearsals(lab: Lab) -> dict[str, list[float]]:
    """How long each component's rehearsal takes, as reported by the role's check mode."""
    gate = {"control_plane_feature_gates": {"AllBeta": True}}
    seconds: dict[str, list[float]] = {}
    for number in range(REPEATS):
        run = run_playbook(lab, gate, OUTPUT / f"rehearsal-{number}.json", "--check")
        for result in run.results("static_pod"):
            seconds.setdefault(result["name"], []).append(result["rehearsal"]["seconds"])
    return seconds


def table(samples: list[Sample], rehearsals: dict[str, list[float]]) -> list[str]:
    """The figures as a Markdown table; medians, with the range."""
    lines = ["| what | outage | until done |", "| --- | --- | --- |"]
    for way in ("bare rename", "static_pod"):
        of_way = [sample for sample in samples if sample.way == way]
        outage, total = [sample.outage for sample in of_way], [sample.total for sample in of_way]
        note = "" if way == "bare rename" else f" (rehearsed, verified, watched for {MIN_READY} s)"
        lines.append(f"| kube-apiserver, {way}{note} | {spread(outage)} | {spread(total)} |")
    lines += [f"| rehearsal of {name} | none | {spread(found, 2)} |" for name, found in rehearsals.items()]
    return lines


def measure(lab: Lab) -> Part:
    """First what changes nothing."""
    rehearsals = measure_rehearsals(lab)
    samples = measure_changes(lab)
    figures = {
        "min_ready_seconds": MIN_READY,
        "changes": [dataclasses.asdict(sample) for sample in samples],
        "rehearsal_seconds": rehearsals,
    }
    return Part("The API server", table(samples, rehearsals), figures)

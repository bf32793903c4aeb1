# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same faults against the common manual ways. What they make of them is measured, not judged: no test fails for it."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.faults.lab import desired_states
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.cluster import API_SERVER, Cluster, Json, Sampling, until
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.records import Recorder

pytestmark = pytest.mark.skipif("FAULTS_ONE" not in os.environ, reason="FAULTS_ONE names no lab of one control plane")

PLAYBOOKS = Path(__file__).parent / "manual"
# The kubelet reads its directory again every 20 seconds, and may run another file then than the one that was just written.
QUIET_SECONDS = 45.0
# What does not come up by then stays down.
LAST_SECONDS = 60.0

# Nothing of these ways looks at a file, so each stands in a directory that the API server sees already.
MOUNTED = "/etc/kubernetes/pki"
FAULTS: dict[str, tuple[str, t.Any]] = {
    "good": ("v", 1),
    "F01": ("no-such-flag", "x"),
    "F05": ("audit-policy-file", f"{MOUNTED}/audit.yaml"),
    "F07": ("encryption-provider-config", f"{MOUNTED}/encryption.yaml"),
    "F16": ("encryption-provider-config", f"{MOUNTED}/encryption.yaml"),
}
FILES = {
    f"{MOUNTED}/audit.yaml": desired_states.content(desired_states.MALFORMED_FILE),
    f"{MOUNTED}/encryption.yaml": desired_states.content(desired_states.UNREADY),
}


@pytest.fixture
def files(one: Cluster) -> t.Iterator[None]:
    """The files that the arguments name."""
    for path, content in FILES.items():
        one.first.replace(one.first.path(path), content.encode("utf-8"))
    yield
    for path in FILES:
        one.first.path(path).unlink()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("way", ["lineinfile", "copy", "kubeadm"])
@pytest.mark.usefixtures("files")
def test_what_becomes_of_it(one: Cluster, record: Recorder, way: str, fault: str) -> None:
    flag, value = FAULTS[fault]
    entry = record(fault, desired_states.TITLES[fault], way)
    variables = {"address": one.first.api_server, "flag": flag, "value": value}
    with one.sampled(one.first) as sampling:
        with one.play(str(PLAYBOOKS / f"{way}.yml"), variables) as play:
            if fault == "F16":
                until(sampling.written, "the write")
                play.kill()
            status = play.wait()
        written = sampling.samples.written()
        entry.runs_then = final_state(one, sampling, f"--{flag}={value}")
    entry.reported = status != 0
    entry.outcome = "killed" if fault == "F16" else f"run {'failed' if entry.reported else 'ended well'}"
    entry.observe(sampling.samples)
    assert written is not None, "it wrote nothing, so nothing was tried"
    entry.fault_evidence = (
        f"the manifest had {len(sampling.samples.versions())} versions, the directory {sampling.samples.names()}"
    )


def final_state(one: Cluster, sampling: Sampling, argument: str) -> str:
    """What runs once nothing happens any more: the new state, the old one, or none."""
    until(lambda: sampling.is_quiet(QUIET_SECONDS), "the end of all changes", 2 * QUIET_SECONDS)
    try:
        until(one.first.is_ready, "a ready API server", LAST_SECONDS)
    except AssertionError:
        return "down"
    running = [process.arguments for process in one.first.processes(API_SERVER)]
    manifest: Json = yaml.safe_load(one.first.manifest().read_text(encoding="utf-8"))
    is_written = argument in manifest["spec"]["containers"][0]["command"]
    is_running = any(argument in arguments for arguments in running)
    return {(True, True): "new", (True, False): "old, the manifest says new", (False, False): "old"}.get(
        (is_written, is_running), "new, the manifest says old"
    )

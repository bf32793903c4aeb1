# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How runs that restart kubelets keep each other out."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Outcome, Stage

ROLE = {"role": "nodecraft.kubeadm.node_kubelet"}


def leases(outcome: Outcome) -> list[tuple[str, str]]:
    """The states of the Lease that were requested, and where."""
    return [(call["step"], call["machine"]) for call in outcome.calls if call["component"] == "lease"]


@pytest.mark.slice
def test_a_lease_is_released_where_the_host_that_acquired_it_is_lost(stage: Stage) -> None:
    hosts = {
        host: {"stub": {"kubelet": how}} for host, how in (("cp1", "lost"), ("cp2", "nothing"), ("cp3", "changes"))
    }
    outcome = stage.play({"kube_control_plane": hosts}, roles=[ROLE])
    assert outcome.status != 0
    assert outcome.hosts("change", "kubelet") == ["cp1"]
    (report,) = outcome.reports
    # ansible-core 2.18 displays less of why.
    assert report.replace("Task failed: ", "").splitlines() == [
        "No change was seen to end on 3 nodes",
        "cp1 kubelet + --v=5 (connection lost, end not seen)",
        "cp3: Not changed, because cp1 failed.",
        "1 other node: nothing to change",
        "cp1: gone",
        "Failed: cp1 failed; 1 node did not begin. Run the same command again when that is repaired.",
    ]
    assert outcome.statistics["node_kubelet_report"]["cp1"]["failed"] is True
    assert leases(outcome) == [("held", "cp1"), ("released", "cp2")]


def test_what_another_run_set_meanwhile_is_reported(stage: Stage) -> None:
    """The module plans again in the turn."""
    host = {"stub": {"kubelet": ["changes", "nothing"]}, "stub_lease": {"held": "overtaken"}}
    outcome = stage.play({"kube_control_plane": {"cp1": host}}, roles=[ROLE])
    assert outcome.status == 0, outcome.output
    line = "cp1 kubelet: meanwhile another run: + --v=5, as this run was to"
    assert line in " ".join(outcome.output.split())
    (report,) = outcome.reports
    assert "another run held the Lease of the kubelets since everything was planned" in report

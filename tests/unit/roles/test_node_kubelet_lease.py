# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How runs that restart kubelets keep each other out."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Outcome, Stage

ROLE = {"role": "nodecraft.kubeadm.node_kubelet"}


def leases(outcome: Outcome) -> list[tuple[str, str]]:
    """What was done about the Lease, and where it was asked for."""
    return [(call["step"], call["asks"]) for call in outcome.calls if call["component"] == "lease"]


@pytest.mark.slice
def test_a_lease_is_released_where_the_host_that_acquired_it_is_lost(stage: Stage) -> None:
    hosts = {
        host: {"stub": {"kubelet": how}} for host, how in (("cp1", "lost"), ("cp2", "nothing"), ("cp3", "changes"))
    }
    outcome = stage.play({"kube_control_plane": hosts}, roles=[ROLE])
    assert outcome.status != 0
    assert outcome.hosts("change", "kubelet") == ["cp1"]
    (report,) = outcome.reports
    assert "cp1 kubelet: lost" in report
    assert "cp3 kubelet: not begun" in report
    assert outcome.statistics["node_kubelet_report"]["cp1"]["failed"] is True
    assert leases(outcome) == [("held", "cp1"), ("released", "cp2")]

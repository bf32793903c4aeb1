# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a static pod cannot be verified: named before the write, and with nothing to change."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import Json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import static_pod_journal, static_pods
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import FakeNode, pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun
from ansible_collections.nodecraft.kubeadm.tests.unit.support.static_pod_runs import (
    PodCourse,
    carry_out,
    steps,
    without_limits_of_fakes,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import kubeconfig

GATES: Json = {"feature_gates": {"A": True}}


def plan_gate(master: FakeNode, run: FakeRun, **desired: t.Any) -> PodCourse:
    """A plan that sets a feature gate."""
    change = steps(master, run, dry=True, **GATES, **desired)
    with change.session():
        change.read()
        change.plan()
    return change


@pytest.fixture(name="gated")
def fixture_gated(master: FakeNode, monkeypatch: pytest.MonkeyPatch) -> FakeNode:
    """A node whose API server has a probe, so that the address of its metrics is known, and whose administrator may read them."""
    monkeypatch.setattr(static_pod_journal, "ADMIN", (str(master.kubeconfig),))
    master.kubeconfig.write_text(kubeconfig(), encoding="ascii")
    master.kubelet_conf.write_text(kubeconfig(), encoding="ascii")
    monkeypatch.setattr(static_pods, "advertised_address", lambda manifest: master.web.address)
    metrics = master.web.metrics(str(master.kubeconfig))
    source = static_pod_journal.gate_source
    monkeypatch.setattr(static_pod_journal, "gate_source", lambda *given: (source(*given)[0], metrics))
    return master


def change(master: FakeNode, run: FakeRun) -> Json:
    """A change that sets the gate, and its end."""
    master.allowed.add(pod("--v=1", "--feature-gates=A=true").encode())
    master.web.gates = {"A": True}
    return carry_out(master, run, **GATES)


def test_kubeconfig_that_is_missing_is_a_warning_before_the_change(
    master: FakeNode, run: FakeRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(static_pod_journal, "ADMIN", (str(tmp_path / "admin.conf"),))
    change = plan_gate(master, run)
    of_admin, of_kubelet, of_gates = without_limits_of_fakes(change.report()["unverified"])
    assert of_admin.startswith("whether it answers its administrator: ")
    assert of_kubelet.startswith("whether it answers its kubelet: ")
    assert of_gates.startswith("whether feature gates A are as desired: ")
    begin = "cp1: kube-apiserver: cannot be verified after this change: "
    assert [warning for warning in change.plan().warnings if warning.startswith(begin)][:1] == [begin + of_admin]


def test_change_that_begins_keeps_what_only_its_preflight_could_not_verify(gated: FakeNode, run: FakeRun) -> None:
    gated.allowed.add(pod("--v=1", "--feature-gates=A=true").encode())
    gated.web.gates = None
    found = carry_out(gated, run, **GATES)["unverified"]
    assert [each for each in found if each.startswith("whether its kubelet is healthy: ")]
    # What the change itself verifies, such as feature gates, its engine reports.
    assert without_limits_of_fakes(found) == []


def test_metrics_that_are_forbidden_are_a_warning_before_the_change(gated: FakeNode, run: FakeRun) -> None:
    gated.web.gates = None
    (limit,) = without_limits_of_fakes(plan_gate(gated, run).report()["unverified"])
    assert limit == f"whether feature gates A are as desired: /metrics answers 403 to the client of {gated.kubeconfig}"
    gated.web.gates = {}
    assert without_limits_of_fakes(plan_gate(gated, run).report()["unverified"]) == []


def test_component_that_is_down_is_no_reason_for_a_warning(gated: FakeNode, run: FakeRun) -> None:
    """Its response when it is repaired is unknown."""
    gated.web.gates = None
    gated.kubelet.kill(gated.kubelet.instances[0])
    assert without_limits_of_fakes(plan_gate(gated, run).report()["unverified"]) == []


@pytest.mark.parametrize(
    ("reported", "limits"),
    [({"A": True}, []), (None, ["whether feature gates A are as desired: /metrics answers 403 to the client of"])],
)
@pytest.mark.parametrize("dry", [False, True])
def test_gates_are_verified_with_nothing_to_change(
    gated: FakeNode, run: FakeRun, reported: dict[str, bool] | None, limits: list[str], dry: bool
) -> None:
    change(gated, run)
    gated.web.gates = reported
    idle = steps(gated, run, dry=dry, **GATES)
    with idle.session():
        idle.read()
        idle.plan()
        warnings = idle.verify()
    expected = [f"{limit} {gated.kubeconfig}" for limit in limits]
    assert without_limits_of_fakes(idle.report()["unverified"]) == expected
    assert without_limits_of_fakes(warnings) == [f"cp1: kube-apiserver: not verified: {each}" for each in expected]


def verified_idle(master: FakeNode, run: FakeRun) -> list[str]:
    """What is not verified of an API server with nothing to change."""
    idle = steps(master, run, args={"v": 1})
    with idle.session():
        idle.read()
        idle.plan()
        idle.verify()
    return without_limits_of_fakes(idle.report()["unverified"])


def test_idle_api_server_names_clients_it_does_not_serve(gated: FakeNode, run: FakeRun) -> None:
    assert verified_idle(gated, run) == []
    gated.web.api_status = 403
    limit = "whether it answers the client of {}: the API server answers 403"
    assert verified_idle(gated, run) == [limit.format(gated.kubeconfig), limit.format(gated.kubelet_conf)]
    gated.kubeconfig.unlink()
    of_admin, of_kubelet = verified_idle(gated, run)
    assert of_admin.startswith(f"whether it answers its administrator: {gated.kubeconfig} does not exist on ")
    assert of_kubelet == limit.format(gated.kubelet_conf)


def test_other_gates_in_the_process_fail_a_run_with_nothing_to_change(gated: FakeNode, run: FakeRun) -> None:
    change(gated, run)
    gated.web.gates = {"A": False}
    idle = steps(gated, run, **GATES)
    with idle.session():
        idle.read()
        idle.plan()
        with pytest.raises(
            KubeadmError, match="there is nothing to change, but the running process reports other values"
        ):
            idle.verify()

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""When kubeadm-config is verified and written: the steps of the role in their order."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support import control_plane_runs
from ansible_collections.nodecraft.kubeadm.tests.unit.support.cluster_configurations import API_SERVER, ENTRY, KNOWN
from ansible_collections.nodecraft.kubeadm.tests.unit.support.control_plane_hosts import ON, pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_play import Call, Json
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_rollouts import ControlPlanes

NAMES = ("cp1", "cp2")
WRITTEN: Json = {"changed": True, "operations": [{"field": API_SERVER, "key": "args v", "before": None, "after": "5"}]}


def role_run(
    *operations: Json,
    proof: t.Any = None,
    written: Json | None = None,
    change: Json | None = None,
    known: Json | None = None,
    key: str = "v",
    persists: bool = True,
    **settings: t.Any,
) -> ControlPlanes:
    """A run over two control planes. operations: on each. proof, written: results of the modules. change: on the second one. known: of the API. key: the
    argument of ours."""
    persistable = {"settings": {"args": {key: ENTRY}}, "others": []}
    pods = {API_SERVER: pod(*operations, persistable=persistable, **control_plane_runs.REHEARSED)}
    return control_plane_runs.role_run(
        pods,
        pods,
        plans={name: control_plane_runs.plan(name, pods, kubeadm_config={**KNOWN, **(known or {})}) for name in NAMES},
        changes={"cp2": change} if change else {},
        results={"kubeadm_config_check": proof or {"rehearsed": []}, "kubeadm_config": written or WRITTEN},
        variables={"control_plane_persist": persists, "control_plane_static_pods": API_SERVER},
        **settings,
    )


def run(*operations: Json, **more: t.Any) -> ControlPlanes:
    found = role_run(*operations, **more)
    found.run()
    return found


def config_calls(found: ControlPlanes) -> list[tuple[str, str]]:
    names = ("kubeadm_config_check", "kubeadm_config")
    return [(call.module, call.on) for call in found.play.all_calls if call.module in names]


@pytest.mark.parametrize("operations", [(), (ON,)])
def test_each_node_proves_it_before_it_is_written(operations: tuple[Json, ...]) -> None:
    found = run(*operations)
    assert found.failures == {}
    proofs, (writer, _on) = config_calls(found)[:-1], config_calls(found)[-1]
    assert (proofs, writer) == ([("kubeadm_config_check", name) for name in NAMES], "kubeadm_config")
    assert found.result("apply", "cp2")["operations"] == WRITTEN["operations"]
    lines = found.summary["lines"]
    assert lines[-1] == "    kube-apiserver args v: unset -> 5"
    assert lines[1].startswith("  cp1, cp2  kube-apiserver  " if operations else "kubeadm-config, ")
    assert found.play.calls("rollout_lease")


@pytest.mark.parametrize(
    ("settings", "outcome", "pending"),
    [({}, "changed", 0), ({"check_mode": True}, "pending", 1), ({"persists": False}, "unchanged", 0)],
)
def test_it_counts_in_the_outcome_though_no_node_changes(settings: Json, outcome: str, pending: int) -> None:
    found = run(**settings)
    assert (found.failures, found.summary["outcome"]) == ({}, outcome)
    assert found.statistics["nodecraft_kubeadm_pending"] == pending


def test_kubeadm_config_that_cannot_be_rehearsed_is_not_verified() -> None:
    skipped = {
        "component": API_SERVER,
        "verdict": "skipped",
        "message": "an argument is made from valueFrom",
        "seconds": 0.0,
    }
    found = run(proof={"rehearsed": [skipped]})
    lines = [line for line in found.summary["lines"] if line.startswith("WARNING: not verified: ")]
    assert lines == [
        f"WARNING: not verified: whether kubeadm-config suits {API_SERVER} on {name}: an argument is made from valueFrom"
        for name in NAMES
    ]


def test_a_proof_that_fails_on_one_node_keeps_it_from_being_written() -> None:
    def proof(call: Call) -> Json:
        return {"failed": True, "msg": "differs"} if call.on == "cp2" else {"rehearsed": []}

    found = run(proof=proof, ignores_errors=True)
    assert [module for module, _on in config_calls(found)] == ["kubeadm_config_check", "kubeadm_config_check"]
    assert "it was not verified on cp2" in " ".join(found.failures.values())


def test_a_failed_change_keeps_it_from_being_verified() -> None:
    found = run(ON, change=control_plane_runs.FAILED, ignores_errors=True)
    assert config_calls(found) == []
    assert "because cp2 failed or was lost" in " ".join(found.failures.values())
    # Its plan does not have what it left on cp2.
    assert "args v" not in found.lines


def test_what_the_writer_reports_against_it_fails_the_run() -> None:
    found = run(written={"failed": True, "msg": "it was changed meanwhile"})
    assert "it was changed meanwhile" in " ".join(found.failures.values())


def test_what_is_known_to_keep_it_from_being_written_stops_the_run_before_its_first_change() -> None:
    found = run(ON, known={"managers": ["minikube"]})
    assert (found.changed, config_calls(found)) == ([], [])
    assert "minikube renders" in " ".join(found.failures.values())


def test_what_could_not_be_read_fails_the_run_behind_its_changes() -> None:
    found = run(ON, known={"problem": "no answer", "text": None})
    assert (found.changed, config_calls(found)) == (list(NAMES), [])
    (why,) = found.failures.values()
    assert why.startswith("kubeadm-config was not written: ")
    assert "could not be read: no answer" in why


def test_what_stands_there_already_is_neither_verified_nor_a_reason_for_the_lease() -> None:
    written = KNOWN["text"].replace("apiServer: {}", 'apiServer:\n  extraArgs:\n  - name: v\n    value: "5"')
    found = run(known={"text": written})
    assert (config_calls(found), found.play.calls("rollout_lease")) == ([], [])
    assert found.failures == {}


@pytest.mark.parametrize("persists", [True, False])
def test_a_playbook_is_reported_that_it_is_to_be_written(persists: bool) -> None:
    found = role_run(persists=persists)
    found.is_plan_only = True
    found.play.hostvars["cp1"]["__play_begin"] = {"named": ["control_plane_components"]}
    found.plan(NAMES)
    settings = {"roles": ["control_plane"], "named": ["control_plane_components"], "in_pass": "whole"}
    decided = found.play.run_step("site", "decide", "cp1", settings=settings)
    assert decided["work"] == (["control_plane"] if persists else [])


@pytest.mark.parametrize("proof", [{"pass_id": "another"}, {"unreachable": True}, {"failed": True}])
def test_what_is_no_proof_of_this_pass_keeps_it_from_being_written(proof: Json) -> None:
    found = role_run()
    found.plan(NAMES)
    found.apply(NAMES)
    verified = found.play.hostvars["cp2"]["__control_plane_verify"]
    first, second = verified["results"]
    found.play.hostvars["cp2"]["__control_plane_verify"] = {**verified, "results": [first, {**second, **proof}]}
    refused = found.play.run_step("control_plane", "apply", "cp2", on="cp1")
    assert refused["msg"] == "kubeadm-config was not written, because it was not verified on cp2."


@pytest.mark.parametrize("diff", [True, False])
def test_a_run_with_diff_shows_the_difference(diff: bool) -> None:
    assert ("+  - name: v" in run(diff=diff).summary["lines"]) is diff


def test_the_loss_of_encryption_is_reported_first() -> None:
    found = run(ON, key="encryption-provider-config", persists=False)
    # Behind what was changed.
    first = next(line for line in found.summary["lines"] if not line.startswith(("Changed: ", "  cp1, cp2  ")))
    assert first.startswith("WARNING: the next kubeadm upgrade removes")
    assert found.lines.count("WARNING: the next kubeadm upgrade removes") == 1

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which last changes the playbook reverts, in which order, and what it does not revert at once."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage

API, KUBELET = "kube-apiserver", "kubelet"


def undo(gate: str = "A", *, blocked_by: str | None = None) -> Json:
    """The result of an info module for a gate that was switched on."""
    operation = {"field": "feature_gates", "key": gate, "before": True, "after": None}
    return {
        "transaction": f"T-{gate}",
        "ended": "2026-01-01T00:00:30Z",
        "operations": [] if blocked_by else [operation],
        "blocked_by": blocked_by,
    }


def host(undos: Json, **variables: t.Any) -> Json:
    """A host whose modules do what is to be reverted. The desired state of the inventory counts for nothing."""
    desired = {"control_plane_feature_gates": {"B": True}, "node_kubelet_config": {"maxPods": 50}}
    stub = {name: "off" if found else "nothing" for name, found in undos.items()}
    return {"stub": stub, "stub_undos": undos, **desired, **variables}


BOTH = {API: undo(), KUBELET: undo()}
Play = t.Callable[..., Outcome]


@pytest.fixture(name="play")
def fixture_play(stage: Stage) -> Play:
    """Run the playbook on cp1, cp2 and w1 with these changes to roll back. components: or none is named. stubs: of all hosts."""

    def play(
        cp1: Json, cp2: Json, w1: Json, *options: str, components: str = "", nodes: str = "", **stubs: Json
    ) -> Outcome:
        groups = {"kube_control_plane": {"cp1": host(cp1), "cp2": host(cp2)}, "kube_node": {"w1": host(w1)}}
        given = ["-e", f"rollback_components={components}", "-e", f"rollback_nodes={nodes}"]
        return stage.playbook("rollback", groups, *given, *options, variables=stubs)

    return play


def done(outcome: Outcome) -> list[Json]:
    """What was planned and changed, in its order."""
    return [call for call in outcome.calls if call["step"] in ("plan", "change")]


def changes(outcome: Outcome) -> list[tuple[str, str]]:
    """What was changed where, in its order."""
    return [(call["component"], call["host"]) for call in done(outcome) if call["step"] == "change"]


def test_all_nodes_are_planned_and_reverted_in_turn(play: Play) -> None:
    outcome = play(BOTH, BOTH, {KUBELET: undo()}, components=f"{KUBELET},{API}")
    assert outcome.status == 0, outcome.output
    # What was switched on goes first where it is used, and last where it is offered.
    assert changes(outcome) == [(KUBELET, "cp1"), (KUBELET, "cp2"), (KUBELET, "w1"), (API, "cp1"), (API, "cp2")]
    assert [call["step"] for call in done(outcome)].index("change") >= 5
    named = ("feature_gates", "config", "args", "env", "files", "purge", "adopt", "register_with_taints")
    for call in done(outcome):
        assert call["arguments"]["state"] == "previous"
        assert not [option for option in named if call["arguments"].get(option)]
    # The API is queried for pods that the restarts would not bring back, as with every other change.
    assert [call for call in outcome.calls if call["step"] == "query" and call["arguments"].get("readmission")]


@pytest.mark.slice
def test_one_node_may_be_named(play: Play) -> None:
    outcome = play({**BOTH, API: undo("A")}, {**BOTH, API: undo("B")}, {KUBELET: undo()}, components=API, nodes="cp2")
    assert outcome.status == 0, outcome.output
    assert changes(outcome) == [(API, "cp2")]
    assert set(outcome.hosts("plan", API)) == {"cp2"}
    assert outcome.hosts("plan", KUBELET) == []
    assert set(outcome.hosts("read", "pods")) == {"cp2"}


def test_what_cannot_be_reverted_is_refused_before_anything_is_planned(play: Play) -> None:
    outcome = play(BOTH, BOTH, {KUBELET: undo(blocked_by="w1: it was changed since")}, components=KUBELET)
    assert outcome.status != 0
    assert "it was changed since" in outcome.output
    assert done(outcome) == []

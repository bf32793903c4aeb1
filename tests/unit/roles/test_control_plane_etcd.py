# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""In which order etcd and the other static pods are changed, and what they are given."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Outcome, Stage

API_SERVER = "kube-apiserver"
ETCD = {"args": {"snapshot-count": 5000}}


def play(stage: Stage, *stubs: dict[str, str], **variables: t.Any) -> Outcome:
    """The role on cp1, cp2 ..."""
    hosts = {f"cp{number}": {"stub": stub} for number, stub in enumerate(stubs, start=1)}
    return stage.play(
        {"kube_control_plane": hosts}, roles=[{"role": "nodecraft.kubeadm.control_plane"}], vars=variables
    )


def done(outcome: Outcome, step: str) -> list[tuple[str, str]]:
    return [(call["host"], call["component"]) for call in outcome.calls if call["step"] == step]


@pytest.mark.slice
def test_members_are_changed_one_after_the_other_and_before_their_api_servers(stage: Stage) -> None:
    stub = {API_SERVER: "off", "kube-scheduler": "off", "etcd": "changes"}
    outcome = play(
        stage,
        stub,
        {"etcd": "changes"},
        {"etcd": "nothing"},
        control_plane_components={"etcd": ETCD},
        control_plane_feature_gates={"A": True},
    )
    assert outcome.status == 0, outcome.output
    first, *others, last = done(outcome, "change")
    assert (first, last) == (("cp1", "etcd"), ("cp2", "etcd"))
    assert others == [("cp1", "kube-scheduler"), ("cp1", API_SERVER)]
    given = {call["component"]: call["arguments"] for call in outcome.calls if call["step"] == "plan"}
    assert (given["etcd"]["args"], "feature_gates" in given["etcd"]) == ({"snapshot-count": 5000}, False)
    assert given[API_SERVER]["feature_gates"] == {"A": True}


def test_the_member_that_leads_is_changed_last(stage: Stage) -> None:
    stubs = [{"etcd": behaviour} for behaviour in ("leads", "changes", "changes")]
    outcome = play(stage, *stubs, control_plane_components={"etcd": ETCD})
    assert outcome.status == 0, outcome.output
    assert done(outcome, "change") == [("cp2", "etcd"), ("cp3", "etcd"), ("cp1", "etcd")]


def test_leaders_are_changed_last_each_in_its_round(stage: Stage) -> None:
    names = ("etcd", "kube-controller-manager", "kube-scheduler")
    stubs = [{name: "leads" if name == own else "changes" for name in names} for own in names]
    outcome = play(
        stage,
        *stubs,
        control_plane_components={name: {"args": {"v": 3}} for name in names},
        control_plane_persist=False,
    )
    assert outcome.status == 0, outcome.output
    assert list(dict.fromkeys(host for host, _name in done(outcome, "change"))) == ["cp3", "cp2", "cp1"]


def test_loss_of_the_last_node_is_reverted_on_the_others(stage: Stage) -> None:
    stubs = [{"kube-scheduler": behaviour} for behaviour in ("loses", "changes", "changes")]
    outcome = play(stage, *stubs, control_plane_components={"kube-scheduler": {"args": {"v": 3}}})
    assert outcome.status == 2
    made = [call for call in outcome.calls if call["step"] == "change" and call["component"] == "kube-scheduler"]
    assert [(call["machine"], call["arguments"].get("state")) for call in made] == [
        ("cp2", "present"),
        ("cp3", "present"),
        ("cp1", "present"),
        ("cp3", "previous"),
        ("cp2", "previous"),
    ]
    (report,) = outcome.reports
    lines = report.splitlines()
    assert lines[1:3] == [
        "cp1 kube-scheduler + --v=5 (rolled back; away 1.0 s)",
        "cp2, cp3 kube-scheduler + --v=5 (reverted; away up to 1.0 s)",
    ]
    assert "cp2, cp3: kube-scheduler is reverted, because cp1 lost a pod (none was made)." in lines
    # The Lease is held until the last revert has ended.
    steps = [call["step"] for call in outcome.calls]
    assert steps.index("halted") > max(number for number, step in enumerate(steps) if step == "change")


def test_short_restarts_are_flags_of_the_components(stage: Stage) -> None:
    outcome = play(stage, {}, control_plane_short_restarts=True)
    assert outcome.status == 0, outcome.output
    given = {call["component"]: call["arguments"]["args"] for call in outcome.calls if call["step"] == "plan"}
    assert given[API_SERVER] == {"shutdown-send-retry-after": "true"}
    assert set(given["kube-scheduler"]) == {"leader-elect-lease-duration", "leader-elect-renew-deadline"}

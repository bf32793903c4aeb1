# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import typing as t

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import leader_election
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples


def by_flags(given: t.Mapping[str, str]) -> leader_election.Renewal:
    return leader_election.renewal_of_flags(given.get)


def by_file(given: t.Mapping[str, str] | None = None, **content: t.Any) -> leader_election.Renewal:
    return leader_election.renewal_of_file(json.dumps(content).encode(), dict(given or {}).get)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"kube-api-qps": "0.01"},
            r"invalid --kube-api-qps 0\.01: must be at least 0\.2, 2 requests within .* of 10 s",
        ),
        ({"kube-api-qps": "1e-3"}, r"0\.001: must be at least 0\.2"),
        ({"kube-api-qps": "0.5", "leader-elect-renew-deadline": "3s"}, r"must be at least 0\.666"),
        ({"kube-api-qps": "0.01", "leader-elect": "true"}, r"must be at least"),
    ],
)
def test_flags_with_which_the_lease_is_lost_are_refused(given: dict[str, str], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        leader_election.refuse_slow_renewal(by_flags(given))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"kube-api-qps": "0.2"},
        {"kube-api-qps": "0"},
        {"kube-api-qps": "-1"},
        {"kube-api-qps": "few"},  # the rehearsal's to refuse
        {"kube-api-qps": "0.05", "leader-elect-renew-deadline": "40s"},
        {"kube-api-qps": "0.01", "leader-elect": "False"},
    ],
)
def test_other_flags_are_taken(given: dict[str, str]) -> None:
    leader_election.refuse_slow_renewal(by_flags(given))


def test_a_file_with_which_the_lease_is_lost_is_refused() -> None:
    with pytest.raises(Refusal, match=r"invalid --config: clientConnection\.qps 0\.01: must be at least 0\.2"):
        leader_election.refuse_slow_renewal(
            by_file(clientConnection={"qps": 0.01}, leaderElection={"leaderElect": True})
        )
    with pytest.raises(Refusal, match=r"must be at least 1,"):
        leader_election.refuse_slow_renewal(
            by_file(clientConnection={"qps": 0.9}, leaderElection={"renewDeadline": "2s"})
        )


def test_flags_of_the_election_win_over_a_file() -> None:
    deadline = {"leader-elect-renew-deadline": "2s"}
    with pytest.raises(Refusal, match=r"must be at least 1,"):
        leader_election.refuse_slow_renewal(by_file(deadline, clientConnection={"qps": 0.9}))
    on = by_file({"leader-elect": "true"}, clientConnection={"qps": 0.1}, leaderElection={"leaderElect": False})
    with pytest.raises(Refusal, match=r"must be at least 0\.2,"):
        leader_election.refuse_slow_renewal(on)
    leader_election.refuse_slow_renewal(by_file({"leader-elect": "false"}, clientConnection={"qps": 0.1}))
    leader_election.refuse_slow_renewal(
        by_file({"kube-api-qps": "0.1"}, clientConnection={"qps": 50})
    )  # it is not read


def test_other_files_are_taken() -> None:
    for content in ({}, {"clientConnection": None}, {"clientConnection": {"qps": 50}}):
        leader_election.refuse_slow_renewal(by_file(**content))
    leader_election.refuse_slow_renewal(by_file(clientConnection={"qps": 0.01}, leaderElection={"leaderElect": False}))


def test_what_is_no_configuration_is_no_response() -> None:
    with pytest.raises(Refusal):
        leader_election.renewal_of_file(b"- one", dict[str, str]().get)


@pytest.mark.parametrize(
    ("command", "seconds"),
    [
        (["kube-controller-manager"], 20),
        (["kube-controller-manager", "--leader-elect"], 20),
        (["kube-controller-manager", "--leader-elect=true", "--leader-elect-lease-duration=1m0s"], 65),
        (["kube-controller-manager", "--leader-elect-retry-period=5s"], 26),
        (["kube-controller-manager", "--leader-elect-lease-duration=soon"], 20),
        (["kube-controller-manager", "--leader-elect=false"], 0),
        (["kube-scheduler", "--leader-elect=true"], 0),
        (["kube-apiserver"], 0),
    ],
)
def test_how_long_a_controller_manager_may_wait_for_the_lease_of_the_one_before(
    command: list[str], seconds: int
) -> None:
    container = {"name": command[0], "command": command}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": [container]}}
    assert leader_election.seconds_until_leading(samples.manifest(yaml.safe_dump(pod), name=command[0])) == seconds


@pytest.mark.parametrize(
    ("name", "given", "election", "path"),
    [
        ("kube-scheduler", {}, {}, "kube-system/leases/kube-scheduler"),
        (
            "kube-scheduler",
            {"leader-elect-resource-namespace": "a"},
            {"resourceNamespace": "b"},
            "a/leases/kube-scheduler",
        ),
        ("kube-scheduler", {}, {"resourceNamespace": "b", "resourceName": "c"}, "b/leases/c"),
        ("kube-controller-manager", {"leader-elect-resource-name": "d"}, {}, "kube-system/leases/d"),
        ("kube-scheduler", {"leader-elect": "false"}, {}, ""),
        ("kube-scheduler", {}, {"leaderElect": False}, ""),
        ("kube-scheduler", {"leader-elect": "true"}, {"leaderElect": False}, "kube-system/leases/kube-scheduler"),
        ("kube-apiserver", {}, {}, ""),
    ],
)
def test_the_lease_of_a_leader_is_where_it_is_set(
    name: str, given: dict[str, str], election: dict[str, t.Any], path: str
) -> None:
    found = leader_election.lease_path(name, given.get, election)
    assert found == (path and f"/apis/coordination.k8s.io/v1/namespaces/{path}")


def test_holder_of_a_lease_is_named_with_a_random_id() -> None:
    lease = {"spec": {"holderIdentity": "cp_1_7f5f"}}
    assert leader_election.is_holder(lease, ("cp_1",))
    assert not leader_election.is_holder(lease, ("cp",))
    assert not leader_election.is_holder({"spec": {"holderIdentity": None}}, ("cp_1",))
    assert not leader_election.is_holder(None, ("cp_1",))

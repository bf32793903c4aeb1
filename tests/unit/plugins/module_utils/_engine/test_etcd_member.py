# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is verified of a member of etcd that is healthy."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.etcd_member import (
    PROOF_KEY,
    EtcdCluster,
    EtcdError,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import Json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import COMMITTED, ROLLED_BACK
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import Authority, Pair
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_etcd import FakeEtcd
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NEW, OLD, FakeNode

SECONDS_OF_THE_SWITCH = 2.0


@pytest.fixture(name="client")
def fixture_client(tmp_path: Path, member: FakeEtcd, authority: Authority, server: Pair) -> dict[str, str]:
    """How the member is asked."""
    found = {"url": member.url}
    for name, content in {
        "certificate": server.certificate,
        "key": server.key,
        "authority": authority.certificate,
    }.items():
        (tmp_path / name).write_bytes(content)
        found[name] = str(tmp_path / name)
    return found


def change(node: FakeNode, client: dict[str, str], meanwhile: t.Callable[[], object] = lambda: None) -> Json:
    """A change of the node's static pod as of a member of etcd. meanwhile: what happens while it stops."""
    due = node.clock.now + SECONDS_OF_THE_SWITCH
    happened: list[object] = []
    node.clock.watchers.append(lambda: happened.append(meanwhile()) if not happened and node.clock.now >= due else None)
    sides = {side: {**node.instance(text), "etcd": client} for side, text in (("before", OLD), ("after", NEW))}
    return node.change(watch=sides)


@pytest.fixture(name="other")
def fixture_other(tmp_path: Path, authority: Authority, server: Pair, member: FakeEtcd) -> t.Iterator[FakeEtcd]:
    """Another member, which reaches what is written through the first one when C(follows) says so."""
    (tmp_path / "other").mkdir()
    other = FakeEtcd(tmp_path / "other", authority, server)
    other.revision = 100
    assert member.members is not None
    member.members += [member.member("11", [other.url]), member.member("12", [])]
    yield other
    other.close()


def test_a_write_through_the_changed_member_is_verified_and_leaves_nothing(
    node: FakeNode, client: dict[str, str], member: FakeEtcd, other: FakeEtcd
) -> None:
    result = change(node, client)
    assert result["outcome"] == COMMITTED
    proof = {"revision": member.revision, "members": ["cp11"], "unreachable": ["12"], "alarms": []}
    assert result["proof"]["etcd"] == proof
    assert member.values == {}
    assert member.requests.count("/v3/kv/put") == 2
    reached = f"whether member 12 has reached revision {member.revision}: it did not answer"
    assert result["proof"]["unverified"] == [reached]
    assert other.requests == ["/v3/maintenance/status"]


def test_member_that_begins_with_other_data_is_rolled_back(
    node: FakeNode, client: dict[str, str], member: FakeEtcd
) -> None:
    member.revision = 500
    result = change(node, client, lambda: setattr(member, "revision", 2))
    assert result["outcome"] == ROLLED_BACK
    assert "etcd has other data than before: it is at revision 4, and was at 502" in result["reason"]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"accepts_writes": False}, "accepts no write through the changed member"),
        ({"next_alarm": "NOSPACE"}, "has the alarm NOSPACE of member 10 since the change"),
        ({"alarms": None}, "does not list its alarms"),
        ({"members": None}, "does not list its members"),
    ],
)
def test_a_member_that_does_less_than_before_is_restored(
    node: FakeNode, client: dict[str, str], member: FakeEtcd, fault: dict[str, t.Any], words: str
) -> None:
    result = change(node, client, lambda: vars(member).update(fault))
    assert result["outcome"] == ROLLED_BACK
    assert words in result["reason"]


def test_a_member_that_became_a_cluster_of_its_own_is_restored(
    node: FakeNode, client: dict[str, str], member: FakeEtcd
) -> None:
    """It takes writes, has no alarm, and there is no member that could be behind it."""
    assert member.members is not None
    member.members += [member.member("11", [member.url]), member.member("12", [member.url])]
    result = change(
        node, client, lambda: vars(member).update(members=member.members and member.members[:1], revision=1)
    )
    assert result["outcome"] == ROLLED_BACK
    assert "another cluster than before: member 11, 12 is not in it" in result["reason"]


def test_an_address_at_which_another_member_responds_reports_nothing(
    node: FakeNode, client: dict[str, str], member: FakeEtcd
) -> None:
    assert member.members is not None
    member.members += [{"ID": each, "name": f"cp{each}", "clientURLs": [member.url]} for each in ("11", "12")]
    proof = change(node, client)["proof"]["etcd"]
    assert (proof["members"], proof["unreachable"]) == ([], ["cp11", "cp12"])


def test_an_alarm_that_the_first_write_raises_is_none_of_the_change(
    node: FakeNode, client: dict[str, str], member: FakeEtcd
) -> None:
    """The quota is met by the write before the change, which is there to raise it."""
    member.accepts_writes = False
    node.clock.watchers.append(lambda: setattr(member, "alarms", {"10": "NOSPACE"}))
    assert change(node, client)["outcome"] == COMMITTED


def test_a_moment_without_a_leader_does_not_waive_the_proof(
    node: FakeNode, client: dict[str, str], member: FakeEtcd
) -> None:
    member.accepts_writes, member.error_status = False, 503
    assert change(node, client)["outcome"] == ROLLED_BACK


def test_two_members_of_one_name_are_two(
    node: FakeNode, client: dict[str, str], member: FakeEtcd, other: FakeEtcd
) -> None:
    assert member.members is not None
    member.members[1:] = [member.member("11", [other.url], name="same"), member.member("12", [member.url], name="same")]
    result = change(node, client, lambda: setattr(other, "revision", 1))
    assert result["outcome"] == ROLLED_BACK
    assert "same is at 1" in result["reason"]


def test_members_that_do_not_get_what_is_written_are_no_success(
    node: FakeNode, client: dict[str, str], member: FakeEtcd, other: FakeEtcd
) -> None:
    result = change(node, client, lambda: setattr(other, "revision", 1))
    assert result["outcome"] == ROLLED_BACK
    assert f"have reached revision {member.revision}: cp11 is at 1" in result["reason"]


def test_a_member_that_follows_is_waited_for(node: FakeNode, client: dict[str, str], other: FakeEtcd) -> None:
    def fall_behind() -> None:
        other.revision = 1
        limit = node.clock.now + 12.0
        node.clock.watchers.append(lambda: setattr(other, "revision", 100) if node.clock.now > limit else None)

    assert change(node, client, fall_behind)["outcome"] == COMMITTED


def test_what_was_so_before_is_no_part_of_the_proof(node: FakeNode, client: dict[str, str], member: FakeEtcd) -> None:
    member.accepts_writes, member.alarms = False, {"10": "NOSPACE"}
    result = change(node, client)
    assert result["outcome"] == COMMITTED
    assert result["proof"]["etcd"]["alarms"] == ["NOSPACE of member 10"]
    assert any("before the change etcd accepted no write" in note for note in result["notes"])
    assert any(limit.startswith("whether this member takes writes: ") for limit in result["proof"]["unverified"])


@pytest.mark.parametrize(("alarms", "outcome"), [({"10": "NOSPACE"}, COMMITTED), ({}, ROLLED_BACK)])
def test_what_a_member_that_was_down_could_not_report_is_judged_by_its_alarms(
    node: FakeNode, client: dict[str, str], member: FakeEtcd, alarms: dict[str, str], outcome: str
) -> None:
    member.accepts_writes, member.alarms = False, alarms
    gone = {**client, "url": "https://127.0.0.1:1"}
    sides = {"before": {**node.instance(OLD), "etcd": gone}, "after": {**node.instance(NEW), "etcd": client}}
    assert node.change(watch=sides)["outcome"] == outcome


def test_of_another_component_nothing_is_queried(node: FakeNode, member: FakeEtcd) -> None:
    result = node.change()
    assert result["outcome"] == COMMITTED
    assert result["proof"]["etcd"] is None
    assert member.requests == []


def test_the_key_is_one_of_our_own() -> None:
    assert PROOF_KEY == "nodecraft-kubeadm/proof"


def test_what_cannot_be_queried_reports_why(client: dict[str, str], member: FakeEtcd) -> None:
    with pytest.raises(EtcdError, match="No such file"):
        EtcdCluster({**client, "key": "/none"})  # type: ignore[typeddict-item]
    member.alarms = None
    with pytest.raises(EtcdError, match=r"/v3/maintenance/alarm answers 404") as raised:
        EtcdCluster(client).alarms()  # type: ignore[arg-type]
    assert raised.value.status == 404


def moves(member: FakeEtcd) -> int:
    """How often another leader was requested."""
    return member.requests.count("/v3/maintenance/transfer-leadership")


def test_leader_hands_over_to_a_voter_that_responds_before_it_stops(
    node: FakeNode, client: dict[str, str], member: FakeEtcd, other: FakeEtcd
) -> None:
    assert member.members is not None
    member.members.insert(1, member.member("13", [other.url], learner=True))
    member.leader = "10"
    leaders: list[str] = []
    result = change(node, client, lambda: leaders.append(member.leader))
    assert (result["outcome"], leaders, moves(member)) == (COMMITTED, ["11"], 1)
    assert "the leadership of etcd was moved to cp11 before the change" in result["notes"]


@pytest.mark.parametrize("leader", ["0", "11"])
def test_follower_moves_nothing(
    node: FakeNode, client: dict[str, str], member: FakeEtcd, other: FakeEtcd, leader: str
) -> None:
    member.leader = leader
    assert change(node, client)["notes"] == []
    assert moves(member) == 0


def test_only_member_moves_nothing(node: FakeNode, client: dict[str, str], member: FakeEtcd) -> None:
    member.leader = "10"
    assert change(node, client)["notes"] == []
    assert moves(member) == 0


def test_leader_that_cannot_hand_over_is_changed_all_the_same(
    node: FakeNode, client: dict[str, str], member: FakeEtcd, other: FakeEtcd, monkeypatch: pytest.MonkeyPatch
) -> None:
    member.leader = "10"
    monkeypatch.setattr(member, "move_leader", lambda _body: None)
    result = change(node, client)
    assert result["outcome"] == COMMITTED
    (note,) = result["notes"]
    assert note.startswith("the leadership of etcd could not be moved before the change: ")

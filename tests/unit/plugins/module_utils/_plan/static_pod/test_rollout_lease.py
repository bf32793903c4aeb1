# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rollout over a control plane asks of the Lease, and what the answers mean."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import typed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import rollout_lease
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.rollout_lease import Admission
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.static_pod_results import (
    LeaseState,
    StaticPodHost,
    StaticPodSettings,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.results import LeaseResult
from ansible_collections.nodecraft.kubeadm.tests.unit.support.control_plane_hosts import (
    API_SERVER,
    ETCD,
    ON,
    SETTINGS,
    after_failure,
    after_turn,
    host,
    pod,
    results,
)

Json = dict[str, t.Any]

ACQUIRED: Json = {"api_reachable": True, "holder": "me"}
SILENT: Json = {"msg": "no answer for 60 s.", "api_reachable": False}
DOWN: Json = {API_SERVER: pod(ON, problem="is down")}
CLUSTER = {"ca_sha256": "a", "machine_ids": {"cp1": "machine-cp1"}}
COMMITTED: Json = {"transaction": {"outcome": "committed"}}


def parsed(hosts: dict[str, Json]) -> dict[str, StaticPodHost]:
    """Hosts as the decisions see them."""
    return {name: results(registers) for name, registers in hosts.items()}


def named(*hosts: Json) -> dict[str, StaticPodHost]:
    """The same by the names of their passes."""
    return parsed({registers["begin"]["pass_id"]: registers for registers in hosts})


def lease(result: Json) -> LeaseResult:
    return typed.parse(LeaseResult, result)


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({}, 60 + 600 + 300 + 300 + 2 * 10 + 0 + 180 + 2 * (300 + 90)),
        ({"wait_timeout": 400}, 60 + 600 + 400 + 400 + 2 * 10 + 0 + 180 + 2 * (400 + 90)),
        ({"wait_timeout": 100}, 60 + 600 + 100 + 300 + 2 * 10 + 0 + 180 + 2 * (100 + 90)),
        ({"confirm": True, "lock_timeout": 3}, 60 + 3 + 300 + 300 + 2 * 10 + 60 + 180 + 2 * (300 + 90)),
        ({"min_ready_seconds": 0}, 60 + 600 + 300 + 300 + 180 + 2 * (300 + 90)),
    ],
)
def test_a_turn_takes_all_its_waits_at_most(settings: Json, seconds: int) -> None:
    assert rollout_lease.turn_seconds(results(host("cp1", **settings))) == seconds


def test_a_turn_takes_longer_with_each_static_pod() -> None:
    both = host("cp1", {ETCD: pod(ON), API_SERVER: pod(ON), "kube-scheduler": pod(ON)})
    assert rollout_lease.turn_seconds(results(both)) == 60 + 3 * (600 + 300 + 300 + 20 + 180 + 2 * 90) + 2 * (
        300 + 300 + 60
    )


def test_what_is_requested_has_a_short_digest() -> None:
    digests = {
        rollout_lease.desired_digest(results(host("cp1", **more)))
        for more in ({}, {"wait_timeout": 9}, {"purge": False}, {"desired": "another"})
    }
    assert [len(digest) for digest in digests] == [16, 16, 16]


def test_the_lease_is_acquired_for_the_first_turn() -> None:
    hosts = {
        "cp1": host("cp1", {API_SERVER: pod()}, desired="of none"),
        "cp2": host("cp2", others={ETCD: pod(phase="waiting")}),
        "cp3": host("cp3", desired="another"),
        "cp4": host("cp4"),
    }
    settings = {**SETTINGS, "control_plane_lease_takeover": True, "control_plane_resume": True}
    request = rollout_lease.acquire_request(parsed(hosts), typed.parse(StaticPodSettings, settings), "me", 7)
    assert request.pop("cluster")["ca_sha256"] == "a"
    assert request == {
        "state": "held",
        "holder": "me",
        "duration": rollout_lease.turn_seconds(results(hosts["cp2"])),
        "intents": [rollout_lease.desired_digest(results(hosts[name])) for name in ("cp2", "cp3")],
        "open_transactions": ["etcd on cp2 (waiting)"],
        "plan_age": 7,
        "wait_timeout": 600,
        "takeover": True,
        "resume": True,
    }


def admitted(result: Json, *hosts: Json, skipped: t.Sequence[str] = (), dry: bool = False) -> Admission:
    taking_part = named(*hosts or (host("cp1"), host("cp2")))
    return rollout_lease.check_admission(taking_part, lease(result), "me", skipped, dry=dry)


def test_a_lease_that_is_held_lets_the_rollout_go_on() -> None:
    assert admitted(ACQUIRED) == Admission(is_held=True)
    assert admitted({**ACQUIRED, "holder": "them"}) == Admission()


@pytest.mark.parametrize(("dry", "word"), [(False, "is"), (True, "would be")])
def test_a_lease_that_is_taken_over_is_reported(dry: bool, word: str) -> None:
    found = admitted({**ACQUIRED, "taken_over_from": "them", "stale": True}, dry=dry)
    expected = f"the Lease {word} taken over from them."
    assert found == Admission(warning=expected, is_held=not dry, is_stale=not dry)


@pytest.mark.parametrize(
    ("result", "remedy"),
    [
        ({"msg": "marked.", "api_reachable": True}, ""),
        (SILENT, " To continue although nothing excludes other runs, set control_plane_lease: false."),
        (
            {"msg": "gone.", "unreachable": True},
            " To continue although nothing excludes other runs, set control_plane_lease: false.",
        ),
    ],
)
def test_without_the_lease_nothing_is_changed(result: Json, remedy: str) -> None:
    assert admitted(result) == Admission(refusal=f"{result['msg']}{remedy}")
    assert admitted({"unreachable": True, "msg": ""}).refusal.startswith("no answer. To continue")


@pytest.mark.parametrize(
    ("result", "hosts", "skipped", "goes_on"),
    [
        (SILENT, [host("cp1")], [], True),
        (SILENT, [host("cp1")], ["cp2"], False),
        (SILENT, [host("cp1", DOWN)], ["cp2"], True),
        (SILENT, [host("cp1", DOWN), host("cp2", DOWN)], [], False),
        ({**SILENT, "api_reachable": None}, [host("cp1")], [], False),
        ({**SILENT, "api_reachable": True}, [host("cp1")], [], False),
    ],
)
def test_one_node_goes_on_without_an_api(result: Json, hosts: list[Json], skipped: list[str], goes_on: bool) -> None:
    found = admitted(result, *hosts, skipped=skipped)
    assert (found.is_alone, bool(found.warning), not found.refusal) == (goes_on, goes_on, goes_on)


def test_who_goes_on_alone_is_reported_whom_to_keep_away() -> None:
    begin = "continuing without the Lease, because this play has one node and no API server answers"
    assert admitted(SILENT, host("cp1")).warning == f"{begin}: no answer for 60 s."
    expected = f"{begin} (make sure that nothing changes cp2, cp3 meanwhile): no answer for 60 s."
    assert admitted(SILENT, host("cp1", DOWN), skipped=["cp2", "cp3"]).warning == expected


@pytest.mark.parametrize(
    ("step", "is_needed", "refused_words"),
    [
        ({"held": True}, True, ""),
        ({"alone": True}, True, ""),
        ({}, False, ""),
        ({}, True, "Not changed, because this run does not hold the Lease of the control plane."),
    ],
)
def test_no_turn_begins_without_the_lease(step: Json, is_needed: bool, refused_words: str) -> None:
    assert rollout_lease.turn_refusal(typed.parse(LeaseState, step), is_needed=is_needed) == refused_words


def test_the_lease_is_renewed_for_one_turn_without_a_wait() -> None:
    hosts = {"cp1": host("cp1")}
    assert rollout_lease.renew_request(parsed(hosts), "cp1", "me", 9) == {
        "state": "held",
        "holder": "me",
        "duration": rollout_lease.turn_seconds(results(hosts["cp1"])),
        "plan_age": 9,
        "wait_timeout": 0,
        "cluster": CLUSTER,
    }


def test_where_only_kubeadm_config_is_written_the_lease_is_held_for_that_alone() -> None:
    hosts = {"cp1": host("cp1", {API_SERVER: pod()})}
    settings = {**SETTINGS, "control_plane_lease_takeover": False, "control_plane_resume": False}
    acquired = rollout_lease.acquire_request(parsed(hosts), typed.parse(StaticPodSettings, settings), "me", 7)
    renewed = rollout_lease.renew_request(parsed(hosts), None, "me", 7)
    a_turn = rollout_lease.turn_seconds(results(host("cp1")))
    assert acquired["duration"] == renewed["duration"] < a_turn


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (ACQUIRED, ""),
        ({**ACQUIRED, "stale": True}, "had expired, and another run held it since everything was planned. Run again."),
        (SILENT, "Not changed, because the Lease of this run could not be renewed: no answer for 60 s."),
        ({"unreachable": True, "msg": ""}, "the Lease of this run could not be renewed: no answer."),
    ],
)
def test_a_renewal_that_failed_or_came_late_ends_the_rollout(result: Json, words: str) -> None:
    found = rollout_lease.renewal_refusal(lease(result))
    assert words in found
    assert bool(found) is bool(words)


def released(*hosts: Json) -> Json:
    found = rollout_lease.release_request(named(*hosts), "me")
    assert found
    return found


def test_a_rollout_that_came_to_its_end_releases_the_lease() -> None:
    nothing = host("cp2", {API_SERVER: pod()})
    request = released(after_turn(host("cp1"), COMMITTED), nothing)
    assert request.pop("cluster")["ca_sha256"] == "a"
    assert request == {"state": "released", "holder": "me", "completed": True, "proofs": {}}


@pytest.mark.parametrize(
    "hosts",
    [
        [host("cp1", {API_SERVER: pod()})],
        [after_turn(host("cp1"), COMMITTED), after_failure(host("cp2"), "turn", "no")],
        [after_turn(host("cp1"), {"failed": True, "busy": True}), host("cp2")],
    ],
)
def test_what_did_not_come_to_its_end_leaves_the_mark_of_an_earlier_one(hosts: list[Json]) -> None:
    request = released(*hosts)
    assert (request["state"], request["completed"]) == ("released", False)


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        ({"failed": True, "msg": "it does not start."}, "it does not start."),
        ({"failed": True, "msg": ""}, "its change failed."),
        ({"unreachable": True, "failed": True, "msg": "ssh"}, "it was lost in the middle of its change."),
    ],
)
def test_a_failed_rollout_leaves_its_mark(failure: Json, reason: str) -> None:
    hosts = [after_turn(host("cp1"), COMMITTED), after_turn(host("cp2", desired="b"), failure), host("cp3")]
    request = released(*hosts)
    desired = rollout_lease.desired_digest(results(host("cp2", desired="b")))
    marked = {key: request[key] for key in ("state", "node", "reason", "intents", "completed")}
    assert marked == {"state": "halted", "node": "cp2", "reason": reason, "intents": [desired], "completed": False}
    assert "-e control_plane_resume=true" in rollout_lease.resume_hint(named(*hosts))


def test_a_released_lease_needs_nothing_of_the_next_run() -> None:
    done = after_turn(host("cp1"), COMMITTED)
    assert released(done)["state"] == "released"
    assert rollout_lease.resume_hint(named(done)) == ""


def test_the_node_that_was_lost_is_named_first() -> None:
    request = released(after_turn(host("cp1"), {"failed": True}), after_turn(host("cp2"), {"unreachable": True}))
    assert request["node"] == "cp2"


def test_a_lease_is_not_released_while_a_change_goes_on() -> None:
    assert rollout_lease.release_request(parsed({"cp1": after_turn(host("cp1"))}), "me") is None


def test_a_lease_that_stays_is_reported() -> None:
    assert rollout_lease.release_warning("me", lease(ACQUIRED)) == ""
    expected = "the Lease is still held by me until it expires: no answer for 60 s."
    assert rollout_lease.release_warning("me", lease(SILENT)) == expected
    assert rollout_lease.release_warning("me", lease({"failed": True, "msg": ""})).endswith("expires: no answer.")

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of a rollout over three control planes behind a load balancer, in a play without any precaution."""

from __future__ import annotations

import contextlib
import datetime
import os
import signal
import subprocess
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.lab import runs
from ansible_collections.nodecraft.kubeadm.tests.faults.lab import desired_states
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.background import Play, Probing
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.checks import check_committed, check_restored
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.cluster import (
    API_SERVER,
    LEASE,
    Cluster,
    Json,
    Sampling,
    until,
)
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.records import Record, Recorder
from ansible_collections.nodecraft.kubeadm.tests.faults.lab.samples import most_at_once

pytestmark = pytest.mark.skipif(
    "FAULTS_THREE" not in os.environ, reason="FAULTS_THREE names no lab of three control planes"
)

A_SECOND = datetime.timedelta(seconds=1)  # the times of transactions are whole seconds
USERS_PLAY = "extensions/molecule/common/users_play.yml"


def rollout(cluster: Cluster, desired: Json, component: str = API_SERVER, **variables: t.Any) -> Play:
    """Begin a run over all control planes."""
    role = {
        "control_plane_components": {component: desired},
        "control_plane_wait_timeout": 90,
        "control_plane_min_ready_seconds": 5,
    }
    return cluster.play(USERS_PLAY, {**role, **variables})


@contextlib.contextmanager
def all_sampled(cluster: Cluster) -> t.Iterator[list[Sampling]]:
    """Watch the manifests and API servers of all control planes."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(cluster.sampled(node)) for node in cluster.control_planes]


def transaction(run: runs.Run, node: str, component: str = API_SERVER) -> Json | None:
    """What the role reports of a static pod of a node."""
    report = run.report["global_custom_stats"]["control_plane_report"]
    return t.cast("Json | None", report[node][component]["transaction"])


def check_reachable(entry: Record, probing: Probing, samplings: t.Sequence[Sampling]) -> None:
    """The API was there for a client that tries once more, and one API server at most was away at any time."""
    check_requests(entry, probing)
    assert most_at_once(absence for sampling in samplings for absence in sampling.samples.absences()) == 1


def check_requests(entry: Record, probing: Probing) -> None:
    """The API was there for a client that tries once more."""
    summary = probing.summary()
    entry.note = (
        f"{summary['requests']} requests through the load balancer, {summary['failed']} repeated on a new connection,"
        f" {summary['lost']} lost; the longest took {summary['longest']} s"
    )
    entry.requests, entry.repeated, entry.lost = summary["requests"], summary["failed"], summary["lost"]
    assert summary["requests"] > 100
    assert summary["lost"] == 0, probing.failures()


def check_others_untouched(cluster: Cluster, former: t.Sequence[t.Any], samplings: t.Sequence[Sampling]) -> None:
    """Neither the manifests nor the processes of the second and third control plane changed."""
    assert [node.processes() for node in cluster.control_planes[1:]] == list(former)
    assert [sampling.samples.written() for sampling in samplings[1:]] == [None, None]


def test_a_good_rollout_is_not_noticed_by_clients(three: Cluster, record: Recorder) -> None:
    entry = record("good", "a good rollout over three control planes")
    with three.probed() as probing, all_sampled(three) as samplings, rollout(three, desired_states.GOOD) as play:
        run = play.finish()
    assert run.rc == 0, run.reasons
    for node, sampling in zip(three.control_planes, samplings, strict=True):
        check_committed(entry, node, sampling.samples, transaction(run, node.name) or {})
    entry.outages = [outage for sampling in samplings for outage in sampling.samples.outages()]
    check_reachable(entry, probing, samplings)
    entry.fault_evidence = f"{run.changed} nodes changed; {entry.note}"


def test_members_of_etcd_are_changed_one_after_the_other(three: Cluster, record: Recorder) -> None:
    entry = record("good", "a good rollout over three members of etcd, and back")
    commands = [[process.arguments for process in node.processes()] for node in three.control_planes]
    former = [node.manifest("etcd").read_bytes() for node in three.control_planes]
    desired = {"args": {"snapshot-count": "9000"}}
    with three.probed() as probing, all_sampled(three) as samplings:
        ended = []
        for settings, changed in ((desired, 3), (desired, 0), ({"args": {}}, 3)):
            with rollout(three, settings, "etcd") as play:
                ended.append(run := play.finish())
            assert (run.rc, run.changed) == (0, changed), run.reasons
            has_flag = ["--snapshot-count=9000" in node.processes("etcd")[0].arguments for node in three.control_planes]
            assert has_flag == [settings == desired] * 3
    for run in (ended[0], ended[2]):
        turns = [transaction(run, node.name, "etcd") or {} for node in three.control_planes]
        assert [turn["outcome"] for turn in turns] == ["committed"] * 3
        ends = [datetime.datetime.fromisoformat(turn["ended"].replace("Z", "+00:00")) for turn in turns]
        spans = [datetime.timedelta(seconds=turn["seconds"]) for turn in turns]
        assert all(
            before <= end - span + A_SECOND for before, end, span in zip(ends, ends[1:], spans[1:], strict=False)
        )
    assert [node.manifest("etcd").read_bytes() for node in three.control_planes] == former
    # Other processes may run them: an API server whose etcd is away for 80 s is restarted by its liveness probe.
    assert [[process.arguments for process in node.processes()] for node in three.control_planes] == commands
    entry.outages = [outage for sampling in samplings for outage in sampling.samples.outages()]
    check_requests(entry, probing)
    # Without its etcd an API server takes connections and is not ready.
    assert most_at_once(span for sampling in samplings for span in sampling.samples.unready(longer_than=10)) == 1
    entry.outcome, entry.runs_then, entry.false_restore = "committed", "new", False
    entry.fault_evidence = f"each member changed and changed back; {entry.note}"


def test_a_flag_that_only_shows_at_run_time_stops_at_the_first_node(three: Cluster, record: Recorder) -> None:
    entry, first = record("F46", "first of three nodes never gets ready"), three.first
    former = [node.processes() for node in three.control_planes[1:]]
    with (
        three.probed() as probing,
        all_sampled(three) as samplings,
        rollout(three, desired_states.UNREADY, control_plane_wait_timeout=30) as play,
    ):
        run = play.finish()
    assert run.rc != 0
    check_restored(entry, first, samplings[0].samples, transaction(run, first.name) or {})
    check_others_untouched(three, former, samplings)
    check_reachable(entry, probing, samplings)
    entry.fault_evidence = "; ".join(run.reasons)
    assert "not healthy within 30 s: it runs, not ready yet" in entry.fault_evidence
    assert not three.find_problem()


def test_a_second_run_waits_for_the_first(three: Cluster, record: Recorder) -> None:
    entry = record("F25", "two runs over three control planes at once")
    with three.probed() as probing, all_sampled(three) as samplings, rollout(three, desired_states.GOOD) as play:
        three.first.wait_for_phase("waiting")
        other = {"args": {"event-ttl": "2h"}}
        with rollout(three, other, control_plane_purge=False) as second:
            alone = play.is_running
            runs_ended = [play.finish(), second.finish()]
    assert alone, "the first run had ended before the second began"
    assert [run.rc for run in runs_ended] == [0, 0], [run.reasons for run in runs_ended]
    for node in three.control_planes:
        arguments = node.processes()[0].arguments
        assert {"--v=1", "--event-ttl=2h"} <= set(arguments)
    entry.outcome, entry.runs_then, entry.false_restore = "committed", "new", False
    entry.outages = [outage for sampling in samplings for outage in sampling.samples.outages()]
    check_reachable(entry, probing, samplings)
    entry.fault_evidence = f"begun while the first was at work; {runs_ended[1].changed} nodes changed by the second"


def test_what_a_dead_run_left_is_taken_over_only_by_rule(three: Cluster, record: Recorder) -> None:
    entry, first = record("F26", "controller killed in the middle of a rollout, its lock left behind"), three.first
    with all_sampled(three) as samplings:
        with rollout(three, desired_states.GOOD) as play:
            first.wait_for_phase("waiting")
            play.kill()
        holder = three.lab.get("lease", LEASE, "--namespace=kube-system")["spec"]["holderIdentity"]
        ended = first.wait_for_end()
        with rollout(three, desired_states.GOOD, control_plane_lock_timeout=5) as play:
            refused = play.finish()
        written = [sampling.samples.written() for sampling in samplings[1:]]
        with rollout(three, desired_states.GOOD, control_plane_lease_takeover=True) as play:
            takeover_run = play.finish()
    assert ended["outcome"] == "committed", "the node did not go on by itself"
    assert refused.rc != 0
    assert any(holder in reason for reason in refused.reasons), refused.reasons
    assert written == [None, None]
    assert takeover_run.rc == 0, takeover_run.reasons
    assert all("--v=1" in node.processes()[0].arguments for node in three.control_planes)
    entry.outcome, entry.runs_then, entry.false_restore = "committed", "new", False
    entry.fault_evidence = "; ".join(refused.reasons)


def test_a_restore_needs_no_load_balancer(three: Cluster, record: Recorder) -> None:
    entry, first = record("F38", "load balancer stopped in the middle"), three.first
    balancer = f"{three.lab.name}-lb"
    with three.sampled(first) as sampling, three.change(desired_states.UNREADY, wait_timeout=30) as change:
        first.wait_for_phase("waiting")
        podman("stop", "--time", "0", balancer)
        try:
            entry.fault_evidence = f"in the phase {first.phase()}: {three.unready_nodes() or 'the API answers'}"
            ended = first.wait_for_end()
            result = change.result()
        finally:
            podman("start", balancer)
    assert "the API does not answer" in entry.fault_evidence
    check_restored(entry, first, sampling.samples, ended)
    assert result["transaction"]["outcome"] == "rolled_back"


@pytest.mark.parametrize("members", [1, 2], ids=["one-member", "quorum"])
def test_without_a_healthy_etcd_nothing_is_changed(three: Cluster, record: Recorder, members: int) -> None:
    entry = record("F39", f"{members} of 3 members of etcd do not answer")
    stopped = [process for node in three.control_planes[-members:] for process in node.processes("etcd")]
    former = [node.processes() for node in three.control_planes]
    with all_sampled(three) as samplings:
        for process in stopped:
            process.send(signal.SIGSTOP)
        try:
            with rollout(three, desired_states.GOOD, control_plane_lock_timeout=20) as play:
                run = play.finish()
            manifests = [sampling.samples.written() for sampling in samplings]
        finally:
            for process in stopped:
                process.send(signal.SIGCONT)
    assert run.rc != 0
    assert manifests == [None, None, None]
    entry.outcome, entry.runs_then, entry.reported = "refused", "old", True
    entry.fault_evidence = "; ".join(run.reasons)
    if members == 1:  # with the quorum, API servers are lost, and the kubelets restart them
        assert [node.processes() for node in three.control_planes] == former


def podman(*arguments: str) -> None:
    """Do something to a container that is no node."""
    subprocess.run(["podman", *arguments], check=True, capture_output=True)


def test_the_lock_is_gone_after_a_good_run(three: Cluster, record: Recorder) -> None:
    entry = record("F26", "nothing is left of a run that ended")
    with rollout(three, desired_states.GOOD) as play:
        run = play.finish()
    with rollout(three, desired_states.GOOD) as play:
        again = play.finish()
    lease = three.lab.get("lease", LEASE, "--namespace=kube-system")
    assert run.rc == 0, run.reasons
    assert (again.rc, again.changed) == (0, 0)
    assert not lease["spec"].get("holderIdentity")
    until(lambda: not three.find_problem(), "a healthy cluster")
    entry.outcome, entry.runs_then, entry.false_restore = "committed", "new", False
    entry.fault_evidence = f"the Lease has the holder {lease['spec'].get('holderIdentity')!r}"

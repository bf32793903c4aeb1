# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Lease against an API server: other runs, other writers, lost responses, no response at all."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.lease_steps import LeaseSteps, Observed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.lease import LEASE_NAME, LeasePlan
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import (
    LEASES,
    Clock,
    FakeApi,
    HttpError,
    client_of,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.steps_run import StepRunner

Json = dict[str, t.Any]
LeaseRun = StepRunner[Observed, LeasePlan]
NOW = 1_800_000_000.0
DEFAULTS: Json = {
    "name": LEASE_NAME,
    "state": "held",
    "holder": "us",
    "duration": 100,
    "intents": ["w"],
    "open_transactions": [],
    "plan_age": 0,
    "wait_timeout": 60,
    "gone": None,
    "takeover": False,
    "resume": False,
    "proofs": {},
    "completed": True,
    "node": None,
    "reason": None,
}


class LeaseRuns:
    """Runs of the module against one server, whose clock goes on only during a sleep."""

    def __init__(self, api: FakeApi) -> None:
        self.api = api
        self.clock = Clock()
        self.clock.on_sleep = self.tick
        self.tick()

    def tick(self) -> None:
        self.api.now = NOW + self.clock.now

    def run(self, *, dry: bool = False, **params: t.Any) -> LeaseRun:
        """Run the steps as the runner does."""
        found = LeaseSteps({**DEFAULTS, **params}, connect=lambda: client_of(self.api.url, self.clock))
        steps = self.last = StepRunner(found, dry=dry)
        with steps.session():
            steps.read()
            self.warnings = steps.notes()
            if steps.plan().operations:
                steps.rehearse()
                if not dry:
                    steps.apply()
        return steps

    @property
    def holder(self) -> str:
        return str(self.api.leases[LEASE_NAME]["spec"]["holderIdentity"])


@pytest.fixture(name="runs")
def fixture_runs(serve: t.Callable[..., FakeApi]) -> LeaseRuns:
    return LeaseRuns(serve())


def test_lease_is_acquired_renewed_and_released(runs: LeaseRuns) -> None:
    assert runs.run().report() == {
        "api_reachable": True,
        "holder": "us",
        "taken_over_from": None,
        "stale": False,
        "waited_seconds": 0.0,
        "busy": False,
        "missing_proofs": {},
        "operations": [{"field": "lease", "key": "holderIdentity", "before": None, "after": "us"}],
    }
    runs.clock.sleep(50)
    runs.run()
    assert runs.api.leases[LEASE_NAME]["spec"]["renewTime"] == "2027-01-15T08:00:50.000000Z"
    assert runs.run(state="released").report()["holder"] is None
    assert [request.partition("?")[0] for request in runs.api.requests if request[:3] != "GET"] == [
        f"POST {LEASES}",
        f"PUT {LEASES}/{LEASE_NAME}",
        f"PUT {LEASES}/{LEASE_NAME}",
    ]


def test_check_mode_writes_nothing_and_does_not_wait(runs: LeaseRuns) -> None:
    steps = runs.run(dry=True)
    assert steps.rehearse().verdict == "accepted"
    assert runs.api.leases == {}
    runs.run(holder="them")
    requests = len(runs.api.requests)
    steps = runs.run(dry=True)
    assert (steps.rehearse().verdict, runs.clock.pauses, runs.holder) == ("skipped", [], "them")
    assert len(runs.api.requests) == requests + 2  # the Lease and the version


def test_a_version_that_is_not_tested(runs: LeaseRuns) -> None:
    runs.run()
    assert runs.warnings == []
    runs.api.version = "v1.31.9"
    runs.run()
    assert ["API server v1.31.9 (older than tested)" in warning for warning in runs.warnings] == [True]


def refuse(status: int, message: str) -> t.Callable[[], None]:
    """A callback of a server that refuses writes."""

    def write() -> None:
        raise HttpError(status, message)

    return write


def test_check_mode_reports_missing_rights(runs: LeaseRuns) -> None:
    runs.api.before_write = refuse(403, "leases is forbidden")
    verdict = runs.run(dry=True).rehearse()
    assert verdict.verdict == "refused"
    assert "leases is forbidden" in verdict.message


def test_a_run_waits_for_another_and_its_plan_is_stale(runs: LeaseRuns) -> None:
    runs.run(holder="them")

    def let_go() -> None:
        runs.tick()
        if runs.clock.now == 10:
            runs.clock.on_sleep = runs.tick
            runs.run(holder="them", state="released")

    runs.clock.on_sleep = let_go
    report = runs.run().report()
    assert (report["holder"], report["stale"], report["waited_seconds"]) == ("us", True, 5.0)
    assert report["taken_over_from"] is None


def test_a_run_waits_until_a_dead_one_has_run_out(runs: LeaseRuns) -> None:
    runs.run(holder="them", duration=12)
    report = runs.run().report()
    assert (runs.clock.now, report["taken_over_from"], report["stale"]) == (12.0, "them", True)


def test_a_run_waits_no_longer_than_it_may(runs: LeaseRuns) -> None:
    runs.run(holder="them")
    with pytest.raises(KubeadmError, match="waited 60 s, and the run them is in progress"):
        runs.run()
    assert runs.holder == "them"
    assert (runs.last.report()["holder"], runs.last.report()["busy"]) == ("them", True)


def test_an_open_change_is_no_reason_to_wait(runs: LeaseRuns) -> None:
    runs.run(holder="them", duration=12)
    with pytest.raises(Refusal, match="left changes open: kube-apiserver on cp1"):
        runs.run(open_transactions=["kube-apiserver on cp1"])


def test_two_that_take_it_at_the_same_moment(runs: LeaseRuns) -> None:
    other = {
        "metadata": {"name": LEASE_NAME, "resourceVersion": "1"},
        "spec": {"holderIdentity": "them", "leaseDurationSeconds": 3, "renewTime": "2027-01-15T08:00:00Z"},
    }

    def first() -> None:
        runs.api.before_write = lambda: None
        runs.api.leases[LEASE_NAME] = other

    runs.api.before_write = first
    report = runs.run().report()
    assert (report["holder"], report["taken_over_from"], runs.clock.now) == ("us", "them", 3.0)


def test_lease_whose_response_was_lost_is_held(runs: LeaseRuns) -> None:
    written: list[Json] = []

    def take() -> None:
        if not written:
            runs.api.leases[LEASE_NAME] = {
                "metadata": {"name": LEASE_NAME, "resourceVersion": "1"},
                "spec": {"holderIdentity": "us", "leaseDurationSeconds": 100, "renewTime": "2027-01-15T08:00:00Z"},
            }
            written.append(runs.api.leases[LEASE_NAME])

    runs.api.before_write = take
    assert runs.run().report()["holder"] == "us"
    assert runs.clock.pauses == []


def test_conflicts_come_to_an_end(runs: LeaseRuns) -> None:
    runs.api.before_write = refuse(409, "the object has been modified")
    with pytest.raises(
        KubeadmError, match=rf"Lease {LEASE_NAME}: another client changed it in each of 20 attempts.*\b409\b"
    ):
        runs.run()
    assert len(runs.api.paths("POST")) == 20


def test_our_own_api_server_restarts(runs: LeaseRuns) -> None:
    runs.run()
    runs.api.failures = [None, HttpError(503, "apiserver is shutting down"), None]
    assert runs.run().report()["holder"] == "us"


def test_an_account_without_the_right(runs: LeaseRuns) -> None:
    runs.api.before_write = refuse(403, "leases is forbidden")
    with pytest.raises(KubeadmError, match=r"needs get, create and update on leases .* control_plane_lease"):
        runs.run()
    assert runs.last.report()["api_reachable"] is True


def test_refused_account_gets_the_remedy(runs: LeaseRuns) -> None:
    """The change that is to be reverted may be the one that locked it out."""
    runs.api.failures = [HttpError(401, "Unauthorized")]
    with pytest.raises(
        KubeadmError, match=r"401, Unauthorized.*locked you out.*control_plane_lease or node_kubelet_lease: false"
    ):
        runs.run()
    assert runs.last.report()["api_reachable"] is True


def test_unreachable_api_is_an_error(runs: LeaseRuns) -> None:
    runs.api.close()
    with pytest.raises(KubeadmError, match="did not answer for 60 s"):
        runs.run()
    report = runs.last.report()
    assert (report["api_reachable"], report["holder"], report["operations"]) == (False, None, [])


def test_foreign_api_is_reachable_and_refused(runs: LeaseRuns) -> None:
    """With one node and no response a role continues: here a server responded."""

    def refuse_it(_client: object) -> t.NoReturn:
        raise Refusal("not verified")

    steps = StepRunner(LeaseSteps(DEFAULTS, connect=lambda: client_of(runs.api.url, runs.clock, check=refuse_it)))
    with pytest.raises(Refusal), steps.session():
        steps.read()
    assert steps.report()["api_reachable"] is True
    assert runs.api.requests == []


def test_missing_credentials_send_no_request() -> None:
    def connect() -> t.Any:
        raise KubeadmError("there are no usable credentials")

    steps = StepRunner(LeaseSteps(DEFAULTS, connect=connect))
    with pytest.raises(KubeadmError), steps.session():
        raise AssertionError
    assert steps.report()["api_reachable"] is None


def test_failed_rollout_blocks_its_desired_state(runs: LeaseRuns) -> None:
    runs.run()
    runs.run(state="halted", node="cp1", reason="it crashed.")
    assert runs.holder == ""
    with pytest.raises(Refusal, match="the same desired state failed on cp1"):
        runs.run(holder="others")
    assert runs.run(holder="others", resume=True).report()["holder"] == "others"
    runs.run(holder="others", state="released")
    assert runs.run(holder="more").report()["holder"] == "more"

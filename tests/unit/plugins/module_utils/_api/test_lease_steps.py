# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Lease against an API server: other runs, other writers, lost answers, no answer at all."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.lease_steps import LeaseSteps, Observed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.lease import LEASE_NAME, LeasePlan
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import (
    LEASES,
    Clock,
    ErrorResponse,
    FakeApi,
    client_of,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.steps_run import StepRunner

Json = dict[str, t.Any]
LeaseCourse = StepRunner[Observed, LeasePlan]
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
    "completed": True,
    "node": None,
    "reason": None,
}


class Desk:
    """Runs of the module against one server; its clock goes on only during a sleep."""

    def __init__(self, api: FakeApi) -> None:
        self.api = api
        self.clock = Clock()
        self.clock.on_sleep = self.tick
        self.tick()

    def tick(self) -> None:
        self.api.now = NOW + self.clock.now

    def run(self, *, dry: bool = False, **params: t.Any) -> LeaseCourse:
        """Take a run through its steps, as the runner does."""
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


@pytest.fixture(name="desk")
def fixture_desk(serve: t.Callable[..., FakeApi]) -> Desk:
    return Desk(serve())


def test_taken_renewed_let_go(desk: Desk) -> None:
    assert desk.run().report() == {
        "api_reachable": True,
        "holder": "us",
        "taken_over_from": None,
        "stale": False,
        "waited_seconds": 0.0,
        "busy": False,
        "operations": [{"field": "lease", "key": "holderIdentity", "before": None, "after": "us"}],
    }
    desk.clock.sleep(50)
    desk.run()
    assert desk.api.leases[LEASE_NAME]["spec"]["renewTime"] == "2027-01-15T08:00:50.000000Z"
    assert desk.run(state="released").report()["holder"] is None
    assert [request.partition("?")[0] for request in desk.api.requests if request[:3] != "GET"] == [
        f"POST {LEASES}",
        f"PUT {LEASES}/{LEASE_NAME}",
        f"PUT {LEASES}/{LEASE_NAME}",
    ]


def test_check_mode_writes_nothing_and_does_not_wait(desk: Desk) -> None:
    steps = desk.run(dry=True)
    assert steps.rehearse().verdict == "accepted"
    assert desk.api.leases == {}
    desk.run(holder="them")
    requests = len(desk.api.requests)
    steps = desk.run(dry=True)
    assert (steps.rehearse().verdict, desk.clock.pauses, desk.holder) == ("skipped", [], "them")
    assert len(desk.api.requests) == requests + 2  # the Lease and the version


def test_a_version_that_is_not_tested(desk: Desk) -> None:
    desk.run()
    assert desk.warnings == []
    desk.api.version = "v1.31.9"
    desk.run()
    assert ["API server v1.31.9 (older than tested)" in warning for warning in desk.warnings] == [True]


def refuse(status: int, words: str) -> t.Callable[[], None]:
    """What a server does that takes no write."""

    def write() -> None:
        raise ErrorResponse(status, words)

    return write


def test_check_mode_tells_of_missing_rights(desk: Desk) -> None:
    desk.api.before_write = refuse(403, "leases is forbidden")
    verdict = desk.run(dry=True).rehearse()
    assert verdict.verdict == "refused"
    assert "leases is forbidden" in verdict.message


def test_a_run_waits_for_another_and_its_plan_is_stale(desk: Desk) -> None:
    desk.run(holder="them")

    def let_go() -> None:
        desk.tick()
        if desk.clock.now == 10:
            desk.clock.on_sleep = desk.tick
            desk.run(holder="them", state="released")

    desk.clock.on_sleep = let_go
    report = desk.run().report()
    assert (report["holder"], report["stale"], report["waited_seconds"]) == ("us", True, 5.0)
    assert report["taken_over_from"] is None


def test_a_run_waits_until_a_dead_one_has_run_out(desk: Desk) -> None:
    desk.run(holder="them", duration=12)
    report = desk.run().report()
    assert (desk.clock.now, report["taken_over_from"], report["stale"]) == (12.0, "them", True)


def test_a_run_waits_no_longer_than_it_may(desk: Desk) -> None:
    desk.run(holder="them")
    with pytest.raises(KubeadmError, match="waited 60 s, and the run them is in progress"):
        desk.run()
    assert desk.holder == "them"
    assert (desk.last.report()["holder"], desk.last.report()["busy"]) == ("them", True)


def test_an_open_change_is_no_reason_to_wait(desk: Desk) -> None:
    desk.run(holder="them", duration=12)
    with pytest.raises(Refusal, match="left changes open: kube-apiserver on cp1"):
        desk.run(open_transactions=["kube-apiserver on cp1"])


def test_two_that_take_it_at_the_same_moment(desk: Desk) -> None:
    other = {
        "metadata": {"name": LEASE_NAME, "resourceVersion": "1"},
        "spec": {"holderIdentity": "them", "leaseDurationSeconds": 3, "renewTime": "2027-01-15T08:00:00Z"},
    }

    def first() -> None:
        desk.api.before_write = lambda: None
        desk.api.leases[LEASE_NAME] = other

    desk.api.before_write = first
    report = desk.run().report()
    assert (report["holder"], report["taken_over_from"], desk.clock.now) == ("us", "them", 3.0)


def test_an_answer_that_was_lost(desk: Desk) -> None:
    written: list[Json] = []

    def take() -> None:
        if not written:
            desk.api.leases[LEASE_NAME] = {
                "metadata": {"name": LEASE_NAME, "resourceVersion": "1"},
                "spec": {"holderIdentity": "us", "leaseDurationSeconds": 100, "renewTime": "2027-01-15T08:00:00Z"},
            }
            written.append(desk.api.leases[LEASE_NAME])

    desk.api.before_write = take
    assert desk.run().report()["holder"] == "us"
    assert desk.clock.pauses == []


def test_conflicts_come_to_an_end(desk: Desk) -> None:
    desk.api.before_write = refuse(409, "the object has been modified")
    with pytest.raises(
        KubeadmError, match=rf"Lease {LEASE_NAME}: another client changed it in each of 20 attempts.*\b409\b"
    ):
        desk.run()
    assert len(desk.api.requested_paths("POST")) == 20


def test_our_own_api_server_restarts(desk: Desk) -> None:
    desk.run()
    desk.api.failures = [None, ErrorResponse(503, "apiserver is shutting down"), None]
    assert desk.run().report()["holder"] == "us"


def test_an_account_without_the_right(desk: Desk) -> None:
    desk.api.before_write = refuse(403, "leases is forbidden")
    with pytest.raises(KubeadmError, match=r"needs get, create and update on leases .* control_plane_lease"):
        desk.run()
    assert desk.last.report()["api_reachable"] is True


def test_an_account_that_is_not_known_any_more_is_told_how_to_go_on(desk: Desk) -> None:
    """The change that is to be taken back may be the one that locked it out."""
    desk.api.failures = [ErrorResponse(401, "Unauthorized")]
    with pytest.raises(
        KubeadmError, match=r"401, Unauthorized.*locked you out.*control_plane_lease or node_kubelet_lease: false"
    ):
        desk.run()
    assert desk.last.report()["api_reachable"] is True


def test_no_server_answers(desk: Desk) -> None:
    desk.api.close()
    with pytest.raises(KubeadmError, match="did not answer for 60 s"):
        desk.run()
    report = desk.last.report()
    assert (report["api_reachable"], report["holder"], report["operations"]) == (False, None, [])


def test_an_api_of_others_is_no_reason_to_go_on_without_it(desk: Desk) -> None:
    """With one node and no answer a role does: here a server answered."""

    def refuse_it(_client: object) -> t.NoReturn:
        raise Refusal("not verified")

    steps = StepRunner(LeaseSteps(DEFAULTS, connect=lambda: client_of(desk.api.url, desk.clock, check=refuse_it)))
    with pytest.raises(Refusal), steps.session():
        steps.read()
    assert steps.report()["api_reachable"] is True
    assert desk.api.requests == []


def test_no_server_is_asked_without_credentials() -> None:
    def connect() -> t.Any:
        raise KubeadmError("there are no usable credentials")

    steps = StepRunner(LeaseSteps(DEFAULTS, connect=connect))
    with pytest.raises(KubeadmError), steps.session():
        raise AssertionError
    assert steps.report()["api_reachable"] is None


def test_a_failed_rollout_keeps_its_desired_state_from_being_tried_again(desk: Desk) -> None:
    desk.run()
    desk.run(state="halted", node="cp1", reason="it crashed.")
    assert desk.holder == ""
    with pytest.raises(Refusal, match="the same desired state failed on cp1"):
        desk.run(holder="others")
    assert desk.run(holder="others", resume=True).report()["holder"] == "others"
    desk.run(holder="others", state="released")
    assert desk.run(holder="more").report()["holder"] == "more"

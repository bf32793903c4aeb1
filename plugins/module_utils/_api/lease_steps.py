# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the module C(rollout_lease), for the runner: acquires, renews and releases the Lease, against other runs."""

from __future__ import annotations

import dataclasses
import typing as t
from http import HTTPStatus

from .._plan.common.errors import KubeadmError, Refusal
from .._plan.common.verdict import SKIPPED, Verdict
from .._plan.transaction import lease as rollout_lease
from .._plan.transaction.lease import LeasePlan
from .api_steps import ApiSteps, retry_on_conflict
from .client import ApiError, Connect, Json, Params

_LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{rollout_lease.LEASE_NAMESPACE}/leases"
_POLL_INTERVAL = 5.0  # seconds between two reads of a Lease that another run holds


@dataclasses.dataclass
class LeaseResult:
    """The result, recorded as soon as it is known, whichever step fails. api_reachable: whether any API server responded; None before a request."""

    api_reachable: bool | None = None
    holder: str | None = None
    taken_over_from: str | None = None
    stale: bool = False
    waited_seconds: float = 0.0
    busy: bool = False
    missing_proofs: dict[str, Json] = dataclasses.field(default_factory=dict)
    operations: list[Json] = dataclasses.field(default_factory=list)

    def record_lease(self, lease: Json | None) -> None:
        """Record the holder, and what the Lease keeps of changes that are not proven."""
        self.missing_proofs = rollout_lease.parse_missing_proofs(lease)
        self.holder = (lease or {}).get("spec", {}).get("holderIdentity") or None

    def record_plan(self, plan: LeasePlan) -> None:
        """Record what is planned. A Lease that was stale once is reported as stale."""
        self.stale = self.stale or plan.stale
        self.taken_over_from = plan.taken_over_from or None
        self.operations = list(plan.operations)


@dataclasses.dataclass(frozen=True)
class Observed:
    """What a run reads. lease: the Lease, if there is one."""

    lease: Json | None


class LeaseSteps(ApiSteps[Observed, LeasePlan]):
    """One run of the module."""

    unrehearsed = "the API server validates the write when it is made"

    def __init__(self, params: Params, *, connect: Connect) -> None:
        super().__init__(params, connect=connect)
        self._path = f"{_LEASES}/{params['name']}"
        self._request = rollout_lease.LeaseRequest(
            name=params["name"],
            holder=params["holder"],
            duration=params["duration"],
            intents=tuple(params["intents"]),
            open_transactions=tuple(params["open_transactions"]),
            plan_age=params["plan_age"],
            gone=params["gone"] or "",
            takeover=params["takeover"],
            resume=params["resume"],
            proofs=params["proofs"],
        )
        self._started = 0.0
        self._result = LeaseResult()

    # ---- the steps -----------------------------------------------------------------------------------------------------

    def _check_options(self) -> None:
        """Check the options, and start the time that the holder of the Lease is waited for. Raises Refusal."""
        params = self._params
        if not params["holder"].strip():
            raise Refusal(f"invalid holder {params['holder']!r}: must be a name that no other run has.")
        if params["duration"] < 1:
            raise Refusal(f"invalid duration {params['duration']}: must be at least 1.")
        if params["state"] == "halted" and len(params["intents"]) != 1:
            raise Refusal(
                f"invalid intents: must be the one digest of what failed with state=halted, not {len(params['intents'])} of them."
            )
        self._started = self._api.clock()

    def read(self, *, dry: bool) -> Observed:
        """Read the Lease. The result has whether an API server responded: without one there may still be a node to repair."""
        self._result.api_reachable = False
        try:
            lease = self._api.find(self._path)
        except ApiError as exc:
            self._result.api_reachable = 400 <= exc.status < 500
            raise _with_advice(exc) from exc
        except Refusal:
            self._result.api_reachable = True  # though not by the API of these nodes
            raise
        self._result.api_reachable = True
        self._result.record_lease(lease)
        return Observed(lease)

    def plan(self, observed: Observed) -> LeasePlan:
        """Work out what to do with it."""
        now = self._api.server_time()
        if self._params["state"] == "held":
            plan = rollout_lease.acquire(observed.lease, self._request, now)
        elif self._params["state"] == "halted":
            halt = rollout_lease.Halt(self._params["node"], self._params["reason"], *self._request.intents)
            plan = rollout_lease.halt(observed.lease, self._request, now, halt)
        else:
            plan = rollout_lease.release(observed.lease, self._request, now, completed=self._params["completed"])
        self._result.record_plan(plan)
        return plan

    def rehearse(self, observed: Observed, plan: LeasePlan) -> Verdict:
        """The API server validates the write without storing it."""
        body = plan.body
        if body is None:
            return Verdict(SKIPPED, "another run holds the Lease")
        return self._rehearse_by_dry_run(lambda: self._dry_run_errors(observed, body), each="it")

    def apply(self, observed: Observed, plan: LeasePlan) -> None:
        """Write it, after waiting for its holder."""

        def replan(_refusal: ApiError | None = None) -> None:
            nonlocal observed, plan
            observed = self.read(dry=False)
            plan = self.plan(observed)

        def attempt() -> bool:
            while plan.operations and plan.body is None:
                self._wait_for_holder(observed, plan.wait)
                replan()
            if plan.body is not None:
                self._result.record_lease(self._write(observed, plan.body, dry_run=False))
            return True

        cause = f"Lease {self._request.name}: another client changed it"
        retry_on_conflict(attempt, replan, cause=cause, statuses=(HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND))

    def report(self, observed: Observed | None, plan: LeasePlan | None) -> dict[str, t.Any]:
        """The result of the module, whatever step it reached."""
        return dataclasses.asdict(self._result)

    # ---- writing and waiting -------------------------------------------------------------------------------------------

    def _dry_run_errors(self, observed: Observed, body: Json) -> list[str]:
        try:
            self._write(observed, body, dry_run=True)
        except ApiError as exc:
            return [str(exc)]
        return []

    def _write(self, observed: Observed, body: Json, *, dry_run: bool) -> Json:
        try:
            if observed.lease is None:
                return self._api.create(_LEASES, body, dry_run=dry_run)
            return self._api.replace(self._path, body, dry_run=dry_run)
        except ApiError as exc:
            raise _with_advice(exc) from exc

    def _wait_for_holder(self, observed: Observed, lease_left: float) -> None:
        """Wait until the next read. lease_left: seconds until the Lease expires. Raises KubeadmError at the end of wait_timeout."""
        waited = self._result.waited_seconds = self._api.clock() - self._started
        left = self._params["wait_timeout"] - waited
        if left <= 0:
            self._result.busy = True
            now = self._api.server_time()
            raise KubeadmError(rollout_lease.timeout_message(observed.lease, self._request.name, now, waited))
        self._api.sleep(min(_POLL_INTERVAL, left, lease_left))


def _with_advice(error: ApiError) -> ApiError:
    """The error with the rights that the account needs, and the remedy: a change of the API server may have locked it out."""
    if error.status not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return error
    return ApiError(
        f"{error} It needs get, create and update on leases (coordination.k8s.io) in {rollout_lease.LEASE_NAMESPACE}. Without the Lease nothing"
        " excludes other runs; to continue anyway, such as to revert a change that locked you out, do without it (in the"
        " roles: control_plane_lease or node_kubelet_lease: false).",
        error.status,
    )

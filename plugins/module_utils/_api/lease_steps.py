# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The steps of the module C(rollout_lease), for the runner: takes, renews and lets go the Lease, against other runs."""

from __future__ import annotations

import contextlib
import typing as t
from http import HTTPStatus

from .._plan.common.errors import KubeadmError, Refusal
from .._plan.common.verdict import NOT_NEEDED, SKIPPED, Verdict
from .._plan.transaction import lease as rollout_lease
from .._plan.transaction.lease import LeasePlan
from .client import ApiError, Connect, Json, Params
from .conflicts import ATTEMPTS
from .steps import ApiSteps

_LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{rollout_lease.LEASE_NAMESPACE}/leases"
_LOOK_AGAIN = 5.0  # seconds between two looks at a Lease that somebody else holds


class LeaseSteps(ApiSteps):
    """One run of the module."""

    def __init__(self, params: Params, *, connect: Connect, dry: bool) -> None:
        super().__init__(params, connect=connect, dry=dry)
        self._path = f"{_LEASES}/{params['name']}"
        self._request = rollout_lease.Request(
            name=params["name"],
            holder=params["holder"],
            duration=params["duration"],
            wishes=tuple(params["wishes"]),
            open_transactions=tuple(params["open_transactions"]),
            planned_ago=params["planned_ago"],
            takeover=params["takeover"],
            resume=params["resume"],
        )
        self._found: Json | None = None
        self._plan: LeasePlan | None = None
        self._began = 0.0
        self._waited = 0.0
        self._is_busy = False
        self._stale = False
        self._answered: bool | None = None
        self._taken_over_from = ""
        self._conflicts = 0

    # ---- the steps -----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def session(self) -> t.Iterator[None]:
        """The connection to the API."""
        self._began = self._api.clock()
        yield

    def read(self) -> None:
        """Read the Lease. Whether anybody answered is told in the result: without an API there may still be a node to repair."""
        self._answered = False
        try:
            self._found = self._api.find(self._path)
        except ApiError as exc:
            self._answered = 400 <= exc.status < 500
            raise _explained(exc) from exc
        except Refusal:
            self._answered = True  # though not by the API of these nodes
            raise
        self._answered = True

    def plan(self) -> LeasePlan:
        """Work out what to do with it."""
        now = self._api.server_time()
        if self._params["state"] == "held":
            found = rollout_lease.hold(self._found, self._request, now)
        elif self._params["state"] == "halted":
            mark = rollout_lease.Halt(self._params["node"], self._params["reason"], *self._request.wishes)
            found = rollout_lease.halt(self._found, self._request, now, mark)
        else:
            found = rollout_lease.release(self._found, self._request, now, completed=self._params["completed"])
        self._plan = found
        self._stale = self._stale or found.stale
        self._taken_over_from = found.taken_over_from
        return found

    def settle(self) -> None:
        """A Lease that is not ours needs nothing."""

    def rehearse(self) -> Verdict:
        """In check mode the API server judges the write without keeping it."""
        if not self._dry:
            return Verdict(NOT_NEEDED, "the API server validates the write when it is made")
        body = self._planned.body
        if body is None:
            return Verdict(SKIPPED, "another run holds the Lease")
        return self._judge(lambda: self._declined(body), each="it")

    def apply(self) -> None:
        """Write it, after waiting for whoever holds it."""
        while not self._applied():
            self.read()
            self.plan()

    def report(self) -> dict[str, t.Any]:
        """The result of the module, whatever step it reached."""
        return {
            "answered": self._answered,
            "holder": (self._found or {}).get("spec", {}).get("holderIdentity") or None,
            "taken_over_from": self._taken_over_from or None,
            "stale": self._stale,
            "waited_seconds": self._waited,
            "busy": self._is_busy,
            "operations": list(self._plan.operations) if self._plan else [],
        }

    # ---- writing and waiting -------------------------------------------------------------------------------------------

    @property
    def _planned(self) -> LeasePlan:
        return t.cast(LeasePlan, self._plan)

    def _applied(self) -> bool:
        """Write what is planned, or wait a little. Returns whether there is nothing more to do."""
        if not self._planned.operations:
            return True
        if self._planned.body is None:
            self._wait(self._planned.wait)
            return False
        try:
            self._found = self._write(self._planned.body)
        except ApiError as exc:
            self._conflicts += 1
            if exc.status not in (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND) or self._conflicts == ATTEMPTS:
                raise
            return False  # somebody was quicker, or our own write, whose answer was lost
        return True

    def _declined(self, body: Json) -> list[str]:
        try:
            self._write(body)
        except ApiError as exc:
            return [str(exc)]
        return []

    def _write(self, body: Json) -> Json:
        try:
            if self._found is None:
                return self._api.create(_LEASES, body, dry_run=self._dry)
            return self._api.replace(self._path, body, dry_run=self._dry)
        except ApiError as exc:
            raise _explained(exc) from exc

    def _wait(self, longest: float) -> None:
        self._waited = self._api.clock() - self._began
        left = self._params["wait_timeout"] - self._waited
        if left <= 0:
            self._is_busy = True
            raise KubeadmError(
                rollout_lease.late(self._found, self._request.name, self._api.server_time(), self._waited)
            )
        self._api.sleep(min(_LOOK_AGAIN, left, longest))


def _explained(error: ApiError) -> ApiError:
    """What an account lacks that may not use the Lease, and the way on: it may be a change of the API server that locked it out."""
    if error.status not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return error
    return ApiError(
        f"{error} It needs get, create and update on leases (coordination.k8s.io) in {rollout_lease.LEASE_NAMESPACE}. Without the Lease nothing"
        " excludes other runs; to continue anyway, such as to revert a change that locked you out, do without it (in the"
        " roles: control_plane_lease or node_kubelet_lease: false).",
        error.status,
    )

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conflicts with other writers: what is planned again, and when attempts end."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.api_steps import MAX_ATTEMPTS, retry_on_conflict
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.client import ApiError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError

CAUSE = "another client changed it"


class Writer:
    """Records attempts and plans. refusals: the statuses of the next attempts. planned: the result of replan()."""

    def __init__(self, *refusals: int, planned: str | None = None) -> None:
        self.refusals = list(refusals)
        self.planned = planned
        self.log: list[str] = []

    def attempt(self) -> str:
        self.log.append("send")
        if self.refusals:
            raise ApiError("refused", self.refusals.pop(0))
        return "sent"

    def replan(self, refusal: ApiError) -> str | None:
        self.log.append(f"plan after {refusal.status}")
        return self.planned

    def run(self, **more: t.Any) -> str:
        return retry_on_conflict(self.attempt, self.replan, cause=CAUSE, **more)


def test_a_write_without_a_conflict() -> None:
    writer = Writer()
    assert (writer.run(), writer.log) == ("sent", ["send"])


def test_it_is_planned_again_after_each_conflict() -> None:
    writer = Writer(409, 409)
    assert (writer.run(), writer.log) == ("sent", ["send", "plan after 409", "send", "plan after 409", "send"])


def test_what_is_already_as_planned_is_not_sent_again() -> None:
    writer = Writer(409, planned="found")
    assert (writer.run(), writer.log) == ("found", ["send", "plan after 409"])


def test_another_refusal_is_no_conflict() -> None:
    writer = Writer(422)
    with pytest.raises(ApiError, match="refused"):
        writer.run()
    assert writer.log == ["send"]


def test_other_refusals_may_count_as_conflicts() -> None:
    writer = Writer(422, 409)
    assert writer.run(statuses=(409, 422)) == "sent"
    assert writer.log == ["send", "plan after 422", "send", "plan after 409", "send"]


def test_planning_again_may_refuse() -> None:
    def replan(refusal: ApiError) -> str | None:
        raise refusal

    with pytest.raises(ApiError, match="refused"):
        retry_on_conflict(Writer(409).attempt, replan, cause=CAUSE)


def test_others_that_never_stop() -> None:
    writer = Writer(*[409] * MAX_ATTEMPTS)
    message = f"^another client changed it in each of {MAX_ATTEMPTS} attempts[.] The last answer was: refused$"
    with pytest.raises(KubeadmError, match=message):
        writer.run()
    assert writer.log == ["send", "plan after 409"] * MAX_ATTEMPTS

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rights the API server denies, and to whom."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.access_report import read_all
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.client import ApiError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import access
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.access import Right
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import Clock, FakeApi, HttpError, client_of

Serve = t.Callable[..., FakeApi]
GET = Right("get", "nodes/proxy", names=("w1", "w2"))
LIST = Right("list", "pods")


def review(api: FakeApi, *rights: Right) -> dict[str, t.Any]:
    params = {"rights": access.to_option(rights), "concurrency": 4}
    return read_all(params, connect=lambda: client_of(api.url, Clock()), warn=pytest.fail)


@pytest.mark.parametrize(
    ("granted", "missing"),
    [
        ({("get", ""), ("list", "")}, []),
        # A rule may name its objects.
        ({("get", "w1"), ("get", "w2"), ("list", "")}, []),
        ({("get", "w1"), ("list", "")}, [Right("get", "nodes/proxy", names=("w2",))]),
        ({("list", "")}, [Right("get", "nodes/proxy")]),
        (set(), [Right("get", "nodes/proxy"), LIST]),
    ],
)
def test_denied_rights_are_missing(serve: Serve, granted: set[tuple[str, str]], missing: list[Right]) -> None:
    api = serve()
    api.granted = granted
    assert review(api, GET, LIST) == {"user": "runner", "missing": access.to_option(missing)}


def test_names_are_reviewed_only_where_all_are_denied(serve: Serve) -> None:
    api = serve()
    api.granted = {("get", ""), ("list", "")}
    review(api, GET, LIST)
    assert len([request for request in api.requests if "selfsubjectaccessreviews" in request]) == 2


def test_no_rights_at_all_are_refused(serve: Serve) -> None:
    """A template that comes out empty would pass without a review."""
    with pytest.raises(KubeadmError, match="invalid rights: must name at least one"):
        review(serve())


def test_account_that_cannot_be_reviewed_lacks_that_right(serve: Serve) -> None:
    api = serve()
    api.responses[access.REVIEWS] = HttpError(403, 'User "x" cannot create resource "selfsubjectaccessreviews"')
    assert review(api, GET)["missing"] == access.to_option([access.RIGHT_TO_REVIEW])


@pytest.mark.parametrize("status", [401, 404])
def test_other_refusal_of_a_review_is_an_error(serve: Serve, status: int) -> None:
    api = serve()
    api.responses[access.REVIEWS] = HttpError(status, "no")
    with pytest.raises(ApiError, match="no"):
        review(api, GET)


@pytest.mark.parametrize("response", [HttpError(404, "unknown"), {"status": {}}])
def test_account_without_a_name_is_reviewed_all_the_same(serve: Serve, response: t.Any) -> None:
    api = serve()
    api.responses[access.USER_REVIEWS] = response
    api.granted = {("list", "")}
    assert review(api, LIST) == {"user": None, "missing": []}


def test_review_without_allowed_is_a_denial(serve: Serve) -> None:
    api = serve()
    api.responses[access.REVIEWS] = json.loads('{"status": {"evaluationError": "webhook is down"}}')
    assert review(api, LIST)["missing"] == access.to_option([LIST])

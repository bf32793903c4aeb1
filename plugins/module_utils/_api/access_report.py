# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the module C(access_info) returns."""

from __future__ import annotations

import dataclasses
import typing as t
from http import HTTPStatus

from .._plan.common.errors import KubeadmError
from .._plan.kubernetes import access
from .._plan.kubernetes.access import Right
from .client import ApiError, Client, Connect, Json, Params
from .objects import version_warnings
from .parallel import for_each


def read_all(params: Params, *, connect: Connect, warn: t.Callable[[str], None]) -> Json:
    """Review each right, report whose account it is, and warn of an API server whose version is not tested. Raises KubeadmError for none."""
    if not params["rights"]:
        raise KubeadmError("invalid rights: must name at least one, because nothing is reviewed without.")
    client = connect()
    for warning in version_warnings(client):
        warn(warning)
    missing = _missing(client, [Right.parse(entry) for entry in params["rights"]], params["concurrency"])
    return {"user": _user(client), "missing": access.question(missing)}


def _missing(client: Client, rights: t.Sequence[Right], workers: int) -> list[Right]:
    """The rights that the account lacks. names: those for which it does, where it has the right for others."""
    try:
        denied = _denied(client, [(right, "") for right in rights], workers)
        # What is not granted for all may be granted for each.
        each = _denied(client, [(right, name) for right, dummy in denied for name in right.names], workers)
    except ApiError as exc:
        if exc.status != HTTPStatus.FORBIDDEN:
            raise
        return [access.REVIEW]
    found = []
    for right, dummy in denied:
        names = tuple(name for other, name in each if other == right)
        if names or not right.names:
            found.append(dataclasses.replace(right, names=() if names == right.names else names))
    return found


def _denied(client: Client, reviews: t.Sequence[tuple[Right, str]], workers: int) -> list[tuple[Right, str]]:
    """Those of the rights that are denied, each for one name, or for all where that is empty."""
    allowed: set[tuple[Right, str]] = set()

    def review(one: tuple[Right, str]) -> bool:
        right, name = one
        if client.create(access.REVIEWS, right.review(name), dry_run=False)["status"].get("allowed") is True:
            allowed.add(one)
        return True

    for_each(reviews, review, workers=workers, stop_at_failure=True)
    return [one for one in reviews if one not in allowed]


def _user(client: Client) -> str | None:
    """The name of the account; None where the API server does not tell."""
    try:
        return str(client.create(access.USER, access.USER_REVIEW, dry_run=False)["status"]["userInfo"]["username"])
    except (ApiError, KeyError):
        return None

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
from .._plan.kubernetes.access import REVIEWS, RIGHT_TO_REVIEW, USER_REVIEW, USER_REVIEWS, Right
from .client import ApiError, Client, Connect, Json, Params
from .objects import version_warnings
from .parallel import for_each


def read_all(params: Params, *, connect: Connect, warn: t.Callable[[str], None]) -> Json:
    """Review each right, report the name of the account, and warn of an API server whose version is not tested. Raises KubeadmError for none."""
    if not params["rights"]:
        raise KubeadmError("invalid rights: must name at least one, because nothing is reviewed without.")
    client = connect()
    for warning in version_warnings(client):
        warn(warning)
    missing = _find_missing(client, [Right.parse(entry) for entry in params["rights"]], params["concurrency"])
    return {"user": _read_user_name(client), "missing": access.to_option(missing)}


def _find_missing(client: Client, rights: t.Sequence[Right], workers: int) -> list[Right]:
    """The rights that the account lacks. The names of each are those for which it does, where it has the right for others."""
    try:
        denied = _list_denied(client, [(right, "") for right in rights], workers)
        # A right that is not granted for all names may be granted for each of them.
        denied_names = _list_denied(client, [(right, name) for right, dummy in denied for name in right.names], workers)
    except ApiError as exc:
        if exc.status != HTTPStatus.FORBIDDEN:
            raise
        return [RIGHT_TO_REVIEW]
    lacking = []
    for right, dummy in denied:
        names = tuple(name for other, name in denied_names if other == right)
        if names or not right.names:
            lacking.append(dataclasses.replace(right, names=() if names == right.names else names))
    return lacking


def _list_denied(client: Client, reviews: t.Sequence[tuple[Right, str]], workers: int) -> list[tuple[Right, str]]:
    """Those of the rights that are denied, each for one name, or for all where that is empty."""
    allowed: set[tuple[Right, str]] = set()

    def review(entry: tuple[Right, str]) -> bool:
        right, name = entry
        if client.create(REVIEWS, right.review(name), dry_run=False)["status"].get("allowed") is True:
            allowed.add(entry)
        return True

    for_each(reviews, review, workers=workers, stop_at_failure=True)
    return [entry for entry in reviews if entry not in allowed]


def _read_user_name(client: Client) -> str | None:
    """The name of the account; None where the API server does not report it."""
    try:
        return str(client.create(USER_REVIEWS, USER_REVIEW, dry_run=False)["status"]["userInfo"]["username"])
    except (ApiError, KeyError):
        return None

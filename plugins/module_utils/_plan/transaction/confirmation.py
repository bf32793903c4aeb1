# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The confirmation that a change may need: the controller, too, reaches the API server."""

from __future__ import annotations

import re

from ..common.errors import Refusal

_ADDRESS = re.compile(r"https?://(?:\[[0-9A-Fa-f:.]+\]|[^\s/:@\[\]]+)(?::[0-9]{1,5})?(?:/\S*)?")
# A load balancer that reaches no API server responds with one of these. Forbidden is a response of the API server.
_FIRST_ERROR_OF_A_SERVER = 500


def is_url(url: object) -> bool:
    """Whether this is an address that can be requested."""
    return isinstance(url, str) and _ADDRESS.fullmatch(url) is not None


def check_url(url: str | None) -> None:
    """Raise Refusal unless this is an address that can be requested."""
    if not is_url(url):
        raise Refusal(
            f"confirm_url is {url!r}; set the address by which this controller reaches the API server, such as"
            " https://10.0.0.11:6443/readyz."
        )


def status_problem(status: int) -> str:
    """Why a response with this HTTP status is no sign of the API server; empty when it is one."""
    return "" if status < _FIRST_ERROR_OF_A_SERVER else f"it answers {status}"


def unreachable_message(name: str, node: str, url: str, problem: str) -> str:
    """Why a change that could never be confirmed is not started."""
    return (
        f"{name} on {node}: this controller does not reach confirm_url {url} ({problem}), so it could not confirm the change."
        " Nothing was changed. Set an address that answers from here, or omit confirm where the API server is down and this"
        " change is to repair it."
    )

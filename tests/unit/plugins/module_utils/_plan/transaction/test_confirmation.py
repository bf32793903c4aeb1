# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses that can be asked, and answers that count."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction import confirmation


@pytest.mark.parametrize(
    "url", ["https://lb:6443/readyz", "https://[fd00::1]:6443", "http://10.0.0.1/x?y=z", "https://a.b"]
)
def test_addresses(url: str) -> None:
    confirmation.check_url(url)


@pytest.mark.parametrize(
    "url", [None, "", "lb:6443", "ftp://lb", "https://", "https://lb:port", "https://u:p@lb", "https://a b"]
)
def test_what_is_no_address_is_refused_with_an_example(url: str | None) -> None:
    with pytest.raises(Refusal, match=r"such as https://10\.0\.0\.11:6443/readyz"):
        confirmation.check_url(url)


@pytest.mark.parametrize(
    ("status", "problem"), [(200, ""), (302, ""), (403, ""), (500, "it answers 500"), (503, "it answers 503")]
)
def test_a_response_of_the_api_server_counts(status: int, problem: str) -> None:
    assert confirmation.status_problem(status) == problem

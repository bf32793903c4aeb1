# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times as Kubernetes writes them."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.times import format_micro_time, parse_time


@pytest.mark.parametrize(("text", "seconds"), [("1970-01-01T00:01:00Z", 60.0), ("1970-01-01T00:00:00.250000Z", 0.25)])
def test_a_time_has_a_fraction_or_none(text: str, seconds: float) -> None:
    assert parse_time(text) == seconds
    assert parse_time(format_micro_time(seconds)) == seconds


@pytest.mark.parametrize(
    "text", ["", "yesterday", "1970-01-01T00:01:00", "1970-01-01 00:01:00Z", "1970-01-01T00:01:00+02:00"]
)
def test_other_texts_are_no_times(text: str) -> None:
    with pytest.raises(ValueError, match="time data"):
        parse_time(text)

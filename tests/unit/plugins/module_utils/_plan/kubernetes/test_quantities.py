# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quantities: what they are worth, and what a user may ask for."""

from __future__ import annotations

import typing as t
from fractions import Fraction

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes import quantities
from hypothesis import given
from hypothesis import strategies as st

SUFFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("4", 4),
        ("+4", 4),
        ("-4", -4),
        ("1k", 1000),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1E", 10**18),
        ("12e-1", Fraction(12, 10)),
        ("4000m", 4),
        ("1500u", Fraction(15, 10000)),
        ("5n", Fraction(5, 10**9)),
        ("1.5Gi", 3 * 2**29),
        (".5", Fraction(1, 2)),
        ("2.", 2),
    ],
)
def test_what_a_quantity_is_worth(text: str, value: int | Fraction) -> None:
    assert quantities.parse(text) == value


@pytest.mark.parametrize("text", ["", "abc", "1K", "1 ", "1kk", "--1", ".", "1e", "0x10", "1e999", "Ki", "\u0661"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        quantities.parse(text)
    assert quantities.canonical(text) == text


@given(st.integers(0, 10**6), st.sampled_from(sorted(SUFFIXES)))
def test_all_spellings_of_a_whole_number_are_one(number: int, suffix: str) -> None:
    worth = str(number * SUFFIXES[suffix])
    assert quantities.canonical(f"{number}{suffix}") == worth
    assert quantities.canonical(f"{number}000m") == str(number)
    assert quantities.canonical(worth) == worth


@given(st.text(max_size=12))
def test_any_text_is_a_quantity_or_a_value_error(text: str) -> None:
    try:
        value = quantities.parse(text)
    except ValueError:
        return
    assert isinstance(value, Fraction)


@pytest.mark.parametrize(("value", "amount"), [(4, "4"), ("4", "4"), ("1k", "1000"), (0, "0"), ("4000m", "4")])
def test_what_may_be_requested(value: t.Any, amount: str) -> None:
    assert quantities.parse_count("example.com/dongle", value) == amount


@pytest.mark.parametrize("value", ["-1", -1, "1.5", 1.5, 4.0, "abc", "", True, [4], "10E", 2**63])
def test_what_may_not_be_requested(value: t.Any) -> None:
    with pytest.raises(
        Refusal, match=r"resources: invalid value .* of example.com/dongle: must be a whole number from 0 on"
    ):
        quantities.parse_count("example.com/dongle", value)


@given(st.integers(0, quantities.LARGEST))
def test_a_whole_number_stays_what_it_is(number: int) -> None:
    assert (
        quantities.parse_count("example.com/dongle", number)
        == str(number)
        == quantities.parse_count("x/y", str(number))
    )


@pytest.mark.parametrize(
    ("value", "text"), [(2, "2"), (0.5, "0.5"), ("500m", "500m"), (" 600Mi ", "600Mi"), (0, "0"), (1e-05, "1e-05")]
)
def test_an_amount_is_kept_as_it_is_written(value: t.Any, text: str) -> None:
    assert quantities.parse_amount("containers", "limits.cpu of app", value) == text


@pytest.mark.parametrize("value", ["-1", -0.5, "abc", "", True, [4], None, float("nan"), float("inf")])
def test_what_is_no_amount(value: t.Any) -> None:
    with pytest.raises(
        Refusal, match=r"containers: invalid value .* of limits.cpu of app: must be a quantity from 0 on"
    ):
        quantities.parse_amount("containers", "limits.cpu of app", value)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("0.5", "500m", True), ("1Gi", "1024Mi", True), ("1G", "1Gi", False), (None, None, True), (None, "0", False)],
)
def test_amounts_by_value(one: str | None, other: str | None, same: bool) -> None:
    assert quantities.is_equal(one, other) is same

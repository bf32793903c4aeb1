# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kubernetes' quantities, compared by value: C(1k) is 1000 and C(4000m) is 4. And the durations of Go."""

from __future__ import annotations

import math
import re
import typing as t
from fractions import Fraction

from ..common.errors import Refusal

ONE = Fraction(1)
LARGEST = 2**63 - 1  # the API caps what is larger

_QUANTITY = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:[eE]([+-]?[0-9]{1,2})|([KMGTPE]i|[numkMGTPE]))?")
_SUFFIXES = {
    **{f"{letter}i": Fraction(1024) ** power for power, letter in enumerate("KMGTPE", start=1)},
    **{letter: Fraction(1000) ** power for power, letter in enumerate("kMGTPE", start=1)},
    **{letter: Fraction(1, 1000**power) for power, letter in enumerate("mun", start=1)},
}
_DURATION_PART = r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)"  # Go takes both letters of micro
_DURATION = re.compile(rf"[+-]?(?:{_DURATION_PART})+")
_SECONDS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "μs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
}


def parse(text: str) -> Fraction:
    """The value of a quantity. Raises ValueError for a text that is none."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a quantity")
    number, exponent, suffix = match.groups()
    return Fraction(number) * Fraction(10) ** int(exponent or 0) * _SUFFIXES.get(suffix, 1)


def parse_duration(value: t.Any) -> Fraction | None:
    """Seconds; None for what is no duration of Go."""
    if not isinstance(value, str) or not _DURATION.fullmatch(value):
        return Fraction(0) if value == "0" else None
    seconds = sum(
        (Fraction(number) * _SECONDS[unit] for number, unit in re.findall(_DURATION_PART, value)), Fraction(0)
    )
    return -seconds if value.startswith("-") else seconds


def canonical(text: str) -> str:
    """One text for all spellings of a whole number; other quantities and texts as they are."""
    try:
        value = parse(text)
    except ValueError:
        return text
    return str(value.numerator) if value.denominator == 1 else text


def parse_count(name: str, value: t.Any) -> str:
    """How much of an extended resource a user requests, in canonical form.

    value: a whole number, or a text that is a quantity. Raises Refusal for everything else.
    """
    refusal = Refusal(
        f"resources: invalid value {value!r} of {name}: must be a whole number from 0 on, or null to remove it."
    )
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise refusal
    try:
        amount = parse(str(value))
    except ValueError:
        raise refusal from None
    if amount.denominator != 1 or not 0 <= amount <= LARGEST:
        raise refusal
    return str(amount.numerator)


def parse_amount(option: str, name: str, value: t.Any) -> str:
    """How much of a resource that can be divided a user requests, as written. Raises Refusal for what is no such amount."""
    refusal = Refusal(
        f"{option}: invalid value {value!r} of {name}: must be a quantity from 0 on, such as 500m, 0.5, 2 or 600Mi."
    )
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise refusal
    text = str(value).strip()
    try:
        quantity = parse(text)
    except ValueError:
        raise refusal from None
    if quantity < 0:
        raise refusal
    return text


def round_up(amount: Fraction, step: Fraction) -> Fraction:
    """The next multiple of a step, which is what Kubernetes makes of an amount."""
    return math.ceil(amount / step) * step


def is_equal(one: str | None, other: str | None) -> bool:
    """Whether two quantities are worth the same. None: there is none."""
    if one is None or other is None:
        return one is other
    return parse(one) == parse(other)

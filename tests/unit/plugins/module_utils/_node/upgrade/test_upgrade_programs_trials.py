# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hearing all that a component refuses, though it names the first only."""

from __future__ import annotations

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade.upgrade_programs import (
    MOST_REFUSALS,
    GateTrial,
    rehearse_all,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.verdict import (
    ACCEPTED,
    REFUSED,
    Verdict,
)


class Trial:
    """A component with flags that it refuses one after the other. fixed: those that cannot be taken out. vain: those that stay all the same."""

    starts = 0

    def __init__(self, flags: t.Sequence[str], *, fixed: t.Container[str] = (), vain: t.Container[str] = ()) -> None:
        self.flags = list(flags)
        self.fixed, self.vain = fixed, vain

    def rehearse(self) -> Verdict:
        Trial.starts += 1
        error = f"unknown flag: --{self.flags[0]}" if self.flags else ""
        return Verdict(REFUSED if error else ACCEPTED, error)

    def values(self) -> dict[str, dict[str, t.Any]]:
        return {"args": {flag: ["1"] for flag in self.flags if flag != "unnamed"}}

    def without(self, settings: t.Sequence[tuple[str, str]]) -> Trial:
        gone = [key for dummy, key in settings]
        if any(key in self.fixed for key in gone):
            raise Refusal("it cannot be changed alone")
        left = [flag for flag in self.flags if flag not in gone or flag in self.vain]
        return Trial(left, fixed=self.fixed, vain=self.vain)


def refused_flags(trial: Trial) -> list[str | None]:
    return [setting[1] if setting else None for setting, dummy in rehearse_all(trial)[1]]


def test_rehearsal_is_repeated_until_all_refusals_are_named() -> None:
    verdict, refused = rehearse_all(Trial(["a", "b"]))
    assert verdict.verdict == REFUSED
    assert refused == [(("args", "a"), "unknown flag: --a"), (("args", "b"), "unknown flag: --b")]
    assert rehearse_all(Trial([])) == (Verdict(ACCEPTED, ""), [])


def test_unnamed_or_fixed_setting_ends_the_rehearsals() -> None:
    assert refused_flags(Trial(["a", "unnamed", "b"])) == ["a", None]
    assert refused_flags(Trial(["a", "b"], fixed=["a"])) == ["a"]
    assert len(refused_flags(Trial([f"f{number}" for number in range(20)]))) == MOST_REFUSALS


def test_setting_refused_after_its_removal_is_named_once() -> None:
    before = Trial.starts
    assert refused_flags(Trial(["a", "b"], vain=["b"])) == ["a", "b"]
    assert Trial.starts == before + 3


def test_each_refused_gate_is_named() -> None:
    starts: list[dict[str, t.Any]] = []

    def start(gates: t.Mapping[str, t.Any]) -> Verdict:
        starts.append(dict(gates))
        gone = [gate for gate in gates if gate.startswith("Gone")]
        return Verdict(REFUSED, f"unrecognized feature gate: {gone[0]}") if gone else Verdict(ACCEPTED, "fine")

    trial = GateTrial({"Gone1": True, "Kept": False, "Gone2": True}, start, iter(range(20)).__next__)
    verdict, refused = rehearse_all(trial)
    assert (verdict.verdict, verdict.seconds) == (REFUSED, 1)
    assert [setting for setting, _message in refused] == [("feature_gates", "Gone1"), ("feature_gates", "Gone2")]
    assert starts[-1] == {"Kept": False}

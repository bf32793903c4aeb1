# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the demo prints of the record of a run."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.demo.story import format_outcome, print_summary
from ansible_collections.nodecraft.kubeadm.lab.runs import Run


def test_the_last_screen_of_a_run_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["Changed: 1 operation on 1 of 2 nodes", "  w1  Node  + label example.com/rack=r7"]
    summary = {"action": "nodecraft.kubeadm.rollout", "lines": lines}
    print_summary(Run(0, 1.0, {"plays": [{"tasks": [{"hosts": {"cp1": summary}}]}], "stats": {}}))
    assert capsys.readouterr().out.splitlines() == [f"     {line}" for line in lines]


def test_an_ending_is_short() -> None:
    transaction = {"outcome": "rolled_back", "seconds": 61.2, "outage_seconds": 3.44}
    assert format_outcome(transaction) == "rolled back after 61 s, outage 3.4 s"

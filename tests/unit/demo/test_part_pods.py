# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the demo claims of pods."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.demo import part_pods
from ansible_collections.nodecraft.kubeadm.demo.pods import DONGLE
from ansible_collections.nodecraft.kubeadm.demo.story import Story
from ansible_collections.nodecraft.kubeadm.lab.runs import Lab


class PodsOnPaper:
    """A cluster that does with pods as claimed, but for the first one's phase."""

    def __init__(self, phase: str) -> None:
        self._phase = phase

    def make(self, name: str, **_options: t.Any) -> None:
        """Nothing is made."""

    def wait(self, _name: str, _shows: t.Callable[[t.Any], bool]) -> dict[str, t.Any]:
        spec = {"nodeName": "x-w1", "tolerations": [{"key": DONGLE, "operator": "Exists"}]}
        return {"spec": spec, "status": {"phase": self._phase}}

    def unschedulable(self, name: str) -> str:
        return {"two": f"Insufficient {DONGLE}", "none": "untolerated taint"}[name]

    def refused(self, _name: str, node: str) -> str:
        return f"names the node {node}"


@pytest.mark.parametrize(("phase", "broken"), [("Running", 0), ("Failed", 1), ("Pending", 1), ("Succeeded", 1)])
def test_a_pod_that_does_not_run_breaks_the_claim_that_it_does(phase: str, broken: int, tmp_path: Path) -> None:
    story = Story(Lab("x", "1.37", 1, 2), tmp_path, 3)
    part_pods._dongles(story, t.cast(t.Any, PodsOnPaper(phase)), "x-w1")
    assert len(story.broken_claims) == broken

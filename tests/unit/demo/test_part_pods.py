# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the demo claims of pods, and when they are gone."""

from __future__ import annotations

import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.demo import part_pods, pods
from ansible_collections.nodecraft.kubeadm.demo.pods import DONGLE
from ansible_collections.nodecraft.kubeadm.demo.story import Story
from ansible_collections.nodecraft.kubeadm.lab.runs import Lab


class FakePods:
    """A cluster that does with pods as claimed, but for the first one's phase."""

    def __init__(self, phase: str) -> None:
        self._phase = phase

    def make(self, name: str, **_options: t.Any) -> None:
        """Nothing is made."""

    def wait(self, _name: str, _holds: t.Callable[[t.Any], bool]) -> dict[str, t.Any]:
        spec = {"nodeName": "x-w1", "tolerations": [{"key": DONGLE, "operator": "Exists"}]}
        return {"spec": spec, "status": {"phase": self._phase}}

    def unschedulable(self, name: str) -> str:
        return {"two": f"Insufficient {DONGLE}", "none": "untolerated taint"}[name]

    def rejection(self, _name: str, node: str) -> str:
        return f"names the node {node}"


@pytest.mark.parametrize(("phase", "broken"), [("Running", 0), ("Failed", 1), ("Pending", 1), ("Succeeded", 1)])
def test_a_pod_that_does_not_run_breaks_the_claim_that_it_does(phase: str, broken: int, tmp_path: Path) -> None:
    story = Story(Lab("x", "1.37", 1, 2), tmp_path, 3)
    part_pods._dongles(story, t.cast(t.Any, FakePods(phase)), "x-w1")
    assert len(story.broken_claims) == broken


class LateContainersLab(Lab):
    """The API forgets a pod at once; its process runs for some reads more."""

    pods_by_call: t.ClassVar[list[set[str]]] = []

    def kubectl(self, *_arguments: str, stdin: str | None = None, check: bool = True) -> str:
        return ""

    def pods_in_api(self) -> set[str]:
        return {"static"}

    def pods_on_nodes(self) -> set[str]:
        return self.pods_by_call.pop(0)


def test_pods_are_gone_when_their_containers_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    monkeypatch.setattr(LateContainersLab, "pods_by_call", [{"static", "a"}, {"static", "a"}, {"static"}])
    pods.Pods(LateContainersLab("x", "1.37", 1, 2)).remove_all()
    assert LateContainersLab.pods_by_call == []


def test_a_pod_whose_container_stays_ends_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods, "LONGEST", 0)
    monkeypatch.setattr(LateContainersLab, "pods_by_call", [{"static", "a"}])
    with pytest.raises(SystemExit, match=r"^Pods whose containers still run after 0 s: a$"):
        pods.Pods(LateContainersLab("x", "1.37", 1, 2)).remove_all()

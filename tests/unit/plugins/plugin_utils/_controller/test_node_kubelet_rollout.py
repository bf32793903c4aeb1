# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a turn of the role node_kubelet does about a Lease that has been held for a long time."""

from __future__ import annotations

import time
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import typed
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.api_host import ApiHost
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.lease_holder import holder_name
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.node_kubelet_rollout import (
    NodeKubeletRollout,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.rollouts import THIS_PASS, Json, host

SETTINGS = {
    "wait_timeout": 10,
    "min_ready_seconds": 1,
    "lock_timeout": 5,
    "allocatable_timeout": 7,
    "at": time.time(),
    "node_kubelet_api_host": "",
    "node_kubelet_check_api": False,
}
ACQUIRED: Json = {"stale": False}
TURN_SECONDS = 364


class FakePass:
    """A pass in which w1 coordinates and w2 has its turn. result: of the Lease. age: seconds since it was acquired."""

    host = "w2"
    check_mode = False
    play_hosts = ("w1", "w2")

    def __init__(self, result: Json, age: float) -> None:
        self.module_calls: list[tuple[str, Json]] = []
        self._module_result = result
        lease = {"cluster": {}, "at": time.time() - age}
        decision = {**THIS_PASS, "coordinator": "w1", "candidates": [], "api": []}
        self._hosts = {
            "w1": host("w1", settings=SETTINGS, decide=decision, admit={**THIS_PASS, "lease": lease}),
            "w2": host("w2", settings=SETTINGS, decide=decision, admit={**THIS_PASS, "batches": [["w2"]]}),
        }

    def host_variables(self, name: str) -> Json:
        return {f"__node_kubelet_{register}": result for register, result in self._hosts[name].items()}

    def api_hosts(self, _candidates: t.Sequence[str], _named: str, **_more: t.Any) -> list[ApiHost]:
        return [ApiHost("localhost", become=False)]

    def run(self, module: str, arguments: Json, kind: type[t.Any]) -> t.Any:
        self.module_calls.append((module, arguments))
        return typed.parse(kind, self._module_result)


def turn_of(its_pass: t.Any) -> Json:
    found: Json = typed.as_mapping(NodeKubeletRollout(its_pass, its_pass, "node_kubelet", {}).turn())
    return found


def test_a_lease_that_lasts_is_left_alone() -> None:
    its_pass = FakePass(ACQUIRED, age=TURN_SECONDS / 2 - 5)
    assert turn_of(its_pass)["lease"]["at"] == pytest.approx(time.time() - TURN_SECONDS / 2 + 5, abs=60)
    assert its_pass.module_calls == []


def test_one_that_might_run_out_is_renewed() -> None:
    its_pass = FakePass(ACQUIRED, age=TURN_SECONDS / 2 + 5)
    assert turn_of(its_pass)["lease"]["at"] == pytest.approx(time.time(), abs=60)
    ((module, arguments),) = its_pass.module_calls
    assert module == "rollout_lease"
    assert (arguments["state"], arguments["holder"], arguments["wait_timeout"]) == ("held", holder_name(), 0)


@pytest.mark.parametrize(
    "result", [{"stale": True}, {"failed": True, "api_reachable": True, "msg": "the run them is in progress."}]
)
def test_without_it_the_turn_does_not_begin(result: Json) -> None:
    with pytest.raises(Refusal, match=r"^Not changed: "):
        turn_of(FakePass(result, age=TURN_SECONDS))

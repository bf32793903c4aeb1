# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A change that is healthy on its node waits for what a run observes of it from elsewhere."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    ALARM,
    COMMITTED,
    CONFIRMED,
    CONFIRMING,
    OBSERVED,
    OBSERVING,
    ROLLED_BACK,
    save_journal,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import OLD, TRANSACTION_ID, Behaviour, FakeNode


def observe(node: FakeNode, losses: str = "", identifier: str = TRANSACTION_ID) -> None:
    """Leave what was observed of a transaction, which may be another one than that of the node."""
    (node.state / OBSERVED).write_text(json.dumps({"id": identifier, "losses": losses}), encoding="ascii")


def test_what_works_is_committed_at_once(node: FakeNode) -> None:
    node.prepare(observation_timeout=600)
    node.once(OBSERVING, lambda: observe(node))
    began = node.clock.now
    result = node.run()
    assert (result["outcome"], result["observed"], result["confirmed"]) == (COMMITTED, True, None)
    assert node.clock.now - began == pytest.approx(9, abs=1)
    assert node.messages[-1] == "is healthy, waits until the run has observed it"
    assert not (node.state / OBSERVED).exists()


def test_what_was_lost_is_rolled_back(node: FakeNode) -> None:
    node.prepare(observation_timeout=600)
    node.once(OBSERVING, lambda: observe(node, "what worked before does not: the pod's log (502)"))
    result = node.run()
    assert result["outcome"] == ROLLED_BACK
    assert result["reason"] == "what worked before does not: the pod's log (502)"
    assert node.manifest.read_text(encoding="utf-8") == OLD


@pytest.mark.parametrize("content", [None, "{}", "[]", '{"id": "20250101T000000Z-000000", "losses": "another"}', "{"])
def test_what_is_not_observed_is_kept_and_named(node: FakeNode, content: str | None) -> None:
    if content is not None:
        (node.state / OBSERVED).write_text(content, encoding="ascii")
    began = node.clock.now
    result = node.change(observation_timeout=30)
    assert (result["outcome"], result["observed"]) == (COMMITTED, False)
    assert "whether it starts pods: no run has observed it within 30 s" in result["proof"]["unverified"]
    assert node.clock.now - began == pytest.approx(9 + 30, abs=2)


def test_what_is_observed_and_unhealthy_again_is_rolled_back(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(alive=6.0, back_off=1000, log=("E1 why it died",))
    node.prepare(observation_timeout=30)
    node.at(20, lambda: observe(node))
    result = node.run()
    assert result["outcome"] == ROLLED_BACK
    assert "kube-apiserver is down after 1 start(s) after it was healthy" in result["reason"]


def test_a_foreign_edit_meanwhile_is_an_alarm(node: FakeNode) -> None:
    node.prepare(observation_timeout=30)
    node.once(OBSERVING, node.foreign_edit)
    assert node.run()["outcome"] == ALARM


def test_it_is_observed_when_it_is_confirmed(node: FakeNode) -> None:
    node.prepare(confirm_timeout=30, observation_timeout=600)
    node.once(CONFIRMING, lambda: (node.state / CONFIRMED).write_text(f"{TRANSACTION_ID}\n", encoding="ascii"))
    node.once(OBSERVING, lambda: observe(node))
    result = node.run()
    assert (result["outcome"], result["confirmed"], result["observed"]) == (COMMITTED, True, True)


class Killed(BaseException):
    """The engine's process ends here."""


def die() -> None:
    raise Killed


def test_after_a_reboot_it_is_verified_again(node: FakeNode) -> None:
    node.prepare(observation_timeout=30)
    node.once(OBSERVING, die)
    with pytest.raises(Killed):
        node.new_engine().run()
    observe(node)
    save_journal(str(node.state), node.opened() | {"boot": "another boot"})
    node.kubelet.restart()
    node.clock.now = 5.0
    node.kubelet.instances[0].started = 5.0
    assert node.run()["outcome"] == COMMITTED

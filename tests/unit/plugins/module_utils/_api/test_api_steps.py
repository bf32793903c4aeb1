# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all steps of the API side share: the connection, the warning of versions, and rehearsals by dry run."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.api_steps import ApiSteps, diff_entry, to_yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.client import Client
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.verdict import Verdict
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import Clock, FakeApi, client_of
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import Json, node

NOWHERE = "http://127.0.0.1:1"


class Example(ApiSteps[None, None]):
    """Steps whose dry run takes two seconds. errors: of the API server. nodes: that were read."""

    errors: t.Sequence[str] = ()
    nodes: t.Sequence[Json] = ()

    def rehearse(self) -> Verdict:
        return self._rehearse_by_dry_run(self._send_each, each="every example")

    def _send_each(self) -> t.Sequence[str]:
        self._api.sleep(2)
        return self.errors

    def _observed_nodes(self, observed: None) -> t.Sequence[Json]:
        return self.nodes


def test_it_is_connected_once_and_not_before_it_is_needed() -> None:
    clients: list[Client] = []

    def connect() -> Client:
        clients.append(client_of(NOWHERE, Clock()))
        return clients[-1]

    steps = Example({}, connect=connect)
    assert clients == []
    steps.rehearse()
    steps.rehearse()
    assert len(clients) == 1


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [
        ((), Verdict("accepted", "the API server accepts every example (dryRun=All)", 2.0)),
        (("no", "nor this"), Verdict("refused", "no, nor this", 2.0)),
    ],
)
def test_rehearsal_is_refused_with_the_errors(errors: t.Sequence[str], verdict: Verdict) -> None:
    steps = Example({}, connect=lambda: client_of(NOWHERE, Clock()))
    steps.errors = errors
    assert steps.rehearse() == verdict


def test_versions_that_are_not_tested(serve: t.Callable[..., FakeApi]) -> None:
    api = serve()
    steps = Example({}, connect=lambda: client_of(api.url, Clock()))
    assert steps.notes(None, dry=True) == []
    old = node("w1")
    old["status"]["nodeInfo"] = {"kubeletVersion": "v1.20.0"}
    steps.nodes = [old]
    (warning,) = steps.notes(None, dry=True)
    assert "kubelet v1.20.0 (older than tested)" in warning


def test_the_entry_of_a_diff() -> None:
    assert diff_entry("Node w1", {}, {"a": 1}) == {
        "before_header": "Node w1",
        "after_header": "Node w1",
        "before": {},
        "after": {"a": 1},
    }


@pytest.mark.parametrize(
    ("text", "written"), [("r7", "r7"), ("4", '"4"'), ("true", '"true"'), ("", '""'), ("{}", "'{}'")]
)
def test_texts_are_quoted_as_kubectl_does(text: str, written: str) -> None:
    assert to_yaml({"a": {"c": text, "b": [text]}}) == f"a:\n  b:\n  - {written}\n  c: {written}\n"

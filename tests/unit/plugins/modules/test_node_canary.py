# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that starts a pod on a node."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.client import ApiError, Client
from ansible_collections.nodecraft.kubeadm.plugins.modules import node_canary
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import FakeApi
from ansible_collections.nodecraft.kubeadm.tests.unit.support.module_api import Start, fixture_api, fixture_play

__all__ = ["fixture_api", "fixture_play"]

GIVEN = {"node": "w1", "name": "kubelet-before", "image": "registry.k8s.io/pause:3.10"}
STEPS = ["the creation of a pod", "the pod at the API", "the start of the pod", "the pod's log", "the end of the pod"]


class Pods:
    """The methods of a client, for one pod. log: the status of its log. refusal: of a request to make it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log = 200
        self.refusal = ""
        self.made: list[tuple[str, str]] = []
        self.exists = False
        for name in ("create", "delete", "list", "get", "get_proxied"):
            monkeypatch.setattr(Client, name, getattr(self, name))

    def create(self, path: str, content: t.Any, *, dry_run: bool) -> t.Any:
        if path.endswith("/pods") and self.refusal:
            raise ApiError(self.refusal, 403)
        self.made.append((path, content["kind"]))
        self.exists = True
        return content

    def delete(self, path: str, *, dry_run: bool, **query: str) -> t.Any:
        assert query == {"labelSelector": "nodecraft.kubeadm/canary-of=kubelet.w1", "propagationPolicy": "Background"}
        self.exists = False
        return {}

    def list(self, path: str, *, metadata_only: bool = False, **query: str) -> t.Any:
        status = {"containerStatuses": [{"ready": True, "state": {}}]}
        spec = {"nodeName": "w1", "serviceAccountName": "canary"}
        return [{"metadata": {"name": "kubelet-before"}, "spec": spec, "status": status}] if self.exists else []

    def get(self, path: str, *, metadata_only: bool = False) -> t.Any:
        return {"spec": {}}

    def get_proxied(self, path: str, headers: t.Any) -> t.Any:
        if self.log >= 400:
            raise ApiError(f"refused: {self.log}", self.log)
        return type("Response", (), {"status": self.log})()


@pytest.fixture(name="pods")
def fixture_pods(monkeypatch: pytest.MonkeyPatch, api: FakeApi) -> Pods:
    return Pods(monkeypatch)


def test_a_pod_is_started_and_deleted(play: Start, pods: Pods) -> None:
    result = play(node_canary, **GIVEN)
    assert (result["changed"], result["unverified"]) == (False, "")
    assert result["steps"] == dict.fromkeys(STEPS, "")
    space = "/api/v1/namespaces/nodecraft-kubeadm"
    assert pods.made == [
        ("/api/v1/namespaces", "Namespace"),
        (f"{space}/serviceaccounts", "ServiceAccount"),
        (f"{space}/pods", "Pod"),
    ]
    assert not pods.exists


def test_what_does_not_work_is_named(play: Start, pods: Pods) -> None:
    pods.log = 502
    assert play(node_canary, **GIVEN)["steps"]["the pod's log"] == "refused: 502, after 30 s"
    pods.refusal = "exceeded quota"
    result = play(node_canary, **GIVEN)
    assert (result["steps"], result["unverified"]) == ({}, "exceeded quota")


def test_check_mode_makes_nothing(play: Start, pods: Pods) -> None:
    result = play(node_canary, **GIVEN, _ansible_check_mode=True)
    assert (result["steps"], result["unverified"]) == ({}, "check mode makes no object")
    assert pods.made == []


@pytest.mark.parametrize(("option", "value"), [("node", "W 1"), ("namespace", "a/b"), ("name", "")])
def test_a_name_that_is_none_is_refused(play: Start, option: str, value: str) -> None:
    assert play(node_canary, **{**GIVEN, option: value})["msg"].startswith(
        f"invalid {option} {value!r}: must be the name of a"
    )

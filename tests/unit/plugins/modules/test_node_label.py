# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels: parameters, and the result on every path."""

from __future__ import annotations

import os
import subprocess
import sys
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import pyyaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.api_module import ApiModule
from ansible_collections.nodecraft.kubeadm.plugins.modules import node_label
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import FakeApi
from ansible_collections.nodecraft.kubeadm.tests.unit.support.module_api import Start, fixture_api, fixture_play

__all__ = ["fixture_api", "fixture_play"]

KEYS = {"api", "changed", "nodes", "unverified", "diff", "rehearsal"}


def test_a_change_and_none(play: Start, api: FakeApi) -> None:
    first = play(node_label, nodes=["w1"], labels={"a": True})
    assert set(first) == KEYS
    assert (first["changed"], first["diff"], first["rehearsal"]["verdict"]) == (True, [], "not_needed")
    assert api.objects["w1"]["metadata"]["labels"]["a"] == "true"
    second = play(node_label, nodes=["w1"], labels={"a": True})
    assert (second["changed"], second["nodes"]["w1"]["operations"]) == (False, [])


def test_check_mode_and_diff(play: Start, api: FakeApi) -> None:
    result = play(node_label, nodes=["w1"], labels={"a": 1}, _ansible_check_mode=True, _ansible_diff=True)
    assert (result["changed"], result["rehearsal"]["verdict"]) == (True, "accepted")
    assert '  labels:\n    a: "1"\n  name: w1\n' in result["diff"][0]["after"]
    assert "a" not in api.objects["w1"]["metadata"]["labels"]


def test_a_failure_has_the_same_keys(play: Start) -> None:
    result = play(node_label, nodes=["w1", "missing"], labels={"a": 1})
    assert set(result) == KEYS | {"failed", "msg"}
    assert (result["failed"], result["changed"]) == (True, True)
    refused = play(node_label, nodes=["w1"], labels={"kubernetes.io/hostname": "x"})
    assert set(refused) == KEYS | {"failed", "msg"}
    assert (refused["changed"], refused["nodes"]) == (False, {})
    assert "kubernetes.io/hostname is not set manually" in refused["msg"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"labels": {"a": 1}}, "one of the following is required: nodes, label_selector, per_node"),
        ({"nodes": ["w1"], "labels": {"a": 1}, "concurrency": 0}, "invalid concurrency 0"),
        ({"per_node": {"w1": {"label": {}}}}, "per_node: w1: label. Supported parameters include: labels"),
        ({"per_node": {"w1": "a=b"}}, "per_node: invalid entry 'a=b' of w1: must be a mapping"),
        ({"label_selector": "", "labels": {"a": 1}}, "invalid label_selector ''"),
        ({"nodes": ["w1"]}, "labels is required with state=present"),
    ],
)
def test_parameters_that_cannot_be(play: Start, parameters: dict[str, t.Any], message: str) -> None:
    assert message in play(node_label, **parameters)["msg"]


def test_result_has_the_api_server(play: Start, api: FakeApi) -> None:
    result = play(node_label, nodes=["w1"], labels={"a": 1})
    assert result["api"] == {"host": os.uname().nodename, "server": api.url}
    assert play(node_label, nodes=["missing"], labels={"a": 1})["api"]["server"] == api.url
    assert play(node_label, labels={"a": 1})["api"] == {"host": os.uname().nodename, "server": None}


def test_content_of_a_kubeconfig_is_not_in_the_result(play: Start) -> None:
    kubeconfig = {"users": [{"name": "me", "user": {"token": "a secret word"}}]}
    result = play(node_label, nodes=["w1"], labels={"a": "a secret word"}, kubeconfig=kubeconfig)
    assert "invalid value '********' of a" in result["msg"]
    assert "a secret word" not in repr(result)


@pytest.mark.parametrize("ending", [{}, {"concurrency": 0}])
def test_program_of_a_kubeconfig_is_neither_returned_nor_logged(
    play: Start, monkeypatch: pytest.MonkeyPatch, ending: dict[str, t.Any]
) -> None:
    """Any argument or variable of a program that fetches a token may be secret; masking each value would also mask harmless ones."""
    logged: list[str] = []
    monkeypatch.setattr(ApiModule, "log", lambda self, msg, log_args=None: logged.append(f"{msg} {log_args}"))
    program = {"command": "login", "env": [{"name": "SECRET_ACCESS_KEY", "value": "k3y of exec"}]}
    kubeconfig = {"users": [{"name": "me", "user": {"token": "hidden", "exec": program}}]}
    result = play(node_label, nodes=["w1"], labels={}, kubeconfig=kubeconfig, **ending)
    assert "w1" in logged[0]
    for text in (repr(result), repr(logged)):
        assert "hidden" not in text
        assert "k3y of exec" not in text


def test_nothing_but_pyyaml_is_needed() -> None:
    """A control plane has neither kubernetes nor jsonpatch nor urllib3, nor the collection kubernetes.core."""
    code = f"""
import sys
sys.modules.update(dict.fromkeys(("kubernetes", "jsonpatch", "urllib3", "requests", "ansible_collections.kubernetes")))
sys.path[:] = {sys.path!r}
import {node_label.__name__} as module
print(module.connect.__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("connect\n", "")


@pytest.mark.parametrize("respawned", [True, False])
def test_without_pyyaml_the_package_is_named(play: Start, monkeypatch: pytest.MonkeyPatch, respawned: bool) -> None:
    monkeypatch.setattr(pyyaml, "yaml", None)
    monkeypatch.setattr(pyyaml, "has_respawned", lambda: respawned)
    monkeypatch.setattr(pyyaml, "probe_interpreters_for_module", lambda paths, module: None)
    assert "python3-yaml" in play(node_label, nodes=["w1"], labels={})["msg"]

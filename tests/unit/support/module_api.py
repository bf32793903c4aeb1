# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts the modules of the API's side against a server of the tests."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.client import Client
from ansible_collections.nodecraft.kubeadm.tests.unit.support.documents import ANSIBLE_KEYS, schema_errors
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import Clock, FakeApi, client_of
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import node

Result = dict[str, t.Any]
Start = t.Callable[..., Result]


@pytest.fixture(name="api")
def fixture_api() -> t.Iterator[FakeApi]:
    """A server with one node."""
    server = FakeApi(node("w1"))
    yield server
    server.close()


@pytest.fixture(name="play")
def fixture_play(
    start: t.Callable[..., t.Any], api: FakeApi, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Start:
    """Run a module with parameters and return its result, which must match the module's documentation unless Ansible refused the parameters."""

    def connect(module: t.Any) -> Client:
        module.client = client_of(api.url, Clock())
        return t.cast(Client, module.client)

    def play(module: t.Any, **parameters: t.Any) -> Result:
        monkeypatch.setattr(module, "connect", connect)
        with pytest.raises(SystemExit):
            start(module.main, **parameters)
        result = t.cast(Result, json.loads(capsys.readouterr().out))
        # The parameters, which ansible-core before 2.21 adds to every result.
        result.pop("invocation", None)
        # What the controller masks, from ansible-core 2.22 on. Before, the module has done so.
        for secret in result.pop("_ansible_new_secrets", ()):
            result = t.cast(Result, json.loads(json.dumps(result).replace(secret, "********")))
        if set(result) - ANSIBLE_KEYS - {"api"} or not result.get("failed"):
            found = schema_errors(module.__name__.rpartition(".")[2], result)
            assert found == [], found
        return result

    return play

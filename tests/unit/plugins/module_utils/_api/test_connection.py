# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From options to a client, with stand-ins for kubernetes and kubernetes.core."""

from __future__ import annotations

import types
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api import connection
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError


class ConfigException(Exception):
    """As kubernetes' own."""


class Configuration:
    """What is used of kubernetes' own. Its token is another one each time, as that of a refreshed login."""

    host = "https://api.example.com:6443/"
    verify_ssl = True
    connection_pool_maxsize = 1
    cert_file: str | None = None
    key_file: str | None = None
    ssl_ca_cert: str | None = None

    def __init__(self) -> None:
        self.token = 0

    def auth_settings(self) -> dict[str, dict[str, t.Any]]:
        self.token += 1
        return {
            "BearerToken": {"in": "header", "key": "authorization", "value": f"Bearer {self.token}"},
            "none": {"in": "header", "key": "other", "value": None},
        }


class Module:
    """What is used of AnsibleModule."""

    def __init__(self, **params: t.Any) -> None:
        self.params = {"concurrency": 3, **params}
        self.warnings: list[str] = []

    def warn(self, message: str) -> None:
        self.warnings.append(message)


@pytest.fixture(name="configuration")
def fixture_configuration(monkeypatch: pytest.MonkeyPatch) -> Configuration:
    """A configuration that the stand-ins find."""
    found = Configuration()
    client = types.SimpleNamespace(
        ApiClient=lambda given: types.SimpleNamespace(rest_client=types.SimpleNamespace(pool_manager=given))
    )
    monkeypatch.setattr(
        connection,
        "kubernetes",
        types.SimpleNamespace(client=client, config=types.SimpleNamespace(ConfigException=ConfigException)),
    )
    core = types.SimpleNamespace(
        _create_auth_spec=lambda module: {},
        _create_configuration=lambda spec: found,
        _create_headers=lambda module: {"Impersonate-User": "x"},
    )
    monkeypatch.setattr(connection, "core", core)
    return found


def test_a_client_of_kubernetes_cores_configuration(configuration: Configuration) -> None:
    client = connection.connect(Module())
    assert client.url == "https://api.example.com:6443"
    assert client._headers() == {"Impersonate-User": "x", "authorization": "Bearer 1"}
    assert client._headers()["authorization"] == "Bearer 2"
    assert configuration.connection_pool_maxsize == 3
    assert client._patience == 60


def test_patience_is_what_the_task_waits_for(configuration: Configuration) -> None:
    assert connection.connect(Module(wait=True, wait_timeout=5))._patience == 5
    assert connection.connect(Module(wait=False, wait_timeout=5))._patience == 60


def test_an_unchecked_certificate_is_told_unless_it_was_asked_for(configuration: Configuration) -> None:
    configuration.verify_ssl = False
    module = Module()
    connection.connect(module)
    assert "the certificate of https://api.example.com:6443/ is not checked" in module.warnings[0]
    module = Module(validate_certs=False)
    connection.connect(module)
    assert module.warnings == []


@pytest.mark.parametrize(
    "error",
    [
        ConfigException("no context"),
        FileNotFoundError(2, "No such file"),
        ValueError("x"),
        TypeError("list indices must be integers"),
        KeyError("clusters"),
        yaml.YAMLError("no YAML"),
    ],
)
def test_no_credentials(configuration: Configuration, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(spec: t.Any) -> t.NoReturn:
        raise error

    monkeypatch.setattr(f"{connection.__name__}.core._create_configuration", fail)
    with pytest.raises(KubeadmError, match="there are no usable credentials for the Kubernetes API"):
        connection.connect(Module())


@pytest.mark.parametrize("option", ["cert_file", "key_file", "ssl_ca_cert"])
def test_a_file_that_is_not_there_is_named(configuration: Configuration, tmp_path: Path, option: str) -> None:
    setattr(configuration, option, str(tmp_path / "nope.pem"))
    with pytest.raises(KubeadmError, match=r"no usable credentials .*No such file or directory: .*nope\.pem"):
        connection.connect(Module())

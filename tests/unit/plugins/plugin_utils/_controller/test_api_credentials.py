# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the controller adds to a task that uses the API."""

from __future__ import annotations

import types
import typing as t
from pathlib import Path

import pytest
from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultLib, VaultSecret
from ansible.plugins.action import ActionBase
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller import api_credentials

GROUPS = {"all": ["cp1", "w1"], "kube_control_plane": ["cp1"]}


class Run:
    """One task. transport: of its connection. delegate_to: the host that runs it, where that is another one than w1."""

    def __init__(self, directory: Path) -> None:
        self.transport = "ssh"
        self.delegate_to: str | None = None
        self.loader = DataLoader()
        self.loader.set_basedir(str(directory))
        self.read = ""
        self.options: dict[str, t.Any] = {}
        self.async_val = 0

    def __call__(self, **arguments: t.Any) -> dict[str, t.Any]:
        plugin = object.__new__(api_credentials.ApiCredentials)
        plugin._loader = self.loader
        plugin._connection = t.cast("t.Any", types.SimpleNamespace(transport=self.transport, has_native_async=False))
        task = types.SimpleNamespace(
            args=arguments,
            delegate_to=self.delegate_to,
            async_val=self.async_val,
            get_search_path=lambda: [self.loader.get_basedir()],
        )
        plugin._task = t.cast("t.Any", task)

        def execute(*, module_args: dict[str, t.Any], **options: t.Any) -> dict[str, t.Any]:
            self.options = options
            kubeconfig = module_args.get("kubeconfig")
            if isinstance(kubeconfig, str) and Path(kubeconfig).exists():
                self.read = Path(kubeconfig).read_text(encoding="utf-8")
            return {"given": module_args}

        # What it does needs a host.
        plugin._execute_module = t.cast("t.Any", execute)  # type: ignore[method-assign]
        result = plugin.run(task_vars={"inventory_hostname": "w1", "groups": GROUPS})
        given: dict[str, t.Any] = result["given"]
        return given


@pytest.fixture(name="run")
def fixture_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(ActionBase, "run", lambda plugin, tmp=None, task_vars=None: {})
    return Run(tmp_path)


@pytest.mark.parametrize(
    ("delegate_to", "transport", "path"),
    [
        (None, "ssh", "/etc/kubernetes/admin.conf"),
        ("cp1", "ssh", "/etc/kubernetes/admin.conf"),
        ("cp1", "local", "/etc/kubernetes/admin.conf"),
        ("localhost", "local", None),
    ],
)
def test_admin_conf_of_a_host_of_the_inventory(
    run: Run, delegate_to: str | None, transport: str, path: str | None
) -> None:
    run.delegate_to, run.transport = delegate_to, transport
    assert run().get("admin_conf") == path
    assert run(admin_conf="/x")["admin_conf"] == "/x"
    assert run.options["wrap_async"] is False


def test_an_encrypted_kubeconfig_of_the_controller(run: Run, tmp_path: Path) -> None:
    secret: t.Any = [("default", VaultSecret(b"word"))]
    run.loader.set_vault_secrets(secret)
    (tmp_path / "encrypted").write_bytes(VaultLib(secret).encrypt(b"clusters: []"))
    (tmp_path / "plain").write_text("plain", encoding="utf-8")
    run.transport = "local"
    given = run(kubeconfig="encrypted")["kubeconfig"]
    assert (run.read, Path(given).exists()) == ("clusters: []", False)
    # Beside the playbook, as files of other tasks.
    assert run(kubeconfig="plain")["kubeconfig"] == str(tmp_path / "plain")
    assert (tmp_path / "plain").exists()
    assert run(kubeconfig=f"plain:{tmp_path}/encrypted")["kubeconfig"].startswith(f"{tmp_path}/plain:/")
    # The module reports that it is not there.
    assert run(kubeconfig="/nope")["kubeconfig"] == "/nope"
    assert run(kubeconfig={"a": 1})["kubeconfig"] == {"a": 1}


def test_an_encrypted_kubeconfig_would_be_gone_before_a_task_with_async_reads_it(run: Run, tmp_path: Path) -> None:
    secret: t.Any = [("default", VaultSecret(b"word"))]
    run.loader.set_vault_secrets(secret)
    (tmp_path / "encrypted").write_bytes(VaultLib(secret).encrypt(b"clusters: []"))
    (tmp_path / "plain").touch()
    run.transport, run.async_val = "local", 60
    with pytest.raises(AnsibleActionFail, match="invalid kubeconfig encrypted: must not be encrypted"):
        run(kubeconfig="encrypted")
    assert not run.loader._tempfiles
    assert run(kubeconfig="plain")["kubeconfig"] == str(tmp_path / "plain")
    assert run.options["wrap_async"] is True


def test_a_kubeconfig_of_another_host_is_its_own(run: Run, tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    assert run(kubeconfig="plain")["kubeconfig"] == "plain"

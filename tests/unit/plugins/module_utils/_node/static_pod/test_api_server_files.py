# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a change brings to an API server that its probes do not show."""

from __future__ import annotations

import json
import os
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import Host, Process
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.etcd import etcd_client
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import api_server_files, static_pods
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import FileVersion
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import plan as static_pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.encryption import config

ENFORCED = {"defaults": {"enforce": "restricted"}}
EXEMPT = {**ENFORCED, "exemptions": {"namespaces": ["kube-system"]}}
DENIES: dict[str, t.Any] = {"type": "Webhook", "name": "opa", "webhook": {"failurePolicy": "Deny"}}
LONG_AGO = (0, 0)


class Server:
    """An API server whose configuration files are in a directory that it mounts."""

    def __init__(self, root: Path) -> None:
        self.directory = root
        self.host = Host(str(root / "proc"), str(root / "pods"))
        for directory in (self.host.proc, self.host.pod_logs):
            Path(directory).mkdir()

    def path(self, name: str, content: t.Any = None) -> str:
        """The path of a file; with a content, which is written."""
        path = self.directory / name
        if content is not None:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    def run(self, monkeypatch: pytest.MonkeyPatch, *, started: float) -> None:
        """Have the API server run since then."""
        process = Process("a" * 32, 100, "", ("kube-apiserver",))
        monkeypatch.setattr(static_pods, "running_process", lambda pod, host: process)
        monkeypatch.setattr(Host, "read_start_time", lambda host, pid: started)

    def findings(self, *flags: str, files: t.Sequence[t.Any] = (), plugins: t.Any = None, **args: t.Any) -> list[str]:
        """What a change of these arguments and files brings to an API server with these flags."""
        text = samples.with_command(*flags).replace("/etc/kubernetes/pki", str(self.directory))
        manifest = samples.manifest(text)
        pod = static_pods.StaticPod("kube-apiserver", samples.SOURCE, FileVersion(b"", 0o600), manifest, {}, "x")
        given = {flag.replace("_", "-"): value for flag, value in args.items()}
        desired = samples.desired(args=given, files=list(files), admission_plugins=plugins)
        state = static_pod.State(manifest, {}, static_pods.read_files(entry["path"] for entry in files))
        return api_server_files.findings(pod, static_pod.plan(desired, state), self.host)


@pytest.fixture(name="server")
def fixture_server(tmp_path: Path) -> Server:
    return Server(tmp_path)


K1 = b"k8s:enc:aescbc:v1:k1:..."
NODE_RBAC = "--authorization-mode=Node,RBAC"


def test_a_mode_that_the_cluster_lives_on_is_not_dropped(server: Server) -> None:
    assert server.findings(NODE_RBAC, authorization_mode="RBAC,Node") == []
    (finding,) = server.findings(NODE_RBAC, authorization_mode="Node")
    assert finding.startswith("--authorization-mode: without RBAC administrators")
    assert len(server.findings(NODE_RBAC, authorization_mode=None)) == 3
    assert server.findings("--authorization-mode=Node", v=4) == []  # as it was
    assert server.findings("--authorization-mode=Node", authorization_mode="Node,RBAC") == []


def authorizers(*entries: t.Any) -> dict[str, t.Any]:
    names = {"node": "Node", "rbac": "RBAC"}
    return {
        "kind": "AuthorizationConfiguration",
        "authorizers": [{"type": names[each], "name": each} if isinstance(each, str) else each for each in entries],
    }


def test_a_webhook_that_denies_is_found_in_a_file_that_changes(server: Server) -> None:
    path = server.path("authz.json", authorizers("node", "rbac", DENIES))
    flag = f"--authorization-config={path}"
    edit = [samples.file(path, authorizers(DENIES, "node", "rbac"))]
    (finding,) = server.findings(flag, files=edit)
    assert finding.startswith("--authorization-config: the webhook opa (failurePolicy: Deny) would deny kubelets, ")
    server.path("authz.json", authorizers(DENIES, "node", "rbac"))
    assert server.findings(flag, v=4) == []
    (finding,) = server.findings(flag, files=[samples.file(path, authorizers(DENIES, "node"))])
    assert "without RBAC" in finding  # and the webhook was there


def test_a_move_from_flags_to_a_file_is_judged(server: Server) -> None:
    path = server.path("authz.json", authorizers("rbac"))
    (finding,) = server.findings(NODE_RBAC, authorization_mode=None, authorization_config=path)
    assert finding.startswith("--authorization-config: without Node")
    server.path("authz.json", authorizers("node", "rbac"))
    assert server.findings(NODE_RBAC, authorization_mode=None, authorization_config=path) == []
    server.path("authz.json", "authorizers: [")
    (finding,) = server.findings(NODE_RBAC, authorization_mode=None, authorization_config=path)
    assert "its content cannot be determined (it is not a single YAML document" in finding


def admission(**plugins: t.Any) -> dict[str, t.Any]:
    return {"plugins": [{"name": name, **entry} for name, entry in plugins.items()]}


def test_pod_security_in_kube_system_is_found(server: Server) -> None:
    path = server.path("admission.json", admission(PodSecurity={"configuration": ENFORCED}))
    (finding,) = server.findings(NODE_RBAC, admission_control_config_file=path)
    assert finding.startswith("--admission-control-config-file: PodSecurity would enforce restricted in kube-system")
    flag = f"--admission-control-config-file={path}"
    assert server.findings(NODE_RBAC, flag, v=4) == []
    off = "--disable-admission-plugins=PodSecurity"
    assert server.findings(NODE_RBAC, off, admission_control_config_file=path) == []
    assert server.findings(NODE_RBAC, flag, off, plugins={"PodSecurity": "default"}) == [finding]
    server.path("admission.json", admission(PodSecurity={"configuration": EXEMPT}))
    assert server.findings(NODE_RBAC, admission_control_config_file=path) == []


def test_settings_in_a_file_of_their_own_are_found(server: Server) -> None:
    path = server.path("admission.json", admission(PodSecurity={"path": "pods.json"}))
    pods = server.path("pods.json", EXEMPT)
    flag = f"--admission-control-config-file={path}"
    assert server.findings(NODE_RBAC, admission_control_config_file=path) == []
    (finding,) = server.findings(NODE_RBAC, flag, files=[samples.file(pods, ENFORCED)])
    assert "PodSecurity would enforce restricted" in finding
    off = "--disable-admission-plugins=PodSecurity"
    assert server.findings(NODE_RBAC, flag, off, files=[samples.file(pods, ENFORCED)]) == []


def test_a_plugin_that_is_switched_on_is_judged(server: Server) -> None:
    path = server.path("admission.json", admission(ImagePolicyWebhook={"configuration": {"imagePolicy": {}}}))
    flag = f"--admission-control-config-file={path}"
    assert server.findings(NODE_RBAC, flag, v=4) == []
    (finding,) = server.findings(NODE_RBAC, flag, plugins={"ImagePolicyWebhook": "enabled"})
    assert "ImagePolicyWebhook (defaultAllow: false) would refuse every pod" in finding


@pytest.mark.parametrize("name", ["admission.json", "pods.json"])
def test_unread_settings_are_brought_by_restart(server: Server, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = server.path("admission.json", admission(PodSecurity={"path": "pods.json"}))
    flag = f"--admission-control-config-file={path}"
    edited = server.path("pods.json", ENFORCED)
    if name == "admission.json":
        edited = server.path(name, admission(PodSecurity={"configuration": ENFORCED}))
    server.run(monkeypatch, started=time.time() + 60)
    assert server.findings(NODE_RBAC, flag, v=4) == []
    server.run(monkeypatch, started=time.time() - 60)
    os.utime(edited, LONG_AGO)
    (finding,) = server.findings(NODE_RBAC, flag, v=4)
    assert finding.startswith("--admission-control-config-file: PodSecurity would enforce restricted in kube-system")
    assert finding.endswith(" That was edited after the API server started, which this change restarts.")
    assert not api_server_files.is_unread(finding)
    server.path("admission.json", admission(PodSecurity={"configuration": EXEMPT}))
    assert server.findings(NODE_RBAC, flag, v=4) == []


def test_authorization_is_reloaded_while_running(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    path = server.path("authz.json", authorizers(DENIES, "node", "rbac"))
    server.run(monkeypatch, started=time.time() - 60)
    assert server.findings(f"--authorization-config={path}", v=4) == []


def test_etcd_is_queried_only_for_a_key_that_goes(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[str] = []

    def count(files: t.Any, resource: str, matches: t.Callable[[bytes], bool]) -> int:
        requests.append(f"{resource} {matches(K1)}")
        return 0

    monkeypatch.setattr(etcd_client, "count_values", count)
    path = server.path("enc.json", config("k2", "k1", "identity"))
    flag = f"--encryption-provider-config={path}"
    assert server.findings(NODE_RBAC, flag, v=4) == []
    assert server.findings(NODE_RBAC, flag, files=[samples.file(path, config("k1", "k2", "identity"))]) == []
    assert requests == []
    assert server.findings(NODE_RBAC, flag, files=[samples.file(path, config("k2", "identity"))]) == []
    assert requests == ["secrets True"]


@pytest.mark.parametrize("text", [None, "kind: ["])
def test_file_beside_an_unreadable_api_server_is_noted_as_not_checked(tmp_path: Path, text: str | None) -> None:
    directory = tmp_path / "manifests"
    directory.mkdir()
    if text is not None:
        (directory / "kube-apiserver.yaml").write_text(text, encoding="utf-8")
    manifest = samples.manifest(samples.with_command().replace("kube-apiserver", "kube-scheduler"))
    path = str(directory / "kube-scheduler.yaml")
    pod = static_pods.StaticPod("kube-scheduler", path, FileVersion(b"", 0o600), manifest, {}, "x")
    file = "/etc/kubernetes/pki/policy"
    desired = samples.desired(name="kube-scheduler", files=[samples.file(file, "a")])
    plan = static_pod.plan(desired, static_pod.State(manifest, {}, {file: None}))
    found = api_server_files.findings(pod, plan, Host())
    assert [each.partition(" (")[0] for each in found] == (
        [] if text is None else ["what the changed files do to kube-apiserver cannot be determined"]
    )


def test_a_file_that_cannot_be_read_is_no_reason_as_long_as_it_stays_so(server: Server) -> None:
    for path in (server.path("none.json"), "/in/the/image.json"):
        flag = f"--encryption-provider-config={path}"
        assert server.findings(NODE_RBAC, flag, v=4) == []
        (finding,) = server.findings(NODE_RBAC, flag, encryption_provider_config=None)
        assert "what the API server reads and writes now cannot be determined" in finding
        assert "A key is rotated in steps" in finding

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet that would not find its credential or its container runtime is not restarted."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet import boot_facts, kubelet_watch
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import Authority, Pair
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_cri import FakeCri
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelet_nodes import Node, plan_with
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import kubeconfig


@pytest.fixture(name="node")
def fixture_node(kubelet_node: Node) -> Node:
    return kubelet_node


PEM = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----\n-----END EC PRIVATE KEY-----\n"
CURRENT = "pki/kubelet-client-current.pem"


def plan_restart(node: Node, monkeypatch: pytest.MonkeyPatch, **user: str) -> list[str]:
    """The warnings of a change of a kubelet that works, with this user in its kubeconfig."""
    node.kubeconfig.write_text(kubeconfig(user=user), encoding="utf-8")
    monkeypatch.setattr(kubelet_watch, "read_problem", lambda *_arguments: ("", []))
    steps = node.steps(dry=True, config={"maxPods": 50})
    with steps.session():
        steps.read()
        return list(steps.plan().warnings)


def pair_in(path: str) -> dict[str, str]:
    return {"client-certificate": path, "client-key": path}


@pytest.mark.parametrize(
    ("text", "why"), [(None, "No such file or directory"), ("", "holds no certificate"), (PEM[:60], "holds no key")]
)
@pytest.mark.parametrize("relative", [False, True])
def test_kubelet_without_the_file_of_its_certificate_is_not_restarted(
    node: Node, monkeypatch: pytest.MonkeyPatch, text: str | None, why: str, relative: bool
) -> None:
    path = node.root / CURRENT
    if text is not None:
        node.write(CURRENT, text)
    with pytest.raises(Refusal, match=r"its bootstrap kubeconfig /b cannot be read either") as refusal:
        plan_restart(node, monkeypatch, **pair_in(CURRENT if relative else str(path)))
    assert all(part in str(refusal.value) for part in ("kubelet on w1: ", str(path), why, "system:node:w1"))


def test_kubelet_without_its_kubeconfig_is_not_restarted(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubelet_watch, "read_problem", lambda *_arguments: ("", []))
    node.kubeconfig.unlink()
    steps = node.steps(dry=True, config={"maxPods": 50})
    with steps.session():
        steps.read()
        with pytest.raises(Refusal, match="No such file or directory, and its bootstrap kubeconfig"):
            steps.plan()


def test_kubelet_without_the_file_of_its_authority_is_not_restarted(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubelet_watch, "read_problem", lambda *_arguments: ("", []))
    text = kubeconfig("https://unit-tests:6443", "certificate-authority: /none/ca.crt")
    node.kubeconfig.write_text(text, encoding="utf-8")
    steps = node.steps(dry=True, config={"maxPods": 50})
    with steps.session():
        steps.read()
        with pytest.raises(Refusal, match=r"/none/ca\.crt: No such file or directory"):
            steps.plan()


def test_kubelet_that_can_bootstrap_again_is_restarted_with_a_warning(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    bootstrap = node.write("bootstrap.conf", kubeconfig(user={"token": "a.b"}))
    text = node.kubeadm.read_text(encoding="utf-8")
    node.kubeadm.write_text(text.replace("=/b ", f"={bootstrap} "), encoding="utf-8")
    process = node.root / "proc/7/cmdline"
    process.write_text(process.read_text(encoding="utf-8").replace("=/b\0", f"={bootstrap}\0"), encoding="utf-8")
    (warning,) = plan_restart(node, monkeypatch, **pair_in(CURRENT))
    assert f"it requests another certificate with {bootstrap}" in warning


@pytest.mark.parametrize(
    "user", [pair_in(CURRENT), {"exec": "{command: aws}"}, {"token": "t"}, {}, {"client-certificate-data": "eA=="}]
)
def test_kubelet_with_its_credential_is_restarted(
    node: Node, monkeypatch: pytest.MonkeyPatch, authority: Authority, user: dict[str, str]
) -> None:
    write_pair(node, authority.issue())
    assert plan_restart(node, monkeypatch, **user) == []


def write_pair(node: Node, pair: Pair) -> None:
    """The file with certificate and key, as a kubelet writes it."""
    node.write(CURRENT, (pair.certificate + pair.key).decode())


def test_kubelet_with_an_expired_certificate_is_not_restarted(
    node: Node, monkeypatch: pytest.MonkeyPatch, authority: Authority
) -> None:
    write_pair(node, authority.issue(first=-9, last=-3))
    with pytest.raises(Refusal, match=r"of its client certificate, the certificate has expired"):
        plan_restart(node, monkeypatch, **pair_in(CURRENT))


def test_kubelet_with_the_key_of_another_certificate_is_not_restarted(
    node: Node, monkeypatch: pytest.MonkeyPatch, authority: Authority
) -> None:
    write_pair(node, Pair(authority.issue().certificate, authority.issue().key))
    with pytest.raises(Refusal, match=r"of its client certificate, .* does not match its key"):
        plan_restart(node, monkeypatch, **pair_in(CURRENT))


# ---- the container runtime -------------------------------------------------------------------------------------------


def test_kubelet_whose_runtime_does_not_respond_is_not_restarted(
    node: Node, monkeypatch: pytest.MonkeyPatch, runtime: FakeCri
) -> None:
    runtime.stop()
    with pytest.raises(
        Refusal, match=r"kubelet on w1: the container runtime at .* does not answer: .* Check containerd"
    ):
        plan_with(node, monkeypatch)


def test_kubelet_whose_runtime_is_not_ready_is_not_restarted(
    node: Node, monkeypatch: pytest.MonkeyPatch, runtime: FakeCri
) -> None:
    runtime.problem = "shim is gone"
    with pytest.raises(Refusal, match=r"kubelet on w1: NotReady: shim is gone\. The running kubelet would not start"):
        plan_with(node, monkeypatch)


def test_kubelet_on_a_node_without_a_network_is_restarted(
    node: Node, monkeypatch: pytest.MonkeyPatch, runtime: FakeCri
) -> None:
    runtime.network_problem = "cni plugin not initialized"
    assert plan_with(node, monkeypatch) == []


def test_crashed_kubelet_without_its_certificate_may_be_repaired(node: Node) -> None:
    node.kubeconfig.write_text(kubeconfig(user=pair_in("/none/x.pem")), encoding="utf-8")
    node.crash("E1 command failed\n")
    steps = node.steps(dry=True, config={"maxPods": 50})
    with steps.session():
        steps.read()
        assert len(steps.plan().warnings) == 1


# ---- the next boot ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("state", "count"), [("disabled", 1), ("enabled", 0), ("static", 0), ("", 0)])
def test_disabled_unit_is_a_warning(node: Node, monkeypatch: pytest.MonkeyPatch, state: str, count: int) -> None:
    node.properties["UnitFileState"] = state
    warnings = plan_with(node, monkeypatch)
    assert len(warnings) == count
    assert all(
        "kubelet on w1: its unit is disabled, so the next boot of the node starts no kubelet" in each
        for each in warnings
    )
    (call,) = [call for call in node.calls if call.startswith("systemctl show") and "FragmentPath" in call]
    assert "UnitFileState" in call


# ---- settings with which the node is of no use -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"podPidsLimit": 5}, "invalid podPidsLimit 5: must be at least 16"),
        (
            {"nodeLeaseDurationSeconds": 600},
            "would be renewed after 150 s .* the 50 s after which the controller manager counts",
        ),
    ],
)
def test_setting_that_loses_the_node_is_refused(
    node: Node, monkeypatch: pytest.MonkeyPatch, config: dict[str, t.Any], why: str
) -> None:
    monkeypatch.setattr(boot_facts, "SYSCTL_DIRECTORIES", ())
    monkeypatch.setattr(kubelet_watch, "read_problem", lambda *_arguments: ("", []))
    steps = node.steps(dry=True, config=config)
    with steps.session():
        steps.read()
        with pytest.raises(Refusal, match=why):
            steps.plan()


def test_rare_heartbeats_can_be_forced(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubelet_watch, "read_problem", lambda *_arguments: ("", []))
    steps = node.steps(dry=True, config={"nodeLeaseDurationSeconds": 600}, force=True)
    with steps.session():
        steps.read()
        assert any(warning.startswith("forced: kubelet on w1: its Node's Lease") for warning in steps.plan().warnings)


def test_file_in_memory_is_refused(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubelet_watch, "read_problem", lambda *_arguments: ("", []))
    path = node.write("memory/ca.crt", "")
    node.write("proc/1/mountinfo", f"23 22 0:21 / {path.parent} rw - tmpfs tmpfs rw\n")
    steps = node.steps(dry=True, config={"authentication": {"x509": {"clientCAFile": str(path)}}})
    with steps.session():
        steps.read()
        with pytest.raises(
            Refusal, match=r"x509\.clientCAFile: .* is in memory \(.*/memory\), so it is gone after the next boot"
        ):
            steps.plan()

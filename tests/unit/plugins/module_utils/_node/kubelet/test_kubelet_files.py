# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet that works and would not start again, because a file that it needs is missing or damaged, is not restarted."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import Authority, Pair
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelet_nodes import Node, plan_with

ADVICE = "Nothing was changed. Repair that, or name another file; force: true changes it anyway."
AGAIN = "It would not start again like that."


@pytest.fixture(name="node")
def fixture_node(kubelet_node: Node) -> Node:
    return kubelet_node


def configure(node: Node, line: str) -> None:
    node.main.write_text(f"{node.main.read_text(encoding='utf-8')}{line}\n", encoding="utf-8")


def expect_refusal(node: Node, monkeypatch: pytest.MonkeyPatch, finding: str) -> None:
    """Of any change, for this and nothing else; with force it is a warning."""
    with pytest.raises(Refusal) as refusal:
        plan_with(node, monkeypatch)
    assert str(refusal.value) == f"kubelet on w1: {finding}. {AGAIN} {ADVICE}"
    assert plan_with(node, monkeypatch, force=True) == [f"forced: kubelet on w1: {finding}. {AGAIN}"]


# ---- files that settings name ----------------------------------------------------------------------------------------


SETTINGS = {
    "serving certificate": ("tlsCertFile: %s", "tlsCertFile"),
    "serving key": ("tlsPrivateKeyFile: %s", "tlsPrivateKeyFile"),
    "runtime": ("containerRuntimeEndpoint: unix://%s", "containerRuntimeEndpoint"),
}


@pytest.mark.parametrize(("text", "name"), SETTINGS.values(), ids=SETTINGS)
def test_kubelet_without_a_file_of_its_settings_is_not_restarted(
    node: Node, monkeypatch: pytest.MonkeyPatch, text: str, name: str
) -> None:
    path = node.root / "named"
    node.main.write_text(node.main.read_text(encoding="utf-8") + text % path + "\n", encoding="utf-8")
    with pytest.raises(Refusal) as refusal:
        plan_with(node, monkeypatch)
    finding = f"kubelet on w1: {name} names {path}, which does not exist. It would not start again without it."
    assert str(refusal.value) == f"{finding} {ADVICE}"
    assert plan_with(node, monkeypatch, force=True) == [f"forced: {finding}"]
    path.touch()
    assert plan_with(node, monkeypatch) == []


def test_kubelet_without_the_resolv_conf_of_its_pods_is_not_restarted(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = node.root / "resolv.conf"
    with pytest.raises(Refusal, match=rf"resolvConf names {path}, which .* It would be healthy, and start no pod\."):
        plan_with(node, monkeypatch, config={"resolvConf": str(path)})
    path.touch()
    assert plan_with(node, monkeypatch, config={"resolvConf": str(path)}) == []


@pytest.mark.parametrize("flag", ["image-credential-provider-config", "image-credential-provider-bin-dir"])
def test_kubelet_without_a_file_of_its_flags_is_not_restarted(
    node: Node, monkeypatch: pytest.MonkeyPatch, flag: str
) -> None:
    path = node.root / "named"
    node.add_flag(f"--{flag}={path}")
    with pytest.raises(Refusal, match=f"--{flag} names {path}, which does not exist"):
        plan_with(node, monkeypatch)
    path.touch()
    assert plan_with(node, monkeypatch) == []


def test_crashed_kubelet_without_a_file_of_its_settings_may_be_repaired(node: Node) -> None:
    node.main.write_text(node.main.read_text(encoding="utf-8") + "tlsCertFile: /none/x\n", encoding="utf-8")
    node.crash("E1 command failed\n")
    steps = node.steps(dry=True, config={"maxPods": 50})
    with steps.session():
        steps.read()
        assert len(steps.plan().warnings) == 1


# ---- the authority of its clients ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "broken", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_kubelet_with_a_damaged_authority_is_not_restarted(
    node: Node, monkeypatch: pytest.MonkeyPatch, authority: Authority, text: str
) -> None:
    path = node.root / "ca.crt"
    configure(node, f"authentication: {{x509: {{clientCAFile: {path}}}}}")
    name = f"authentication.x509.clientCAFile names {path}"
    with pytest.raises(Refusal, match=f"{name}, which does not exist. It would not start again without it"):
        plan_with(node, monkeypatch)
    path.write_text(text, encoding="ascii")
    expect_refusal(node, monkeypatch, f"{name}, which holds no certificate that can be read")
    path.write_bytes(b"# of the cluster\r\n" + authority.certificate)
    assert plan_with(node, monkeypatch) == []


# ---- its own certificate -----------------------------------------------------------------------------------------------


@pytest.fixture(name="pki")
def fixture_pki(node: Node) -> Path:
    """The directory in which the kubelet keeps the certificate that it made, still without it."""
    directory = node.root / "pki"
    directory.mkdir()
    node.add_flag(f"--cert-dir={directory}")
    return directory


def write_pair(directory: Path, pair: Pair) -> tuple[Path, Path]:
    files = directory / "kubelet.crt", directory / "kubelet.key"
    for path, content in zip(files, pair):
        path.write_bytes(content)
    return files


@pytest.mark.parametrize("lost", [0, 1])
def test_kubelet_with_half_of_its_own_pair_is_not_restarted(
    node: Node, monkeypatch: pytest.MonkeyPatch, authority: Authority, pki: Path, lost: int
) -> None:
    assert plan_with(node, monkeypatch) == []  # without both it makes them
    files = write_pair(pki, authority.issue(last=0))  # its time is not checked
    assert plan_with(node, monkeypatch) == []
    files[lost].unlink()
    expect_refusal(
        node,
        monkeypatch,
        f"{files[lost]} does not exist, but {files[1 - lost]} does: restore it, or remove both, for a kubelet without either makes another pair",
    )
    configure(node, "serverTLSBootstrap: true")
    assert plan_with(node, monkeypatch) == []


def test_kubelet_with_another_key_is_not_restarted(
    node: Node, monkeypatch: pytest.MonkeyPatch, authority: Authority, pki: Path
) -> None:
    certificate, key = write_pair(pki, Pair(authority.issue().certificate, authority.issue().key))
    why = "the certificate does not match its key: name the key that belongs to it"
    expect_refusal(node, monkeypatch, f"of {certificate} and {key}, {why}")
    node.add_flag("--rotate-server-certificates")
    assert plan_with(node, monkeypatch) == []


def test_kubelet_whose_settings_name_another_key_is_not_restarted(
    node: Node, monkeypatch: pytest.MonkeyPatch, authority: Authority, pki: Path
) -> None:
    pair = authority.issue()
    certificate, key = write_pair(node.root, Pair(pair.certificate, authority.issue().key))
    (pki / "kubelet.crt").touch()  # of no concern then
    configure(node, f"tlsCertFile: {certificate}\ntlsPrivateKeyFile: {key}")
    why = "the certificate does not match its key: name the key that belongs to it"
    expect_refusal(node, monkeypatch, f"of {certificate} and {key}, {why}")
    write_pair(node.root, pair)
    assert plan_with(node, monkeypatch) == []


# ---- what it remembers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["allocated_pods_state", "actuated_pods_state", "dra_manager_state"])
@pytest.mark.parametrize("text", ["", "broken", '{"data":"{\\"entr'])
def test_kubelet_with_a_damaged_checkpoint_is_not_restarted(
    node: Node, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    node.version = "Kubernetes v1.37.2\n"
    path = node.give_root() / name
    assert plan_with(node, monkeypatch) == []
    path.write_text('{"data":"{}","checksum":1}', encoding="ascii")
    assert plan_with(node, monkeypatch) == []
    path.write_text(text, encoding="ascii")
    why = "is damaged: drain the node and remove it, for a kubelet without it makes another one"
    expect_refusal(node, monkeypatch, f"{path} {why}")


@pytest.mark.parametrize(
    ("name", "version", "gates", "is_read"),
    [
        ("dra_manager_state", "1.33.1", "", False),
        ("dra_manager_state", "1.33.1", "DynamicResourceAllocation: true", True),
        ("allocated_pods_state", "1.33.1", "", True),
        ("allocated_pods_state", "1.33.1", "InPlacePodVerticalScaling: false", False),
    ],
)
def test_checkpoint_that_is_not_read_keeps_no_kubelet_from_its_restart(
    node: Node, monkeypatch: pytest.MonkeyPatch, name: str, version: str, gates: str, is_read: bool
) -> None:
    node.version = f"Kubernetes v{version}\n"
    path = node.give_root() / name
    path.touch()
    configure(node, f"featureGates: {{{gates}}}")
    warnings = plan_with(node, monkeypatch, force=True)
    assert [str(path) in warning for warning in warnings if warning.startswith("forced: ")] == [True] * is_read


@pytest.mark.parametrize("text", ["", "broken"])
def test_damaged_state_of_a_policy_is_moved_away_on_a_drained_node(
    node: Node, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (node.give_root() / "cpu_manager_state").write_text(text, encoding="ascii")
    with pytest.raises(Refusal, match="cpu_manager_state names no policy, but cpuManagerPolicy is none"):
        plan_with(node, monkeypatch)
    assert not any("like that" in warning for warning in plan_with(node, monkeypatch, force=True))


# ---- logs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "setting"),
    [
        ("pod_logs", ""),
        ("container_logs", ""),
        ("logs", "podLogsDir: {root}/logs"),
        ("log", "podLogsDir: {root}/log/pods"),
    ],
)
def test_kubelet_whose_logs_are_a_dead_link_is_not_restarted(
    node: Node, monkeypatch: pytest.MonkeyPatch, link: str, setting: str
) -> None:
    configure(node, setting.format(root=node.root))
    assert plan_with(node, monkeypatch) == []  # it makes what is not there
    path, target = node.root / link, node.root / "disk"
    path.symlink_to(target)
    expect_refusal(node, monkeypatch, f"{path} is a link to {target}, which does not exist")
    target.mkdir()
    assert plan_with(node, monkeypatch) == []

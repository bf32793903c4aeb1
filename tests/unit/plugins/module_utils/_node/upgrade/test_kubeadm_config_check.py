# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The proof of a new kubeadm-config on a node."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade import upgrade_programs
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade.kubeadm_config_check import Check
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.cluster_configurations import TEXT, Json
from ansible_collections.nodecraft.kubeadm.tests.unit.support.documents import schema_errors
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, FakeNode, pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support.upgrades import UpgradeRun, put_programs, refused

NEW_TEXT = TEXT.replace("apiServer: {}\n", "apiServer:\n  extraArgs:\n  - name: v\n    value: '1'\n")
CHANGES = [{"component": NAME, "field": "args", "key": "v"}]


class Generator(UpgradeRun):
    """A kubeadm that generates one manifest from either text."""

    def __init__(self) -> None:
        super().__init__()
        self.old, self.new = pod(), pod("--v=1")
        self.new_strict_error = ""

    def manifests_of(self, cluster: dict[str, t.Any]) -> dict[str, str] | str:
        is_new = bool(cluster["apiServer"])
        self.strict_error = (
            self.new_strict_error if is_new else 'error: strict decoding error: unknown field "notOfKubeadm"\n'
        )
        return {NAME: self.new if is_new else self.old} if not self.new.startswith("!") else self.new


@pytest.fixture(name="check")
def fixture_check(master: FakeNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., Json]:
    """Check a control plane that runs with --v=1."""
    monkeypatch.setattr(upgrade_programs, "PATH", str(put_programs(tmp_path / "programs", "kubeadm")))

    def check(run: Generator, **given: t.Any) -> Json:
        params = {
            "before": TEXT,
            "after": NEW_TEXT,
            "settings": {NAME: {"args": {"v": ["1"]}}},
            "changes": CHANGES,
            **given,
        }
        return Check(params, run=run, host=master.host, clock=master.clock, ready_timeout=0).read_all()

    return check


Checked = t.Callable[..., Json]


def test_it_holds(check: Checked) -> None:
    run = Generator()
    found = check(run)
    assert (found["node"], found["version"]) == ("cp1", "v1.37.2")
    assert [(each["component"], each["verdict"]) for each in found["rehearsed"]] == [(NAME, "accepted")]
    assert schema_errors("kubeadm_config_check", found) == []
    assert len(run.started("kubeadm")) == 4  # both phases, for either text
    assert len(run.started(NAME)) == 1


def test_what_kubeadm_passes_over_already_is_not_ours(check: Checked) -> None:
    run = Generator()
    run.new_strict_error = 'error: strict decoding error: unknown field "notOfKubeadm"\n'
    assert check(run)["node"] == "cp1"
    run.new_strict_error = 'error: strict decoding error: unknown field "ours"\n'
    with pytest.raises(KubeadmError, match='ignores what would be written: unknown field "ours"'):
        check(run)


@pytest.mark.parametrize(
    ("new", "given", "why"),
    [
        (pod("--v=1", "--w=2"), {}, "on cp1 kube-apiserver args w would change as well"),
        (pod("--v=2"), {}, "args v would be generated as another value"),
        (pod("--v=2"), {"settings": {NAME: {"args": {"v": ["2"]}}}}, "args v is not what it was when the run planned"),
        ("! invalid configuration", {}, "init phase control-plane all: ! invalid configuration"),
        (pod("--v=1"), {"after": "a: ["}, "it is not valid YAML"),
    ],
)
def test_it_does_not(check: Checked, new: str, given: Json, why: str) -> None:
    run = Generator()
    run.new = new
    with pytest.raises(KubeadmError, match=why.replace("[", "\\[")):
        check(run, **given)
    assert run.started(NAME) == []


def test_the_component_does_not_take_it(check: Checked) -> None:
    run = Generator()
    run.outputs = {NAME: [refused("unknown flag: --v")]}
    with pytest.raises(
        KubeadmError, match=r"kube-apiserver on cp1 does not accept what kubeadm would generate.*unknown flag: --v"
    ):
        check(run)


@pytest.mark.parametrize("others", [(), ("--service-account-signing-endpoint=/run/signer.sock",)])
def test_unmounted_file_is_found_although_the_rehearsal_was_skipped(
    check: Checked, master: FakeNode, others: tuple[str, ...]
) -> None:
    """Also where nothing can be rehearsed."""
    flag = pod("--audit-policy-file=/etc/hostname", *others)
    mounts = "    volumeMounts:\n    - mountPath: /etc/hostname\n      name: a\n"
    live = f"{flag}{mounts}  volumes:\n  - hostPath:\n      path: /etc/hostname\n    name: a\n"
    fresh = master.manifest.with_name(".fresh")
    fresh.write_text(live, encoding="utf-8")
    fresh.replace(master.manifest)
    master.allowed = {live.encode()}
    run = Generator()
    run.old, run.new = pod(*others), flag
    settings = {NAME: {"args": {"audit-policy-file": ["/etc/hostname"]}}}
    with pytest.raises(KubeadmError, match="no volume of the static pod is mounted over /etc/hostname"):
        check(run, settings=settings, changes=[{**CHANGES[0], "key": "audit-policy-file"}])


@pytest.mark.parametrize(
    ("version", "reason"), [("v1.36.3", "is v1.36.3 and its API server v1.37.2"), (None, "there is no kubeadm on cp1")]
)
def test_the_kubeadm_has_to_be_that_of_the_api_server(
    check: Checked, monkeypatch: pytest.MonkeyPatch, version: str | None, reason: str
) -> None:
    run = Generator()
    if version:
        run.versions["kubeadm"] = version
    else:
        monkeypatch.setattr(upgrade_programs, "PATH", "/none")
    with pytest.raises(KubeadmError, match=reason):
        check(run)

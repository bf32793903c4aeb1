# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubeadm generates: its request to the sandbox, and the manifests from its output."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade import upgrade_manifests
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade.upgrade_manifests import Kubeadm
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError, Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.cluster_configuration import (
    ClusterConfiguration,
    Endpoint,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.upgrades import CONFIGURATION, TARGET, UpgradeRun

ENDPOINT = Endpoint("cp1", "10.0.0.11", 6443, "unix:///run/containerd/containerd.sock")

pytestmark = pytest.mark.usefixtures("master")  # the sandbox's source is found as in the archive of a module


def generate(run: UpgradeRun, text: str = CONFIGURATION, patches: str | None = None) -> upgrade_manifests.Generated:
    configuration = ClusterConfiguration.parse(text)
    config = configuration.for_kubeadm(TARGET, ENDPOINT, patches)
    return upgrade_manifests.generate(Kubeadm("/new/kubeadm", config, configuration, run, patches))


def test_kubeadm_makes_a_dry_run_of_two_phases() -> None:
    run = UpgradeRun()
    run.manifests["v1.37.2"] = {"etcd": "a", "kube-apiserver": "b"}
    run.strict_error = 'W1125 18:30:00.1 7 x.go:1] error: strict decoding error: unknown field "myField"\n'
    found = generate(run, patches="/patches")
    assert found == ({"etcd": "a", "kube-apiserver": "b"}, ['unknown field "myField"'])
    assert [arguments[1:] for arguments in run.started("kubeadm")] == [
        ["init", "phase", *phase, "--config=/upgrade-check/kubeadm.yaml", "--dry-run"]
        for phase in (["control-plane", "all"], ["etcd", "local"])
    ]
    request = run.requests[0]
    (config,) = request["staged"].values()
    init = yaml.safe_load(base64.b64decode(config).decode().split("\n---\n")[1])
    assert init["patches"] == {"directory": "/patches"}
    assert request["environment"]["KUBEADM_INIT_DRYRUN_DIR"] == "/upgrade-check-manifests"
    writable = [mount["source"] for mount in request["mounts"] if mount.get("writable")]
    assert len(writable) == 1
    assert not Path(writable[0]).exists()
    targets = [mount["target"] for mount in request["mounts"]]
    assert "/patches" in targets
    assert "/etc" in targets
    assert "/etc/kubernetes/pki" not in targets  # mounted with /etc


def test_what_kubeadm_passes_over_is_reported_with_its_line() -> None:
    run = UpgradeRun()
    run.manifests["v1.37.2"] = {"etcd": "a"}
    run.strict_error = 'W1 x.go:1] error: strict decoding error: yaml: unmarshal errors:\n  line 7: key "apiServer" already set in map\nother\n'
    assert generate(run).strict_errors == ['yaml: unmarshal errors: line 7: key "apiServer" already set in map']


def test_an_external_etcd_is_none_of_its() -> None:
    run = UpgradeRun()
    run.manifests["v1.37.2"] = {"kube-apiserver": "b"}
    generate(run, f"{CONFIGURATION}certificatesDir: /pki\netcd: {{external: {{endpoints: [x]}}}}\n")
    assert len(run.started("kubeadm")) == 1
    assert "/pki" in [mount["target"] for mount in run.requests[0]["mounts"]]


def test_what_kubeadm_reports_when_it_fails() -> None:
    run = UpgradeRun()
    run.manifests["v1.37.2"] = "[x] y\nE1125 18:30:00.1 7 x.go:1] old API spec\nTo see the stack trace of this error\n"
    with pytest.raises(KubeadmError, match=r"/new/kubeadm init phase control-plane all: old API spec$"):
        generate(run)


def test_patches(tmp_path: Path, master: FakeNode) -> None:
    assert master
    upgrade_manifests.refuse_patches(None)
    upgrade_manifests.refuse_patches(str(tmp_path))
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(Refusal, match=f"must be the directory itself; it is a link to {tmp_path}"):
        upgrade_manifests.refuse_patches(f"{tmp_path}/link/")
    with pytest.raises(Refusal, match="must be a directory with patches for kubeadm"):
        upgrade_manifests.refuse_patches(f"{tmp_path}/none")


def test_patches_by_a_path_that_means_another_place_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "patches").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Refusal, match=r"^invalid patches 'patches': must be an absolute path"):
        upgrade_manifests.refuse_patches("patches")

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of a control plane: what is compared, what is rehearsed, and what is reported."""

from __future__ import annotations

import base64
import json
import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime.container_runtime import runtime_at
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import owned_record
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade import upgrade_programs
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade.control_plane_upgrade import ControlPlane
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade.upgrade_programs import NewPrograms
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade.upgrade_static_pods import check
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Owned
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.cluster_configuration import (
    ClusterConfiguration,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.findings import (
    BROKEN,
    CONFIG_MAP,
    INVENTORY,
    REAPPLIED,
    REMOVED,
    WARNS,
    Finding,
    UpgradeFindings,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_cri import FakeCri
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME, FakeNode, pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support.upgrades import (
    CONFIGURATION,
    CURRENT,
    TARGET,
    UpgradeRun,
    put_programs,
    refused,
)

RUNTIME = "unix:///run/containerd/containerd.sock"
LIVE = pod("--v=1").replace(f"v{TARGET}", CURRENT)
ENDPOINT = "metadata:\n  annotations:\n    kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint: "


class Check:
    """A control plane whose kubeadm generates what a test sets, and the findings of the check."""

    def __init__(self, node: FakeNode, programs: Path) -> None:
        self.node = node
        self.run = UpgradeRun()
        self.write(LIVE)
        self.programs = programs
        self.target = TARGET
        self.configuration = CONFIGURATION
        self.generated(pod())

    def write(self, text: str) -> None:
        """Put another manifest of today there."""
        fresh = self.node.manifest.with_name(".fresh")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(self.node.manifest)
        self.node.allowed = {text.encode()}

    def generated(self, text: str) -> None:
        self.run.manifests = {version: {NAME: text} for version in (f"v{TARGET}", CURRENT)}

    def __call__(self, **desired: t.Any) -> UpgradeFindings:
        found = UpgradeFindings()
        entry = {key: value for key, value in samples.parameters(**desired).items() if key not in ("state", "purge")}
        node = ControlPlane(
            node_name="cp1",
            manifest_dir=str(self.node.manifests),
            configuration=ClusterConfiguration.parse(self.configuration),
            programs=NewPrograms(str(self.programs), self.target, self.run),
            runtime=runtime_at(RUNTIME, self.run),
            patches=None,
            desired={NAME: entry},
            purge=True,
            run=self.run,
            host=self.node.host,
            clock=self.node.clock,
        )
        assert check(node, found) == CURRENT
        return found

    def endpoint(self) -> tuple[str, int]:
        """The endpoint of the API server in the new kubeadm's configuration."""
        (text,) = self.run.requests[0]["staged"].values()
        found = json.loads(base64.b64decode(text).decode().split("\n---\n")[1])["localAPIEndpoint"]
        return found["advertiseAddress"], found["bindPort"]


@pytest.fixture(name="upgrade")
def fixture_upgrade(master: FakeNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """A control plane with --v=1, which its kubeadm would not generate."""
    monkeypatch.setattr(upgrade_programs, "PATH", "/none")
    return Check(master, put_programs(tmp_path / "programs"))


def summaries(found: UpgradeFindings) -> list[tuple[str, str, str]]:
    return [(each.field, each.key, each.impact) for each in found.findings]


def only(found: UpgradeFindings) -> Finding:
    (finding,) = found.findings
    return finding


def test_a_clean_control_plane(upgrade: Check, master: FakeNode) -> None:
    upgrade.generated(pod("--v=1"))
    before = sorted(os.listdir(master.manifests))
    found = upgrade()
    assert summaries(found) == []
    assert [(each["component"], each["what"], each["verdict"]) for each in found.rehearsed] == [
        (NAME, "generated", "accepted")
    ]
    assert sorted(os.listdir(master.manifests)) == before


def test_what_vanishes_and_what_site_brings_back(upgrade: Check) -> None:
    assert summaries(upgrade()) == [("args", "v", REMOVED)]
    found = upgrade(args={"v": 1})
    assert summaries(found) == [("args", "v", REAPPLIED)]
    assert [each["what"] for each in found.rehearsed] == ["generated", "desired"]
    assert upgrade.run.started(NAME)[-1][:2] == [NAME, "--v=1"]


def test_ours_is_reported_by_the_record(upgrade: Check) -> None:
    owned_record.write_record(
        NAME, before={}, after={"args": {"v": Owned(["1"], None)}}, details=owned_record.NO_DETAILS
    )
    assert only(upgrade()).set_by == "collection"


@pytest.mark.parametrize(
    ("image", "is_named"), [(f"registry.k8s.io/{NAME}:v{TARGET}", True), ("registry.k8s.io/x:v1", False)]
)
def test_our_only_setting_in_a_manifest_of_the_same_image(upgrade: Check, image: str, is_named: bool) -> None:
    """Such as one of etcd, whose version most upgrades leave: site finds what someone could have done as well."""
    record = {"args": {"v": Owned(["1"], None)}}
    owned_record.write_record(NAME, before={}, after=record, details=owned_record.RecordDetails(None, image))
    finding = only(upgrade(args={"v": 1}))
    assert (finding.impact, finding.set_by) == (REAPPLIED, "collection")
    assert ("control_plane_restore_removed=true" in finding.message) is is_named
    assert [each["what"] for each in upgrade().rehearsed] == ["generated"]


def test_what_kubeadm_config_breaks_is_heard_to_the_end(upgrade: Check) -> None:
    upgrade.generated(pod("--v=1", "--gone=1", "--lost=2"))
    upgrade.configuration += "apiServer:\n  extraArgs:\n  - name: gone\n    value: '1'\n"
    upgrade.run.outputs[NAME] = ["Error: unknown flag: --gone\n", "Error: unknown flag: --lost\n"]
    found = upgrade()
    broken = [each for each in found.findings if each.impact == BROKEN]
    assert [(each.key, each.set_by, each.message) for each in broken] == [
        ("gone", CONFIG_MAP, "unknown flag: --gone"),
        ("lost", "kubeadm", "unknown flag: --lost"),
    ]
    assert found.rehearsed[0]["verdict"] == "refused"
    assert len(upgrade.run.started(NAME)) == 3
    assert "--gone=1" not in upgrade.run.started(NAME)[1]


def test_what_only_the_inventory_breaks(upgrade: Check) -> None:
    upgrade.generated(pod("--v=1"))
    accepted = refused("initializing audit webhook: stat /rehearsal-ends-here: no such file or directory")
    upgrade.run.outputs[NAME] = [accepted, refused("unrecognized feature gate: Gone")]
    finding = only(upgrade(feature_gates={"Gone": True}))
    assert (finding.impact, finding.set_by, finding.key) == (BROKEN, INVENTORY, "Gone")


def test_what_breaks_anyhow_is_reported_once(upgrade: Check) -> None:
    upgrade.generated(pod("--v=1", "--gone=1"))
    gone = "Error: unknown flag: --gone\n"
    accepted = refused("initializing audit webhook: stat /rehearsal-ends-here: no such file or directory")
    upgrade.run.outputs[NAME] = [gone, accepted, gone]
    assert [each.message for each in upgrade(args={"v": 2}).findings if each.impact == BROKEN] == [
        "unknown flag: --gone"
    ]


def test_a_desired_state_that_site_would_refuse(upgrade: Check) -> None:
    upgrade.generated(pod("--v=1"))
    finding = only(upgrade(args={"audit-policy-file": "/none/policy.yaml"}))
    assert (finding.impact, finding.set_by, finding.key) == (BROKEN, INVENTORY, "audit-policy-file")
    assert finding.message.startswith(
        "site would not work after the upgrade: args: --audit-policy-file=/none/policy.yaml"
    )


def test_a_new_manifest_that_names_a_file_which_no_volume_shows(upgrade: Check) -> None:
    upgrade.generated(pod("--v=1", "--audit-policy-file=/none/policy.yaml"))
    broken = [each for each in upgrade().findings if each.impact == BROKEN]
    assert "no volume of the static pod is mounted over /none/policy.yaml" in broken[0].message
    assert broken[0].key == "audit-policy-file"


def test_a_kubeadm_that_generates_nothing(upgrade: Check) -> None:
    upgrade.run.manifests[f"v{TARGET}"] = "error: old API spec\n"
    found = upgrade()
    finding = only(found)
    assert (finding.component, finding.impact) == ("kubeadm", BROKEN)
    assert "error: old API spec" in finding.message
    assert [each["name"] for each in found.not_rehearsed] == [
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
    ]
    assert found.checks == ["certificates"]


def test_what_kubeadm_passes_over(upgrade: Check) -> None:
    upgrade.generated(pod("--v=1"))
    upgrade.run.strict_error = 'error: strict decoding error: unknown field "x"\n'
    assert (only(upgrade()).impact, only(upgrade()).component) == (WARNS, "kubeadm")


def test_without_the_program_nothing_is_rehearsed_and_all_is_compared(upgrade: Check, runtime: FakeCri) -> None:
    (upgrade.programs / NAME).unlink()
    runtime.images = set()
    found = upgrade()
    assert summaries(found) == [("args", "v", REMOVED)]
    entry = found.not_rehearsed[0]
    assert entry["name"] == NAME
    assert "nor the image" in entry["reason"]
    assert "kubeadm config images pull" in entry["remedy"]


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ("", ["etcd", "kube-controller-manager", "kube-scheduler"]),
        ("etcd: {external: {endpoints: [x]}}\n", ["kube-controller-manager", "kube-scheduler"]),
    ],
)
def test_static_pod_without_new_manifest_is_not_rehearsed(upgrade: Check, more: str, names: list[str]) -> None:
    upgrade.configuration += more
    entries = upgrade().not_rehearsed
    assert [each["name"] for each in entries] == names
    assert {each["reason"] for each in entries} == {"the new kubeadm generates no manifest of it"}


def test_static_pod_without_readable_manifest_is_to_be_repaired(upgrade: Check) -> None:
    upgrade.run.manifests = {version: {NAME: pod(), "kube-scheduler": pod()} for version in (f"v{TARGET}", CURRENT)}
    (entry,) = (each for each in upgrade().not_rehearsed if each["reason"].startswith("there is no manifest"))
    assert (entry["name"], entry["remedy"].split(" on ")[0]) == ("kube-scheduler", "repair its manifest")


def test_component_whose_start_is_not_rehearsed_has_no_remedy(upgrade: Check) -> None:
    upgrade.generated(pod("--v=1", "--service-account-signing-endpoint=/x"))
    entry = upgrade().not_rehearsed[0]
    assert (entry["name"], entry["remedy"]) == (NAME, "")
    assert "--service-account-signing-endpoint is contacted at start" in entry["reason"]


def test_table_names_removed_gates_of_a_component_without_program(upgrade: Check, runtime: FakeCri) -> None:
    (upgrade.programs / NAME).unlink()
    runtime.images = set()
    upgrade.target = "1.38.0"
    upgrade.run.manifests["v1.38.0"] = {NAME: pod("--v=1", "--feature-gates=NodeSwap=true")}
    found = upgrade(feature_gates={"KubeletTracing": True, "NodeSwap": True})
    broken = [each for each in found.findings if each.impact == BROKEN]
    assert [(each.key, each.set_by) for each in broken] == [("NodeSwap", "kubeadm"), ("KubeletTracing", INVENTORY)]
    assert all("Kubernetes 1.38 removes this feature gate" in each.message for each in broken)


def test_rehearsed_component_is_not_searched_in_the_table(upgrade: Check) -> None:
    upgrade.target = "1.38.0"
    upgrade.run.manifests["v1.38.0"] = {NAME: pod("--v=1", "--feature-gates=NodeSwap=true")}
    assert [each for each in upgrade().findings if each.impact == BROKEN] == []


def test_the_nodes_own_kubeadm_reports_what_is_kubeadms(
    upgrade: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = put_programs(tmp_path / "own", "kubeadm")
    monkeypatch.setattr(upgrade_programs, "PATH", str(own))
    upgrade.run.manifests[CURRENT] = {NAME: pod("--v=1")}
    upgrade.run.versions["kubeadm"] = CURRENT
    assert summaries(upgrade()) == []
    assert upgrade.run.requests[3]["binary"] == str(own / "kubeadm")
    upgrade.run.versions["kubeadm"] = f"v{TARGET}"  # its package was upgraded already
    upgrade.run.requests.clear()
    upgrade()
    assert upgrade.run.requests[3]["binary"] == str(upgrade.programs / "kubeadm")


def test_a_configuration_file_whose_api_version_ends(upgrade: Check, tmp_path: Path) -> None:
    upgrade.generated(pod("--v=1"))
    old = "apiVersion: apiserver.config.k8s.io/v1beta1\nkind: AuthenticationConfiguration\n"
    (tmp_path / "a.yaml").write_text(old, encoding="utf-8")
    volume = samples.volume("auth", str(tmp_path))
    found = upgrade(args={"authentication-config": f"{tmp_path}/a.yaml"}, volumes=[volume])
    assert summaries(found) == [("args", "authentication-config", WARNS)]
    (tmp_path / "a.yaml").write_text("{", encoding="utf-8")
    unread = upgrade(args={"authentication-config": f"{tmp_path}/a.yaml"}, volumes=[volume])
    assert summaries(unread) == [("args", "authentication-config", WARNS)]
    assert "whether its API version ends is not known" in only(unread).message


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("{path: ps.yaml}", "PodSecurityConfiguration has"),
        ("{path: gone.yaml}", "whether its API version ends is not known"),
        ("{path: ps.yaml, configuration: {kind: A}}", ""),  # which counts then
    ],
)
def test_file_of_an_admission_plugin_whose_api_version_ends(
    upgrade: Check, tmp_path: Path, entry: str, words: str
) -> None:
    upgrade.generated(pod("--v=1"))
    outer = f"apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{entry}]\n"
    (tmp_path / "adm.yaml").write_text(outer, encoding="ascii")
    old = "apiVersion: pod-security.admission.config.k8s.io/v1beta1\nkind: PodSecurityConfiguration\n"
    (tmp_path / "ps.yaml").write_text(old, encoding="ascii")
    found = upgrade(
        args={"admission-control-config-file": f"{tmp_path}/adm.yaml"}, volumes=[samples.volume("adm", str(tmp_path))]
    )
    assert summaries(found) == [("args", "admission-control-config-file", WARNS)] * bool(words)
    assert all(each.message.startswith(words) for each in found.findings)


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        (LIVE, ("", 6443)),
        (LIVE.replace("--v=1", "--advertise-address=10.0.0.7\n    - --secure-port=7443"), ("10.0.0.7", 7443)),
        (LIVE.replace("metadata:\n", f"{ENDPOINT}10.0.0.11:8443\n"), ("10.0.0.11", 8443)),
        (LIVE.replace("metadata:\n", f"{ENDPOINT}'[fd00::1]:6443'\n"), ("fd00::1", 6443)),
        (
            LIVE.replace("metadata:\n", f"{ENDPOINT}10.0.0.11\n").replace("v=1", "advertise-address=10.0.0.7"),
            ("10.0.0.7", 6443),
        ),
        (LIVE.replace("--v=1", "--secure-port=many"), ("", 6443)),
    ],
)
def test_where_the_api_server_is(upgrade: Check, text: str, endpoint: tuple[str, int]) -> None:
    upgrade.write(text)
    upgrade()
    assert upgrade.endpoint() == endpoint


def test_an_image_with_a_digest_has_the_version_of_its_tag(upgrade: Check) -> None:
    upgrade.write(LIVE.replace(CURRENT, f"{CURRENT}@sha256:{'0' * 64}"))
    assert summaries(upgrade()) == [("args", "v", REMOVED)]

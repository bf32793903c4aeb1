# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of a kubelet: the new one with the settings of today, and with those of the inventory."""

from __future__ import annotations

import dataclasses
import functools
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.kubelet.kubelet_units import KubeletUnit
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime.container_runtime import runtime_at
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade import upgrade_kubelet
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade.upgrade_programs import NewPrograms
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import TextFile
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Owned
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import layout as kubelet_layout
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubernetes.clusters import ClusterIdentity
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade import prerequisites
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.findings import (
    BROKEN,
    COLLECTION,
    INVENTORY,
    WARNS,
    UpgradeFindings,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_cri import FakeCri
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelets import FLAGS, FRAGMENT, MAIN, state
from ansible_collections.nodecraft.kubeadm.tests.unit.support.upgrades import (
    ACCEPTED,
    GATES,
    TARGET,
    UpgradeRun,
    put_programs,
    refused,
)

OURS = '{"apiVersion": "kubelet.config.k8s.io/v1beta1", "featureGates": {"Gone": true}}\n'
DROP_IN = f'[Service]\nEnvironment="KUBELET_CONFIG_ARGS=--config={MAIN} --config-dir={kubelet_layout.CONFIG_DIR}"\n'
GONE = refused("unrecognized feature gate: Gone")


class Check:
    """A node on which we set a gate, and what the check found there."""

    def __init__(self, master: FakeNode, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.run = UpgradeRun()
        self.run.results["/usr/bin/kubelet --version"] = (0, "Kubernetes v1.36.3\n", "")
        self.programs = directory
        self.clock = master.clock
        self.target = TARGET
        self.runtime = runtime_at("unix:///run/containerd/containerd.sock", self.run)
        v2 = directory / "cgroup.controllers"
        v2.touch()
        monkeypatch.setattr(upgrade_kubelet, "_CGROUP_V2", str(v2))
        self.state = state(
            fragments={FRAGMENT: OURS},
            drop_ins={kubelet_layout.DROP_IN: DROP_IN},
            record={"feature_gates": {"Gone": Owned(True, None)}},
            version=(1, 36),
            running=("/usr/bin/kubelet", "--other"),
        )

    def __call__(self, desired: dict[str, t.Any] | None) -> UpgradeFindings:
        found = UpgradeFindings()
        unit = KubeletUnit(self.state, self.state.layout(), 7, "w1", ClusterIdentity())
        entry = (
            None
            if desired is None
            else {**dict.fromkeys(("feature_gates", "config", "args", "register_with_taints")), **desired}
        )
        programs = NewPrograms(str(self.programs), self.target, self.run)
        version = prerequisites.exact_version(self.target)
        assert version is not None
        image = f"registry.k8s.io/kube-apiserver:v{self.target}"
        api_server = functools.partial(programs.component, "kube-apiserver", image, "kube-apiserver", self.runtime)
        upgrade_kubelet.KubeletUpgrade(unit, programs, version, api_server, self.clock).check(entry, found)
        return found


@pytest.fixture(name="upgrade")
def fixture_upgrade(master: FakeNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """A node with our gate Gone."""
    return Check(master, tmp_path, monkeypatch)


def test_a_clean_node(upgrade: Check) -> None:
    found = upgrade({"feature_gates": {"Gone": True}})
    assert found.findings == []
    assert [(each["what"], each["verdict"]) for each in found.rehearsed] == [("today", "accepted")]
    request = upgrade.run.requests[0]
    assert request["binary"] == f"{upgrade.programs}/kubelet"
    assert request["arguments"][0] == "/usr/bin/kubelet"


def test_a_gate_of_ours_that_the_new_kubelet_dropped(upgrade: Check) -> None:
    upgrade.run.outputs["kubelet"] = [GONE]
    found = upgrade({"feature_gates": {"Gone": True}})
    (finding,) = found.findings
    assert (finding.impact, finding.set_by, finding.file, finding.line) == (BROKEN, COLLECTION, FRAGMENT, 1)
    assert finding.message == "unrecognized feature gate: Gone"
    assert finding.variable == "node_kubelet_feature_gates"


def test_one_that_the_inventory_names_no_more(upgrade: Check) -> None:
    upgrade.run.outputs["kubelet"] = [GONE]
    (finding,) = upgrade({"purge": True, "feature_gates": {}}).findings
    assert finding.message.endswith("The inventory no longer names it: run site before the upgrade")


def test_one_that_only_the_inventory_names(upgrade: Check) -> None:
    upgrade.run.outputs["kubelet"] = [
        ACCEPTED["kubelet"],
        ACCEPTED["kubelet"],
        refused("unrecognized feature gate: New"),
    ]
    (finding,) = upgrade({"feature_gates": {"Gone": True, "New": True}}).findings
    assert (finding.key, finding.set_by) == ("New", INVENTORY)


def test_a_desired_state_that_site_would_refuse(upgrade: Check) -> None:
    (finding,) = upgrade({"config": {"staticPodPath": "/x"}}).findings
    assert (finding.impact, finding.set_by) == (BROKEN, INVENTORY)
    assert "staticPodPath decides which pods this node runs" in finding.message


def test_what_the_new_kubelet_passes_over(upgrade: Check) -> None:
    words = 'E1 "x" err="strict decoding error: unknown field \\"old\\""\n'
    upgrade.run.outputs["kubelet"] = [words + ACCEPTED["kubelet"]]
    (finding,) = upgrade(None).findings
    assert (finding.impact, finding.message) == (WARNS, 'kubelet says: strict decoding error: unknown field "old"')


def test_a_flag_that_kubeadm_itself_takes_out_breaks_nothing(upgrade: Check) -> None:
    pause = "--pod-infra-container-image=p"
    version = TextFile.of(FLAGS, f'KUBELET_KUBEADM_ARGS="{pause}"\n').version
    upgrade.state = dataclasses.replace(upgrade.state, environment={FLAGS: version})
    upgrade.target = "1.35.0"
    upgrade({"feature_gates": {"Gone": True}, "config": {"maxPods": 99}})
    assert [pause in command for command in upgrade.run.started("kubelet") if "--config-dir" in str(command)] == [
        False,
        False,
    ]


# ---- a kubelet that is not started ---------------------------------------------------------------------------------------

NEWER = "1.38.0"


@pytest.fixture(name="newer")
def fixture_newer(upgrade: Check, runtime: FakeCri) -> Check:
    """An upgrade to a kubelet newer than tested, with the new kube-apiserver on the node."""
    upgrade.target = NEWER
    put_programs(upgrade.programs, "kube-apiserver")
    runtime.images = set()
    return upgrade


def names(found: UpgradeFindings) -> list[str]:
    return [each["name"] for each in found.not_rehearsed]


def test_kubelet_newer_than_tested_is_never_started(newer: Check) -> None:
    found = newer({"feature_gates": {"Gone": True}})
    assert newer.run.started("kubelet") == []
    assert names(found) == ["kubelet"]
    assert "is newer than those that this collection is tested with" in found.not_rehearsed[0]["reason"]


def test_gates_of_kubelet_are_validated_by_kube_apiserver(newer: Check) -> None:
    found = newer({"feature_gates": {"Gone": True, "New": False}})
    assert newer.run.started("kube-apiserver") == [
        ["kube-apiserver", "--feature-gates=Theirs=true,Gone=true", "--version"],
        ["kube-apiserver", "--feature-gates=Theirs=true,Gone=true,New=false", "--version"],
    ]
    assert newer.run.requests[0]["binary"] == f"{newer.programs}/kube-apiserver"
    assert [(each["component"], each["what"], each["verdict"]) for each in found.rehearsed] == [
        ("kubelet-gates", "today", "accepted"),
        ("kubelet-gates", "desired", "accepted"),
    ]
    assert found.findings == []


def test_gates_of_the_command_line_are_validated_too(newer: Check) -> None:
    flags = TextFile.of(FLAGS, 'KUBELET_KUBEADM_ARGS="--feature-gates=Flagged=true"\n').version
    newer.state = dataclasses.replace(newer.state, environment={FLAGS: flags})
    newer(None)
    assert newer.run.started("kube-apiserver")[0][1] == "--feature-gates=Theirs=true,Gone=true,Flagged=true"


def test_gate_that_kube_apiserver_refuses_breaks_the_kubelet(newer: Check) -> None:
    newer.run.outputs[GATES] = [GONE]
    (finding,) = newer({"feature_gates": {"Gone": True}}).findings
    assert (finding.component, finding.impact, finding.key, finding.set_by) == ("kubelet", BROKEN, "Gone", COLLECTION)
    assert (finding.file, finding.line, finding.variable) == (FRAGMENT, 1, "node_kubelet_feature_gates")
    assert finding.message == "unrecognized feature gate: Gone"


def test_gate_of_the_inventory_that_is_refused_breaks_site(newer: Check) -> None:
    newer.run.outputs[GATES] = ["", refused("cannot set feature gate New to false, feature is locked to true")]
    (finding,) = newer({"feature_gates": {"Gone": True, "New": False}}).findings
    assert (finding.key, finding.set_by) == ("New", INVENTORY)


def test_gates_without_kube_apiserver_are_not_validated(newer: Check) -> None:
    (newer.programs / "kube-apiserver").unlink()
    found = newer(None)
    assert names(found) == ["kubelet", "kubelet-gates"]
    assert found.not_rehearsed[1]["reason"] == (
        f"there is neither {newer.programs}/kube-apiserver nor the image registry.k8s.io/kube-apiserver:v1.38.0 on the node (kubeadm config images pull)."
        " A table tells which of Theirs, Gone are removed, and not which are locked to another value"
    )
    assert found.findings == []


def test_table_names_removed_gates_without_kube_apiserver(newer: Check) -> None:
    (newer.programs / "kube-apiserver").unlink()
    gates = OURS.replace("Gone", "InPlacePodVerticalScaling")
    record = {"feature_gates": {"InPlacePodVerticalScaling": Owned(True, None)}}
    newer.state = dataclasses.replace(newer.state, fragments=(TextFile.of(FRAGMENT, gates),), record=record)
    found = newer({"feature_gates": {"NodeSwap": True}})
    assert [(each.impact, each.key, each.set_by) for each in found.findings] == [
        (BROKEN, "InPlacePodVerticalScaling", COLLECTION),
        (BROKEN, "NodeSwap", INVENTORY),
    ]
    assert all("Kubernetes 1.38 removes this feature gate" in each.message for each in found.findings)


def test_kubelet_without_gates_has_none_to_validate(newer: Check) -> None:
    (newer.programs / "kube-apiserver").unlink()
    newer.state = state(main="kind: KubeletConfiguration\n", version=(1, 37))
    found = newer(None)
    assert (names(found), found.checks) == (["kubelet"], ["kubelet-gates"])


def test_desired_state_is_planned_for_a_kubelet_that_is_not_started(newer: Check) -> None:
    (finding,) = newer({"config": {"staticPodPath": "/x"}}).findings
    assert (finding.impact, finding.set_by) == (BROKEN, INVENTORY)


def test_rehearsed_kubelet_needs_no_kube_apiserver(upgrade: Check) -> None:
    found = upgrade({"feature_gates": {"Gone": True}})
    assert (upgrade.run.started("kube-apiserver"), found.not_rehearsed) == ([], [])


def test_a_kubelet_too_old_for_the_new_api_server(upgrade: Check) -> None:
    upgrade.run.results["/usr/bin/kubelet --version"] = (0, "Kubernetes v1.33.3\n", "")
    assert [finding.impact for finding in upgrade(None).findings] == [BROKEN]

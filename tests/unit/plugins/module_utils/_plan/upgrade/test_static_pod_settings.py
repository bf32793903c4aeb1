# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fate of each setting of a static pod."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Owned, Record
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.cluster_configuration import (
    CONFIG_MAP_SOURCE,
    ClusterConfiguration,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import plan as static_pod
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade import static_pod_settings
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.findings import (
    BREAKS,
    COLLECTION,
    CONFIG_MAP,
    INVENTORY,
    KUBEADM,
    OTHER,
    PATCHES,
    RETURNS,
    STAYS,
    VANISHES,
    WARNS,
    Finding,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.static_pod_settings import Sides
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples

NAME = "kube-apiserver"
NONE: frozenset[tuple[str, str]] = frozenset()
HEAD = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n"
EMPTY = ClusterConfiguration.parse(HEAD)
CONFIGURED = ClusterConfiguration.parse(f"{HEAD}apiServer:\n  extraArgs:\n  - name: v\n    value: '4'\n")


def sides(live: str, generated: str = samples.API_SERVER, record: Record | None = None, **desired: t.Any) -> Sides:
    """What is compared: by default kubeadm generates what it always did."""
    new = samples.manifest(generated)
    plan = static_pod.plan(samples.desired(**desired), static_pod.State(new, record or {}, {}))
    named = frozenset((field, key) for field, keys in samples.desired(**desired).values.items() for key in keys)
    return Sides(
        component=NAME,
        live=samples.manifest(live),
        record=record or {},
        baseline=samples.manifest(),
        generated=new,
        after=plan.after,
        named=named,
        asked_about=NONE,
        configuration=EMPTY,
    )


def changed(**desired: t.Any) -> str:
    """The manifest with settings in it."""
    return samples.planned(samples.state(), **desired).after.text


def told(found: list[Finding]) -> list[tuple[str, str, str, str]]:
    return [(each.field, each.key, each.fate, each.set_by) for each in found]


def owned(field: str, key: str, value: t.Any) -> Record:
    return {field: {key: Owned(value, None)}}


def test_a_clean_node_has_no_findings() -> None:
    assert static_pod_settings.compare(sides(samples.API_SERVER)) == []


def test_a_setting_of_ours_that_kubeadm_config_keeps_stays() -> None:
    text = changed(args={"v": 4})
    kept = dataclasses.replace(sides(text, text, owned("args", "v", ["4"]), args={"v": 4}), configuration=CONFIGURED)
    (finding,) = static_pod_settings.compare(kept)
    assert (finding.fate, finding.set_by) == (STAYS, COLLECTION)
    assert finding.message == "4, set by this collection through kubeadm-config"


def test_what_kubeadm_changes_of_its_own_is_none() -> None:
    newer = samples.API_SERVER.replace("Node,RBAC", "Node,Webhook").replace("periodSeconds: 10", "periodSeconds: 5")
    assert static_pod_settings.compare(sides(samples.API_SERVER, newer)) == []


def test_a_setting_of_ours_that_site_sets_again() -> None:
    live = changed(args={"v": 4})
    (finding,) = static_pod_settings.compare(sides(live, record=owned("args", "v", ["4"]), args={"v": 4}))
    assert told([finding]) == [("args", "v", RETURNS, COLLECTION)]
    assert finding.file == samples.SOURCE
    assert live.splitlines()[(finding.line or 0) - 1].strip() == "- --v=4"
    assert finding.message == "4 -> unset"
    assert finding.variable == "control_plane_components.kube-apiserver.args"


def test_what_site_takes_for_taken_out_by_someone() -> None:
    asked = frozenset({("args", "v"), ("args", "authorization-mode")})
    again = dataclasses.replace(sides(changed(args={"v": 4}), args={"v": 4}), asked_about=asked)
    (finding,) = static_pod_settings.compare(again)
    assert finding.fate == RETURNS
    assert finding.message.startswith("4 -> unset; the image stays the same, so site treats it as removed manually")
    assert finding.message.endswith("-e control_plane_restore_removed=true")
    (finding,) = static_pod_settings.compare(dataclasses.replace(again, after=None, named=NONE))
    assert (finding.fate, finding.message) == (VANISHES, "4 -> unset")


@pytest.mark.parametrize(
    ("record", "set_by"), [(owned("feature_gates", "A", True), COLLECTION), ({}, OTHER)], ids=["ours", "another's"]
)
def test_a_setting_that_nothing_brings_back(record: Record, set_by: str) -> None:
    (finding,) = static_pod_settings.compare(sides(changed(feature_gates={"A": True}), record=record))
    assert told([finding]) == [("feature_gates", "A", VANISHES, set_by)]
    assert finding.variable == "control_plane_feature_gates or control_plane_components.kube-apiserver.feature_gates"


def test_a_default_of_kubeadm_that_is_ours_as_well_is_told() -> None:
    newer = samples.API_SERVER.replace("Node,RBAC", "Node,Webhook")
    record = owned("args", "authorization-mode", ["Node,RBAC"])
    (finding,) = static_pod_settings.compare(sides(samples.API_SERVER, newer, record=record))
    assert told([finding]) == [("args", "authorization-mode", VANISHES, COLLECTION)]


def test_what_someone_changed_after_us_is_not_ours() -> None:
    (finding,) = static_pod_settings.compare(sides(changed(args={"v": 5}), record=owned("args", "v", ["4"])))
    assert told([finding]) == [("args", "v", VANISHES, OTHER)]


def test_what_comes_back_without_being_named() -> None:
    live = samples.manifest(
        changed(volumes=[samples.volume("policy", "/etc/policy")])
    )  # as the volume of a policy file
    (finding,) = static_pod_settings.compare(Sides(NAME, live, {}, None, samples.manifest(), live, NONE, NONE, EMPTY))
    assert (finding.fate, finding.message, finding.variable) == (RETURNS, "set -> unset", "")


def test_the_variable_to_change() -> None:
    (finding,) = static_pod_settings.compare(sides(changed(args={"v": 4}), args={"v": 4}))
    assert (finding.fate, finding.set_by) == (RETURNS, OTHER)
    assert finding.variable == "control_plane_components.kube-apiserver.args"
    live = changed(args={"v": 4})
    (finding,) = static_pod_settings.compare(sides(live, live, record=owned("args", "v", ["4"])))
    assert (finding.fate, finding.variable) == (STAYS, "control_plane_components.kube-apiserver.args")
    assert static_pod_settings.variable_of("etcd", "feature_gates") == "control_plane_components.etcd.feature_gates"


def test_values_in_a_few_words() -> None:
    (finding,) = static_pod_settings.compare(sides(changed(feature_gates={"A": True})))
    assert finding.message == "true -> unset"
    live = samples.API_SERVER.replace("  annotations:\n", "  annotations:\n    example.com/Who: Me\n")
    (finding,) = static_pod_settings.compare(sides(live))
    assert finding.message == "Me -> unset"


def test_a_removal_of_ours_is_undone() -> None:
    live = samples.API_SERVER.replace("    - --allow-privileged=true\n", "")
    record: Record = {"args": {"allow-privileged": Owned(None, ["true"])}}
    (finding,) = static_pod_settings.compare(sides(live, record=record))
    assert told([finding]) == [("args", "allow-privileged", VANISHES, COLLECTION)]
    assert (finding.message, finding.file, finding.line) == ("unset -> true", samples.SOURCE, None)
    (finding,) = static_pod_settings.compare(sides(live, record=record, args={"allow-privileged": None}))
    assert finding.fate == RETURNS


def test_a_setting_in_kubeadm_config_stays() -> None:
    live = samples.manifest(changed(args={"v": 4}))
    (finding,) = static_pod_settings.compare(Sides(NAME, live, {}, live, live, live, NONE, NONE, CONFIGURED))
    assert told([finding]) == [("args", "v", STAYS, CONFIG_MAP)]
    assert (finding.message, finding.variable, finding.file) == ("4", "", samples.SOURCE)


def test_what_is_ours_and_kubeadm_config_has_in_another_way() -> None:
    live, new = samples.manifest(changed(args={"v": 5})), samples.manifest(changed(args={"v": 4}))
    record = owned("args", "v", ["5"])
    (finding,) = static_pod_settings.compare(Sides(NAME, live, record, None, new, None, NONE, NONE, CONFIGURED))
    assert (finding.fate, finding.set_by, finding.message) == (VANISHES, COLLECTION, "5 -> 4")


def test_what_kubeadm_config_has_and_the_node_not_yet() -> None:
    plain, new = samples.manifest(), samples.manifest(changed(args={"v": 4}))
    (finding,) = static_pod_settings.compare(Sides(NAME, plain, {}, new, new, None, NONE, NONE, CONFIGURED))
    assert (finding.fate, finding.line) == (WARNS, 5)
    assert (
        finding.message == "unset -> 4: kubeadm-config says so and the node does not have it yet, the upgrade sets it"
    )
    assert static_pod_settings.compare(Sides(NAME, plain, {}, None, new, None, NONE, NONE, CONFIGURED)) == [finding]
    assert finding.file == "ConfigMap kube-system/kubeadm-config (ClusterConfiguration)"


def test_site_sets_what_the_inventory_says_by_then() -> None:
    (finding,) = static_pod_settings.compare(
        sides(changed(args={"v": 4}), record=owned("args", "v", ["4"]), args={"v": 6})
    )
    assert (finding.fate, finding.message) == (RETURNS, "4 -> unset; site makes it 6")


def test_no_value_of_the_environment_is_told() -> None:
    (finding,) = static_pod_settings.compare(sides(changed(env={"TOKEN": "secret"})))
    assert told([finding]) == [("env", "TOKEN", VANISHES, OTHER)]
    assert "secret" not in repr(finding)


def test_volumes_and_plugins() -> None:
    live = changed(admission_plugins={"AlwaysPullImages": "enabled"}, volumes=[samples.volume("audit", "/etc/audit")])
    found = static_pod_settings.compare(sides(live))
    assert told(found) == [
        ("admission_plugins", "AlwaysPullImages", VANISHES, OTHER),
        ("volumes", "audit", VANISHES, OTHER),
    ]
    lines = [live.splitlines()[(each.line or 0) - 1].strip() for each in found]
    assert lines[0].startswith("- --enable-admission-plugins=")
    assert lines[1] == "- hostPath:"


def test_the_checksum_and_what_a_member_of_etcd_was_told_are_not_told() -> None:
    live = samples.API_SERVER.replace("  annotations:\n", "  annotations:\n    nodecraft.kubeadm/files-checksum: a\n")
    assert static_pod_settings.compare(sides(live)) == []
    member = samples.manifest(samples.etcd("--initial-cluster=a=x,b=y", "--initial-cluster-state=existing"), "etcd")
    new = samples.manifest(samples.etcd("--initial-cluster=a=x"), "etcd")
    assert static_pod_settings.compare(Sides("etcd", member, {}, None, new, new, NONE, NONE, EMPTY)) == []


def test_what_etcd_loses_is_told() -> None:
    member = samples.manifest(samples.etcd("--quota-backend-bytes=1", "--initial-cluster-state=existing"), "etcd")
    new = samples.manifest(samples.etcd(), "etcd")
    found = static_pod_settings.compare(Sides("etcd", member, {}, new, new, None, NONE, NONE, EMPTY))
    assert told(found) == [("args", "quota-backend-bytes", VANISHES, OTHER)]


def test_what_is_named_does_not_come_back_where_site_would_be_refused() -> None:
    live, named = samples.manifest(changed(args={"v": 4})), frozenset({("args", "v")})
    (finding,) = static_pod_settings.compare(Sides(NAME, live, {}, None, samples.manifest(), None, named, NONE, EMPTY))
    assert finding.fate == VANISHES


def test_a_manifest_that_comes_in_the_place_of_another() -> None:
    old, new = samples.manifest(), samples.manifest(changed(args={"v": 4}))
    plan = static_pod_settings.unchanged(new, old)
    assert (plan.before, plan.after, plan.operations) == (old, new, ())


def test_without_a_baseline_what_differs_is_told() -> None:
    new = samples.manifest(samples.API_SERVER.replace("Node,RBAC", "Node,Webhook"))
    (finding,) = static_pod_settings.compare(Sides(NAME, samples.manifest(), {}, None, new, new, NONE, NONE, EMPTY))
    assert told([finding]) == [("args", "authorization-mode", VANISHES, OTHER)]


# ---- what a rehearsal refused ----------------------------------------------------------------------------------------


def test_what_kubeadm_config_breaks() -> None:
    new = samples.manifest(changed(args={"v": 4}))
    compared = Sides(NAME, new, {}, new, new, new, NONE, NONE, CONFIGURED)
    finding = static_pod_settings.broken_by_kubeadm(compared, ("args", "v"), "unknown flag: --v")
    assert (finding.fate, finding.set_by, finding.line) == (BREAKS, CONFIG_MAP, 5)
    assert finding.file == "ConfigMap kube-system/kubeadm-config (ClusterConfiguration)"
    assert finding.variable == "apiServer.extraArgs in kubeadm-config"
    assert finding.message == "unknown flag: --v"
    finding = static_pod_settings.broken_by_kubeadm(compared, ("args", "secure-port"), "no")
    assert (finding.set_by, finding.variable, finding.file) == (KUBEADM, "", CONFIG_MAP_SOURCE)
    assert static_pod_settings.broken_by_kubeadm(compared, None, "it crashed").key == ""


def test_what_the_inventory_breaks() -> None:
    compared = sides(changed(feature_gates={"A": True}), feature_gates={"A": True})
    finding = static_pod_settings.broken_by_site(compared, ("feature_gates", "A"), "unrecognized feature gate: A")
    assert (finding.fate, finding.set_by) == (BREAKS, INVENTORY)
    assert finding.message == "site would not work after the upgrade: unrecognized feature gate: A"
    assert finding.variable.startswith("control_plane_feature_gates or ")
    assert (finding.file, finding.line) == (samples.SOURCE, compared.live.line("feature_gates", "A"))
    assert static_pod_settings.broken_by_site(compared, ("args", "none"), "no").file == ""
    assert (
        static_pod_settings.broken_by_site(compared, None, "no").variable == "control_plane_components.kube-apiserver"
    )


def test_more_is_heard_without_what_was_refused() -> None:
    manifest = samples.manifest(changed(feature_gates={"A": True, "B": True}, args={"v": 4}))
    left = static_pod_settings.without(manifest, [("feature_gates", "A"), ("args", "v")]).values()
    assert (left["feature_gates"], "v" in left["args"]) == ({"B": True}, False)


def test_what_breaks_neither_stays_nor_comes_back() -> None:
    found = [
        Finding(NAME, RETURNS, "", "args", "v"),
        Finding(NAME, BREAKS, "", "args", "v", CONFIG_MAP),
        Finding(NAME, BREAKS, "", "args", "v", INVENTORY),
        Finding("etcd", RETURNS, "", "args", "v"),
        Finding(NAME, BREAKS, "it crashed"),
    ]
    assert static_pod_settings.worst(found) == found[1:]


def test_what_kubeadm_would_not_set_by_itself_comes_from_its_patches() -> None:
    new = samples.manifest(changed(args={"v": 4}))
    compared = Sides(NAME, new, {}, new, new, new, NONE, NONE, EMPTY, "/patches")
    finding = static_pod_settings.broken_by_kubeadm(compared, ("args", "v"), "unknown flag: --v")
    assert (finding.set_by, finding.file, finding.line) == (PATCHES, "/patches", None)

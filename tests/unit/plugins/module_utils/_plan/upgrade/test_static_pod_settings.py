# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The impact of each setting of a static pod."""

from __future__ import annotations

import dataclasses
import re
import typing as t
from functools import partial

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Owned, Record
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.cluster_configuration import (
    CONFIG_MAP_SOURCE,
    ClusterConfiguration,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import plan as static_pod
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade import static_pod_settings
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.findings import (
    BROKEN,
    CONFIG_MAP,
    INVENTORY,
    KUBEADM,
    PATCHES,
    REAPPLIED,
    Finding,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.static_pod_settings import (
    ManifestVersions,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.data import data_text

NAME = "kube-apiserver"
HEAD = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n"
CONFIGURED = ClusterConfiguration.parse(f"{HEAD}apiServer:\n  extraArgs:\n  - name: v\n    value: '4'\n")


def sides(
    live: str,
    generated: str = samples.API_SERVER,
    record: Record | None = None,
    *,
    name: str = NAME,
    desired: dict[str, t.Any] | None = None,
    **parts: t.Any,
) -> ManifestVersions:
    """What is compared: by default kubeadm generates what it always did. parts: what else is other than usual."""
    new, state = samples.manifest(generated, name), samples.desired(name=name, **(desired or {}))
    usual = ManifestVersions(
        component=name,
        live=samples.manifest(live, name),
        record=record or {},
        baseline=samples.manifest(),
        generated=new,
        after=static_pod.plan(state, static_pod.State(new, record or {}, {})).after,
        named=frozenset((field, key) for field, keys in state.values.items() for key in keys),
        unconfirmed=frozenset(),
        configuration=ClusterConfiguration.parse(HEAD),
    )
    return dataclasses.replace(usual, **parts)


def changed(**desired: t.Any) -> str:
    """The manifest with settings in it."""
    return samples.planned(samples.state(), **desired).after.text


def owned(field: str, key: str, value: t.Any) -> Record:
    return {field: {key: Owned(value, None)}}


def summarize(compared: ManifestVersions) -> list[str]:
    """What is found, each in a line: the setting; its impact, who set it; where; in which words; the variable to change."""
    lines = ["", *compared.live.text.splitlines()]

    def place(each: Finding) -> str:
        return lines[each.line or 0].strip() if each.file == samples.SOURCE else f"{each.file}:{each.line}"

    return [
        f"{each.component} {each.field} {each.key} | {each.impact}, {each.set_by} | {place(each)} | {each.message} | {each.variable or '-'}"
        for each in static_pod_settings.compare_settings(compared)
    ]


FOUR: dict[str, t.Any] = {"args": {"v": 4}}
V4, V5, OURS = changed(**FOUR), changed(args={"v": 5}), owned("args", "v", ["4"])
LATER = samples.manifest(V4)
NODE_RBAC = owned("args", "authorization-mode", ["Node,RBAC"])
GATE = changed(feature_gates={"A": True})
WEBHOOK = samples.API_SERVER.replace("Node,RBAC", "Node,Webhook")
FASTER = WEBHOOK.replace("periodSeconds: 10", "periodSeconds: 5")
NOT_PRIVILEGED = samples.API_SERVER.replace("    - --allow-privileged=true\n", "")
NO_PRIVILEGES: Record = {"args": {"allow-privileged": Owned(None, ["true"])}}
UNCONFIRMED = frozenset({("args", "v"), ("args", "authorization-mode")})
JOINED = samples.etcd("--initial-cluster=a=x,b=y", "--initial-cluster-state=existing")
FIRST, LIMITED = (
    samples.etcd("--initial-cluster=a=x"),
    samples.etcd("--quota-backend-bytes=1", "--initial-cluster-state=existing"),
)
ETCD = samples.manifest(samples.etcd(), "etcd")
POLICY = changed(volumes=[samples.volume("policy", "/etc/policy")])  # as the volume of a policy file
TWO = changed(admission_plugins={"AlwaysPullImages": "enabled"}, volumes=[samples.volume("audit", "/etc/audit")])


def annotated(text: str) -> str:
    return samples.API_SERVER.replace("  annotations:\n", f"  annotations:\n    {text}\n")


CASES = {
    "clean node": partial(sides, samples.API_SERVER),
    "default that kubeadm changes": partial(sides, samples.API_SERVER, FASTER),
    "checksum of files": partial(sides, annotated("nodecraft.kubeadm/files-checksum: a")),
    "etcd, flags of a join": partial(sides, JOINED, FIRST, name="etcd", baseline=None),
    "ours, in kubeadm-config: kept": partial(sides, V4, V4, OURS, desired=FOUR, configuration=CONFIGURED),
    "ours, generated: kept": partial(sides, V4, V4, OURS),
    "of kubeadm-config: kept": partial(sides, V4, V4, baseline=LATER, configuration=CONFIGURED),
    "ours, other value in kubeadm-config: removed": partial(
        sides, V5, V4, owned("args", "v", ["5"]), baseline=None, after=None, configuration=CONFIGURED
    ),
    "of kubeadm-config, not live: warns": partial(
        sides, samples.API_SERVER, V4, baseline=LATER, after=None, configuration=CONFIGURED
    ),
    "of kubeadm-config, not live, no baseline: warns": partial(
        sides, samples.API_SERVER, V4, baseline=None, after=None, configuration=CONFIGURED
    ),
    "ours, named: reapplied": partial(sides, V4, record=OURS, desired=FOUR),
    "ours, named with another value: reapplied": partial(sides, V4, record=OURS, desired={"args": {"v": 6}}),
    "another's, named: reapplied": partial(sides, V4, desired=FOUR),
    "not named, set by site: reapplied": partial(sides, POLICY, after=samples.manifest(POLICY), baseline=None),
    "named, taken for removed: reapplied when confirmed": partial(sides, V4, desired=FOUR, unconfirmed=UNCONFIRMED),
    "not named, taken for removed: removed": partial(sides, V4, unconfirmed=UNCONFIRMED, after=None),
    "named, site refused: removed": partial(sides, V4, baseline=None, after=None, named=frozenset({("args", "v")})),
    "gate of ours: removed": partial(sides, GATE, record=owned("feature_gates", "A", True)),
    "gate of another: removed": partial(sides, GATE),
    "ours, default that kubeadm changes: removed": partial(sides, samples.API_SERVER, WEBHOOK, NODE_RBAC),
    "changed after us: another's, removed": partial(sides, V5, record=OURS),
    "no baseline, other than generated: removed": partial(sides, samples.API_SERVER, WEBHOOK, baseline=None),
    "annotation: removed": partial(sides, annotated("example.com/Who: Me")),
    "variable: removed, hidden value": partial(sides, changed(env={"TOKEN": "secret"})),
    "plugin and volume: removed": partial(sides, TWO),
    "flag of etcd: removed": partial(sides, LIMITED, ETCD.text, name="etcd", baseline=ETCD, after=None),
    "removal of ours: undone": partial(sides, NOT_PRIVILEGED, record=NO_PRIVILEGES),
    "removal of ours, named: reapplied": partial(
        sides, NOT_PRIVILEGED, record=NO_PRIVILEGES, desired={"args": {"allow-privileged": None}}
    ),
}
GOLDEN = data_text("impacts_of_settings.txt")
# Of each case its name, and below it what is found.
FOUND = {name: lines for name, *lines in (text.split("\n  ") for text in re.findall(r"\S.*(?:\n  .+)*", GOLDEN))}


@pytest.mark.parametrize("name", sorted({*CASES, *FOUND}))
def test_what_becomes_of_each_setting(name: str) -> None:
    assert summarize(CASES[name]()) == FOUND[name]


def test_variable_of_etcd_is_its_own() -> None:
    assert static_pod_settings.variable_of("etcd", "feature_gates") == "control_plane_components.etcd.feature_gates"


def test_a_manifest_that_comes_in_the_place_of_another() -> None:
    old, new = samples.manifest(), samples.manifest(V4)
    plan = static_pod_settings.unchanged_plan(new, old)
    assert (plan.before, plan.after, plan.operations) == (old, new, ())


# ---- what a rehearsal refused ----------------------------------------------------------------------------------------


def test_what_kubeadm_config_breaks() -> None:
    compared = sides(V4, V4, configuration=CONFIGURED)
    finding = static_pod_settings.broken_by_kubeadm(compared, ("args", "v"), "unknown flag: --v")
    assert (finding.impact, finding.set_by, finding.line) == (BROKEN, CONFIG_MAP, 5)
    assert finding.file == "ConfigMap kube-system/kubeadm-config (ClusterConfiguration)"
    assert finding.variable == "apiServer.extraArgs in kubeadm-config"
    assert finding.message == "unknown flag: --v"
    finding = static_pod_settings.broken_by_kubeadm(compared, ("args", "secure-port"), "no")
    assert (finding.set_by, finding.variable, finding.file) == (KUBEADM, "", CONFIG_MAP_SOURCE)
    assert static_pod_settings.broken_by_kubeadm(compared, None, "it crashed").key == ""


def test_what_the_inventory_breaks() -> None:
    compared = sides(GATE, desired={"feature_gates": {"A": True}})
    finding = static_pod_settings.broken_by_site(compared, ("feature_gates", "A"), "unrecognized feature gate: A")
    assert (finding.impact, finding.set_by) == (BROKEN, INVENTORY)
    assert finding.message == "site would not work after the upgrade: unrecognized feature gate: A"
    assert finding.variable.startswith("control_plane_feature_gates or ")
    assert (finding.file, finding.line) == (samples.SOURCE, compared.live.line("feature_gates", "A"))
    assert static_pod_settings.broken_by_site(compared, ("args", "none"), "no").file == ""
    assert (
        static_pod_settings.broken_by_site(compared, None, "no").variable == "control_plane_components.kube-apiserver"
    )


def test_more_is_heard_without_what_was_refused() -> None:
    manifest = samples.manifest(changed(feature_gates={"A": True, "B": True}, args={"v": 4}))
    left = static_pod_settings.without_settings(manifest, [("feature_gates", "A"), ("args", "v")]).values()
    assert (left["feature_gates"], "v" in left["args"]) == ({"B": True}, False)


def test_what_breaks_neither_stays_nor_comes_back() -> None:
    found = [
        Finding(NAME, REAPPLIED, "", "args", "v"),
        Finding(NAME, BROKEN, "", "args", "v", CONFIG_MAP),
        Finding(NAME, BROKEN, "", "args", "v", INVENTORY),
        Finding("etcd", REAPPLIED, "", "args", "v"),
        Finding(NAME, BROKEN, "it crashed"),
    ]
    assert static_pod_settings.without_superseded(found) == found[1:]


def test_what_kubeadm_would_not_set_by_itself_comes_from_its_patches() -> None:
    compared = sides(V4, V4, patches="/patches")
    finding = static_pod_settings.broken_by_kubeadm(compared, ("args", "v"), "unknown flag: --v")
    assert (finding.set_by, finding.file, finding.line) == (PATCHES, "/patches", None)

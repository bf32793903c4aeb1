# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a new kubelet makes of the settings of a node."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import TextFile
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import layout as kubelet_layout
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import plan as kubelet
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade import kubelets as upgrade
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.upgrade.findings import (
    BROKEN,
    COLLECTION,
    INVENTORY,
    KUBEADM,
    OTHER,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelets import (
    EXTRA,
    FLAGS,
    FRAGMENT,
    MAIN,
    desired,
    state,
)

OURS = '{\n"apiVersion": "kubelet.config.k8s.io/v1beta1",\n"featureGates": {\n"Gone": true,\n"Kept": true}}\n'
DROP_IN = f'[Service]\nEnvironment="KUBELET_CONFIG_ARGS=--config={MAIN} --config-dir={kubelet_layout.CONFIG_DIR}"\n'


def with_fragment() -> t.Any:
    return state(
        'KUBELET_EXTRA_ARGS="--feature-gates=Flagged=true,Other=false --v 4"\n',
        fragments={FRAGMENT: OURS},
        drop_ins={kubelet_layout.DROP_IN: DROP_IN},
    )


def test_todays_kubelet_is_a_plan_without_operations() -> None:
    plan = upgrade.unchanged_plan(with_fragment())
    assert (plan.operations, plan.files, plan.before) == ((), (), plan.after)
    assert plan.fragment is not None
    assert plan.fragment.path == FRAGMENT
    assert upgrade.unchanged_plan(state(fragments={FRAGMENT: OURS})).fragment is None  # no kubelet reads it


def test_values() -> None:
    found = upgrade.all_settings(with_fragment().layout())
    assert found["feature_gates"] == {"Theirs": True, "Gone": True, "Kept": True, "Flagged": True, "Other": False}
    assert found["args"]["v"] == ["4"]
    assert found["config"]["maxPods"] == 110


@pytest.mark.parametrize(
    ("setting", "set_by", "file", "line", "variable"),
    [
        (("feature_gates", "Gone"), COLLECTION, FRAGMENT, 4, "node_kubelet_feature_gates"),
        (("feature_gates", "Theirs"), KUBEADM, MAIN, 6, ""),
        (("feature_gates", "Flagged"), OTHER, EXTRA, 1, ""),
        (("args", "v"), OTHER, EXTRA, 1, ""),
        (("config", "maxPods"), KUBEADM, MAIN, 7, ""),
    ],
)
def test_who_set_what_is_refused(setting: tuple[str, str], set_by: str, file: str, line: int, variable: str) -> None:
    finding = upgrade.broken_setting(with_fragment().layout(), setting, "no", by_site=False, still_named=True)
    assert (finding.impact, finding.set_by, finding.variable) == (BROKEN, set_by, variable)
    assert (finding.file, finding.line, finding.message) == (file, line, "no")


def test_what_the_inventory_names_no_more_goes_with_site() -> None:
    setting = ("feature_gates", "Gone")
    finding = upgrade.broken_setting(with_fragment().layout(), setting, "no", by_site=False, still_named=False)
    assert (finding.message, finding.variable) == (
        "no. The inventory no longer names it: run site before the upgrade",
        "",
    )


def test_what_the_inventory_breaks() -> None:
    finding = upgrade.broken_setting(
        with_fragment().layout(), ("feature_gates", "New"), "no", by_site=True, still_named=True
    )
    assert (finding.set_by, finding.file, finding.variable) == (INVENTORY, "", "node_kubelet_feature_gates")
    assert finding.message == "site would not work after the upgrade: no"
    assert upgrade.broken_setting(with_fragment().layout(), None, "no", by_site=False, still_named=True).set_by == ""


def test_more_is_heard_without_what_was_refused() -> None:
    gone = [
        ("feature_gates", "Gone"),
        ("feature_gates", "Flagged"),
        ("args", "v"),
        ("config", "evictionHard/nodefs.available"),
    ]
    plan = upgrade.without_settings(upgrade.unchanged_plan(with_fragment()), gone)
    assert "--feature-gates=Other=false" in plan.after.command
    assert not {"--v", "4"} & set(plan.after.command)
    staged = {change.path: json.loads(change.after.text) for change in plan.files if change.after}
    assert staged[FRAGMENT]["featureGates"] == {"Kept": True}
    assert staged[MAIN]["evictionHard"] == {}
    assert staged[MAIN]["featureGates"] == {"Theirs": True}
    assert upgrade.all_settings(plan.after)["feature_gates"] == {"Theirs": True, "Kept": True, "Other": False}


@pytest.mark.parametrize(
    ("extra", "left"),
    [
        ("--feature-gates A=true,B=true", ["--feature-gates", "B=true"]),
        ("--feature-gates=kube:A=true,kube:B=true", ["--feature-gates=kube:B=true"]),
        ("--feature_gates=A=true --feature-gates=B=true", ["--feature-gates=", "--feature-gates=B=true"]),
    ],
)
def test_a_gate_of_the_command_line_in_all_its_spellings(extra: str, left: list[str]) -> None:
    plan = upgrade.without_settings(
        upgrade.unchanged_plan(state(f'KUBELET_EXTRA_ARGS="{extra}"\n')), [("feature_gates", "A")]
    )
    assert list(plan.after.command[-len(left) :]) == left
    assert "A" not in upgrade.all_settings(plan.after)["feature_gates"]


PAUSE = "--pod-infra-container-image=registry.k8s.io/pause:3.10"


def with_pause_flag(*paths: str) -> t.Any:
    files = {
        path: TextFile.of(path, f'{name}="--node-ip=10.0.0.1{f" {PAUSE}" if path in paths else ""}"\n').version
        for path, name in ((FLAGS, "KUBELET_KUBEADM_ARGS"), (EXTRA, "KUBELET_EXTRA_ARGS"))
    }
    return state(environment=files)


@pytest.mark.parametrize(
    ("paths", "target", "stays"),
    [
        ([FLAGS], (1, 35, 0), False),
        ([FLAGS], (1, 34, 4), True),
        ([FLAGS], (1, 36, 3), True),
        ([EXTRA], (1, 35, 0), True),
        ([FLAGS, EXTRA], (1, 35, 0), True),
    ],
)
def test_a_flag_that_kubeadm_takes_out_of_its_own_file(paths: list[str], target: tuple[int, ...], stays: bool) -> None:
    before = upgrade.unchanged_plan(with_pause_flag(*paths))
    assert PAUSE in before.after.command
    assert (PAUSE in upgrade.after_kubeadm_upgrade(before, target).after.command) is stays


def test_a_planned_fragment_is_heard_without_it_too() -> None:
    plan = kubelet.plan(desired(feature_gates={"Gone": True, "Kept": True}), state())
    left = upgrade.without_settings(plan, [("feature_gates", "Gone")])
    (text,) = [change.after.text for change in left.files if change.path == FRAGMENT and change.after]
    assert json.loads(text)["featureGates"] == {"Kept": True}


# ---- user namespaces -----------------------------------------------------------------------------------------------------

LENGTH = upgrade.IDS_PER_POD
LAST = 2**32 - LENGTH
USERNS = "/var/lib/kubelet/pods/0a/userns"


@pytest.mark.parametrize(
    ("configured", "first", "broken"),
    [
        (None, LENGTH, []),
        (None, LAST - LENGTH, []),
        (None, LAST, [USERNS]),
        (None, 0, [USERNS]),
        (upgrade.IdRange(LENGTH, LAST - LENGTH), LENGTH, []),
        (upgrade.IdRange(LENGTH, LAST), LENGTH, ["/etc/subuid"]),
        (upgrade.IdRange(LENGTH, LAST), LAST, ["/etc/subuid", USERNS]),
        (upgrade.IdRange(LENGTH, 2 * LAST), LENGTH, ["/etc/subuid"]),
        (upgrade.IdRange(LENGTH, 110 * LENGTH), 110 * LENGTH, []),
        (upgrade.IdRange(LENGTH, 110 * LENGTH), 111 * LENGTH, [USERNS]),
    ],
)
def test_id_range_outside_of_what_1_38_takes_breaks(
    configured: upgrade.IdRange | None, first: int, broken: list[str]
) -> None:
    found = upgrade.user_namespace_findings(configured, LENGTH, {USERNS: upgrade.IdRange(first, LENGTH)})
    assert [(each.impact, each.file) for each in found] == [(BROKEN, path) for path in broken]


def test_id_range_finding_names_pod_and_numbers() -> None:
    (finding,) = upgrade.user_namespace_findings(None, LENGTH, {USERNS: upgrade.IdRange(LAST, LENGTH)})
    assert (finding.field, finding.key) == ("user-namespaces", "0a")
    assert "the IDs 4294901760 to 4294967295, which are not within 65536 to 4294901759" in finding.message
    assert "id 4294901760 is out of range" in finding.message

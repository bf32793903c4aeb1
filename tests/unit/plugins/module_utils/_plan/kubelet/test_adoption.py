# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Entries of others' variables that move into our files, and back."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import FileVersion, TextFile
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import layout as kubelet_layout
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import plan as kubelet
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.kubelet_state import State
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelet_layouts, kubelets
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelets import (
    EXTRA,
    after,
    desired,
    state,
)


@pytest.mark.parametrize(
    ("extra", "left", "given"),
    [
        ("KUBELET_EXTRA_ARGS=--feature-gates=A=true\n", "KUBELET_EXTRA_ARGS=\n", {"feature_gates": {"A": True}}),
        (
            '# old\nKUBELET_EXTRA_ARGS="--v=2 --feature-gates=A=false,B=true --x=y"\nOTHER=1\n',
            '# old\nKUBELET_EXTRA_ARGS="--v=2 --feature-gates=B=true --x=y"\nOTHER=1\n',
            {"feature_gates": {"A": True}},
        ),
        ('KUBELET_EXTRA_ARGS="--max-pods 20 --v=2"', 'KUBELET_EXTRA_ARGS="--v=2"', {"config": {"maxPods": 50}}),
        ('KUBELET_EXTRA_ARGS="--v=2 --x=y"\n', 'KUBELET_EXTRA_ARGS="--x=y"\n', {"args": {"v": None}}),
        ('KUBELET_EXTRA_ARGS="--x=y --v=2"\n', 'KUBELET_EXTRA_ARGS="--x=y"\n', {"args": {"v": 3}}),
        ("KUBELET_EXTRA_ARGS=--v=2 --x=y\\ \n", "KUBELET_EXTRA_ARGS=--x=y\\ \n", {"args": {"v": 3}}),
        ("KUBELET_EXTRA_ARGS=--x=y --v=2 \\ \n", "KUBELET_EXTRA_ARGS=--x=y \\ \n", {"args": {"v": 3}}),
    ],
)
def test_entries_of_the_administrator_are_moved_and_come_back(extra: str, left: str, given: dict[str, t.Any]) -> None:
    before = state(extra)
    plan = kubelet.plan(desired(adopt=True, **given), before)
    changed = after(before, plan)
    assert changed.variables[EXTRA] == left
    assert plan.operations[0].field == "adopted"
    assert kubelet.plan(desired(adopt=True, purge=True, **given), changed).operations == ()
    for gone in (desired(state="absent"), desired(purge=True)):
        back = after(changed, kubelet.plan(gone, changed))
        assert back.variables[EXTRA] == extra
        assert (back.unit, back.fragments, back.record) == (before.unit, before.fragments, {})


FLAGS_ENV = 'KUBELET_KUBEADM_ARGS="--node-ip=10.0.0.1 --max-pods=20 --feature-gates=A=false,B=true"\n'
HCLOUD_TEXT = '# manual\n[Service]\nEnvironment="HTTPS_PROXY=http://u:s3cret@p" "KUBELET_EXTRA_ARGS=--cloud-provider=external --max-pods=20"\n'


# The state before, the file of variables, what is left in it, and the desired state.
VARIABLES = [
    (
        state(environment={**state().environment, kubelets.FLAGS: FileVersion(FLAGS_ENV.encode(), 0o644)}),
        kubelets.FLAGS,
        'KUBELET_KUBEADM_ARGS="--node-ip=10.0.0.1 --feature-gates=B=true"\n',
        {"config": {"maxPods": 50}, "feature_gates": {"A": True}},
    ),
    (
        state(drop_ins={kubelet_layouts.HCLOUD: HCLOUD_TEXT}, environment={kubelets.FLAGS: None, EXTRA: None}),
        kubelet_layouts.HCLOUD,
        HCLOUD_TEXT.replace(" --max-pods=20", ""),
        {"config": {"maxPods": 50}},
    ),
    (
        state(unit=(TextFile.of(kubelet_layouts.ETC_UNIT, "[Service]\nEnvironment=A=--v=2\nExecStart=/k $A $B\n"),)),
        kubelet_layouts.ETC_UNIT,
        "[Service]\nEnvironment=A=\nExecStart=/k $A $B\n",
        {"args": {"v": 4}},
    ),
    (
        kubelet_layouts.KUBESPRAY.state(),
        kubelet_layouts.KUBELET_ENV,
        t.cast("str", kubelet_layouts.KUBESPRAY.environment[kubelet_layouts.KUBELET_ENV]).replace('"--v=2"', '""'),
        {"args": {"v": 4}},
    ),
    (
        kubelet_layouts.RPM.state(
            running=None,
            environment={
                kubelets.FLAGS: None,
                kubelet_layouts.SYSCONFIG: FileVersion(b"KUBELET_EXTRA_ARGS=--fail-swap-on=false\n", 0o644),
            },
        ),
        kubelet_layouts.SYSCONFIG,
        "KUBELET_EXTRA_ARGS=\n",
        {"config": {"failSwapOn": True}},
    ),
]


@pytest.mark.parametrize(
    ("before", "path", "left", "given"),
    VARIABLES,
    ids=["kubeadm-flags.env", "hcloud", "unit", "kubespray", "sysconfig"],
)
def test_entries_of_any_file_of_variables_are_moved_and_come_back(
    before: State, path: str, left: str, given: dict[str, t.Any]
) -> None:
    plan = kubelet.plan(desired(adopt=True, **given), before)
    changed = after(before, plan)
    assert changed.texts[path] == left
    assert kubelet.plan(desired(adopt=True, purge=True, **given), changed).operations == ()
    back = after(changed, kubelet.plan(desired(state="absent"), changed))
    assert (back.unit, back.environment, back.fragments, back.record) == (before.unit, before.environment, (), {})
    assert "s3cret" not in str(kubelet.diff_files(plan))


def test_what_a_packages_unit_reports_is_not_edited() -> None:
    packaged = kubelets.KUBEADM_TEXT.replace("[Service]\n", "[Service]\nEnvironment=KUBELET_EXTRA_ARGS=--v=2\n")
    before = state(drop_ins={kubelets.KUBEADM: packaged}, environment={kubelets.FLAGS: None, EXTRA: None})
    with pytest.raises(
        Refusal,
        match=rf"{kubelets.KUBEADM}:3 sets it to .*belongs to a package.*below /etc/systemd/system/kubelet.service.d",
    ):
        kubelet.plan(desired(adopt=True, args={"v": 4}), before)


def test_a_flag_of_exec_start_itself_is_named_with_its_line() -> None:
    with pytest.raises(Refusal, match=r"10-kubeadm\.conf:6 sets it to .*Remove it there, run systemctl daemon-reload"):
        kubelet.plan(
            desired(adopt=True, config={"maxPods": 50}),
            dataclasses.replace(
                kubelet_layouts.MINIKUBE.state(running=None),
                unit=tuple(
                    TextFile.of(file.path, file.text.replace("--node-ip", "--max-pods=9 --node-ip"))
                    for file in kubelet_layouts.MINIKUBE.state().unit
                ),
            ),
        )


def test_the_administrators_file_keeps_mode_and_owner() -> None:
    theirs = FileVersion(b"KUBELET_EXTRA_ARGS=--v=2\n", 0o640, 7, 8)
    before = state(environment={**state().environment, EXTRA: theirs})
    change = kubelet.plan(desired(adopt=True, args={"v": 4}), before).files[-1]
    assert (change.path, change.before) == (EXTRA, theirs)
    assert change.after == FileVersion(b"KUBELET_EXTRA_ARGS=\n", 0o640, 7, 8)


def test_the_variables_of_others_are_not_shown() -> None:
    extra = "# old\n# NO_PROXY=s3cret\nHTTPS_PROXY=http://user:s3cret@proxy\nKUBELET_EXTRA_ARGS=--v=2\n"
    diff = kubelet.diff_files(kubelet.plan(desired(adopt=True, args={"v": 4}), state(extra)))[-1]
    assert diff["before"] == "# old\n# NO_PROXY=...\nHTTPS_PROXY=...\nKUBELET_EXTRA_ARGS=--v=2\n"
    assert diff["after"] == "# old\n# NO_PROXY=...\nHTTPS_PROXY=...\nKUBELET_EXTRA_ARGS=\n"


def test_a_file_that_changed_since_is_not_reverted() -> None:
    before = state("KUBELET_EXTRA_ARGS=--v=2\n")
    changed = after(before, kubelet.plan(desired(adopt=True, args={"v": 4}), before))
    edited = kubelets.state(
        "KUBELET_EXTRA_ARGS=--x=y\n", drop_ins={kubelet_layout.DROP_IN: changed.unit[-1].text}, record=changed.record
    )
    plan = kubelet.plan(desired(state="absent"), edited)
    assert after(edited, plan).variables[EXTRA] == "KUBELET_EXTRA_ARGS=--x=y\n"
    assert "was changed since" in plan.warnings[0]


def test_what_is_dropped_of_several_adopted_settings_is_reported() -> None:
    before = state("KUBELET_EXTRA_ARGS='--max-pods=50 --v=2'\n")
    changed = after(before, kubelet.plan(desired(adopt=True, args={"v": 4}, config={"maxPods": 60}), before))
    plan = kubelet.plan(desired(args={"v": 4}, purge=True), changed)
    assert plan.warnings == (
        f"the former entries of {EXTRA} for maxPods are not restored there before all that was adopted from it is reverted.",
    )
    assert kubelet.plan(desired(args={"v": 4}, purge=True), after(changed, plan)).warnings == ()


def test_a_list_is_adopted_only_as_a_whole() -> None:
    with pytest.raises(Refusal, match="eviction"):
        kubelet.plan(
            desired(adopt=True, config={"evictionHard": {"memory.available": "5%"}}),
            state("KUBELET_EXTRA_ARGS='--eviction-hard=nodefs.available<1%'\n"),
        )

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubelets of every layout before, with and after a change."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import generator as kubelet_generator
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import kubelet_undo
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import layout as kubelet_layout
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import plan as kubelet
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.previous_change import WrittenFile
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelet_layouts import ALL
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelets import FRAGMENT, TAINT, after, desired
from ansible_collections.nodecraft.kubeadm.tests.unit.support.undos import rollback

DESIRED_STATES: dict[str, dict[str, t.Any]] = {
    "gate": {"feature_gates": {"Mine": True}},
    "field": {"config": {"podPidsLimit": 50}},
    "flag": {"args": {"log-flush-frequency": "7s"}},
    "taint": {"register_with_taints": [TAINT]},
}


@pytest.mark.parametrize("given", DESIRED_STATES.values(), ids=DESIRED_STATES)
@pytest.mark.parametrize("name", sorted(ALL))
def test_every_plan_on_every_layout(name: str, given: dict[str, t.Any]) -> None:
    layout = ALL[name]
    before = layout.state()
    plan = kubelet.plan(desired(**given), before)
    changed = after(before, plan)
    gained = [argument for argument in changed.layout().command if argument not in layout.command.split()]
    by_flag = ["--log-flush-frequency=7s"] if "args" in given else []
    by_file = [] if by_flag or layout.config_dir else [f"--config-dir={kubelet_layout.CONFIG_DIR}"]
    assert gained == by_flag + by_file
    sources = {argument.text: argument for argument in changed.layout().service.arguments}
    assert {sources[argument].variable for argument in gained} <= {layout.variable}
    written = {change.path for change in plan.files}
    assert (kubelet_generator.GENERATOR in written) is layout.derived
    if not by_flag:
        assert f"{layout.config_dir or kubelet_layout.CONFIG_DIR}/{kubelet_layout.FRAGMENT}" in written
    assert kubelet.plan(desired(**given, purge=True), changed).operations == ()
    assert_same(after(changed, kubelet.plan(desired(state="absent"), changed)), before)

    files = [WrittenFile(each.path, each.before, each.after, each.after) for each in plan.files]
    undone = kubelet_undo.plan(rollback(*files, record=before.record), changed, force=False)
    assert undone.operations
    assert_same(after(changed, undone), before)
    files = [WrittenFile(each.path, each.before, each.after, each.after) for each in undone.files]
    again = kubelet_undo.plan(rollback(*files, record=changed.record), after(changed, undone), force=False)
    assert_same(after(after(changed, undone), again), changed)


def assert_same(found: t.Any, expected: t.Any) -> None:
    for field in dataclasses.fields(expected):
        assert getattr(found, field.name) == getattr(expected, field.name), field.name


def test_arguments_are_reported_to_stand_where_they_were_derived_from() -> None:
    changed = after(ALL["minikube"].state(), kubelet.plan(desired(args={"v": 4}), ALL["minikube"].state()))
    sources = {argument.text: str(argument.source) for argument in changed.layout().service.arguments}
    assert sources["--node-ip=192.168.49.2"] == "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf:6"
    assert sources["--v=4"] == f"{kubelet_layout.DROP_IN}:3"


def test_a_generator_that_was_made_inert_is_mended() -> None:
    changed = after(ALL["minikube"].state(), kubelet.plan(desired(args={"v": 4}), ALL["minikube"].state()))
    assert changed.generator is not None
    inert = dataclasses.replace(
        changed,
        unit=tuple(file for file in changed.unit if file.path != kubelet_generator.DERIVED),
        generator=dataclasses.replace(changed.generator, mode=0o644),
        running=tuple(ALL["minikube"].command.split()),
    )
    plan = kubelet.plan(desired(), inert)
    assert [(change.field, change.key, change.after) for change in plan.operations] == [
        ("unit", kubelet_generator.VARIABLE, "--v=4")
    ]
    assert [(change.path, change.preserved_attributes) for change in plan.files] == [
        (kubelet_generator.GENERATOR, ("uid", "gid"))
    ]
    assert after(inert, plan) == changed


def test_a_file_that_the_kubelet_does_not_read_changes_nothing() -> None:
    state = ALL["rpm"].state()
    version = state.unit[0].version
    assert state.with_files({"/etc/default/kubelet": version}) == state
    assert state.with_files({FRAGMENT: version}).foreign_fragments == ()


def test_fragments_are_merged_in_the_order_of_a_walk() -> None:
    texts = {f"{kubelet_layout.CONFIG_DIR}/{name}": f"maxPods: {len(name)}\n" for name in ("a/1.conf", "a-longer.conf")}
    state = kubelets.state(fragments=texts)
    assert state.layout(reads_fragments=True).settings.config["maxPods"] == len("a-longer.conf")
    assert [file.path for file in state.with_files({}).fragments] == list(texts)


def test_the_generator_of_an_earlier_version_changes_with_the_next_change_only() -> None:
    state = ALL["minikube"].state()
    changed = after(state, kubelet.plan(desired(args={"v": 4}), state))
    assert changed.generator is not None
    earlier = dataclasses.replace(
        changed,
        generator=dataclasses.replace(changed.generator, content=b"#!/bin/sh\n# The script of an earlier version.\n"),
    )
    assert kubelet.plan(desired(args={"v": 4}), earlier).operations == ()
    plan = kubelet.plan(desired(args={"v": 5}), earlier)
    assert [change.key for change in plan.operations] == ["v"]
    assert after(earlier, plan).generator == changed.generator

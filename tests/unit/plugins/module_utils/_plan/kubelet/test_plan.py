# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans of a kubelet: what is written for a desired state, what wins over it, and what is left when it is reverted."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import FileVersion, TextFile
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Owned
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import layout as kubelet_layout
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import plan as kubelet
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets
from ansible_collections.nodecraft.kubeadm.tests.unit.support.kubelets import (
    BASE,
    EXTRA,
    FRAGMENT,
    TAINT,
    after,
    data_of,
    desired,
    state,
)


def operations(plan: kubelet.KubeletPlan) -> list[tuple[str, str, t.Any, t.Any]]:
    return [(change.field, change.key, change.before, change.after) for change in plan.operations]


# ---- what is written -------------------------------------------------------------------------------------------------


def test_settings_go_into_a_drop_in_and_a_fragment_of_ours() -> None:
    plan = kubelet.plan(
        desired(
            feature_gates={"Mine": "yes"},
            config={"maxPods": 50, "evictionHard": {"memory.available": "5%"}},
            args={"v": 4},
            register_with_taints=[TAINT],
        ),
        state(),
    )
    assert plan.after.command == [
        *BASE.split()[:4],
        f"--config-dir={kubelet_layout.CONFIG_DIR}",
        "--v=4",
        BASE.split()[4],
    ]
    assert plan.after.settings.config["maxPods"] == 50
    assert plan.after.settings.config["evictionHard"] == {"nodefs.available": "0%", "memory.available": "5%"}
    assert plan.after.settings.gates() == {"Theirs": True, "Mine": True}
    assert plan.after.settings.taint_list() == [TAINT]
    assert operations(plan) == [
        ("feature_gates", "Mine", None, True),
        ("config", "maxPods", 110, 50),
        ("config", "evictionHard/memory.available", None, "5%"),
        ("args", "v", None, ["4"]),
        ("register_with_taints", "example.com/dongle:NoSchedule", None, ""),
    ]
    assert [change.path for change in plan.files] == [FRAGMENT, kubelet_layout.DROP_IN]
    assert "ExecStartPre=-/bin/mkdir -p /etc/kubernetes/kubelet.conf.d\n" in plan.files[1].visible_text(
        plan.files[1].after
    )
    assert data_of(plan)["apiVersion"] == "kubelet.config.k8s.io/v1beta1"


def test_what_is_so_already_changes_nothing() -> None:
    plan = kubelet.plan(desired(config={"maxPods": 110}, feature_gates={"Theirs": True, "No": None}), state())
    assert plan.operations == ()
    assert plan.files == ()


@pytest.mark.parametrize(
    "given",
    [
        {"feature_gates": {"Mine": True}},
        {"config": {"maxPods": None, "evictionHard": {"memory.available": "5%"}}},
        {"args": {"v": 4, "node-labels": "a=b c,d='e'"}},
        {"register_with_taints": [TAINT]},
    ],
)
def test_a_second_run_finds_nothing_and_removal_leaves_nothing(given: dict[str, t.Any]) -> None:
    before = state()
    changed = after(before, kubelet.plan(desired(**given), before))
    assert kubelet.plan(desired(**given, purge=True), changed).operations == ()
    for gone in (desired(state="absent"), desired(**given, state="absent"), desired(config={}, purge=True)):
        plan = kubelet.plan(gone, changed)
        assert plan.operations
        left = after(changed, plan)
        assert left.unit == before.unit
        assert left.fragments == ()
        assert left.record == {}
        assert plan.after.command == BASE.split()


def test_what_a_task_does_not_name_stays_and_purge_takes_it_back() -> None:
    both = after(state(), kubelet.plan(desired(feature_gates={"A": True}, config={"maxPods": 50}), state()))
    plan = kubelet.plan(desired(feature_gates={"B": True}), both)
    assert data_of(plan)["featureGates"] == {"A": True, "B": True}
    assert data_of(plan)["maxPods"] == 50
    purged = kubelet.plan(desired(feature_gates={"B": True}, purge=True), both)
    assert "maxPods" not in data_of(purged)
    assert ("config", "maxPods", 50, 110) in operations(purged)


def test_a_removed_setting_goes_back_to_what_others_set_today() -> None:
    changed = after(state(), kubelet.plan(desired(config={"maxPods": 50}), state()))
    today = kubelets.state(
        main=kubelets.MAIN_TEXT.replace("110", "200"),
        drop_ins={kubelet_layout.DROP_IN: changed.unit[-1].text},
        fragments={file.path: file.text for file in changed.fragments},
        record=changed.record,
    )
    assert operations(kubelet.plan(desired(state="absent"), today)) == [("config", "maxPods", 50, 200)]
    plan = kubelet.plan(desired(config={"maxPods": 200}), today)
    assert data_of(plan)["maxPods"] == 200


def test_a_field_above_an_owned_one_replaces_it() -> None:
    changed = after(state(), kubelet.plan(desired(config={"evictionHard": {"memory.available": "5%"}}), state()))
    plan = kubelet.plan(desired(config={"evictionHard": None}), changed)
    assert data_of(plan)["evictionHard"] is None


def test_a_directory_in_use_is_used_and_needs_no_drop_in() -> None:
    before = state("KUBELET_EXTRA_ARGS=--config-dir=/etc/mine\n", fragments={"/etc/mine/a.conf": '{"maxPods": 5}'})
    plan = kubelet.plan(desired(config={"maxPods": 50}), before)
    assert [change.path for change in plan.files] == [f"/etc/mine/{kubelet_layout.FRAGMENT}"]
    assert plan.after.settings.config["maxPods"] == 50


def test_a_drop_in_that_repeats_an_old_unit_is_written_again() -> None:
    changed = after(state(), kubelet.plan(desired(config={"maxPods": 50}), state()))
    text = changed.unit[-1].text.replace("--config=/var/lib/kubelet/config.yaml", "--config=/old")
    stale = state(
        drop_ins={kubelet_layout.DROP_IN: text},
        fragments={f.path: f.text for f in changed.fragments},
        record=changed.record,
    )
    ((field, key, dummy, now),) = operations(kubelet.plan(desired(config={"maxPods": 50}), stale))
    assert (field, key) == ("unit", kubelet_layout.HOOK)
    assert "--config=/var/lib/kubelet/config.yaml" in now


# ---- what wins over a desired state ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "extra", "source"),
    [
        ({"feature_gates": {"A": True}}, "# x\nKUBELET_EXTRA_ARGS=--feature-gates=A=false,B=true\n", f"{EXTRA}:2"),
        ({"config": {"maxPods": 50}}, "KUBELET_EXTRA_ARGS=--max-pods=20\n", f"{EXTRA}:1"),
        (
            {"config": {"authentication": {"anonymous": {"enabled": False}}}},
            "KUBELET_EXTRA_ARGS=--anonymous-auth\n",
            f"{EXTRA}:1",
        ),
        ({"args": {"v": 4}}, "KUBELET_EXTRA_ARGS='--v 2'\n", f"{EXTRA}:1"),
        ({"args": {"node-ip": "10.0.0.2"}}, "", f"{kubelets.FLAGS}:1"),
        ({"args": {"node-ip": None}}, "", f"{kubelets.FLAGS}:1"),
    ],
)
def test_what_wins_over_the_desired_state_is_named(given: dict[str, t.Any], extra: str, source: str) -> None:
    with pytest.raises(Refusal, match=rf"but {source} sets it to .*or set adopt: true") as caught:
        kubelet.plan(desired(**given), state(extra))
    assert kubelet.plan(desired(adopt=True, **given), state(extra)).operations, caught.value


def test_adopting_is_not_advised_where_it_would_not_help() -> None:
    other_taint = "KUBELET_EXTRA_ARGS=--register-with-taints=a=b:NoSchedule\n"
    for adopt in (False, True):
        with pytest.raises(
            Refusal, match=rf"{EXTRA}:1 sets it to unset .* Remove it there, run systemctl daemon-reload"
        ):
            kubelet.plan(desired(register_with_taints=[TAINT], adopt=adopt), state(other_taint))


def test_a_fragment_behind_ours_is_named_with_its_line() -> None:
    behind = {"/etc/kubernetes/kubelet.conf.d/zzz.conf": "kind: KubeletConfiguration\nmaxPods: 5\n"}
    with pytest.raises(Refusal, match=r"zzz.conf:2 sets it to 5"):
        kubelet.plan(desired(config={"maxPods": 50}, force=True), state(fragments=behind))


def test_a_later_drop_in_that_sets_the_hook_has_another_variable_used() -> None:
    path = "/etc/systemd/system/kubelet.service.d/30-mine.conf"
    plan = kubelet.plan(
        desired(args={"v": 4}), state(drop_ins={path: "[Service]\nEnvironment=KUBELET_CONFIG_ARGS=--config=/x\n"})
    )
    assert plan.after.command[2:5] == ["--kubeconfig=/etc/kubernetes/kubelet.conf", "--v=4", "--config=/x"]


def test_fragments_that_no_kubelet_reads_need_force() -> None:
    sleeping = {"/etc/kubernetes/kubelet.conf.d/a.conf": '{"maxPods": 5}'}
    with pytest.raises(Refusal, match=r"a.conf: the kubelet does not read this directory now"):
        kubelet.plan(desired(config={"podPidsLimit": 50}), state(fragments=sleeping))
    assert kubelet.plan(desired(config={"podPidsLimit": 50}, force=True), state(fragments=sleeping)).operations


def test_what_our_drop_in_repeats_is_named_where_others_wrote_it() -> None:
    theirs = {
        "/etc/systemd/system/kubelet.service.d/15-them.conf": "[Service]\nEnvironment=KUBELET_CONFIG_ARGS=--max-pods=30\n"
    }
    with pytest.raises(
        Refusal,
        match=r'15-them.conf:2 sets it to "30" and takes precedence over this module. Remove it there, or set adopt',
    ):
        kubelet.plan(desired(config={"maxPods": 150}), state(drop_ins=theirs))
    assert kubelet.plan(desired(config={"maxPods": 150}, adopt=True), state(drop_ins=theirs)).operations


@pytest.mark.parametrize("given", [{"args": {"v": 6}}, {"config": {"logging": {"verbosity": 6}}}])
def test_short_verbosity_of_others_overrides_ours(given: dict[str, t.Any]) -> None:
    before = state("KUBELET_EXTRA_ARGS=-v4 --fail-swap-on=false\n")
    with pytest.raises(Refusal, match=r"/etc/default/kubelet:1 sets it to .*4.* and takes precedence"):
        kubelet.plan(desired(**given), before)
    done = kubelet.plan(desired(**given, adopt=True), before)
    assert [change.after.text for change in done.files if change.is_foreign and change.after] == [
        "KUBELET_EXTRA_ARGS=--fail-swap-on=false\n"
    ]
    left = after(before, done)
    assert after(left, kubelet.plan(desired(state="absent"), left)).environment == before.environment


def test_a_directory_that_is_read_for_our_sake_stays_for_the_files_of_others() -> None:
    ours = after(state(), kubelet.plan(desired(config={"podPidsLimit": 50}), state()))
    theirs = TextFile.of("/etc/kubernetes/kubelet.conf.d/zzz-them.conf", "{\n  maxPods: 66\n}\n")
    both = dataclasses.replace(ours, fragments=(*ours.fragments, theirs))
    assert kubelet.plan(desired(config={"podPidsLimit": 50}, purge=True), both).operations == ()
    with pytest.raises(Refusal, match=r"zzz-them.conf:2 sets it to 66 and takes precedence"):
        kubelet.plan(desired(config={"maxPods": 150}), both)
    plan = kubelet.plan(desired(state="absent"), both)
    gone = after(both, plan)
    assert gone.fragments == (theirs,)
    assert kubelet_layout.config_dir(plan.after.command) == kubelet_layout.CONFIG_DIR
    assert "because the kubelet reads /etc/kubernetes/kubelet.conf.d/zzz-them.conf by it" in plan.warnings[0]
    assert kubelet.plan(desired(state="absent"), gone).operations == ()
    without_theirs = dataclasses.replace(gone, fragments=())
    assert after(without_theirs, kubelet.plan(desired(state="absent"), without_theirs)).unit == state().unit


def test_what_another_program_wrote_into_our_file_goes_with_it() -> None:
    ours = after(state(), kubelet.plan(desired(config={"podPidsLimit": 50, "registryBurst": 5}), state()))
    (fragment,) = ours.fragments
    edited = dataclasses.replace(ours, fragments=(TextFile.of(fragment.path, fragment.text.replace("50", "77")),))
    plan = kubelet.plan(desired(config={"registryBurst": 6}), edited)
    assert data_of(plan)["podPidsLimit"] == 77
    plan = kubelet.plan(desired(config={"registryBurst": 5}, purge=True), edited)
    assert [(change.key, change.before, change.after) for change in plan.operations] == [("podPidsLimit", 77, None)]
    assert plan.warnings == ()


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_a_kubelet_that_runs_something_else_is_refused() -> None:
    with pytest.raises(Refusal, match=r"only in the process: --v=9\)"):
        kubelet.plan(desired(args={"v": 4}), state(running=(*BASE.split(), "--v=9")))
    assert kubelet.plan(desired(args={"v": 4}), state(running=tuple(BASE.split()))).operations


@pytest.mark.parametrize(
    "theirs",
    [
        {"fragments": {FRAGMENT: "maxPods: 60\n"}},
        {"drop_ins": {kubelet_layout.DROP_IN: "[Service]\nCPUWeight=50\n"}},
        {"generator": FileVersion(b"#!/bin/sh\n", 0o755)},
    ],
    ids=["fragment", "drop-in", "generator"],
)
@pytest.mark.parametrize("given", [{"config": {"maxPods": 50}}, {"state": "absent"}, {"purge": True}])
def test_a_file_of_our_name_without_a_record_is_not_ours(theirs: dict[str, t.Any], given: dict[str, t.Any]) -> None:
    with pytest.raises(Refusal, match=r"nodecraft-kubeadm.*: it has the name of a file of this module, .* no record"):
        kubelet.plan(desired(force=True, **given), state(**theirs))
    known = state(**theirs, record={"config": {"podPidsLimit": Owned(5, None)}})
    assert kubelet.plan(desired(**given), known).operations or "config" not in given


def test_a_restart_that_would_bring_in_more_is_refused() -> None:
    changed = state(newer=("/var/lib/kubelet/config.yaml",))
    with pytest.raises(Refusal, match=r"^/var/lib/kubelet/config.yaml changed after the kubelet was started"):
        kubelet.plan(desired(args={"v": 4}), changed)
    assert kubelet.plan(desired(), changed).operations == ()
    assert kubelet.plan(desired(args={"v": 4}, force=True), changed).operations


def test_the_diff_names_each_file() -> None:
    entries = kubelet.diff_files(kubelet.plan(desired(config={"maxPods": 50}), state()))
    assert [entry["after_header"] for entry in entries] == [FRAGMENT, kubelet_layout.DROP_IN]
    assert '"maxPods": 50' in entries[0]["after"]

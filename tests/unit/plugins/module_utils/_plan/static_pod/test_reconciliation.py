# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is still ours of a manifest after others were at it: kubeadm with an upgrade, or someone with an editor."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Owned, Record
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod import reconciliation
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.plan import State, StaticPodPlan
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.reconciliation import FILES_ANNOTATION
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.static_pods import following, planned

CHANGED = "2026-01-01T00:05:00Z"
POLICY = "/etc/kubernetes/audit/policy.yaml"
DESIRED: dict[str, t.Any] = {"args": {"v": 4}, "feature_gates": {"Fresh": True}, "env": {"GOGC": "50"}}
LOST = {"args": ["v"], "env": ["GOGC"], "feature_gates": ["Fresh"]}


def upgraded(before: State, text: str = samples.API_SERVER) -> State:
    """The same node after kubeadm wrote the manifest for another version."""
    image = str(before.manifest.container["image"])
    return dataclasses.replace(
        before, manifest=samples.manifest(text.replace(image, "registry.k8s.io/new:v1")), former=None
    )


def edited(before: State, old: str, new: str = "") -> State:
    """The same node after someone edited the manifest."""
    text = before.manifest.text
    assert old in text
    return dataclasses.replace(
        before, manifest=samples.manifest(text.replace(old, new, 1)), former=None, changed=CHANGED
    )


def changed_by(done: StaticPodPlan) -> set[tuple[str, str]]:
    return {(each.field, each.key) for each in done.operations}


def test_what_stands_as_it_was_set_is_ours() -> None:
    before = following(planned(**DESIRED))
    found = planned(before, **DESIRED)
    assert (found.operations, found.lost, found.record) == ((), {}, before.record)
    assert found.image == before.manifest.container["image"]


def test_what_an_upgrade_took_is_lost_and_set_again() -> None:
    after = upgraded(following(planned(**DESIRED)))
    found = planned(after, purge=True, **DESIRED)
    assert found.lost == LOST
    assert changed_by(found) == {("args", "v"), ("feature_gates", "Fresh"), ("env", "GOGC")}
    assert "50" not in str(found.lost)
    again = following(found)
    assert planned(again, purge=True, **DESIRED).lost == {}
    back = planned(again, purge=True)
    assert back.after.text == after.manifest.text
    assert back.record == {}


def test_what_an_upgrade_took_and_nothing_requests_is_reported_and_given_up() -> None:
    """Such as settings of etcd, which a run without them plans with purge only."""
    after = upgraded(following(planned(**DESIRED)))
    found = planned(after, purge=True)
    assert (found.operations, found.lost, found.record) == ((), LOST, {})
    # Where a task leaves what it does not name as it is, it stays lost.
    other = planned(after, args={"audit-log-maxage": 1})
    assert other.lost == LOST
    assert set(other.record["args"]) == {"v", "audit-log-maxage"}
    later = following(other)
    assert planned(later).lost == LOST
    assert planned(later, state="absent", env={"GOGC": "any"}).record.get("env") is None


def test_kubeadm_may_write_the_manifest_again_in_the_same_version() -> None:
    before = following(planned(**DESIRED))
    again = dataclasses.replace(before, manifest=samples.manifest())
    assert planned(again, purge=True, **DESIRED).lost == LOST


def test_what_someone_took_out_stops_the_run_until_it_is_reported_to_go_on() -> None:
    after = edited(following(planned(**DESIRED)), "    - --v=4\n")
    with pytest.raises(Refusal) as refusal:
        planned(after, purge=True, **DESIRED)
    message = str(refusal.value)
    assert message.startswith(f"args v: this collection set it in {samples.SOURCE}, and it was removed")
    assert f"changed at {CHANGED}" in message
    assert "restore_removed" in message
    assert changed_by(planned(after, purge=True, restore_removed=True, **DESIRED)) == {("args", "v")}
    # Another value than the one that was taken out is no word either.
    with pytest.raises(Refusal):
        planned(after, args={"v": 5})


def test_who_takes_out_most_of_it_is_no_upgrade_while_one_is_left() -> None:
    before = following(planned(**DESIRED))
    after = edited(edited(before, "    - --v=4\n"), "    - --feature-gates=Fresh=true\n")
    with pytest.raises(Refusal, match=r"^args v, feature_gates Fresh: this collection set it in "):
        planned(after, purge=True, **DESIRED)
    unknown = dataclasses.replace(after, changed="")
    with pytest.raises(Refusal, match="the file was changed at an unknown time, and its image"):
        planned(unknown, purge=True, **DESIRED)


def test_a_record_without_files_names_none() -> None:
    owned: Record = {"args": {"v": Owned(["4"], None)}}
    assert reconciliation.add_files(owned, {}) == owned
    assert set(reconciliation.add_files(owned, {"/p": Owned("x", None)})) == {"args", "files"}


def test_our_only_setting_counts_as_taken_out() -> None:
    """What is left is what kubeadm would write, so nothing tells who did it. Who did may have had a reason."""
    after = edited(following(planned(args={"v": 4})), "    - --v=4\n")
    assert after.manifest.text == samples.API_SERVER
    with pytest.raises(Refusal, match="it was removed"):
        planned(after, args={"v": 4})
    assert planned(upgraded(following(planned(args={"v": 4}))), args={"v": 4}).lost == {"args": ["v"]}


@pytest.mark.parametrize("given", [{}, {"purge": True}, {"args": {"v": None}}, {"state": "absent", "args": {"v": 1}}])
def test_what_someone_took_out_and_nothing_requests_is_not_ours_any_more(given: dict[str, t.Any]) -> None:
    """No change, so no transaction: it must not stay in the record for ever."""
    after = edited(following(planned(args={"v": 4}, env={"GOGC": "50"})), "    - --v=4\n")
    found = planned(after, **{"env": {"GOGC": "50"}, **given} if given.get("state") != "absent" else given)
    assert (found.operations, found.lost) == ((), {})
    assert set(found.record) == {"env"}


def test_what_has_another_value_is_not_ours_any_more() -> None:
    after = edited(following(planned(**DESIRED)), "--v=4", "--v=7")
    found = planned(after, env=DESIRED["env"])
    assert found.operations == ()
    assert "args" not in found.record
    assert found.warnings == ("args v: it was changed since this collection set it, so it is left alone from now on.",)
    # A task that names it sets it, and what it goes back to is what someone set.
    named = planned(after, args={"v": 4})
    assert named.warnings == ()
    assert named.record["args"]["v"].original == ["7"]


def test_a_default_that_we_replaced_may_be_taken_out_as_well() -> None:
    before = following(planned(samples.state(samples.with_command("--v=1")), args={"v": 4}, env={"GOGC": "50"}))
    after = edited(before, "    - --v=4\n")
    with pytest.raises(Refusal, match="it was removed"):
        planned(after, args={"v": 4})
    assert planned(after, args={"v": 4}, restore_removed=True).record["args"]["v"].original is None


def test_what_was_taken_away_and_set_again_by_a_user_is_removed_too() -> None:
    first = planned(args={"profiling": "false"}, env={"GOGC": "50"})
    gone = planned(following(first), args={"secure-port": None}, env={"GOGC": "50"})
    assert gone.operations
    flag = next(line for line in samples.API_SERVER.splitlines(keepends=True) if "--secure-port" in line)
    after = edited(following(gone), "    - --profiling=false\n", f"    - --profiling=false\n{flag}")
    found = planned(after)
    assert "secure-port" not in found.record["args"]


def test_files_are_nothing_that_an_upgrade_takes() -> None:
    first = planned(files=[samples.file(POLICY, "ours")])
    after = upgraded(following(first))
    found = planned(after, files=[samples.file(POLICY, "ours")])
    assert (found.operations, found.lost) == ((), {})
    assert set(found.record) == {"files"}


def test_the_annotation_returns_with_the_next_change_although_no_file_changes() -> None:
    desired: dict[str, t.Any] = {"files": [samples.file(POLICY, "ours")], "args": {"v": 4}}
    before = following(planned(**desired))
    checksum = before.manifest.values()["annotations"][FILES_ANNOTATION]
    found = planned(upgraded(before), **desired)
    assert changed_by(found) == {("args", "v")}
    assert found.after.values()["annotations"][FILES_ANNOTATION] == checksum
    # Where ClusterConfiguration has the rest, it alone is no reason to restart anything.
    edited = samples.manifest(
        samples.API_SERVER.replace("    - kube-apiserver\n", "    - kube-apiserver\n    - --v=4\n", 1)
    )
    assert planned(upgraded(before, edited.text), **desired).operations == ()


def test_an_annotation_reports_that_the_manifest_was_not_written_again() -> None:
    desired: dict[str, t.Any] = {"files": [samples.file(POLICY, "ours")], "args": {"v": 4}}
    after = edited(following(planned(**desired)), "    - --v=4\n")
    with pytest.raises(Refusal, match="it was removed"):
        planned(after, **desired)
    again = dataclasses.replace(after, manifest=samples.manifest())
    assert planned(again, **desired).lost == {"args": ["v"]}


def test_names_have_no_values() -> None:
    record = following(planned(**DESIRED)).record
    assert reconciliation.keys_by_field(record) == LOST

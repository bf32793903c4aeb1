# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run tells of kubeadm-config at its end."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config import plan as kubeadm_config
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config import report
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.entries import Entries
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.record import Persisted
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.settings import SettingKey
from ansible_collections.nodecraft.kubeadm.tests.unit.support.cluster_configurations import API_SERVER, TEXT, arg

GUARD = SettingKey(API_SERVER, "args", "encryption-provider-config")


def lines(ending: str, *, refusal: str = "", diff: bool = False, text: str | None = TEXT, **more: t.Any) -> list[str]:
    desired = {**arg("v", "5"), **more.pop("desired", {})}
    entries = Entries(desired, more.pop("skipped", {}), more.pop("files", []))
    plan = kubeadm_config.plan(text, Persisted(), desired) if text else None
    return report.report_lines(
        report.PersistenceReport(ending, refusal, entries, plan, more.get("others", {})), diff=diff
    )


def test_without_the_word_it_names_what_is_lost_and_the_word() -> None:
    assert lines(report.NOT_REQUESTED, others={API_SERVER: ["probes x"]}) == [
        "The next kubeadm upgrade reverts, and a control plane that joins lacks: kube-apiserver args v, kube-apiserver probes x. Run site again after"
        " either.",
        "With control_plane_persist: true kubeadm-config keeps what it can hold of that.",
    ]


@pytest.mark.parametrize(("ending", "is_reported"), [(report.NOT_REQUESTED, True), (report.WRITTEN, False)])
def test_what_stays_in_kubeadm_config_is_reported(ending: str, is_reported: bool) -> None:
    written = kubeadm_config.plan(TEXT, Persisted(), arg("v", "5"))
    plan = kubeadm_config.plan(written.after, written.record, {})
    found = report.report_lines(report.PersistenceReport(ending, "", Entries({}, {}, []), plan, {}), diff=False)
    assert any("still has kube-apiserver args v" in line for line in found) is is_reported


def test_what_protects_the_cluster_is_the_first_line() -> None:
    first, *_rest = lines(report.NOT_REQUESTED, desired=arg("encryption-provider-config", "/a"))
    assert first.startswith("WARNING: the next kubeadm upgrade removes kube-apiserver args encryption-provider-config")
    first, *_rest = lines(report.WRITTEN, skipped={GUARD: "it differs"})
    assert first.startswith("WARNING")


@pytest.mark.parametrize("ending", [report.WRITTEN, report.PLANNED])
def test_what_is_written_is_named_and_which_files_a_join_needs(ending: str) -> None:
    first, second, join = lines(ending, files=["/etc/policy.yaml"])
    assert first.startswith("kubeadm-config")
    assert second == "    kube-apiserver args v: unset -> 5"
    assert "join_files" in join
    assert "etcd as a member" in join
    assert join.endswith("/etc/policy.yaml")


def test_where_nothing_is_left_to_write_only_the_files_are_reported() -> None:
    written = kubeadm_config.plan(TEXT, Persisted(), arg("v", "5")).after
    assert lines(report.UNCHANGED, text=written) == []
    assert len(lines(report.UNCHANGED, text=written, files=["/a"])) == 1
    assert lines(report.NOT_REQUESTED, text=written) == []


def test_what_is_skipped_has_its_reason() -> None:
    place = SettingKey(API_SERVER, "feature_gates", "A")
    found = lines(report.WRITTEN, skipped={place: "no reason"})
    assert found[-1] == "kube-apiserver feature_gates A is not kept in kubeadm-config: no reason."


@pytest.mark.parametrize("ending", [report.NOT_REQUESTED, report.FAILED, report.PLANNED])
def test_a_refusal_is_reported_with_what_is_lost(ending: str) -> None:
    found = lines(ending, refusal="minikube renders it", text=None)
    assert "kube-apiserver args v" in found[0]
    assert found[1] == "kubeadm-config is not written: minikube renders it"


@pytest.mark.parametrize("ending", [report.FAILED, report.PLANNED])
def test_unreadable_config_is_reported_although_nothing_is_desired(ending: str) -> None:
    outlook = report.PersistenceReport(ending, "it could not be read", Entries({}, {}, []), None, {})
    assert report.report_lines(outlook, diff=False) == ["kubeadm-config is not written: it could not be read"]


def test_the_difference_is_shown_on_demand() -> None:
    assert "+  - name: v" in lines(report.NOT_REQUESTED, diff=True)
    assert not any(line.startswith(("+", "-")) for line in lines(report.NOT_REQUESTED))

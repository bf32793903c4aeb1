# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module's parameters, and what it passes to the runner."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import runner
from ansible_collections.nodecraft.kubeadm.plugins.modules import static_pod_plan
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples

Start = t.Callable[..., t.Any]
SHARED = (
    "state",
    "purge",
    "force",
    "restore_removed",
    "canary",
    "canary_namespace",
    "canary_image",
    "manifest_dir",
    "rehearse",
    "rollback",
    "wait_timeout",
    "min_ready_seconds",
)
CONFIRM = ("confirm", "confirm_timeout", "confirm_url", "confirm_ca_cert", "lock_timeout", "acknowledge")


@pytest.fixture(name="calls")
def fixture_calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[t.Any, t.Any, bool]]:
    given: list[tuple[t.Any, t.Any, bool]] = []

    def run_plans(module: t.Any, plans: t.Any, *, rehearse: bool) -> None:
        given.append((module, plans, rehearse))

    monkeypatch.setattr(runner, "run_plans", run_plans)
    return given


def test_an_entry_has_the_settings_of_a_static_pod(start: Start, calls: list[tuple[t.Any, t.Any, bool]]) -> None:
    start(
        static_pod_plan.main,
        static_pods={
            "etcd": {"only_if_changed": "yes"},
            "kube-scheduler": None,
            "kube-apiserver": {
                "volumes": [{"name": "a", "host_path": "/a", "mount_path": "/a"}],
                "files": [{"path": "/a/b", "content": "x"}],
            },
        },
        rehearse=False,
    )
    ((module, plans, rehearse),) = calls
    assert rehearse is False
    alone = samples.parameters(rehearse=False)
    settings = {key: value for key, value in alone.items() if key not in (*SHARED, *CONFIRM, "name")}
    entries = module.params.pop("static_pods")
    assert module.params == {"persist_env": None, **{key: alone[key] for key in (*SHARED, *CONFIRM)}}
    assert list(entries) == ["etcd", "kube-scheduler", "kube-apiserver"]
    assert entries["kube-scheduler"] == {**settings, "only_if_changed": False}
    assert entries["etcd"] == {**settings, "only_if_changed": True}
    assert entries["kube-apiserver"]["volumes"] == [samples.volume("a", "/a")]
    assert entries["kube-apiserver"]["files"] == [samples.file("/a/b", "x")]
    assert plans.report(None, {}) == {
        "static_pods": {},
        "others": {},
        "unreadable_files": [],
        "node": None,
        "cluster": {"ca_sha256": "", "server": "", "machine_id": ""},
        "kubeadm_config": {"problem": "the node was not read", "version": ""},
        "kubelet_problem": None,
        "busy": False,
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "missing required arguments: static_pods"),
        (
            {"static_pods": {"etcd": "on"}},
            "static_pods: invalid entry 'on' of etcd: must be a mapping with feature_gates,",
        ),
        ({"static_pods": {"etcd": {"arg": {}}}}, "static_pods: etcd: arg"),
        ({"static_pods": {"etcd": {"state": "absent"}}}, "static_pods: etcd: state"),
        ({"static_pods": {"etcd": {"volumes": [{"name": "a"}]}}}, "static_pods: etcd: state is present but all of"),
        ({"static_pods": {}, "args": {}}, "Unsupported parameters"),
    ],
)
def test_bad_parameters_are_refused(
    start: Start,
    calls: list[tuple[t.Any, t.Any, bool]],
    capsys: pytest.CaptureFixture[str],
    given: dict[str, t.Any],
    message: str,
) -> None:
    with pytest.raises(SystemExit):
        start(static_pod_plan.main, **given)
    assert message in str(json.loads(capsys.readouterr().out)["msg"])
    assert calls == []

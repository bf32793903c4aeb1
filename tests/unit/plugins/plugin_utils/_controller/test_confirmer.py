# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What could not be confirmed is refused when it is planned."""

from __future__ import annotations

import types
import typing as t

import pytest
from ansible.plugins.action import ActionBase
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.confirmer import StaticPodPlanner

URL = "https://lb:6443/readyz"


def plan(name: str, **more: t.Any) -> dict[str, t.Any]:
    """The plan of one static pod."""
    same = {"changed": False, "failed": False, "msg": None, "open_transaction": None, "busy": False}
    return {"name": name, "node": "cp1", **same, **more}


def run(
    monkeypatch: pytest.MonkeyPatch, module_result: dict[str, t.Any], *, problem: str, **args: t.Any
) -> tuple[dict[str, t.Any], list[bool]]:
    """The result of a task, and whether its calls were in check mode."""
    monkeypatch.setattr(ActionBase, "run", lambda plugin, tmp=None, task_vars=None: {})
    plugin = object.__new__(StaticPodPlanner)
    plugin._task = t.cast("t.Any", types.SimpleNamespace(args={"confirm": True, "confirm_url": URL, **args}))
    plugin._task.check_mode = False
    checked: list[bool] = []

    def execute(module_args: t.Any, task_vars: t.Any) -> dict[str, t.Any]:
        checked.append(plugin._task.check_mode)
        return dict(module_result)

    # What they do needs a node, and an API server.
    plugin._execute_module = t.cast("t.Any", execute)  # type: ignore[method-assign]
    plugin.connection_problem = lambda: problem  # type: ignore[method-assign]
    return plugin.run(task_vars={"inventory_hostname": "cp1"}), checked


def test_what_is_within_reach_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    module_result = {"changed": False, "static_pods": {"etcd": plan("etcd", changed=True)}}
    assert run(monkeypatch, module_result, problem="") == (module_result, [False])


def test_each_change_that_could_not_be_confirmed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = {
        "etcd": plan("etcd", changed=True),
        "kube-scheduler": plan("kube-scheduler"),
        "kube-apiserver": plan("kube-apiserver", failed=True, msg="refused in the rehearsal"),
        "kube-vip": plan("kube-vip", open_transaction={"id": "1"}),
    }
    module_result = {
        "failed": True,
        "busy": False,
        "changed": False,
        "static_pods": plans,
        "msg": "kube-apiserver: refused",
    }
    result, checked = run(monkeypatch, module_result, problem="503")
    assert checked == [True]
    assert (result["failed"], result["busy"]) == (True, False)
    assert [name for name, found in result["static_pods"].items() if found["failed"]] == [
        "etcd",
        "kube-apiserver",
        "kube-vip",
    ]
    assert f"etcd: etcd on cp1: this controller does not reach confirm_url {URL} (503)" in result["msg"]
    assert "; kube-apiserver: refused in the rehearsal; kube-vip: kube-vip on cp1: this" in result["msg"]


def test_a_change_out_of_reach_is_no_busy_node(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = {"etcd": plan("etcd", changed=True), "kube-vip": plan("kube-vip", failed=True, msg="open", busy=True)}
    module_result = {"failed": True, "busy": True, "static_pods": plans, "msg": "kube-vip: open."}
    assert run(monkeypatch, module_result, problem="503")[0]["busy"] is False


@pytest.mark.parametrize(
    "module_result",
    [
        {"changed": False, "static_pods": {"etcd": plan("etcd")}, "busy": False},
        {"failed": True, "busy": False, "static_pods": {}, "msg": "no kubelet"},
        {"failed": True, "msg": "MODULE FAILURE"},
    ],
)
def test_without_a_change_nothing_needs_to_be_reached(
    monkeypatch: pytest.MonkeyPatch, module_result: dict[str, t.Any]
) -> None:
    assert run(monkeypatch, module_result, problem="503") == (module_result, [True])


def test_without_confirm_nothing_is_queried(monkeypatch: pytest.MonkeyPatch) -> None:
    module_result = {"static_pods": {"etcd": plan("etcd", changed=True)}}
    assert run(monkeypatch, module_result, problem="503", confirm=False) == (module_result, [False])

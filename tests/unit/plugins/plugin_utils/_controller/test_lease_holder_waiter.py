# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is displayed while a run waits for another one."""

from __future__ import annotations

import types
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller import lease_holder
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller.lease_holder import LeaseWaiter

BUSY = {"failed": True, "busy": True, "holder": "them", "msg": "waited 0 s, and the run them is in progress."}
ACQUIRED = {"failed": False, "busy": False, "holder": "us"}
SILENT = {"failed": True, "busy": False, "holder": None, "msg": "no API server answers"}


class Run:
    """One task. messages: what it displayed meanwhile. timeouts: how long each call of the module may wait."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.messages: list[str] = []
        self.timeouts: list[t.Any] = []
        self.gone: list[t.Any] = []
        self.async_val = 0
        monkeypatch.setattr(lease_holder, "show_progress", lambda message, _seconds: self.messages.append(message))

    def __call__(self, *results: dict[str, t.Any], **arguments: t.Any) -> dict[str, t.Any]:
        plugin = object.__new__(LeaseWaiter)
        plugin._task = t.cast("t.Any", types.SimpleNamespace(async_val=self.async_val))
        plugin._connection = t.cast("t.Any", types.SimpleNamespace(has_native_async=False))
        left = list(results)

        def execute(*, module_args: dict[str, t.Any], **_options: t.Any) -> dict[str, t.Any]:
            self.timeouts.append(module_args.get("wait_timeout"))
            self.gone.append(module_args.get("gone"))
            return left.pop(0)

        plugin._execute_module = t.cast("t.Any", execute)  # type: ignore[method-assign]
        return plugin._run_module(arguments, {"inventory_hostname": "cp1"})


@pytest.fixture(name="run")
def fixture_run(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch)


@pytest.mark.parametrize("result", [ACQUIRED, SILENT])
def test_nothing_to_wait_for(run: Run, result: dict[str, t.Any]) -> None:
    assert run(result, wait_timeout=30) == result
    assert (run.timeouts, run.messages) == ([0], [])


def test_whom_a_run_waits_for_is_shown_before_it_does(run: Run) -> None:
    assert run(BUSY, ACQUIRED, wait_timeout=30, name="nodecraft-kubeadm-kubelets") == ACQUIRED
    assert run.timeouts == [0, 30]
    assert run.messages == ["cp1: waits up to 30 s for them, which holds the Lease nodecraft-kubeadm-kubelets"]


def test_run_that_is_gone_is_not_waited_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_holder, "is_gone", lambda name: name == "them")
    assert run(BUSY, ACQUIRED, wait_timeout=30) == ACQUIRED
    assert (run.timeouts, run.gone, run.messages) == ([0, 0], [None, "them"], [])


def test_in_the_background_the_module_waits_itself(run: Run) -> None:
    run.async_val = 60
    started = {"ansible_job_id": "1", "started": 1}
    assert run(started, wait_timeout=30) == started
    assert run.timeouts == [30]


def test_how_long_by_default(run: Run) -> None:
    assert run(BUSY, BUSY) == BUSY
    assert run.timeouts == [0, None]
    assert run.messages == ["cp1: waits up to 600 s for them, which holds the Lease nodecraft-kubeadm-control-plane"]


@pytest.mark.parametrize("timeout", [0, "0"])
def test_one_that_must_not_wait_does_not(run: Run, timeout: t.Any) -> None:
    assert run(BUSY, wait_timeout=timeout) == BUSY
    assert (run.timeouts, run.messages) == ([0], [])

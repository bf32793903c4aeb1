# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A task on a busy node calls its module again, for as long as it may wait."""

from __future__ import annotations

import types
import typing as t

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller import lock_waiter

BUSY = {"failed": True, "busy": True, "msg": "a change of etcd on cp1 is open."}
DONE = {"changed": True, "busy": False, "invocation": {"module_args": {"env": {"TOKEN": "secret"}}}}


class Run:
    """One run of the plugin. slow: how long a call takes beside the time that it waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.slow = 100.0, 0.5
        self.lines: list[str] = []
        self.calls: list[t.Any] = []
        # The plugin lives in Ansible's own process: its clock and its screen are not handed to it.
        monkeypatch.setattr(lock_waiter, "time", types.SimpleNamespace(monotonic=lambda: self.now, sleep=self._pass))
        monkeypatch.setattr(
            lock_waiter, "display", types.SimpleNamespace(display=lambda line, stderr: self.lines.append(line))
        )
        monkeypatch.setattr(ActionBase, "run", lambda plugin, tmp=None, task_vars=None: {})

    def _pass(self, seconds: float) -> None:
        self.now += seconds

    def __call__(self, args: dict[str, t.Any], *results: t.Any) -> dict[str, t.Any]:
        plugin = object.__new__(lock_waiter.LockWaiter)
        plugin._task = t.cast("t.Any", types.SimpleNamespace(args=args))
        queue = list(results)

        def execute(module_args: t.Any, task_vars: t.Any) -> dict[str, t.Any]:
            self.calls.append(module_args)
            result = queue.pop(0) if len(queue) > 1 else queue[0]
            if isinstance(result, Exception):
                raise result
            self._pass(self.slow + (float(module_args.get("lock_timeout") or 0) if result.get("busy") else 0))
            return dict(result)

        # What it does needs a node.
        plugin._execute_module = t.cast("t.Any", execute)  # type: ignore[method-assign]
        return plugin.run(task_vars={"inventory_hostname": "host1"})


@pytest.fixture(name="run")
def fixture_run(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch)


@pytest.mark.parametrize("args", [{"name": "etcd"}, {"lock_timeout": 0}, {"lock_timeout": None}])
def test_without_a_time_to_wait_a_busy_node_is_reported_at_once(run: Run, args: dict[str, t.Any]) -> None:
    assert run(args, BUSY) == BUSY
    assert run.calls == [args]
    assert run.lines == []


@pytest.mark.parametrize("wrong", ["soon", -1, ["1"]])
def test_what_is_no_time_is_left_to_the_module(run: Run, wrong: t.Any) -> None:
    refused = {"failed": True, "msg": "lock_timeout", "busy": False}
    assert run({"lock_timeout": wrong}, refused) == refused
    assert run.calls == [{"lock_timeout": wrong}]


@pytest.mark.parametrize("given", [600, "600"])
def test_a_node_that_gets_free_is_gone_on_with(run: Run, given: t.Any) -> None:
    assert run({"name": "etcd", "lock_timeout": given}, BUSY, BUSY, DONE) == {"changed": True, "busy": False}
    assert run.calls == [{"name": "etcd", "lock_timeout": seconds} for seconds in (1, 15, 15)]
    assert run.lines == ["host1: waits up to 600 s: a change of etcd on cp1 is open, 2 s"]


def test_what_is_waited_for_is_shown_again_when_it_is_something_else(run: Run) -> None:
    run({"lock_timeout": 60}, BUSY, {**BUSY, "msg": "another"}, {**BUSY, "msg": "another"}, DONE)
    assert [line.rpartition(",")[0].rpartition(": ")[2] for line in run.lines] == [
        "a change of etcd on cp1 is open",
        "another",
    ]


def test_a_node_that_stays_busy_is_reported_with_the_time_that_was_waited(run: Run) -> None:
    result = run({"lock_timeout": 20}, BUSY)
    assert (result["failed"], result["busy"]) == (True, True)
    assert result["msg"] == f"waited for 20 s (lock_timeout), nothing was changed: {BUSY['msg']}"
    # What is free only then is not given up.
    assert [call["lock_timeout"] for call in run.calls] == [1, 15, 1, 0]
    assert 120 <= run.now < 125


def test_a_failure_of_another_kind_ends_the_wait(run: Run) -> None:
    refused = {"failed": True, "msg": "refused", "busy": False}
    assert run({"lock_timeout": 600}, BUSY, refused) == refused


def test_a_lost_connection_ends_the_wait(run: Run) -> None:
    """The node changes nothing in a call that waited, and a run to come starts from the beginning."""
    with pytest.raises(AnsibleConnectionFailure):
        run({"lock_timeout": 600}, BUSY, AnsibleConnectionFailure("gone"))


def test_connection_lost_behind_a_result_does_not_replace_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ansible would take it for the result: a change that was sent would count as one that never began."""
    forced: list[bool] = []

    def remove(plugin: ActionBase, force: bool = False) -> None:
        forced.append(force)
        raise AnsibleConnectionFailure("gone")

    monkeypatch.setattr(ActionBase, "cleanup", remove)
    object.__new__(lock_waiter.LockWaiter).cleanup(force=True)
    assert forced == [True]

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A component that another program starts: kube-log-runner, nice, tini. Its own program and flags are those behind."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import Process
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod.static_pods import instance_of
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods

OWN = ["kube-scheduler", "--leader-elect=true", "--leader-elect-resource-name", "kube-scheduler"]
WRAPPERS = [
    ["/go-runner", "--log-file=/var/log/kube-scheduler.log", "--also-stdout=true"],
    ["/go-runner", "--log-file=/var/log/kube-scheduler", "--also-stdout"],
    ["/go-runner", "--log-file", "/var/log/kube-scheduler"],
    ["/usr/bin/nice", "-n", "-5"],
    ["/usr/bin/taskset", "-c", "0-1", "nice", "-n-5"],
    ["/usr/bin/env", "GOMAXPROCS=2"],
    ["/sbin/tini", "--"],
]
GATE = {"feature_gates": {"SchedulerAsyncPreemption": False}}


def _state(command: t.Sequence[str], args: t.Sequence[str] = ()) -> t.Any:
    start = static_pods.SCHEDULER.index("  - command:")
    end = static_pods.SCHEDULER.index("    image: ")
    lists = f"  - command: {json.dumps(command)}\n" + (f"    args: {json.dumps(args)}\n" if args else "")
    text = static_pods.SCHEDULER[:start] + lists + static_pods.SCHEDULER[end:]
    return static_pods.state(text)


def _splits(wrapper: t.Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """The same command line in one list and in two."""
    return [([*wrapper, *OWN], []), ([*wrapper, OWN[0]], OWN[1:]), (list(wrapper[:1]), [*wrapper[1:], *OWN])]


CASES = [split for wrapper in WRAPPERS for split in _splits(wrapper)]


@pytest.mark.parametrize(("command", "args"), CASES)
def test_own_program_and_flags_are_found(command: list[str], args: list[str]) -> None:
    manifest = _state(command, args).manifest
    assert (manifest.program, manifest.entrypoint, manifest.arguments) == ("kube-scheduler", "kube-scheduler", OWN)
    assert manifest.expected_arguments() == OWN
    assert manifest.values()["args"] == {
        "leader-elect": ["true"],
        "leader-elect-resource-name": ["kube-scheduler"],
    }


@pytest.mark.parametrize(("command", "args"), CASES)
def test_change_reaches_the_component_and_is_reverted(command: list[str], args: list[str]) -> None:
    before = _state(command, args)
    done = static_pods.planned(before, name="kube-scheduler", args={"leader-elect": ["false"]}, **GATE)
    own = [OWN[0], "--leader-elect=false", *OWN[2:], "--feature-gates=SchedulerAsyncPreemption=false"]
    assert done.after.arguments == own
    assert done.after.command_line == [*command, *args][: -len(OWN)] + own
    back = static_pods.planned(static_pods.following(done, before), name="kube-scheduler", purge=True)
    assert back.after.text == before.manifest.text


@pytest.mark.parametrize("flag", ["also-stdout", "log-file", "n"])
@pytest.mark.parametrize(("command", "args"), CASES)
def test_flags_of_the_wrapper_are_not_touched(command: list[str], args: list[str], flag: str) -> None:
    before = _state(command, args)
    assert static_pods.planned(before, name="kube-scheduler", args={flag: None}).operations == ()


@pytest.mark.parametrize("line", [OWN, ["/go-runner", "--log-file=/var/log/kube-scheduler.log", *OWN]])
def test_process_is_recognised_whether_the_wrapper_stays_or_not(line: list[str]) -> None:
    instance = instance_of(_state(["/go-runner", "--log-file=/var/log/kube-scheduler.log", *OWN]).manifest)
    assert Process("u", 1, "c", tuple(line)).runs(instance["arguments"], of_image=instance["of_image"])
    assert not Process("u", 1, "c", (*line, "--v=2")).runs(instance["arguments"], of_image=instance["of_image"])


def test_secret_of_the_wrapper_is_hidden() -> None:
    before = _state(["/go-runner", "--log-file=/var/log/$(NAME)", *OWN])
    changed = static_pods.planned(before, name="kube-scheduler", env={"NAME": "secret"})
    assert changed.after.hidden == {"secret": "$(NAME)"}


@pytest.mark.parametrize(
    "command", [["/bin/sh", "-c", "exec kube-scheduler"], ["nice", "/bin/sh", "-c", "kube-scheduler --v=2"]]
)
def test_shell_is_refused(command: list[str]) -> None:
    with pytest.raises(Refusal, match=r"started by a shell \(/bin/sh\)"):
        static_pods.planned(_state(command), name="kube-scheduler", **GATE)

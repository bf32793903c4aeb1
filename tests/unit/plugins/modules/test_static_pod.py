# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module's parameters, and what it passes to the runner."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import node_module, pyyaml, runner
from ansible_collections.nodecraft.kubeadm.plugins.modules import static_pod
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples

Start = t.Callable[..., t.Any]


class RunnerCall(t.NamedTuple):
    """The arguments of the runner."""

    module: t.Any
    steps: t.Any
    rehearse: bool


@pytest.fixture(name="calls")
def fixture_calls(monkeypatch: pytest.MonkeyPatch) -> list[RunnerCall]:
    given: list[RunnerCall] = []

    def run(module: t.Any, steps: t.Any, *, rehearse: bool) -> None:
        given.append(RunnerCall(module, steps, rehearse))

    monkeypatch.setattr(runner, "run_steps", run)
    return given


def test_parameters_are_not_printed_with_the_result(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    """A connection shows at -vvv what a module prints."""
    with pytest.raises(SystemExit):
        start(static_pod.main, name="kube-apiserver", env={"TOKEN": "hush"}, wait_timeout=0)
    output = capsys.readouterr().out
    assert "wait_timeout" in output
    assert "hush" not in output


def failure(capsys: pytest.CaptureFixture[str]) -> str:
    return str(json.loads(capsys.readouterr().out)["msg"])


def test_the_defaults(start: Start, calls: list[RunnerCall]) -> None:
    start(static_pod.main, name="kube-apiserver")
    ((module, steps, rehearse),) = calls
    assert module.params == samples.parameters()
    assert rehearse is True
    assert module.supports_check_mode
    assert steps.report(None, None)["name"] == "kube-apiserver"


def test_suboptions_have_their_defaults(start: Start, calls: list[RunnerCall]) -> None:
    start(
        static_pod.main,
        name="kube-apiserver",
        volumes=[{"name": "a", "host_path": "/a", "mount_path": "/a"}, {"name": "b", "state": "absent"}],
        files=[{"path": "/a/b", "content": "x"}, {"path": "/a/c", "state": "absent"}],
        rehearse="no",
    )
    params = calls[0].module.params
    assert params["volumes"][0] == samples.volume("a", "/a")
    assert params["files"][0] == samples.file("/a/b", "x")
    assert calls[0].rehearse is False


def test_state_previous_is_accepted(start: Start, calls: list[RunnerCall]) -> None:
    start(static_pod.main, name="kube-apiserver", state="previous")
    assert calls[0].module.params == samples.parameters(state="previous")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "missing required arguments: name"),
        ({"name": "x", "feature_gate": {}}, "feature_gate"),
        ({"name": "x", "volumes": [{"name": "a"}]}, "host_path, mount_path"),
        ({"name": "x", "files": [{"path": "/a"}]}, "content"),
        ({"name": "x", "state": "gone"}, "must be one of: present, absent, previous"),
        ({"name": "x", "volumes": [{"name": "a", "state": "absent", "path_type": "Dir"}]}, "path_type"),
        ({"name": "x", "wait_timeout": "soon"}, "wait_timeout"),
        ({"name": "x", "files": [{"path": "/a", "state": "previous"}]}, "must be one of: present, absent"),
    ],
)
def test_bad_parameters_are_refused(
    start: Start, calls: list[RunnerCall], capsys: pytest.CaptureFixture[str], given: dict[str, t.Any], message: str
) -> None:
    with pytest.raises(SystemExit):
        start(static_pod.main, **given)
    assert message in failure(capsys)
    assert calls == []


def test_without_root_the_way_out_is_named(
    start: Start, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit):
        start(static_pod.main, name="kube-apiserver")
    assert "become: true" in failure(capsys)


@pytest.mark.parametrize("respawned", [True, False])
def test_without_pyyaml_the_package_is_named(
    start: Start, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], respawned: bool
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(pyyaml, "yaml", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "yaml" else find(name, *rest))
    monkeypatch.setattr(pyyaml, "has_respawned", lambda: respawned)
    monkeypatch.setattr(pyyaml, "probe_interpreters_for_module", lambda paths, module: None)
    with pytest.raises(SystemExit):
        start(static_pod.main, name="kube-apiserver")
    assert f"PyYAML is missing for {sys.executable}, which is Python 3." in (found := failure(capsys))
    assert "/usr/bin/python3 cannot be used instead" in found
    assert "python3-yaml" in found


@pytest.mark.parametrize(("status", "goes_on"), [(0, True), (1, False)])
def test_the_systems_python_steps_in_when_it_is_new_enough(
    start: Start, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], status: int, goes_on: bool
) -> None:
    """RHEL 8 has PyYAML for a Python 3.6 that understands nothing of this."""
    commands: list[list[str]] = []
    respawned: list[str] = []
    monkeypatch.setattr(pyyaml, "yaml", None)
    monkeypatch.setattr(pyyaml, "has_respawned", lambda: False)
    monkeypatch.setattr(pyyaml, "probe_interpreters_for_module", lambda paths, module: paths[0])
    monkeypatch.setattr(pyyaml, "respawn_module", respawned.append)

    def run(module: node_module.NodeModule, arguments: list[str], **_options: t.Any) -> tuple[int, str, str]:
        commands.append(arguments)
        return status, "", ""

    monkeypatch.setattr(node_module.NodeModule, "run_command", run)
    with pytest.raises(SystemExit):
        start(static_pod.main, name="kube-apiserver")
    assert commands == [["/usr/bin/python3", "-c", "import sys; sys.exit(sys.version_info < (3, 9))"]]
    assert respawned == (["/usr/bin/python3"] if goes_on else [])
    assert "PyYAML is missing" in failure(capsys)


def test_parameters_do_not_reach_the_nodes_log(
    start: Start, calls: list[RunnerCall], monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[t.Any] = []
    monkeypatch.setattr(node_module.NodeModule, "log", lambda module, *given, **more: logged.append((given, more)))
    start(static_pod.main, name="kube-apiserver", env={"TOKEN": "secret"})
    assert "secret" not in repr(logged)


def test_programs_are_run_literally_and_in_the_c_locale(
    start: Start, calls: list[RunnerCall], monkeypatch: pytest.MonkeyPatch
) -> None:
    start(static_pod.main, name="kube-apiserver")
    assert calls[0].module.run(["printf", "%s", "$HOME ~"]) == (0, "$HOME ~", "")
    assert calls[0].module.run(["printenv", "LC_ALL"])[1] == "C\n"

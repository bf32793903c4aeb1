# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Units that start the kubelet in other ways than kubeadm's: behind nice or taskset, with files by wildcards, without a variable."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.file_values import TextFile
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet import plan as kubelet
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.kubelet_state import State
from ansible_collections.nodecraft.kubeadm.tests.unit.support import kubelets

DROP_IN = "/etc/systemd/system/kubelet.service.d/15-site.conf"
ENV_DIR = "/etc/kubernetes/kubelet.env.d"
START = "/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS"
WRAPPERS = [
    "/usr/bin/nice -n -5",
    "-/usr/bin/ionice -c2 -n0",
    "/usr/bin/taskset -c 0-1 /usr/bin/nice -n -5",
    "/usr/bin/nice $NICE_ARGS",
    "/usr/bin/env --unset=A",
]


def _with(text: str, files: t.Mapping[str, str] | None = None, **given: t.Any) -> State:
    state = kubelets.state(drop_ins={DROP_IN: f"[Service]\n{text}\n"}, **given)
    extra = {path: TextFile.of(path, content).version for path, content in (files or {}).items()}
    return dataclasses.replace(state, environment={**state.environment, **extra})


def _running(state: State) -> State:
    return dataclasses.replace(state, running=tuple(state.layout().command))


@pytest.mark.parametrize(
    "start", [START, "/opt/kubelet-1.37 $KUBELET_CONFIG_ARGS", "/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml"]
)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_kubelet_behind_a_wrapper_is_changed_as_without(wrapper: str, start: str) -> None:
    wrapped = _running(_with(f"ExecStart=\nExecStart={wrapper} {start}"))
    plain = _running(_with(f"ExecStart=\nExecStart={start}"))
    assert wrapped.running == plain.running
    desired = kubelets.desired(config={"maxPods": 60}, args={"v": "3"})
    done = kubelet.plan(desired, wrapped)
    assert done.operations
    assert done.after.command == kubelet.plan(desired, plain).after.command
    changed = kubelets.after(wrapped, done)
    assert kubelet.plan(desired, changed).operations == ()
    assert kubelets.after(changed, kubelet.plan(kubelets.desired(state="absent"), changed)) == wrapped


def test_wrapper_that_stays_is_refused_with_its_line() -> None:
    state = _with(f"ExecStart=\nExecStart=/usr/bin/systemd-run --scope {START}")
    state = dataclasses.replace(state, running=("/usr/bin/systemd-run", "--scope", *state.layout().command))
    with pytest.raises(Refusal, match=rf"{DROP_IN}:3: /usr/bin/systemd-run starts the kubelet and stays .* Nice="):
        kubelet.plan(kubelets.desired(config={"maxPods": 60}), state)


def test_kubelet_without_its_path_behind_a_wrapper_is_refused() -> None:
    with pytest.raises(Refusal, match=rf"{DROP_IN}:3: .*Write the whole path of the kubelet behind /usr/bin/env"):
        _with("ExecStart=\nExecStart=/usr/bin/env kubelet --v=2").layout()


@pytest.mark.parametrize(
    ("pattern", "names", "value"),
    [
        ("*.env", ["10-site.env", "20-site.env"], "20-site.env"),
        ("*.env", ["b.env", "B.env", ".c.env", "c.conf"], "b.env"),
        ("1?-[a-s]*", ["10-site.env", "10-x.env", "1-a"], "10-site.env"),
        (".*", [".a", "b"], ".a"),
    ],
)
@pytest.mark.parametrize("dash", ["", "-"])
def test_environment_files_are_read_by_wildcards(dash: str, pattern: str, names: list[str], value: str) -> None:
    files = {f"{ENV_DIR}/{name}": f'KUBELET_EXTRA_ARGS="--node-labels=from={name}"\n' for name in names}
    state = _running(_with(f"EnvironmentFile={dash}{ENV_DIR}/{pattern}", files))
    assert state.layout().command[-1] == f"--node-labels=from={value}"
    assert kubelet.plan(kubelets.desired(config={"maxPods": 60}), state).operations


@pytest.mark.parametrize(
    "path", ["relative.env", '"/etc/quoted.env"', f"{ENV_DIR}/a.env {ENV_DIR}/b.env", f"{ENV_DIR}/sub/*.env"]
)
def test_paths_that_name_no_file_set_nothing(path: str) -> None:
    files = {f"{ENV_DIR}/{name}.env": "KUBELET_EXTRA_ARGS=--v=9\n" for name in "ab"}
    assert _with(f"EnvironmentFile=-{path}", files).layout().command == kubelets.BASE.split()


@pytest.mark.parametrize(
    ("text", "is_unset"),
    [
        ("UnsetEnvironment=KUBELET_KUBEADM_ARGS", True),
        ("UnsetEnvironment=A KUBELET_KUBEADM_ARGS B", True),
        ('UnsetEnvironment="KUBELET_KUBEADM_ARGS=--node-ip=10.0.0.1"', True),
        ("UnsetEnvironment=KUBELET_KUBEADM_ARGS=--node-ip=10.0.0.2", False),
        ("UnsetEnvironment=KUBELET_KUBEADM_ARGS\nUnsetEnvironment=", False),
        ("PassEnvironment=KUBELET_KUBEADM_ARGS HOME", False),
    ],
)
def test_unset_variables_are_honoured(text: str, is_unset: bool) -> None:
    assert ("--node-ip=10.0.0.1" not in _with(text).layout().command) is is_unset


def test_variable_that_is_unset_is_not_used_for_ours() -> None:
    state = _running(_with("UnsetEnvironment=KUBELET_CONFIG_ARGS"))
    done = kubelet.plan(kubelets.desired(args={"v": "3"}), state)
    assert "--v=3" in done.after.command
    changed = kubelets.after(state, done)
    assert kubelets.after(changed, kubelet.plan(kubelets.desired(state="absent"), changed)) == state


def test_passed_variable_of_the_command_is_refused_with_its_line() -> None:
    start = "ExecStart=\nExecStart=/usr/bin/kubelet ${SITE_ARGS}\nPassEnvironment=SITE_ARGS"
    with pytest.raises(Refusal, match=rf"{DROP_IN}:4: PassEnvironment=SITE_ARGS .* Write Environment=SITE_ARGS=VALUE"):
        _with(start).layout()
    assert _with(f"{start}\nUnsetEnvironment=SITE_ARGS").layout().command == ["/usr/bin/kubelet", ""]


@pytest.mark.parametrize("start", [START, "/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml"])
@pytest.mark.parametrize("name", ["15-site.conf", "90-site.conf"])
def test_variables_that_a_drop_in_takes_away(name: str, start: str) -> None:
    path = f"/etc/systemd/system/kubelet.service.d/{name}"
    text = f"[Service]\nEnvironment=\nEnvironment=A=b\nExecStart=\nExecStart={start}\n"
    state = _running(kubelets.state(drop_ins={path: text}))
    desired = kubelets.desired(args={"v": "3"})
    if name > "20":
        with pytest.raises(
            Refusal, match=rf"^{path}:2: an empty Environment= .* Write there Environment=NAME= .* again\.$"
        ):
            kubelet.plan(desired, state)
        assert kubelet.plan(kubelets.desired(state="absent"), state).operations == ()
        return
    done = kubelet.plan(desired, state)
    assert "--v=3" in done.after.command
    changed = kubelets.after(state, done)
    assert kubelets.after(changed, kubelet.plan(kubelets.desired(state="absent"), changed)) == state

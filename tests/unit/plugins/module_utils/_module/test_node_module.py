# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that a module starts on its node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible.module_utils import basic
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module import node_module
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._module.node_module import NodeModule


@pytest.fixture(name="module")
def fixture_module(monkeypatch: pytest.MonkeyPatch) -> NodeModule:
    """A module without options, as root."""
    arguments = json.dumps({"ANSIBLE_MODULE_ARGS": {"_ansible_remote_tmp": "/tmp"}})  # noqa: S108  # nothing is put there
    monkeypatch.setattr(basic, "_ANSIBLE_ARGS", arguments.encode())
    monkeypatch.setattr(basic, "_ANSIBLE_PROFILE", "legacy", raising=False)  # core 2.19 and newer
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return NodeModule({})


def test_a_program_that_is_not_there_does_not_end_the_module(
    module: NodeModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin")
    status, output, error = module.run(["no-such-program", "--version"])
    assert (status, output) == (127, "")
    assert error == "there is no program no-such-program in /usr/local/bin:/usr/bin:/usr/local/sbin:/opt/bin"


def test_program_that_cannot_be_started_is_an_error(module: NodeModule, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("", encoding="ascii")
    assert module.run([str(program)]) == (127, "", f"{program}: Permission denied")


def test_programs_are_found_outside_the_path_of_sudo(
    module: NodeModule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "crictl"
    program.write_text('#!/bin/sh\necho "found $*"\n', encoding="ascii")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(node_module, "_MORE_PROGRAMS", (str(tmp_path),))
    assert module.run(["crictl", "version"]) == (0, "found version\n", "")

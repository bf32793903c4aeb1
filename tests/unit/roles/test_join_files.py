# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook that puts files on a control plane before it joins, on a node that is a directory of this machine."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage


def play(stage: Stage, directory: Path, *options: str) -> Outcome:
    files = [
        {"path": f"{directory}/policy/a.yaml", "content": {"kind": "Policy"}, "mode": "0640"},
        {"path": f"{directory}/keys.yaml", "content": "very secret", "sensitive": True},
    ]
    volumes = [{"name": "log", "host_path": f"{directory}/log", "mount_path": "/log", "path_type": "Directory"}]
    variables: Json = {"control_plane_components": {"kube-apiserver": {"files": files, "volumes": volumes}}}
    return stage.playbook("join_files", {"kube_control_plane": {"cp4": variables}}, *options)


def test_files_are_there_with_their_modes_and_a_second_run_changes_nothing(stage: Stage, tmp_path: Path) -> None:
    directory = tmp_path / "node"
    dry = play(stage, directory, "--check", "--diff")
    assert dry.status == 0, dry.output
    assert not directory.exists()
    first = play(stage, directory, "--diff", "-vv")
    assert first.status == 0, first.output
    assert (directory / "policy/a.yaml").read_text(encoding="utf-8") == '{\n  "kind": "Policy"\n}\n'
    assert [path.stat().st_mode & 0o777 for path in (directory / "policy/a.yaml", directory / "keys.yaml")] == [
        0o640,
        0o600,
    ]
    assert (directory / "log").is_dir()
    assert '+  "kind": "Policy"' in first.output
    assert "very secret" not in dry.output + first.output
    assert "changed=0" in play(stage, directory).output.partition("cp4 ")[2]

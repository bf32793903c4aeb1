# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The image of an archive, loaded into the nodes that get the plugin."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.device_plugin_role import OURS, Play, written
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json


@pytest.fixture(name="runtime")
def fixture_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that stands in for the node's container runtime."""
    directory = tmp_path / "runtime"
    directory.mkdir()
    (directory / "right").touch()
    monkeypatch.setenv("STUB_RUNTIME", str(directory))
    (tmp_path / "image.tar").write_text("an image", encoding="utf-8")
    return directory


ARCHIVE: Json = {**OURS, "device_plugin_image_archive": "{{ playbook_dir }}/image.tar"}
ONE_NODE = {"stub_selected": ["node-w2"]}


def test_an_image_is_loaded_where_the_plugin_goes(play: Play, runtime: Path) -> None:
    changed = {"post_tasks": [{"ansible.builtin.debug": {"var": "device_plugin_report.changed"}}]}
    outcome = play(ARCHIVE, "-v", stub={**ONE_NODE, "stub_same": True}, **changed)
    assert outcome.status == 0, outcome.output
    assert '"device_plugin_report.changed": true' in outcome.output
    assert (runtime / "archive").read_text(encoding="utf-8") == "an image"
    assert (runtime / "imports").read_text(encoding="utf-8") == f"{OURS['device_plugin_image']}\n"
    (load,) = [call for call in outcome.calls if call["component"] == "node_image"]
    # Whoever could make files in it could replace the archive until it is read.
    assert load["directory"] == "drwx------"
    directory = Path(load["arguments"]["archive"]).parent
    assert (directory.parent, directory.exists()) == (Path("/var/tmp"), False)  # noqa: S108


def test_check_mode_loads_nothing(play: Play, runtime: Path) -> None:
    outcome = play(ARCHIVE, "--check", stub=ONE_NODE)
    assert outcome.status == 0, outcome.output
    assert not (runtime / "imports").exists()
    assert "w2                         : ok" in outcome.output
    assert "changed=2" in outcome.output


def test_an_archive_of_another_image(play: Play, runtime: Path) -> None:
    (runtime / "right").unlink()
    outcome = play(ARCHIVE, stub=ONE_NODE)
    assert outcome.status != 0
    assert f"there is still no image {OURS['device_plugin_image']}" in outcome.output
    assert written(outcome) == {}

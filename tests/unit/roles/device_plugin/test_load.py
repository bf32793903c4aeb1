# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The image of an archive, loaded into the nodes that get the plugin."""

from __future__ import annotations

import hashlib
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


@pytest.fixture(name="archive")
def fixture_archive(tmp_path: Path) -> Json:
    """The variables. The image is of this test alone, and so is the file that is named after it in a directory of this machine."""
    tag = hashlib.sha256(str(tmp_path).encode()).hexdigest()[:12]
    image = f"localhost/nodecraft-device-plugin:{tag}"
    return {**OURS, "device_plugin_image": image, "device_plugin_image_archive": "{{ playbook_dir }}/image.tar"}


ONE_NODE = {"stub_selected": ["node-w2"]}


def test_an_image_is_loaded_where_the_plugin_goes(play: Play, runtime: Path, archive: Json) -> None:
    changed = {"post_tasks": [{"ansible.builtin.debug": {"var": "device_plugin_report.changed"}}]}
    before = set(Path("/var/tmp").glob("nodecraft-device-plugin*"))  # noqa: S108
    outcome = play(archive, "-v", stub={**ONE_NODE, "stub_same": True}, **changed)
    assert outcome.status == 0, outcome.output
    assert '"device_plugin_report.changed": true' in outcome.output
    assert (runtime / "archive").read_text(encoding="utf-8") == "an image"
    assert (runtime / "imports").read_text(encoding="utf-8") == f"{archive['device_plugin_image']}\n"
    assert before == set(Path("/var/tmp").glob("nodecraft-device-plugin*"))  # noqa: S108


def test_a_planted_file_is_not_loaded(play: Play, runtime: Path, archive: Json) -> None:
    """Its owner could write to it until it is read."""
    digest = hashlib.sha256(archive["device_plugin_image"].encode()).hexdigest()[:12]
    planted = Path(f"/var/tmp/nodecraft-device-plugin-{digest}.tar")  # noqa: S108
    planted.write_text("planted", encoding="utf-8")
    try:
        assert play(archive, stub=ONE_NODE).status == 0
        assert planted.read_text(encoding="utf-8") == "planted"
    finally:
        planted.unlink(missing_ok=True)


def test_check_mode_loads_nothing(play: Play, runtime: Path, archive: Json) -> None:
    outcome = play(archive, "--check", stub=ONE_NODE)
    assert outcome.status == 0, outcome.output
    assert not (runtime / "imports").exists()
    assert "w2                         : ok" in outcome.output
    assert "changed=2" in outcome.output


def test_an_archive_of_another_image(play: Play, runtime: Path, archive: Json) -> None:
    (runtime / "right").unlink()
    outcome = play(archive, stub=ONE_NODE)
    assert outcome.status != 0
    assert f"there is still no image {archive['device_plugin_image']}" in outcome.output
    assert written(outcome) == {}

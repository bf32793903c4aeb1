# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which commands the playbook that builds our image runs, and when it runs none."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage

# Notes how it was called and what was in the directory; what it saves is its own note.
BUILDER = """#!/bin/sh
test "$1" = --version && exit "$(cat "$STATE/answers" 2>/dev/null || echo 0)"
echo "$(basename "$0") $*" >> "$STATE/calls"
for last; do :; done
case $1 in
  build) (cd "$last" && find . -type f ! -name '*.pyc' | sort) >> "$STATE/$(basename "$last")" ;;
  save) while test "$1" != --output; do shift; done; cp "$STATE/calls" "$2" ;;
esac
"""

Build = t.Callable[..., Outcome]


@pytest.fixture(name="state")
def fixture_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for what podman, docker and buildah note."""
    directory, programs = tmp_path / "state", tmp_path / "programs"
    directory.mkdir()
    programs.mkdir()
    for name in ("podman", "docker", "buildah"):
        program = programs / name
        program.write_text(BUILDER, encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("STATE", str(directory))
    return directory


@pytest.fixture(name="build")
def fixture_build(stage: Stage, state: Path) -> Build:
    """Run the playbook."""

    def build(*options: str, **variables: t.Any) -> Outcome:
        build_variables: Json = {
            "device_plugin_image": "localhost/nodecraft-device-plugin:1",
            "device_plugin_image_archive": str(state / "image.tar"),
            **{f"device_plugin_image_{name}": value for name, value in variables.items()},
        }
        # An inventory may set that all hosts become root, and the controller may have no program for that.
        controller = {"ansible_become": True, "ansible_become_exe": str(state / "no-sudo")}
        return stage.playbook(
            "device_plugin_image", {"controllers": {"localhost": controller}}, *options, variables=build_variables
        )

    return build


def calls(state: Path) -> list[str]:
    """The commands of the programs, without the directory of this run."""
    lines = (state / "calls").read_text(encoding="utf-8").splitlines() if (state / "calls").exists() else []
    return [line.partition(" --file")[0] for line in lines]


@pytest.mark.slice
def test_the_image_is_built_once(build: Build, state: Path) -> None:
    outcome = build(base="python:3.12", build_options=["--network=host"])
    assert outcome.status == 0, outcome.output
    built = "podman build --network=host --tag localhost/nodecraft-device-plugin:1"
    saved = f"podman save --quiet --format docker-archive --output {state}/image.tar.part localhost/nodecraft-device-plugin:1"
    assert calls(state) == [built, saved]
    assert " --build-arg BASE_IMAGE=python:3.12 " in (state / "calls").read_text(encoding="utf-8")
    files = (state / "plugin").read_text(encoding="utf-8").split()
    assert {"./Containerfile", "./pyproject.toml", "./src/nodecraft_device_plugin/cli.py"} <= set(files)
    assert not any(name.startswith("./tests") for name in files)
    assert (state / "image.tar").exists()
    outcome = build(base="python:3.12", build_options=["--network=host"])
    assert "changed=0" in outcome.output.rpartition("localhost")[2]
    assert len(calls(state)) == 2


def test_the_keyword_of_a_play_builds_nothing(stage: Stage, state: Path) -> None:
    role = {"include_role": {"name": "nodecraft.kubeadm.device_plugin", "tasks_from": "image"}}
    image: Json = {"device_plugin_image": "localhost/plugin:1", "device_plugin_image_archive": str(state / "image.tar")}
    outcome = stage.play({"controllers": {"localhost": {}}}, vars=image, check_mode=True, tasks=[role])
    assert outcome.status == 0, outcome.output
    assert f"localhost/plugin:1 in {state}/image.tar, by podman" in outcome.output
    assert "changed=1" in outcome.output
    assert calls(state) == []


def test_without_a_registry_and_an_index(build: Build, state: Path) -> None:
    (state / "wheels").mkdir()
    (state / "wheels" / "grpcio.whl").write_text("wheel", encoding="utf-8")
    (state / "root.tar").write_text("root", encoding="utf-8")
    outcome = build(root=str(state / "root.tar"), wheels=str(state / "wheels"), builder="docker")
    assert outcome.status == 0, outcome.output
    base, image, archive = calls(state)
    assert base.startswith("docker build --tag localhost/nodecraft-device-plugin-base:")
    assert f"BASE_IMAGE={base.split()[-1]} " in (state / "calls").read_text(encoding="utf-8")
    assert image == "docker build --tag localhost/nodecraft-device-plugin:1"
    assert archive.startswith("docker save --output ")
    assert "./wheels/grpcio.whl" in (state / "plugin").read_text(encoding="utf-8").split()
    assert (state / "base").read_text(encoding="utf-8").split() == ["./Containerfile", "./root.tar"]


def test_what_could_not_be_built_is_refused(build: Build, state: Path) -> None:
    outcome = build(wheels="/nowhere")
    assert outcome.status != 0
    assert "/nowhere." in outcome.output
    assert calls(state) == []

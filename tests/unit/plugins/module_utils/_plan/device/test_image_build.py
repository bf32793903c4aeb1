# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the image of our device plugin is built."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.device import image_build
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.device.image_build import (
    BuildInputs,
    ImageRequest,
)

REQUEST = ImageRequest(name="localhost/p:1", archive="/p.tar", source="/source", build_options=["--network=host"])
FOUND = BuildInputs(
    builders={"podman": False, "docker": True, "buildah": True},
    sources=[["a"], ["b"]],
    wheels=[],
    root=None,
    recipe=None,
)


def plan(request: ImageRequest = REQUEST, found: BuildInputs = FOUND) -> dict[str, t.Any]:
    return image_build.plan(request, found)


def test_the_first_program_that_starts_builds() -> None:
    made = plan()
    assert (made["refusal"], made["builder"], made["part"]) == ("", "docker", "/p.tar.part")
    assert (made["build"], made["base_argument"]) == (["docker", "build", "--network=host"], [])


@pytest.mark.parametrize(
    ("builder", "save"),
    [
        ("podman", "podman save --quiet --format docker-archive --output /p.tar.part localhost/p:1"),
        ("docker", "docker save --output /p.tar.part localhost/p:1"),
        ("buildah", "buildah push --quiet localhost/p:1 docker-archive:/p.tar.part:localhost/p:1"),
    ],
)
def test_each_program_writes_an_archive_in_its_way(builder: str, save: str) -> None:
    assert plan(found=dataclasses.replace(FOUND, builders={builder: True}))["save"] == save.split()


def test_what_the_image_is_built_on() -> None:
    assert plan(dataclasses.replace(REQUEST, base="python:3"))["base_argument"] == [
        "--build-arg",
        "BASE_IMAGE=python:3",
    ]
    rooted = plan(dataclasses.replace(REQUEST, root="/r.tar"), dataclasses.replace(FOUND, root="0123456789abcdef"))
    assert rooted["root_image"] == "localhost/nodecraft-device-plugin-base:0123456789ab"
    assert rooted["base_argument"] == ["--build-arg", f"BASE_IMAGE={rooted['root_image']}"]
    assert plan()["root_image"] == "localhost/nodecraft-device-plugin-base:none"


@pytest.mark.parametrize(
    ("request_", "found"),
    [
        ({"name": "localhost/p:2"}, {}),
        ({"base": "python:3"}, {}),
        ({"build_options": []}, {}),
        ({"root": "/r.tar"}, {"root": "a"}),
        ({}, {"sources": [["a"], ["c"]]}),
        ({"wheels": "/w"}, {"wheels": ["d"]}),
    ],
)
def test_another_image_is_built_again(request_: dict[str, t.Any], found: dict[str, t.Any]) -> None:
    recipe = plan()["recipe"]
    assert plan()["needed"]
    assert not plan(found=dataclasses.replace(FOUND, recipe=recipe))["needed"]
    assert plan(dataclasses.replace(REQUEST, **request_), dataclasses.replace(FOUND, recipe=recipe, **found))["needed"]


def test_the_order_of_files_does_not_matter() -> None:
    one, other = (dataclasses.replace(FOUND, sources=[files], wheels=files) for files in (["a", "b"], ["b", "a"]))
    assert plan(found=one)["recipe"] == plan(found=other)["recipe"]


@pytest.mark.parametrize(
    ("request_", "found", "message"),
    [
        ({"name": "p:1"}, {}, "device_plugin_image (p:1) has to have a registry"),
        ({"name": "localhost/p@sha256:" + 64 * "0"}, {}, "has to have a registry"),
        ({"base": "a:1", "root": "/r.tar"}, {"root": "a"}, "only one of device_plugin_image_base and"),
        ({}, {"builders": {"podman": False, "docker": False}}, "None of podman, docker can be started here"),
        ({}, {"sources": [["a"], []]}, "Missing or empty: /source."),
        ({"wheels": "/w", "root": "/r.tar"}, {}, "Missing or empty: /w, /r.tar."),
    ],
)
def test_what_cannot_be_built(request_: dict[str, t.Any], found: dict[str, t.Any], message: str) -> None:
    made = plan(dataclasses.replace(REQUEST, **request_), dataclasses.replace(FOUND, **found))
    assert message in made["refusal"]


def test_what_is_requested_and_there() -> None:
    there = dataclasses.replace(FOUND, wheels=["a"], root="b")
    for more in {"wheels": "/w", "root": "/r.tar"}, {"base": "python:3"}:
        assert plan(dataclasses.replace(REQUEST, **more), there)["refusal"] == ""


def test_results_of_modules() -> None:
    files = {"files": [{"checksum": "a"}, {"checksum": "b"}]}
    skipped = {"skipped": True}
    assert image_build.inputs_from_results(
        [{"item": "podman", "rc": 2}, {"item": "docker", "rc": 0}, {"item": "buildah"}],
        [files],
        skipped,
        skipped,
        {"stat": {"exists": False}},
        "r",
    ) == BuildInputs({"podman": False, "docker": True, "buildah": False}, [["a", "b"]], [], None, None)
    found = image_build.inputs_from_results(
        [], [], files, {"stat": {"exists": True, "checksum": "c"}}, {"stat": {"exists": True}}, "r"
    )
    assert (found.wheels, found.root, found.recipe) == (["a", "b"], "c", "r")
    assert (
        image_build.inputs_from_results([], [], {}, {"stat": {"exists": False}}, {"stat": {"exists": True}}, "").root
        is None
    )

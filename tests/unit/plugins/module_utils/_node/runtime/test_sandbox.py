# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the sandbox shows of the host: the files of the change, and what is to be made. Mounting needs the lab."""

from __future__ import annotations

import base64
import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime import sandbox
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime.sandbox import (
    build_root,
    provide_path,
    resolve_within,
)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_staged_file_is_shown_with_its_new_content(tmp_path: Path) -> None:
    source, target = tmp_path / "host" / "policy.yaml", tmp_path / "root" / "etc" / "policy.yaml"
    provide_path(str(source), str(target), None, {str(source): encoded("new")})
    assert target.read_text(encoding="utf-8") == "new"


def test_a_file_that_goes_is_not_shown(tmp_path: Path) -> None:
    source, target = tmp_path / "policy.yaml", tmp_path / "root" / "policy.yaml"
    source.write_text("old", encoding="utf-8")
    provide_path(str(source), str(target), None, {str(source): None})
    assert not target.exists()


def test_a_directory_is_composed_of_staged_files_and_links(tmp_path: Path) -> None:
    source, target = tmp_path / "host", tmp_path / "root"
    source.mkdir()
    (source / "link").symlink_to("a")
    staged: dict[str, str | None] = {
        f"{source}/a": encoded("A"),
        f"{source}/sub/b": encoded("B"),
        f"{source}x/c": encoded("not below"),
    }
    provide_path(str(source), str(target), None, staged)
    assert sorted(os.listdir(target)) == ["a", "link", "sub"]
    assert (target / "a").read_text(encoding="utf-8") == "A"
    assert (target / "sub" / "b").read_text(encoding="utf-8") == "B"
    assert os.readlink(target / "link") == "a"


def test_a_directory_that_does_not_exist_yet_holds_its_staged_files(tmp_path: Path) -> None:
    target = tmp_path / "root"
    provide_path(str(tmp_path / "none"), str(target), "directory", {f"{tmp_path}/none/x/y": encoded("Y")})
    assert (target / "x" / "y").read_text(encoding="utf-8") == "Y"


def test_what_the_kubelet_would_make_is_made(tmp_path: Path) -> None:
    provide_path(str(tmp_path / "none"), str(tmp_path / "directory"), "directory", {})
    provide_path(str(tmp_path / "none"), str(tmp_path / "new" / "file"), "file", {})
    assert (tmp_path / "directory").is_dir()
    assert (tmp_path / "new" / "file").read_bytes() == b""


def test_what_has_to_exist_is_an_error_when_it_does_not(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as error:
        provide_path(str(tmp_path / "none"), str(tmp_path / "target"), None, {})
    assert error.value.filename == str(tmp_path / "none")


# Entries of these directories are links, since nothing else can be shown without mounting it.


def test_a_directory_in_which_another_volume_is_shown_is_composed_around_it(tmp_path: Path) -> None:
    outer, inner, root = tmp_path / "kubernetes", tmp_path / "controls", tmp_path / "root"
    for directory, link in ((outer, "admin.conf"), (inner, "policy.yaml")):
        directory.mkdir()
        (directory / link).symlink_to("elsewhere")
    mounts: list[dict[str, t.Any]] = [
        {"source": str(inner), "target": "/etc/kubernetes/admission-controls", "missing": None},
        {"source": str(outer), "target": "/etc/kubernetes", "missing": None},
    ]
    build_root(str(root), mounts, {f"{inner}/events.yaml": encoded("events")})
    etc_kubernetes = root / "etc/kubernetes"
    assert sorted(os.listdir(etc_kubernetes)) == ["admin.conf", "admission-controls"]
    assert sorted(os.listdir(etc_kubernetes / "admission-controls")) == ["events.yaml", "policy.yaml"]
    assert list(outer.iterdir()) == [outer / "admin.conf"]


def test_volumes_are_shown_in_the_components_own_root(tmp_path: Path) -> None:
    image, root = tmp_path / "image", tmp_path / "root"
    (image / "usr").mkdir(parents=True)
    (image / "usr/lib64").symlink_to("lib")
    (image / "lib64").symlink_to("usr/lib64")
    (image / "etc").symlink_to("/usr/etc")
    (image / "usr/etc").symlink_to("../usr/conf")
    mounts: list[dict[str, t.Any]] = [
        {"source": str(tmp_path / "none"), "target": "/etc/policies", "missing": "directory"},
        {"source": str(image), "target": "/", "missing": None},
    ]
    build_root(str(root), mounts, {})
    assert os.readlink(root / "lib64") == "usr/lib64"
    assert os.readlink(root / "usr/lib64") == "lib"
    assert (root / "usr/conf/policies").is_dir()
    assert (root / "tmp").is_dir()
    assert not (tmp_path / "usr").exists()


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/a/b", "/a/b"),
        ("/absolute/x", "/usr/x"),
        ("/relative/x", "/usr/x"),
        ("/usr/up/x", "/x"),
        ("/../../x/./y", "/x/y"),
        ("/loop/x", "/loop/x"),
        ("/", ""),
    ],
)
def test_links_are_followed_within_a_root(tmp_path: Path, path: str, found: str) -> None:
    (tmp_path / "usr").mkdir()
    links = {"absolute": "/usr", "relative": "./usr", "usr/up": "../..", "loop": "/loop"}
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    assert resolve_within(str(tmp_path), path) == f"{tmp_path}{found}"


def test_what_may_be_written_is_mounted_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounted: list[tuple[t.Any, ...]] = []
    monkeypatch.setattr(sandbox, "_mount", lambda *arguments: mounted.append(arguments))
    output, root = tmp_path / "output", tmp_path / "root"
    output.mkdir()
    build_root(str(root), [{"source": str(output), "target": "/written", "missing": None, "writable": True}], {})
    assert mounted == [(str(output), f"{root}/written", None, 4096)]

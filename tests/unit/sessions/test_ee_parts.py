# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An image is built from artifacts alone, and what is none of this collection is refused with what to do."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT
from ansible_collections.nodecraft.kubeadm.tests.sessions import ee_parts

Json = ee_parts.Json
PLUGIN = "plugins/a.py"


def installed(directory: Path, namespace: str = "nodecraft", name: str = "kubeadm") -> Path:
    """A collection as the package of Ansible has it: a file that is listed is not there."""
    files = [{"name": ".", "ftype": "dir"}, {"name": "plugins", "ftype": "dir"}]
    files += [{"name": each, "ftype": "file", "chksum_sha256": "of Galaxy"} for each in (PLUGIN, "tests/b.py")]
    info = {"namespace": namespace, "name": name, "version": "1.2.3"}
    about = {"collection_info": info, "file_manifest_file": {"name": ee_parts.FILES, "chksum_sha256": "of Galaxy"}}
    (directory / "plugins").mkdir(parents=True)
    (directory / PLUGIN).write_text("A = 1\n", encoding="utf-8")
    (directory / ee_parts.MANIFEST).write_text(json.dumps(about), encoding="utf-8")
    (directory / ee_parts.FILES).write_text(json.dumps({"files": files}), encoding="utf-8")
    return directory


def packed(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "artifact.tar.gz"
    path.write_bytes(content)
    return path


def test_an_installed_collection_is_packed_with_what_is_there(tmp_path: Path) -> None:
    name, content = ee_parts.packed_collection(installed(tmp_path / "one"))
    assert name == "nodecraft-kubeadm-1.2.3.tar.gz"
    assert (name, content) == ee_parts.packed_collection(tmp_path / "one")
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        assert archive.getnames() == [ee_parts.MANIFEST, ee_parts.FILES, ".", "plugins", PLUGIN]
        listed = json.loads(ee_parts.member(archive, ee_parts.FILES))["files"]
    assert listed[-1]["chksum_sha256"] == hashlib.sha256(b"A = 1\n").hexdigest()
    assert ee_parts.check_artifact(packed(tmp_path, content)) == name


def test_what_is_no_artifact_of_this_collection_is_refused(tmp_path: Path) -> None:
    other = ee_parts.packed_collection(installed(tmp_path / "other", "kubernetes", "core"))[1]
    good = ee_parts.packed_collection(installed(tmp_path / "good"))[1]
    for content, sentence in (
        (b"no archive", "cannot be read as such"),
        (good[: len(good) // 2], "cannot be read as such"),
        (other, "must be an artifact of nodecraft.kubeadm, and it is one of kubernetes.core"),
    ):
        with pytest.raises(ee_parts.WrongArtifact, match=sentence):
            ee_parts.check_artifact(packed(tmp_path, content))
    with pytest.raises(ee_parts.WrongArtifact, match="must be a file"):
        ee_parts.check_artifact(tmp_path)


def test_a_file_that_was_changed_since_is_named(tmp_path: Path) -> None:
    content = ee_parts.packed_collection(installed(tmp_path / "good"))[1]
    changed = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(content)) as archive, tarfile.open(fileobj=changed, mode="w:gz") as target:
        for member in archive.getmembers():
            is_file = member.isfile()
            old = ee_parts.member(archive, member.name) if is_file else None
            ee_parts.add(target, member.name, b"A = 2\n" if member.name == PLUGIN else old)
    with pytest.raises(ee_parts.WrongArtifact, match=rf"checksums do not match \({PLUGIN}\)"):
        ee_parts.check_artifact(packed(tmp_path, changed.getvalue()))


def test_the_definition_takes_files_instead_of_galaxy() -> None:
    original = yaml.safe_load((ROOT / "ee" / "execution-environment.yml").read_text(encoding="utf-8"))
    before = json.dumps(original)
    made = ee_parts.definition(original, collections=["a.tar.gz", "b.tar.gz"], base="localhost/base:1", core="2.21.5")
    assert json.dumps(original) == before
    assert made["images"]["base_image"]["name"] == "localhost/base:1"
    assert made["dependencies"]["ansible_core"]["package_pip"] == "ansible-core==2.21.5"
    assert [each["type"] for each in made["dependencies"]["galaxy"]["collections"]] == ["file", "file"]
    assert made["build_arg_defaults"] == {"ANSIBLE_GALAXY_CLI_COLLECTION_OPTS": "--offline"}
    sources = [each["src"] for each in made["additional_build_files"]]
    assert sources == ["a.tar.gz", "b.tar.gz", ee_parts.CONSTRAINTS]


@pytest.mark.parametrize(
    ("lost", "named"),
    [
        ({"packages": {"ansible": "1", "ansible_runner": "1", "jsonpatch": "1"}}, ["the Python package kubernetes"]),
        ({"collections": {"nodecraft.kubeadm": "1"}}, ["the collection kubernetes.core"]),
        ({"programs": []}, [f"the program {name}" for name in ee_parts.PROGRAMS]),
        ({}, []),
    ],
    ids=["API package", "collection", "programs", "nothing"],
)
def test_what_an_image_lacks_is_named(lost: Json, named: list[str]) -> None:
    whole: Json = {
        "collections": dict.fromkeys(ee_parts.COLLECTIONS, "1"),
        "packages": dict.fromkeys(ee_parts.PACKAGES, "1"),
        "programs": list(ee_parts.PROGRAMS),
    }
    assert ee_parts.Contents(**{**whole, **lost}).missing() == named


def test_the_tag_of_a_base_names_what_it_is_made_from() -> None:
    assert ee_parts.base_tag("trixie", ["a", "b"]) == ee_parts.base_tag("trixie", ["b", "a"])
    assert ee_parts.base_tag("trixie", ["a"]) != ee_parts.base_tag("bookworm", ["a"])

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of what an artifact or an image consists of names all of it, and has the same bytes each time."""

from __future__ import annotations

import io
import json
import sys
import tarfile
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.release import sbom

Json = dict[str, t.Any]
FILES = [{"name": ".", "ftype": "dir"}, {"name": "a.py", "ftype": "file", "chksum_sha256": "a" * 64}]
ABOUT = {
    "namespace": "nodecraft",
    "name": "kubeadm",
    "version": "0.1.0",
    "license": ["GPL-3.0-or-later", "Apache-2.0"],
    "dependencies": {"kubernetes.core": ">=6.0.0"},
}
STATUS = (
    "Package: libc6\nStatus: install ok installed\nVersion: 2.36-9+deb12u1\n\n"
    "Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n"
)
SITE = "usr/lib/python3/site-packages"


def packed(files: t.Mapping[str, str | bytes]) -> bytes:
    """A tar archive."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        for name, text in files.items():
            content = text.encode() if isinstance(text, str) else text
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return whole.getvalue()


def metadata(name: str, version: str, licence: str = "") -> str:
    """What an installed Python package says of itself."""
    return f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n" + (
        licence and f"License-Expression: {licence}\n"
    )


def written(directory: Path, content: bytes) -> str:
    """The document of an archive."""
    source, target = directory / "whole.tar", directory / "whole.cdx.json"
    source.write_bytes(content)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["sbom.py", str(source), str(target)])
        sbom.main()
    return target.read_text("utf-8")


@pytest.fixture(name="artifact")
def fixture_artifact() -> bytes:
    """An artifact with one file."""
    return packed(
        {
            sbom.ABOUT: json.dumps({"collection_info": ABOUT}),
            sbom.FILES: json.dumps({"files": FILES}),
            sbom.REQUIREMENTS: "# a comment\nPyYAML\nkubernetes>=24.2.0\n",
        }
    )


@pytest.fixture(name="image")
def fixture_image() -> bytes:
    """An image of two layers; the second removes a package, replaces another, empties a directory and removes one at the top."""
    first = {
        "./var/lib/dpkg/status": STATUS,
        "usr/lib/os-release": 'NAME="Debian GNU/Linux"\nID=debian\n',
        f"{SITE}/old-1.dist-info/METADATA": metadata("old", "1"),
        f"{SITE}/Kept-2.dist-info/METADATA": metadata("Kept", "2", "MIT"),
        "opt/x/lost-3.dist-info/METADATA": metadata("lost", "3"),
        "srv/lost-4.dist-info/METADATA": metadata("lost", "4"),
    }
    second = {
        f"{SITE}/.wh.old-1.dist-info": "",
        f"{SITE}/old-2.dist-info/METADATA": metadata("old", "2"),
        "opt/x/.wh..wh..opq": "",
        "./.wh.srv": "",
    }
    about = [{"Config": "c.json", "RepoTags": ["localhost:5000/plugin:1"], "Layers": ["1.tar", "2.tar"]}]
    return packed({"manifest.json": json.dumps(about), "c.json": "{}", "1.tar": packed(first), "2.tar": packed(second)})


def parts_of(text: str) -> dict[str, Json]:
    """The components by their references."""
    return {part["bom-ref"]: part for part in json.loads(text)["components"]}


def test_an_artifact_lists_its_files_and_what_it_needs(tmp_path: Path, artifact: bytes) -> None:
    found = json.loads(text := written(tmp_path, artifact))
    parts, whole = parts_of(text), found["metadata"]["component"]
    assert (whole["name"], whole["version"], len(whole["hashes"])) == ("nodecraft.kubeadm", "0.1.0", 1)
    assert whole["licenses"] == [{"expression": "GPL-3.0-or-later AND Apache-2.0"}]
    assert parts["file:a.py"]["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]
    needed = {
        name: part.get("properties", [{"value": ""}])[0]["value"] for name, part in parts.items() if "purl" in part
    }
    assert needed == {
        "pkg:generic/kubernetes.core": ">=6.0.0",
        "pkg:pypi/kubernetes": ">=24.2.0",
        "pkg:pypi/pyyaml": "",
    }
    assert found["dependencies"][0] == {"ref": whole["bom-ref"], "dependsOn": sorted(parts)}


def test_an_image_lists_the_packages_that_its_last_layer_leaves(tmp_path: Path, image: bytes) -> None:
    found = json.loads(text := written(tmp_path, image))
    assert (found["metadata"]["component"]["name"], found["metadata"]["component"]["version"]) == (
        "localhost:5000/plugin",
        "1",
    )
    assert sorted(parts_of(text)) == ["pkg:deb/debian/libc6@2.36-9%2Bdeb12u1", "pkg:pypi/kept@2", "pkg:pypi/old@2"]
    assert parts_of(text)["pkg:pypi/kept@2"]["licenses"] == [{"expression": "MIT"}]


@pytest.mark.parametrize("kind", ["artifact", "image"])
def test_it_has_the_same_bytes_each_time(tmp_path: Path, request: pytest.FixtureRequest, kind: str) -> None:
    content = request.getfixturevalue(kind)
    text = written(tmp_path, content)
    assert text == written(tmp_path, content)
    assert "timestamp" not in json.loads(text)["metadata"]


def test_another_content_has_another_serial_number(tmp_path: Path, artifact: bytes, image: bytes) -> None:
    serials = {json.loads(written(tmp_path, content))["serialNumber"] for content in (artifact, image)}
    assert len(serials) == 2

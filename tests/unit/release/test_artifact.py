# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An artifact has the same bytes whenever and wherever it was built, and is still what ansible-galaxy checks."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import typing as t

from ansible_collections.nodecraft.kubeadm.release.artifact import FILES, MANIFEST, TIME, reproducible

README, PLUGINS, PLUGIN = "README.md", "plugins", "plugins/a.py"
CONTENTS = {README: b"# Read\n", PLUGINS: None, PLUGIN: b"A = 1\n"}


def built(names: t.Sequence[str], time: int) -> bytes:
    """An artifact of CONTENTS as ansible-galaxy builds it, with the files in this order and of this time."""
    entries = [{"name": name, "ftype": "dir" if CONTENTS[name] is None else "file", "format": 1} for name in names]
    files = json.dumps({"files": [{"name": ".", "ftype": "dir", "format": 1}, *entries]}, indent=True).encode()
    about = {"name": FILES, "chksum_sha256": hashlib.sha256(files).hexdigest()}
    manifest = json.dumps({"file_manifest_file": about, "format": 1}, indent=True).encode()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in ((MANIFEST, manifest), (FILES, files), *((name, CONTENTS[name]) for name in names)):
            member = tarfile.TarInfo(name)
            member.mtime, member.size, member.mode = time, len(content or b""), 0o644
            if content is None:
                member.type, member.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(member, io.BytesIO(content or b""))
    return packed.getvalue()


def test_order_and_time_of_the_files_make_no_difference() -> None:
    one, other = built([README, PLUGINS, PLUGIN], 1_700_000_000), built([PLUGINS, PLUGIN, README], 1_800_000_000)
    assert one != other
    assert reproducible(one) == reproducible(other)
    assert reproducible(reproducible(one)) == reproducible(one)


def test_the_header_reports_neither_time_nor_name_nor_system() -> None:
    magic, deflate, flags, time, best, unknown = b"\x1f\x8b", b"\x08", b"\0", bytes(4), b"\x02", b"\xff"
    assert reproducible(built([README], 1))[:10] == magic + deflate + flags + time + best + unknown


def test_another_content_makes_a_difference() -> None:
    assert reproducible(built([README, PLUGINS, PLUGIN], 1)) != reproducible(built([README], 1))


def test_the_artifact_holds_what_it_held_under_its_checksums() -> None:
    with tarfile.open(fileobj=io.BytesIO(reproducible(built([PLUGINS, PLUGIN, README], 1)))) as archive:
        found = {member.name: member for member in archive}
        contents = {name: stream.read() for name in found if (stream := archive.extractfile(name))}
    assert list(found) == [MANIFEST, FILES, README, PLUGINS, PLUGIN]
    assert {name: contents.get(name) for name in CONTENTS} == CONTENTS
    assert found[PLUGINS].isdir()
    assert {(member.mtime, member.mode) for member in found.values()} == {(TIME, 0o644), (TIME, 0o755)}
    about = json.loads(contents[MANIFEST])["file_manifest_file"]
    assert about["chksum_sha256"] == hashlib.sha256(contents[FILES]).hexdigest()
    assert [entry["name"] for entry in json.loads(contents[FILES])["files"]] == [".", README, PLUGINS, PLUGIN]

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the artifact of C(ansible-galaxy collection build) the same each time: the same files give the same bytes, whenever and wherever it is built.

``artifact.py SOURCE TARGET``. Of itself ansible-galaxy takes files in the order of their directories, and their times. Standard library only.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path

MANIFEST, FILES = "MANIFEST.json", "FILES.json"
TIME = 315532800  # 1980, as in archives that cannot tell an earlier time; tar warns of 1970


def main() -> None:
    """Write one artifact, in place of a former one."""
    source, target = map(Path, sys.argv[1:])
    target.write_bytes(reproducible(source.read_bytes()))


def reproducible(artifact: bytes) -> bytes:
    """The artifact with its files in the order of their names, and without times."""
    with tarfile.open(fileobj=io.BytesIO(artifact)) as archive:
        found = {member.name: (member, read(archive, member)) for member in archive}
    manifest, files = (json.loads(found[name][1]) for name in (MANIFEST, FILES))
    files["files"].sort(key=lambda entry: entry["name"])
    listed = dumped(files)
    manifest["file_manifest_file"]["chksum_sha256"] = hashlib.sha256(listed).hexdigest()
    changed = {MANIFEST: dumped(manifest), FILES: listed}
    packed = io.BytesIO()
    # Versions of Python differ in the header that gzip.compress writes. What says what is in it comes first, as ansible-galaxy has it.
    with (
        gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for name in sorted(found, key=lambda name: (name != MANIFEST, name != FILES, name)):
            member, content = found[name]
            content = changed.get(name, content)
            member.size, member.mtime, member.pax_headers = len(content), TIME, {}
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def read(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """The content of a file; empty for what is none."""
    stream = archive.extractfile(member) if member.isreg() else None
    return stream.read() if stream else b""


def dumped(value: object) -> bytes:
    """JSON as ansible-galaxy writes it."""
    return json.dumps(value, indent=True).encode()


if __name__ == "__main__":
    main()

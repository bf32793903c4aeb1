# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write what an artifact or an image consists of as a CycloneDX document, with the same bytes each time.

``sbom.py SOURCE TARGET``. SOURCE: the collection's artifact, or an image as C(podman save) and C(docker save) write it. It has neither time
nor random number; its serial number comes from its content. Standard library only.
"""

from __future__ import annotations

import dataclasses
import email.parser
import hashlib
import json
import re
import sys
import tarfile
import typing as t
import uuid
from pathlib import Path, PurePosixPath
from urllib.parse import quote

Json = dict[str, t.Any]
ABOUT, FILES, REQUIREMENTS = "MANIFEST.json", "FILES.json", "meta/ee-requirements.txt"
IMAGE = "manifest.json"
DPKG = "var/lib/dpkg/status"
SYSTEM = "etc/os-release"
# The first is a link to the second where a distribution keeps to the rules.
SYSTEM_FILES = (SYSTEM, "usr/lib/os-release")
REQUIREMENT = re.compile(r"([\w.-]+)\s*(.*)")
REMOVED, EMPTIED = ".wh.", ".wh..wh..opq"


@dataclasses.dataclass(frozen=True, order=True)
class Component:
    """A part of something. requires: the versions it may have, where it is not part but needed."""

    kind: str
    name: str
    version: str = ""
    purl: str = ""
    sha256: str = ""
    licence: str = ""
    requires: str = ""

    @property
    def reference(self) -> str:
        """By what the document refers to it."""
        return self.purl or f"{self.kind}:{self.name}"

    def document(self) -> Json:
        """As CycloneDX has it."""
        more = {
            "version": self.version,
            "purl": self.purl,
            "hashes": [{"alg": "SHA-256", "content": self.sha256}] if self.sha256 else [],
            "licenses": [{"expression": self.licence}] if self.licence else [],
            "properties": [{"name": "nodecraft:requires", "value": self.requires}] if self.requires else [],
        }
        return {
            "type": self.kind,
            "bom-ref": self.reference,
            "name": self.name,
            **{key: value for key, value in more.items() if value},
        }


def main() -> None:
    """Write one document."""
    source, target = map(Path, sys.argv[1:])
    with tarfile.open(source) as archive:
        of = of_image if IMAGE in archive.getnames() else of_artifact
        whole, parts = of(archive, source)
    target.write_text(document(whole, parts), encoding="utf-8")


def document(whole: Component, parts: t.Iterable[Component]) -> str:
    """The text of the document."""
    ordered = sorted(set(parts))
    body = {
        "metadata": {"component": whole.document()},
        "components": [part.document() for part in ordered],
        "dependencies": [
            {"ref": whole.reference, "dependsOn": sorted({part.reference for part in ordered})},
            *({"ref": reference} for reference in sorted({part.reference for part in ordered})),
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{serial}", "version": 1}
    return json.dumps({**head, **body}, indent=2) + "\n"


# ---- the artifact ----------------------------------------------------------------------------------------------------


def of_artifact(archive: tarfile.TarFile, source: Path) -> tuple[Component, list[Component]]:
    """The collection: its files, and what it needs beside them."""
    about = json.loads(content_of(archive, ABOUT))["collection_info"]
    files = json.loads(content_of(archive, FILES))["files"]
    licence = " AND ".join(about["license"])
    sha256 = hashlib.sha256(source.read_bytes()).hexdigest()
    whole = collection(f"{about['namespace']}.{about['name']}", about["version"], sha256=sha256, licence=licence)
    parts = [
        Component("file", entry["name"], sha256=entry["chksum_sha256"]) for entry in files if entry["ftype"] == "file"
    ]
    needed = [collection(name, requires=bound) for name, bound in about["dependencies"].items()]
    packages = required_packages(content_of(archive, REQUIREMENTS).decode())
    return whole, [*parts, *needed, *packages]


def collection(name: str, version: str = "", **more: str) -> Component:
    """A collection."""
    return Component("library", name, version, purl("generic", name, version), **more)


def required_packages(text: str) -> list[Component]:
    """The Python packages of a file with requirements."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    found = [match.groups() for line in lines if (match := REQUIREMENT.fullmatch(line))]
    return [Component("library", name, purl=purl("pypi", name.lower()), requires=bound) for name, bound in found]


# ---- an image --------------------------------------------------------------------------------------------------------


def of_image(archive: tarfile.TarFile, source: Path) -> tuple[Component, list[Component]]:
    """An image: its packages of Debian and of Python."""
    (about,) = json.loads(content_of(archive, IMAGE))
    name, _colon, version = (about.get("RepoTags") or [source.stem])[0].rpartition(":")
    sha256 = hashlib.sha256(content_of(archive, about["Config"])).hexdigest()
    found = files_of_image(archive, about["Layers"])
    system = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', found.get(SYSTEM, b"").decode(), re.MULTILINE)).get(
        "ID", "linux"
    )
    packages = debian_packages(found.get(DPKG, b"").decode(), system)
    python = [python_package(text.decode("utf-8", "replace")) for path, text in found.items() if is_python(path)]
    return Component("container", name or version, version if name else "", sha256=sha256), [*packages, *python]


def files_of_image(archive: tarfile.TarFile, layers: t.Iterable[str]) -> dict[str, bytes]:
    """The files that name packages, as the last layer leaves them."""
    found: dict[str, bytes] = {}
    for layer in layers:
        with tarfile.open(fileobj=archive.extractfile(layer)) as opened:
            for member in opened:
                path = PurePosixPath(member.name)  # which drops ./ in front
                if path.name == EMPTIED:
                    remove(found, str(path.parent))
                elif path.name.startswith(REMOVED):
                    remove(found, str(path.with_name(path.name.removeprefix(REMOVED))))
                elif member.isfile() and (str(path) in (DPKG, *SYSTEM_FILES) or is_python(str(path))):
                    stream = opened.extractfile(member)
                    found[SYSTEM if str(path) in SYSTEM_FILES else str(path)] = stream.read() if stream else b""
    return found


def remove(found: dict[str, bytes], path: str) -> None:
    """Forget a file, or all below a directory."""
    for name in [name for name in found if name == path or name.startswith(f"{path}/")]:
        del found[name]


def is_python(path: str) -> bool:
    """Whether a file describes an installed Python package."""
    return path.endswith(".dist-info/METADATA")


def debian_packages(status: str, system: str) -> list[Component]:
    """The packages that dpkg has installed."""
    entries = [email.parser.HeaderParser().parsestr(text) for text in status.split("\n\n") if text.strip()]
    return [
        Component(
            "library", entry["Package"], entry["Version"], purl(f"deb/{system}", entry["Package"], entry["Version"])
        )
        for entry in entries
        if str(entry["Status"]).endswith(" installed")
    ]


def python_package(metadata: str) -> Component:
    """An installed Python package."""
    entry = email.parser.HeaderParser().parsestr(metadata)
    name, version = entry["Name"], entry["Version"]
    return Component(
        "library", name, version, purl("pypi", name.lower(), version), licence=entry["License-Expression"] or ""
    )


# ---- both ------------------------------------------------------------------------------------------------------------


def purl(kind: str, name: str, version: str = "") -> str:
    """The address of a package."""
    return f"pkg:{kind}/{quote(name)}" + (f"@{quote(version)}" if version else "")


def content_of(archive: tarfile.TarFile, name: str) -> bytes:
    """A file of an archive."""
    stream = archive.extractfile(name)
    if stream is None:
        raise ValueError(f"{name} is no file of {archive.name!r}")
    return stream.read()


if __name__ == "__main__":
    main()

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the image of an execution environment is made of: the definition, artifacts of collections, and what has to be in it."""

from __future__ import annotations

import copy
import dataclasses
import gzip
import hashlib
import io
import json
import subprocess
import tarfile
import typing as t
from pathlib import Path

Json = dict[str, t.Any]

CONSTRAINTS = "upper-constraints.txt"
MANIFEST, FILES = "MANIFEST.json", "FILES.json"
COLLECTIONS = ("nodecraft.kubeadm", "kubernetes.core")
# What modules for the API import, what starts the playbooks, and what connects to the nodes.
PACKAGES = ("ansible", "ansible_runner", "jsonpatch", "kubernetes")
PROGRAMS = ("ansible-playbook", "ansible-runner", "ssh", "ssh-agent")

# Runs in the image and prints what Contents is made from.
INSPECTION = f"""
import importlib.metadata, importlib.util, json, pathlib, shutil
names = {PACKAGES!r}
found = [name for name in names if importlib.util.find_spec(name)]
root = pathlib.Path("/usr/share/ansible/collections/ansible_collections")
collections = {{}}
for name in {COLLECTIONS!r}:
    manifest = root.joinpath(*name.split("."), "MANIFEST.json")
    if manifest.exists():
        collections[name] = json.loads(manifest.read_text())["collection_info"]["version"]
programs = [name for name in {PROGRAMS!r} if shutil.which(name)]
versions = {{name: importlib.metadata.version(name.replace("_", "-")) for name in found if name != "ansible"}}
if "ansible" in found:
    versions["ansible"] = importlib.metadata.version("ansible-core")
print(json.dumps({{"collections": collections, "packages": versions, "programs": programs}}))
"""


class WrongArtifact(Exception):
    """Why a file is no artifact of this collection, and what to do."""


@dataclasses.dataclass(frozen=True)
class Contents:
    """What an image holds. collections, packages: their versions by their names."""

    collections: dict[str, str]
    packages: dict[str, str]
    programs: list[str]

    def missing(self) -> list[str]:
        """What it lacks."""
        required = {
            "the collection": (COLLECTIONS, self.collections),
            "the Python package": (PACKAGES, self.packages),
            "the program": (PROGRAMS, self.programs),
        }
        return [f"{kind} {name}" for kind, (names, found) in required.items() for name in names if name not in found]


class InspectionFailed(Exception):
    """Why the contents of an image cannot be read."""


def inspect_image(image: str, options: t.Sequence[str]) -> Contents:
    """What is in an image. options: of podman run. Raises NoAnswer."""
    command = ["podman", "run", "--rm", "--network=none", *options, image, "python3", "-c", INSPECTION]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    if result.returncode != 0:
        raise InspectionFailed(result.stderr.strip()[-1000:])
    return Contents(**json.loads(result.stdout))


def definition(original: Json, *, collections: t.Sequence[str], base: str, core: str) -> Json:
    """The definition of users with these artifacts beside it instead of Galaxy, on this base and with pinned packages.

    collections: names of files beside the definition. core: the release of ansible-core.
    """
    made = copy.deepcopy(original)
    made["images"]["base_image"]["name"] = base
    dependencies = made["dependencies"]
    dependencies["ansible_core"]["package_pip"] = f"ansible-core=={core}"
    dependencies["galaxy"]["collections"] = [{"name": f"artifacts/{name}", "type": "file"} for name in collections]
    made["additional_build_files"] = [{"src": name, "dest": "artifacts"} for name in collections]
    made["additional_build_files"].append({"src": CONSTRAINTS, "dest": "."})
    # An artifact that is not there must not be looked for on Galaxy.
    made["build_arg_defaults"] = {"ANSIBLE_GALAXY_CLI_COLLECTION_OPTS": "--offline"}
    steps = made["additional_build_steps"]
    # ansible-builder's own script reads the file from this place.
    steps["prepend_builder"].append(f"COPY _build/{CONSTRAINTS} /tmp/src/{CONSTRAINTS}")
    steps["prepend_base"] += [
        f"COPY _build/{CONSTRAINTS} /output/{CONSTRAINTS}",
        f"ARG PIP_CONSTRAINT=/output/{CONSTRAINTS}",
    ]
    return made


def base_tag(suite: str, packages: t.Sequence[str]) -> str:
    """The tag of a base image: it names all that the image is made from."""
    made_from = json.dumps([suite, sorted(packages)])
    return f"{suite}-{hashlib.sha256(made_from.encode()).hexdigest()[:12]}"


def check_artifact(path: Path) -> str:
    """The name of the file of an artifact of this collection. Raises WrongArtifact for anything else."""
    if not path.is_file():
        raise WrongArtifact("must be a file, such as nodecraft-kubeadm-0.1.0.tar.gz of make release.")
    try:
        with tarfile.open(path, "r:gz") as archive:
            about = json.loads(member(archive, MANIFEST))
            listed = member(archive, FILES)
            info, checksum = about["collection_info"], about["file_manifest_file"]["chksum_sha256"]
            name = f"{info['namespace']}.{info['name']}"
            files = {entry["name"]: entry for entry in json.loads(listed)["files"] if entry["ftype"] == "file"}
            damaged = sorted(
                name for name, entry in files.items() if digest(member(archive, name)) != entry["chksum_sha256"]
            )
    except (tarfile.TarError, OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise WrongArtifact(
            f"must be what ansible-galaxy collection build or make release writes, and it cannot be read as such ({error})."
        ) from error
    if name != COLLECTIONS[0]:
        raise WrongArtifact(f"must be an artifact of {COLLECTIONS[0]}, and it is one of {name}.")
    if damaged or digest(listed) != checksum:
        raise WrongArtifact(
            f"its checksums do not match ({', '.join(damaged[:3]) or FILES}). Download or build it again."
        )
    return artifact_name(info)


def packed_collection(directory: Path) -> tuple[str, bytes]:
    """The artifact of an installed collection, as a name and a file; the same directory gives the same bytes.

    The package of Ansible leaves out files of a collection, and ansible-galaxy refuses an artifact that lacks one that it lists.
    """
    about = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    files = json.loads((directory / FILES).read_text(encoding="utf-8"))
    files["files"] = [entry for entry in files["files"] if (directory / entry["name"]).exists()]
    for entry in files["files"]:
        if entry["ftype"] == "file":
            entry["chksum_sha256"] = digest((directory / entry["name"]).read_bytes())
    listed = json.dumps(files, indent=True).encode()
    about["file_manifest_file"]["chksum_sha256"] = digest(listed)
    packed = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        add(archive, MANIFEST, json.dumps(about, indent=True).encode())
        add(archive, FILES, listed)
        for entry in files["files"]:
            add(archive, entry["name"], (directory / entry["name"]).read_bytes() if entry["ftype"] == "file" else None)
    return artifact_name(about["collection_info"]), packed.getvalue()


def artifact_name(info: Json) -> str:
    """What ansible-galaxy calls the file."""
    return f"{info['namespace']}-{info['name']}-{info['version']}.tar.gz"


def member(archive: tarfile.TarFile, name: str) -> bytes:
    """A file of an archive. Raises KeyError when it is not there."""
    stream = archive.extractfile(name)
    if stream is None:
        raise KeyError(name)
    return stream.read()


def add(archive: tarfile.TarFile, name: str, content: bytes | None) -> None:
    """Add a file, or a directory where there is no content."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content or b""), 0o644
    if content is None:
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
    archive.addfile(entry, io.BytesIO(content or b""))


def digest(content: bytes) -> str:
    """As artifacts name it."""
    return hashlib.sha256(content).hexdigest()

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The image of an execution environment, built from ``ee/execution-environment.yml`` without a container registry and without Galaxy.

EE_BASE: the image it is built on; without it debootstrap makes one. EE_ARTIFACT: an artifact of this collection; without it one is built of
this clone. EE_IMAGE: the name of the image.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import yaml

from . import awx, ee_parts, limits
from .bare_rules import pip_variables, site_variables
from .clusters import lab_of_this_clone, lab_variables, own_lab
from .importer import built_artifact
from .places import BUILD, CONSTRAINTS, ROOT, fresh_directory
from .tools import install, packaged_collections, run_pytest

if t.TYPE_CHECKING:
    import nox

WORK = BUILD / "ee"
DEFINITION = ROOT / "ee" / "execution-environment.yml"
# Debian's newest: its Python runs the newest ansible-core.
SUITE = "trixie"
PACKAGES = ("ca-certificates", "python3", "python3-pip", "python3-venv")
DEFAULT_IMAGE = "localhost/nodecraft-kubeadm-ee:latest"
BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
# Where a build finds what this site needs to reach registries; nothing of it stays in the image.
SITE = Path("/run/nodecraft-ee")


def image_name() -> str:
    """How the image is called."""
    return os.environ.get("EE_IMAGE") or DEFAULT_IMAGE


def build_image(session: nox.Session, core: str) -> None:
    """Build the image, and check that all is in it. core: the release of ansible-core."""
    install(session, "ansible", "ansible-builder")
    parts = fresh_directory(WORK / "parts")
    collections = [own_artifact(session, parts), kubernetes_core(session, parts)]
    base = os.environ.get("EE_BASE") or base_image(session)
    definition = ee_parts.definition(
        yaml.safe_load(DEFINITION.read_text(encoding="utf-8")),
        collections=[path.name for path in collections],
        base=base,
        core=core,
    )
    shutil.copy2(CONSTRAINTS, parts / ee_parts.CONSTRAINTS)
    file = parts / "execution-environment.yml"
    file.write_text(yaml.safe_dump(definition, sort_keys=False), encoding="utf-8")
    context = fresh_directory(WORK / "context")
    session.run(
        *("ansible-builder", "build", "--verbosity=2", "--container-runtime=podman", f"--file={file}"),
        *(f"--context={context}", f"--tag={image_name()}"),
        f"--extra-build-cli-args={' '.join(build_options(fresh_directory(WORK / 'site')))}",
    )
    check_image(session)


def own_artifact(session: nox.Session, parts: Path) -> Path:
    """The collection as users install it: the artifact that EE_ARTIFACT names, or one of this clone."""
    given = os.environ.get("EE_ARTIFACT")
    source = Path(given) if given else built_artifact(session, WORK / "built")
    try:
        name = ee_parts.check_artifact(source)
    except ee_parts.WrongArtifact as wrong:
        session.error(f"invalid EE_ARTIFACT {source}: {wrong}")
    return Path(shutil.copy2(source, parts / name))


def kubernetes_core(session: nox.Session, parts: Path) -> Path:
    """kubernetes.core as an artifact, out of the pinned package of Ansible, which has the collection as Galaxy has it."""
    name, artifact = ee_parts.packed_collection(packaged_collections(session) / "kubernetes" / "core")
    (parts / name).write_bytes(artifact)
    return parts / name


def base_image(session: nox.Session) -> str:
    """The image of a Debian that debootstrap makes once."""
    name = f"localhost/nodecraft-kubeadm-ee-base:{ee_parts.base_tag(SUITE, PACKAGES)}"
    if subprocess.run(["podman", "image", "exists", name], check=False).returncode == 0:
        return name
    root = fresh_directory(WORK / "root")
    session.log(f"debootstrap makes the base image {name} (once, usually 60 s)")
    try:
        include = f"--include={','.join(PACKAGES)}"
        session.run("debootstrap", "--variant=minbase", include, SUITE, str(root), external=True, silent=True)
        for package in (root / "var/cache/apt/archives").glob("*.deb"):
            package.unlink()
        archive = root.with_suffix(".tar")
        tar = ("tar", f"--directory={root}", "--one-file-system", "--numeric-owner", "-cf", str(archive), ".")
        session.run(*tar, external=True)
        session.run("podman", "import", "--quiet", str(archive), name, external=True, silent=True)
        archive.unlink()
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return name


def build_options(site: Path) -> list[str]:
    """What the build gets beside the definition. site: a directory for what pip needs to reach this site's index."""
    settings = pip_settings()
    if (bundle := Path(settings.get("cert", BUNDLE))).exists():
        shutil.copy2(bundle, site / "ca.crt")
        settings["cert"] = str(SITE / "ca.crt")
    lines = [f"{option} = {value}\n" for option, value in sorted(settings.items())]
    (site / "pip.conf").write_text("".join(["[global]\n", *lines]), encoding="utf-8")
    # A chroot works on every kind of cgroup host, and with limits that this process may set.
    return [
        "--isolation=chroot",
        f"--volume={site}:{SITE}:ro",
        f"--volume={site}/pip.conf:/etc/pip.conf:ro",
        *limits.options(),
    ]


def pip_settings() -> dict[str, str]:
    """This site's settings of pip, by the names of its options."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], check=False, capture_output=True, text=True
    ).stdout
    variables = site_variables(pip_variables(listed), os.environ)
    return {
        name.removeprefix("PIP_").lower().replace("_", "-"): value
        for name, value in variables.items()
        if name.startswith("PIP_")
    }


def check_image(session: nox.Session) -> None:
    """Refuse an image that lacks something, and log what is in it."""
    try:
        found = ee_parts.inspect_image(image_name(), limits.options())
    except ee_parts.InspectionFailed as error:
        session.error(f"{image_name()} does not run: {error}")
    if missing := found.missing():
        session.error(f"The image {image_name()} lacks {', '.join(missing)}: what left it out is above.")
    session.log(f"{image_name()}: {json.dumps(dataclasses.asdict(found))}")


def check_awx(session: nox.Session) -> None:
    """Refuse a record of the modules of AWX that is not what they have."""
    directory = fresh_directory(BUILD / "awx")
    # Not under the constraints: the pinned package of Ansible has no awx.awx.
    session.run("python", "-m", "ensurepip", silent=True)
    session.run("python", "-m", "pip", "download", "--quiet", "--no-deps", f"--dest={directory}", awx.PACKAGE)
    (wheel,) = directory.iterdir()
    if json.loads(awx.RECORD.read_text(encoding="utf-8")) != awx.read_modules(wheel):
        session.error(
            f"{awx.RECORD.name} is not what the modules of {awx.PACKAGE} have: run python tests/sessions/awx.py {wheel}"
        )


def run_jobs(session: nox.Session) -> None:
    """Run jobs in the image, on a lab that begins fresh and goes afterwards."""
    install(session, "ansible", "ansible-runner", "kubernetes", "jsonpatch", "pytest", "PyYAML")
    name = lab_of_this_clone("ee")
    session.env.update(EE_LAB=name, EE_IMAGE=image_name())
    with own_lab(session, lab_variables(LAB=name, CONTROL_PLANES="1", WORKERS="1")):
        run_pytest(session, "tests/ee")

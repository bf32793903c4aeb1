# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The artifact where nothing else of the project is: what Ansible reads of it, and a Molecule scenario on a lab that is there."""

from __future__ import annotations

import shutil
import tempfile
import typing as t
from pathlib import Path

from .copies import keep_only
from .importer import built_artifact
from .places import BUILD, ROOT
from .tools import install

if t.TYPE_CHECKING:
    import nox

# All that plugins, roles and playbooks may use of an installed collection; Ansible itself reads the files.
USED_PARTS = {"meta", "playbooks", "plugins", "roles", "FILES.json", "MANIFEST.json"}
SCENARIO = "control_plane"
KINDS = {"module": "modules", "filter": "filter", "lookup": "lookup"}


def check_installed(session: nox.Session) -> None:
    """Install the artifact in an empty place, and use it there. Arguments: a lab, and its version of Kubernetes."""
    install(session, "ansible", "molecule", "kubernetes", "jsonpatch")
    artifact = built_artifact(session, BUILD / session.name)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        collections = place / "build" / "collections"
        environment = {"ANSIBLE_COLLECTIONS_PATH": str(collections), "ANSIBLE_HOME": str(place / "home")}
        command = ("ansible-galaxy", "collection", "install", "--offline", f"--collections-path={collections}")
        session.run(*command, str(artifact), env=environment)
        installed = collections / "ansible_collections" / "nodecraft" / "kubeadm"
        keep_only(installed, USED_PARTS)
        with session.chdir(place):
            read_all(session, installed, environment)
            if session.posargs:
                lab, kubernetes = session.posargs
                copy_scenario(place, lab)
                play_scenario(session, {**environment, "LAB": lab, "K8S": kubernetes})


def read_all(session: nox.Session, installed: Path, environment: t.Mapping[str, str]) -> None:
    """Have Ansible read all documentation and all playbooks."""
    for kind, directory in KINDS.items():
        names = [f"nodecraft.kubeadm.{path.stem}" for path in sorted((installed / "plugins" / directory).glob("*.py"))]
        session.run("ansible-doc", f"--type={kind}", "--json", *names, env=environment, silent=True)
    roles = sorted(path.name for path in (installed / "roles").iterdir())
    names = [f"nodecraft.kubeadm.{name}" for name in roles]
    session.run("ansible-doc", "--type=role", "--json", *names, env=environment, silent=True)
    playbooks = [f"nodecraft.kubeadm.{path.stem}" for path in sorted((installed / "playbooks").glob("*.yml"))]
    session.run(
        "ansible-playbook", "--inventory=localhost,", "--syntax-check", *playbooks, env=environment, silent=True
    )


def copy_scenario(place: Path, lab: str) -> None:
    """Put a scenario, and what leads to the lab, where Molecule looks for them."""
    scenarios = place / "extensions" / "molecule"
    for name in (SCENARIO, "common"):
        shutil.copytree(ROOT / "extensions" / "molecule" / name, scenarios / name)
    shutil.copy2(ROOT / "extensions" / "molecule" / "config.yml", scenarios)
    (place / "build" / "lab").mkdir()
    (place / "build" / "lab" / lab).symlink_to(BUILD / "lab" / lab)


def play_scenario(session: nox.Session, environment: t.Mapping[str, str]) -> None:
    """Run it; the lab stays."""
    session.run(
        *("molecule", "--base-config=extensions/molecule/config.yml", "test", f"--scenario-name={SCENARIO}"),
        *("--no-shared-state", "--destroy=never"),
        env={**environment, "MOLECULE_GLOB": "extensions/molecule/*/molecule.yml"},
    )

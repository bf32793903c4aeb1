# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The artifact as users get it, and what Galaxy and Automation Hub report when they import it."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

from .copies import collection_copy
from .places import BUILD, ROOT, fresh_directory
from .tools import install

if t.TYPE_CHECKING:
    import nox

# What Automation Hub requires beyond the importer's defaults. ansible-lint and the sanity tests are sessions of their own: the importer gives
# the first four minutes, which a busy machine exceeds, and runs the others in a container.
SETTINGS = {
    "GALAXY_IMPORTER_CHECK_REQUIRED_TAGS": "true",
    "GALAXY_IMPORTER_RUN_ANSIBLE_LINT": "false",
    "GALAXY_IMPORTER_RUN_ANSIBLE_TEST": "false",
}
ERROR_LINE = re.compile(r"^(?:WARNING|ERROR|CRITICAL): .*", re.MULTILINE)
SUCCESS = "Importer processing completed successfully"


def built_artifact(session: nox.Session, directory: Path) -> Path:
    """The artifact of the sources as they are, made in a directory as a release makes it: with the same bytes each time."""
    fresh_directory(directory)
    tree = collection_copy(session.name)
    session.run(
        "ansible-galaxy", "collection", "build", "--output-path", str(directory / "built"), str(tree), silent=True
    )
    (built,) = (directory / "built").glob("*.tar.gz")
    session.run("python", str(ROOT / "release" / "artifact.py"), str(built), str(directory / built.name))
    return directory / built.name


def check_import(session: nox.Session) -> None:
    """Import the artifact as Galaxy does; a warning is a failure."""
    install(session, "ansible", "galaxy-importer")
    artifact = built_artifact(session, BUILD / session.name)
    with session.chdir(artifact.parent):
        command = ("python", "-m", "galaxy_importer.main", artifact.name)
        output = str(session.run(*command, env=SETTINGS, silent=True))
    found = import_errors(output)
    if found:
        session.error("\n".join(found))


def import_errors(output: str) -> list[str]:
    """What the importer found wrong; that it did not come to its end is one, too."""
    found = ERROR_LINE.findall(output)
    return found if SUCCESS in output else [*found, f"The importer did not end with '{SUCCESS}': {output}"]

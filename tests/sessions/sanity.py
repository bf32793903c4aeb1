# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sanity tests of ansible-test."""

from __future__ import annotations

import os
from pathlib import Path

import nox

from .copies import collection_copy
from .places import TREES
from .tools import install, packaged_collections

# The requirements of this release candidate's pylint name an archive on GitHub, no release of it.
ARGUMENTS = {"2.22": ("--skip-test", "pylint")}


def run_sanity(session: nox.Session, core: str, release: str) -> None:
    """Run all of them in the venvs that ansible-test makes."""
    install(session, f"ansible-core=={release}")
    home = TREES / "home"
    offer_pip(session, home)
    tree = collection_copy(f"sanity-{core}")
    offer_kubernetes_core(session, tree.parents[1])
    with session.chdir(tree):
        session.run(
            "ansible-test",
            "sanity",
            "--venv",
            "--color=no",
            *ARGUMENTS.get(core, ()),
            *session.posargs,
            env={"HOME": str(home), "PIP_CACHE_DIR": pip_cache()},
        )


def offer_kubernetes_core(session: nox.Session, collections: Path) -> None:
    """Put kubernetes.core beside a copy of the collection: an action group and a role have to do with it."""
    # Without its dependencies, for ansible-core is there in the version to be tested.
    install(session, "--no-deps", "ansible")
    link = collections / "kubernetes"
    link.unlink(missing_ok=True)
    link.symlink_to(packaged_collections(session) / "kubernetes")


def pip_cache() -> str:
    """pip's cache of this user, for a process whose HOME is another."""
    default = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "pip"
    return os.environ.get("PIP_CACHE_DIR", str(default))


def offer_pip(session: nox.Session, home: Path) -> None:
    """Put Python's own copy of pip where ansible-test keeps the script it would download for it."""
    version = session.run(
        "python",
        "-c",
        "import re, ansible_test._internal.python_requirements as m;"
        "print(re.search(r\"pip='([0-9.]+)'\", open(m.__file__).read())[1])",
        silent=True,
    )
    cache = home / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    script = cache / f"get_pip_{str(version).strip().replace('.', '_')}.py"
    script.write_text(
        "import ensurepip\nensurepip.bootstrap(upgrade=True, default_pip=True)\n",
        encoding="utf-8",
    )

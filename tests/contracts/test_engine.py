# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The contract of the packed engine: what a module puts on a node is the package as it stands here, file by file."""

from __future__ import annotations

import ast
import graphlib
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.tests.contracts.imports import UTILS, imports_of
from ansible_collections.nodecraft.kubeadm.tests.contracts.payload import archive_of
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

COLLECTIONS = ROOT / "build" / "collections"
ENGINE = ROOT / "plugins/module_utils/_engine"
PROGRAM = "program"
# What a module does on a node, from the archive that it runs from; its path is the first argument.
PACK = f"""
import sys
sys.path.insert(0, sys.argv[1])
from ansible_collections.nodecraft.kubeadm.{UTILS}._engine import {PROGRAM}
from ansible_collections.nodecraft.kubeadm.{UTILS}._node.transaction.engine_source import zipapp_of
import yaml
sys.stdout.buffer.write(zipapp_of({PROGRAM}, yaml))
"""


def sources() -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in sorted(ENGINE.glob("*.py"))}


def imported_by(name: str, source: bytes) -> set[str]:
    """The files of the package that one of them imports."""
    own, package = f"{UTILS}._engine.{name}", f"{UTILS}._engine."
    names = (entry.name for entry in imports_of(ast.parse(source), own) if entry.name.startswith(package))
    return {imported[len(package) :].partition(".")[0] for imported in names}


@pytest.mark.parametrize("module", ["static_pod", "kubelet"])
def test_a_module_packs_the_engine_as_it_stands_here(tmp_path: Path, module: str) -> None:
    (tmp_path / "payload.zip").write_bytes(archive_of(COLLECTIONS, f"nodecraft.kubeadm.{module}"))
    command = [sys.executable, "-I", "-c", PACK, str(tmp_path / "payload.zip")]
    done = subprocess.run(command, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    with zipfile.ZipFile(io.BytesIO(done.stdout)) as packed:
        found = {name: packed.read(name) for name in packed.namelist()}
    assert found.pop("__main__.py")
    assert found.pop("_engine/__init__.py") == b""
    library = {f"yaml/{path.name}": path.read_bytes() for path in Path(yaml.__file__).parent.glob("*.py")}
    assert found == {**library, **{f"_engine/{name}.py": source for name, source in sources().items()}}


def test_no_file_of_the_package_is_run_or_missing() -> None:
    """Ansible ships what is imported, and its import test runs a file of the name ``__main__``."""
    reached, new = set[str](), {PROGRAM}
    while new:
        reached |= new
        new = {name for known in new for name in imported_by(known, sources()[known])} - reached
    assert reached == set(sources())


def test_the_files_of_the_package_import_each_other_in_one_direction() -> None:
    order = graphlib.TopologicalSorter({name: imported_by(name, source) for name, source in sources().items()})
    assert list(order.static_order())[-1] == PROGRAM


def test_a_circle_would_be_found() -> None:
    assert imported_by("files", b"from .errors import x\nfrom . import node") == {"errors", "node"}
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter({"a": {"b"}, "b": {"a"}}).prepare()

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source of our programs, out of an archive like the one that Ansible ships modules in."""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import importlib.util
import os
import py_compile
import subprocess
import sys
import types
import typing as t
import zipfile
from pathlib import Path

import pytest
import yaml
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import program as engine
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import FORMAT
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    ABORTED,
    ROLLING_BACK,
    STATIC_POD,
    copies_of,
    history_ids,
    load_journal,
    result_of,
    save_journal,
    version_of,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.runtime import sandbox
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction import engine_source
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.transaction.engine_source import (
    source_of,
    zipapp_of,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import kubeconfig

ENGINE = Path(engine.__file__).parent
LIBRARY = Path(yaml.__file__).parent


def test_a_source_is_read_out_of_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = Path(sandbox.__file__).read_text(encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "payload.zip", "w") as archive:
        archive.writestr("shipped_sandbox/__init__.py", "")
        archive.writestr("shipped_sandbox/program.py", text)
    monkeypatch.syspath_prepend(str(tmp_path / "payload.zip"))
    assert source_of(importlib.import_module("shipped_sandbox.program")) == text
    compile(text, "program.py", "exec")


def test_a_source_that_was_not_shipped_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "unshipped_directory").mkdir()
    (tmp_path / "unshipped_directory" / "program.py").write_text("", encoding="ascii")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(KubeadmError, match=r"unshipped_directory\.program is not in this module's archive"):
        source_of(importlib.import_module("unshipped_directory.program"))


@pytest.mark.parametrize("pack", [source_of, functools.partial(zipapp_of, library=yaml)])
def test_a_way_of_shipping_without_sources_is_named(
    monkeypatch: pytest.MonkeyPatch, pack: t.Callable[[t.Any], t.Any]
) -> None:
    """As Mitogen does: modules come over the wire, their loader has no get_data, and their packages have no directory."""
    loader = types.SimpleNamespace(create_module=lambda spec: None, exec_module=lambda module: None)
    for name in ("wired", "wired.program"):
        spec = importlib.machinery.ModuleSpec(name, loader, is_package=name == "wired")  # type: ignore[arg-type]
        monkeypatch.setitem(sys.modules, name, importlib.util.module_from_spec(spec))
    with pytest.raises(
        KubeadmError, match=r"wired\.program is not in .* Mitogen .* strategy: ansible\.builtin\.linear"
    ):
        pack(sys.modules["wired.program"])


# ---- a program of several files --------------------------------------------------------------------------------------


@pytest.fixture(name="shipped")
def fixture_shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> t.Any:
    """The engine's program, imported out of an archive."""
    with zipfile.ZipFile(tmp_path / "payload.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("shipped/__init__.py", "")
        archive.writestr("shipped/_engine/__init__.py", "")
        for path in ENGINE.glob("*.py"):
            archive.write(path, f"shipped/_engine/{path.name}")
    monkeypatch.syspath_prepend(str(tmp_path / "payload.zip"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "shipped"]:
        monkeypatch.delitem(sys.modules, name)
    return importlib.import_module("shipped._engine.program")


@pytest.fixture(name="packed")
def fixture_packed(shipped: t.Any, tmp_path: Path) -> Path:
    """The engine as a module puts it on a node."""
    path = tmp_path / "engine.pyz"
    path.write_bytes(zipapp_of(shipped, yaml))
    return path


def start(packed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Start it as systemd does."""
    command = [sys.executable, "-I", str(packed), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_a_package_is_packed_whole_with_the_sources_as_they_are(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        names = archive.namelist()
        assert sorted(set(names)) == names
        assert {name: archive.read(name) for name in names if name not in ("__main__.py", "_engine/__init__.py")} == {
            **{f"_engine/{path.name}": path.read_bytes() for path in ENGINE.glob("*.py")},
            **{f"yaml/{path.name}": path.read_bytes() for path in LIBRARY.glob("*.py")},
        }
        assert archive.read("_engine/__init__.py") == b""
    assert Path(engine.__file__).read_bytes() in packed.read_bytes(), "who looks at the file finds the source in it"


def test_identical_sources_give_identical_bytes(shipped: t.Any, packed: Path) -> None:
    assert zipapp_of(shipped, yaml) == packed.read_bytes()
    with zipfile.ZipFile(packed) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_a_packed_program_starts(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    assert (start(packed).returncode, start(packed).stderr) == (2, "usage: engine.pyz DIRECTORY\n")
    assert (start(packed, str(tmp_path / "state")).returncode, os.listdir(tmp_path / "state")) == (0, ["lock"])


COMPILED = """
import runpy, sys
sys.addaudithook(lambda event, given: print(given[1]) if event == "compile" and "engine.pyz" in str(given[1]) else None)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_a_packed_program_compiles_each_file_once(packed: Path) -> None:
    """Compiling is what takes the time until it starts."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", COMPILED, str(packed)], check=False, capture_output=True, text=True
    )
    compiled = [line for line in done.stdout.splitlines() if "__main__" not in Path(line).name]
    paths = [*(f"_engine/{path.name}" for path in ENGINE.glob("*.py")), "_engine/__init__.py"]
    paths += [f"yaml/{path.name}" for path in LIBRARY.glob("*.py")]
    assert sorted(compiled) == sorted(f"{packed}/{path}" for path in paths)


def test_a_packed_program_reads_kubeconfigs_with_its_own_parser(packed: Path, tmp_path: Path) -> None:
    """The Python of the service need not have one: that of a virtual environment has its packages to itself."""
    path = tmp_path / "kubelet.conf"
    path.write_text(kubeconfig("https://10.0.0.1:6443 # VIP"), encoding="ascii")
    read = f"from _engine.kubeconfig import read_credentials, yaml; print(read_credentials({str(path)!r}).server, yaml.__file__)"
    code = f"import sys; sys.path.insert(0, {str(packed)!r}); {read}"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], check=False, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"https://10.0.0.1:6443 {packed}/yaml/__init__.py\n", "")


def test_a_parser_without_sources_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "compiled_only"
    package.mkdir()
    (package / "part.py").write_text("x = 1", encoding="ascii")
    py_compile.compile(str(package / "part.py"), cfile=str(package / "part.pyc"))
    (package / "part.py").unlink()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        KubeadmError, match=rf"{package}/part\.py is missing, a source of the Python package compiled_only"
    ):
        engine_source._sources_of(importlib.import_module("compiled_only"))


def open_transaction(tmp_path: Path, **given: t.Any) -> tuple[str, Path]:
    """A change that an engine began, and that was not switched yet: the directory of its journal, and its file."""
    file, state = tmp_path / "policy.yaml", tmp_path / "state"
    state.mkdir()
    file.write_bytes(b"new")
    owner = (os.getuid(), os.getgid())
    versions = {side: version_of(text, 0o600, *owner) for side, text in (("before", b"old"), ("after", b"new"))}
    journal: t.Any = {
        "format": FORMAT,
        "id": "20260101T000000.000000Z-abcdef",
        "name": "kube-apiserver",
        "phase": ROLLING_BACK,
        "files": [{"path": str(file), "switch": False, **versions}],
        "directories": [],
        "watch": {"kind": STATIC_POD},
        "before": {"healthy": True},
        "switched": False,
        "reason": "a test",
        "times": {},
        **given,
    }
    save_journal(str(state), journal)
    return str(state), file


def test_a_packed_program_finishes_an_open_transaction(packed: Path, tmp_path: Path) -> None:
    state, file = open_transaction(tmp_path)
    done = start(packed, state)
    assert (done.returncode, done.stderr) == (0, "")
    assert file.read_bytes() == b"old"
    (identifier,) = history_ids(state)
    journal, problem = load_journal(state, identifier)
    assert journal is not None
    assert (result_of(journal)["outcome"], problem) == (ABORTED, "")
    assert not any(os.path.exists(path) for path in copies_of(state))


def test_an_error_in_a_packed_program_names_file_and_line(packed: Path, tmp_path: Path) -> None:
    state, dummy = open_transaction(tmp_path, phase="dancing")
    done = start(packed, state)
    assert done.returncode == 1
    assert f'File "{packed}/_engine/transaction.py", line ' in done.stderr

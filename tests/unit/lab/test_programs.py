# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs of a cluster: what they are made from, where they are, and how far their compilation is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.lab import programs
from ansible_collections.nodecraft.kubeadm.lab.programs import USUAL_SECONDS, Progress, Release
from ansible_collections.nodecraft.kubeadm.tests.contracts.project import ROOT

# Stands in for Go: keeps where and how it is called, lists three packages, and compiles two of them, of which it keeps the progress.
GO = """#!/bin/sh
echo "$PWD $*" >> "$CALLS"
case "$1 $2" in
  "env GOVERSION") echo "$GO_VERSION" ;;
  "mod download")
    case $4 in golang.org/*) printf '  "Dir": "%s",\\n' "$TOOLCHAIN"; exit ;; esac
    printf '{"GoMod": "%s", "Error": "no such host"}' "$DEMANDS"; exit "${DOWNLOAD_STATUS:-0}" ;;
  "list -mod=mod") printf 'a\\nb\\nc\\n' ;;
  "build -v")
    echo a >&2; echo 'go: a warning' >&2; echo b >&2
    for attempt in 1 2 3 4 5 6 7 8 9 10; do grep -qs '^2 ' "$PROGRESS" && break; sleep 0.1; done
    cp "$PROGRESS" "$CALLS.progress"
    exit "${GO_STATUS:-0}" ;;
esac
"""
DEMANDS = """
require (
\tgo.etcd.io/etcd/server/v3 v{etcd} // indirect
)
replace (
\tk8s.io/api => ./staging/src/k8s.io/api
\tk8s.io/cri-api => ./staging/src/k8s.io/cri-api
)
"""


class Compiled:
    """A release that was compiled with a Go that only notes what it is told."""

    def __init__(
        self,
        directory: Path,
        monkeypatch: pytest.MonkeyPatch,
        *,
        etcd: str,
        version: str = "go1.26.8",
        status: int = 0,
        packages: tuple[str, ...] = (),
    ) -> None:
        self.release = Release("1.99.2", "3.9.1", "1.26.0")
        self.directory = directory / "programs.part"
        self._calls = directory / "calls"
        monkeypatch.setattr(programs, "CACHE", directory / "cache")
        (directory / "go").write_text(GO, encoding="utf-8")
        (directory / "go").chmod(0o755)
        (directory / "demands").write_text(DEMANDS.format(etcd=etcd), encoding="utf-8")
        monkeypatch.setenv("PATH", str(directory), prepend=os.pathsep)
        for name, value in {
            "CALLS": self._calls,
            "DEMANDS": directory / "demands",
            "GO_STATUS": status,
            "GO_VERSION": version,
            "PROGRESS": self.release.directory.with_name(f"{self.release.directory.name}.progress"),
        }.items():
            monkeypatch.setenv(name, str(value))
        self.status = programs.compile_programs(self.release, self.directory, *packages)

    def calls(self, command: str) -> list[list[str]]:
        """The words of each call of this command of Go, and before them its directory."""
        calls = [line.split() for line in self._calls.read_text(encoding="utf-8").splitlines()]
        return [call for call in calls if call[1] == command]

    @property
    def builds(self) -> list[str]:
        """Where Go was to build programs, relative to the sources."""
        return [os.path.relpath(call[0], self.directory / "source") for call in self.calls("build")]


def test_etcd_that_kubernetes_demands_is_built_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Compiled(tmp_path, monkeypatch, etcd="3.9.1").builds == ["."]


def test_etcd_of_another_version_is_built_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Compiled(tmp_path, monkeypatch, etcd="3.9.0").builds == [".", "etcd"]


def test_progress_goes_with_the_build_and_warnings_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    compiled = Compiled(tmp_path, monkeypatch, etcd="3.9.1", status=3)
    assert compiled.status == 3
    assert (tmp_path / "calls.progress").read_text(encoding="utf-8").startswith("2 3 ")
    assert compiled.release.progress is None
    assert capfd.readouterr().err == "go: a warning\n"


def test_all_named_packages_are_counted_and_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = Compiled(tmp_path, monkeypatch, etcd="3.9.1", packages=("./a", "./b"))
    assert [call[-2:] for command in ("list", "build") for call in compiled.calls(command)] == [["./a", "./b"]] * 2


def test_kubernetes_modules_replace_those_of_its_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = Compiled(tmp_path, monkeypatch, etcd="3.9.0", status=3)
    text = (compiled.directory / "source" / "go.mod").read_text(encoding="utf-8")
    assert "\tk8s.io/api => k8s.io/api v0.99.2\n\tk8s.io/cri-api => k8s.io/cri-api v0.99.2\n" in text
    assert "go 1.26.0\n" in text
    assert "default=go1.26\n" in text
    assert "etcd" not in text


def test_failed_download_reports_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOWNLOAD_STATUS", "1")
    with pytest.raises(SystemExit, match=r"^no such host$"):
        Compiled(tmp_path, monkeypatch, etcd="3.9.1")


def test_sources_do_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(Compiled(tmp_path, monkeypatch, etcd="3.9.1").directory.iterdir()) == []


def test_go_that_downloads_no_other_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain = tmp_path / "toolchain"
    (toolchain / "pkg" / "tool" / "x").mkdir(parents=True)
    (toolchain / "pkg" / "tool" / "x" / "compile").touch()
    (toolchain / "bin").mkdir()
    (toolchain / "bin" / "go").write_text(GO.replace("$PWD $*", "$PWD $* newer"), encoding="utf-8")
    monkeypatch.setenv("TOOLCHAIN", str(toolchain))
    Compiled(tmp_path, monkeypatch, etcd="3.9.1", version="go1.19.8")
    built = [line for line in (tmp_path / "calls").read_text(encoding="utf-8").splitlines() if " build " in line]
    assert [line.endswith(" newer") for line in built] == [True]


def test_directory_changes_with_version_and_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = Release("1.99.2", "3.9.1", "1.26.0")
    names = {release.directory.name, Release("1.99.2", "3.9.2", "1.26.0").directory.name}
    (tmp_path / "main.go").write_text("package main", encoding="utf-8")
    monkeypatch.setattr(programs, "SOURCES", tmp_path)
    names |= {release.directory.name}
    assert len(names) == 3
    assert all(name.startswith("programs-1.99.2-") for name in names)


@pytest.mark.parametrize("name", ["1.37", "1.37.2"])
def test_release_is_named_by_minor_or_exact_version(name: str) -> None:
    assert (Release.by_name(name).version, Release.by_name(name).etcd) == ("1.37.2", "3.7.0")


def test_unknown_release_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"^invalid release 1\.2: must be one of 1\.32, "):
        Release.by_name("1.2")


def test_programs_that_are_there_are_not_compiled(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PATH": os.defpath}
    script = [sys.executable, str(ROOT / "lab" / "programs.py")]
    completed = subprocess.run([*script, "path", "1.37"], env=environment, capture_output=True, text=True, check=True)
    directory = Path(completed.stdout.strip())
    directory.mkdir(parents=True)
    built = subprocess.run([*script, "build", "1.37"], env=environment, capture_output=True, text=True, check=True)
    assert built.stdout == f"present: {directory}\n"


def test_build_at_work_is_seen_by_its_lock(tmp_path: Path) -> None:
    result = tmp_path / "programs"
    assert not programs.is_being_built(result)
    script = ["sh", "-c", f"echo begun; read end; mkdir {result}.part"]
    with subprocess.Popen(
        [programs.BUILD_ONCE, result, *script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as build:
        assert build.stdout is not None
        assert build.stdout.readline() == b"begun\n"
        assert programs.is_being_built(result)
    assert not programs.is_being_built(result)


@pytest.mark.parametrize(
    ("compiled", "seconds", "left"),
    [
        (0, 0, USUAL_SECONDS),
        (500, 2 * USUAL_SECONDS / 4, 0.5 * USUAL_SECONDS),
        (500, 2 * USUAL_SECONDS, 0.5 * (0.5 * 4 + 0.5) * USUAL_SECONDS),
        (1000, 900, 0),
        (1001, 900, 0),
    ],
    ids=["begins", "as usual", "slower", "ends", "more than listed"],
)
def test_time_left_follows_the_pace(compiled: int, seconds: float, left: float) -> None:
    assert Progress(compiled, 1000, seconds).seconds_left == pytest.approx(left)


def test_releases_are_json_below_their_comments() -> None:
    text = (ROOT / "lab/vars/releases.yml").read_text(encoding="utf-8")
    assert json.loads(text.partition("\n---\n")[2])["lab_releases"] == programs.read_releases()

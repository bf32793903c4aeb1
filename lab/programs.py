# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs of a cluster, compiled from their Go modules: Kubernetes, etcd and pause of one release, in one directory of the cache.

``programs.py path RELEASE`` prints the directory. ``programs.py build RELEASE`` makes it unless it is there, and waits for another one
that does; ``programs.py start RELEASE`` has that done in the background. ``programs.py compile RELEASE DIRECTORY [PACKAGE...]`` compiles
these, or other programs of that release, into any directory.

Standard library only: make begins with it, before anything is installed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import typing as t
from pathlib import Path

LAB = Path(__file__).resolve().parent
SOURCES = LAB / "go"
BUILD_ONCE = LAB / "files" / "build-once"
RELEASES = LAB / "vars" / "releases.yml"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nodecraft-kubeadm"

# No debugger reads these programs: the compiler makes no tables for one, and its own collector of garbage begins late. Nor does it put
# functions in the place of their calls, but where all programs spend their time: that is a quarter of its work.
_FAST_COMPILE = "-dwarf=false -d=gcstart=512 -c=1"
_HOT_PACKAGES = ("std", "k8s.io/apimachinery/...")
FLAGS = (
    "-mod=mod",
    "-trimpath",
    "-buildvcs=false",
    f"-gcflags=all=-l {_FAST_COMPILE}",
    *(f"-gcflags={name}={_FAST_COMPILE}" for name in _HOT_PACKAGES),
)
GO_MOD = """\
module lab.local/programs

go {go}

godebug default=go{go_minor}

require k8s.io/kubernetes v{version}
{requirements}
// Kubernetes keeps these modules in its own tree; outside of it they are published one by one.
replace (
{replacements}
)
"""
ETCD = "go.etcd.io/etcd/server/v3 v{etcd}"
ETCD_MOD = """\
module lab.local/programs/etcd

go {go}

require {requirement}
"""
# Go older than this, as in Debian 12, does not download the release that a program demands: it gets one that serves all versions.
DOWNLOADS_GO = (1, 21)

USUAL_SECONDS = 390  # on two idle cores


@dataclasses.dataclass(frozen=True)
class Release:
    """A release of Kubernetes, with the etcd and the Go that it requires."""

    version: str
    etcd: str
    go: str

    @classmethod
    def by_name(cls, name: str) -> Release:
        """The release that a minor version such as 1.37, or an exact one, names."""
        releases = read_releases()
        found = releases.get(name) or next((one for one in releases.values() if one["version"] == name), None)
        if found is None:
            raise SystemExit(f"invalid release {name}: must be one of {', '.join(releases)}.")
        return cls(found["version"], found["etcd"].partition("-")[0], found["go"])

    @property
    def go_minor(self) -> str:
        """The release of Go without its patch level."""
        return self.go.rpartition(".")[0]

    @property
    def linker_flags(self) -> str:
        """Without a version kubeadm refuses itself."""
        major, minor, _patch = self.version.split(".")
        values = {
            "k8s.io/component-base/version.gitVersion": f"v{self.version}",
            "k8s.io/component-base/version.gitMajor": major,
            "k8s.io/component-base/version.gitMinor": minor,
            "k8s.io/client-go/pkg/version.gitVersion": f"v{self.version}",
        }
        return " ".join(["-s -w", *(f"-X {name}={value}" for name, value in values.items())])

    @property
    def directory(self) -> Path:
        """Where its programs are, or will be: the name has a hash of all that they are made from."""
        made_from = hashlib.sha256(repr((self, FLAGS, self.linker_flags, GO_MOD, ETCD_MOD)).encode())
        for path in sorted(SOURCES.rglob("*.go")):
            made_from.update(path.read_bytes())
        return CACHE / f"programs-{self.version}-{made_from.hexdigest()[:12]}"

    @property
    def progress(self) -> Progress | None:
        """How far its compilation is; None while nothing is compiled."""
        with contextlib.suppress(OSError, ValueError):
            compiled, total, began = self._progress.read_text(encoding="utf-8").split()
            return Progress(int(compiled), int(total), time.time() - float(began))
        return None

    @property
    def _progress(self) -> Path:
        return self.directory.with_name(f"{self.directory.name}.progress")

    @contextlib.contextmanager
    def record_progress(self) -> t.Iterator[t.Callable[[int, int], None]]:
        """Yields what records how many packages are compiled, of how many; nothing stays of it afterwards."""
        began = time.time()
        self._progress.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield lambda compiled, total: write_atomically(self._progress, f"{compiled} {total} {began}")
        finally:
            self._progress.unlink(missing_ok=True)


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a compilation is. seconds: since it began."""

    compiled: int
    total: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.compiled} of up to {self.total} packages compiled"

    @property
    def seconds_left(self) -> float:
        """How long it takes from here: as usual at first, later at the pace so far. The first packages are quicker than the others."""
        share = min(self.compiled / max(self.total, 1), 1)
        at_this_pace = self.seconds / share if share else USUAL_SECONDS
        return (1 - share) * (share * at_this_pace + (1 - share) * USUAL_SECONDS)


def read_releases() -> dict[str, dict[str, str]]:
    """The releases that the lab knows, by their minor version."""
    _comments, _start, text = RELEASES.read_text(encoding="utf-8").partition("\n---\n")
    return t.cast("dict[str, dict[str, str]]", json.loads(text)["lab_releases"])


def write_atomically(path: Path, text: str) -> None:
    """Write a file that others read at any time."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def build_command(release: Release) -> list[str]:
    """What makes the programs unless they are there."""
    own = [sys.executable, __file__, "compile", release.version]
    return [str(BUILD_ONCE), str(release.directory), *own, f"{release.directory}.part"]


def is_being_built(result: Path) -> bool:
    """Whether a build holds the lock of its result."""
    with contextlib.suppress(FileNotFoundError), result.with_name(f"{result.name}.lock").open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def compile_programs(release: Release, directory: Path, *packages: str) -> int:
    """Compile packages, or all programs of the lab, into a directory. Returns Go's exit status."""
    source = directory / "source"
    environment = go_environment()
    modules = write_modules(release, source, environment)
    flags = [*FLAGS, "-ldflags", release.linker_flags, "-o", f"{directory}{os.sep}"]
    with release.record_progress() as record:
        for module in modules:
            status = go_build(module, flags, packages or ("./...",), environment, record)
            if status != 0:
                return status
    shutil.rmtree(source)
    return 0


def write_modules(release: Release, directory: Path, environment: t.Mapping[str, str]) -> list[Path]:
    """Make a directory with the Go modules of the lab's programs; returns the directory of each module.

    etcd is in that of Kubernetes, and shares its packages, where Kubernetes itself demands this version of it.
    """
    shutil.copytree(SOURCES, directory)
    command = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@v{release.version}"]
    done = subprocess.run(command, cwd=directory, env=environment, check=False, stdout=subprocess.PIPE, text=True)
    downloaded = json.loads(done.stdout or "{}")
    if done.returncode != 0:
        raise SystemExit(downloaded.get("Error") or f"{' '.join(command)} ended with status {done.returncode}.")
    demands = Path(downloaded["GoMod"]).read_text(encoding="utf-8")
    staging = re.findall(r"(k8s\.io/[a-z0-9-]+) => \./staging", demands)
    etcd = ETCD.format(etcd=release.etcd)
    shared = etcd in demands
    text = GO_MOD.format(
        **vars(release),
        go_minor=release.go_minor,
        requirements=f"require {etcd}\n" if shared else "",
        replacements="\n".join(f"\t{name} => {name} v0{release.version[1:]}" for name in staging),
    )
    (directory / "go.mod").write_text(text, encoding="utf-8")
    if shared:
        return [directory]
    (directory / "etcd" / "go.mod").write_text(ETCD_MOD.format(go=release.go, requirement=etcd), encoding="utf-8")
    return [directory, directory / "etcd"]


def go_build(
    module: Path,
    flags: t.Sequence[str],
    packages: t.Sequence[str],
    environment: t.Mapping[str, str],
    record: t.Callable[[int, int], None],
) -> int:
    """Build programs of a Go module, and record each package. Returns Go's exit status."""
    listed = subprocess.run(
        ["go", "list", "-mod=mod", "-deps", *packages],
        cwd=module,
        env=environment,
        check=False,
        stdout=subprocess.PIPE,
        text=True,
    )
    total, compiled = len(listed.stdout.splitlines()), 0
    command = ["nice", "go", "build", "-v", *flags, *packages]
    with subprocess.Popen(command, cwd=module, env=environment, stderr=subprocess.PIPE, text=True) as process:
        for line in t.cast("t.IO[str]", process.stderr):
            # With -v Go names each package that it compiles, but for those that it compiled before; all else is for the reader.
            if " " in line.strip():
                sys.stderr.write(line)
            else:
                compiled += 1
                record(compiled, total)
    return process.returncode


def go_environment() -> dict[str, str]:
    """The environment of Go, in a release that downloads the one that a program demands; Debian's would not by itself."""
    if shutil.which("go") is None:
        raise SystemExit("go is missing: install it first, on Debian and Ubuntu by apt-get install golang-go.")
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "", "GOTOOLCHAIN": "auto", "GOWORK": "off"}
    own = subprocess.run(
        ["go", "env", "GOVERSION"],
        env={**environment, "GOTOOLCHAIN": "local"},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    version = re.match(r"go(\d+)\.(\d+)", own.stdout)
    if version is None or tuple(map(int, version.groups())) < DOWNLOADS_GO:
        newest = max((one["go"] for one in read_releases().values()), key=lambda text: [*map(int, text.split("."))])
        root = CACHE / f"go-{newest}"
        download = [str(BUILD_ONCE.with_name("download-go")), f"{root}.part", newest]
        subprocess.run([str(BUILD_ONCE), str(root), *download], env=environment, check=True, stdout=sys.stderr)
        environment["PATH"] = f"{root / 'bin'}{os.pathsep}{environment['PATH']}"
    return environment


def main(action: str, name: str, *arguments: str) -> int:
    """Do what the first argument names. Returns the exit status."""
    release = Release.by_name(name)
    match action:
        case "path":
            sys.stdout.write(f"{release.directory}\n")
        case "build":
            return subprocess.run(build_command(release), check=False).returncode
        case "start" if not is_being_built(release.directory):
            # A session of its own: Ctrl-C does not end it, and the next run waits for it.
            subprocess.Popen(
                build_command(release),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        case "start":
            pass
        case "compile":
            directory, *packages = arguments
            return compile_programs(release, Path(directory), *packages)
        case _:
            raise SystemExit(f"invalid action {action}: must be path, build, start or compile.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(map(str, error.cmd)):.200} ended with status {error.returncode}.")

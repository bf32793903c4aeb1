# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a target begins and ends: what is prepared is ours and of this place, and each end is one sentence."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path
from unittest import mock

import pytest
from ansible_collections.nodecraft.kubeadm.tests.sessions import environment, host, start
from ansible_collections.nodecraft.kubeadm.tests.sessions.places import ROOT

# As pip, uv, apt-get, Go, debootstrap and the kernel say it.
NO_NETWORK = (
    "Failed to establish a new connection: [Errno -3] Temporary failure in name resolution",
    "  Caused by: dns error: failed to lookup address information: Name or service not known",
    "E: Failed to fetch http://mirror.example/p.deb  Temporary failure resolving 'mirror.example'",
    'go: k8s.io/kubernetes@v1.37.2: Get "https://proxy.example": dial tcp: lookup proxy.example: no such host',
    "dial tcp 192.0.2.1:443: connect: network is unreachable",
    "E: Couldn't download packages: libc6 systemd",
    "E: Failed getting release file http://mirror.example/dists/bookworm/Release",
)
FULL_DISK = (
    "write /root/.cache/x: no space left on device",
    "OSError: [Errno 28] No space left on device: 'build/nox'",
)


@pytest.fixture(autouse=True)
def whatever_this_machine_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[None]:
    """Room on the disk, nothing in the cache; and what an entry changes of the process is as before after each test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: mock.Mock(free=2**40))
    former = {number: signal.getsignal(number) for number in start.SIGNALS}
    with mock.patch.dict(os.environ):
        yield
    for number, handler in former.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("message", NO_NETWORK)
def test_a_failed_download_is_recognized(message: str) -> None:
    assert start.find_cause(f"much else\n{message}\nnox > Session demo failed.\n").startswith(
        "Something could not be downloaded."
    )


@pytest.mark.parametrize("message", FULL_DISK)
def test_a_full_disk_is_recognized_and_the_room_is_reported(message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: mock.Mock(free=start.FULL - 1))
    advice = start.find_cause(message)
    assert advice.startswith("The disk is full (")
    assert "0.1 GiB free in" in advice
    assert "it goes on where it stopped" in advice


@pytest.mark.parametrize("message", FULL_DISK)
def test_a_disk_with_room_is_not_called_full(message: str) -> None:
    advice = start.find_cause(message)
    assert advice.startswith("A program found no space where it wrote, though there is (1024.0 GiB free in ")


def test_other_failures_are_not_explained_away() -> None:
    assert start.find_cause("FAILED tests/unit/test_x.py::test_y - assert 1 == 2\n") == ""


def test_without_room_any_failure_comes_from_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: mock.Mock(free=start.FULL - 1))
    assert start.find_cause("ERROR: could not install packages\n").startswith("The disk is full (")


def unable(*_args: object, **_options: object) -> t.NoReturn:
    raise FileNotFoundError(2, "No usable temporary directory found")


def test_to_observe_a_full_disk_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", unable)
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: mock.Mock(free=0))
    assert "GiB free in /tmp)" in start.find_cause(FULL_DISK[0])


class Entry:
    """An entry that ended. body: is run in the place of its sessions; build: its directory for what it writes.

    user: who starts it.
    """

    def __init__(
        self,
        build: Path,
        body: t.Callable[..., int],
        monkeypatch: pytest.MonkeyPatch,
        entry: str = "lab-up",
        user: int = 0,
    ) -> None:
        monkeypatch.setattr(sys, "argv", ["start.py", entry])
        monkeypatch.setattr(os, "geteuid", lambda: user)
        monkeypatch.setattr(start, "BUILD", build)
        monkeypatch.setattr(start, "run_entry", body)
        self.status = start.main()


@pytest.mark.parametrize("status", [1, 2])
def test_an_end_that_cannot_be_explained_is_reported_all_the_same(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", unable)
    monkeypatch.setattr(start, "read_tail", lambda _log: FULL_DISK[0])
    assert Entry(tmp_path, lambda *_: status, monkeypatch).status == status
    assert capsys.readouterr().err.startswith(f"make lab-up ended with status {status}. A program found no space")


def test_a_mistake_that_the_log_cannot_take_is_reported_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def body(*_: object) -> int:
        monkeypatch.setattr(Path, "open", unable)
        raise ValueError

    assert Entry(tmp_path, body, monkeypatch).status == 2
    assert capsys.readouterr().err.startswith("make lab-up broke off by a mistake of its own.")


def test_an_entry_that_was_interrupted_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def body(_entry: str, log: t.TextIO) -> int:
        return start.run_command(["sh", "-c", "exit 130"], log, filtered=True)

    stand_in(tmp_path, "podman", "", monkeypatch)
    assert Entry(tmp_path, body, monkeypatch).status == 130
    assert capsys.readouterr().err == "make lab-up: interrupted.\n"


def stand_in(directory: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is found before all others."""
    (directory / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (directory / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}{os.pathsep}{os.environ['PATH']}")


def interrupted(*_: object) -> t.NoReturn:
    raise KeyboardInterrupt


@pytest.mark.parametrize("entry", start.LAB_ENTRIES)
@pytest.mark.parametrize(
    ("podman", "message"),
    [
        (
            'sleep 0.2; case "$*" in "ps --all "*label=nodecraft.lab.directory=*/lab/sre) echo 1234; esac',
            "is still there, or a part",
        ),
        (
            'case "$*" in "network ls "*label=nodecraft.lab.directory=*/lab/sre) echo 1234; esac',
            "is still there, or a part",
        ),
        ("exec sleep 60", "podman does not tell what is left"),
    ],
    ids=["slow", "network", "silent"],
)
def test_the_last_line_after_an_interruption_reports_what_is_left(
    entry: str,
    podman: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LAB", "sre")
    monkeypatch.setattr(start, "PODMAN_TIMEOUT", 10 if "1234" in podman else 0.3, raising=False)
    stand_in(tmp_path, "podman", podman, monkeypatch)
    assert Entry(tmp_path, interrupted, monkeypatch, entry).status == 130
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"make {entry}: interrupted. ")
    assert message in last
    assert "make lab-down LAB=sre removes it." in last


def test_after_an_interruption_a_compiler_that_goes_on_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(tmp_path, "podman", "", monkeypatch)
    directory = tmp_path / "cache" / "nodecraft-kubeadm"
    build_once, done = ROOT / "lab" / "files" / "build-once", directory / "etcd-3.7.0-b"
    subprocess.run([build_once, done, "touch", f"{done}.part"], check=True)
    command = [str(build_once), str(directory / "kubernetes-1.37.2-a"), "sh", "-c", "echo begun; read end"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as build:
        assert build.stdout is not None
        assert build.stdout.readline() == b"begun\n"
        assert Entry(tmp_path / "build", interrupted, monkeypatch).status == 130
    assert capsys.readouterr().err == (
        "make lab-up: interrupted. kubernetes-1.37.2-a is still being built in the background: the next run waits for that.\n"
    )


@pytest.mark.parametrize("name", ["/../../../victim/app", "x" * 300, "sre\n", "Sre", "-x", ""])
@pytest.mark.parametrize("entry", start.LAB_ENTRIES)
def test_what_is_no_name_of_a_lab_is_refused_before_anything_is_written(
    entry: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAB", name)
    assert Entry(tmp_path / "x" / "build", lambda *_: pytest.fail("It ran."), monkeypatch, entry).status == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"make {entry}: invalid LAB ")
    assert len(line) < 250
    assert list(tmp_path.iterdir()) == []


def test_a_name_is_what_the_playbooks_take() -> None:
    assert f"'{start.LAB_NAME_PATTERN.pattern}\\Z'" in (ROOT / "lab" / "tasks" / "name.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("entry", [*start.LAB_ENTRIES, "test", "test-bare"])
def test_a_user_who_is_not_root_hears_it_before_anything_is_written(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(tmp_path, "podman", "", monkeypatch)
    build = tmp_path / "build"
    assert Entry(build, lambda *_: pytest.fail("It ran."), monkeypatch, entry, user=1000).status == 2
    assert capsys.readouterr().err.startswith(f"make {entry}: this needs root")
    assert not build.exists()


def test_a_place_that_venv_refuses_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(start, "ROOT", tmp_path / "a:b")
    assert Entry(tmp_path / "a:b" / "build", lambda *_: pytest.fail("It ran."), monkeypatch).status == 2
    assert capsys.readouterr().err.startswith(
        f"make lab-up: invalid path of this clone {tmp_path}/a:b: must be without :"
    )


@pytest.mark.parametrize(
    ("init", "sentence"),
    [
        (
            True,
            "(detected dubious ownership in repository at '{0}'). Run git config --global --add safe.directory {0},",
        ),
        (False, "(not a git repository (or any of the parent directories): .git). Make a clone with git,"),
    ],
    ids=["of another user", "no clone"],
)
@pytest.mark.parametrize("entry", ["test", "test-lint", "test-bare", "release"])
def test_a_clone_whose_files_git_does_not_report_is_named_before_anything_is_written(
    entry: str,
    init: bool,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if init:
        subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    monkeypatch.setattr(start, "ROOT", tmp_path)
    configs = dict.fromkeys(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"), os.devnull)
    # The directory may be at the root of a file system, which git says in another way.
    git_settings = {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1", "GIT_DISCOVERY_ACROSS_FILESYSTEM": "1"}
    for name, value in {**git_settings, **configs}.items():
        monkeypatch.setenv(name, value)
    assert Entry(tmp_path / "build", lambda *_: pytest.fail("It ran."), monkeypatch, entry).status == 2
    error = capsys.readouterr().err
    assert error.startswith(f"make {entry}: git does not tell the files of this clone {sentence.format(tmp_path)}")
    assert not (tmp_path / "build").exists()


@pytest.mark.parametrize("closed", [">&-", "<&- >&-", "<&- >&- 2>&-"])
def test_a_closed_output_is_no_mistake(closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m tests.sessions.start lab-up {closed}', sys.executable],
        cwd=ROOT,
        env={**os.environ, "LAB": "NO"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("" if "2>&-" in closed else "make lab-up: invalid LAB 'NO'")
    assert "Traceback" not in done.stderr


def test_a_second_entry_leaves_the_log_of_the_first_one(tmp_path: Path) -> None:
    path = tmp_path / "log" / "lab-up-sre.log"
    with start.open_log(path) as first:
        first.write("first\n")
        first.flush()
        with start.open_log(path) as second:
            second.write("second\n")
        first.write("more\n")
    assert path.read_text(encoding="utf-8") == "first\nsecond\nmore\n"
    with start.open_log(path):
        pass
    assert path.read_text(encoding="utf-8") == ""


# As a program of ours in nox that a signal reaches: it ends in order, and nox or Python has the last word.
ORDERLY_END = r"""
trap 'echo Lab x is removed.; echo "nox > Interrupted..."; echo "Traceback (most recent call last):"
  echo "  File nox"; echo KeyboardInterrupt; exit 1' INT
echo begun
kill -INT $PPID
while :; do sleep 0.02; done
"""


@pytest.mark.parametrize("filtered", [True, False])
def test_after_a_signal_no_word_of_nox_or_python(filtered: bool, capsys: pytest.CaptureFixture[str]) -> None:
    log = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        start.run_command(["sh", "-c", ORDERLY_END], log, filtered=filtered)
    assert log.getvalue().endswith("Traceback (most recent call last):\n  File nox\nKeyboardInterrupt\n")
    expected = "begun\nLab x is removed.\n" if filtered else log.getvalue()
    assert capsys.readouterr().out == expected


def test_a_traceback_without_a_signal_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    line = "Traceback (most recent call last):"
    assert start.run_command(["echo", line], io.StringIO(), filtered=True) == 0
    assert capsys.readouterr().out == f"{line}\n"


def test_why_a_session_could_not_begin_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    why = "nox > Session demo failed: Python interpreter 3.16 not found."
    lines = f"nox > Running session demo\n{why}\nnox > Session demo failed."
    assert start.run_command(["echo", lines], io.StringIO(), filtered=True) == 0
    assert capsys.readouterr().out == f"{why}\n"


def test_ctrl_c_in_the_first_moments_is_one_sentence(tmp_path: Path) -> None:
    # Stands for all that is imported.
    (tmp_path / "shutil.py").write_text("import time\nprint('up', flush=True)\ntime.sleep(60)\n", encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-m", "tests.sessions.start", "demo"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "make demo: interrupted.\n"
    assert process.returncode == 130


class Clone:
    """A clone whose venvs are stand-ins."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.build = root / "build"
        self.commands: list[t.Sequence[str]] = []
        for name, value in {
            "ROOT": root,
            "BUILD": self.build,
            "VENV": self.build / "nox",
            "ENVS": self.build / "envs",
            "TREES": self.build / "trees",
            "COLLECTIONS": self.build / "collections",
        }.items():
            monkeypatch.setattr(start, name, value)
        monkeypatch.setattr(start, "run_command", self._run_command)

    def _run_command(self, command: t.Sequence[str], *_args: object, **_options: object) -> int:
        self.commands.append(command)
        (self.build / "nox" / "bin").mkdir(parents=True, exist_ok=True)
        (self.build / "nox" / "bin" / "python").touch()
        return 0

    def make(self) -> bool:
        """Prepare it; returns whether the venv was made."""
        self.build.mkdir(parents=True, exist_ok=True)
        start.make_venv(io.StringIO())
        made = bool(self.commands)
        self.commands.clear()
        return made


def test_a_clone_at_another_place_makes_its_venvs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = Clone(tmp_path / "first", monkeypatch)
    assert first.make()
    assert not first.make()
    for name in ("envs", "trees", "collections"):
        (first.build / name).mkdir()
    assert "moved" not in capsys.readouterr().out
    (tmp_path / "first").rename(tmp_path / "second")
    second = Clone(tmp_path / "second", monkeypatch)
    assert second.make()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "This clone was moved or copied: build/nox and build/envs are made again"
    assert sorted(path.name for path in second.build.iterdir()) == ["nox", "nox.lock"]
    (second.build / "envs").mkdir()
    assert not second.make()
    (second.build / "nox" / "ready").write_text(f"{tmp_path / 'second'}\nolder pins", encoding="utf-8")
    assert second.make()
    assert (second.build / "envs").is_dir()


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[t.Callable[[], bool]]:
    """Stands in for what compiles the programs of a lab. Tells whether it runs, and ends with the test."""
    (tmp_path / "lab").mkdir()
    pid_file = tmp_path / "started"
    script = (
        f"import os, sys, time; open({str(pid_file)!r}, 'w').write(f'{{os.getpid()}} {{sys.argv[1:]}}'); time.sleep(60)"
    )
    (tmp_path / "lab" / "programs.py").write_text(script, encoding="utf-8")
    monkeypatch.setattr(start, "ROOT", tmp_path)
    monkeypatch.setenv("K8S", "1.36")
    stand_in(tmp_path, "go", "", monkeypatch)

    def runs() -> bool:
        deadline = time.monotonic() + 20
        while not pid_file.exists() or not pid_file.read_text(encoding="utf-8"):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        process, arguments = pid_file.read_text(encoding="utf-8").split(maxsplit=1)
        assert arguments == "['build', '1.36']"
        return Path("/proc", process).exists()

    yield runs
    if pid_file.exists():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid_file.read_text(encoding="utf-8").split()[0]), signal.SIGKILL)


@pytest.mark.parametrize("entry", ["demo", "lab-up", "bench"])
def test_programs_are_compiled_while_the_machine_is_prepared(
    entry: str, compiler: t.Callable[[], bool], tmp_path: Path
) -> None:
    with (tmp_path / "log").open("w", encoding="utf-8") as log, start.compile_programs(entry, log) as end:
        assert compiler()
    assert compiler()
    end()
    assert not compiler()


def test_a_machine_that_cannot_be_prepared_compiles_nothing(compiler: t.Callable[[], bool], tmp_path: Path) -> None:
    def prepare() -> None:
        with (tmp_path / "log").open("w", encoding="utf-8") as log, start.compile_programs("demo", log):
            assert compiler()
            raise host.Problem("no podman")

    with pytest.raises(host.Problem):
        prepare()
    assert not compiler()


@pytest.mark.parametrize("entry", ["test", "test-lint", "lab-down"])
def test_entries_without_a_lab_of_their_own_compile_nothing(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("It was started."))
    with (tmp_path / "log").open("w", encoding="utf-8") as log, start.compile_programs(entry, log):
        pass


@pytest.mark.parametrize("given", ["C", "xx_YY.UTF-8", None])
@pytest.mark.parametrize("prepare", [start.prepare_environment, environment.prepare_environment])
def test_ansible_starts_whatever_locale_the_user_has(
    prepare: t.Callable[[], None], given: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "hand_pip_settings_to_uv", lambda: None)
    monkeypatch.setattr(environment, "RESULTS", tmp_path)
    os.environ.pop("LC_ALL", None)
    os.environ.update({"LC_ALL": given} if given else {})
    prepare()
    assert os.environ["LC_ALL"] == "C.UTF-8"


def test_a_shell_of_a_lab_has_a_locale_that_ansible_takes() -> None:
    assert "\nexport LC_ALL=C.UTF-8\n" in (ROOT / "lab" / "templates" / "activate.j2").read_text(encoding="utf-8")


def test_an_installed_package_called_tests_does_not_win(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").touch()
    done = subprocess.run(
        [sys.executable, "-c", "import tests.sessions.start as start; print(start.__file__)"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == str(ROOT / "tests" / "sessions" / "start.py"), done.stderr

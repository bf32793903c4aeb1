# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a machine lacks for an entry is installed after it was named, or refused in one sentence."""

from __future__ import annotations

import subprocess
import sys
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.sessions import host

EVERYTHING = {"apt-get", *host.README, *host.LAB, *host.TESTS, *host.BARE}
VENV_PACKAGE = f"python3.{sys.version_info[1]}-venv"


class FakeMachine:
    """A machine with some programs; what apt-get installs is there afterwards."""

    def __init__(
        self,
        *lacks: str,
        root: bool = True,
        venv: bool = True,
        podman: str = "podman version 4.3.1",
        apt: int = 0,
        never: t.Collection[str] = (),
    ) -> None:
        self.programs = EVERYTHING - set(lacks)
        self.lines: list[str] = []
        self.commands: list[tuple[str, ...]] = []
        self._podman, self._apt, self._never = podman, apt, set(never)
        self.machine = host.Machine(lambda name: name if name in self.programs else None, self.run, root, venv)

    def run(self, command: tuple[str, ...], **_options: t.Any) -> subprocess.CompletedProcess[str]:
        self.commands.append(command)
        if command[0] == "podman":
            return subprocess.CompletedProcess(command, 0, self._podman, "")
        if "install" in command and self._apt == 0:
            self.programs |= EVERYTHING - self._never
        return subprocess.CompletedProcess(command, self._apt, "", "")

    def prepare(self, entry: str) -> None:
        host.prepare(entry, self.machine, self.lines.append)

    @property
    def installed(self) -> list[str]:
        """The packages that apt-get was told to install."""
        return [
            name
            for command in self.commands
            if "install" in command
            for name in command[command.index("install") + 2 :]
        ]


def test_a_machine_with_everything_is_left_alone() -> None:
    for entry in host.NEEDS:
        fake = FakeMachine()
        fake.prepare(entry)
        assert fake.lines == []
        assert fake.installed == []


def test_what_is_missing_is_named_before_it_is_installed() -> None:
    fake = FakeMachine("podman", "ssh", "ssh-keygen", venv=False)
    fake.prepare("demo")
    assert fake.lines == [
        f"This machine lacks podman, ssh, ssh-keygen, venv. Installing with apt-get (usually 30 s): openssh-client podman {VENV_PACKAGE}"
    ]
    assert fake.installed == ["openssh-client", "podman", VENV_PACKAGE]


def test_an_entry_installs_what_it_needs_and_no_more() -> None:
    fake = FakeMachine("podman", "strace")
    fake.prepare("test-unit")
    assert fake.installed == ["strace"]


@pytest.mark.parametrize(("parts", "needs_lab"), [("", True), ("rollout", False), ("rollout nodes", True)])
def test_parts_of_the_bench_without_a_lab_need_none(
    monkeypatch: pytest.MonkeyPatch, parts: str, needs_lab: bool
) -> None:
    monkeypatch.setenv("BENCH_ONLY", parts)
    assert host.need_of("bench").lab is needs_lab
    assert host.need_of("demo").lab is True


@pytest.mark.parametrize(
    ("fake", "entry", "sentence"),
    [
        (
            FakeMachine("go"),
            "demo",
            "go is missing: install it first, on Debian and Ubuntu by apt-get install golang-go.",
        ),
        (FakeMachine("git"), "test-lint", "git is missing: install it first"),
        (FakeMachine(root=False), "lab-up", "this needs root"),
        (FakeMachine("strace", root=False), "test-unit", "this machine lacks strace. Install the packages strace"),
        (
            FakeMachine("podman", "apt-get"),
            "bench",
            "this machine lacks podman, and has no apt-get. Install what Debian has in the packages podman.",
        ),
        (FakeMachine("podman", apt=100), "test", "apt-get install failed for podman."),
        (FakeMachine("nft", never=("nft",)), "demo", "nft is still missing after nftables was installed."),
        (
            FakeMachine(podman="podman version 3.4.4"),
            "demo",
            "invalid podman (podman version 3.4.4): must be 4.3 or newer",
        ),
        (FakeMachine(podman=""), "demo", "invalid podman (no answer): must be 4.3 or newer"),
    ],
    ids=["go", "git", "root", "not root", "not Debian", "no network", "another package", "old podman", "silent podman"],
)
def test_what_cannot_be_mended_here_is_one_sentence(fake: FakeMachine, entry: str, sentence: str) -> None:
    with pytest.raises(host.Problem) as problem:
        fake.prepare(entry)
    assert str(problem.value).startswith(sentence)
    assert "\n" not in str(problem.value)


def test_go_is_not_needed_where_nothing_is_compiled() -> None:
    FakeMachine("go").prepare("test-lint")


@pytest.mark.parametrize("version", ["4.3.1", "4.10.0", "5.4.2"])
def test_a_podman_of_today_will_do(version: str) -> None:
    FakeMachine(podman=f"podman version {version}").prepare("demo")

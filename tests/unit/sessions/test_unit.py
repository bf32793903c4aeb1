# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each session of unit tests starts pytest under another identity, and fails where that is not allowed."""

from __future__ import annotations

import typing as t

import nox
import pytest
from ansible_collections.nodecraft.kubeadm.tests.sessions import tools, unit
from ansible_collections.nodecraft.kubeadm.tests.sessions.identity import NotAllowed

SESSIONS: dict[str, t.Callable[[t.Any], None]] = {
    "unit": lambda session: unit.run_unit_tests(session, "2.21.5", profile="brief"),
    "unit without ansible-core": lambda session: unit.run_unit_tests(session, None, profile="brief"),
    "unit_core": lambda session: unit.run_core_tests(session, "2.22.0rc1"),
    "plays": lambda session: unit.run_plays(session, "2.21.5", "-m", "slice"),
}


class FakeSession:
    """Records what a session runs."""

    def __init__(self) -> None:
        self.name, self.bin, self.posargs = "fake", "/venv/bin", ["-k", "x"]
        self.env: dict[str, str] = {}
        self.commands: list[tuple[str, ...]] = []

    def install(self, *packages: str) -> None:
        """Installs nothing."""

    def run(self, *command: str, **_options: t.Any) -> None:
        self.commands.append(command)

    def error(self, message: str) -> t.NoReturn:
        raise nox.command.CommandFailed(message)


@pytest.fixture(name="session")
def fixture_session() -> FakeSession:
    """A session that starts nothing."""
    return FakeSession()


@pytest.mark.parametrize("name", SESSIONS)
def test_session_starts_pytest_under_another_identity(
    monkeypatch: pytest.MonkeyPatch, session: FakeSession, name: str
) -> None:
    monkeypatch.setattr(tools, "foreign_command", lambda command: ["as-another", *command])
    SESSIONS[name](session)
    (command,) = session.commands
    assert command[:3] == ("as-another", "/venv/bin/python", "/venv/bin/pytest")
    assert command[-2:] == ("-k", "x")


@pytest.mark.parametrize("name", SESSIONS)
def test_session_without_another_identity_fails(
    monkeypatch: pytest.MonkeyPatch, session: FakeSession, name: str
) -> None:
    def refuse(_command: t.Sequence[str]) -> list[str]:
        raise NotAllowed("not allowed here")

    monkeypatch.setattr(tools, "foreign_command", refuse)
    with pytest.raises(nox.command.CommandFailed, match="not allowed here"):
        SESSIONS[name](session)
    assert session.commands == []


def test_only_tests_without_ansible_core_run_without_utf_8(
    monkeypatch: pytest.MonkeyPatch, session: FakeSession
) -> None:
    monkeypatch.setattr(tools, "foreign_command", list)
    SESSIONS["unit"](session)
    assert "LC_ALL" not in session.env
    SESSIONS["unit without ansible-core"](session)
    assert session.env["LC_ALL"] == "POSIX"

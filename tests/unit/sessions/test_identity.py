# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unit tests run under another identity than the machine's, or not at all. That the real unshare gives one, each session checks in its conftest."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.tests.sessions import identity
from ansible_collections.nodecraft.kubeadm.tests.sessions.places import ROOT

PLACE = Path("/a place/kubeadm")
FIELDS = [field.name for field in dataclasses.fields(identity.Identity)]
OTHERS: dict[str, t.Any] = dict.fromkeys(FIELDS, "of another machine")
INNER = {**OTHERS, "clone": "/a place"}


class FakeUnshare:
    """Says of each way into a namespace why it is not allowed; an empty text allows it."""

    def __init__(self, *refusals: str) -> None:
        self._refusals = list(refusals)

    def __call__(self, command: t.Sequence[str], **_options: t.Any) -> subprocess.CompletedProcess[str]:
        assert command[0] == "unshare"
        assert command[-1] == "true"
        refusal = self._refusals.pop(0)
        return subprocess.CompletedProcess(command, 1 if refusal else 0, "", refusal)


def remaining(monkeypatch: pytest.MonkeyPatch, inner: dict[str, t.Any], outer: dict[str, t.Any]) -> list[str]:
    """What is the same in two identities."""
    monkeypatch.setenv(identity.OUTER, json.dumps(outer))
    monkeypatch.setattr(identity.Identity, "observed", classmethod(lambda cls: cls(**inner)))
    return identity.remaining()


@pytest.mark.parametrize("field", FIELDS)
def test_each_field_that_stays_the_same_is_named(monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    outer = dict.fromkeys(FIELDS, "of this machine") | {field: INNER[field]}
    assert remaining(monkeypatch, INNER, outer) == [field]


def test_clone_at_path_without_space_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = {**INNER, "clone": "/elsewhere"}
    outer = dict.fromkeys(FIELDS, "of this machine")
    assert remaining(monkeypatch, inner, outer) == ["kind of path, without a space"]


def test_machine_without_machine_id_has_none_to_change(monkeypatch: pytest.MonkeyPatch) -> None:
    outer = {**dict.fromkeys(FIELDS, "of this machine"), "machine_id": ""}
    assert remaining(monkeypatch, {**INNER, "machine_id": ""}, outer) == []


def test_process_started_without_session_has_nothing_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(identity.OUTER, raising=False)
    assert identity.remaining() == []


def test_observed_identity_has_every_value_of_this_process() -> None:
    observed = identity.Identity.observed()
    assert observed.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    assert (observed.host_name, observed.clone) == (os.uname().nodename, str(ROOT))
    assert observed.temporary_device == os.stat("/tmp").st_dev  # noqa: S108  # only its number


def test_root_needs_no_user_namespace() -> None:
    command = identity.foreign_command(["pytest", "x"], FakeUnshare(""))
    assert command == ["unshare", "--mount", "--uts", sys.executable, identity.__file__, "pytest", "x"]


def test_user_is_root_for_mounts_and_itself_for_tests() -> None:
    command = identity.foreign_command(["pytest"], FakeUnshare("Operation not permitted", ""))
    assert command[1:5] == ["--user", "--map-root-user", "--mount", "--uts"]
    own = ["unshare", "--user", f"--map-user={os.getuid()}", f"--map-group={os.getgid()}", "pytest"]
    assert command[-len(own) :] == own


def test_machine_without_namespaces_is_refused_with_reasons_and_advice() -> None:
    with pytest.raises(identity.NotAllowed) as refused:
        identity.foreign_command(["pytest"], FakeUnshare("unshare failed: Operation not permitted", "mount: denied"))
    message = str(refused.value)
    assert "unshare --mount --uts: unshare failed: Operation not permitted" in message
    assert "unshare --user --map-root-user --mount --uts: mount: denied" in message
    assert message.endswith(identity.ADVICE)


def test_machine_without_unshare_is_refused() -> None:
    def run(*_command: t.Any, **_options: t.Any) -> t.NoReturn:
        raise FileNotFoundError(2, "No such file or directory", "unshare")

    with pytest.raises(identity.NotAllowed, match=r"\(\[Errno 2\] No such file or directory: 'unshare'\)\. Run"):
        identity.foreign_command(["pytest"], run)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (str(ROOT), str(PLACE)),
        (f"{ROOT}/build/envs/x/bin:/usr/bin", f"{PLACE}/build/envs/x/bin:/usr/bin"),
        (f"/usr/bin:{ROOT}/bin", f"/usr/bin:{PLACE}/bin"),
        (f"--junit-xml={ROOT}/build/a.xml", f"--junit-xml={PLACE}/build/a.xml"),
        (f"{ROOT}-2/bin", f"{ROOT}-2/bin"),
        (f"/mnt{ROOT}/bin", f"/mnt{ROOT}/bin"),
    ],
    ids=["itself", "first", "second", "option", "longer name", "below another"],
)
def test_paths_into_clone_move_with_it(text: str, expected: str) -> None:
    assert identity.relocate(text, PLACE) == expected


def test_environment_is_of_another_user_and_keeps_the_rest() -> None:
    own = {
        "HOME": "/own",
        "USER": "ann",
        "SSH_CLIENT": "x",
        "XDG_CACHE_HOME": "/own/c",
        "LC_ALL": "C.UTF-8",
        "PATH": f"{ROOT}/bin",
    }
    foreign = identity.foreign_environment(own, identity.Identity(**OTHERS), PLACE)
    assert foreign.keys() == {"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TZ", "USER", identity.OUTER}
    assert (foreign["HOME"], foreign["LC_ALL"], foreign["PATH"]) == ("/a place/home", "C.UTF-8", f"{PLACE}/bin")
    assert set(own.values()) & set(foreign.values()) == {"C.UTF-8"}
    assert json.loads(foreign[identity.OUTER]) == OTHERS


@pytest.mark.parametrize("choices", [identity.CLONES, identity.LANGUAGES, tuple(identity.ZONES)])
def test_choice_is_never_the_own_value(choices: tuple[t.Any, ...]) -> None:
    assert [identity.first_other(choices, own) for own in choices] == [choices[1], choices[0]]


@pytest.mark.parametrize("west", identity.ZONES)
def test_zone_has_the_offset_that_is_written_beside_it(west: int) -> None:
    command = [sys.executable, "-c", "import time; print(time.timezone)"]
    done = subprocess.run(command, env={"TZ": identity.ZONES[west]}, check=True, capture_output=True, text=True)
    assert int(done.stdout) == west

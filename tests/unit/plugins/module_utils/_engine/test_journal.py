# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two copies of every journal: the intact one is used and that is said; without one nothing is guessed."""

from __future__ import annotations

import base64
import errno
import json
import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import transaction
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.errors import Damaged, OtherFormat
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import (
    FORMAT,
    Json,
    locked,
    named,
    read_bytes,
    remove,
    write_atomically,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    ALARM,
    COMMITTED,
    PROVING,
    RESTORED,
    RESTORING,
    content_of,
    copies_of,
    drop_journal,
    file_journal,
    history_ids,
    last_known_good,
    load_journal,
    save_journal,
    version_of,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.program import STUCK, main
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.static_pod import StaticPodWatcher
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import FOREIGN, NEW, OLD, Behaviour, FakeNode

Damage = t.Callable[[Path], t.Any]


def copies(node: FakeNode) -> tuple[Path, Path]:
    first, second = copies_of(str(node.state))
    return Path(first), Path(second)


def rewrite(path: Path, change: t.Callable[[Json], t.Any]) -> None:
    """Change a journal and leave its checksum."""
    journal = json.loads(path.read_bytes())
    change(journal)
    path.write_text(json.dumps(journal), encoding="utf-8")


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def swap_file(path: Path) -> None:
    """The copy of a file is another one, and its own checksum fits."""
    rewrite(
        path,
        lambda journal: journal["files"][-1].update(before=version_of(b"other", 0o600, os.getuid(), os.getgid())),
    )


DAMAGES: dict[str, Damage] = {
    "missing": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "truncated": truncate,
    "zeros": lambda path: path.write_bytes(bytes(2000)),
    "no journal": lambda path: path.write_text('{"format": 1}', encoding="ascii"),
    "another phase": lambda path: rewrite(path, lambda journal: journal.update(phase=PROVING)),
    "another file": swap_file,
    "no base64": lambda path: rewrite(path, lambda journal: journal["files"][-1]["before"].update(content="%%%")),
    "no checksum": lambda path: rewrite(path, lambda journal: journal.pop("sha256")),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_restore_uses_the_second_copy_and_says_so(node: FakeNode, damage: Damage) -> None:
    node.prepare()
    first, second = copies(node)
    assert first.read_bytes() == second.read_bytes()
    assert second.stat().st_mode & 0o7777 == 0o600
    assert second.parent.stat().st_mode & 0o7777 == 0o700
    save_journal(str(node.state), node.opened() | restoring(node))
    damage(first)
    result = node.run()
    assert result["outcome"] == RESTORED
    assert node.manifest.read_text(encoding="utf-8") == OLD
    (note,) = result["notes"]
    assert str(first) in note
    assert f"its second copy {second} was used" in note


def restoring(node: FakeNode) -> t.Any:
    """A transaction whose manifest is written and has to go back."""
    watcher = StaticPodWatcher(node.journal(), node.host, node.kubelet.systemctl, node.clock, node.clock.sleep)
    before = {"healthy": True, **watcher.what_runs()}
    node.write_manifest(NEW)
    node.watcher.events()
    return {"phase": RESTORING, "before": before, "switched": True, "reason": "a test"}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_second_copy_is_no_obstacle_and_written_again(node: FakeNode, damage: Damage) -> None:
    node.prepare()
    damage(copies(node)[1])
    result = node.run()
    assert (result["outcome"], result["notes"]) == (COMMITTED, [])
    first, second = copies_of(str(node.state), history_ids(str(node.state))[-1])
    assert Path(first).read_bytes() == Path(second).read_bytes()


@pytest.mark.parametrize("damage", [damage for name, damage in DAMAGES.items() if name != "missing"])
def test_without_an_intact_copy_nothing_is_written(
    node: FakeNode, damage: Damage, capsys: pytest.CaptureFixture[str]
) -> None:
    node.prepare()
    for path in copies(node):
        damage(path)
    contents = [path.read_bytes() for path in copies(node)]
    assert main(["engine.pyz", str(node.state)]) == STUCK
    assert "journal.json" in capsys.readouterr().err
    assert [path.read_bytes() for path in copies(node)] == contents
    assert node.manifest.read_text(encoding="utf-8") == OLD


def test_a_damaged_copy_of_a_file_is_named_with_the_file(node: FakeNode) -> None:
    node.prepare()
    for path in copies(node):
        DAMAGES["no base64"](path)
    with pytest.raises(Damaged, match=f"copy of {node.manifest} in .* is damaged"):
        node.new_engine().run()


@pytest.mark.parametrize("content", ["%", "AAA", None, base64.b64encode(b"x").decode() + "\n\0"])
def test_what_is_no_base64_is_damaged(content: t.Any) -> None:
    version: t.Any = {**version_of(b"x", 0o600, 0, 0), "content": content}
    with pytest.raises(Damaged, match="copy of /etc/a is damaged"):
        content_of(version, "/etc/a")


def test_a_first_copy_of_a_newer_version_is_not_replaced_by_the_second(node: FakeNode) -> None:
    node.prepare()
    first, dummy = copies(node)
    rewrite(first, lambda journal: journal.update(format=FORMAT + 1))
    with pytest.raises(OtherFormat, match="a newer version of nodecraft"):
        load_journal(str(node.state))


def test_a_journal_is_dropped_and_filed_with_its_second_copy(node: FakeNode) -> None:
    node.prepare()
    drop_journal(str(node.state))
    assert not any(path.exists() for path in copies(node))
    node.prepare()
    file_journal(str(node.state), "1")
    assert not any(path.exists() for path in copies(node))
    assert all(os.path.exists(path) for path in copies_of(str(node.state), "1"))
    assert history_ids(str(node.state)) == ["1"]


def test_a_closed_journal_is_known_by_its_second_copy(node: FakeNode) -> None:
    node.change()
    (identifier,) = history_ids(str(node.state))
    os.unlink(copies_of(str(node.state), identifier)[0])
    assert history_ids(str(node.state)) == [identifier]
    journal, problem = load_journal(str(node.state), identifier)
    assert journal is not None
    assert "is missing" in problem


def test_without_any_journal_there_is_none(tmp_path: Path) -> None:
    assert load_journal(str(tmp_path)) == (None, "")
    assert history_ids(str(tmp_path)) == []
    assert last_known_good(str(tmp_path)) is None


# ---- errors name what was asked for ----------------------------------------------------------------------------------


def test_an_error_names_the_file_and_not_the_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.mkdir()
    (path / "x").touch()
    with pytest.raises(OSError, match=r"policy\.yaml") as error:
        write_atomically(str(path), b"x", mode=0o600, uid=os.getuid(), gid=os.getgid())
    assert (error.value.filename, error.value.filename2) == (str(path), None)
    assert "nodecraft" not in str(error.value)


def test_an_error_without_a_name_gets_one() -> None:
    with pytest.raises(OSError, match=r"No space left on device: '/etc/a'") as error, named("/etc/a"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert error.value.errno == errno.ENOSPC


@pytest.mark.parametrize("action", [read_bytes, remove])
def test_what_cannot_be_read_or_removed_is_named(tmp_path: Path, action: t.Callable[[str], t.Any]) -> None:
    with pytest.raises(IsADirectoryError) as error:
        action(str(tmp_path))
    assert error.value.filename == str(tmp_path)


# ---- edits that nobody has read yet ----------------------------------------------------------------------------------


def edit_while_watched(node: FakeNode, action: t.Callable[[], t.Any], **given: t.Any) -> Json:
    """The new state is healthy; somebody does something in the watched seconds, and no kubelet looks."""
    node.prepare(min_ready_seconds=30, **given)

    def act() -> None:
        node.kubelet.enabled = False
        action()

    node.at(15, act)
    return node.run()


@pytest.mark.parametrize("rollback", [True, False])
def test_an_edit_in_the_watched_seconds_is_never_committed_over(node: FakeNode, rollback: bool) -> None:
    result = edit_while_watched(node, node.foreign_edit, rollback=rollback)
    assert result["outcome"] == ALARM
    assert f"{node.manifest} was changed by someone else while kube-apiserver was watched" in result["reason"]
    assert node.manifest.read_text(encoding="utf-8") == FOREIGN


def test_an_edit_of_a_policy_file_in_the_watched_seconds_is_an_alarm(node: FakeNode) -> None:
    result = edit_while_watched(
        node,
        lambda: node.policy.write_text("theirs", encoding="utf-8"),
        files=[node.entry(node.policy, "policy")],
        directories=[str(node.policy.parent)],
    )
    assert result["outcome"] == ALARM
    assert str(node.policy) in result["reason"]
    assert node.policy.read_text(encoding="utf-8") == "theirs"
    assert node.manifest.read_text(encoding="utf-8") == NEW


def test_a_file_that_somebody_puts_back_in_the_watched_seconds_is_not_committed(node: FakeNode) -> None:
    result = edit_while_watched(node, lambda: node.write_manifest(OLD))
    assert result["outcome"] != COMMITTED
    assert "was changed by someone else" in result["reason"]
    assert node.manifest.read_text(encoding="utf-8") == OLD


def test_an_edit_while_the_former_state_is_proven_is_an_alarm(node: FakeNode) -> None:
    node.kubelet.behaviours["--v=2"] = Behaviour(ready=None)
    node.prepare()
    node.once(PROVING, node.foreign_edit)
    result = node.run()
    assert result["outcome"] == ALARM
    assert f"but {node.manifest} was changed by someone else" in result["reason"]


# ---- as a program ----------------------------------------------------------------------------------------------------


def test_a_lock_that_is_held_is_tried_again_by_systemd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(transaction, "LOCK_SECONDS", 0.0)
    clock = iter(range(100)).__next__
    with locked(str(tmp_path), seconds=0, clock=clock, sleep=lambda seconds: None):
        status = main(["engine.pyz", str(tmp_path)])
    assert status == 1 != STUCK
    assert "another process holds" in capsys.readouterr().err

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two copies of every journal: the intact one is used and that is said; without one nothing is guessed."""

from __future__ import annotations

import base64
import json
import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.engine_errors import Damaged, OtherFormat
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import FORMAT, Json, write_atomically
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    CLOSED,
    COMMITTED,
    KEEP_HISTORY,
    ROLLED_BACK,
    ROLLING_BACK,
    VERIFYING,
    archive_journal,
    content_of,
    copies_of,
    has_version,
    history_ids,
    last_known_good,
    load_journal,
    prune_history,
    remove_journal,
    result_of,
    save_journal,
    version_of,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.program import STUCK, main
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.static_pod import StaticPodWatcher
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NEW, OLD, Behaviour, FakeNode, pod

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
    "another phase": lambda path: rewrite(path, lambda journal: journal.update(phase=VERIFYING)),
    "another file": swap_file,
    "no base64": lambda path: rewrite(path, lambda journal: journal["files"][-1]["before"].update(content="%%%")),
    "no checksum": lambda path: rewrite(path, lambda journal: journal.pop("sha256")),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_restore_uses_the_second_copy_and_is_reported(node: FakeNode, damage: Damage) -> None:
    node.prepare()
    first, second = copies(node)
    assert first.read_bytes() == second.read_bytes()
    assert second.stat().st_mode & 0o7777 == 0o600
    assert second.parent.stat().st_mode & 0o7777 == 0o700
    save_journal(str(node.state), node.opened() | restoring(node))
    damage(first)
    result = node.run()
    assert result["outcome"] == ROLLED_BACK
    assert node.manifest.read_text(encoding="utf-8") == OLD
    (note,) = result["notes"]
    assert str(first) in note
    assert f"its second copy {second} was used" in note


def restoring(node: FakeNode) -> t.Any:
    """A transaction whose manifest is written and has to go back."""
    journal = node.journal()
    watcher = StaticPodWatcher(
        journal, journal["watch"], node.host, node.kubelet.systemctl, node.http_get, node.clock, node.clock.sleep
    )
    before = {"healthy": True, **watcher.read_previous_state()}
    node.write_manifest(NEW)
    node.watcher.events()
    return {"phase": ROLLING_BACK, "before": before, "switched": True, "reason": "a test"}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_second_copy_blocks_nothing_and_is_written_again(node: FakeNode, damage: Damage) -> None:
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
    remove_journal(str(node.state))
    assert not any(path.exists() for path in copies(node))
    node.prepare()
    archive_journal(str(node.state), "1")
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


# ---- versions of files -----------------------------------------------------------------------------------------------


def test_a_versions_bytes_mode_and_owner_count(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(str(path), b"x", mode=0o640, uid=os.getuid(), gid=os.getgid())
    version = version_of(b"x", 0o640, os.getuid(), os.getgid())
    assert has_version(str(path), version)
    assert not has_version(str(path), {**version, "mode": 0o600})
    assert not has_version(str(path), {**version, "uid": os.getuid() + 1})
    assert not has_version(str(path), version_of(b"y", 0o640, os.getuid(), os.getgid()))
    assert not has_version(str(path), None)
    assert has_version(str(tmp_path / "other"), None)


# ---- history ---------------------------------------------------------------------------------------------------------


def test_the_history_keeps_the_last_ones_and_the_last_committed_one(tmp_path: Path) -> None:
    close(tmp_path, 1, COMMITTED)
    close(tmp_path, 2, COMMITTED)
    for number in range(3, 3 + 2 * KEEP_HISTORY):
        close(tmp_path, number, ROLLED_BACK)
    (tmp_path / "history" / "0000.json").write_text("damaged", encoding="ascii")
    (tmp_path / "history" / ".0005.json.tmp").write_text("not ours to count", encoding="ascii")
    prune_history(str(tmp_path))
    remaining = history_ids(str(tmp_path))
    assert remaining == ["0002"] + [f"{number:04}" for number in range(3 + KEEP_HISTORY, 3 + 2 * KEEP_HISTORY)]
    for path in copies_of(str(tmp_path), "0001"):
        assert not os.path.exists(path)


def test_the_last_known_good_is_the_newest_committed_one_that_is_intact(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        close(tmp_path, number, COMMITTED)
    close(tmp_path, 4, ROLLED_BACK)
    assert last_known_good(str(tmp_path)) == "0003"
    first, second = map(Path, copies_of(str(tmp_path), "0003"))
    first.write_bytes(first.read_bytes().replace(b"committed", b"restored!"))
    assert last_known_good(str(tmp_path)) == "0003", "by its second copy"
    second.unlink()
    assert last_known_good(str(tmp_path)) == "0002"
    for number in range(5, 5 + KEEP_HISTORY):
        close(tmp_path, number, ROLLED_BACK)
    prune_history(str(tmp_path))
    assert history_ids(str(tmp_path))[:2] == ["0002", "0005"]


def test_what_another_version_wrote_is_never_pruned(tmp_path: Path) -> None:
    close(tmp_path, 1, ROLLED_BACK, format=FORMAT + 1)
    for number in range(2, 3 + KEEP_HISTORY):
        close(tmp_path, number, ROLLED_BACK)
    prune_history(str(tmp_path))
    assert history_ids(str(tmp_path))[0] == "0001"
    assert len(history_ids(str(tmp_path))) == 1 + KEEP_HISTORY


def test_a_closed_transaction_that_does_not_report_how_it_ended_is_damaged() -> None:
    journal: t.Any = {"name": "etcd", "id": "0001", "result": None}
    with pytest.raises(Damaged, match="the journal of etcd from 0001 is damaged"):
        result_of(journal)


def close(directory: Path, number: int, outcome: str, **given: t.Any) -> None:
    """A closed transaction in the history."""
    journal: t.Any = {"format": FORMAT, "phase": CLOSED, "files": [], "result": {"outcome": outcome}, **given}
    save_journal(str(directory), journal, f"{number:04}")


def test_a_hundred_changes_leave_a_bounded_history(node: FakeNode) -> None:
    node.allowed = {pod(f"--v={number}").encode() for number in range(20)}
    node.kubelet.behaviours = {f"--v={number}": Behaviour(stop=0, start=0, ready=0) for number in range(20)}
    node.clock.pace = 4
    for number in range(2, 15):
        identifier = f"20260101T0000{number:02}.000000Z-abcdef"
        assert node.change(pod(f"--v={number}"), id=identifier, min_ready_seconds=0)["outcome"] == COMMITTED
    for directory in ("history", "backup"):
        assert len(list((node.state / directory).iterdir())) == KEEP_HISTORY

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A manifest whose last version is written when the former instance has ended, so that the kubelet does not wait."""

from __future__ import annotations

import os
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import Json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.health_waiter import END_GRACE
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    COMMITTED,
    ROLLED_BACK,
    save_journal,
    version_of,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import FOREIGN, NEW, OLD, Behaviour, FakeNode

INTERIM = NEW.replace("metadata:", "metadata:\n  annotations: {interim: 'true'}", 1)
STOP, START = 2.0, 8.0


def prepare(node: FakeNode, **given: t.Any) -> list[tuple[float, str]]:
    """A journal with an interim version; when the manifest had which content, as it happens."""
    node.kubelet.behaviours = {"--v=2": Behaviour(start=START), "--v=1": Behaviour(stop=STOP)}
    journal = node.journal(**given)
    journal["files"][-1]["interim"] = version_of(INTERIM.encode(), 0o600, os.getuid(), os.getgid())
    save_journal(str(node.state), journal)
    node.allowed.add(INTERIM.encode())
    start, found = node.clock.now, list[tuple[float, str]]()

    def watch() -> None:
        text = node.manifest.read_text(encoding="utf-8")
        if not found or found[-1][1] != text:
            found.append((node.clock.now - start, text))

    node.clock.watchers.append(watch)
    return found


def text_of(node: FakeNode) -> str:
    return node.manifest.read_text(encoding="utf-8")


def test_last_version_is_written_when_the_former_instance_has_ended(node: FakeNode) -> None:
    seen = prepare(node)
    result: Json = node.run()
    assert (result["outcome"], text_of(node)) == (COMMITTED, NEW)
    assert [text for _at, text in seen] == [INTERIM, NEW]
    written = seen[1][0]
    assert STOP + END_GRACE <= written <= STOP + END_GRACE + 1
    # It is away from the first version on, and only the last one was started.
    assert result["outage_seconds"] == pytest.approx(written + START + 1, abs=1)
    assert sorted(node.kubelet.starts.values()) == [1, 1]


def test_engine_that_follows_writes_the_last_version(node: FakeNode) -> None:
    seen = prepare(node)

    class Killed(BaseException):
        """The engine ends here."""

    def kill() -> None:
        if seen and node.clock.now > 1000 + STOP + 1 and len(seen) == 1:
            seen.append((0.0, "killed"))
            raise Killed

    node.clock.watchers.append(kill)
    with pytest.raises(Killed):
        node.run()
    assert text_of(node) == INTERIM
    assert (node.run()["outcome"], text_of(node)) == (COMMITTED, NEW)


def test_former_instance_that_does_not_end_gets_its_manifest_back(node: FakeNode) -> None:
    prepare(node, wait_timeout=5)
    node.kubelet.instances[0].behaviour = Behaviour(stop=20)
    result = node.run()
    assert (result["outcome"], text_of(node)) == (ROLLED_BACK, OLD)


def test_instance_of_the_first_version_is_not_the_last_word(node: FakeNode) -> None:
    prepare(node)
    node.kubelet.behaviours["--v=2"] = Behaviour(start=0.5)
    result = node.run()
    assert (result["outcome"], text_of(node)) == (COMMITTED, NEW)
    assert node.kubelet.instances[0].uid == result["proof"]["uid"]


@pytest.mark.parametrize("at", [1.0, STOP + END_GRACE + 2])
def test_foreign_edit_is_seen_beside_either_version(node: FakeNode, at: float) -> None:
    prepare(node)
    due = node.clock.now + at
    edited: list[bool] = []

    def edit() -> None:
        if node.clock.now >= due and not edited:
            edited.append(True)
            node.foreign_edit()

    node.clock.watchers.append(edit)
    result = node.run()
    assert result["outcome"] != COMMITTED
    assert "was changed by another process" in result["reason"]
    assert text_of(node) == FOREIGN

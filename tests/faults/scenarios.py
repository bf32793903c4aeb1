# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes that are killed and failed at every system call, and what must be true after each."""

from __future__ import annotations

import dataclasses
import os
import shutil
import stat
import typing as t
from pathlib import Path

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import COMMITTED, ROLLED_BACK
from ansible_collections.nodecraft.kubeadm.tests.faults.fault_nodes import FaultNode, StaticPodNode
from ansible_collections.nodecraft.kubeadm.tests.faults.processes import Worker
from ansible_collections.nodecraft.kubeadm.tests.faults.system_calls import Call
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import Behaviour
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import Web

QUICK = Behaviour(stop=0.5, start=0.5, ready=0.25)
UNREADY = Behaviour(stop=0.5, start=0.5, ready=None, log=("E1 it cannot start",))
# The attribute stands for those of SELinux and of access control lists, which not every machine has.
ATTRIBUTE, VALUE = "user.nodecraft", b"label"
WHOLE = os.environ.get("FAULTS_SCOPE", "slice") == "whole"

Snapshot = dict[str, tuple[t.Any, ...]]


def snapshot(node: StaticPodNode) -> Snapshot:
    """All that a transaction changes, with mode, owner, attribute and bytes; what is temporary not."""
    found: Snapshot = {}
    for directory in (node.manifests, node.root / "policies"):
        for path in sorted(directory.rglob("*")):
            if not path.name.startswith("."):
                found[str(path)] = _version(path)
    record = node.state / "owned.json"
    if record.exists():
        found[str(record)] = _version(record)
    return found


def _version(path: Path) -> tuple[t.Any, ...]:
    status = path.stat()
    version = (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, sorted(os.listxattr(path)))
    return (*version, path.read_bytes() if path.is_file() else None)


def leftovers(node: StaticPodNode) -> list[str]:
    """Temporary files in the directories of others, and anything in the collection's own that does not belong there."""
    own = {"lock", "engine.pyz", "history", "owned.json", "progress.json", "followed.json", "backup", "confirmed"}
    directories = (node.manifests, node.root / "policies", node.etc)
    hidden = [str(path) for directory in directories for path in directory.rglob(".*")]
    return hidden + sorted(str(path) for path in node.state.iterdir() if path.name not in own)


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A change of the API server. second: of a node that was changed before, so that files change and go away too.
    works: whether the changed API server ever gets ready."""

    second: bool
    works: bool

    def __str__(self) -> str:
        return f"{'second' if self.second else 'first'} change, {'good' if self.works else 'bad'}"

    @property
    def outcome(self) -> str:
        """How it ends when nothing goes wrong."""
        return COMMITTED if self.works else ROLLED_BACK

    def node(self, root: Path, web: Web, worker: Worker) -> StaticPodNode:
        """A fresh node before the change."""
        shutil.rmtree(root, ignore_errors=True)
        node = StaticPodNode(root, web, worker)
        (root / "policies").mkdir()
        node.kubelet.behaviours = {"--v=1": QUICK, "--v=2": QUICK}
        os.setxattr(node.manifest, ATTRIBUTE, VALUE)
        if self.second:
            node.accept(self._former_desired(root))
            assert not node.module(**self._former_desired(root)).result["failed"]
            node.systemd.run_service()
            assert node.outcome() == COMMITTED
        node.accept(self.desired(root))
        node.kubelet.behaviours["--v=3"] = QUICK if self.works else UNREADY
        node.watcher.events()
        return node

    @staticmethod
    def _former_desired(root: Path) -> dict[str, t.Any]:
        policies = root / "policies"
        files = [
            samples.file(str(policies / "audit" / "policy.yaml"), "former policy\n"),
            samples.file(str(policies / "gone.yaml"), "will go\n"),
        ]
        return _desired(policies, 2, files)

    @staticmethod
    def desired(root: Path) -> dict[str, t.Any]:
        """The options of the module."""
        policies = root / "policies"
        files = [
            samples.file(str(policies / "audit" / "policy.yaml"), "new policy\n"),
            samples.file(str(policies / "new" / "file.yaml"), "new file\n"),
        ]
        return _desired(policies, 3, files)


SCENARIOS = tuple(Scenario(second, works) for second in (False, True) for works in (True, False))


def _desired(policies: Path, value: int, files: list[dict[str, t.Any]]) -> dict[str, t.Any]:
    volume = {
        "name": "policies",
        "host_path": str(policies),
        "mount_path": str(policies),
        "read_only": True,
        "path_type": None,
        "state": "present",
    }
    return {
        "args": {"v": value},
        "volumes": [volume],
        "files": files,
        "purge": True,
        "wait_timeout": 6,
        "min_ready_seconds": 1,
    }


def one_of_each(calls: t.Iterable[Call]) -> list[Call]:
    """The first call of each kind on each file: what a slice tries. The whole tries all."""
    if WHOLE:
        return list(calls)
    return list(
        {
            (call.name, tuple(os.path.basename(path) for path in call.paths)): call for call in reversed(list(calls))
        }.values()
    )


def changing(calls: t.Iterable[Call], node: FaultNode) -> list[Call]:
    """The calls that change something of the collection's or of the component's; what the fake kubelet reads is not."""
    return [call for call in calls if call.changes and call.below(node.root)]

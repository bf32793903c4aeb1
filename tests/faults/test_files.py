# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""F06, F23, F27-F34, F47, F49: manifests, links, directories and attributes as they are found on nodes, and edits of others."""

from __future__ import annotations

import json
import os
import re
import stat
import struct
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    ABORTED,
    ALARM,
    COMMITTED,
    ROLLED_BACK,
    content_of,
)
from ansible_collections.nodecraft.kubeadm.tests.faults.conftest import Make, Tally
from ansible_collections.nodecraft.kubeadm.tests.faults.fault_nodes import StaticPodNode, manifest
from ansible_collections.nodecraft.kubeadm.tests.faults.scenarios import (
    ATTRIBUTE,
    QUICK,
    SCENARIOS,
    UNREADY,
    VALUE,
    WHOLE,
    changing,
    leftovers,
    snapshot,
)
from ansible_collections.nodecraft.kubeadm.tests.faults.system_calls import Call, Fault
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME

OTHER_FILE_SYSTEM = Path("/dev/shm")  # noqa: S108  # of memory
DESIRED: dict[str, t.Any] = {"args": {"v": 2}, "wait_timeout": 6, "min_ready_seconds": 1}


def change(node: StaticPodNode, *, works: bool = True, **desired: t.Any) -> str | None:
    """A change from the desired state to its end; its outcome."""
    node.kubelet.behaviours = {"--v=1": QUICK, "--v=2": QUICK if works else UNREADY}
    desired = {**DESIRED, **desired}
    node.accept(desired)
    result = node.module(**desired).result
    assert not result["failed"], result["msg"]
    node.systemd.run_service()
    return node.outcome()


def writes(calls: list[Call], node: StaticPodNode) -> list[Call]:
    """What a process changed; to take the lock is nothing, nor is to sync what is there."""
    return [call for call in changing(calls, node) if call.name != "fsync" and not call.paths[0].endswith("/lock")]


def run_refused(node: StaticPodNode, **desired: t.Any) -> str:
    """Run a module that is refused and writes nothing; returns its message."""
    ended = node.module(traced=True, **{**DESIRED, **desired})
    assert ended.result["failed"]
    assert writes(ended.calls, node) == []
    assert not node.systemd.due
    message: str = ended.result["msg"]
    return message


# ---- manifests ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("spec: [", "kube-apiserver.yaml"),
        ("kind: ConfigMap\nmetadata:\n  name: kube-apiserver\n", "kube-apiserver.yaml"),
        ("", "kube-apiserver.yaml"),
        ("{manifest}---\nkind: Pod\n", "kube-apiserver.yaml"),
        ("{manifest}\tx: 1\n", "kube-apiserver.yaml"),
        ("{manifest}metadata: {{}}\n", "metadata"),
    ],
    ids=["broken", "no pod", "empty", "two documents", "a tab", "a key twice"],
)
def test_f06_f29_what_cannot_be_edited_is_refused_and_nothing_is_written(
    node: StaticPodNode, text: str, message: str
) -> None:
    content = text.format(manifest=node.old)
    node.allowed = {content.encode()}
    node.write_manifest(content)
    assert message in run_refused(node)
    assert node.manifest.read_text(encoding="utf-8") == content


@pytest.mark.parametrize(
    "style",
    [
        lambda text: text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("    - --v=1\n", "    - --v=1 # verbosity\n"),
        lambda text: text.replace("  namespace", "  creationTimestamp: null\n  namespace"),
        lambda text: text.replace("    - --v=1", '    - "--v=1"'),
        lambda text: text.replace("    - --v=1", f"    - --long={'x' * 300}\n    - --v=1"),
        lambda text: text.replace("    - kube-apiserver\n    - --v=1\n", "      [kube-apiserver,   --v=1]\n"),
        lambda text: text + "# the end, without a line's end",
    ],
    ids=["plain", "CRLF", "BOM", "comment", "null", "quoted", "long line", "flow list", "no end"],
)
def test_f28_f29_only_the_requested_bytes_differ(node: StaticPodNode, style: t.Callable[[str], str]) -> None:
    text = style(node.old)
    node.allowed = {text.encode()}
    node.write_manifest(text)
    node.stabilize()
    assert change(node) == COMMITTED
    assert node.manifest.read_bytes() == text.replace("--v=1", "--v=2").encode()


def test_f30_a_link_stays_and_its_target_is_changed(node: StaticPodNode) -> None:
    target = node.root / "elsewhere" / "api.yaml"
    target.parent.mkdir()
    target.write_text(node.old, encoding="utf-8")
    link = node.manifests / ".link"
    link.symlink_to(target)
    link.rename(node.manifest)
    node.stabilize()
    assert change(node) == COMMITTED
    assert os.readlink(node.manifest) == str(target)
    assert "--v=2" in target.read_text(encoding="utf-8")
    assert os.listdir(target.parent) == [target.name]


def test_f30_a_link_to_nothing_is_refused(node: StaticPodNode) -> None:
    moved = node.manifests / ".aside"
    node.manifest.rename(moved)
    node.manifest.symlink_to("nowhere")
    assert "link to a file that does not exist" in run_refused(node)
    moved.rename(node.manifest)
    node.watcher.events()


@pytest.mark.skipif(not OTHER_FILE_SYSTEM.is_dir(), reason="there is no second file system")
def test_f23_f30_the_directory_may_be_a_link_to_another_file_system(
    node: StaticPodNode, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = OTHER_FILE_SYSTEM / tmp_path_factory.mktemp("f23").name / str(os.getpid())
    directory.mkdir(parents=True)
    node.manifest.rename(node.root / NAME)
    node.manifests.rmdir()
    node.manifests.symlink_to(directory)
    node.write_manifest(node.old)
    try:
        node.watcher.events()
        assert change(node) == COMMITTED
        assert "--v=2" in (directory / f"{NAME}.yaml").read_text(encoding="utf-8")
        assert os.listdir(directory) == [f"{NAME}.yaml"]
    finally:
        node.manifest.unlink()
        directory.rmdir()
        directory.parent.rmdir()


@pytest.mark.parametrize("name", [f"{NAME}.yaml.bak", f"{NAME}.yaml~", "copy.yaml"])
def test_f31_a_stray_copy_is_refused_by_name(node: StaticPodNode, name: str) -> None:
    (node.manifests / name).write_text(node.old, encoding="utf-8")
    assert str(node.manifests / name) in run_refused(node)
    (node.manifests / name).unlink()
    node.watcher.events()


def test_f32_an_editors_hidden_file_does_not_count(node: StaticPodNode) -> None:
    swap = node.manifests / f".{NAME}.yaml.swp"
    swap.write_text(node.old, encoding="utf-8")
    assert change(node) == COMMITTED
    assert swap.exists()


# ---- mode, owner, attributes -------------------------------------------------------------------------------------------


def access_list() -> bytes:
    """An access control list: user::rw-, user:1234:r--, group::---, mask::r--, other::---."""
    entries = [(0x01, 6, -1), (0x02, 4, 1234), (0x04, 0, -1), (0x10, 4, -1), (0x20, 0, -1)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)


@pytest.mark.parametrize("listed", [True, False], ids=["with a list", "without"])
@pytest.mark.parametrize("works", [True, False], ids=["committed", "rolled_back"])
def test_f33_f34_mode_owner_list_and_attributes_stay(node: StaticPodNode, works: bool, listed: bool) -> None:
    os.chown(node.manifest, 1234, 2345)
    node.manifest.chmod(0o640)
    if listed:  # it has the mode as well
        os.setxattr(node.manifest, "system.posix_acl_access", access_list())
    os.setxattr(node.manifest, ATTRIBUTE, VALUE)

    def metadata() -> list[t.Any]:
        status = node.manifest.stat()
        attributes = {name: os.getxattr(node.manifest, name) for name in os.listxattr(node.manifest)}
        return [stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, attributes]

    before = metadata()
    assert change(node, works=works) == (COMMITTED if works else ROLLED_BACK)
    assert metadata() == before


# ---- edits of others -----------------------------------------------------------------------------------------------------


FOREIGN = "--v=7"


def test_f27_a_foreign_edit_at_any_moment_is_kept(make_node: Make, tally: Tally) -> None:
    """The process is stopped after each of its calls on the manifest, another program replaces the file, and it goes on."""
    scenario = SCENARIOS[1]  # it writes the manifest twice: there and back
    node = make_node(scenario)
    desired = scenario.desired(node.root)
    assert not node.module(**desired).result["failed"]
    (clean,) = node.systemd.run_service(traced=True)
    moments = [
        call
        for call in clean.calls
        if call.name in ("openat", "read", "fsync", "fchmod", "rename") and call.below(node.manifests)
    ]
    renames = [clean.calls.index(call) for call in moments if call.name == "rename"]
    assert len(renames) == 2
    lost: list[int] = []
    for call in moments if WHOLE else moments[::2]:
        node = make_node(scenario)
        foreign = manifest(node.web.port, FOREIGN)

        def edit(node: StaticPodNode = node, foreign: str = foreign) -> None:
            node.allowed |= {foreign.encode()}
            node.write_manifest(foreign)
            node.watcher.events()

        assert not node.module(**desired).result["failed"]
        node.on_stopped = edit
        # What comes when differs between runs, by how often the process reads: this run shows where it was stopped.
        calls = node.systemd.run_service(Fault(call.name, call.number, "signal=STOP"))[0].calls
        assert node.was_stopped, f"{call.name} {call.number} was not reached"
        survived = node.manifest.read_text(encoding="utf-8") == foreign
        tally("foreign edit", "kept" if survived else "lost between the last look and the rename")
        if survived:
            assert node.outcome() in (ALARM, ABORTED, ROLLED_BACK)
        else:
            stop = next(index for index, one in enumerate(calls) if (one.name, one.number) == (call.name, call.number))
            assert calls[stop].paths == (str(node.manifest),)
            lost.append(stop - max(index for index, one in enumerate(calls[: stop + 1]) if is_read(one, node)))
    # What comes between the last read and the rename cannot be seen; everything before is.
    assert all(distance < 5 for distance in lost), lost


def is_read(call: Call, node: StaticPodNode) -> bool:
    """Whether the manifest is opened to be read."""
    return call.name == "openat" and call.paths == (str(node.manifest),)


# ---- runs that change nothing --------------------------------------------------------------------------------------------


def test_f47_a_second_run_writes_nothing_and_restarts_nothing(node: StaticPodNode) -> None:
    assert change(node) == COMMITTED
    before, starts = snapshot(node), dict(node.kubelet.starts)
    again = node.module(traced=True, **DESIRED)
    assert again.result["changed"] is False
    # Only that the outcome was reported is recorded.
    assert {call.paths[0] for call in writes(again.calls, node)} <= {
        str(node.state),
        *(str(node.state / name) for name in (".followed.json.nodecraft-kubeadm", "followed.json")),
    }
    assert not node.systemd.due
    assert (snapshot(node), node.kubelet.starts) == (before, starts)


def test_f47_check_mode_shows_the_difference_and_writes_nothing(node: StaticPodNode) -> None:
    node.state.rmdir()
    ended = node.module(check=True, traced=True, **DESIRED)
    assert ended.result["changed"] is True
    assert "--v=2" in json.dumps(ended.result["diff"])
    assert changing(ended.calls, node) == []


# ---- secrets -------------------------------------------------------------------------------------------------------------

SECRET = "correct horse battery staple"  # noqa: S105


@pytest.mark.parametrize("works", [True, False], ids=["committed", "rolled_back"])
def test_f49_secrets_stand_in_files_of_root_only_and_nowhere_else(node: StaticPodNode, works: bool) -> None:
    policies = node.root / "policies"
    policies.mkdir()
    volume = {
        "name": "policies",
        "host_path": str(policies),
        "mount_path": str(policies),
        "read_only": True,
        "path_type": None,
        "state": "present",
    }
    desired: dict[str, t.Any] = {
        **DESIRED,
        "volumes": [volume],
        "files": [samples.file(str(policies / "secret.yaml"), SECRET, sensitive=True)],
        "env": {"TOKEN": SECRET},
    }
    node.kubelet.behaviours = {"--v=1": QUICK, "--v=2": QUICK if works else UNREADY}
    result = node.module(**desired).result
    assert not result["failed"], result["msg"]
    assert SECRET not in json.dumps(result)
    node.allowed.add(next_manifest(node))
    node.systemd.run_service()
    assert node.outcome() == (COMMITTED if works else ROLLED_BACK)
    assert SECRET not in json.dumps(node.query_history("last_outcome", NAME))
    assert SECRET not in (node.state / "progress.json").read_text(encoding="utf-8")
    for directory, dummy, names in os.walk(node.state):
        assert stat.S_IMODE(os.stat(directory).st_mode) & 0o77 == 0 or directory == str(node.state)
        for name in names:
            assert stat.S_IMODE(os.stat(os.path.join(directory, name)).st_mode) & 0o77 == 0, name
    assert leftovers(node) == []


def next_manifest(node: StaticPodNode) -> bytes:
    """What the open transaction will write, by its own copy."""
    (entry,) = (entry for entry in node.opened()["files"] if entry["switch"])
    content = content_of(entry["after"])
    assert content is not None
    assert re.search(rb"--v=2", content)
    return content

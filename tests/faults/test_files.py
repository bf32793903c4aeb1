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
from ansible_collections.nodecraft.kubeadm.tests.faults.scenarios import (
    ATTRIBUTE,
    HOPELESS,
    QUICK,
    SCENARIOS,
    VALUE,
    WHOLE,
    changing,
    leftovers,
    snapshot,
)
from ansible_collections.nodecraft.kubeadm.tests.faults.station import Station, manifest
from ansible_collections.nodecraft.kubeadm.tests.faults.system_calls import Call, Fault
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import NAME

OTHER_FILE_SYSTEM = Path("/dev/shm")  # noqa: S108  # of memory
DESIRED: dict[str, t.Any] = {"args": {"v": 2}, "wait_timeout": 6, "min_ready_seconds": 1}


def change(station: Station, *, works: bool = True, **desired: t.Any) -> str | None:
    """A change from the desired state to its end; its outcome."""
    station.kubelet.behaviours = {"--v=1": QUICK, "--v=2": QUICK if works else HOPELESS}
    desired = {**DESIRED, **desired}
    station.accept(desired)
    result = station.module(**desired).result
    assert not result["failed"], result["msg"]
    station.systemd.work()
    return station.outcome()


def writes(calls: list[Call], station: Station) -> list[Call]:
    """What a process changed; to take the lock is nothing, nor is to sync what is there."""
    return [call for call in changing(calls, station) if call.name != "fsync" and not call.paths[0].endswith("/lock")]


def refusal(station: Station, **desired: t.Any) -> str:
    """The words of a run that is refused and writes nothing."""
    ended = station.module(traced=True, **{**DESIRED, **desired})
    assert ended.result["failed"]
    assert writes(ended.calls, station) == []
    assert not station.systemd.due
    message: str = ended.result["msg"]
    return message


# ---- manifests ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
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
    station: Station, text: str, words: str
) -> None:
    content = text.format(manifest=station.old)
    station.allowed = {content.encode()}
    station.write_manifest(content)
    assert words in refusal(station)
    assert station.manifest.read_text(encoding="utf-8") == content


@pytest.mark.parametrize(
    "style",
    [
        lambda text: text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("    - --v=1\n", "    - --v=1 # how much it says\n"),
        lambda text: text.replace("  namespace", "  creationTimestamp: null\n  namespace"),
        lambda text: text.replace("    - --v=1", '    - "--v=1"'),
        lambda text: text.replace("    - --v=1", f"    - --long={'x' * 300}\n    - --v=1"),
        lambda text: text.replace("    - kube-apiserver\n    - --v=1\n", "      [kube-apiserver,   --v=1]\n"),
        lambda text: text + "# the end, without a line's end",
    ],
    ids=["plain", "CRLF", "BOM", "comment", "null", "quoted", "long line", "flow list", "no end"],
)
def test_f28_f29_only_the_asked_bytes_differ(station: Station, style: t.Callable[[str], str]) -> None:
    text = style(station.old)
    station.allowed = {text.encode()}
    station.write_manifest(text)
    station.stabilize()
    assert change(station) == COMMITTED
    assert station.manifest.read_bytes() == text.replace("--v=1", "--v=2").encode()


def test_f30_a_link_stays_and_its_target_is_changed(station: Station) -> None:
    target = station.root / "elsewhere" / "api.yaml"
    target.parent.mkdir()
    target.write_text(station.old, encoding="utf-8")
    link = station.manifests / ".link"
    link.symlink_to(target)
    link.rename(station.manifest)
    station.stabilize()
    assert change(station) == COMMITTED
    assert os.readlink(station.manifest) == str(target)
    assert "--v=2" in target.read_text(encoding="utf-8")
    assert os.listdir(target.parent) == [target.name]


def test_f30_a_link_to_nothing_is_refused(station: Station) -> None:
    aside = station.manifests / ".aside"
    station.manifest.rename(aside)
    station.manifest.symlink_to("nowhere")
    assert "link to a file that does not exist" in refusal(station)
    aside.rename(station.manifest)
    station.watcher.events()


@pytest.mark.skipif(not OTHER_FILE_SYSTEM.is_dir(), reason="there is no second file system")
def test_f23_f30_the_directory_may_be_a_link_to_another_file_system(
    station: Station, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = OTHER_FILE_SYSTEM / tmp_path_factory.mktemp("f23").name / str(os.getpid())
    directory.mkdir(parents=True)
    station.manifest.rename(station.root / NAME)
    station.manifests.rmdir()
    station.manifests.symlink_to(directory)
    station.write_manifest(station.old)
    try:
        station.watcher.events()
        assert change(station) == COMMITTED
        assert "--v=2" in (directory / f"{NAME}.yaml").read_text(encoding="utf-8")
        assert os.listdir(directory) == [f"{NAME}.yaml"]
    finally:
        station.manifest.unlink()
        directory.rmdir()
        directory.parent.rmdir()


@pytest.mark.parametrize("name", [f"{NAME}.yaml.bak", f"{NAME}.yaml~", "copy.yaml"])
def test_f31_a_stray_copy_is_refused_by_name(station: Station, name: str) -> None:
    (station.manifests / name).write_text(station.old, encoding="utf-8")
    assert str(station.manifests / name) in refusal(station)
    (station.manifests / name).unlink()
    station.watcher.events()


def test_f32_an_editors_hidden_file_does_not_count(station: Station) -> None:
    swap = station.manifests / f".{NAME}.yaml.swp"
    swap.write_text(station.old, encoding="utf-8")
    assert change(station) == COMMITTED
    assert swap.exists()


# ---- mode, owner, attributes -------------------------------------------------------------------------------------------


def access_list() -> bytes:
    """An access control list: user::rw-, user:1234:r--, group::---, mask::r--, other::---."""
    entries = [(0x01, 6, -1), (0x02, 4, 1234), (0x04, 0, -1), (0x10, 4, -1), (0x20, 0, -1)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)


@pytest.mark.parametrize("listed", [True, False], ids=["with a list", "without"])
@pytest.mark.parametrize("works", [True, False], ids=["committed", "rolled_back"])
def test_f33_f34_mode_owner_list_and_attributes_stay(station: Station, works: bool, listed: bool) -> None:
    os.chown(station.manifest, 1234, 2345)
    station.manifest.chmod(0o640)
    if listed:  # it says the mode as well
        os.setxattr(station.manifest, "system.posix_acl_access", access_list())
    os.setxattr(station.manifest, ATTRIBUTE, VALUE)

    def metadata() -> list[t.Any]:
        status = station.manifest.stat()
        attributes = {name: os.getxattr(station.manifest, name) for name in os.listxattr(station.manifest)}
        return [stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, attributes]

    before = metadata()
    assert change(station, works=works) == (COMMITTED if works else ROLLED_BACK)
    assert metadata() == before


# ---- edits of others -----------------------------------------------------------------------------------------------------


FOREIGN = "--v=7"


def test_f27_a_foreign_edit_at_any_moment_is_kept(make: Make, tally: Tally) -> None:
    """The process is stopped after each of its calls on the manifest, another program replaces the file, and it goes on."""
    scenario = SCENARIOS[1]  # it writes the manifest twice: there and back
    station = make(scenario)
    desired = scenario.desired(station.root)
    assert not station.module(**desired).result["failed"]
    (clean,) = station.systemd.work(traced=True)
    moments = [
        call
        for call in clean.calls
        if call.name in ("openat", "read", "fsync", "fchmod", "rename") and call.below(station.manifests)
    ]
    renames = [clean.calls.index(call) for call in moments if call.name == "rename"]
    assert len(renames) == 2
    lost: list[int] = []
    for call in moments if WHOLE else moments[::2]:
        station = make(scenario)
        foreign = manifest(station.web.port, FOREIGN)

        def edit(station: Station = station, foreign: str = foreign) -> None:
            station.allowed |= {foreign.encode()}
            station.write_manifest(foreign)
            station.watcher.events()

        assert not station.module(**desired).result["failed"]
        station.stopped = edit
        # What comes when differs between runs, by how often the process looks: this run tells where it was stopped.
        calls = station.systemd.work(Fault(call.name, call.number, "signal=STOP"))[0].calls
        assert station.was_stopped, f"{call.name} {call.number} was not reached"
        kept = station.manifest.read_text(encoding="utf-8") == foreign
        tally("foreign edit", "kept" if kept else "lost between the last look and the rename")
        if kept:
            assert station.outcome() in (ALARM, ABORTED, ROLLED_BACK)
        else:
            stop = next(index for index, one in enumerate(calls) if (one.name, one.number) == (call.name, call.number))
            assert calls[stop].paths == (str(station.manifest),)
            lost.append(stop - max(index for index, one in enumerate(calls[: stop + 1]) if is_look(one, station)))
    # What comes between the last look and the rename cannot be seen; everything before is.
    assert all(distance < 5 for distance in lost), lost


def is_look(call: Call, station: Station) -> bool:
    """Whether the manifest is opened to be read."""
    return call.name == "openat" and call.paths == (str(station.manifest),)


# ---- runs that change nothing --------------------------------------------------------------------------------------------


def test_f47_a_second_run_writes_nothing_and_restarts_nothing(station: Station) -> None:
    assert change(station) == COMMITTED
    before, starts = snapshot(station), dict(station.kubelet.starts)
    again = station.module(traced=True, **DESIRED)
    assert again.result["changed"] is False
    # That the outcome was told is noted; that is all.
    assert {call.paths[0] for call in writes(again.calls, station)} <= {
        str(station.state),
        *(str(station.state / name) for name in (".followed.json.nodecraft-kubeadm", "followed.json")),
    }
    assert not station.systemd.due
    assert (snapshot(station), station.kubelet.starts) == (before, starts)


def test_f47_check_mode_shows_the_difference_and_writes_nothing(station: Station) -> None:
    station.state.rmdir()
    ended = station.module(check=True, traced=True, **DESIRED)
    assert ended.result["changed"] is True
    assert "--v=2" in json.dumps(ended.result["diff"])
    assert changing(ended.calls, station) == []


# ---- secrets -------------------------------------------------------------------------------------------------------------

SECRET = "correct horse battery staple"  # noqa: S105


@pytest.mark.parametrize("works", [True, False], ids=["committed", "rolled_back"])
def test_f49_secrets_stand_in_files_of_root_only_and_nowhere_else(station: Station, works: bool) -> None:
    policies = station.root / "policies"
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
    station.kubelet.behaviours = {"--v=1": QUICK, "--v=2": QUICK if works else HOPELESS}
    result = station.module(**desired).result
    assert not result["failed"], result["msg"]
    assert SECRET not in json.dumps(result)
    station.allowed.add(next_manifest(station))
    station.systemd.work()
    assert station.outcome() == (COMMITTED if works else ROLLED_BACK)
    assert SECRET not in json.dumps(station.told("last_outcome", NAME))
    assert SECRET not in (station.state / "progress.json").read_text(encoding="utf-8")
    for directory, dummy, names in os.walk(station.state):
        assert stat.S_IMODE(os.stat(directory).st_mode) & 0o77 == 0 or directory == str(station.state)
        for name in names:
            assert stat.S_IMODE(os.stat(os.path.join(directory, name)).st_mode) & 0o77 == 0, name
    assert leftovers(station) == []


def next_manifest(station: Station) -> bytes:
    """What the open transaction will write, by its own copy."""
    (entry,) = (entry for entry in station.opened()["files"] if entry["switch"])
    content = content_of(entry["after"])
    assert content is not None
    assert re.search(rb"--v=2", content)
    return content

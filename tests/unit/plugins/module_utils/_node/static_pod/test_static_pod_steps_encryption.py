# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each way in which a task could take an encryption key from an API server: none passes unless it is forced."""

from __future__ import annotations

import json
import os
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import COMMITTED, save_journal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import Host
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.etcd import etcd_client
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.static_pod import static_pod_journal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.plan import StaticPodPlan
from ansible_collections.nodecraft.kubeadm.tests.unit.support import encryption
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.encryption import config
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_run import FakeRun
from ansible_collections.nodecraft.kubeadm.tests.unit.support.static_pod_runs import steps, without_limits_of_fakes

FLAG = "encryption-provider-config"
LONG_AGO = (0, 0)
Desired = dict[str, t.Any]


class Pod:
    """The API server of a node, whose encryption is changed by tasks."""

    def __init__(self, node: FakeNode, run: FakeRun, root: Path) -> None:
        self.node, self.programs, self.count, self.started = node, run, 0, 0.0
        self.directory = root / "enc"
        self.directory.mkdir()
        self.path = self.directory / "config.json"

    def desired(self, *keys: str, **given: t.Any) -> Desired:
        """A task with the flag, its volume, and a file that has these keys."""
        args = {FLAG: str(self.path), **given.pop("args", {})}
        volumes = [samples.volume("enc", str(self.directory), path_type="DirectoryOrCreate")]
        return {"args": args, "volumes": volumes, "files": [samples.file(str(self.path), config(*keys))], **given}

    def plan(self, **desired: t.Any) -> StaticPodPlan:
        """The plan of a task, in check mode."""
        dry = steps(self.node, self.programs, dry=True, **desired)
        with dry.session():
            dry.read()
            return dry.plan()

    def do(self, **desired: t.Any) -> StaticPodPlan:
        """A whole run of the module and of its engine."""
        run = steps(self.node, self.programs, **desired)
        with run.session():
            run.read()
            plan = run.plan()
            self.node.allowed.add(plan.after.text.encode())
            run.apply()
        journal = self.node.opened()
        self.count += 1
        journal["id"] = f"20260101T0000{self.count:02}.000000Z-abcdef"
        for entry in journal["files"]:  # this may not run as root
            if entry["after"]:
                entry["after"].update(uid=os.getuid(), gid=os.getgid())
        save_journal(str(self.node.state), journal)
        assert self.node.run()["outcome"] == COMMITTED
        self.started = time.time() + 60  # it has read what is there
        return plan

    def edit(self, content: str) -> None:
        """Write the file after the API server has started."""
        self.path.write_text(content, encoding="ascii")
        self.started = time.time() - 60

    def start_with(self, *keys: str) -> None:
        """Have the API server run with these keys, by a task that had to be forced."""
        self.do(**self.desired(*keys, force=True))


@pytest.fixture(name="server")
def fixture_server(master: FakeNode, run: FakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pod:
    monkeypatch.setattr(static_pod_journal, "ADMIN", (str(master.kubeconfig),))
    for path in (master.kubeconfig, master.kubelet_conf):
        path.touch()
    server = Pod(master, run, tmp_path)
    monkeypatch.setattr(Host, "read_start_time", lambda host, pid: server.started)
    return server


def absent(server: Pod) -> Desired:
    return {"state": "absent"}


def absent_by_name(server: Pod) -> Desired:
    return {"state": "absent", "args": {FLAG: "x"}}


def absent_file(server: Pod) -> Desired:
    return {"state": "absent", "files": [samples.file(str(server.path), "x")]}


def purge(server: Pod) -> Desired:
    return {"purge": True}


def previous(server: Pod) -> Desired:
    return {"state": "previous"}


def no_flag(server: Pod) -> Desired:
    return {"args": {FLAG: None}}


def other_file(server: Pod) -> Desired:
    (server.directory / "other.json").write_text(config("k2", "identity"), encoding="ascii")
    return {"args": {FLAG: str(server.directory / "other.json")}}


def other_directory(server: Pod) -> Desired:
    other = server.directory.with_name("other")
    other.mkdir()
    (other / server.path.name).write_text(config("identity"), encoding="ascii")
    return {"volumes": [samples.volume("enc", str(other), mount_path=str(server.directory))]}


def edited(server: Pod) -> Desired:
    return {"files": [samples.file(str(server.path), config("k2", "identity"))]}


def edited_under_reload(server: Pod) -> Desired:
    return {"args": {f"{FLAG}-automatic-reload": True}, **edited(server)}


def edited_through_a_link(server: Pod) -> Desired:
    link = server.directory.with_name("link")
    link.symlink_to(server.directory)
    volumes = [samples.volume("link", str(link))]
    return {"volumes": volumes, "files": [samples.file(str(link / server.path.name), config("identity"))]}


def removed(server: Pod) -> Desired:
    return {"files": [samples.file(str(server.path), None, state="absent")], "args": {FLAG: None}}


def another_first(server: Pod) -> Desired:
    return server.desired("k2", "k1", "identity")


def plain_text_first(server: Pod) -> Desired:
    return server.desired("identity", "k1")


WAYS = [absent, absent_by_name, absent_file, purge, previous, no_flag, other_file, other_directory, edited]
WAYS += [edited_under_reload, edited_through_a_link, removed, another_first, plain_text_first]


@pytest.mark.parametrize("way", WAYS)
def test_a_key_is_taken_away_by_no_way_unless_it_is_forced(server: Pod, way: t.Callable[[Pod], Desired]) -> None:
    server.start_with("k1", "identity")
    desired = way(server)
    with pytest.raises(Refusal) as refused:
        server.plan(**desired)
    words = str(refused.value)
    assert words.startswith("refused before anything was written")
    assert f"--{FLAG}: " in words
    assert "add the new key behind the one in use" in words
    assert words.endswith("force: true changes it anyway.")
    assert all(secret not in words for name in encryption.SECRETS for secret in secrets_of(name))
    (warning,) = (each for each in server.plan(**desired, force=True).warnings if each.startswith("forced: "))
    assert warning[8:] in words


def secrets_of(name: str) -> list[str]:
    """All in which a key would be seen."""
    return [encryption.SECRETS[name], encryption.material(name)]


def test_the_file_cannot_be_edited_in_the_name_of_another_pod(server: Pod) -> None:
    server.start_with("k1", "identity")
    manifests = server.directory.with_name("two")  # the node's own kubelet knows one pod
    manifests.mkdir()
    (manifests / "kube-scheduler.yaml").write_text(samples.SCHEDULER, encoding="utf-8")
    (manifests / "kube-apiserver.yaml").write_bytes(server.node.manifest.read_bytes())
    scheduler = {"name": "kube-scheduler", "manifest_dir": str(manifests)}
    desired = {**edited(server), "volumes": [samples.volume("enc", str(server.directory))]}
    with pytest.raises(Refusal, match=f"--{FLAG}: secrets: .*aescbc key k1 would be removed"):
        server.plan(**scheduler, **desired)
    assert not [each for each in server.plan(**scheduler, args={"v": 3}).warnings if "encryption" in each]


def test_the_documented_steps_pass(server: Pod) -> None:
    """Up to the last one, which has to ask etcd."""
    for keys in (("identity", "k1"), ("k1", "identity"), ("k1", "k2", "identity"), ("k2", "k1", "identity")):
        assert without_limits_of_fakes(server.do(**server.desired(*keys)).warnings) == []
    with pytest.raises(
        Refusal, match=r"k1 would be removed, and whether stored values need it cannot be determined \(.*etcd"
    ):
        server.plan(**server.desired("k2", "identity"))


def test_a_step_is_reverted(server: Pod) -> None:
    server.start_with("k1", "k2", "identity")
    server.do(**server.desired("k2", "k1", "identity"))
    assert without_limits_of_fakes(server.do(state="previous").warnings) == []
    assert json.loads(server.path.read_text(encoding="utf-8"))["resources"][0]["providers"][0] == {
        "aescbc": {"keys": [{"name": "k1", "secret": encryption.material("k1")}]}
    }


def test_what_does_not_touch_encryption_reports_nothing(server: Pod) -> None:
    server.start_with("k1", "identity")
    assert without_limits_of_fakes(server.plan(args={"v": 4}).warnings) == []
    assert without_limits_of_fakes(server.plan(files=[samples.file(str(server.directory / "x"), "x")]).warnings) == []
    assert not server.plan(**server.desired("k1", "identity")).operations


def test_an_edit_that_the_api_server_has_not_read_is_not_brought_in_by_a_restart(
    server: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.start_with("k1", "identity")
    stored = [b"k8s:enc:aescbc:v1:k1:...", b"plain"]
    monkeypatch.setattr(etcd_client, "count_values", lambda files, resource, matches: sum(map(matches, stored)))
    server.edit(config("k1", "k2", "identity"))
    assert without_limits_of_fakes(server.plan(args={"v": 4}).warnings) == []
    server.edit(config("k2", "identity"))
    with pytest.raises(
        Refusal, match=r"was edited after the API server started, .* no key of it can read 1 stored value"
    ):
        server.plan(args={"v": 4})
    server.edit(config("identity"))
    with pytest.raises(Refusal, match="no key of it can read 1 stored value"):
        server.plan(args={FLAG: None})
    os.utime(server.path, LONG_AGO)  # as touch -d, cp -p and rsync -a do
    with pytest.raises(Refusal, match="no key of it can read 1 stored value"):
        server.plan(args={"v": 4})
    server.started = time.time() + 60
    assert without_limits_of_fakes(server.plan(args={"v": 4}).warnings) == []
    server.edit("{")
    with pytest.raises(Refusal, match="whether its keys read all stored values cannot be determined"):
        server.plan(args={"v": 4})


def test_an_edit_is_read_by_an_api_server_that_reloads(server: Pod) -> None:
    server.do(**server.desired("k1", "identity", args={f"{FLAG}-automatic-reload": True}, force=True))
    server.edit(config("k2", "identity"))
    assert without_limits_of_fakes(server.plan(args={"v": 4}).warnings) == []


def test_a_configuration_is_never_shown(server: Pod) -> None:
    server.start_with("k1", "identity")
    for way in (edited, removed):
        run = steps(server.node, server.programs, dry=True, force=True, **way(server))
        with run.session():
            run.read()
            run.plan()
        text = json.dumps(run.report())
        assert "(hidden" in text
        assert all(secret not in text for name in encryption.SECRETS for secret in secrets_of(name))
        assert "sha256" not in json.dumps(run.report()["operations"])


def test_an_unreadable_configuration_is_not_left_without_force(server: Pod) -> None:
    server.start_with("k1", "identity")
    server.path.write_text("resources: [unfinished", encoding="ascii")
    with pytest.raises(
        Refusal, match=r"reads and writes now cannot be determined \(it is not a single YAML document"
    ) as refusal:
        server.plan(**server.desired("k1", "identity"))
    assert str(refusal.value).endswith(" Repair what could not be read, and run again.")
    assert "force" not in str(refusal.value)
    assert server.plan(**server.desired("k1", "identity", force=True)).operations

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a control plane reads of kubeadm-config, and which settings it adopts into the record."""

from __future__ import annotations

import dataclasses
import json
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.probes import ApiResponse
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade import kubeadm_config
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._node.upgrade.kubeadm_config import KubeadmConfig
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.ownership import Owned
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.entries import (
    MISSING,
    UNKNOWN,
    UNREADABLE,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.record import Entry, Persisted
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubeadm_config.settings import SettingKey
from ansible_collections.nodecraft.kubeadm.tests.unit.support import static_pods as samples
from ansible_collections.nodecraft.kubeadm.tests.unit.support.cluster_configurations import API_SERVER, TEXT, Json
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import FakeNode

V = SettingKey(API_SERVER, "args", "v")
PERSISTED = Persisted({V: Entry(["4"], ["2"], None)}, TEXT, "d")
KNOWN = KubeadmConfig({}, Persisted(), b"key")


def api(**responses: Json | int | bytes) -> t.Callable[[str, str], ApiResponse]:
    """An API server. responses: for kubeadm-config, our record, and the list of nodes: an object, its bytes or a status."""

    def request(kubeconfig: str, path: str) -> ApiResponse:
        assert kubeconfig == "admin.conf"
        name = "nodes" if "/nodes" in path else "own" if "nodecraft" in path else "config"
        response = responses.get(name, 404)
        if isinstance(response, int):
            return ApiResponse(response, b"{}", f"the API server answers {response}", False)
        return ApiResponse(200, response if isinstance(response, bytes) else json.dumps(response).encode(), "", False)

    return request


CONFIG: Json = {"data": {"ClusterConfiguration": TEXT}}
NODES: Json = {
    "items": [{"metadata": {"name": "cp1", "labels": {"minikube.k8s.io/name": "m"}}}, {"metadata": {"name": "cp2"}}]
}


def test_what_is_read_of_the_api() -> None:
    own = {"data": {"record": PERSISTED.dump()}}
    found = kubeadm_config.read("admin.conf", api(config={**CONFIG, "immutable": True}, own=own, nodes=NODES))
    assert found.facts == {
        "problem": None,
        "text": TEXT,
        "record": PERSISTED.dump(),
        "control_planes": ["cp1", "cp2"],
        "managers": ["minikube (the Nodes have minikube.k8s.io/name)"],
        "immutable": ["kubeadm-config"],
    }
    assert found.persisted == PERSISTED


def test_what_is_not_there_is_none_and_no_problem() -> None:
    found = kubeadm_config.read("admin.conf", api(nodes=NODES))
    assert (found.facts["problem"], found.facts["text"], found.facts["record"]) == (None, None, None)


@pytest.mark.parametrize(
    ("responses", "why"),
    [
        ({"config": 403}, "the API server answers 403"),
        ({"config": CONFIG, "nodes": b"<html>"}, "/api/v1/nodes"),
        ({"config": CONFIG, "nodes": b"[]"}, "/api/v1/nodes"),
        ({"config": CONFIG, "nodes": NODES, "own": {"data": {"record": "{"}}}, "it is not as this collection wrote it"),
    ],
)
def test_what_cannot_be_read_is_a_problem(responses: Json, why: str) -> None:
    found = kubeadm_config.read("admin.conf", api(**responses))
    assert why in found.facts["problem"]
    assert found.persisted == Persisted()


def test_contents_are_distinguished_with_what_only_control_planes_have(tmp_path: Path) -> None:
    text = TEXT.replace("/etc/kubernetes/pki", str(tmp_path))
    (tmp_path / "sa.key").write_bytes(b"secret")
    assert (
        kubeadm_config.read("admin.conf", api(config={"data": {"ClusterConfiguration": text}}, nodes=NODES)).key
        == b"secret"
    )
    (tmp_path / "sa.key").unlink()
    assert (
        kubeadm_config.read("admin.conf", api(config={"data": {"ClusterConfiguration": text}}, nodes=NODES)).key == b""
    )


@pytest.mark.parametrize(
    ("record", "live", "adopted"),
    [
        ({}, ["4"], {"args": {"v": Owned(["4"], ["2"])}}),
        ({}, ["5"], {}),
        ({}, None, {}),
        ({"args": {"v": Owned(["4"], None)}}, ["4"], {"args": {"v": Owned(["4"], None)}}),
        ({"args": {"w": Owned(["1"], None)}}, ["4"], {"args": {"w": Owned(["1"], None), "v": Owned(["4"], ["2"])}}),
    ],
)
def test_what_came_with_kubeadm_config_is_ours(record: t.Any, live: t.Any, adopted: t.Any) -> None:
    assert kubeadm_config.adopt_persisted(record, {"args": {"v": live}}, PERSISTED.of(API_SERVER)) == adopted


def test_a_value_that_was_there_before_us_is_not() -> None:
    same = {("args", "v"): Entry(["4"], ["4"], None)}
    assert kubeadm_config.adopt_persisted({}, {"args": {"v": ["4"]}}, same) == {}


def described(known: KubeadmConfig = KNOWN, **desired: t.Any) -> Json:
    plan = samples.planned(samples.state(), **desired)
    found: Json = kubeadm_config.describe(plan, samples.desired(**desired), known, ())["settings"]
    return found


def test_files_that_settings_name_are_reported_as_the_plan_leaves_them(tmp_path: Path) -> None:
    policy, other = tmp_path / "policy.yaml", tmp_path / "other.yaml"
    desired: Json = {
        "args": {"audit-policy-file": str(policy), "audit-log-path": "/var/log/a", "v": 4},
        "volumes": [samples.volume("audit", str(tmp_path))],
        "files": [samples.file(str(policy), "rules"), samples.file(str(other), "beside")],
    }
    found = described(**desired)
    assert set(found["args"]["audit-policy-file"]["files"]) == {str(policy), str(other)}
    assert len(set(found["args"]["audit-policy-file"]["files"].values())) == 2
    assert found["volumes"]["audit"]["files"] == found["args"]["audit-policy-file"]["files"]
    assert found["args"]["v"]["files"] == found["args"]["audit-log-path"]["files"] == {}
    changed = described(
        **{**desired, "files": [samples.file(str(policy), "other rules"), samples.file(str(other), "beside")]}
    )
    differing = [
        path
        for path, digest in changed["args"]["audit-policy-file"]["files"].items()
        if found["args"]["audit-policy-file"]["files"][path] != digest
    ]
    assert differing == [str(policy)]
    assert set(described(KubeadmConfig({}, Persisted(), b""), **desired)["volumes"]["audit"]["files"].values()) == {
        UNKNOWN
    }


def test_files_that_came_before_the_node_joined_are_reported_like_those_of_other_nodes(tmp_path: Path) -> None:
    """join_files leaves no record of them."""
    desired: Json = {
        "args": {"audit-policy-file": str(tmp_path / "policy.yaml")},
        "volumes": [samples.volume("audit", str(tmp_path))],
        "files": [samples.file(str(tmp_path / name), name) for name in ("policy.yaml", "other.yaml")],
    }
    plan = samples.planned(samples.state(), **desired)
    for change in plan.files:
        Path(change.path).write_bytes(change.after.content if change.after else b"")
    record = {field: keys for field, keys in plan.record.items() if field != "files"}
    settings_of_plans = [
        kubeadm_config.describe(each, samples.desired(**desired), KNOWN, ())["settings"]
        for each in (plan, dataclasses.replace(plan, files=(), record=record))
    ]
    for field, key in (("args", "audit-policy-file"), ("volumes", "audit")):
        first, second = (settings[field][key]["files"] for settings in settings_of_plans)
        assert first == second
        assert len(first) == 2


def test_files_of_others_are_read_and_one_that_is_missing_is_reported(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    desired: Json = {"args": {"audit-policy-file": str(policy)}, "volumes": [samples.volume("audit", str(tmp_path))]}
    assert described(**desired)["args"]["audit-policy-file"]["files"] == {str(policy): MISSING}
    policy.write_text("rules", encoding="utf-8")
    first = described(**desired)["args"]["audit-policy-file"]["files"][str(policy)]
    assert first not in (MISSING, UNKNOWN)
    assert "audit-policy-file" in described(args=desired["args"])["args"]
    assert described(args=desired["args"])["args"]["audit-policy-file"]["files"] == {str(policy): first}


def test_unreadable_file_is_not_called_missing(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").mkdir()
    path = str(tmp_path / "policy.yaml")
    desired: Json = {"args": {"audit-policy-file": path}, "volumes": [samples.volume("audit", str(tmp_path))]}
    assert described(**desired)["args"]["audit-policy-file"]["files"] == {path: UNREADABLE}


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        ({"read_only": False}, {}),
        ({"host_path": "/nowhere"}, {"/nowhere": MISSING}),
        ({"host_path": "/nowhere", "path_type": "DirectoryOrCreate"}, {}),
        ({}, {}),
    ],
)
def test_what_a_volume_needs_on_the_node(tmp_path: Path, volume: Json, expected: Json) -> None:
    setting = {**samples.volume("audit", str(tmp_path)), "mount_path": "/audit", **volume}
    assert described(volumes=[setting])["volumes"]["audit"]["files"] == expected


def test_a_file_as_a_volume_is_recognized_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x", encoding="utf-8")
    setting = {**samples.volume("audit", str(tmp_path / "a")), "mount_path": "/a"}
    (digest,) = described(volumes=[setting])["volumes"]["audit"]["files"].values()
    assert len(digest) == 64


def test_the_version_of_the_api_server(master: FakeNode, tmp_path: Path) -> None:
    assert kubeadm_config.version_of_api_server(str(master.manifests), "cp1") == "v1.37.2"
    assert kubeadm_config.version_of_api_server(str(tmp_path / "none"), "cp1") == ""

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that a control plane needs before it joins."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import Refusal
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.static_pod.join_files import join_files

POLICY: dict[str, t.Any] = {"path": "/etc/a/policy.yaml", "content": {"kind": "Policy", "rules": []}}
KEYS = "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources: []\n"


def test_files_have_the_bytes_and_the_mode_that_the_role_gives_them() -> None:
    found = join_files(
        {
            "kube-apiserver": {
                "files": [POLICY, {"path": "/b", "content": "x", "mode": "0640", "owner": "root", "sensitive": True}]
            }
        }
    )
    assert found["files"]["/etc/a/policy.yaml"] == {
        "text": '{\n  "kind": "Policy",\n  "rules": []\n}\n',
        "mode": "0600",
        "owner": None,
        "group": None,
        "sensitive": False,
    }
    assert found["files"]["/b"] == {"text": "x", "mode": "0640", "owner": "root", "group": None, "sensitive": True}
    assert found["directories"] == {"/": "0755", "/etc/a": "0700"}


def test_keys_are_sensitive_by_themselves() -> None:
    assert join_files({"a": {"files": [{"path": "/k", "content": KEYS}]}})["files"]["/k"]["sensitive"] is True


def test_directories_that_volumes_demand() -> None:
    volumes = [
        {"name": "a", "host_path": "/var/log/audit/", "path_type": "Directory"},
        {"name": "b", "host_path": "/made", "path_type": "DirectoryOrCreate"},
        {"name": "c", "host_path": "/file", "path_type": "File"},
        {"name": "d", "host_path": "/unknown"},
        {"name": "e", "host_path": "/gone", "path_type": "Directory", "state": "absent"},
    ]
    assert join_files({"a": {"volumes": volumes}, "b": {}}) == {
        "files": {},
        "directories": {"/made": "0755", "/var/log/audit": "0755"},
    }


def test_what_is_removed_is_not_there() -> None:
    assert join_files({"a": {"files": [{"path": "/a", "state": "absent"}]}}) == {"files": {}, "directories": {}}


def test_two_static_pods_may_share_a_file() -> None:
    both = {"a": {"files": [POLICY]}, "b": {"files": [POLICY]}}
    assert list(join_files(both)["files"]) == ["/etc/a/policy.yaml"]
    both["b"] = {"files": [{**POLICY, "mode": "0644"}]}
    with pytest.raises(Refusal, match=r"/etc/a/policy\.yaml of b"):
        join_files(both)


def test_a_file_that_no_run_could_write() -> None:
    with pytest.raises(Refusal, match="must be absolute"):
        join_files({"a": {"files": [{"path": "a", "content": "x"}]}})

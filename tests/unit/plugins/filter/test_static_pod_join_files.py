# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter, by its name."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.filter.static_pod_join_files import FilterModule


def test_it_hands_over() -> None:
    join_files = FilterModule().filters()["static_pod_join_files"]
    found = join_files({"etcd": {"files": [{"path": "/a/b", "content": "x"}]}, "kube-scheduler": {"args": {}}})
    assert (list(found["files"]), found["directories"]) == (["/a/b"], {"/a": "0700"})

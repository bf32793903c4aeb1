# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the playbook resize refuses and reports."""

from __future__ import annotations

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.pod import report

KNOWN = ["namespace", "names", "label_selector", "owner"]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["pod_resize_namespace", "pod_resize_owner", "pod_resize_report", "other"], ""),
        (["pod_resize_namespace", "pod_resize_names"], ""),
        (["pod_resize_name", "pod_resize_namespace"], "does not know pod_resize_name; it knows pod_resize_namespace,"),
        (["pod_resize_names"], "Set pod_resize_namespace, and one of"),
        (["pod_resize_namespace"], "Set pod_resize_namespace, and one of"),
    ],
)
def test_names_of_variables(names: list[str], words: str) -> None:
    found = report.variables_error(names, KNOWN)
    assert words in found
    assert bool(found) is bool(words)


def test_what_is_reported() -> None:
    pods = {
        "b": {"outcome": "resized", "msg": ""},
        "a": {"outcome": "resized", "msg": "later"},
        "c": {"outcome": "infeasible", "msg": "shop/c: no room", "failed": True},
    }
    templates = {
        "Deployment/x": {"changed": True, "differs": True},
        "Deployment/y": {"changed": False, "differs": True, "msg": "left"},
        "Deployment/z": {"changed": False, "differs": False, "msg": ""},
    }
    assert report.report_lines({"pods": pods, "templates": templates, "unverified": ["whether shop/b runs: why"]}) == [
        "infeasible: c",
        "resized: b, a",
        "a: later",
        "shop/c: no room",
        "Deployment/x: its template changes",
        "Deployment/y: its template differs from its pods; left",
        "Deployment/z: its template matches its pods",
        "WARNING: not verified: whether shop/b runs: why",
    ]
    assert report.report_lines({}) == ["nothing was done"]

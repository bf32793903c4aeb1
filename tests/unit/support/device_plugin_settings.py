# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a device plugin as the role hands them over."""

from __future__ import annotations

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.device.desired import Settings

D = "example.com/dongle"


def settings(**changes: t.Any) -> Settings:
    """Of our plugin with one resource."""
    defaults: dict[str, t.Any] = {
        "state": "present",
        "name": "p",
        "namespace": "x",
        "image": "localhost/p:1",
        "has_archive": False,
        "has_token": False,
        "config": {"resources": [{"name": D}]},
        "files": {},
        "expected": [],
        "pod_spec": {},
    }
    return Settings(**{**defaults, **changes})

# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter, by its name."""

from __future__ import annotations

from ansible_collections.nodecraft.kubeadm.plugins.filter.device_image_build import FilterModule


def test_it_hands_over() -> None:
    plan = FilterModule().filters()["device_image_build"]
    request = {"name": "localhost/p:1", "archive": "/p.tar", "source": "/s", "build_options": []}
    there = {"stat": {"exists": True}}
    found = {
        "builders": [{"item": "podman", "rc": 0}],
        "sources": [{"files": [{"checksum": "a"}]}],
        "wheels": {},
        "root": {},
        "archive": there,
    }
    made = plan(request, {**found, "recipe": ""})
    assert (made["refusal"], made["needed"]) == ("", True)
    assert plan(request, {**found, "recipe": made["recipe"]})["needed"] is False

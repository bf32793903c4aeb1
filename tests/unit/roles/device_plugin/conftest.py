# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the role share."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.tests.unit.support.device_plugin_role import ROLE, Play
from ansible_collections.nodecraft.kubeadm.tests.unit.support.plays import Json, Outcome, Stage


@pytest.fixture(name="play")
def fixture_play(stage: Stage) -> Play:
    """Run the role on w1, w2 and w3. stub: variables of the stand-ins."""

    def play(variables: Json, *options: str, stub: Json | None = None, **keywords: t.Any) -> Outcome:
        def host(name: str) -> Json:
            return {"device_plugin_node_name": f"node-{name}", "ansible_become": False, **(stub or {})}

        groups = {"kube_node": {name: host(name) for name in ("w1", "w2", "w3")}}
        keywords.setdefault("roles", [ROLE])
        return stage.play(groups, *options, hosts="kube_node", vars=variables, **keywords)

    return play

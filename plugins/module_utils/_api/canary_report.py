# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the module C(node_canary) returns: a canary on one node, as an engine makes it, with requests of this client."""

from __future__ import annotations

import json

from .._engine import canary as engine
from .._engine import probes
from .._plan.common.errors import KubeadmError
from .._plan.kubernetes import names
from .._plan.transaction import planned_observations
from .._plan.transaction.canary import Canary
from .client import Client, Connect, Json, Params


def observe(params: Params, *, connect: Connect, dry: bool) -> Json:
    """Make the canary of a node, unless dry. params: those of the module. Raises Refusal for invalid ones."""
    for option, kind in (("node", "node"), ("namespace", "namespace"), ("name", "pod")):
        names.check_object(option, params[option], kind)
    if dry:
        return {"steps": {}, "unverified": "check mode makes no object"}
    client = connect()
    planned = planned_observations.of_pod(
        Canary(params["namespace"], params["image"], params["node"], "kubelet", engine.NODE_TAINTS, engine.NAME)
    )
    canary = engine.Canary(
        planned,
        "before",
        params["name"],
        send=lambda *request: _send(client, *request),
        clock=client.clock,
        sleep=client.sleep,
        is_first=True,
    )
    return {"steps": canary.observe(params["timeout"]), "unverified": canary.unverified}


def _send(client: Client, method: str, path: str, body: Json | None) -> probes.ApiResponse:
    try:
        response = client.exchange(method, path, body)
    except KubeadmError as exc:
        return probes.ApiResponse(None, b"", str(exc), refused=True)
    content = json.dumps(response.body).encode() if response.body is not None else response.text.encode()
    problem = f"the API server answers {response.status}" if response.status else response.problem
    return probes.ApiResponse(response.status, content, problem, refused=response.status in probes.REFUSED)

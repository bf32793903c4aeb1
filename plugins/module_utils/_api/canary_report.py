# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the module C(node_canary) returns: a canary on one node, as an engine makes it, with requests of this client."""

from __future__ import annotations

import json
from http import HTTPStatus
from urllib.parse import parse_qsl

from .._engine import canary as engine
from .._engine import probes
from .._plan.common.errors import KubeadmError
from .._plan.kubernetes import names
from .._plan.kubernetes.canary_objects import Canary
from .._plan.transaction import planned_observations
from .client import ApiError, Client, Connect, Json, Params


def observe(params: Params, *, connect: Connect, dry: bool) -> Json:
    """Make the canary of a node, unless dry. params: those of the module. Raises Refusal for invalid ones."""
    for option, kind in (("node", "node"), ("namespace", "namespace"), ("name", "pod")):
        names.check_object(option, params[option], kind)
    if dry:
        return {"steps": {}, "unverified": "check mode makes no object"}
    client = connect().without_retries()
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


def _send(client: Client, method: str, target: str, body: Json | None) -> probes.ApiResponse:
    """Send a request as an engine does. Its response has the status and the body that the steps of a canary read."""
    path, _question_mark, text = target.partition("?")
    query = dict(parse_qsl(text))
    try:
        if path.endswith("/log"):
            status = client.get_proxied(path, {}).status
            return probes.ApiResponse(status, b"", f"the API server answers {status}", refused=False)
        found = _call(client, method, path, query, body)
    except ApiError as exc:
        return probes.ApiResponse(exc.status or None, b"", str(exc), refused=exc.status in probes.REFUSED)
    except KubeadmError as exc:
        return probes.ApiResponse(None, b"", str(exc), refused=True)
    return probes.ApiResponse(HTTPStatus.OK, json.dumps(found).encode(), "", refused=False)


def _call(client: Client, method: str, path: str, query: dict[str, str], body: Json | None) -> Json:
    if method == "POST":
        return client.create(path, body or {}, dry_run=False)
    if method == "DELETE":
        return client.delete(path, dry_run=False, **query)
    return {"items": client.list(path, metadata_only=False, **query)} if query else client.get(path)

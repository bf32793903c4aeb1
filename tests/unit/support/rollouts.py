# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts of a rollout as its decisions see them: by the results of their tasks."""

from __future__ import annotations

import typing as t

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.kubelet.kubelet_results import KubeletHost

Json = dict[str, t.Any]

THIS_PASS = {"pass_id": "p"}
SETTING = {"field": "args", "key": "v", "before": None, "after": ["5"]}


def made(**change: t.Any) -> Json:
    """What a task that changes one host leaves."""
    return {"results": [{"item": THIS_PASS, **change}]}


DONE: Json = {"turn": THIS_PASS, "change": made(changed=True), "verify": THIS_PASS, "conclude": THIS_PASS}
FAILED: Json = {"turn": THIS_PASS, "change": made(failed=True)}
LOST: Json = {"turn": THIS_PASS, "change": made(unreachable=True)}
IN_TURN: Json = {"turn": THIS_PASS}


def host(name: str = "w1", *, plan: Json | None = None, settings: Json | None = None, **registers: Json) -> Json:
    """A host that takes part and has planned a change. registers: what else its tasks left."""
    planned = {
        "node": name,
        "cluster": {"ca_sha256": "a", "server": "", "machine_id": f"id-{name}"},
        "control_plane": [],
        "limits": {"max_pods": 1},
        "operations": [SETTING],
        "open_transaction": None,
        **(plan or {}),
    }
    compared = {
        "node_kubelet_check_api": True,
        "allocatable_timeout": 7,
        "state": "present",
        "feature_gates": {},
        "config": {},
    }
    start = {
        **THIS_PASS,
        "at_work": True,
        "excluded": "",
        "settings": {"force": False, "node_name": "", **compared, **(settings or {})},
    }
    return {"begin": start, "plan": planned, "decide": THIS_PASS, **registers}


def registered(registers: Json) -> t.Callable[[str], Json]:
    """What the tasks of a host left, by their names. Its plan is a part of the first step, which fails with it."""
    plan, start = registers.get("plan"), registers.get("begin", {})
    if plan is not None:
        start = {**start, "plan": plan, **{key: plan[key] for key in ("failed", "unreachable", "msg") if plan.get(key)}}
    found = {**registers, "begin": start}
    return lambda task: found.get(task, {})


def results(registers: Json) -> KubeletHost:
    """A host as the decisions see it."""
    return KubeletHost(registered(registers))


def refused(*stopped: str) -> Json:
    """What is left by a turn that must not begin."""
    return {"turn": {**THIS_PASS, "failed": True, "stopped_by": list(stopped)}}

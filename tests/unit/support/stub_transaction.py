# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for modules that change a node: answers as the host's variable C(stub) says, and notes the call."""

from __future__ import annotations

import json
import os
import typing as t

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

Change = dict[str, t.Any]
ID = "20260101T000000.000000Z-abcdef"
SNAPSHOT = "/var/lib/nodecraft-kubeadm/etcd/snapshots/1.db"
SETTING: list[Change] = [{"field": "args", "key": "v", "before": None, "after": ["5"]}]
ON: Change = {"field": "feature_gates", "key": "A", "before": None, "after": True}
OFF: Change = {"field": "feature_gates", "key": "B", "before": True, "after": None}
OPERATIONS = {"nothing": [], "on": [ON], "off": [OFF], "both": [ON, OFF]}


def cluster_of(authority: str) -> dict[str, str]:
    """What tells a cluster with this authority, none for an empty one."""
    return {"ca_sha256": authority, "server": f"https://{authority}:6443" if authority else "", "machine_id": ""}


class ActionModule(ActionBase):
    """C(stub): component -> changes, nothing, refused (by the rehearsal), gone, restored, lost (in the middle), unseen (its
    end), forced (over a snapshot), or busy; for gates on, off, or both. A list: one for each call, the last for all that follow.
    C(stub_cluster): the authority of the node's cluster, a by default. C(stub_control_plane): whether the kubelet finds a control
    plane, which it does on hosts called cp1, cp2 ... by default.
    """

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Do nothing to any node."""
        super().run(tmp, task_vars)
        variables = task_vars or {}
        arguments = self._templar.template(self._task.args)
        host, name, dry = variables["inventory_hostname"], arguments.get("name", "kubelet"), self._task.check_mode
        behaviour = self._templar.template(variables["stub"]).get(name, "nothing")
        if isinstance(behaviour, list):
            behaviour = behaviour[min(self._calls(host, name), len(behaviour) - 1)]
        with open(os.environ["STUB_LOG"], "a", encoding="utf-8") as log:
            call = {"step": "plan" if dry else "change", "host": host, "component": name, "arguments": arguments}
            log.write(json.dumps(call) + "\n")
        if behaviour == "gone":
            raise AnsibleConnectionFailure("gone")
        if behaviour == "busy":
            return {
                **self._result(name, host, refused=False, operations=[]),
                "failed": True,
                "msg": "busy",
                "busy": True,
            }
        refused = dry and behaviour == "refused"
        result = self._result(name, host, refused=refused, operations=OPERATIONS.get(behaviour, SETTING))
        result["cluster"] = cluster_of(self._templar.template(variables.get("stub_cluster", "a")))
        if self._templar.template(variables.get("stub_control_plane", host.startswith("cp"))):
            result["control_plane"] = ["etcd runs"]
        if dry or behaviour == "nothing":
            return result
        if behaviour == "lost":
            raise AnsibleConnectionFailure("gone")
        if behaviour == "unseen":  # as the follower leaves it
            started: dict[str, t.Any] = {"id": ID, "requested": {}, "outcome": None, "longest_seconds": 400}
            return {**result, "transaction": started, "failed": True, "changed": True, "msg": "its end was not seen"}
        outcome = "restored" if behaviour == "restored" else "committed"
        proof = {"pid": 1, "uid": "u"}
        transaction = {"id": ID, "outcome": outcome, "seconds": 1.0, "outage_seconds": 1.0, "proof": proof}
        failure = {"failed": True, "changed": False, "msg": "restored"} if outcome == "restored" else {}
        return {
            **result,
            "transaction": transaction,
            **({"snapshot": SNAPSHOT} if behaviour == "forced" else {}),
            **failure,
        }

    @staticmethod
    def _calls(host: str, name: str) -> int:
        with open(os.environ["STUB_LOG"], encoding="utf-8") as log:
            calls = [json.loads(line) for line in log]
        return sum(
            (call["step"] in ("plan", "change"), call["host"], call["component"]) == (True, host, name)
            for call in calls
        )

    @staticmethod
    def _result(name: str, host: str, *, refused: bool, operations: list[Change]) -> dict[str, t.Any]:
        verdict = "refused" if refused else "accepted"
        return {
            **({"failed": True, "msg": "refused in the rehearsal"} if refused else {}),
            "name": name,
            "node": host,
            "manifest": "/m",
            "snapshot": None,
            "files": [],
            "control_plane": [],
            "limits": {"max_pods": 1},
            "operations": operations,
            "diff": [],
            "changed": bool(operations),
            "rehearsal": {"verdict": verdict, "message": "", "seconds": 0.1, "command": []},
            "transaction": None,
            "previous_transaction": None,
            "open_transaction": None,
        }

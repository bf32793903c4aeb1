# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for modules that read a node: answers as the host's variables say, and notes a look at static pods."""

from __future__ import annotations

import json
import os
import typing as t

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """C(stub_ways): component -> what is said of its way back, null for none.

    C(stub_kubelet_info): C(gone) for a host that cannot be reached. C(stub_cluster): the authority of the node's cluster, a by default.
    C(stub_pods): static pod -> what is wrong (nothing by default), C(open) for a change that is open, or a list of these,
    one for each look, the last for all that follow. C(none): the look itself fails. C(gone): so many looks, then it is lost.
    """

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Look at no node."""
        super().run(tmp, task_vars)
        variables = task_vars or {}
        ways = self._templar.template(variables.get("stub_ways", {}))
        if self._task.action.endswith("kubelet_info"):
            host = self._task.delegate_to or variables["inventory_hostname"]
            own = variables["hostvars"][host]
            if own.get("stub_kubelet_info") == "gone":
                raise AnsibleConnectionFailure("gone")
            cluster = own.get("stub_cluster", "a")
            told = {"ca_sha256": cluster, "server": f"https://{cluster}:6443", "machine_id": ""}
            found = {"node": host, "cluster": told, "way_back": ways.get("kubelet")}
            return {"changed": False, **found}
        looks = self._note_look(variables["inventory_hostname"])
        pods = {"kube-apiserver": "", "etcd": "", **self._templar.template(variables.get("stub_pods", {}))}
        if looks >= pods.pop("gone", looks + 1):
            raise AnsibleConnectionFailure("gone")
        if "none" in pods:
            return {"failed": True, "msg": "it cannot be read."}
        names = dict.fromkeys([*pods, *(name for name in ways if name != "kubelet")])
        return {
            "changed": False,
            "static_pods": [
                {**self._pod(name, pods.get(name, ""), looks), "way_back": ways.get(name)} for name in names
            ],
        }

    @staticmethod
    def _note_look(host: str) -> int:
        """Returns how many looks at this host there were before."""
        path = os.environ["STUB_LOG"]
        with open(path, encoding="utf-8") as log:
            calls = [json.loads(line) for line in log]
        with open(path, "a", encoding="utf-8") as log:
            log.write(json.dumps({"step": "look", "host": host, "component": "pods"}) + "\n")
        return sum((call["step"], call["host"], call["component"]) == ("look", host, "pods") for call in calls)

    @staticmethod
    def _pod(name: str, said: t.Any, looks: int) -> dict[str, t.Any]:
        problem = said[min(looks, len(said) - 1)] if isinstance(said, list) else said
        is_open = problem == "open"
        return {
            "name": name,
            "ready": not problem or is_open,
            "problem": None if is_open else problem or None,
            "open_transaction": {"id": "1", "phase": "waiting"} if is_open else None,
        }

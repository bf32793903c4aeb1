# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for modules that read a node: answers as the host's variable C(stub_ways) says."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """C(stub_ways): component -> what the info modules say of its way back, null for none."""

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Ask nobody."""
        super().run(tmp, task_vars)
        ways = self._templar.template((task_vars or {}).get("stub_ways", {}))
        if self._task.action.endswith("kubelet_info"):
            return {"changed": False, "way_back": ways.get("kubelet")}
        pods = [{"name": name, "way_back": way} for name, way in ways.items() if name != "kubelet"]
        return {"changed": False, "static_pods": pods}

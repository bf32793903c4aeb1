# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the role C(placement_guard): one host asks the API for all."""

from __future__ import annotations

import typing as t

from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.transaction import rollout
from .role_rollout import RoleRollout
from .rollout_pass import Json

_NAMED_HOST = "placement_guard_api_host"
_UNCHANGED: Json = {"enforced": False, "nodes": [], "added": [], "removed": [], "stale": [], "untainted": []}


class PlacementGuardRollout(RoleRollout):
    """The steps of one host."""

    _changes_hosts = False
    _plans_each_host = False

    def _checked_settings(self) -> Json:
        """All variables of the role, each of which must be the same on all hosts."""
        names = self._pass.argument_specs()["main"]["options"]
        return {name: self._pass.variable(name) for name in names if name != f"{self._pass.role}_ignored_variables"}

    def decide(self) -> Json:
        """See on one host whether all ask for the same, and which control planes may tell whose cluster it is. The others do not ask."""
        coordinator = self._pass.coordinator
        if coordinator != self._pass.host:
            return {"coordinator": coordinator, "api": []}
        settings = rollout.settings_of(self._pass.own)
        different = rollout.different_settings(self._pass.hosts(), list(settings))
        if different:
            raise Refusal(
                f"Nothing was changed. {different} Nodes with another purpose need a guard with another placement_guard_name."
            )
        planes = self._pass.control_planes() or [self._pass.host]
        return {"coordinator": coordinator, "api": [{"host": host, "become": True} for host in planes]}

    def admit(self) -> Json:
        """Ask a node which cluster it belongs to, which the API has to be that of, and decide who asks the API."""
        candidates = [each["host"] for each in rollout.of_pass(self._pass.own, "decide")["api"]]
        return self._cluster(candidates, str(rollout.settings_of(self._pass.own)[_NAMED_HOST] or ""))

    def end(self) -> Json:
        """Tell on one host what became of the guard."""
        own = self._pass.own
        if rollout.of_pass(own, "decide").get("coordinator") != self._pass.host:
            return self._ended({})
        result = own.get("change", rollout.NOTHING) if rollout.of_pass(own, "admit") else rollout.NOTHING
        report = _report(result)
        # There is one guard, not one for each host.
        stats = {"data": {f"{self._pass.role}_report": report}, "per_host": False, "aggregate": False}
        return {**self._ended(report, _report_lines(result)), "ansible_stats": stats}


def _report(result: t.Mapping[str, t.Any]) -> Json:
    """What became of a guard. result: of the module C(placement_guard); empty when it did not run."""
    return {
        "changed": bool(result.get("changed")),
        **{name: result.get(name) or value for name, value in _UNCHANGED.items()},
    }


def _report_lines(result: t.Mapping[str, t.Any]) -> list[str]:
    """The same for people."""
    return list(result.get("summary") or [result.get("msg") or "nothing was done"])

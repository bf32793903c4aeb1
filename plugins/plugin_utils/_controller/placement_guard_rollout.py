# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the role C(placement_guard): one host uses the API for all."""

from __future__ import annotations

from ...module_utils._plan.guard.rollout import GuardDecision, GuardHost, GuardSettings
from ...module_utils._plan.transaction import rollout
from ...module_utils._plan.transaction.api_host import ApiHost
from ...module_utils._plan.transaction.rollout import ClusterFound, PassEnd
from .base_steps import UNCHANGED_PREFIX
from .role_rollout import RoleRollout


class PlacementGuardRollout(RoleRollout[GuardHost]):
    """The steps of one host."""

    host_type = GuardHost
    _shared_object = "placement guard"

    def _checked_settings(self) -> GuardSettings:
        names = self._play.argument_specs()["main"]["options"]
        values = {name: self._play.variable(name) for name in names if name != f"{self._role}_ignored_variables"}
        return GuardSettings(values, str(values.get("placement_guard_api_host") or ""))

    def decide(self) -> GuardDecision:
        """See on one host whether all have the same settings, and which control planes can identify the cluster. The others do not."""
        coordinator = self._pass.coordinator
        if coordinator != self._play.host:
            return GuardDecision(coordinator=coordinator)
        values = {name: host.settings.values for name, host in self._pass.hosts().items()}
        different = rollout.different_values(values, list(self._pass.own.settings.values))
        another = "Nodes with another purpose need a guard with another placement_guard_name."
        self._refuse(f"{different} {another}" if different else "", UNCHANGED_PREFIX)
        planes = self._play.control_planes() or [self._play.host]
        return GuardDecision(coordinator=coordinator, api=tuple(ApiHost(host, become=True) for host in planes))

    def admit(self) -> ClusterFound:
        """Read from a node which cluster it belongs to, which the API has to be that of, and decide who uses the API."""
        candidates = [each.host for each in self._pass.own.decision.api]
        return self._read_cluster(candidates, self._pass.own.settings.placement_guard_api_host)

    def _end(self) -> PassEnd:
        own = self._pass.own
        # What is only planned is reported when it is done, or is not started.
        if own.decision.coordinator != self._play.host or self._step.plan_only:
            return PassEnd(report={})
        return PassEnd(report=own.guard.report(), lines=own.guard.summary)

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the role C(control_plane) before its first write: who has a turn, with which rights and Lease, and what each host does."""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.kubelet.kubelet_results import KubeletHost
from ...module_utils._plan.kubernetes import access
from ...module_utils._plan.static_pod import requests, rollout_lease
from ...module_utils._plan.static_pod import rollout as control_planes
from ...module_utils._plan.static_pod.static_pod_results import (
    IncludedFile,
    LeaseState,
    OwnShare,
    StaticPodDecision,
    StaticPodHost,
    StaticPodSettings,
    StaticPodStart,
)
from ...module_utils._plan.transaction import rollout
from ...module_utils._plan.transaction.api_host import ApiHost
from ...module_utils._plan.transaction.lease import LEASE_NAME, LEASE_NAMESPACE
from ...module_utils._plan.transaction.results import LeaseResult
from ...module_utils._plan.transaction.rollout import Hosts, PassStart
from .lease_holder import holder_name
from .role_rollout import RoleRollout
from .rollout_pass import RolloutPass

if t.TYPE_CHECKING:
    from ...module_utils._plan.kubeadm_config.control_plane_persistence import Persistence

# To acquire, renew and release it.
_LEASE_RIGHTS = access.of_lease(LEASE_NAME, LEASE_NAMESPACE)
_REPLAN, _IN_ORDER, _TURN, _PERSIST = "replan.yml", "in_order.yml", "turn.yml", "persist.yml"
_ALL = "all nodes"


class ControlPlaneDecision(RoleRollout[StaticPodHost]):
    """These steps of one host."""

    host_type = StaticPodHost
    _planner = "static_pod_plan"

    def begin(self) -> StaticPodStart:
        """As in all roles, and who may use the API, best first."""
        at = time.time()
        start = super().begin()
        known = dict.fromkeys([*self._play.control_planes(), *self._play.play_hosts])
        named = start.settings.control_plane_api_host
        api = self._play.api_hosts(list(known), named, reachable=self._play.play_hosts)
        return StaticPodStart(**vars(start), api=tuple(api), at=at)

    def plan(self) -> PassStart:
        """Plan this host again: another run may have changed something since all hosts planned."""
        return self._with_plan(self._pass.own.start)

    def _checked_settings(self) -> StaticPodSettings:
        given = {**self._settings, "static_pods": requests.parse_names(self._settings["static_pods"])}
        settings: StaticPodSettings = self._typed_settings(given)
        return dataclasses.replace(
            settings,
            # None where there is no variable, so that what stands in kubeadm-config stays.
            control_plane_persist_env=self._play.variable("control_plane_persist_env"),
            control_plane_persist_feature_gates=self._play.variable("control_plane_persist_feature_gates"),
            vaulted=self._play.vaulted_keys("control_plane_components"),
        )

    def decide(self) -> StaticPodDecision:
        """Work out on one host, when all have planned, who has a turn, and keep other runs out. The others do not."""
        coordinator = self._pass.coordinator
        if coordinator != self._play.host:
            return StaticPodDecision(coordinator=coordinator)
        hosts, previous = self._pass.hosts(), self._pass.own.decision
        # In check mode no kubelet was repaired. The plan reports what would change then.
        plan_only = self._step.plan_only or (self._play.check_mode and bool(control_planes.kubelet_refusal(hosts, ())))
        turns = [] if plan_only and not self._step.plan_only else control_planes.turn_order(hosts)
        started_at = min(host.start.at for host in hosts.values())
        # Where everything was planned again, that was after the last decision.
        planned_at = previous.at if previous and previous.at is not None and not previous.plan_only else started_at
        # Of a run that planned again: it is released at the end, also when nothing is left to do, or what is left is refused.
        lease = LeaseState(held=True) if previous and previous.lease.held else LeaseState()
        found = StaticPodDecision(
            coordinator=coordinator,
            plan_only=plan_only,
            planned=list(hosts),
            turns=turns,
            planned_at=planned_at,
            at=time.time(),
            lease=lease,
            report_warnings=self._decision_warnings(hosts, previous),
        )
        persistence = self._plan_persistence(hosts)
        refusal = control_planes.run_refusal(hosts, self._play.host, self._play.play_hosts, self._play.batch_hosts)
        refusal = refusal or self._kubelet_refusal(hosts) or self._short_restarts_refusal(hosts)
        # A run that is to write kubeadm-config and cannot is refused before its first write.
        if not refusal and persistence and (why := persistence.refusal()):
            refusal = f"Nothing was changed on {self._play.host}. {why}"
        if refusal:
            return dataclasses.replace(found, failed=True, msg=refusal)
        return self._with_rights_and_lease(found, hosts, persistence)

    def _with_rights_and_lease(
        self, found: StaticPodDecision, hosts: Hosts[StaticPodHost], persistence: Persistence | None
    ) -> StaticPodDecision:
        """With the rights that the account has, and the Lease. api_reachable is false when the next host is to be tried."""
        writes = persistence is not None and persistence.pending_plan is not None
        # What could not be read fails the run at its end: it may be there to repair the API.
        persists = writes or (persistence is not None and bool(persistence.failure))
        acquires = bool(found.turns or writes) and self._pass.own.settings.control_plane_lease and not found.lease.held
        rights = [*(_LEASE_RIGHTS if acquires else ()), *(persistence.rights if persistence else ())]
        if rights and self._api_host(hosts).host != self._play.delegate_host:
            return StaticPodDecision(api_reachable=False)
        found = dataclasses.replace(found, persists=persists)
        refusal, warnings = self._check_access(hosts, rights)
        if refusal:
            return dataclasses.replace(found, failed=True, msg=f"Nothing was changed on {self._play.host}: {refusal}")
        plan_age = time.time() - found.planned_at
        if acquires:
            admission = self._lease_admission(hosts, int(plan_age))
            warnings = [*warnings, *([admission.warning] if admission.warning else [])]
            objection = admission.refusal or self._outdated_refusal(is_stale=admission.is_stale)
            found = dataclasses.replace(
                found,
                lease=LeaseState(admission.is_held, admission.is_alone, admission.is_stale),
                failed=bool(objection),
                msg=f"Nothing was changed on {self._play.host}: {objection}" if objection else "",
                at=time.time(),
                outdated=rollout_lease.planned_changes(hosts) if admission.is_stale else (),
            )
        return dataclasses.replace(
            found,
            report_warnings=list(dict.fromkeys([*found.report_warnings, *warnings])),
            warnings=warnings,
            is_ready=control_planes.is_ready(hosts, time.time() - found.planned_at),
        )

    def _decision_warnings(self, hosts: Hosts[StaticPodHost], previous: StaticPodDecision | None) -> list[str]:
        """Warnings about this run before its first change. previous: the decision before; where the plans of that one were too old, another
        run has changed something since."""
        # With serial, the others have a batch of their own.
        others = self._play.excluded_by_serial()
        found = control_planes.skipped_lines(hosts, [host for host in self._skipped(hosts) if host not in others])
        if previous and previous.lease.stale:
            found = [*previous.report_warnings, *rollout_lease.changes_meanwhile(previous.outdated, hosts)]
        return found

    @property
    def _decision(self) -> StaticPodDecision:
        """What was decided for all, in steps that are behind it."""
        decision = self._coordinator.decision
        if decision is None:
            raise Refusal(f"Nothing was changed on {self._play.host}: the role {self._role} has not decided there.")
        return decision

    @property
    def _persistence_type(self) -> type[Persistence]:
        # Each step is a process of its own, and only a few come here: the import costs more than the rest of a step.
        from ...module_utils._plan.kubeadm_config.control_plane_persistence import Persistence  # noqa: PLC0415  # see above

        return Persistence

    def _plan_persistence(self, hosts: Hosts[StaticPodHost]) -> Persistence | None:
        return self._persistence_type.of(hosts, dry=self._play.check_mode)

    def _kubelet_refusal(self, hosts: Hosts[StaticPodHost]) -> str:
        """Why a kubelet that does not work stops this run. A playbook over several roles decides that itself, and may have repaired it since."""
        if self._step.plan_only or not control_planes.kubelet_refusal(hosts, ()):
            return ""
        kubelets = RolloutPass(self._play, "node_kubelet", KubeletHost)
        repaired = [name for name in hosts if kubelets.host(name).state == rollout.DONE]
        return control_planes.kubelet_refusal(hosts, repaired)

    def _short_restarts_refusal(self, hosts: Hosts[StaticPodHost]) -> str:
        """Why flags for a cluster with one control plane are refused: the inventory names one, and the API has more."""
        name = "control_plane_short_restarts"
        if len(self._play.control_planes()) != 1 or not requests.parse_switch(name, self._play.variable(name, False)):
            return ""
        return control_planes.alone_refusal(hosts)

    def kubelet_refusal(self, repaired: t.Collection[str]) -> str:
        """As in all roles: static pods are started by a kubelet that works."""
        return control_planes.kubelet_refusal(self._pass.hosts(), repaired)

    def _check_access(self, hosts: Hosts[StaticPodHost], rights: t.Sequence[access.Right]) -> tuple[str, list[str]]:
        """Why the account must not start what it could not finish, empty when it has these rights, and a warning where that is not known. A
        repair does not wait for an API server that may be what it repairs."""
        if not rights or control_planes.impaired_hosts(hosts):
            return "", []
        purpose = "control_plane needs until its last write"
        result, refusal = self._review_rights(rights, control_planes.expected_cluster(hosts), purpose)
        return refusal, [f"not verified: {what}" for what in access.unverified_rights(result, purpose)]

    def _lease_admission(self, hosts: Hosts[StaticPodHost], plan_age: int) -> rollout_lease.Admission:
        """Acquire the Lease."""
        request = rollout_lease.acquire_request(hosts, self._pass.own.settings, holder_name(), plan_age)
        result = self._modules.run("rollout_lease", request, LeaseResult, is_plan=self._is_dry)
        return rollout_lease.check_admission(hosts, result, holder_name(), self._skipped(hosts), dry=self._is_dry)

    def admit(self) -> OwnShare:
        """Take this host's own part of what was decided: its files, the hosts that it observes first, and who uses the API for it."""
        decision = self._coordinator.decision
        if decision and decision.failed:
            return OwnShare()
        barrier = rollout.step_refusal(self._pass.hosts(), "decide")
        if barrier or not decision:
            raise Refusal(f"Nothing was changed on {self._play.host}. {barrier}")
        hosts, host = self._pass.hosts(decision.planned), self._play.host
        # Who is before the host that ends the rollout was lost.
        lost = decision.planned[: decision.planned.index(host)]
        end_api = self._api_host(hosts, lost=lost)
        if decision.lease.stale:
            return OwnShare(files=(IncludedFile(_REPLAN, _ALL),), end_api=end_api)
        # Files are included in the order of the hosts, so what the last one includes is behind all others.
        is_last = decision.persists and host == decision.planned[-1]
        persist = (IncludedFile(_PERSIST, host),) if is_last else ()
        found = OwnShare(verifies=decision.planned if is_last else None, end_api=end_api)
        # With its host, without which it would be one file for all hosts.
        turn = (IncludedFile(_TURN, host),) if host in decision.turns else ()
        if turn:
            is_first = host == decision.turns[0]
            observes = [] if is_first and decision.is_ready else decision.planned
            found = dataclasses.replace(found, observes=observes, turn_api=self._api_host(hosts, changing=[host]))
        rounds = control_planes.turn_rounds(decision.planned, decision.turns) or [[]]
        own = [turn if host in each else () for each in rounds]
        own[-1] = (*own[-1], *persist)
        files = own[0] if len(rounds) == 1 else (IncludedFile(_IN_ORDER, _ALL),)
        return dataclasses.replace(found, files=files, rounds=tuple(own), round_numbers=tuple(range(len(own))))

    def _skipped(self, hosts: t.Container[str]) -> list[str]:
        """The control planes of the inventory that take no part: by C(--limit), or in the play but without this role."""
        return [host for host in self._play.control_planes() if host not in hosts]

    def _api_host(
        self, hosts: Hosts[StaticPodHost], *, changing: t.Sequence[str] = (), lost: t.Collection[str] = ()
    ) -> ApiHost:
        """Who uses the API. changing: the host that has its turn then. lost: those that cannot be reached then."""
        known = {*hosts, *self._skipped(hosts)}
        api = self._pass.own.start.api
        return self._play.api_hosts(
            [each.host for each in api if each.host in known],
            self._pass.own.settings.control_plane_api_host,
            reachable=[host for host in self._play.play_hosts if host not in lost],
            changing=changing,
            impaired=control_planes.impaired_hosts(hosts),
        )[0]

    @property
    def _is_dry(self) -> bool:
        """Whether the Lease is only read: in check mode, and in the plan of a playbook."""
        return self._play.check_mode or self._step.plan_only

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the role C(node_kubelet) before its first write: who has a turn, why the API does not allow it, and the Lease."""

from __future__ import annotations

import dataclasses
import itertools
import time
import typing as t

from ...module_utils._plan.kubelet import rollout as kubelets
from ...module_utils._plan.kubelet import unverified_changes
from ...module_utils._plan.kubelet.kubelet_results import (
    Admission,
    KubeletDecision,
    KubeletHost,
    KubeletSettings,
    LeaseState,
)
from ...module_utils._plan.kubernetes import coverage
from ...module_utils._plan.transaction import report, rollout
from ...module_utils._plan.transaction.api_host import ApiHost
from ...module_utils._plan.transaction.results import LeaseResult, NodesInfo
from ...module_utils._plan.transaction.rollout import Hosts, PassStart
from .base_steps import UNCHANGED_PREFIX
from .kubelet_comparison import KubeletComparison
from .lease_holder import holder_name

_PLANE_SETTINGS = ("control_plane_feature_gates", "control_plane_admission_plugins", "control_plane_components")


class KubeletAdmission(KubeletComparison):
    """These steps of one host."""

    def _checked_settings(self) -> KubeletSettings:
        settings: KubeletSettings = self._typed_settings(self._settings)
        self._refuse(kubelets.settings_refusal(settings))
        return dataclasses.replace(settings, at=time.time())

    def _with_plan(self, start: PassStart) -> PassStart:
        """As in all roles. A failure shows all that its task hands on, and what the kubelet is compared with may be secret."""
        found = super()._with_plan(start)
        config = {} if found.failed or found.unreachable else found.settings.config
        return dataclasses.replace(found, settings=dataclasses.replace(found.settings, config=config))

    def decide(self) -> KubeletDecision:
        """Work out on one host, when all have planned, who has a turn. The others do not."""
        coordinator = self._pass.coordinator
        if coordinator != self._play.host:
            return KubeletDecision(coordinator=coordinator, api=(ApiHost(self._play.host, become=False),))
        hosts = self._pass.hosts()
        planned = rollout.participants(hosts)
        decision = KubeletDecision(
            coordinator=coordinator, planned=list(planned), excluded=list(rollout.excluded_hosts(hosts))
        )
        refusal = self._excluded_refusal(hosts) or kubelets.run_refusal(planned, self._play.play_hosts)
        if refusal:
            return dataclasses.replace(decision, failed=True, msg=f"Nothing was changed. {refusal}")
        planes = [name for name, host in planned.items() if host.is_control_plane]
        candidates = list(dict.fromkeys([*planes, *self._play.control_planes()]))
        batches = kubelets.batches(planned, self._pass.own.settings.node_kubelet_max_unavailable)
        api = tuple(self._api_hosts(candidates))
        # Where one is to change, the others are compared before it.
        compares = not batches and bool(kubelets.idle_settings(planned) or unverified_changes.hosts_to_observe(planned))
        return dataclasses.replace(
            decision,
            candidates=candidates,
            api=api,
            batches=batches,
            file=kubelets.file_of_turns(planned),
            compares=api if compares else (),
        )

    def _api_hosts(
        self, candidates: t.Sequence[str], *, changing: t.Sequence[str] = (), lost: t.Sequence[str] = ()
    ) -> list[ApiHost]:
        """Who may use the API. candidates: the control planes of the play, then those of the inventory. changing: who has a turn. lost: who
        cannot be reached then, besides those that are lost already."""
        gone = [name for name, host in self._pass.hosts(candidates).items() if host.state == rollout.LOST]
        return self._play.api_hosts(
            candidates,
            self._pass.own.settings.node_kubelet_api_host,
            reachable=[host for host in self._play.play_hosts if host not in gone and host not in lost],
            changing=changing,
        )

    def admit(self) -> Admission:
        """Query the API on one host for what is against the restarts, and keep other runs out. The others take their own part of it."""
        decision = self._coordinator.decision
        if not decision.coordinator or decision.failed:
            return Admission()
        turn_of = "" if self._step.plan_only else self._play.host
        if decision.coordinator != self._play.host:
            return kubelets.with_batch_of(Admission(api=self._end_api(decision)), decision, turn_of)
        hosts = self._pass.hosts(decision.planned)
        self._refuse(rollout.step_refusal(hosts, "decide"), UNCHANGED_PREFIX)
        turns = [host for batch in decision.batches for host in batch]
        api = next(each for each in decision.api if each.host == self._play.delegate_host)
        admission = kubelets.with_batch_of(Admission(api=api, cluster=kubelets.cluster(hosts)), decision, turn_of)
        if turns and self._pass.own.settings.node_kubelet_check_api:
            admission = self._check_restarts(admission, hosts, turns, decision)
        elif turns:
            why = "node_kubelet_check_api is false"
            admission = self._with_coverage(admission, hosts, None, decision.excluded, why=why)
        elif decision.compares and not self._repairs_control_planes:
            found = self._compare_kubelets(hosts, decision)
            admission = dataclasses.replace(
                admission,
                api_reachable=found.api_reachable,
                mismatches=found.mismatches,
                report_lines=found.report_lines,
            )
        return dataclasses.replace(admission, failed=bool(admission.refusal))

    def _end_api(self, decision: KubeletDecision) -> ApiHost:
        """Who uses the API for a host that does not decide: if it ends the rollout for all, those before it were lost."""
        before = set(itertools.takewhile(lambda host: host != self._play.host, decision.planned))
        lost = [host for host in decision.candidates if host in before]
        return self._api_hosts(decision.candidates, lost=lost)[0]

    def _check_restarts(
        self, admission: Admission, hosts: Hosts[KubeletHost], turns: t.Sequence[str], decision: KubeletDecision
    ) -> Admission:
        """Check the restarts through the API, and acquire the Lease for them."""
        found = self._with_api_checks(admission, hosts, turns, decision)
        if found.refusal or not found.api_reachable:
            return found
        acquired = self._with_lease(found)
        if acquired.lease and acquired.lease.stale:
            if outdated := self._outdated_refusal(is_stale=True):
                return _with_refusal(acquired, outdated)
            # The first checks are of the time when the other run was in progress.
            rechecked = self._with_api_checks(admission, hosts, turns, decision)
            return kubelets.merge_admissions(rechecked, acquired, found)
        return acquired

    def _with_api_checks(
        self, admission: Admission, hosts: Hosts[KubeletHost], turns: t.Sequence[str], decision: KubeletDecision
    ) -> Admission:
        """Check through the API what the restarts would do. api_reachable is false when the next host is to be tried."""
        settings, cluster = self._pass.own.settings, admission.cluster
        canaries = [*turns, *unverified_changes.hosts_to_observe(hosts)]
        rights = kubelets.rights(hosts, turns, settings, canaries=canaries)
        review, refusal = self._review_rights(rights, cluster, "node_kubelet needs until the last kubelet is compared")
        if refusal:
            return _with_refusal(admission, refusal)
        is_reachable = review.missing is not None
        info = NodesInfo(msg=review.msg)
        if is_reachable:
            arguments = {**kubelets.info_request(hosts, turns), "cluster": cluster}
            info = self._modules.run("node_resource_info", arguments, NodesInfo)
        if info.nodes is None and not self._is_last_api(decision):
            return dataclasses.replace(
                admission, api_reachable=False
            )  # the next control plane may have an API server that responds
        # An account that may not list pods may still list nodes.
        known = info
        if is_reachable and info.nodes is None:
            known = self._modules.run("node_resource_info", {"requested": False, "cluster": cluster}, NodesInfo)
        why = info.msg or "the API does not answer"
        found = self._with_coverage(admission, hosts, known, decision.excluded, why=why)
        refusals = kubelets.check_restarts(hosts, turns, info)
        again = self._observe_again(hosts, info, cluster)
        mismatches = {**again.mismatches, **kubelets.idle_mismatches(hosts, info)}
        if refusals.message and not found.refusal:
            found = dataclasses.replace(
                found, refusal=refusals.message, msg=f"Nothing was changed, because {refusals.message}"
            )
        if mismatches and not found.refusal:
            reasons = " ".join(mismatches.values())
            found = dataclasses.replace(found, refusal=reasons, msg=f"Nothing was changed. {reasons}")
        return dataclasses.replace(
            found,
            restart_refusals=refusals.by_host,
            mismatches=mismatches,
            allocatable={name: kubelets.plugin_allocatable(info, hosts[name].plan.node) for name in turns},
            report_lines=[
                *found.report_lines,
                *report.unverified_lines(kubelets.unverified_idle(hosts, info)),
                *again.report_lines,
            ],
            warnings=[*found.warnings, *kubelets.unreadable_warnings(hosts, turns, info)],
        )

    def _with_coverage(
        self,
        admission: Admission,
        hosts: Hosts[KubeletHost],
        info: NodesInfo | None,
        excluded: t.Sequence[str],
        *,
        why: str,
    ) -> Admission:
        """With refusal and warnings from the nodes that the API has. info: None where it was not queried. why: it was not."""
        has_control_plane = any(host.is_control_plane for host in hosts.values())
        # Read only where it counts: what is for control planes need not be defined on the host that sends the request.
        settings = {} if has_control_plane else {name: self._play.variable(name) for name in _PLANE_SETTINGS}
        found = coverage.check(
            {name: node.labels for name, node in info.nodes.items()} if info and info.nodes is not None else None,
            [host.plan.node for host in hosts.values()],
            excluded=excluded,
            grouped=self._play.control_planes(),
            has_control_plane=has_control_plane,
            settings=settings,
        )
        report_lines = [
            *filter(None, [coverage.missing_nodes_line(found.missing)]),
            *report.unverified_lines(kubelets.unverified_nodes(info, why)),
        ]
        warnings = [found.warning] if found.warning else []
        if found.refusal:
            admission = _with_refusal(admission, found.refusal)
        missing = [*found.missing, *excluded]
        return dataclasses.replace(admission, report_lines=report_lines, warnings=warnings, missing=missing)

    def _with_lease(self, admission: Admission) -> Admission:
        """Acquire the Lease while kubelets are restarted, and see whether another run had it since the plan. In check mode, and in the plan of a
        playbook, it is not acquired."""
        own = self._pass.own.settings
        if not own.node_kubelet_lease or self._step.plan_only:
            return admission
        hosts = self._pass.hosts(self._coordinator.decision.planned)
        result = self._acquire_lease(
            admission.cluster,
            wait_timeout=own.lock_timeout,
            takeover=own.lease_takeover,
            resume=own.node_kubelet_resume,
            intents=unverified_changes.intents(hosts, admission.missing),
            open_transactions=kubelets.open_transactions(hosts),
        )
        refusal = kubelets.lease_refusal(result)
        if refusal:
            return _with_refusal(admission, refusal)
        if self._play.check_mode:
            return admission
        lease = LeaseState(at=time.time(), cluster=admission.cluster, stale=result.stale)
        warnings = kubelets.lease_warnings(result)
        lines = [f"WARNING: {warning}" for warning in warnings]
        return dataclasses.replace(
            admission,
            lease=lease,
            warnings=[*admission.warnings, *warnings],
            report_lines=[*admission.report_lines, *lines],
        )

    def _acquire_lease(self, cluster: t.Any, **more: t.Any) -> LeaseResult:
        """Acquire the Lease, or renew it."""
        own = self._pass.own.settings
        arguments = kubelets.lease_request(holder_name(), cluster, own, plan_age=int(time.time() - own.at))
        return self._modules.run("rollout_lease", {**arguments, **more}, LeaseResult)


def _with_refusal(admission: Admission, refusal: str) -> Admission:
    return dataclasses.replace(admission, refusal=refusal, msg=f"Nothing was changed: {refusal}")

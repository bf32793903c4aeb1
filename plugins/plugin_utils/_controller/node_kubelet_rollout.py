# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the role C(node_kubelet) in a turn and at the end: what a restarted kubelet uses, and what became of each node."""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ...module_utils._plan.common import typed
from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.common.typed import Mapped
from ...module_utils._plan.kubelet import observation, unverified_changes
from ...module_utils._plan.kubelet import rollout as kubelets
from ...module_utils._plan.kubelet.kubelet_results import (
    Admission,
    Conclusion,
    KubeletDecision,
    KubeletHost,
    KubeletTurn,
    LeaseState,
    Verification,
)
from ...module_utils._plan.transaction import report, rollout
from ...module_utils._plan.transaction.results import (
    ChangeResult,
    ComponentResult,
    Item,
    LeaseResult,
    NodesInfo,
    Report,
    TransactionProgress,
)
from ...module_utils._plan.transaction.rollout import Hosts, PassEnd
from .kubelet_admission import KubeletAdmission
from .lease_holder import holder_name
from .play_view import Json
from .transaction_follower import ended_result

# A rollback ends within these: of one call, and how many of them.
_END_SECONDS, _END_ATTEMPTS = 30, 40
_RETRY_SECONDS = 2


class NodeKubeletRollout(KubeletAdmission):
    """All steps of one host."""

    def _renew_lease(self, lease: LeaseState, before: Hosts[KubeletHost]) -> LeaseState:
        """The Lease at the beginning of a turn: renewed when its time would not do for all of it. Raises Refusal when it is another run's."""
        since = kubelets.lease_renewed_at(lease, before)
        if not kubelets.must_renew(since, self._pass.own.settings, time.time()):
            return dataclasses.replace(lease, at=since)
        refusal = kubelets.renewal_refusal(self._acquire_lease(lease.cluster, wait_timeout=0))
        if refusal:
            raise Refusal(f"Not changed: {refusal}")
        return dataclasses.replace(lease, at=time.time())

    def planned_reports(self, hosts: t.Iterable[str] | None = None) -> dict[str, Report]:
        """What was planned, by host, of its kubelet."""
        reports = {name: kubelets.host_report(host) for name, host in self._pass.hosts(hosts).items()}
        return {name: {"kubelet": found} if found else {} for name, found in reports.items()}

    def turn(self) -> KubeletTurn:
        """Let this host begin when those before it are done."""
        admission, own = self._coordinator.admission, self._pass.own
        own_admission = own.admission or Admission()
        before = self._pass.hosts(own_admission.before)
        is_refused = admission is None or admission.failed
        why = "the rollout was refused" if is_refused else rollout.turn_refusal(before)
        if admission is None or why:
            msg = f"Not changed, because {why}."
            return KubeletTurn(failed=True, msg=msg, stopped_by=rollout.stopped_by(before))
        lease = self._renew_lease(admission.lease, before) if admission.lease else None
        (batch,) = own_admission.batches
        # Of those that are as good, the one that responded: control planes that take no part may be down.
        responding = admission.api.host if admission.api else ""
        candidates = sorted(self._coordinator.decision.candidates, key=lambda host: host != responding)
        found = KubeletTurn(
            api=self._api_hosts(candidates, changing=batch)[0],
            lease=lease,
            allocatable=admission.allocatable.get(self._play.host) or {},
            # The item in the result of the change has the pass to which it belongs.
            changes=(Item(self._play.host, own.start.pass_id),),
        )
        if self._play.check_mode or not own.settings.node_kubelet_check_api:
            return found
        node = own.plan.node
        arguments = {"nodes": [node], "requested": False, "running": True, "cluster": admission.cluster}
        info = self._modules.run("node_resource_info", arguments, NodesInfo)
        running = info.of(node).running
        found = dataclasses.replace(found, running=running, unwatched_reason="" if running is not None else info.reason)
        unobserved = observation.unobserved_reason(own.plan, own.settings)
        if unobserved:
            return dataclasses.replace(found, unobserved=unobserved)
        return observation.add_canary(found, self._run_canary(own, admission.cluster, "before"), own.settings)

    def verify(self) -> Verification:
        """Read from the API what became of the restarted kubelet, and warn of what another run has changed there since it was planned."""
        found = self._verify_kubelet()
        lease = self._coordinator.admission.lease if self._coordinator.admission else None
        overtaken = kubelets.meanwhile(self._play.host, self._pass.own) if lease and lease.stale else []
        return dataclasses.replace(found, warnings=overtaken)

    def _verify_kubelet(self) -> Verification:
        """Read from the API whether the restarted kubelet uses what is desired, what became of the pods, and whether the node has its devices
        back."""
        own, settings, turn = self._pass.own, self._pass.own.settings, self._pass.own.turn
        change, admission = own.change, self._coordinator.admission
        is_due = settings.node_kubelet_check_api and kubelets.has_ended(change, check_mode=self._play.check_mode)
        if not is_due or turn is None or admission is None:
            return Verification()
        losses, unobserved = self._observe_pod(turn, admission.cluster)
        found = Verification(losses=losses, unobserved=[unobserved] if unobserved else [])
        # What a node rolls back has no more to be verified.
        return found if losses else self._compare(found, turn, admission)

    def _compare(self, found: Verification, turn: KubeletTurn, admission: Admission) -> Verification:
        """A verification with what the API shows of the configuration, the pods and the devices."""
        own, settings, change = self._pass.own, self._pass.own.settings, self._pass.own.change
        node, expected = own.plan.node, kubelets.expected(own.plan, settings)
        compared = {"kubelets": {node: expected}} if kubelets.is_compared(expected) else {}
        pods = {"running_before": {node: turn.running}} if turn.running is not None else {}
        has_devices = bool(turn.allocatable) and settings.allocatable_timeout > 0
        if not (compared or pods or has_devices):
            return found
        # What pods request is not counted: the account need not be allowed to list them.
        common = {"nodes": [node], "requested": False, "cluster": admission.cluster}
        info = self._modules.run("node_resource_info", {**compared, **pods, **common}, NodesInfo)
        if observation.is_observed(change) and observation.differs(node, info):
            return dataclasses.replace(found, losses=kubelets.mismatch(node, info).rstrip("."))
        is_changed = change is not None and change.changed
        problems = [kubelets.kubelet_mismatch(node, info, changed=is_changed)] if compared else []
        if has_devices and not any(problems):
            info, shortage = self._wait_for_devices(node, turn.allocatable, info, {**pods, **common})
            problems.append(shortage)
        problems += [kubelets.pod_losses_error(node, info)] if pods else []
        problem, losses = " ".join(filter(None, problems)), info.of(node).losses if pods else None
        return dataclasses.replace(found, problem=problem, pods=losses, ended_pods=kubelets.describe_ended_pods(losses))

    def _observe_pod(self, turn: KubeletTurn, cluster: t.Any) -> tuple[str, str]:
        """What a canary shows to be lost behind the change, and what it does not show."""
        if not observation.is_observed(self._pass.own.change) or not turn.canary:
            return "", ""
        return observation.find_losses(turn.canary, self._run_canary(self._pass.own, cluster, "after"))

    def conclude(self) -> Conclusion:
        """Let the node end the change as it was observed, and fail for what is not as it has to be: those of the batch were all observed before."""
        own = self._pass.own
        change, verification = own.change, own.verification
        if change is None or change.unreachable:
            return Conclusion(unreachable=bool(change), msg=change.reason if change else "")
        if verification is None or verification.failed:
            # Nothing is known, so nothing is said: the node keeps the change in the end, and reports it as not observed.
            return Conclusion(failed=True, msg=verification.reason if verification else "it was not verified")
        result = self._end_transaction(change, verification.losses) if observation.is_observed(change) else {}
        concluded = change.with_values(**result)
        if verification.ended_pods and concluded.transaction:
            arguments = {"name": "kubelet", "id": concluded.transaction.id, "problem": verification.ended_pods}
            self._modules.run("node_transaction", arguments, TransactionProgress)
        reason = concluded.reason if concluded.failed else verification.problem
        if verification.losses and not concluded.failed:  # the node had given up waiting before
            reason = f"The kubelet of {own.plan.node} was changed, and {verification.losses}. {kubelets.HALT}"
        return Conclusion(failed=bool(reason), msg=reason, result=result)

    def _end_transaction(self, change: ChangeResult, losses: str) -> Json:
        """Hand the node what was observed, and follow its transaction to the end."""
        identifier = change.transaction.id if change.transaction else ""
        arguments: Json = {
            "name": "kubelet",
            "observed": identifier,
            "losses": losses,
            "wait": _END_SECONDS,
            "acknowledge": False,
        }
        progress = TransactionProgress()
        for _attempt in range(_END_ATTEMPTS):
            progress = self._modules.run("node_transaction", arguments, TransactionProgress)
            if progress.transaction:
                return ended_result("kubelet", change.node, progress.transaction, change.unverified)
            if progress.has_failed:
                time.sleep(_RETRY_SECONDS)
            else:  # it has that, so the next attempt only waits
                arguments = {"name": "kubelet", "id": identifier, "wait": _END_SECONDS, "acknowledge": False}
        return {"failed": True, "msg": f"the end of transaction {identifier} was not seen: {progress.reason}"}

    def _wait_for_devices(
        self, node: str, offered: t.Mapping[str, int], info: NodesInfo, arguments: Json
    ) -> tuple[NodesInfo, str]:
        """Wait until a node offers what it did before. A restarted kubelet has nothing of a device plugin until that has registered again.
        Returns the last result, and why a node that offers less fails."""
        seconds = self._pass.own.settings.allocatable_timeout
        poll_interval = self._step.poll_interval
        for _attempt in range(max(1, seconds // max(1, poll_interval))):
            if not observation.missing_devices(offered, info, node):
                return info, ""
            time.sleep(poll_interval)
            info = self._modules.run("node_resource_info", arguments, NodesInfo)
        return info, observation.device_mismatch(node, info, observation.missing_devices(offered, info, node), seconds)

    def _end(self) -> PassEnd:
        name, own, decision = self._play.host, self._pass.own, self._coordinator.decision
        has_turn = bool(own.admission and own.admission.batches) and not self._play.check_mode
        stopped = self._stopping_hosts(decision) if has_turn else ()
        found = kubelets.final_report(name, own, self._coordinator, stopped, has_turn=has_turn)
        planned = ((each, self._pass.host(each)) for each in decision.planned)
        own_report = dict(found.raw) if found else {}
        if rollout.choose_reporter(planned) != name:
            return PassEnd(report=own_report)
        return self._reporter_end(own_report, decision)

    def _stopping_hosts(self, decision: KubeletDecision) -> list[str]:
        """Who stopped the rollout, where this host was waiting for its turn. Read no further than needed."""
        own = self._pass.own
        if own.has_started:
            return []
        if own.turn and own.turn.failed:
            return list(own.turn.stopped_by)
        for batch in decision.batches:
            stopped = [each for each in rollout.stopped_by(self._pass.hosts(batch)) if each != self._play.host]
            if stopped:
                return stopped
        return []

    def _reporter_end(self, own_report: Json, decision: KubeletDecision) -> PassEnd:
        """The end of the host that reports for all: with the lines of no single host."""
        admission = self._coordinator.admission or Admission()
        hosts = self._pass.hosts([*decision.planned, *decision.excluded])
        turns = {name for batch in decision.batches for name in batch} if not self._play.check_mode else set()
        stopped = rollout.stopped_by(hosts)
        reports = {
            name: kubelets.final_report(name, host, self._coordinator, stopped, has_turn=name in turns)
            for name, host in hosts.items()
        }
        lost = [name for name, host in hosts.items() if host.state == rollout.LOST]
        included = {name: each for name, each in reports.items() if each and name not in decision.excluded}
        comparison = self._coordinator.comparison
        lines = [
            *(comparison.report_lines if comparison else ()),
            *(each for host in hosts.values() if host.verification for each in host.verification.warnings),
            *report.left_alone_lines(kubelets.left_alone(included)),
        ]
        others = {name: typed.as_mapping(reports[name]) or {} for name in lost}
        warnings = self._release_lease(hosts, admission)
        return PassEnd(report=own_report, lines=lines, others=others, warnings=warnings)

    def acknowledge_outcomes(self, own_report: Mapped | None) -> None:
        """As in all roles, but for a change that stands and was not verified to the end: the next run observes that first."""
        parts = self.parts_of(dict(own_report or {}))
        super().acknowledge_outcomes(own_report if not unverified_changes.is_unverified(parts) else {})

    def why_failed(self, parts: Report) -> str:
        """As in all roles, and why a kubelet with nothing to change does not count as using what is desired."""
        return next((part.msg for part in parts.values() if part.step_failed is False), super().why_failed(parts))

    @staticmethod
    def parts_of(report: Json) -> Report:
        """As in all roles: the kubelet is the whole report."""
        return {"kubelet": typed.parse(ComponentResult, report)} if report else {}

    @staticmethod
    def with_parts(parts: Report, report: Json) -> Json:
        """As in all roles."""
        return dict(parts["kubelet"].raw) if parts else report

    def _release_lease(self, hosts: Hosts[KubeletHost], admission: Admission) -> list[str]:
        if not admission.lease:
            return []
        request = unverified_changes.release_request(hosts, holder_name(), admission.lease.cluster)
        result = self._modules.run("rollout_lease", request, LeaseResult)
        if not result.has_failed:
            return []
        return [f"the Lease {kubelets.LEASE} is still held by {holder_name()} until it expires: {result.msg}"]

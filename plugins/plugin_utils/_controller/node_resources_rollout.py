# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the role C(node_resources): one host asks the API for all, and each tells what became of its node."""

from __future__ import annotations

import typing as t

from ansible.module_utils.parsing.convert_bool import boolean

from ...module_utils._plan.common.errors import Refusal
from ...module_utils._plan.kubernetes import access
from ...module_utils._plan.node import labels
from ...module_utils._plan.node import rollout as resources
from ...module_utils._plan.transaction import rollout
from ...module_utils._plan.transaction.report import left_alone, limits
from .role_rollout import RoleRollout
from .rollout_pass import Json

_BOOLEANS = ("node_resources_purge", "node_resources_wait", "node_resources_allow_eviction")
# What the role node_kubelet read of the node in this run, so that the node is not asked again.
_KUBELET_PLAN = "__node_kubelet_plan"
_NUMBERS = ("node_resources_wait_timeout", "max_unreachable")


class NodeResourcesRollout(RoleRollout):
    """The steps of one host."""

    def begin(self) -> Json:
        """Learn the name of the node as well: from the inventory, from the role node_kubelet before it, or from the node."""
        self._refuse_variables()
        settings = self._checked_settings()
        node, excluded = self._pass.registered(_KUBELET_PLAN), ""
        if settings["node"]:
            node = {}
        elif "cluster" not in node:
            node, excluded = self._read_node()
            if node.get("failed") or (excluded and not settings["max_unreachable"]):
                raise Refusal(
                    f"Nothing was changed: the name of {self._pass.host} in Kubernetes is not known: {node.get('msg')}"
                )
        settings.update(
            node=settings["node"] or node.get("node"),
            cluster=node.get("cluster") or {},
            control_plane=bool(node.get("control_plane")),
        )
        if not excluded:
            self._refuse_labels_of_kubelet(settings, node)
        return self._begun(settings, excluded)

    def _refuse_labels_of_kubelet(self, settings: Json, node: Json) -> None:
        """What the kubelet's command line sets would be set again at its next start. node: what the node told; empty when it was not asked."""
        if not (node and labels.may_be_set_again(settings["labels"] or {})):
            return
        found = node if "arguments" in node else self._read_node()[0]
        arguments = [each["argument"] for each in found.get("arguments") or ()]
        refusal = labels.refusal(settings["node"], settings["labels"], arguments)
        if refusal:
            raise Refusal(f"Nothing was changed. {refusal}")

    def _checked_settings(self) -> Json:
        found = resources.keeping(self._settings)
        return {
            **found,
            **{name: boolean(found[name]) for name in _BOOLEANS},
            **{name: int(found[name]) for name in _NUMBERS},
        }

    def decide(self) -> Json:
        """See on one host whether one task can serve all, and whom it asks. The others do not ask."""
        coordinator = self._pass.coordinator
        if coordinator != self._pass.host:
            return {"coordinator": coordinator, "api": []}
        hosts = self._pass.hosts()
        served = rollout.participants(hosts)
        refusal = self._excluded_refusal(hosts) or resources.refusal(served)
        if refusal:
            raise Refusal(f"Nothing was changed. {refusal}")
        candidates = list(dict.fromkeys([*resources.control_planes(served), *self._pass.control_planes()]))
        named = rollout.settings_of(self._pass.own)["node_resources_api_host"]
        api = self._pass.api_hosts(candidates, named, reachable=self._pass.play_hosts)
        return {
            "coordinator": coordinator,
            "served": list(served),
            "excluded": list(rollout.excluded(hosts)),
            "api": api,
        }

    def apply(self) -> Json:
        """Taint all nodes, then advertise their extended resources, then label them; what fails ends it."""
        decision = rollout.of_pass(self._pass.own, "decide")
        hosts = self._pass.hosts(decision["served"])
        is_last = self._pass.asked_host == decision["api"][-1]["host"]
        found: Json = {"api_reachable": True}
        for kind, module in resources.TASKS.items():
            found[kind] = self._pass.ask(module, resources.arguments(kind, hosts), is_plan=self._plan_only)
            if found[kind].get("unreachable") and not is_last:
                return {"api_reachable": False}
            if found[kind].get("failed") or found[kind].get("unreachable"):
                found[kind]["msg"] += self._without_api(hosts)
                found.update(failed=True, msg=found[kind]["msg"])
                break
        if not found.get("failed"):
            found.update(self._reviewed(hosts))
        results = [found[kind] for kind in resources.TASKS if kind in found]
        diffs = [each for result in results for each in _listed(result.pop("diff", None))]
        if self._plan_only:
            # A plan changes nothing. What it found stands in its operations.
            for each in results:
                each["nodes"] = {node: {**its, "changed": False} for node, its in each.get("nodes", {}).items()}
        return {
            **found,
            "changed": any(result.get("changed") for result in results) and not self._plan_only,
            **({"diff": diffs} if diffs else {}),
        }

    def _reviewed(self, hosts: rollout.Hosts) -> Json:
        """A failure where a run must not restart kubelets whose nodes it could not set right again afterwards, and a warning where that is not known.
        What is to change now was sent as a dry run."""
        plans = [self._pass.registered(_KUBELET_PLAN, host) for host in hosts] if self._plan_only else []
        rights = resources.rights(hosts) if any(plan.get("operations") for plan in plans) else []
        if not rights:
            return {}
        cluster = resources.arguments("labels", hosts).get("cluster")
        purpose = "node_resources needs after the kubelets are restarted"
        result, refusal = self._review(rights, cluster, purpose)
        limits = access.unverified(result, purpose)
        failure = {"failed": True, "msg": f"Nothing was changed: {refusal}"} if refusal else {}
        return {**failure, "unverified": limits, "warnings": [f"not verified: {what}" for what in limits]}

    def _without_api(self, hosts: t.Iterable[str]) -> str:
        """What to do about kubelets that this run found down and has not repaired yet."""
        known = {host: self._pass.registered(_KUBELET_PLAN, host) for host in hosts} if self._plan_only else {}
        return resources.without_api(known)

    def planned(self, hosts: t.Iterable[str] | None = None) -> dict[str, dict[str, Json]]:
        """What was planned, by host and kind."""
        applied = rollout.of_pass(self._coordinator, "apply")
        outcomes = {host: resources.outcome(registers, applied) for host, registers in self._pass.hosts(hosts).items()}
        return {
            host: {kind: outcome[kind] for kind in resources.TASKS if outcome[kind]}
            for host, outcome in outcomes.items()
        }

    def end(self) -> Json:
        """Tell what became of this node, and on one host of all."""
        if not rollout.is_at_work(self._pass.own):
            return self._ended({})
        applied = rollout.of_pass(self._coordinator, "apply")
        own = resources.outcome(self._pass.own, applied)
        decision = rollout.of_pass(self._pass.own, "decide")
        # Of the coordinator alone these are named.
        hosts = self._pass.hosts([*decision.get("excluded", ()), *decision.get("served", ())])
        outcomes = {host: resources.outcome(each, applied) for host, each in hosts.items()}
        # Without purge an empty variable reverts nothing. The first of two passes purges nothing by itself and tells all the same.
        purges = boolean(self._pass.variable("node_resources_purge", True))
        lines = [
            *resources.lines(outcomes, self._named_in),
            *left_alone(resources.left_alone(outcomes) if purges else ()),
        ]
        unverified = resources.unverified(self._pass.hosts(decision.get("served", ())), applied)
        return self._ended(own, [*lines, *limits(unverified)] if lines else [])


def _listed(diff: t.Any) -> list[t.Any]:
    """The diffs of a result, of which it has none, one or several."""
    return diff if isinstance(diff, list) else [diff] if diff else []

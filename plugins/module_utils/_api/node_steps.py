# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the modules that change labels, taints and extended resources of many nodes, for the runner."""

from __future__ import annotations

import dataclasses
import functools
import typing as t
from http import HTTPStatus

from .._plan.common.batch import TaskPlan, join_first, raise_failures
from .._plan.common.errors import KubeadmError
from .._plan.common.verdict import Verdict
from .._plan.documents import json_patch
from .._plan.documents.json_patch import PatchOperation
from .._plan.kubernetes.kubelet_lease import describe_stale_lease, unverified_kubelets
from .._plan.node import conditions as node_conditions
from .._plan.node import plan as node_plan
from .._plan.node import readmission
from .._plan.node import taints as node_taints
from .._plan.node.plan import Kind, NodePlan
from .api_steps import ApiSteps, Target, diff_entry, retry_on_conflict, send_each, skip_unsent, to_yaml
from .client import ApiError, Client, Connect, Json, NoResponse, Params
from .kubelet_leases import find_stale_leases
from .objects import check_selection, read_nodes, read_pods

_POLL_INTERVAL = 1.0  # seconds


@dataclasses.dataclass
class NodeTarget(Target[NodePlan]):
    """One node of a task."""

    @property
    def patch(self) -> tuple[PatchOperation, ...]:
        """The JSON Patch of its plan."""
        return self.plan.patch if self.plan else ()

    @property
    def desired(self) -> node_plan.Keys:
        """The values that it has to have in the end."""
        return self.plan.desired if self.plan else {}

    def report(self) -> Json:
        """The result of this node."""
        return {**super().report(), "left_alone": list(self.plan.left_alone) if self.plan else []}


@dataclasses.dataclass(frozen=True)
class Observed:
    """What a run reads: the nodes of the task by name, each with its plan and result."""

    targets: dict[str, NodeTarget]

    @property
    def healthy(self) -> list[NodeTarget]:
        """Those that did not fail so far."""
        return [target for target in self.targets.values() if not target.error]

    @property
    def changing(self) -> list[NodeTarget]:
        """Those that are going to change."""
        return [target for target in self.healthy if target.operations]


class PodImpact:
    """What a change of nodes does to the pods there: which are evicted now, and which the next start of the kubelet rejects.

    It is apart from the steps because it reads pods, for which an account may lack the right. allow_eviction: pods may be evicted.
    note_unverified: records what could not be verified.
    """

    def __init__(self, client: Client, *, allow_eviction: bool, note_unverified: t.Callable[[str], None]) -> None:
        self._client = client
        self._allow_eviction = allow_eviction
        self._note_unverified = note_unverified

    def check_evictions(self, observed: Observed) -> list[str]:
        """Fail the nodes whose new taints evict pods, or, where that is allowed, return a warning with the pods."""
        new = {target.name: node_taints.new_no_execute(target.operations) for target in observed.changing}
        concerned = {name: taints for name, taints in new.items() if taints}
        if not concerned:
            return []
        try:
            pods = read_pods(self._client, concerned)
        except ApiError as exc:
            if exc.status != HTTPStatus.FORBIDDEN:
                raise
            if not self._allow_eviction:
                raise KubeadmError(
                    f"which pods the new taints evict could not be determined: {exc} Or set allow_eviction."
                ) from exc
            self._note_unverified(f"whether the new taints evict pods: {exc}")
            return []
        warnings = []
        for name, taints in concerned.items():
            evicted = node_taints.find_evictions(pods[name], taints)
            if evicted and self._allow_eviction:
                warnings.append(f"{name}: {self._join_taints(taints)} evicts {join_first(evicted)}.")
            elif evicted:
                observed.targets[name].error = (
                    f"{name}: {self._join_taints(taints)} would evict {len(evicted)} pods: {join_first(evicted)}. Nothing was changed on"
                    " this node. Give them a toleration, or set allow_eviction."
                )
        return warnings

    @staticmethod
    def _join_taints(taints: t.Iterable[t.Mapping[str, t.Any]]) -> str:
        return ", ".join(node_taints.taint_key(taint["key"], taint["effect"]) for taint in taints)

    def check_readmission(self, observed: Observed) -> list[str]:
        """Warn of running pods that would not survive the next start of the kubelet because of this change."""
        concerned = {
            target.name: target for target in observed.changing if node_conditions.may_reject_pods(target.operations)
        }
        if not concerned:
            return []
        try:
            pods = read_pods(self._client, concerned)
        except ApiError as exc:
            if exc.status != HTTPStatus.FORBIDDEN:
                raise
            self._note_unverified(f"whether running pods still fit: {exc}")
            return []
        warnings = []
        for name, target in concerned.items():
            before = readmission.find_rejected(pods[name], node_conditions.read_conditions(target.latest))
            already = {entry.pod for entry in before}
            after = readmission.find_rejected(
                pods[name], node_conditions.read_conditions(target.latest, target.operations)
            )
            new = [entry for entry in after if entry.pod not in already]
            if new:
                warnings.append(
                    f"{name}: these pods keep running, but the kubelet rejects them when it is restarted: {join_first(new)}."
                )
        return warnings


class NodeWatch:
    """Waits until nodes have the desired values, some of which a kubelet has to report first.

    It is apart from the steps because the change is made by then: only its effect can fail here. note_unverified: records what could not be verified.
    """

    def __init__(self, client: Client, kind: Kind, params: Params, *, note_unverified: t.Callable[[str], None]) -> None:
        self._client = client
        self._kind = kind
        self._params = params
        self._note_unverified = note_unverified

    def wait(self, observed: Observed) -> None:
        """Wait until the nodes have the desired values, with one request for all of them at a time."""
        waiting = [target for target in observed.healthy if target.plan and target.tried and self._can_report(target)]
        # What a node has from the start, a kubelet that no longer runs may have reported.
        reached_before = [target for target in waiting if not self._missing_values(target)]

        def refresh() -> None:
            names = [target.name for target in waiting]
            current = read_nodes(self._client, names, None, workers=self._params["concurrency"])
            for name, node in current.items():
                observed.targets[name].latest = node

        def are_reached() -> bool:
            waiting[:] = [target for target in waiting if self._missing_values(target)]
            return not waiting

        timeout = self._params["wait_timeout"]
        place = " in allocatable" if self._kind.needs_kubelet else ""
        try:
            self._client.poll(are_reached, timeout, _POLL_INTERVAL, refresh=refresh)
        except KubeadmError as exc:  # the nodes are changed all the same
            for target in waiting:
                target.error = f"{target.name}: whether it shows{place} what is desired is not known: {exc}"
            return
        for target in waiting:
            lacks = "; ".join(self._missing_values(target))
            target.error = f"{target.name}: not seen{place} within {timeout} s: {lacks}."
        self._note_stale(reached_before)

    def note_missing(self, observed: Observed) -> None:
        """Record which nodes with nothing to change do not have the desired values, without waiting for them."""
        reached = []
        for target in observed.healthy:
            if target.plan and target.tried and not target.operations and self._can_report(target):
                lacks = "; ".join(self._missing_values(target))
                if lacks:
                    self._note_unverified(f"whether the node {target.name} offers it: {lacks}")
                else:
                    reached.append(target)
        self._note_stale(reached)

    def _note_stale(self, targets: t.Sequence[NodeTarget]) -> None:
        """Record which nodes may have their values from a kubelet that no longer runs, by its stale Lease."""
        names = [target.name for target in targets if self._kind.needs_kubelet and target.desired]
        stale, unknown = find_stale_leases(self._client, names)
        for name, seconds in stale.items():
            self._note_unverified(f"whether the node {name} offers it: {describe_stale_lease(seconds)}")
        for text in unverified_kubelets(unknown, names):
            self._note_unverified(text)

    def _can_report(self, target: NodeTarget) -> bool:
        """Whether the kubelet reports the values, where it has to."""
        reports = not self._kind.needs_kubelet or node_plan.is_ready(target.latest)
        if not reports:
            target.note = "not waited for: the node is not Ready, so no kubelet would report it"
            self._note_unverified(
                f"whether the node {target.name} offers it: it is not Ready, so no kubelet reports it"
            )
        return reports

    def _missing_values(self, target: NodeTarget) -> list[str]:
        return node_plan.missing_values(self._kind, target.latest, target.desired)


class NodeSteps(ApiSteps[Observed, TaskPlan]):
    """One run of a module: reads, plans, rehearses and makes changes of one kind on many nodes."""

    unrehearsed = "the API server validates each change when it is made"

    def __init__(self, kind: Kind, params: Params, *, connect: Connect, diff: bool) -> None:
        super().__init__(params, connect=connect, diff=diff)
        self._kind = kind

    # ---- the steps -----------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _desired_states(self) -> node_plan.DesiredStates:
        return node_plan.parse_desired(self._kind, self._params)

    def _check_options(self) -> None:
        dummy = self._desired_states
        check_selection(self._params["nodes"], self._params["label_selector"])

    def read(self, *, dry: bool) -> Observed:
        """Read the nodes that the task names or selects."""
        selector = self._params["label_selector"]
        names = list(dict.fromkeys([*(self._params["nodes"] or []), *self._desired_states.per_node]))
        found = read_nodes(self._api, names, selector, workers=self._params["concurrency"])
        if selector and not found and self._params["state"] == "present":
            raise KubeadmError(f"label_selector {selector!r} matches no node of {self._api.url}.")
        targets: dict[str, NodeTarget] = {}
        for name in dict.fromkeys([*names, *found]):
            node = found.get(name, {})
            error = (
                ""
                if node
                else f"{name}: there is no node of this name in the cluster of {self._api.url}; kubectl get nodes lists them."
            )
            targets[name] = NodeTarget(name, read=node, latest=node, error=error)
        return Observed(targets)

    def _observed_nodes(self, observed: Observed) -> t.Iterable[Json]:
        return [target.read for target in observed.targets.values() if target.read]

    def plan(self, observed: Observed) -> TaskPlan:
        """Work out the change of every node, and what it does to the pods there."""
        targets = observed.targets.values()
        for target in targets:
            self._plan_one(target)
        allowed = bool(self._params.get("allow_eviction"))  # an option of node_taint alone
        impact = PodImpact(self._api, allow_eviction=allowed, note_unverified=self._unverified.append)
        warnings = [*impact.check_evictions(observed), *impact.check_readmission(observed)]
        if self._params["on_error"] == "stop" and len(observed.healthy) < len(targets):
            skip_unsent(targets, kind="node", on_error=self._params["on_error"])
        own = [warning for target in targets if target.plan for warning in target.plan.warnings]
        return TaskPlan(tuple(change for target in targets for change in target.operations), (*own, *warnings))

    def rehearse(self, observed: Observed, plan: TaskPlan) -> Verdict:
        """The API server validates the patches without storing them."""
        return self._rehearse_by_dry_run(lambda: self._dry_run_errors(observed), each="every patch")

    def apply(self, observed: Observed, plan: TaskPlan) -> None:
        """Send the patches."""
        self._send(observed, dry_run=False)

    def finish(self, observed: Observed, plan: TaskPlan, *, dry: bool) -> t.Sequence[str]:
        """Wait for the effect of the changes. Raises an error with the nodes that failed."""
        watch = NodeWatch(self._api, self._kind, self._params, note_unverified=self._unverified.append)
        if self._params["wait"] and not dry:
            watch.wait(observed)
        else:
            watch.note_missing(observed)
        targets = observed.targets.values()
        errors = [target.error for target in targets if target.error]
        raise_failures("nodes", errors, len(targets), changed=any(target.changed for target in targets))
        return self._final_warnings()

    def report(self, observed: Observed | None, plan: TaskPlan | None) -> dict[str, t.Any]:
        """The result of the module, whatever step it reached."""
        targets = observed.targets if observed else {}
        return {
            "nodes": {name: target.report() for name, target in targets.items()},
            "unverified": self._unverified,
            "diff": [self._diff_entry(target) for target in targets.values() if target.has_diff] if self._diff else [],
        }

    # ---- planning ------------------------------------------------------------------------------------------------------

    def _plan_of(self, target: NodeTarget, node: Json) -> NodePlan:
        return node_plan.plan(self._kind, node, self._desired_states.of(target.name))

    def _plan_one(self, target: NodeTarget) -> None:
        if not target.read:
            return
        try:
            target.plan = self._plan_of(target, target.read)
        except KubeadmError as exc:
            target.error = str(exc)

    # ---- sending -------------------------------------------------------------------------------------------------------

    def _dry_run_errors(self, observed: Observed) -> list[str]:
        self._send(observed, dry_run=True)
        failed = [target for target in observed.targets.values() if target.error]
        # Where none of them was going to change, no patch was refused.
        return [target.error for target in failed] if any(target.operations for target in failed) else []

    def _send(self, observed: Observed, *, dry_run: bool) -> None:
        send_each(observed.changing, lambda target: self._send_one(target, dry_run=dry_run), self._params, kind="node")

    def _send_one(self, target: NodeTarget, *, dry_run: bool) -> bool:
        """Change one node, again after conflicts with other writers. Returns whether it succeeded."""
        try:
            self._patch(target, dry_run=dry_run)
        except KubeadmError as exc:
            target.error = f"{target.name}: {exc}"
            if isinstance(exc, NoResponse) and not dry_run:
                self._unverified.append(f"whether the node {target.name} was changed: the API server stopped answering")
        return not target.error

    def _patch(self, target: NodeTarget, *, dry_run: bool) -> None:
        path = "/".join(filter(None, ("nodes", target.name, self._kind.subresource)))
        target.latest = retry_on_conflict(
            lambda: self._api.patch(path, target.patch, dry_run=dry_run),
            lambda refusal: self._plan_again(target, refusal),
            cause="another client changed the node",
            statuses=(HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY),
        )
        target.sent = True

    def _plan_again(self, target: NodeTarget, refusal: ApiError) -> Json | None:
        target.read = self._api.get(f"nodes/{target.name}")
        new_plan = self._plan_of(target, target.read)
        if not new_plan.operations:
            # It is as desired: another writer's work, or our own patch whose response was lost.
            return target.read
        if refusal.status == HTTPStatus.UNPROCESSABLE_ENTITY and new_plan.patch == target.patch:
            # The tests of the patch hold, so the change itself is refused.
            raise refusal
        target.plan = new_plan
        return None

    def _diff_entry(self, target: NodeTarget) -> Json:
        after = json_patch.apply(target.read, json_patch.changes_of(target.patch))
        before, then = node_plan.diff_views(self._kind, target.read, after)
        return diff_entry(f"node/{target.name}", to_yaml(before), to_yaml(then))

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""The steps of the modules that change labels, taints and extended resources of many nodes, for the runner."""

from __future__ import annotations

import contextlib
import typing as t
from http import HTTPStatus

from .._plan.common.batch import TaskPlan, joined, refuse_failures
from .._plan.common.errors import KubeadmError
from .._plan.common.verdict import NOT_NEEDED, Verdict
from .._plan.documents import json_patch
from .._plan.node import conditions as node_conditions
from .._plan.node import evictions, readmission
from .._plan.node import plan as node_plan
from .._plan.node import taints as node_taints
from .._plan.node.plan import Kind, NodePlan, Wish
from .client import ApiError, Connect, Json, Params
from .conflicts import retry_on_conflict
from .objects import check_asked, read_nodes, read_pods
from .steps import ApiSteps, difference
from .target import Target, send_each

_LOOK_AGAIN = 1.0  # seconds between two looks at what is waited for

NodeTarget = Target[NodePlan]


class NodeSteps(ApiSteps):
    """One run of a module: reads, plans, rehearses and makes changes of one kind on many nodes."""

    def __init__(self, kind: Kind, params: Params, *, connect: Connect, dry: bool, diff: bool) -> None:
        super().__init__(params, connect=connect, dry=dry, diff=diff)
        self._kind = kind
        self._targets: dict[str, NodeTarget] = {}
        self._wishes: node_plan.Wishes | None = None

    # ---- the steps -----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def session(self) -> t.Iterator[None]:
        """Check what was asked before anything is sent; at the end wait for its effect and tell which nodes failed."""
        self._wishes = node_plan.parse_wishes(self._kind, self._params)
        check_asked(self._params["nodes"], self._params["label_selector"])
        yield
        if self._params["wait"] and not self._dry:
            self._wait()
        self._refuse_failures()

    def read(self) -> None:
        """Read the nodes that the task names or selects."""
        selector, wishes = self._params["label_selector"], t.cast(node_plan.Wishes, self._wishes)
        names = list(dict.fromkeys([*(self._params["nodes"] or []), *wishes.per_node]))
        found = self._read_nodes(names, selector)
        if selector and not found and self._params["state"] == "present":
            raise KubeadmError(f"label_selector {selector!r} matches no node of {self._api.url}.")
        for name in dict.fromkeys([*names, *found]):
            node = found.get(name)
            error = (
                ""
                if node
                else f"{name}: there is no node of this name in the cluster of {self._api.url}; kubectl get nodes lists them."
            )
            self._targets[name] = NodeTarget(name, read=node, latest=node, error=error)

    def plan(self) -> TaskPlan:
        """Work out the change of every node, and what it does to the pods there."""
        for target in self._targets.values():
            self._plan_one(target)
        warnings = [*self._evictions(), *self._readmissions()]
        if self._stopped:
            for target in self._healthy:
                target.note, target.plan = "not tried: another node failed, and on_error is stop", None
        changing = [target for target in self._targets.values() if target.operations]
        own = [warning for target in self._targets.values() if target.plan for warning in target.plan.warnings]
        return TaskPlan(tuple(change for target in changing for change in target.operations), (*own, *warnings))

    def settle(self) -> None:
        """What the nodes do not show yet is waited for at the end of the session, after a change and without one."""

    def rehearse(self) -> Verdict:
        """In check mode the API server judges the patches without keeping them; otherwise the patches are the test."""
        if not self._dry:
            return Verdict(NOT_NEEDED, "the API server validates each change when it is made")
        return self._judge(self._declined, each="every patch")

    def apply(self) -> None:
        """Send the patches."""
        self._send()

    def report(self) -> dict[str, t.Any]:
        """The result of the module, whatever step it reached."""
        return {
            "nodes": {name: target.report() for name, target in self._targets.items()},
            "diff": [self._difference(target) for target in self._targets.values() if target.changes]
            if self._diff
            else [],
        }

    # ---- reading and planning ------------------------------------------------------------------------------------------

    def _nodes(self) -> list[Json]:
        return [target.read for target in self._targets.values() if target.read]

    def _wish_of(self, target: NodeTarget) -> Wish:
        return t.cast(node_plan.Wishes, self._wishes).of(target.name)

    @property
    def _healthy(self) -> list[NodeTarget]:
        return [target for target in self._targets.values() if not target.error]

    @property
    def _stopped(self) -> bool:
        return self._params["on_error"] == "stop" and len(self._healthy) < len(self._targets)

    def _read_nodes(self, names: t.Collection[str], selector: str | None = None) -> dict[str, Json]:
        return read_nodes(self._api, names, selector, workers=self._params["concurrency"])

    def _plan_one(self, target: NodeTarget) -> None:
        if target.read is None:
            return
        try:
            target.plan = node_plan.plan(self._kind, target.read, self._wish_of(target))
        except KubeadmError as exc:
            target.error = str(exc)

    def _evictions(self) -> list[str]:
        """Refuse new taints that evict pods, unless that is allowed; then tell which."""
        new = {target.name: node_taints.new_no_execute(target.operations) for target in self._changing()}
        concerned = {name: taints for name, taints in new.items() if taints}
        if not concerned:
            return []
        allowed = self._params["allow_eviction"]
        try:
            pods = read_pods(self._api, concerned)
        except ApiError as exc:
            if exc.status != HTTPStatus.FORBIDDEN:
                raise
            problem = f"which pods the new taints evict could not be determined: {exc}"
            if not allowed:
                raise KubeadmError(f"{problem} Or set allow_eviction.") from exc
            return [problem]
        warnings = []
        for name, taints in concerned.items():
            going = evictions.evicted(pods[name], taints)
            if going and allowed:
                warnings.append(f"{name}: {self._keys(taints)} evicts {joined(going)}.")
            elif going:
                self._targets[name].error = (
                    f"{name}: {self._keys(taints)} would evict {len(going)} pods: {joined(going)}. Nothing was changed on"
                    " this node. Give them a toleration, or set allow_eviction."
                )
        return warnings

    @staticmethod
    def _keys(taints: t.Iterable[t.Mapping[str, t.Any]]) -> str:
        return ", ".join(node_taints.identity(taint["key"], taint["effect"]) for taint in taints)

    def _readmissions(self) -> list[str]:
        """Warn of running pods that would not survive the next start of the kubelet because of this change."""
        concerned = {
            target.name: target for target in self._changing() if node_conditions.may_exclude(target.operations)
        }
        if not concerned:
            return []
        try:
            pods = read_pods(self._api, concerned)
        except ApiError as exc:
            if exc.status != HTTPStatus.FORBIDDEN:
                raise
            return [f"whether running pods still fit could not be determined: {exc}"]
        warnings = []
        for name, target in concerned.items():
            node = t.cast(Json, target.latest)
            already = {entry.pod for entry in readmission.rejected(pods[name], node_conditions.conditions_of(node))}
            after = readmission.rejected(pods[name], node_conditions.conditions_of(node, target.operations))
            new = [entry for entry in after if entry.pod not in already]
            if new:
                warnings.append(
                    f"{name}: these pods keep running, but the kubelet rejects them when it is restarted: {joined(new)}."
                )
        return warnings

    def _changing(self) -> list[NodeTarget]:
        return [target for target in self._targets.values() if target.operations and not target.error]

    # ---- sending -------------------------------------------------------------------------------------------------------

    def _declined(self) -> list[str]:
        self._send()
        failed = [target for target in self._targets.values() if target.error]
        # Where none of them was going to change, no patch is to blame.
        return [target.error for target in failed] if any(target.operations for target in failed) else []

    def _send(self) -> None:
        send_each(self._changing(), self._send_one, self._params, kind="node")

    def _send_one(self, target: NodeTarget) -> bool:
        """Change one node, against other writers if need be. Returns whether it worked."""
        try:
            self._patch(target)
        except KubeadmError as exc:
            target.error = f"{target.name}: {exc}"
        return not target.error

    def _patch(self, target: NodeTarget) -> None:
        place = "/".join(filter(None, ("nodes", target.name, self._kind.subresource)))
        target.latest = retry_on_conflict(
            lambda: self._api.patch(place, t.cast(NodePlan, target.plan).patch, dry_run=self._dry),
            lambda refusal: self._plan_again(target, refusal),
            others="another client changed the node",
            statuses=(HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY),
        )
        target.sent = True

    def _plan_again(self, target: NodeTarget, refusal: ApiError) -> Json | None:
        former, target.read = t.cast(NodePlan, target.plan), self._api.get(f"nodes/{target.name}")
        again = node_plan.plan(self._kind, target.read, self._wish_of(target))
        if not again.operations:
            # It is as we want it: another writer's work, or our own patch whose answer was lost.
            return target.read
        if refusal.status == HTTPStatus.UNPROCESSABLE_ENTITY and again.patch == former.patch:
            # What the patch relies on is there, so it is the change itself that is declined.
            raise refusal
        target.plan = again
        return None

    # ---- waiting and telling -------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        """Wait until the nodes show what was asked for, with one request for all of them at a time."""
        waiting = [target for target in self._healthy if target.plan and self._will_show(target)]

        def look() -> None:
            for name, node in self._read_nodes([target.name for target in waiting]).items():
                self._targets[name].latest = node

        def is_shown() -> bool:
            waiting[:] = [target for target in waiting if self._missing(target)]
            return not waiting

        timeout = self._params["wait_timeout"]
        self._api.poll(is_shown, timeout, _LOOK_AGAIN, look=look)
        place = " in allocatable" if self._kind.needs_kubelet else ""
        for target in waiting:
            lacks = "; ".join(self._missing(target))
            target.error = f"{target.name}: not seen{place} within {timeout} s: {lacks}."

    def _will_show(self, target: NodeTarget) -> bool:
        """Whether there is a kubelet to show it, where it takes one."""
        shows = not self._kind.needs_kubelet or node_plan.is_ready(t.cast(Json, target.latest))
        if not shows:
            target.note = "not waited for: the node is not Ready, so no kubelet would report it"
        return shows

    def _missing(self, target: NodeTarget) -> list[str]:
        return node_plan.missing(self._kind, t.cast(Json, target.latest), t.cast(NodePlan, target.plan).wanted)

    def _refuse_failures(self) -> None:
        errors = [target.error for target in self._targets.values() if target.error]
        changed = any(target.changed for target in self._targets.values())
        refuse_failures("nodes", errors, len(self._targets), changed=changed)

    def _difference(self, target: NodeTarget) -> Json:
        node = t.cast(Json, target.read)
        changes = json_patch.changes_of(t.cast(NodePlan, target.plan).patch)
        after = json_patch.apply(node, changes)
        return difference(f"Node {target.name}", node_plan.shown(self._kind, node), node_plan.shown(self._kind, after))

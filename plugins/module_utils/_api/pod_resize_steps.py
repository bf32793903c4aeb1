# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the module C(pod_resize), for the runner: gives many pods other amounts at once, and watches what becomes of it."""

from __future__ import annotations

import dataclasses
import functools
import typing as t
from http import HTTPStatus

from .._plan.common.batch import Incomplete, TaskPlan, joined, refuse_failures
from .._plan.common.errors import KubeadmError, Refusal
from .._plan.common.verdict import Verdict
from .._plan.kubernetes import names as node_names
from .._plan.kubernetes import pods
from .._plan.kubernetes.kubelet_lease import describe_silence, unheard_kubelets
from .._plan.pod import resize as pod_resize
from .._plan.pod import resize_state as pod_resize_state
from .._plan.pod import templates as pod_templates
from .._plan.pod.resize import Desired, PodPlan
from .._plan.pod.resize_state import (
    ACCEPTED,
    GONE,
    INFEASIBLE,
    NOT_TRIED,
    REFUSED,
    RESIZED,
    RESTARTED,
    UNCHANGED,
    UNKNOWN,
)
from .api_steps import ApiSteps, Target, difference, leave_rest, retry_on_conflict, send_each
from .client import ApiError, Client, Connect, Json, NoResponse, Params
from .kubelet_leases import find_silent
from .template_steps import UPDATE, Template, Templates
from .workloads import Selection, Workloads

_POLL_INTERVAL = 0.5  # seconds between two looks at what is waited for


@dataclasses.dataclass
class PodTarget(Target[PodPlan]):
    """One pod of a task. doubted: what it said of resizes before the plan's patch was sent."""

    namespace: str = "default"
    desired: Desired = dataclasses.field(default_factory=dict)
    outcome: str = UNCHANGED
    doubted: t.Sequence[t.Any] = ()

    @property
    def full_name(self) -> str:
        """Its namespace and name."""
        return f"{self.namespace}/{self.name}"

    @property
    def node(self) -> str:
        """The node that it runs on; empty without one."""
        return str(self.latest.get("spec", {}).get("nodeName") or "")

    @property
    def restarts(self) -> tuple[str, ...]:
        """The containers that resizePolicy restarts for it."""
        return self.plan.restarts if self.plan else ()

    @property
    def patch(self) -> Json:
        """What is planned, for the API."""
        return self.plan.patch if self.plan else {}

    @property
    def is_ready(self) -> bool:
        """Whether the pod is Ready."""
        return pods.is_ready(self.latest)

    @property
    def restarted(self) -> list[str]:
        """The containers that were restarted since it was planned."""
        return pod_resize_state.restarted(self.read, self.latest) if self.read and self.latest else []

    def is_still(self, found: Json) -> bool:
        """Whether what has its name now is this pod."""
        return pod_resize_state.is_same(self.latest, found)

    def fail(self, outcome: str, why: str) -> None:
        """Note that it did not work."""
        self.outcome, self.error = outcome, f"{self.full_name}: {why}"

    def fail_gone(self) -> None:
        """Note that there is no such pod any more."""
        self.fail(
            GONE,
            "it was deleted since it was read. A pod that its controller created in its place has the resources of the template;"
            " run the task again for that one.",
        )

    def fail_infeasible(self, reason: str) -> None:
        """Note that its kubelet does not do it."""
        self.fail(
            INFEASIBLE,
            f"the kubelet of {self.node} says: {reason.rstrip('.')}. The pod keeps running with its former resources.",
        )

    def observe(self, found: Json | None) -> None:
        """Note what has its name now."""
        if found is None or not self.is_still(found):
            self.fail_gone()
            return
        self.latest = found
        if not pods.is_active(found):
            self.fail(GONE, f"it has ended ({found['status']['phase']}).")

    def succeed(self) -> None:
        """Note that it has what was asked for."""
        if self.operations:
            self.outcome = RESTARTED if self.restarted else RESIZED
        unasked = [name for name in self.restarted if name not in self.restarts]
        if unasked:
            self.note = f"restarted, although resizePolicy does not require it: {', '.join(unasked)}"

    def is_resized(self, *, dry: bool) -> bool:
        """Whether it runs with what was asked for, so that others may be made like it; dry: as far as is known."""
        done = (UNCHANGED, RESIZED, RESTARTED, *([ACCEPTED] if dry else []))
        return not self.error and self.outcome in done and bool(self.node)

    def leave(self, why: str) -> None:
        """Note that it was not tried."""
        super().leave(why)
        self.outcome = NOT_TRIED

    def report(self) -> Json:
        """The pod's part of the result."""
        return {
            **super().report(),
            "outcome": self.outcome,
            "node": self.node or None,
            "restarted": self.restarted,
        }


class Asked(t.NamedTuple):
    """What a task asks for. desired: of every pod; empty where that is what their templates say."""

    desired: Desired
    selection: Selection


@dataclasses.dataclass(frozen=True)
class Observed:
    """What a run finds: the pods that the task means, by name, and what becomes of each. subresource: by which they are resized."""

    targets: dict[str, PodTarget]
    templates: Templates
    subresource: str

    @property
    def things(self) -> list[PodTarget | Template]:
        """Everything that may change."""
        return [*self.targets.values(), *self.templates.found.values()]

    @property
    def changed(self) -> bool:
        """Whether anything changed."""
        return any(thing.sent and thing.operations for thing in self.things)

    @property
    def changing(self) -> list[PodTarget]:
        """The pods that are going to change."""
        return [target for target in self.targets.values() if target.operations and not target.error]

    def compare(self) -> None:
        """Hold the templates against what the pods have, or are going to have."""
        amounts = {
            target.name: pod_resize.amounts_after(target.latest, () if target.error else target.operations)
            for target in self.targets.values()
            if target.latest
        }
        self.templates.compare(amounts)


class PodPatcher:
    """Sends the changes of pods: plans a pod again that another client changed meanwhile, and tells what a refusal means.

    It is apart from the steps because a dry run, a change of all pods at once and one batch by batch send by the same rules. params: of the
    module. note_unverified: takes down what is not known.
    """

    def __init__(
        self, client: Client, workloads: Workloads, params: Params, *, note_unverified: t.Callable[[str], None]
    ) -> None:
        self._client = client
        self._workloads = workloads
        self._params = params
        self._note_unverified = note_unverified

    def plan(self, target: PodTarget, pod: Json) -> PodPlan:
        """Work out what changes in a pod. Raises KubeadmError."""
        return pod_resize.plan(pod, target.desired, allow_restart=self._params["allow_restart"])

    def send(self, targets: t.Sequence[PodTarget], subresource: str, *, dry_run: bool) -> None:
        """Send what is planned for pods. subresource: by which they are resized."""

        def send(target: PodTarget) -> bool:
            place = f"{self._workloads.path_of(target.name)}{subresource}"
            return self._send_one(target, place, dry_run=dry_run)

        send_each(targets, send, self._params, kind="pod")

    def _send_one(self, target: PodTarget, place: str, *, dry_run: bool) -> bool:
        """Change one pod, against other writers if need be. Returns whether it worked."""
        try:
            retry_on_conflict(
                lambda: self._patch(target, place, dry_run=dry_run),
                lambda _refusal: self._plan_again(target),
                others="another client changed the pod",
            )
        except NoResponse as exc:
            target.fail(UNKNOWN, str(exc))
            if not dry_run:
                self._note_unverified(
                    f"whether the pod {target.full_name} was changed: the API server stopped answering"
                )
        except ApiError as exc:
            if exc.status == HTTPStatus.NOT_FOUND:
                target.fail_gone()
            else:
                target.fail(*pod_resize_state.refusal(str(exc), target.latest))
        except KubeadmError as exc:
            target.fail(REFUSED, str(exc))
        return not target.error

    def _patch(self, target: PodTarget, place: str, *, dry_run: bool) -> bool:
        target.latest = self._client.strategic_merge(place, target.patch, dry_run=dry_run)
        target.sent, target.outcome = True, ACCEPTED
        target.doubted = pod_resize_state.resize_conditions(target.read)
        return True

    def _plan_again(self, target: PodTarget) -> bool:
        """Read a pod that another client changed, and plan again. Returns whether nothing is left to send."""
        found = self._client.get(self._workloads.path_of(target.name))
        if not pod_resize_state.is_same(target.read, found):
            target.fail_gone()
            return True
        again = self.plan(target, found)
        target.latest = found
        if again.operations:
            target.read, target.plan = found, again
        else:
            # It is as we want it: another writer's work, or our own patch whose answer was lost.
            target.sent, target.outcome = True, ACCEPTED
        return not again.operations


class PodWatch:
    """Watches what becomes of pods, with one request for all of them at a time: resized, restarted, refused by a kubelet, gone.

    It is apart from the steps because each batch, all pods and those of an earlier run are watched by the same rules. timeout: seconds that
    pods have. note_unverified: takes down what is not known.
    """

    def __init__(
        self, client: Client, workloads: Workloads, *, timeout: int, note_unverified: t.Callable[[str], None]
    ) -> None:
        self._client = client
        self._workloads = workloads
        self._timeout = timeout
        self._note_unverified = note_unverified
        self._watched: set[str] = set()  # pods that had to be waited for, so that what they have was reported meanwhile

    def wait(self, targets: t.Sequence[PodTarget], *, ready: bool) -> None:
        """Wait until pods have what was asked for, with one request for all of them at a time. ready: and are Ready."""
        waiting, timeout = list(targets), self._timeout

        def refresh() -> None:
            found = self._workloads.look([target.name for target in waiting])
            for target in waiting:
                self._watched.add(target.name)
                target.observe(found.get(target.name))

        def is_over() -> bool:
            waiting[:] = [target for target in waiting if not self._is_over(target, ready=ready)]
            return not waiting

        self._client.poll(is_over, timeout, _POLL_INTERVAL, refresh=refresh)
        for target in waiting:
            state = pod_resize_state.state(target.latest, target.desired)
            if state.outcome == INFEASIBLE:
                target.fail_infeasible(state.reason)
                continue
            outcome, why = (RESTARTED, "it is not Ready") if state.outcome == RESIZED else (state.outcome, state.reason)
            target.fail(outcome, f"not done within {timeout} s: {why.rstrip('.')}.")

    def note_pending(self, targets: t.Iterable[PodTarget]) -> None:
        """Nothing is waited for: tell what the kubelets say of earlier changes."""
        for target in targets:
            # Without a node it has no kubelet, and starts with them.
            if target.operations or not target.latest["spec"].get("nodeName"):
                continue
            state = pod_resize_state.state(target.latest, target.desired)
            if state.outcome == INFEASIBLE:
                target.fail_infeasible(state.reason)
            elif state.outcome != RESIZED:
                target.outcome, target.note = state.outcome, state.reason
                self._note_unverified(
                    f"whether the pod {target.full_name} gets its resources: {state.reason.rstrip('.')}"
                )

    def note_stale(self, targets: t.Iterable[PodTarget]) -> None:
        """Note which pods are only known to have their resources from before their kubelet fell silent, when they may not even run any more."""
        pending = [target for target in targets if not (target.operations and target.outcome == UNCHANGED)]
        known = {target.full_name: target for target in pending if target.is_resized(dry=False)}
        why = {
            name: f"its node {target.node} is not Ready, so no kubelet reports it"
            for name, target in known.items()
            if pods.is_forsaken(target.latest)
        }
        rest = {name: target for name, target in known.items() if name not in why and target.name not in self._watched}
        nodes = list(dict.fromkeys(target.node for target in rest.values()))
        silent, unheard = find_silent(self._client, nodes)
        why |= {name: describe_silence(silent[each.node]) for name, each in rest.items() if each.node in silent}
        for name, reason in why.items():
            self._note_unverified(f"whether the pod {name} has its resources: {reason}")
        for text in unheard_kubelets(unheard, nodes):
            self._note_unverified(text)

    def not_ready(self, targets: t.Mapping[str, PodTarget]) -> list[str]:
        """Which pods are not Ready now, those that are gone included. One that was well before may not be so now."""
        known = [target for target in targets.values() if target.latest]
        found = self._workloads.look([target.name for target in known])
        ready = {name for name, pod in found.items() if targets[name].is_still(pod) and pods.is_ready(pod)}
        for target in known:
            if not target.error:
                target.observe(found.get(target.name))
        return [target.name for target in known if target.name not in ready]

    def _is_over(self, target: PodTarget, *, ready: bool) -> bool:
        """Whether there is nothing more to wait for."""
        if target.error:
            return True
        if not target.latest["spec"].get("nodeName"):
            target.note = "not waited for: the pod has no node yet, and starts with the desired resources"
            self._note_unverified(f"whether the pod {target.full_name} gets its resources: it has no node yet")
            return True
        lost = pod_resize_state.overwritten(target.latest, target.desired)
        if lost:
            target.fail(REFUSED, f"another client changed it in the meantime: {'; '.join(lost)}. Run the task again.")
            return True
        state = pod_resize_state.state(target.latest, target.desired, target.doubted)
        if state.outcome == INFEASIBLE:
            target.fail_infeasible(state.reason)
            return True
        if state.outcome != RESIZED or (ready and not target.is_ready):
            return False
        target.succeed()
        return True


class PodResizeSteps(ApiSteps[Observed, TaskPlan]):
    """One run of the module."""

    unrehearsed = "the API server validates each change when it is made"

    def __init__(self, params: Params, *, connect: Connect, diff: bool) -> None:
        super().__init__(params, connect=connect, diff=diff)
        self._reverts = params["state"] == "absent"
        self._found: Observed | None = None  # for the result, where the controllers could not be read

    # ---- the steps -----------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _asked(self) -> Asked:
        """Which pods are meant, and what they get. Raises Refusal for what cannot be asked for."""
        params, owner = self._params, self._params["owner"]
        if params["containers"] == []:
            instead = ", or omit it to select all of them" if self._reverts else " and what they get"
            raise Refusal(f"invalid containers []: must name the containers{instead}.")
        desired: Desired = {entry["name"]: {} for entry in params["containers"] or []}
        if not self._reverts:
            desired = pod_resize.parse_desired(params["containers"])
        pod_resize.parse_max_unavailable(params["max_unavailable"], 1)
        node_names.check_object("namespace", params["namespace"], "namespace")
        node_names.check_selector(params["label_selector"])
        if params["names"] == []:
            raise Refusal("invalid names []: must be the names of pods, or omitted for label_selector or owner.")
        for name in params["names"] or []:
            node_names.check_object("names", name, "pod")
        if owner:
            node_names.check_object("owner", owner["name"], owner["kind"])
        made_by = (owner["kind"], owner["name"]) if owner else None
        return Asked(desired, Selection(params["namespace"], params["names"], params["label_selector"], made_by))

    def _check(self) -> None:
        dummy = self._asked

    @functools.cached_property
    def _workloads(self) -> Workloads:
        return Workloads(self._api, self._asked.selection, workers=self._params["concurrency"])

    @functools.cached_property
    def _patcher(self) -> PodPatcher:
        return PodPatcher(self._api, self._workloads, self._params, note_unverified=self._unverified.append)

    @functools.cached_property
    def _watch(self) -> PodWatch:
        timeout, note = self._params["wait_timeout"], self._unverified.append
        return PodWatch(self._api, self._workloads, timeout=timeout, note_unverified=note)

    def read(self, *, dry: bool) -> Observed:
        """Read the pods that the task means, and their controllers where their templates matter."""
        params = self._params
        # Up to 1.31 a pod is resized by a patch of itself.
        served = [entry["name"] for entry in self._api.get("/api/v1").get("resources") or []]
        found = self._workloads.read_pods()
        targets = {
            name: PodTarget(
                name=name, read=found.get(name, {}), latest=found.get(name, {}), namespace=params["namespace"]
            )
            for name in dict.fromkeys([*(params["names"] or []), *found])
        }
        templates = Templates(self._api, self._workloads, namespace=params["namespace"], policy=params["template"])
        observed = self._found = Observed(targets, templates, "/resize" if "pods/resize" in served else "")
        needed = self._reverts or params["template"] == UPDATE
        templates.read(found, self._asked.desired, needed=needed, reverts=self._reverts)
        return observed

    def notes(self, observed: Observed, *, dry: bool) -> list[str]:
        """Warn of versions that are not tested."""
        self._unverified += observed.templates.unverified
        return super().notes(observed, dry=dry)

    def plan(self, observed: Observed) -> TaskPlan:
        """Work out the change of every pod, and of the templates."""
        for target in observed.targets.values():
            self._plan_one(observed, target)
        self._stop_if_asked(observed)
        observed.compare()
        operations = [change for target in observed.changing for change in target.operations]
        operations += observed.templates.plan()
        return TaskPlan(tuple(operations), (*_restarts(observed), *observed.templates.warnings()))

    def verify(self, observed: Observed, plan: TaskPlan, *, dry: bool) -> t.Sequence[str]:
        """Nothing is to be changed: what becomes of earlier changes may still be waited for."""
        self._see_to_the_end(observed, dry=dry)
        return ()

    def rehearse(self, observed: Observed, plan: TaskPlan) -> Verdict:
        """The API server judges the patches without keeping them."""
        return self._judge(lambda: self._declined(observed), each="every patch")

    def apply(self, observed: Observed, plan: TaskPlan) -> None:
        """Send the patches, watch what becomes of them, and bring the templates in sync."""
        try:
            at_once = [target for target in observed.changing if not target.restarts]
            self._patcher.send(at_once, observed.subresource, dry_run=False)
            self._stop_if_asked(observed)
            self._send_in_turn(observed, [target for target in observed.changing if not target.sent])
            self._end(observed, dry_run=False)
        except KubeadmError as exc:
            if not observed.changed:
                raise
            raise Incomplete(str(exc), changed=True) from exc

    def finish(self, observed: Observed, plan: TaskPlan, *, dry: bool) -> t.Sequence[str]:
        """Tell which pods and templates failed."""
        for kind, things in (("pods", observed.targets), ("templates", observed.templates.found)):
            bad = [thing.error for thing in things.values() if thing.error]
            refuse_failures(kind, bad, len(things), changed=observed.changed)
        return self._limits()

    def report(self, observed: Observed | None, plan: TaskPlan | None) -> dict[str, t.Any]:
        """The result of the module, whatever step it reached."""
        observed = observed or self._found
        if observed is None:
            return {"pods": {}, "templates": {}, "unverified": [], "diff": []}
        observed.compare()
        templates = observed.templates.found.items()
        return {
            "pods": {name: target.report() for name, target in observed.targets.items()},
            "templates": {f"{kind}/{name}": template.report() for (kind, name), template in templates},
            "unverified": self._unverified,
            "diff": self._differences(observed) if self._diff else [],
        }

    # ---- planning ------------------------------------------------------------------------------------------------------

    def _plan_one(self, observed: Observed, target: PodTarget) -> None:
        if not target.read:
            target.fail(GONE, f"there is no such pod in the cluster of {self._api.url}; kubectl get pods lists them.")
            return
        try:
            target.desired = self._desired_of(observed, target)
            target.plan = self._patcher.plan(target, target.read)
        except KubeadmError as exc:
            target.fail(REFUSED, str(exc))

    def _desired_of(self, observed: Observed, target: PodTarget) -> Desired:
        if not self._reverts:
            return self._asked.desired
        template = observed.templates.of(target.name)
        if template is None:
            raise Refusal(
                f"no controller with a template created it ({', '.join(pod_templates.PATHS)}), so its former resources are not known. Set"
                " the amounts, with state present."
            )
        known = pod_resize.containers_of(target.read["spec"])
        return {**self._asked.desired, **{name: amounts for name, amounts in template.desired.items() if name in known}}

    def _stop_if_asked(self, observed: Observed) -> None:
        targets = observed.targets.values()
        if self._params["on_error"] == "stop" and any(target.error for target in targets):
            leave_rest(targets, kind="pod")

    # ---- sending -------------------------------------------------------------------------------------------------------

    def _declined(self, observed: Observed) -> list[str]:
        self._patcher.send(observed.changing, observed.subresource, dry_run=True)
        self._end(observed, dry_run=True)
        failed = [thing for thing in observed.things if thing.error]
        # Where none of them was going to change, no patch is to blame.
        return [thing.error for thing in failed] if any(thing.operations for thing in failed) else []

    def _send_in_turn(self, observed: Observed, targets: t.Sequence[PodTarget]) -> None:
        """Change pods whose containers restart, so many at a time, and wait each time until they are Ready again."""
        limit = pod_resize.parse_max_unavailable(self._params["max_unavailable"], len(observed.targets))
        waiting = list(targets)
        while waiting:
            down = self._watch.not_ready(observed.targets)
            waiting = [target for target in waiting if not target.error]
            batch = pod_resize.next_batch(
                waiting, ready=lambda target: target.is_ready, unavailable=len(down), limit=limit
            )
            if not batch:
                why = (
                    f"not tried: its restart would put more than max_unavailable ({limit}) out of service, because these are"
                    f" not Ready: {joined(down)}."
                )
                for target in waiting:
                    target.fail(NOT_TRIED, why)
                return
            self._patcher.send(batch, observed.subresource, dry_run=False)
            self._watch.wait([target for target in batch if target.sent and not target.error], ready=True)
            self._stop_if_asked(observed)
            waiting = [target for target in waiting if target not in batch and target.outcome != NOT_TRIED]
            if waiting:
                # One that falls again at once is to be seen before the next one goes.
                self._api.sleep(_POLL_INTERVAL)

    def _end(self, observed: Observed, *, dry_run: bool) -> None:
        self._see_to_the_end(observed, dry=dry_run)
        bad = [target.name for target in observed.targets.values() if not target.is_resized(dry=dry_run)]
        observed.templates.send(bad, dry_run=dry_run)

    # ---- waiting and telling -------------------------------------------------------------------------------------------

    @property
    def _waits(self) -> bool:
        """A template is changed only after its pods were seen well, whether or not the task waits."""
        return bool(self._params["wait"]) or self._params["template"] == UPDATE

    def _see_to_the_end(self, observed: Observed, *, dry: bool) -> None:
        """Wait until the pods have what was asked for, where that is wanted; else tell what the kubelets say of earlier changes."""
        left = [target for target in observed.targets.values() if not target.error and target.outcome != NOT_TRIED]
        if self._waits and not dry:
            self._watch.wait([target for target in left if target.outcome not in (RESIZED, RESTARTED)], ready=False)
        else:
            self._watch.note_pending(left)
        self._watch.note_stale(left)

    def _differences(self, observed: Observed) -> list[Json]:
        """One entry for each pod and each template that changes."""
        entries: list[Json] = []
        for target in observed.targets.values():
            if target.read and target.changes:
                before, after = (pod_resize.amounts_after(target.read, part) for part in ((), target.operations))
                entries.append(difference(f"Pod {target.full_name}", pod_resize.shown(before), pod_resize.shown(after)))
        for template in observed.templates.found.values():
            if template.changes:
                header = f"{template.kind} {self._params['namespace']}/{template.name}"
                entries.append(difference(header, *template.before_and_after))
        return entries


def _restarts(observed: Observed) -> list[str]:
    """Tell, before it happens, which containers a change restarts."""
    told = [f"{target.name} ({', '.join(target.restarts)})" for target in observed.changing if target.restarts]
    return [f"resizePolicy restarts containers of these pods for it: {joined(told)}."] if told else []

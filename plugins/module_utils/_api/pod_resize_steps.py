# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the module C(pod_resize), for the runner: resizes many pods at once, and waits until their kubelets have done it."""

from __future__ import annotations

import dataclasses
import functools
import typing as t
from http import HTTPStatus

from .._plan.common.batch import PartialFailure, TaskPlan, join_first, raise_failures
from .._plan.common.errors import KubeadmError, Refusal
from .._plan.common.verdict import Verdict
from .._plan.kubernetes import names as node_names
from .._plan.kubernetes import pods
from .._plan.kubernetes.kubelet_lease import describe_stale_lease, unverified_kubelets
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
from .api_steps import ApiSteps, Target, diff_entry, retry_on_conflict, send_each, skip_unsent
from .client import ApiError, Client, Connect, Json, NoResponse, Params
from .kubelet_leases import find_stale_leases
from .template_steps import UPDATE, Template, Templates
from .workloads import Selection, Workloads

_POLL_INTERVAL = 0.5  # seconds


@dataclasses.dataclass
class PodTarget(Target[PodPlan]):
    """One pod of a task. earlier_conditions: its conditions about resizes before the plan's patch was sent."""

    namespace: str = "default"
    desired: Desired = dataclasses.field(default_factory=dict)
    outcome: str = UNCHANGED
    earlier_conditions: t.Sequence[t.Any] = ()

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
        """The patch of its plan."""
        return self.plan.patch if self.plan else {}

    @property
    def is_ready(self) -> bool:
        """Whether the pod is Ready."""
        return pods.is_ready(self.latest)

    @property
    def restarted(self) -> list[str]:
        """The containers that were restarted since it was planned."""
        return pod_resize_state.find_restarted(self.read, self.latest) if self.read and self.latest else []

    def is_same_pod(self, pod: Json) -> bool:
        """Whether the pod that has its name now is this one."""
        return pod_resize_state.is_same(self.latest, pod)

    def fail(self, outcome: str, reason: str) -> None:
        """Record that its resize failed."""
        self.outcome, self.error = outcome, f"{self.full_name}: {reason}"

    def fail_gone(self) -> None:
        """Record that the pod no longer exists."""
        self.fail(
            GONE,
            "it was deleted since it was read. A pod that its controller created in its place has the resources of the template;"
            " run the task again for that one.",
        )

    def fail_infeasible(self, reason: str) -> None:
        """Record that its kubelet cannot do it."""
        self.fail(
            INFEASIBLE,
            f"the kubelet of {self.node} says: {reason.rstrip('.')}. The pod keeps running with its former resources.",
        )

    def update(self, pod: Json | None) -> None:
        """Record the pod that has its name now, if any."""
        if pod is None or not self.is_same_pod(pod):
            self.fail_gone()
            return
        self.latest = pod
        if not pods.is_active(pod):
            self.fail(GONE, f"it has ended ({pod['status']['phase']}).")

    def succeed(self) -> None:
        """Record that it has the desired resources."""
        if self.operations:
            self.outcome = RESTARTED if self.restarted else RESIZED
        unexpected = [name for name in self.restarted if name not in self.restarts]
        if unexpected:
            self.note = f"restarted, although resizePolicy does not require it: {', '.join(unexpected)}"

    def is_resized(self, *, dry: bool) -> bool:
        """Whether it runs with the desired resources, so that its template may get them; dry: or would, as far as is known."""
        done = (UNCHANGED, RESIZED, RESTARTED, *([ACCEPTED] if dry else []))
        return not self.error and self.outcome in done and bool(self.node)

    def skip(self, reason: str) -> None:
        """Record that it was not tried."""
        super().skip(reason)
        self.outcome = NOT_TRIED

    def report(self) -> Json:
        """The result of this pod."""
        return {
            **super().report(),
            "outcome": self.outcome,
            "node": self.node or None,
            "restarted": self.restarted,
        }


class Request(t.NamedTuple):
    """The options of a task. desired: for every pod; empty where their templates have it."""

    desired: Desired
    selection: Selection


@dataclasses.dataclass(frozen=True)
class Observed:
    """What a run reads: the pods of the task by name, each with its plan and result. subresource: the one that resizes them, if any."""

    targets: dict[str, PodTarget]
    templates: Templates
    subresource: str

    @property
    def objects(self) -> list[PodTarget | Template]:
        """Everything that may change."""
        return [*self.targets.values(), *self.templates.by_controller.values()]

    @property
    def changed(self) -> bool:
        """Whether anything changed."""
        return any(each.sent and each.operations for each in self.objects)

    @property
    def changing(self) -> list[PodTarget]:
        """The pods that are going to change."""
        return [target for target in self.targets.values() if target.operations and not target.error]

    def compare(self) -> None:
        """Compare the templates with the resources that the pods have, or are going to have."""
        amounts = {
            target.name: pod_resize.amounts_after(target.latest, () if target.error else target.operations)
            for target in self.targets.values()
            if target.latest
        }
        self.templates.compare(amounts)


class PodPatcher:
    """Sends the changes of pods: plans a pod again that another client changed meanwhile, and turns a refusal into an outcome.

    It is apart from the steps because a dry run, a change of all pods at once and one batch by batch send by the same rules. params: of the
    module. note_unverified: records what could not be verified.
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
        """Send the plans of pods. subresource: the one that resizes them, if any."""

        def send(target: PodTarget) -> bool:
            path = f"{self._workloads.path_of(target.name)}{subresource}"
            return self._send_one(target, path, dry_run=dry_run)

        send_each(targets, send, self._params, kind="pod")

    def _send_one(self, target: PodTarget, path: str, *, dry_run: bool) -> bool:
        """Change one pod, again after conflicts with other writers. Returns whether it succeeded."""
        try:
            retry_on_conflict(
                lambda: self._patch(target, path, dry_run=dry_run),
                lambda _refusal: self._plan_again(target),
                cause="another client changed the pod",
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
                target.fail(*pod_resize_state.interpret_refusal(str(exc), target.latest))
        except KubeadmError as exc:
            target.fail(REFUSED, str(exc))
        return not target.error

    def _patch(self, target: PodTarget, path: str, *, dry_run: bool) -> bool:
        target.latest = self._client.strategic_merge(path, target.patch, dry_run=dry_run)
        target.sent, target.outcome = True, ACCEPTED
        target.earlier_conditions = pod_resize_state.resize_conditions(target.read)
        return True

    def _plan_again(self, target: PodTarget) -> bool:
        """Read a pod that another client changed, and plan again. Returns whether nothing is left to send."""
        pod = self._client.get(self._workloads.path_of(target.name))
        if not pod_resize_state.is_same(target.read, pod):
            target.fail_gone()
            return True
        new_plan = self.plan(target, pod)
        target.latest = pod
        if new_plan.operations:
            target.read, target.plan = pod, new_plan
        else:
            # It is as desired: another writer's work, or our own patch whose response was lost.
            target.sent, target.outcome = True, ACCEPTED
        return not new_plan.operations


class PodWatch:
    """Waits for the outcomes of pods, with one request for all of them at a time: resized, restarted, refused by a kubelet, gone.

    It is apart from the steps because each batch, all pods and those of an earlier run are watched by the same rules. timeout: seconds that
    pods have. note_unverified: records what could not be verified.
    """

    def __init__(
        self, client: Client, workloads: Workloads, *, timeout: int, note_unverified: t.Callable[[str], None]
    ) -> None:
        self._client = client
        self._workloads = workloads
        self._timeout = timeout
        self._note_unverified = note_unverified
        self._watched: set[str] = set()  # names of pods that were waited for, so that their kubelets just reported

    def wait(self, targets: t.Sequence[PodTarget], *, ready: bool) -> None:
        """Wait until pods have the desired resources. ready: and are Ready."""
        waiting, timeout = list(targets), self._timeout

        def refresh() -> None:
            current = self._workloads.read_current([target.name for target in waiting])
            for target in waiting:
                self._watched.add(target.name)
                target.update(current.get(target.name))

        def are_done() -> bool:
            waiting[:] = [target for target in waiting if not self._is_done(target, ready=ready)]
            return not waiting

        self._client.poll(are_done, timeout, _POLL_INTERVAL, refresh=refresh)
        for target in waiting:
            state = pod_resize_state.resize_state(target.latest, target.desired)
            if state.outcome == INFEASIBLE:
                target.fail_infeasible(state.reason)
                continue
            outcome, gap = (RESTARTED, "it is not Ready") if state.outcome == RESIZED else (state.outcome, state.reason)
            target.fail(outcome, f"not done within {timeout} s: {gap.rstrip('.')}.")

    def note_pending(self, targets: t.Iterable[PodTarget]) -> None:
        """Record, without waiting, what the kubelets report of earlier changes."""
        for target in targets:
            # Without a node it has no kubelet, and starts with its resources.
            if target.operations or not target.latest["spec"].get("nodeName"):
                continue
            state = pod_resize_state.resize_state(target.latest, target.desired)
            if state.outcome == INFEASIBLE:
                target.fail_infeasible(state.reason)
            elif state.outcome != RESIZED:
                target.outcome, target.note = state.outcome, state.reason
                self._note_unverified(
                    f"whether the pod {target.full_name} gets its resources: {state.reason.rstrip('.')}"
                )

    def note_stale(self, targets: t.Iterable[PodTarget]) -> None:
        """Record which pods are known to have their resources only by what their kubelet reported before it stopped: they may not even run."""
        pending = [target for target in targets if not (target.operations and target.outcome == UNCHANGED)]
        known = {target.full_name: target for target in pending if target.is_resized(dry=False)}
        reasons = {
            name: f"its node {target.node} is not Ready, so no kubelet reports it"
            for name, target in known.items()
            if pods.is_unreported(target.latest)
        }
        others = {name: each for name, each in known.items() if name not in reasons and each.name not in self._watched}
        nodes = list(dict.fromkeys(target.node for target in others.values()))
        stale, unknown = find_stale_leases(self._client, nodes)
        reasons |= {name: describe_stale_lease(stale[each.node]) for name, each in others.items() if each.node in stale}
        for name, reason in reasons.items():
            self._note_unverified(f"whether the pod {name} has its resources: {reason}")
        for text in unverified_kubelets(unknown, nodes):
            self._note_unverified(text)

    def not_ready(self, targets: t.Mapping[str, PodTarget]) -> list[str]:
        """The names of the pods that are not Ready now, those that are gone included. Any of them may have been Ready before."""
        known = [target for target in targets.values() if target.latest]
        current = self._workloads.read_current([target.name for target in known])
        ready = {name for name, pod in current.items() if targets[name].is_same_pod(pod) and pods.is_ready(pod)}
        for target in known:
            if not target.error:
                target.update(current.get(target.name))
        return [target.name for target in known if target.name not in ready]

    def _is_done(self, target: PodTarget, *, ready: bool) -> bool:
        """Whether there is nothing more to wait for, and record the outcome."""
        if target.error:
            return True
        if not target.latest["spec"].get("nodeName"):
            target.note = "not waited for: the pod has no node yet, and starts with the desired resources"
            self._note_unverified(f"whether the pod {target.full_name} gets its resources: it has no node yet")
            return True
        lost = pod_resize_state.find_overwritten(target.latest, target.desired)
        if lost:
            target.fail(REFUSED, f"another client changed it in the meantime: {'; '.join(lost)}. Run the task again.")
            return True
        state = pod_resize_state.resize_state(target.latest, target.desired, target.earlier_conditions)
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
    def _request(self) -> Request:
        """The pods that the options select, and their desired resources. Raises Refusal for invalid options."""
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
        controller = (owner["kind"], owner["name"]) if owner else None
        return Request(desired, Selection(params["namespace"], params["names"], params["label_selector"], controller))

    def _check_options(self) -> None:
        dummy = self._request

    @functools.cached_property
    def _workloads(self) -> Workloads:
        return Workloads(self._api, self._request.selection, workers=self._params["concurrency"])

    @functools.cached_property
    def _patcher(self) -> PodPatcher:
        return PodPatcher(self._api, self._workloads, self._params, note_unverified=self._unverified.append)

    @functools.cached_property
    def _watch(self) -> PodWatch:
        timeout, note = self._params["wait_timeout"], self._unverified.append
        return PodWatch(self._api, self._workloads, timeout=timeout, note_unverified=note)

    def read(self, *, dry: bool) -> Observed:
        """Read the pods that the task selects, and their controllers where their templates matter."""
        params = self._params
        # Up to Kubernetes 1.31 a pod is resized by a patch of the pod itself.
        served = [entry["name"] for entry in self._api.get("/api/v1").get("resources") or []]
        found_pods = self._workloads.read_pods()
        targets = {
            name: PodTarget(
                name=name, read=found_pods.get(name, {}), latest=found_pods.get(name, {}), namespace=params["namespace"]
            )
            for name in dict.fromkeys([*(params["names"] or []), *found_pods])
        }
        templates = Templates(self._api, self._workloads, namespace=params["namespace"], policy=params["template"])
        observed = self._found = Observed(targets, templates, "/resize" if "pods/resize" in served else "")
        needed = self._reverts or params["template"] == UPDATE
        templates.read(found_pods, self._request.desired, needed=needed, reverts=self._reverts)
        return observed

    def notes(self, observed: Observed, *, dry: bool) -> list[str]:
        """Warn of versions that are not tested."""
        self._unverified += observed.templates.unverified
        return super().notes(observed, dry=dry)

    def plan(self, observed: Observed) -> TaskPlan:
        """Work out the change of every pod, and of the templates."""
        for target in observed.targets.values():
            self._plan_one(observed, target)
        self._stop_on_error(observed)
        observed.compare()
        operations = [change for target in observed.changing for change in target.operations]
        operations += observed.templates.plan()
        return TaskPlan(tuple(operations), (*_restart_warnings(observed), *observed.templates.warnings()))

    def verify(self, observed: Observed, plan: TaskPlan, *, dry: bool) -> t.Sequence[str]:
        """Wait for earlier changes, where nothing is to be changed."""
        self._await_or_report(observed, dry=dry)
        return ()

    def rehearse(self, observed: Observed, plan: TaskPlan) -> Verdict:
        """The API server validates the patches without storing them."""
        return self._rehearse_by_dry_run(lambda: self._dry_run_errors(observed), each="every patch")

    def apply(self, observed: Observed, plan: TaskPlan) -> None:
        """Send the patches, wait for their outcomes, and change the templates."""
        try:
            at_once = [target for target in observed.changing if not target.restarts]
            self._patcher.send(at_once, observed.subresource, dry_run=False)
            self._stop_on_error(observed)
            self._send_in_turn(observed, [target for target in observed.changing if not target.sent])
            self._wait_and_update_templates(observed, dry_run=False)
        except KubeadmError as exc:
            if not observed.changed:
                raise
            raise PartialFailure(str(exc), changed=True) from exc

    def finish(self, observed: Observed, plan: TaskPlan, *, dry: bool) -> t.Sequence[str]:
        """Raise an error with the pods and templates that failed."""
        for kind, objects in (("pods", observed.targets), ("templates", observed.templates.by_controller)):
            errors = [each.error for each in objects.values() if each.error]
            raise_failures(kind, errors, len(objects), changed=observed.changed)
        return self._final_warnings()

    def report(self, observed: Observed | None, plan: TaskPlan | None) -> dict[str, t.Any]:
        """The result of the module, whatever step it reached."""
        observed = observed or self._found
        if observed is None:
            return {"pods": {}, "templates": {}, "unverified": [], "diff": []}
        observed.compare()
        templates = observed.templates.by_controller.items()
        return {
            "pods": {name: target.report() for name, target in observed.targets.items()},
            "templates": {f"{kind}/{name}": template.report() for (kind, name), template in templates},
            "unverified": self._unverified,
            "diff": self._diff_entries(observed) if self._diff else [],
        }

    # ---- planning ------------------------------------------------------------------------------------------------------

    def _plan_one(self, observed: Observed, target: PodTarget) -> None:
        if not target.read:
            target.fail(GONE, f"there is no such pod in the cluster of {self._api.url}; kubectl get pods lists them.")
            return
        try:
            target.desired = self._desired_amounts(observed, target)
            target.plan = self._patcher.plan(target, target.read)
        except KubeadmError as exc:
            target.fail(REFUSED, str(exc))

    def _desired_amounts(self, observed: Observed, target: PodTarget) -> Desired:
        if not self._reverts:
            return self._request.desired
        template = observed.templates.template_of(target.name)
        if template is None:
            raise Refusal(
                f"no controller with a template created it ({', '.join(pod_templates.PATHS)}), so its former resources are not known. Set"
                " the amounts, with state present."
            )
        known = pod_resize.containers_of(target.read["spec"])
        return {**self._request.desired, **{name: own for name, own in template.desired.items() if name in known}}

    def _stop_on_error(self, observed: Observed) -> None:
        targets = observed.targets.values()
        if self._params["on_error"] == "stop" and any(target.error for target in targets):
            skip_unsent(targets, kind="pod")

    # ---- sending -------------------------------------------------------------------------------------------------------

    def _dry_run_errors(self, observed: Observed) -> list[str]:
        self._patcher.send(observed.changing, observed.subresource, dry_run=True)
        self._wait_and_update_templates(observed, dry_run=True)
        failed = [each for each in observed.objects if each.error]
        # Where none of them was going to change, no patch was refused.
        return [each.error for each in failed] if any(each.operations for each in failed) else []

    def _send_in_turn(self, observed: Observed, targets: t.Sequence[PodTarget]) -> None:
        """Change pods whose containers restart, in batches, and wait after each until its pods are Ready again."""
        limit = pod_resize.parse_max_unavailable(self._params["max_unavailable"], len(observed.targets))
        waiting = list(targets)
        while waiting:
            down = self._watch.not_ready(observed.targets)
            waiting = [target for target in waiting if not target.error]
            batch = pod_resize.next_batch(
                waiting, ready=lambda target: target.is_ready, unavailable=len(down), limit=limit
            )
            if not batch:
                reason = (
                    f"not tried: its restart would put more than max_unavailable ({limit}) out of service, because these are"
                    f" not Ready: {join_first(down)}."
                )
                for target in waiting:
                    target.fail(NOT_TRIED, reason)
                return
            self._patcher.send(batch, observed.subresource, dry_run=False)
            self._watch.wait([target for target in batch if target.sent and not target.error], ready=True)
            self._stop_on_error(observed)
            waiting = [target for target in waiting if target not in batch and target.outcome != NOT_TRIED]
            if waiting:
                # A pod that fails again at once must be noticed before the next batch.
                self._api.sleep(_POLL_INTERVAL)

    def _wait_and_update_templates(self, observed: Observed, *, dry_run: bool) -> None:
        self._await_or_report(observed, dry=dry_run)
        unresized = [target.name for target in observed.targets.values() if not target.is_resized(dry=dry_run)]
        observed.templates.send(unresized, dry_run=dry_run)

    # ---- waiting and reporting -----------------------------------------------------------------------------------------

    @property
    def _must_wait(self) -> bool:
        """Whether pods are waited for: also without the option wait, where a template may change only after its pods are resized."""
        return bool(self._params["wait"]) or self._params["template"] == UPDATE

    def _await_or_report(self, observed: Observed, *, dry: bool) -> None:
        """Wait until the pods have the desired resources; or else record what the kubelets report of earlier changes."""
        remaining = [target for target in observed.targets.values() if not target.error and target.outcome != NOT_TRIED]
        if self._must_wait and not dry:
            self._watch.wait([each for each in remaining if each.outcome not in (RESIZED, RESTARTED)], ready=False)
        else:
            self._watch.note_pending(remaining)
        self._watch.note_stale(remaining)

    def _diff_entries(self, observed: Observed) -> list[Json]:
        """One entry for each pod and each template that changes."""
        entries: list[Json] = []
        for target in observed.targets.values():
            if target.read and target.has_diff:
                before, after = (pod_resize.amounts_after(target.read, part) for part in ((), target.operations))
                entries.append(
                    diff_entry(
                        f"Pod {target.full_name}", pod_resize.format_amounts(before), pod_resize.format_amounts(after)
                    )
                )
        for template in observed.templates.by_controller.values():
            if template.has_diff:
                header = f"{template.kind} {self._params['namespace']}/{template.name}"
                entries.append(diff_entry(header, *template.diff_amounts))
        return entries


def _restart_warnings(observed: Observed) -> list[str]:
    """A warning of the containers that a change restarts, if any."""
    restarts = [f"{target.name} ({', '.join(target.restarts)})" for target in observed.changing if target.restarts]
    return [f"resizePolicy restarts containers of these pods for it: {join_first(restarts)}."] if restarts else []

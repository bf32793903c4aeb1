# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the module C(pod_resize), for the runner: resizes many pods at once, and waits until their kubelets have done it."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from .._plan.common.batch import PartialFailure, TaskPlan, join_first, raise_failures
from .._plan.common.errors import KubeadmError, Refusal
from .._plan.common.verdict import Verdict
from .._plan.kubernetes import names as node_names
from .._plan.pod import resize as pod_resize
from .._plan.pod import templates as pod_templates
from .._plan.pod.resize import Desired
from .._plan.pod.resize_state import GONE, NOT_TRIED, REFUSED, RESIZED, RESTARTED
from .api_steps import ApiSteps, diff_entry, skip_unsent
from .client import Connect, Json, Params
from .pod_patches import PodPatcher
from .pod_targets import PodTarget
from .pod_watch import POLL_INTERVAL, PodWatch
from .template_steps import UPDATE, Template, Templates
from .workloads import Selection, Workloads


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
                self._api.sleep(POLL_INTERVAL)

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

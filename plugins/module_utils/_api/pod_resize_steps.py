# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the module C(pod_resize), for the runner: resizes many pods at once, and waits until their kubelets have done it."""

from __future__ import annotations

import functools
import typing as t

from .._plan.common.batch import PartialFailure, TaskPlan, join_first, raise_failures
from .._plan.common.errors import KubeadmError, Refusal
from .._plan.common.verdict import Verdict
from .._plan.kubernetes import names as node_names
from .._plan.pod import resize as pod_resize
from .._plan.pod.resize import Desired
from .._plan.pod.resize_state import (
    GONE,
    NOT_TRIED,
    REFUSED,
    RESIZED,
    RESTARTED,
)
from .api_steps import ApiSteps, diff_entry, skip_unsent
from .client import Connect, Json, Params
from .pod_patches import ROLLBACK, STOP, PodPatcher
from .pod_resize_checks import PodChecks
from .pod_rollback import PodRollback, added_limit_warnings, offer_commands, summarize
from .pod_targets import Observed, PodTarget
from .pod_watch import PodWatch
from .template_steps import UPDATE, Templates
from .workloads import Selection, Workloads


class Request(t.NamedTuple):
    """The options of a task. desired: for every pod; empty where their templates have it."""

    desired: Desired
    selection: Selection


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

    @functools.cached_property
    def _checks(self) -> PodChecks:
        return PodChecks(self._api, self._params["namespace"], workers=self._params["concurrency"])

    @functools.cached_property
    def _rollback(self) -> PodRollback:
        note = self._unverified.append
        return PodRollback(self._api, self._workloads, self._watch, self._params, note_unverified=note)

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
        subresource = "/resize" if "pods/resize" in served else ""
        limit = pod_resize.parse_max_unavailable(params["max_unavailable"], len(targets))
        observed = self._found = Observed(targets, templates, subresource, limit)
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
        self._stop_on_error(observed, STOP)
        observed.compare()
        operations = [change for target in observed.changing for change in target.operations]
        operations += observed.templates.plan()
        warnings = (*_restart_warnings(observed), *added_limit_warnings(observed), *observed.templates.warnings())
        return TaskPlan(tuple(operations), warnings)

    def verify(self, observed: Observed, plan: TaskPlan, *, dry: bool) -> t.Sequence[str]:
        """Wait for earlier changes, where nothing is to be changed."""
        self._await_or_report(observed, dry=dry)
        return ()

    def rehearse(self, observed: Observed, plan: TaskPlan) -> Verdict:
        """The API server validates the patches without storing them."""
        return self._rehearse_by_dry_run(lambda: self._dry_run_errors(observed), each="every patch")

    def apply(self, observed: Observed, plan: TaskPlan) -> None:
        """Send the patches, wait for their outcomes, and change the templates. Where that fails, take back what was changed."""
        try:
            self._stop_on_error(observed, ROLLBACK)
            # Where the kubelets are waited for they say themselves whether there is room, and there may be by then.
            self._checks.run(observed.changing, allocatable=not self._must_wait)
            self._stop_on_error(observed, STOP, ROLLBACK)
            self._change_pods(observed)
            self._rollback.undo_failures(observed)
            self._update_templates(observed, dry_run=False)
            self._rollback.undo_failures(observed)
        except KubeadmError as exc:
            if not any(target.may_have_changed for target in observed.targets.values()) and not observed.changed:
                raise
            message = self._rollback.undo_all(exc, observed)
            raise PartialFailure(message, changed=observed.changed) from exc

    def finish(self, observed: Observed, plan: TaskPlan, *, dry: bool) -> t.Sequence[str]:
        """Raise an error with the pods and templates that failed."""
        if dry or not self._must_wait:
            self._unverified += self._checks.unverified
        offer_commands(observed)
        end = summarize(observed.targets.values())
        if not any(target.may_have_changed for target in observed.targets.values()) and not observed.changed:
            end = "Nothing was changed."
        for kind, objects in (("pods", observed.targets), ("templates", observed.templates.by_controller)):
            errors = [each.error for each in objects.values() if each.error]
            raise_failures(kind, errors, len(objects), changed=observed.changed, end=end)
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
            "diff": _diff_entries(observed, self._params["namespace"]) if self._diff else [],
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
        template = observed.templates.require_template(target.name)
        known = pod_resize.containers_of(target.read["spec"])
        return {**self._request.desired, **{name: own for name, own in template.desired.items() if name in known}}

    def _stop_on_error(self, observed: Observed, *policies: str) -> None:
        """Send nothing more when a pod failed. policies: the values of on_error for which that is so at this point."""
        on_error = self._params["on_error"]
        if on_error in policies and observed.failed:
            skip_unsent(observed.targets.values(), kind="pod", on_error=on_error)

    # ---- sending -------------------------------------------------------------------------------------------------------

    def _dry_run_errors(self, observed: Observed) -> list[str]:
        self._checks.run(observed.changing, allocatable=True)
        self._patcher.send(observed.changing, observed.subresource, dry_run=True)
        self._await_or_report(observed, dry=True)
        self._update_templates(observed, dry_run=True)
        failed = [each for each in observed.objects if each.error]
        # Where none of them was going to change, no patch was refused.
        return [each.error for each in failed] if any(each.operations for each in failed) else []

    def _change_pods(self, observed: Observed) -> None:
        at_once = [target for target in observed.changing if not target.restarts]
        self._patcher.send(at_once, observed.subresource, dry_run=False)
        self._stop_on_error(observed, STOP, ROLLBACK)
        in_turn = [target for target in observed.changing if not target.sent]
        # Pods whose containers restart are waited for after each batch.
        self._watch.take_turns(
            in_turn,
            observed.targets,
            observed.limit,
            wanted=lambda target: not target.error and target.outcome != NOT_TRIED,
            change=lambda batch: self._change_batch(observed, batch),
            give_up=_give_up,
        )
        self._await_or_report(observed, dry=False)

    def _change_batch(self, observed: Observed, batch: t.Sequence[PodTarget]) -> None:
        self._patcher.send(batch, observed.subresource, dry_run=False)
        self._watch.wait([target for target in batch if target.sent and not target.error], ready=True)
        self._stop_on_error(observed, STOP, ROLLBACK)

    def _update_templates(self, observed: Observed, *, dry_run: bool) -> None:
        if observed.failed and self._params["on_error"] == ROLLBACK and not dry_run:
            observed.templates.keep_all("pods failed, and on_error is rollback")
            return
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


def _diff_entries(observed: Observed, namespace: str) -> list[Json]:
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
    entries += [
        diff_entry(f"{template.kind} {namespace}/{template.name}", *template.diff_amounts)
        for template in observed.templates.by_controller.values()
        if template.has_diff
    ]
    return entries


def _give_up(targets: t.Sequence[PodTarget], reason: str) -> None:
    for target in targets:
        target.fail(NOT_TRIED, f"not tried: {reason}")


def _restart_warnings(observed: Observed) -> list[str]:
    """A warning of the containers that a change restarts, if any."""
    restarts = [f"{target.name} ({', '.join(target.restarts)})" for target in observed.changing if target.restarts]
    return [f"resizePolicy restarts containers of these pods for it: {join_first(restarts)}."] if restarts else []

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The part of the module C(pod_resize) for the templates of the pods: compares them with the pods, and changes them."""

from __future__ import annotations

import dataclasses
import typing as t
from http import HTTPStatus

from .._plan.common.batch import join_first
from .._plan.common.errors import KubeadmError, Refusal
from .._plan.common.ownership import Change
from .._plan.pod import resize as pod_resize
from .._plan.pod import templates as pod_templates
from .._plan.pod.resize import Amounts, Desired
from .._plan.pod.templates import TemplateDifference
from .api_steps import retry_on_conflict
from .client import ApiError, Client, Json
from .workloads import ControllerRef, Workloads

KEEP, UPDATE, REPORT = "keep", "update", "report"


@dataclasses.dataclass
class Template:
    """The template of one controller. latest: the controller as it was last read; read: as it was when it was planned. desired: the
    resources of its pods. operations: what changes in it. differences: where its pods differ from it.
    """

    kind: str
    name: str
    read: Json
    latest: Json
    desired: Desired
    operations: tuple[Change, ...] = ()
    differences: tuple[TemplateDifference, ...] = ()
    error: str = ""
    note: str = ""
    sent: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    @property
    def changed(self) -> bool:
        """Whether the API server accepted a change; in check mode, whether it would."""
        return self.sent and bool(self.operations)

    @property
    def rollout(self) -> str:
        """What a change of it does to its pods."""
        return pod_templates.describe_rollout(self.kind, self.latest)

    @property
    def has_diff(self) -> bool:
        """Whether a diff has it: it is going to change, or did."""
        return bool(self.operations) and not self.error and (self.sent or not self.note)

    @property
    def diff_amounts(self) -> tuple[Json, Json]:
        """The amounts of its containers before and after the change, for a diff."""
        template = self.read["spec"]["template"]
        before, after = (pod_resize.amounts_after(template, changes) for changes in ((), self.operations))
        return pod_resize.format_amounts(before), pod_resize.format_amounts(after)

    def report(self) -> Json:
        """The result of this template."""
        return {
            "changed": self.changed,
            "failed": bool(self.error),
            "msg": self.error or self.note,
            "differs": bool(self.differences),
            "differences": [{**dataclasses.asdict(entry), "pods": list(entry.pods)} for entry in self.differences],
            "rollout": self.rollout,
            "operations": [change.to_result() for change in self.operations],
        }


class Templates:
    """The templates of the pods of one task. by_controller: by kind and name of their controllers. unverified: what could not be verified, with the reason."""

    def __init__(self, client: Client, workloads: Workloads, *, namespace: str, policy: str) -> None:
        self._client = client
        self._workloads = workloads
        self._namespace = namespace
        self._policy = policy
        self._controllers: dict[str, ControllerRef] = {}
        self.by_controller: dict[ControllerRef, Template] = {}
        self.unverified: list[str] = []

    def read(self, pods: t.Mapping[str, Json], desired: Desired, *, needed: bool, reverts: bool) -> None:
        """Read the controllers of pods. needed: an account without the right to do so is an error. reverts: the desired resources are those of
        the templates, for the containers in desired or for all."""
        if self._policy == KEEP and not needed:
            return
        try:
            self._controllers, controllers = self._workloads.read_controllers(pods)
        except ApiError as exc:
            if exc.status != HTTPStatus.FORBIDDEN or needed:
                raise
            self.unverified.append(f"whether the templates differ from the pods: {exc}")
            return
        others = pod_templates.other_controllers(pods.values())
        if others and not needed:
            self.unverified.append(f"whether the templates differ from the pods: {join_first(others)} made them")
        for ref, controller in controllers.items():
            own_desired = pod_templates.desired_of(controller, list(desired) or None) if reverts else desired
            self.by_controller[ref] = Template(*ref, read=controller, latest=controller, desired=own_desired)

    def template_of(self, pod: str) -> Template | None:
        """The template that a pod was made from, if it is known."""
        return self.by_controller.get(self._controllers.get(pod, ("", "")))

    def require_template(self, pod: str) -> Template:
        """The template that a pod was made from. Raises Refusal where it is not known."""
        template = self.template_of(pod)
        if template is None:
            raise Refusal(
                f"no controller with a template created it ({', '.join(pod_templates.PATHS)}), so its former resources are not known. Set"
                " the amounts, with state present."
            )
        return template

    def compare(self, amounts: t.Mapping[str, t.Mapping[str, Amounts]]) -> None:
        """Compare the templates with the resources that pods have, or are going to have. amounts: of the containers, by the pod's name."""
        for template in self.by_controller.values():
            running = [own for name, own in amounts.items() if self.template_of(name) is template]
            template.differences = pod_templates.find_differences(template.latest, template.desired, running)

    def plan(self) -> tuple[Change, ...]:
        """Work out what changes in the templates."""
        if self._policy == UPDATE:
            for template in self.by_controller.values():
                template.operations = pod_templates.template_changes(template.read, template.desired)
        return tuple(change for template in self.by_controller.values() for change in template.operations)

    def warnings(self) -> list[str]:
        """Which templates change or differ from their pods, and the consequences."""
        messages = []
        for template in self.by_controller.values():
            if template.operations:
                messages.append(f"{template}: its template changes, and {template.rollout}.")
            elif template.differences and self._policy == REPORT:
                messages.append(
                    f"{template}: {join_first(template.differences)}. Pods that it creates from now on, and all of them after its next"
                    " rollout, have the resources of the template. Set template to update to change that"
                    f" ({template.rollout}), or to keep to silence this warning."
                )
        return messages

    def is_changed(self, pod: str) -> bool:
        """Whether the template of a pod was changed."""
        template = self.template_of(pod)
        return template is not None and template.changed

    def keep_all(self, reason: str) -> None:
        """Record of the templates that are not changed why that is so."""
        for template in self.by_controller.values():
            if template.operations and not template.sent:
                template.note = f"the template was not changed: {reason}"

    def send(self, unresized: t.Collection[str], *, dry_run: bool) -> None:
        """Change the templates, but for those of unresized pods: a rollout would spread resources that are not known to work."""
        for template in self.by_controller.values():
            own = [name for name in unresized if self.template_of(name) is template]
            if template.operations and own:
                template.note = f"the template was not changed, because of {join_first(own)}"
            elif template.operations:
                self._send_one(template, dry_run=dry_run)

    def _send_one(self, template: Template, *, dry_run: bool) -> None:
        try:
            self._patch(template, dry_run=dry_run)
        except KubeadmError as exc:
            template.error = f"{template}: its template was not changed: {exc}"

    def _patch(self, template: Template, *, dry_run: bool) -> None:
        path = pod_templates.path_of(self._namespace, template.kind, template.name)

        def attempt() -> Json:
            patch = pod_templates.template_patch(template.latest, template.operations)
            return self._client.strategic_merge(path, patch, dry_run=dry_run)

        def replan(_refusal: ApiError) -> Json | None:
            template.read = template.latest = self._client.get(path)
            template.operations = pod_templates.template_changes(template.read, template.desired)
            return None if template.operations else template.latest

        template.latest = retry_on_conflict(attempt, replan, cause="another client changed it")
        template.sent, template.note = True, template.rollout

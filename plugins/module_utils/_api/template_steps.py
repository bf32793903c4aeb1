# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the module C(pod_resize) does about the templates of the pods: holds them against the pods, and brings them in sync."""

from __future__ import annotations

import dataclasses
import typing as t
from http import HTTPStatus

from .._plan.common.batch import joined
from .._plan.common.errors import KubeadmError
from .._plan.common.ownership import Change
from .._plan.pod import resize as pod_resize
from .._plan.pod import templates as pod_templates
from .._plan.pod.resize import Amounts, Desired
from .._plan.pod.templates import TemplateDifference
from .api_steps import retry_on_conflict
from .client import ApiError, Client, Json
from .workloads import Maker, Workloads

KEEP, UPDATE, REPORT = "keep", "update", "report"


@dataclasses.dataclass
class Template:
    """The template of one controller. latest: the controller as it was last seen; read: as it was planned. desired: what is asked of
    its pods. operations: what changes in it. differences: where its pods differ from it.
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
    def rollout(self) -> str:
        """What becomes of its pods when it changes."""
        return pod_templates.rollout(self.kind, self.latest)

    @property
    def changes(self) -> bool:
        """Whether it is going to change, or did."""
        return bool(self.operations) and not self.error and (self.sent or not self.note)

    @property
    def before_and_after(self) -> tuple[Json, Json]:
        """What its containers were to have, and what they are to have, for a diff."""
        template = self.read["spec"]["template"]
        before, after = (pod_resize.amounts_after(template, changes) for changes in ((), self.operations))
        return pod_resize.shown(before), pod_resize.shown(after)

    def report(self) -> Json:
        """The template's part of the result."""
        return {
            "changed": self.sent and bool(self.operations),
            "failed": bool(self.error),
            "msg": self.error or self.note,
            "differs": bool(self.differences),
            "differences": [{**dataclasses.asdict(entry), "pods": list(entry.pods)} for entry in self.differences],
            "rollout": self.rollout,
            "operations": [change.described() for change in self.operations],
        }


class Templates:
    """The templates of the pods of one task. found: by kind and name of the controller. unverified: what of them is not known, with the reason."""

    def __init__(self, client: Client, workloads: Workloads, *, namespace: str, policy: str) -> None:
        self._client = client
        self._workloads = workloads
        self._namespace = namespace
        self._policy = policy
        self._made: dict[str, Maker] = {}
        self.found: dict[Maker, Template] = {}
        self.unverified: list[str] = []

    def read(self, pods: t.Mapping[str, Json], desired: Desired, *, needed: bool, reverts: bool) -> None:
        """Read the controllers of pods. needed: nothing goes without. reverts: the desired state is what they say, for the containers in
        desired state or for all."""
        if self._policy == KEEP and not needed:
            return
        try:
            self._made, controllers = self._workloads.read_controllers(pods)
        except ApiError as exc:
            if exc.status != HTTPStatus.FORBIDDEN or needed:
                raise
            self.unverified.append(f"whether the templates differ from the pods: {exc}")
            return
        others = pod_templates.other_makers(pods.values())
        if others and not needed:
            self.unverified.append(f"whether the templates differ from the pods: {joined(others)} made them")
        for maker, controller in controllers.items():
            wanted = pod_templates.desired_of(controller, list(desired) or None) if reverts else desired
            self.found[maker] = Template(*maker, read=controller, latest=controller, desired=wanted)

    def of(self, pod: str) -> Template | None:
        """The template that a pod was made from, if it is known."""
        return self.found.get(self._made.get(pod, ("", "")))

    def compare(self, amounts: t.Mapping[str, t.Mapping[str, Amounts]]) -> None:
        """Hold the templates against what the pods have, or are going to have. amounts: of the containers, by the pod's name."""
        for template in self.found.values():
            running = [own for name, own in amounts.items() if self.of(name) is template]
            template.differences = pod_templates.differences(template.latest, template.desired, running)

    def plan(self) -> tuple[Change, ...]:
        """Work out what changes in the templates."""
        if self._policy == UPDATE:
            for template in self.found.values():
                template.operations = pod_templates.changes(template.read, template.desired)
        return tuple(change for template in self.found.values() for change in template.operations)

    def warnings(self) -> list[str]:
        """Which templates change or differ from their pods, and what comes of that."""
        told = []
        for template in self.found.values():
            if template.operations:
                told.append(f"{template}: its template changes, and {template.rollout}.")
            elif template.differences and self._policy == REPORT:
                told.append(
                    f"{template}: {joined(template.differences)}. Pods that it creates from now on, and all of them after its next"
                    " rollout, have the resources of the template. Set template to update to change that"
                    f" ({template.rollout}), or to keep to silence this warning."
                )
        return told

    def send(self, bad: t.Collection[str], *, dry_run: bool) -> None:
        """Change the templates, but those of pods that are bad: a rollout of what is not known to work would only spread it."""
        for template in self.found.values():
            own = [name for name in bad if self.of(name) is template]
            if template.operations and own:
                template.note = f"the template was not changed, because of {joined(own)}"
            elif template.operations:
                self._send_one(template, dry_run=dry_run)

    def _send_one(self, template: Template, *, dry_run: bool) -> None:
        try:
            self._patch(template, dry_run=dry_run)
        except KubeadmError as exc:
            template.error = f"{template}: its template was not changed: {exc}"

    def _patch(self, template: Template, *, dry_run: bool) -> None:
        place = pod_templates.path_of(self._namespace, template.kind, template.name)

        def attempt() -> Json:
            patch = pod_templates.patch(template.latest, template.operations)
            return self._client.strategic_merge(place, patch, dry_run=dry_run)

        def replan(_refusal: ApiError) -> Json | None:
            template.read = template.latest = self._client.get(place)
            template.operations = pod_templates.changes(template.read, template.desired)
            return None if template.operations else template.latest

        template.latest = retry_on_conflict(attempt, replan, others="another client changed it")
        template.sent, template.note = True, template.rollout

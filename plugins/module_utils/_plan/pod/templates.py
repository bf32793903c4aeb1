# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The templates from which controllers make pods, compared with the pods that run: a resize changes the pods alone."""

from __future__ import annotations

import dataclasses
import typing as t

from ..common.ownership import Change
from ..kubernetes import quantities
from . import resize as pod_resize
from .resize import RESIZABLE, Amounts, Desired

Controller = dict[str, t.Any]

DEPLOYMENT = "Deployment"
# The kinds whose pods come from a template that can be changed, and their names in the API's group apps.
PATHS = {
    DEPLOYMENT: "deployments",
    "StatefulSet": "statefulsets",
    "DaemonSet": "daemonsets",
    "ReplicaSet": "replicasets",
}

_OPERATORS = {
    "In": "{key} in ({values})",
    "NotIn": "{key} notin ({values})",
    "Exists": "{key}",
    "DoesNotExist": "!{key}",
}


@dataclasses.dataclass(frozen=True)
class TemplateDifference:
    """One amount in which pods and their template differ. template: the amount in it. pods: what they have instead, each amount once.
    None for none.
    """

    field: str
    container: str
    template: str | None
    pods: tuple[str | None, ...]

    def __str__(self) -> str:
        pods = ", ".join(amount or "unset" for amount in self.pods)
        return f"{self.field} of {self.container} is {self.template or 'unset'} in the template and {pods} in pods"


def path_of(namespace: str, kind: str, name: str) -> str:
    """Where a controller is in the API."""
    return f"/apis/apps/v1/namespaces/{namespace}/{PATHS[kind]}/{name}"


def controller_of(thing: t.Mapping[str, t.Any]) -> tuple[str, str] | None:
    """Kind and name of what made a pod or a ReplicaSet, when that has a template of its own."""
    for owner in thing["metadata"].get("ownerReferences") or []:
        if owner.get("controller") and owner["kind"] in PATHS and str(owner.get("apiVersion", "")).startswith("apps/"):
            return str(owner["kind"]), str(owner["name"])
    return None


def other_controllers(found: t.Iterable[t.Mapping[str, t.Any]]) -> list[str]:
    """What else made pods, as kind and name. A kubelet made those of static pods, which have none."""
    owners = [
        owner for pod in found for owner in pod["metadata"].get("ownerReferences") or [] if owner.get("controller")
    ]
    names = [
        f"{owner['kind']} {owner['name']}"
        for owner in owners
        if owner["kind"] != "Node" and controller_of({"metadata": {"ownerReferences": [owner]}}) is None
    ]
    return list(dict.fromkeys(names))


def is_controlled_by(thing: t.Mapping[str, t.Any], uids: t.Collection[str]) -> bool:
    """Whether one of these is the controller of a pod or a ReplicaSet."""
    owners = thing["metadata"].get("ownerReferences") or []
    return any(owner.get("controller") and owner.get("uid") in uids for owner in owners)


def selector_text(selector: t.Mapping[str, t.Any]) -> str:
    """A controller's selector in the form of the query of a list."""
    terms = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    terms += [
        _OPERATORS[entry["operator"]].format(key=entry["key"], values=",".join(entry.get("values") or []))
        for entry in selector.get("matchExpressions") or []
    ]
    return ",".join(terms)


def desired_of(controller: Controller, only: t.Collection[str] | None) -> dict[str, dict[str, str]]:
    """What the containers of a pod have that is made from a template. only: the names of some of them."""
    spec = controller["spec"]["template"]["spec"]
    found = {name: _effective(container) for name, (_place, container) in pod_resize.containers_of(spec).items()}
    return {name: amounts for name, amounts in found.items() if amounts and (only is None or name in only)}


def _effective(container: pod_resize.Container) -> dict[str, str]:
    """A pod's request is its limit where the template names only that."""
    own = pod_resize.amounts_of(container)
    implied = {f"requests.{name}": own[f"limits.{name}"] for name in RESIZABLE if f"limits.{name}" in own}
    return {**implied, **own}


def find_differences(
    controller: Controller, desired: Desired, running: t.Iterable[t.Mapping[str, Amounts]]
) -> tuple[TemplateDifference, ...]:
    """Where running pods differ from the template, in its amounts and in the desired ones. What else pods have, admission
    gave them, and it will do so again. running: the amounts of each pod's containers."""
    template, everyone = desired_of(controller, None), list(running)
    found = []
    for container in pod_resize.containers_of(controller["spec"]["template"]["spec"]):
        expected = template.get(container, {})
        for field in dict.fromkeys([*expected, *desired.get(container, {})]):
            actual = [own[container].get(field) for own in everyone if container in own]
            others = _distinct(amount for amount in actual if not quantities.is_equal(amount, expected.get(field)))
            if others:
                found.append(TemplateDifference(field, container, expected.get(field), tuple(others)))
    return tuple(found)


def _distinct(amounts: t.Iterable[str | None]) -> list[str | None]:
    found: dict[t.Any, str | None] = {}
    for amount in amounts:
        found.setdefault(amount and quantities.parse(amount), amount)
    return list(found.values())


def template_changes(controller: Controller, desired: Desired) -> tuple[Change, ...]:
    """What has to change in a template so that new pods get the desired amounts, and nothing else."""
    known = pod_resize.containers_of(controller["spec"]["template"]["spec"])
    return tuple(
        Change(field, container, before, after)
        for container, amounts in desired.items()
        if container in known  # a container that admission put into the pods is in no template
        for field, before, after in _amount_changes(known[container][1], amounts)
    )


def _amount_changes(container: pod_resize.Container, amounts: Amounts) -> list[tuple[str, str | None, str]]:
    made, named = _effective(container), pod_resize.amounts_of(container)
    found = [
        (field, made.get(field), after)
        for field, after in amounts.items()
        if not quantities.is_equal(made.get(field), after)
    ]
    changing = [change[0] for change in found]
    for resource in RESIZABLE:
        request, limit = f"requests.{resource}", f"limits.{resource}"
        if limit in named and limit in changing and request not in (*named, *changing):
            # It is what the limit was, and would move with it.
            found.append((request, None, amounts.get(request, made[request])))
    return found


def template_patch(controller: Controller, operations: t.Iterable[Change]) -> dict[str, t.Any]:
    """The strategic merge patch that makes changes of a template."""
    known = pod_resize.containers_of(controller["spec"]["template"]["spec"])
    merged = pod_resize.strategic_patch(controller, known, operations)
    return {"metadata": merged["metadata"], "spec": {"template": {"spec": merged["spec"]}}}


def describe_rollout(kind: str, controller: Controller) -> str:
    """What Kubernetes does when the template of a controller changes."""
    spec = controller["spec"]
    if kind == DEPLOYMENT:
        later = "; it is paused, so that this happens when it is resumed" if spec.get("paused") else ""
        return f"a changed Deployment template always rolls out: all its pods are replaced{later}"
    if kind == "ReplicaSet":
        return "a ReplicaSet does not replace its pods: those that it creates from now on get it"
    strategy = spec.get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return "its updateStrategy is OnDelete: pods keep running until they are deleted"
    partition = (strategy.get("rollingUpdate") or {}).get("partition")
    which = f"its pods from number {partition} on" if partition else "all its pods"
    return f"its updateStrategy is RollingUpdate: Kubernetes replaces {which}"

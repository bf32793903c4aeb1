# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the pods that a task selects, and the controllers that created them."""

from __future__ import annotations

import dataclasses
import typing as t

from .._plan.common.errors import KubeadmError
from .._plan.kubernetes import pods
from .._plan.pod import templates as pod_templates
from .._plan.pod.templates import DEPLOYMENT
from .client import Client, Json
from .objects import FEW, read_each

ControllerRef = tuple[str, str]  # kind and name of a controller


@dataclasses.dataclass(frozen=True)
class Selection:
    """Which pods of a namespace a task selects: these names, those that a label selector matches, or those of one controller."""

    namespace: str
    names: t.Sequence[str] | None
    label_selector: str | None
    owner: ControllerRef | None

    def __str__(self) -> str:
        if self.owner:
            return f"owner: {self.owner[0]} {self.owner[1]}"
        return f"label_selector {self.label_selector!r}"


class Workloads:
    """The pods of one namespace and their controllers."""

    def __init__(self, client: Client, selection: Selection, *, workers: int) -> None:
        self._client = client
        self._selection = selection
        self._workers = workers
        self._pods = f"namespaces/{selection.namespace}/pods"
        self._owner_selector = ""  # empty until read_pods() has read the owner

    def path_of(self, name: str) -> str:
        """The path of a pod in the API."""
        return f"{self._pods}/{name}"

    def read_pods(self) -> dict[str, Json]:
        """The selected pods, by name. Names that do not exist are skipped, and so are pods that a selector matches and that have ended or are ending.

        Raises KubeadmError when a selector or an owner has no pods.
        """
        names = self._selection.names
        if names is None:
            by_name = {pod["metadata"]["name"]: pod for pod in self._list_selected() if _is_staying(pod)}
            if not by_name:
                raise KubeadmError(
                    f"{self._selection} has no running pod in the namespace {self._selection.namespace} of {self._client.url}."
                )
            return by_name
        if len(names) <= FEW:
            return read_each(self._client, {name: self.path_of(name) for name in names}, workers=self._workers)
        by_name = {pod["metadata"]["name"]: pod for pod in self._client.list(self._pods)}
        return {name: by_name[name] for name in names if name in by_name}

    def read_current(self, names: t.Collection[str]) -> dict[str, Json]:
        """Read pods as they are now, with one request, however many they are."""
        if len(names) == 1:
            pods = self._client.list(self._pods, fieldSelector=f"metadata.name={next(iter(names))}")
        else:
            selector = self._selection.label_selector or self._owner_selector
            pods = self._client.list(self._pods, labelSelector=selector)
        by_name = {pod["metadata"]["name"]: pod for pod in pods}
        return {name: by_name[name] for name in names if name in by_name}

    def _list_selected(self) -> list[Json]:
        if self._selection.owner is None:
            return self._client.list(self._pods, labelSelector=self._selection.label_selector or "")
        kind, name = self._selection.owner
        owner = self._read_owner(kind, name)
        self._owner_selector = pod_templates.selector_text(owner["spec"]["selector"])
        owners = {owner["metadata"]["uid"]}
        if kind == DEPLOYMENT:
            sets = self._client.list(self._list_path("ReplicaSet"), labelSelector=self._owner_selector)
            owners = {entry["metadata"]["uid"] for entry in sets if pod_templates.is_controlled_by(entry, owners)}
        matching = self._client.list(self._pods, labelSelector=self._owner_selector)
        return [pod for pod in matching if pod_templates.is_controlled_by(pod, owners)]

    def _read_owner(self, kind: str, name: str) -> Json:
        owner = self._client.find(pod_templates.path_of(self._selection.namespace, kind, name))
        if owner is None:
            raise KubeadmError(
                f"owner: there is no {kind} {name} in the namespace {self._selection.namespace} of {self._client.url}."
            )
        return owner

    def _list_path(self, kind: str) -> str:
        return pod_templates.path_of(self._selection.namespace, kind, "").rstrip("/")

    def read_controllers(
        self, pods: t.Mapping[str, Json]
    ) -> tuple[dict[str, ControllerRef], dict[ControllerRef, Json]]:
        """The controller of each pod, as far as it has a template, and these controllers: a Deployment rather than its ReplicaSets."""
        direct = {name: ref for name, pod in pods.items() for ref in [pod_templates.controller_of(pod)] if ref}
        controllers = self._read_each(sorted(set(direct.values())))
        parents = {
            key: ref for key, entry in controllers.items() for ref in [pod_templates.controller_of(entry)] if ref
        }
        controllers.update(self._read_each(sorted(set(parents.values()))))
        refs = {name: parents.get(ref, ref) for name, ref in direct.items()}
        refs = {name: ref for name, ref in refs.items() if ref in controllers}
        return refs, {ref: controllers[ref] for ref in dict.fromkeys(refs.values())}

    def _read_each(self, refs: t.Sequence[ControllerRef]) -> dict[ControllerRef, Json]:
        paths = {f"{kind}/{name}": pod_templates.path_of(self._selection.namespace, kind, name) for kind, name in refs}
        objects = read_each(self._client, paths, workers=self._workers)
        return {(kind, name): objects[f"{kind}/{name}"] for kind, name in refs if f"{kind}/{name}" in objects}


def _is_staying(pod: Json) -> bool:
    return pods.is_active(pod) and not pods.is_ending(pod)

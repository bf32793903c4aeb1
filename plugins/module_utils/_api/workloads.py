# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the pods that a task means, and the controllers that made them."""

from __future__ import annotations

import dataclasses
import typing as t

from .._plan.common.errors import KubeadmError
from .._plan.kubernetes import pods
from .._plan.pod import templates as pod_templates
from .._plan.pod.templates import DEPLOYMENT
from .client import Client, Json
from .objects import FEW, read_each

Maker = tuple[str, str]  # kind and name of a controller


@dataclasses.dataclass(frozen=True)
class Selection:
    """Which pods of a namespace are meant: these names, those that a label selector matches, or those of one controller."""

    namespace: str
    names: t.Sequence[str] | None
    label_selector: str | None
    owner: Maker | None

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
        self._owner_selector = ""

    def path_of(self, name: str) -> str:
        """Where a pod is in the API."""
        return f"{self._pods}/{name}"

    def read_pods(self) -> dict[str, Json]:
        """The pods that are meant, by name. Names that do not exist are skipped, and so is what is selected and about to end.

        Raises KubeadmError for a selection of nothing.
        """
        names = self._selection.names
        if names is None:
            found = {pod["metadata"]["name"]: pod for pod in self._selected() if _stays(pod)}
            if not found:
                raise KubeadmError(
                    f"{self._selection} has no running pod in the namespace {self._selection.namespace} of {self._client.url}."
                )
            return found
        if len(names) <= FEW:
            return read_each(self._client, {name: self.path_of(name) for name in names}, workers=self._workers)
        found = {pod["metadata"]["name"]: pod for pod in self._client.list(self._pods)}
        return {name: found[name] for name in names if name in found}

    def look(self, names: t.Collection[str]) -> dict[str, Json]:
        """These pods as they are now, in one list, however many they are."""
        if len(names) == 1:
            pods = self._client.list(self._pods, fieldSelector=f"metadata.name={next(iter(names))}")
        else:
            selector = self._selection.label_selector or self._owner_selector
            pods = self._client.list(self._pods, labelSelector=selector)
        found = {pod["metadata"]["name"]: pod for pod in pods}
        return {name: found[name] for name in names if name in found}

    def _selected(self) -> list[Json]:
        if self._selection.owner is None:
            return self._client.list(self._pods, labelSelector=self._selection.label_selector or "")
        kind, name = self._selection.owner
        owner = self._read_owner(kind, name)
        self._owner_selector = pod_templates.selector_text(owner["spec"]["selector"])
        makers = {owner["metadata"]["uid"]}
        if kind == DEPLOYMENT:
            sets = self._client.list(self._apps("ReplicaSet"), labelSelector=self._owner_selector)
            makers = {entry["metadata"]["uid"] for entry in sets if pod_templates.is_made_by(entry, makers)}
        found = self._client.list(self._pods, labelSelector=self._owner_selector)
        return [pod for pod in found if pod_templates.is_made_by(pod, makers)]

    def _read_owner(self, kind: str, name: str) -> Json:
        owner = self._client.find(pod_templates.path_of(self._selection.namespace, kind, name))
        if owner is None:
            raise KubeadmError(
                f"owner: there is no {kind} {name} in the namespace {self._selection.namespace} of {self._client.url}."
            )
        return owner

    def _apps(self, kind: str) -> str:
        return pod_templates.path_of(self._selection.namespace, kind, "").rstrip("/")

    def read_controllers(self, found: t.Mapping[str, Json]) -> tuple[dict[str, Maker], dict[Maker, Json]]:
        """Which controller made each pod, as far as it has a template, and these controllers. A Deployment, not its ReplicaSets."""
        made = {name: maker for name, pod in found.items() for maker in [pod_templates.maker(pod)] if maker}
        controllers = self._read(sorted(set(made.values())))
        above = {key: maker for key, entry in controllers.items() for maker in [pod_templates.maker(entry)] if maker}
        controllers.update(self._read(sorted(set(above.values()))))
        made = {name: above.get(maker, maker) for name, maker in made.items()}
        made = {name: maker for name, maker in made.items() if maker in controllers}
        return made, {maker: controllers[maker] for maker in dict.fromkeys(made.values())}

    def _read(self, makers: t.Sequence[Maker]) -> dict[Maker, Json]:
        paths = {
            f"{kind}/{name}": pod_templates.path_of(self._selection.namespace, kind, name) for kind, name in makers
        }
        found = read_each(self._client, paths, workers=self._workers)
        return {(kind, name): found[f"{kind}/{name}"] for kind, name in makers if f"{kind}/{name}" in found}


def _stays(pod: Json) -> bool:
    return pods.is_active(pod) and not pods.is_ending(pod)

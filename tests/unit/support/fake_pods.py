# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API server, beside the one for nodes, whose pods can be resized, with kubelets that do it while a caller pending."""

from __future__ import annotations

import copy
import json
import typing as t
from urllib.parse import parse_qs, unquote, urlsplit

from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.pod import templates as pod_templates
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import FakeApi, HttpError, Json
from ansible_collections.nodecraft.kubeadm.tests.unit.support.sized_pods import RESTART

# The message of Kubernetes 1.31 and older for a patch of an immutable field.
IMMUTABLE = (
    'Pod "web-1" is invalid: spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,'
    "`spec.tolerations` (only additions to existing tolerations)"
)
PLURALS = {plural: kind for kind, plural in pod_templates.PATHS.items()}


class FakePods(FakeApi):
    """The server. pods: its pods. controllers: by kind and name.

    subresource: whether it serves pods/resize, as from 1.32 on; otherwise the pod itself is patched, and its status has the field
    resize. gate: whether it accepts that (the feature gate). refusals: of patches of a pod or a template, by its name.
    pending: pods that the kubelet does not resize, by name, with the reason and message of the condition.
    before_pod_patch: called with the name before a pod or a template is patched. admit: changes a pod before it is stored, as a webhook does.
    quotas: of the namespace. usage: bytes of memory by pod and container, as kubelets and the metrics API report it. quotas_error, summary_error,
    metrics_error: what they answer instead.
    """

    def __init__(self, *pods: Json, controllers: t.Iterable[tuple[str, Json]] = (), subresource: bool = True) -> None:
        super().__init__()
        self.pods = [copy.deepcopy(pod) for pod in pods]
        self.controllers = {(kind, entry["metadata"]["name"]): copy.deepcopy(entry) for kind, entry in controllers}
        self.subresource = subresource
        self.gate = True
        self.refusals: dict[str, HttpError] = {}
        self.pending: dict[str, tuple[str, str]] = {}
        self.before_pod_patch: t.Callable[[str], None] = lambda name: None
        self.admit: t.Callable[[Json], None] = lambda pod: None
        self.quotas: list[Json] = []
        self.quotas_error: HttpError | None = None
        self.usage: dict[str, dict[str, int]] = {}
        self.summary_error: HttpError | None = None
        self.metrics_error: HttpError | None = HttpError(404, "the server could not find the requested resource")
        allocatable = {"cpu": "64", "memory": "256Gi", "pods": "110"}
        self.objects = {
            name: {"metadata": {"name": name}, "status": {"allocatable": dict(allocatable)}}
            for name in self._kubelets()
        }
        self.reconciliations = 0
        self.down: list[int] = []

    def pod(self, name: str) -> Json:
        """One pod."""
        return next(pod for pod in self.pods if pod["metadata"]["name"] == name)

    def resources(self, name: str, index: int = 0) -> Json:
        """The resources of a container in the spec of a pod."""
        return t.cast(Json, self.pod(name)["spec"]["containers"][index]["resources"])

    def _kubelets(self) -> t.Iterable[str]:
        return {pod["spec"]["nodeName"]: None for pod in self.pods if "nodeName" in pod["spec"]}

    @property
    def patched(self) -> list[str]:
        """The paths of all patches, without the query."""
        return [path.partition("?")[0] for path in self.paths("PATCH")]

    def _filter_by_field(self, pods: list[Json], query: dict[str, str]) -> list[Json]:
        field, _equals, name = query.get("fieldSelector", "").partition("=")
        return [pod for pod in pods if field != "metadata.name" or pod["metadata"]["name"] == name]

    def _route(self, path: str) -> t.Callable[[str, str, bytes], Json | str]:
        place = urlsplit(path).path
        if place == "/api/v1":
            return self._discovery
        if place.startswith("/apis/apps/v1/"):
            return self._apps
        if place.endswith("/stats/summary"):
            return self._summary
        if place.startswith("/apis/metrics.k8s.io/"):
            return self._metrics
        if place.endswith("/resourcequotas"):
            return self._list_quotas
        return self._pod if "/pods/" in place else super()._route(path)

    def _list_quotas(self, _verb: str, _path: str, _body: bytes) -> Json:
        if self.quotas_error:
            raise self.quotas_error
        return self._page(self.quotas, {"limit": "500"})

    def _summary(self, _verb: str, _path: str, _body: bytes) -> Json:
        if self.summary_error:
            raise self.summary_error
        return {
            "pods": [
                {
                    "podRef": {"uid": self.pod(name)["metadata"]["uid"]},
                    "containers": [{"name": key, "memory": {"usageBytes": value}} for key, value in own.items()],
                }
                for name, own in self.usage.items()
            ]
        }

    def _metrics(self, _verb: str, _path: str, _body: bytes) -> Json:
        if self.metrics_error:
            raise self.metrics_error
        items = [
            {
                "metadata": {"name": name},
                "containers": [{"name": key, "usage": {"memory": str(value)}} for key, value in own.items()],
            }
            for name, own in self.usage.items()
        ]
        return self._page(items, {"limit": "500"})

    def _discovery(self, _verb: str, _path: str, _body: bytes) -> Json:
        names = ["pods", "pods/status", *(["pods/resize"] if self.subresource else [])]
        return {"kind": "APIResourceList", "resources": [{"name": name} for name in names]}

    def _apps(self, verb: str, path: str, body: bytes) -> Json:
        plural, *names = unquote(urlsplit(path).path).split("/")[6:]
        kind = PLURALS[plural]
        with self._lock:
            if not names:
                query = {key: values[0] for key, values in parse_qs(urlsplit(path).query).items()}
                return self._page([entry for (found, _name), entry in self.controllers.items() if found == kind], query)
            if (kind, names[0]) not in self.controllers:
                raise HttpError(404, f'{plural}.apps "{names[0]}" not found')
            if verb == "GET":
                return self.controllers[kind, names[0]]
            after = self._apply_patch(names[0], lambda: self.controllers[kind, names[0]], body)
            if "dryRun" not in path:
                self.controllers[kind, names[0]] = after
            return after

    def _pod(self, verb: str, path: str, body: bytes) -> Json:
        name, *subresource = unquote(urlsplit(path).path).split("/")[6:]
        with self._lock:
            known = [pod["metadata"]["name"] for pod in self.pods]
            if name not in known:
                raise HttpError(404, f'pods "{name}" not found')
            if verb == "GET":
                return self.pod(name)
            if subresource != (["resize"] if self.subresource else []) or not (self.subresource or self.gate):
                raise HttpError(422, IMMUTABLE)
            after = self._apply_patch(name, lambda: self._require_pod(name), body)
            self.admit(after)
            after["metadata"]["generation"] += 1
            if not self.subresource:
                after["status"]["resize"] = "Proposed"
            if "dryRun" not in path:
                self.pods[known.index(name)] = after
            return after

    def _require_pod(self, name: str) -> Json:
        found = [pod for pod in self.pods if pod["metadata"]["name"] == name]
        if not found:
            raise HttpError(404, f'pods "{name}" not found')
        return found[0]

    def _apply_patch(self, name: str, read: t.Callable[[], Json], body: bytes) -> Json:
        self.before_pod_patch(name)
        if name in self.refusals:
            raise self.refusals[name]
        thing, patch = copy.deepcopy(read()), json.loads(body)
        if patch["metadata"]["resourceVersion"] != thing["metadata"]["resourceVersion"]:
            raise HttpError(409, f'Operation cannot be fulfilled on "{name}": the object has been modified')
        thing["metadata"]["resourceVersion"] = str(int(thing["metadata"]["resourceVersion"]) + 1)
        into, spec = thing["spec"], patch["spec"]
        if "template" in spec:
            into, spec = into["template"]["spec"], spec["template"]["spec"]
        for place, entries in spec.items():
            for entry in entries:
                (own,) = [one for one in into[place] if one["name"] == entry["name"]]
                for kind, amounts in entry["resources"].items():
                    own["resources"].setdefault(kind, {}).update(amounts)
        return thing

    def touch(self, name: str) -> None:
        """Change a pod, so that a writer who read it before gets a conflict."""
        metadata = self.pod(name)["metadata"]
        metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)

    # ---- the kubelets --------------------------------------------------------------------------------------------------

    def reconcile(self) -> None:
        """Act once as all kubelets: the first time after a patch containers restart, the next time they are Ready."""
        with self._lock:
            self.reconciliations += 1
            self.down.append(sum(not _is_ready(pod) for pod in self.pods))
            for pod in self.pods:
                self._reconcile_pod(pod)

    def _reconcile_pod(self, pod: Json) -> None:
        status, generation = pod["status"], pod["metadata"]["generation"]
        status["observedGeneration"] = generation
        name = pod["metadata"]["name"]
        status["conditions"] = [entry for entry in status["conditions"] if not entry["type"].startswith("PodResize")]
        status.pop("resize", None)
        if name in self.pending:
            self._set_pending(status, generation, *self.pending[name])
            return
        _set_ready(status, "True")
        for entry in pod["spec"]["containers"]:
            self._resize_container(status, entry)

    def _set_pending(self, status: Json, generation: int, reason: str, message: str) -> None:
        if not self.subresource:
            status["resize"] = reason
            return
        condition = {"type": "PodResizePending", "status": "True", "reason": reason, "message": message}
        status["conditions"].append({**condition, "observedGeneration": generation})

    @staticmethod
    def _resize_container(status: Json, entry: Json) -> None:
        (own,) = [one for one in status["containerStatuses"] if one["name"] == entry["name"]]
        if own["resources"] == entry["resources"]:
            return
        own["resources"] = copy.deepcopy(entry["resources"])
        if RESTART in [policy["restartPolicy"] for policy in entry["resizePolicy"]]:
            own["restartCount"] += 1
            _set_ready(status, "False")


def _is_ready(pod: Json) -> bool:
    return {"type": "Ready", "status": "True"} in pod["status"]["conditions"]


def _set_ready(status: Json, value: str) -> None:
    status["conditions"] = [entry for entry in status["conditions"] if entry["type"] != "Ready"]
    status["conditions"].append({"type": "Ready", "status": value})

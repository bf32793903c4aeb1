# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A canary: a pod on one node, with what it needs, that is made, used, and deleted again.

Who made no pod any more was healthy, and so was its change: a controller manager with C(controllers=-node-lifecycle-controller), a scheduler whose
only profile had another name (1.37.2). What is made, and which steps are tried, is planned; how they are made is here.
"""

from __future__ import annotations

import contextlib
import json
import os
import typing as t
from urllib.parse import quote

from .engine_errors import EngineError
from .files import Json, json_object
from .journal import LeaderSeen, PlannedObservation, Side
from .probes import REFUSED, ApiResponse, token_problem

# Before the change: a cluster in which it takes longer has no canary to compare with.
SECONDS_BEFORE = 30.0
POLL_SECONDS = 1.0
# An admission webhook may take as long.
WRITE_SECONDS = 35.0
NAME, NODE_TAINTS = "@NAME@", "@NODE_TAINTS@"
_PULLS = ("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull")
_NO_SANDBOX = "FailedCreatePodSandBox"

TOKEN_REQUEST: Json = {
    "apiVersion": "authentication.k8s.io/v1",
    "kind": "TokenRequest",
    "spec": {"expirationSeconds": 600},
}

Send = t.Callable[[str, str, t.Optional[Json]], ApiResponse]  # a method, a path and a body


class _Requests:
    """The requests of a look. send: as above. is_final: whether what was refused last is so for ever."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.is_final = False

    def get(self, path: str) -> tuple[Json | None, str]:
        """An object, or why there is none."""
        response = self.send("GET", path, None)
        with contextlib.suppress(ValueError):
            return (json_object(response.body), "") if response.status == 200 else (None, self.describe(response))
        return None, "its response is no object"

    def describe(self, response: ApiResponse) -> str:
        """Why a request failed; empty for one that did not. What is invalid is so for ever."""
        self.is_final = response.status in (405, 422)
        return problem_of(response)


class Canary(_Requests):
    """One look. side: whose server and Lease; name: of all that is made for it. send: sends a request to the API. is_first: whether nothing has been
    stopped yet. publish: is called with the name of each step before it.

    unverified: what the look does not show, with the reason; empty when it shows all. leader: whom it found behind the change; None where none is
    elected. acted_at: when the pod was there, by the clock; None before that.
    """

    def __init__(
        self,
        planned: PlannedObservation,
        side: Side,
        name: str,
        *,
        send: Send,
        clock: t.Callable[[], float],
        sleep: t.Callable[[float], None],
        is_first: bool,
        publish: t.Callable[[str], None] = lambda _step: None,
    ) -> None:
        self.planned = planned
        self.settings = planned[side]
        self.name = name
        super().__init__(send)
        self.clock = clock
        self.sleep = sleep
        self.is_first = is_first
        self.publish = publish
        self.unverified = ""
        self.leader: LeaderSeen | None = None
        self._is_swept = self._is_refused = False
        self.acted_at: float | None = None
        self._renewed: str | None = None
        self._pod: Json = {}
        self._sandbox_problem = self._changed_leader = ""
        self._namespace = f"/api/v1/namespaces/{planned['namespace']}"
        self._deployments = f"/apis/apps/v1/namespaces/{planned['namespace']}/deployments"
        self._selected = f"labelSelector={quote(planned['label'])}%3D{name}"

    def observe(self, seconds: float) -> dict[str, str]:
        """Each step that was made, with its problem; empty where it works. What comes behind a problem is not tried. seconds: for all of them."""
        try:
            found = self._follow(self.clock() + seconds)
            if self.leader:
                self.leader["is_proof"] = self.leader["is_changed"] and not self.unverified and not any(found.values())
            return found
        finally:
            self._sweep()

    def _follow(self, limit: float) -> dict[str, str]:
        found: dict[str, str] = {}
        for step in self.planned["steps"]:
            name, began = step["name"], self.clock()
            end = min(limit, began + (step["seconds"] or limit))
            self.publish(name)
            while True:
                problem = self._STEPS[step["step"]](self)
                if not problem or self.is_final or self.unverified or self.clock() >= end:
                    break
                self.sleep(POLL_SECONDS)
            if problem:
                self._refuse_to_stop(step, problem)
                self.unverified = self.unverified or self._others_problem(problem)
            if self.unverified:
                break
            found[name] = f"{problem}, after {self.clock() - began:.0f} s" if problem else ""
            if problem:
                break
        return found

    def _others_problem(self, problem: str) -> str:
        """The problem, where the component is not to blame: a policy or a quota refuses the objects, or the API server does not answer any more. For those
        an API server is responsible itself. Empty otherwise."""
        if self.planned["answers_for_api"]:
            return ""
        node, away = self.get(f"/api/v1/nodes/{self.planned['node']}")
        return away if node is None else problem if self._is_refused else ""

    def _sweep(self) -> str:
        """Delete what is made here, and what former looks of this component have left on this node. Returns why that does not work yet."""
        if self._is_swept:
            return ""
        selected = f"labelSelector={quote(self.planned['sweep'])}&propagationPolicy=Background"
        responses = [self.send("DELETE", f"{path}?{selected}", None) for path in self.planned["collections"]]
        problem = next(filter(None, map(self.describe, responses)), "")
        self._is_swept = not problem
        return problem

    # -- the steps: why it does not work yet, empty when it does ---------------------------------------------------------

    def _find_leader(self) -> str:
        """The Lease is renewed, where a leader is elected. A component that does not lead does nothing, whatever its health says."""
        if not self.settings["lease"]:
            return ""
        lease, problem = self.get(self.settings["lease"])
        if lease is None:
            return f"the Lease {self.settings['lease'].rpartition('/')[2]} cannot be read ({problem})"
        spec = lease.get("spec") or {}
        holder, renewed = str(spec.get("holderIdentity") or ""), spec.get("renewTime")
        is_renewed = self._renewed not in (None, renewed)
        self._renewed = renewed
        if not holder or not is_renewed:
            return f"{holder} does not renew it" if holder else "no instance leads"
        self._read_leader(holder.rpartition("_")[0])
        return ""

    def _read_leader(self, leader: str) -> None:
        """What works shows nothing of this component where one leads that is not set as it is. Before the change, whether one is set so already."""
        if is_own := leader in (os.uname().nodename, self.planned["node"]):
            is_changed, problem = not self.is_first, ""
        else:
            pod, problem = self.get(f"/api/v1/namespaces/kube-system/pods/{self.planned['component']}-{leader}")
            is_changed = _is_set_so(pod or {}, self.planned["after"] if self.is_first else self.settings)
        if self.is_first:
            self._changed_leader = leader if is_changed else ""
            return
        node = self.planned["node"] if is_own else leader
        self.leader = {"node": node, "is_own": is_own, "is_changed": is_changed, "is_proof": False}
        if not is_changed:
            self.unverified = f"{leader} leads{f' ({problem})' if problem else ', with other settings than this node'}"

    def _create(self) -> str:
        node, problem = self.get(f"/api/v1/nodes/{self.planned['node']}")
        if node is None:
            return problem
        text = json.dumps(self.planned["objects"]).replace(NAME, self.name)
        for entry in json.loads(text.replace(f'"{NODE_TAINTS}"', json.dumps(_tolerations(node)))):
            response = self.send("POST", entry["path"], entry["body"])
            # What exists is of an engine that was killed, or stays from look to look. Who may not make what stays has it made by others.
            if response.status not in (200, 201, 409) and not (entry["stays"] and response.status in REFUSED):
                self._is_refused = response.status is not None
                return self.describe(response)
        self._is_refused = False
        return ""

    def _find_pod(self) -> str:
        pods, problem = self.get(f"{self._namespace}/pods?{self._selected}")
        items = (pods or {}).get("items") or []
        if not items:
            refusal = self._why_no_pod()
            self._is_refused = bool(refusal)
            return problem or refusal or "none was made"
        self._is_refused = False
        self._pod = items[0]
        self.acted_at = self.clock() if self.acted_at is None else self.acted_at
        return ""

    def _why_no_pod(self) -> str:
        """What the Deployment says: that a quota, or a policy, refuses its pod."""
        deployment, _problem = self.get(f"{self._deployments}/{self.name}")
        conditions = ((deployment or {}).get("status") or {}).get("conditions") or []
        return next((str(each.get("message")) for each in conditions if each["type"] == "ReplicaFailure"), "")

    def _check_scheduled(self) -> str:
        problem = self._find_pod()
        if problem or (self._pod.get("spec") or {}).get("nodeName"):
            return problem
        conditions = (self._pod.get("status") or {}).get("conditions") or []
        found = next((str(each.get("message") or "") for each in conditions if each["type"] == "PodScheduled"), "")
        return found or "it is Pending"

    def _check_started(self) -> str:
        problem = self._find_pod()
        if problem:
            return problem
        status = self._pod.get("status") or {}
        if status.get("phase") == "Failed":
            refusal = f"its kubelet does not admit the pod: {status.get('message') or status.get('reason')}"
            self.is_final = self.planned["component"] == "kubelet"
            self.unverified = "" if self.is_final else refusal
            return refusal
        statuses = status.get("containerStatuses") or []
        if statuses and all(each.get("ready") for each in statuses):
            return ""
        waiting: Json = next((each["state"]["waiting"] for each in statuses if "waiting" in each["state"]), {})
        if waiting.get("reason") in _PULLS:
            unpulled = f"its image cannot be pulled: {waiting.get('message') or waiting['reason']}"
            if self.planned["component"] == "kubelet":  # which had it before its change
                return unpulled
            self.unverified = unpulled
        event = self._last_warning()
        self._sandbox_problem = str(event.get("message")) if event.get("reason") == _NO_SANDBOX else ""
        return str(
            event.get("message") or waiting.get("message") or waiting.get("reason") or "its kubelet reports nothing"
        )

    def _refuse_to_stop(self, step: Json, problem: str) -> None:
        """A kubelet that cannot make a pod's sandbox would not make that of the changed component, nor of the former one. One without a network still
        starts what uses the node's own. What fails under a leader with the planned settings fails here as well: a run that ended before it could revert
        them left it so. Raises EngineError."""
        if not (self.is_first and self.planned["must_start"]):
            return
        if self._changed_leader and step["is_own"]:
            raise EngineError(
                f"{self._changed_leader} leads with the planned settings, and {step['name']} does not work under it: {problem}"
            )
        if (why := self._sandbox_problem) and "network" not in why:
            raise EngineError(
                f"the kubelet starts no pod, so it would start neither the changed component nor the former one: {why}"
            )

    def _last_warning(self) -> Json:
        name = quote(str(self._pod["metadata"]["name"]))
        events, _problem = self.get(
            f"{self._namespace}/events?fieldSelector=type%3DWarning%2CinvolvedObject.name%3D{name}"
        )
        return dict(((events or {}).get("items") or [{}])[-1])

    def _read_log(self) -> str:
        return self.describe(self.send("GET", f"{self._namespace}/pods/{self._pod['metadata']['name']}/log", None))

    def _use_token(self) -> str:
        if not _has_token(self._pod):
            return "the pod has no volume with one"
        account = str(self._pod["spec"]["serviceAccountName"])
        response = self.send("POST", f"{self._namespace}/serviceaccounts/{account}/token", TOKEN_REQUEST)
        token = token_of(response)
        if not token:
            return self.describe(response)
        return token_problem(self.planned["kubeconfig"], self.settings["server"], token)

    def _find_endpoint(self) -> str:
        path = f"/apis/discovery.k8s.io/v1/namespaces/{self.planned['namespace']}/endpointslices"
        slices, problem = self.get(f"{path}?labelSelector=kubernetes.io%2Fservice-name%3D{self.name}")
        endpoints = [each for item in (slices or {}).get("items") or [] for each in item.get("endpoints") or []]
        return "" if any(each.get("addresses") for each in endpoints) else problem or "no EndpointSlice has it"

    def _delete(self) -> str:
        failure = self._sweep()
        pods, problem = self.get(f"{self._namespace}/pods?{self._selected}")
        return failure or problem or ("it is still there" if (pods or {}).get("items") else "")

    _STEPS: t.ClassVar[dict[str, t.Callable[[Canary], str]]] = {
        "lead": _find_leader,
        "create": _create,
        "find": _find_pod,
        "schedule": _check_scheduled,
        "start": _check_started,
        "log": _read_log,
        "token": _use_token,
        "endpoint": _find_endpoint,
        "delete": _delete,
    }


def problem_of(response: ApiResponse) -> str:
    """Why a request failed, in the words of who refused it; empty for one that did not."""
    if response.status is not None and 200 <= response.status < 300:
        return ""
    message = ""
    with contextlib.suppress(ValueError):
        message = str(json_object(response.body).get("message") or "")
    return f"{response.problem}: {message}" if message else response.problem


def _has_token(pod: Json) -> bool:
    projected = [each.get("projected") or {} for each in pod["spec"].get("volumes") or []]
    return any("serviceAccountToken" in source for each in projected for source in each.get("sources") or [])


def _is_set_so(pod: Json, side: Json) -> bool:
    found, has, lacks = settings_of(pod), set(side["has"]), set(side["lacks"])
    return bool(has or lacks) and has <= found and not lacks & found


def settings_of(pod: Json) -> set[str]:
    """How a static pod is set, as texts: its annotations and each value of its spec, in its manifest as in its mirror pod, where the API has added defaults."""
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    return {f"{name}={value}" for name, value in annotations.items()} | set(_texts_of(pod.get("spec") or {}, ""))


def _texts_of(value: t.Any, path: str) -> t.Iterator[str]:
    """Each value in a value with its path, in which an item of a list is its name; arguments have no order."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _texts_of(each, f"{path}.{key}")
    elif isinstance(value, list):
        for each in value:
            yield from _texts_of(each, f"{path}.{each.get('name', '')}" if isinstance(each, dict) else path)
    else:
        yield f"{path}={value}"


def _tolerations(node: Json) -> list[Json]:
    """For the taints of this node alone."""
    taints = (node.get("spec") or {}).get("taints") or []
    return [{"key": taint["key"], "operator": "Exists", "effect": taint["effect"]} for taint in taints]


def token_of(response: ApiResponse) -> str:
    """The token that an API server has issued; empty when it has not."""
    try:
        return str(json.loads(response.body)["status"]["token"])
    except (ValueError, LookupError, TypeError):
        return ""

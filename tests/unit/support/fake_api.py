# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real HTTP server in the test's process that speaks as much of the Kubernetes API as the modules use.

Its responses were compared with a real API server's: a failed C(test) is a 422, and a test of null holds for a missing member.
"""

from __future__ import annotations

import copy
import functools
import http.server
import json
import threading
import time
import typing as t
from email.message import Message
from urllib.parse import parse_qs, unquote, urlsplit

import jsonpatch
import jsonpointer
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.client import Client
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.http_pool import Pool
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.http_requests import Server
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common import times

Json = dict[str, t.Any]
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
NODE_LEASES = LEASES.replace("kube-system", "kube-node-lease")


def node_lease(name: str, renewed: float) -> Json:
    """The Lease that the kubelet of a node renewed, in seconds since 1970."""
    return {
        "metadata": {"name": name},
        "spec": {"leaseDurationSeconds": 40, "renewTime": times.format_micro_time(renewed)},
    }


class HttpError(Exception):
    """An error status with its message, as an API server sends it."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers


class Handler(http.server.BaseHTTPRequestHandler):
    """Hands one connection's requests to a FakeApi."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each response waits for the client's next packet

    def __init__(self, api: FakeApi, *arguments: t.Any) -> None:
        self._api = api
        super().__init__(*arguments)

    def setup(self) -> None:
        self._api.connections += 1
        super().setup()

    def do_GET(self) -> None:
        self._respond(b"")

    def do_DELETE(self) -> None:
        self._respond(b"")

    def do_PATCH(self) -> None:
        self._respond(self.rfile.read(int(self.headers["Content-Length"])))

    def do_POST(self) -> None:
        self.do_PATCH()

    def do_PUT(self) -> None:
        self.do_PATCH()

    def date_time_string(self, timestamp: float | None = None) -> str:
        return super().date_time_string(self._api.now if timestamp is None else timestamp)

    def _respond(self, body: bytes) -> None:
        with self._api._lock:
            self._api.requests.append(f"{self.command} {self.path}")
            self._api.headers.append(self.headers)
            failures, self._api.failures[:1] = self._api.failures[:1], []
        if failures == [None]:
            self.close_connection = True
            return
        if self._api.balancer_status:
            self._send(self._api.balancer_status, "no server is available")
            return
        try:
            for refusal in filter(None, failures):
                raise refusal
            if "/proxy/pod-resources" in self.path:
                self._send_proxied()
                return
            warning = {"Warning": self._api.warning} if self._api.warning and body else {}
            self._send(200, self._api._route(self.path)(self.command, self.path, body), warning)
        except HttpError as exc:
            self._send(exc.status, {"kind": "Status", "message": str(exc)}, exc.headers)

    def _send_proxied(self) -> None:
        """Respond as a pod does."""
        response = self._api.proxied[unquote(self.path).split("/")[6].partition(":")[0]]
        if isinstance(response, HttpError):
            raise response
        status, body = response if isinstance(response, tuple) else (200, response)
        self._send(status, body)

    def _send(self, status: int, body: Json | str, headers: dict[str, str] | None = None) -> None:
        content = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments: t.Any) -> None:
        """Log nothing."""


class FakeApi:
    """The server. objects: nodes by name. pods: all pods. requests: verb and path of each request, with the query.

    version: of the API server. kubelets: the response of a node's kubelet at /configz, by name: always the same, or one after the other.
    proxied: the response of a pod by the API server's proxy, by its name: a mapping, a status with a text, or the API server's own
    error. secrets: by their names.
    failures: what comes instead of the next responses: an error, or None for a closed connection.
    balancer_status: the status of a load balancer in front, while there is no server behind it.
    warning: the header Warning of each write that is accepted.
    ready: whether /readyz succeeds; while it does not, everything is forbidden.
    before_patch: called with the name of the node before a patch of it is applied.
    responses: those at other paths, without the query: an object, a list of items, a text, or an error. Without one at NODE_LEASES
    every kubelet has just renewed its Lease.
    leases: Leases by name, each with a resourceVersion that every write raises; before_write: called before one is written.
    granted: what the account may do, as verb and name of the object, empty for all.
    now: the time by its clock, in seconds since 1970; None for the true time.
    connections: how many were opened.
    """

    def __init__(self, *nodes: Json) -> None:
        self.objects = {node["metadata"]["name"]: copy.deepcopy(node) for node in nodes}
        self.pods: list[Json] = []
        self.version = "v1.37.2"
        self.kubelets: dict[str, Json | HttpError | list[Json | HttpError]] = {}
        self.proxied: dict[str, Json | tuple[int, str] | HttpError] = {}
        self.secrets: dict[str, Json] = {}
        self.responses: dict[str, Json | list[Json] | str | HttpError] = {}
        self.requests: list[str] = []
        self.headers: list[Message[str, str]] = []
        self.failures: list[HttpError | None] = []
        self.before_patch: t.Callable[[str], None] = lambda name: None
        self.leases: dict[str, Json] = {}
        self.before_write: t.Callable[[], None] = lambda: None
        self.granted: set[tuple[str, str]] = set()
        self.now: float | None = None
        self.connections = 0
        self.ready = True
        self.balancer_status: int | None = None
        self.warning = ""
        self._lock = threading.Lock()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        """End the server; its port refuses connections from then on."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def paths(self, verb: str) -> list[str]:
        """The paths of the requests with one verb."""
        return [request.partition(" ")[2] for request in self.requests if request.startswith(verb)]

    def _serve_core(self, verb: str, path: str, body: bytes) -> Json:
        if not self.ready:
            raise HttpError(403, "forbidden: RBAC is not there yet")
        parts = urlsplit(path)
        if parts.path == "/readyz":
            return {}
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        kind, *names = unquote(parts.path)[len("/api/v1/") :].split("/")
        with self._lock:
            if kind in ("namespaces", "pods"):
                return self._list_namespaced(names, query)
            if not names:
                nodes = [self.objects[name] for name in sorted(self.objects)]
                return self._page(self._filter_by_label(query.get("labelSelector"), nodes), query)
            if names[0] not in self.objects:
                raise HttpError(404, f'nodes "{names[0]}" not found')
            if names[1:] == ["proxy", "configz"]:
                responses = self.kubelets[names[0]]
                response = responses.pop(0) if isinstance(responses, list) else responses
                if isinstance(response, HttpError):
                    raise response
                return response
            if verb == "GET":
                return self.objects[names[0]]
            self.before_patch(names[0])
            return self._patch(names[0], json.loads(body), status=len(names) > 1, dry="dryRun" in query)

    def _list_namespaced(self, names: list[str], query: dict[str, str]) -> Json:
        """Objects in namespaces; without names the pods of all. names: of the namespace, the kind, and the object, if any."""
        if names[1:2] == ["secrets"]:
            if names[2] not in self.secrets:
                raise HttpError(404, f'secrets "{names[2]}" not found')
            return self.secrets[names[2]]
        own = [pod for pod in self.pods if not names or pod["metadata"]["namespace"] == names[0]]
        return self._page(self._filter_by_label(query.get("labelSelector"), self._filter_by_field(own, query)), query)

    def _route(self, path: str) -> t.Callable[[str, str, bytes], Json | str]:
        if unquote(urlsplit(path).path) in self.responses:
            return self._canned_response
        if path == "/version":
            return lambda *_request: {"gitVersion": self.version}
        if path.startswith("/apis/auth"):
            return self._review
        if path.startswith(NODE_LEASES):
            return self._node_leases
        return self._lease if path.startswith(LEASES) else self._serve_core

    def _canned_response(self, _verb: str, path: str, _body: bytes) -> Json | str:
        response = self.responses[unquote(urlsplit(path).path)]
        if isinstance(response, HttpError):
            raise response
        query = {key: values[0] for key, values in parse_qs(urlsplit(path).query).items()}
        return self._page(response, query) if isinstance(response, list) else response

    def _node_leases(self, _verb: str, _path: str, _body: bytes) -> Json:
        now = time.time() if self.now is None else self.now
        return {"metadata": {}, "items": [node_lease(name, now) for name in self._kubelets()]}

    def _kubelets(self) -> t.Iterable[str]:
        """The nodes whose kubelets renew their Leases."""
        return self.objects

    def _review(self, _verb: str, _path: str, body: bytes) -> Json:
        review: Json = json.loads(body)
        if review["kind"] == "SelfSubjectReview":
            return {"status": {"userInfo": {"username": "runner"}}}
        attributes = review["spec"]["resourceAttributes"]
        return {"status": {"allowed": (attributes["verb"], attributes.get("name", "")) in self.granted}}

    def _lease(self, verb: str, path: str, body: bytes) -> Json:
        place, _question, query = path.partition("?")
        name = place[len(LEASES) :].strip("/")
        with self._lock:
            if verb == "GET":
                if name not in self.leases:
                    raise HttpError(404, f'leases "{name}" not found')
                return self.leases[name]
            self.before_write()
            lease: Json = json.loads(body)
            name = lease["metadata"]["name"]
            found = self.leases.get(name)
            version = found["metadata"]["resourceVersion"] if found else None
            if (verb == "POST") is bool(found) or lease["metadata"].get("resourceVersion") != version:
                raise HttpError(409, f'leases "{name}": the object has been modified')
            lease["metadata"]["resourceVersion"] = str(int(version or 0) + 1)
            if "dryRun" not in query:
                self.leases[name] = lease
            return lease

    def _page(self, items: list[Json], query: dict[str, str]) -> Json:
        start, limit = int(query.get("continue", "0")), int(query["limit"])
        following = {"continue": str(start + limit)} if len(items) > start + limit else {}
        return {"metadata": following, "items": items[start : start + limit]}

    def _filter_by_label(self, selector: str | None, objects: list[Json]) -> list[Json]:
        key, _equals, value = (selector or "").partition("=")
        return [entry for entry in objects if not selector or entry["metadata"].get("labels", {}).get(key) == value]

    def _filter_by_field(self, pods: list[Json], query: dict[str, str]) -> list[Json]:
        selector = query.get("fieldSelector")
        return [pod for pod in pods if not selector or f"spec.nodeName={pod['spec']['nodeName']}" == selector]

    def _patch(self, name: str, operations: list[Json], *, status: bool, dry: bool) -> Json:
        node = copy.deepcopy(self.objects[name])
        for operation in operations:
            found = jsonpointer.resolve_pointer(node, operation["path"], None)
            if operation["op"] == "test":
                if found != operation["value"]:
                    raise HttpError(422, "the server rejected our request due to an error in our request")
            else:
                node = jsonpatch.apply_patch(node, [operation])
        if not status:
            node["status"] = self.objects[name]["status"]
        if not dry:
            self.objects[name] = node
        return node


class Clock:
    """Time that passes only during a sleep."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []
        self.on_sleep: t.Callable[[], None] = lambda: None

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        self.on_sleep()


def client_of(url: str, clock: Clock, *others: str, **more: t.Any) -> Client:
    """A client as a module would have it. others: more addresses of the API."""
    pools = [Pool(Server(each)) for each in (url, *others)]
    headers = {"authorization": "Bearer t"}
    return Client(pools, lambda: headers, outage_timeout=60.0, clock=clock, sleep=clock.sleep, **more)

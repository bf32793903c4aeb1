# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests to the Kubernetes API: plain JSON over connections that are reused.

An API server that restarts is waited for. A final refusal becomes an error with the API server's own message.
"""

from __future__ import annotations

import email.utils
import json
import re
import threading
import time
import typing as t
from http import HTTPStatus
from types import MappingProxyType
from urllib.parse import quote, urlencode

from .._engine.http_requests import Headers, HeaderValues, Response, Server, header_lines
from .._plan.common.errors import KubeadmError
from .._plan.documents.json_patch import PatchOperation
from .http_pool import ConnectionFailure, Pool, ReadTimeout

Json = dict[str, t.Any]
Params = t.Mapping[str, t.Any]  # the options of a module
Connect = t.Callable[[], "Client"]

USER_AGENT = "nodecraft.kubeadm"
PAGE = 500  # as kubectl has it; a thousand bare nodes are 0.9 to 1.3 MB
# Seconds that an API server has to come back. Seen on a single control plane: 41 s, of which 30 s to stop.
OUTAGE_TIMEOUT = 60.0

_TIMEOUT = 30.0
_PROXY_TIMEOUT = 15.0  # of a request that the API server proxies to a pod or a kubelet
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 2.0
# Statuses of a server that is busy, stops or starts (/readyz then has 500), or of a load balancer that reaches none.
_BUSY = (429, 500, 502, 503, 504)
_NO_BACKEND = (502, 503, 504)  # of a load balancer without an API server
# What to do about a refusal, where the API server's message does not say it.
_ADVICE: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "The credentials are not known there, or have expired.",
    HTTPStatus.FORBIDDEN: "Grant the account this right, or use another account for the task.",
}
_STATUS = "Status"  # the kind of the API server's own messages, as opposed to proxied responses
_JSON = "application/json"
# Objects without spec, data and status: what is not sent cannot leak.
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
_JSON_PATCH = "application/json-patch+json"
_STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_RBAC_DENIAL = re.compile(r"\bcannot [a-z]+ (?:resource|path) ")  # admission has other messages


class ApiError(KubeadmError):
    """The API server refused a request. status: its HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class NoResponse(ApiError):
    """No API server responded in time; the request may have taken effect. status: of the last response of something else; 0 for none."""


class ApiResponse(t.NamedTuple):
    """One response. status: of HTTP; None for no response. body: its JSON object, if it is one. text: else its body.

    wait: seconds of its Retry-After header. problem: status and reason, for an error.
    warnings: the texts of its Warning headers, which come with requests that are accepted.
    """

    status: int | None
    problem: str
    body: Json | None = None
    text: str = ""
    wait: float = 0.0
    warnings: tuple[str, ...] = ()


class Addresses:
    """The addresses of one API. Sends a request, once, to each of them until one responds, which is tried first from then on.

    It is apart from C(Client) because it knows neither objects nor what a refusal means, and retries nothing.

    headers: what each request carries (a list: one header for each entry), determined again because tokens run out.
    server: the address of the API server that responded last, if any. date: the Date header of that response.
    """

    def __init__(self, pools: t.Sequence[Pool], headers: t.Callable[[], HeaderValues]) -> None:
        self.server = ""
        self.date = ""
        self.pool = pools[0]
        self._pools = pools
        self._headers = headers

    def send(
        self,
        verb: str,
        target: str,
        body: t.Any = None,
        *,
        headers: t.Mapping[str, str] | None = None,
        timeout: float = _TIMEOUT,
    ) -> ApiResponse:
        """Send one request, once, to each address until one responds."""
        own_headers = [*{"Accept": _JSON, "User-Agent": USER_AGENT, **(headers or {})}.items()]
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            own_headers.append(("Content-Type", _content_type(verb, body)))
        first = self.pool
        failure: ConnectionFailure | None = None
        response: ApiResponse | None = None
        for pool in (first, *(other for other in self._pools if other is not first)):
            try:
                response = self._send_to(pool, verb, target, headers=own_headers, body=content, timeout=timeout)
            except ConnectionFailure as exc:
                failure = failure or exc
                continue
            if response.status in _NO_BACKEND and response.body is None:
                continue
            self.pool = pool
            return response
        if response is not None:
            return response
        if failure is not None and failure.permanent:
            raise KubeadmError(f"no connection to the API server {first.url}: {failure}") from failure
        return ApiResponse(None, str(failure))

    def _send_to(
        self, pool: Pool, verb: str, target: str, *, headers: Headers, body: bytes | None, timeout: float
    ) -> ApiResponse:
        try:
            credentials = header_lines(self._headers())
            response = pool.request(verb, target, headers=[*headers, *credentials], body=body, timeout=timeout)
        except ReadTimeout as exc:
            # As an API server reports it of a kubelet or pod.
            return ApiResponse(HTTPStatus.GATEWAY_TIMEOUT, str(exc), {"kind": _STATUS})
        except ValueError:  # its message would show the token
            raise KubeadmError(
                f"the request to {pool.url} cannot be sent: api_key or another credential has a line break or a character that"
                " no HTTP header may have."
            ) from None
        self.date = response.headers.get("Date", "")
        parsed = _parse_response(response)
        if parsed.body is not None or parsed.status not in _NO_BACKEND:
            self.server = pool.url
        return parsed


class Outage:
    """The time in which an API server does not respond. One for all threads of a client, or each would wait for it on its own.

    It is apart from C(Client) because it alone measures the time. timeout: seconds for which requests are sent again.
    """

    def __init__(self, timeout: float, *, clock: t.Callable[[], float], sleep: t.Callable[[float], None]) -> None:
        self.timeout = timeout
        self._clock = clock
        self._sleep = sleep
        self._started: float | None = None

    def end(self) -> None:
        """An API server responded."""
        self._started = None

    def wait(self, seconds: float, *, url: str, problem: str, status: int) -> None:
        """Wait before the next attempt. Raises NoResponse when the time is over."""
        now, started = self._clock(), self._started
        if started is None:  # another thread may end it meanwhile
            started = self._started = now
        left = started + self.timeout - now
        if left <= 0:
            raise NoResponse(
                f"the API server {url} did not answer for {self.timeout:.0f} s. Check that it runs and that this is its address."
                f" The last attempt was {problem}",
                status,
            )
        self._sleep(min(seconds, left))


class Client:
    """One API. Its methods may be called from several threads at once.

    pools: connections to it; where there are several addresses, the next one is tried when one does not respond.
    headers: what each request carries (a list: one header for each entry), determined again because tokens run out.
    outage_timeout: seconds for which requests to an API server that does not respond are sent again.
    advice: what to do about a refusal, by its status. check: called once, before the first request; what it raises ends that.
    connect_to: makes connections to another address of the same API.
    """

    def __init__(
        self,
        pools: t.Sequence[Pool],
        headers: t.Callable[[], HeaderValues],
        *,
        outage_timeout: float = OUTAGE_TIMEOUT,
        advice: t.Mapping[int, str] = MappingProxyType({}),
        check: t.Callable[[Client], None] | None = None,
        connect_to: t.Callable[[str], Pool] = lambda url: Pool(Server(url)),
        clock: t.Callable[[], float] = time.monotonic,
        sleep: t.Callable[[float], None] = time.sleep,
    ) -> None:
        self.clock = clock
        self.sleep = sleep
        self.warnings: dict[str, None] = {}  # the API server's own, each once
        self._addresses = Addresses(pools, headers)
        self._outage = Outage(outage_timeout, clock=clock, sleep=sleep)
        self._headers = headers
        self._advice = {**_ADVICE, **advice}
        self._check = check
        self._connect_to = connect_to
        self._checking = threading.RLock()

    @property
    def url(self) -> str:
        """The address that requests go to at present."""
        return self._addresses.pool.url

    @property
    def server(self) -> str:
        """The address of the API server that responded last, if any."""
        return self._addresses.server

    def without_retries(self) -> Client:
        """A client of the same API server that sends each request once: for what is good to know, and not worth waiting for."""
        pools = [self._addresses.pool]
        return Client(pools, self._headers, outage_timeout=0.0, check=self._check, clock=self.clock, sleep=self.sleep)

    def at(self, url: str) -> Client:
        """One API server of the same cluster, at an address of its own, with the same credentials and without retries."""
        return Client([self._connect_to(url)], self._headers, outage_timeout=0.0, clock=self.clock, sleep=self.sleep)

    def list_server_urls(self) -> list[str]:
        """The addresses of all API servers, as they register themselves in the endpoints of the Service kubernetes."""
        slices = self.list(SLICES, labelSelector="kubernetes.io/service-name=kubernetes")
        return [
            f"https://{f'[{address}]' if ':' in address else address}:{port['port']}"
            for each in slices
            for port in each.get("ports") or []
            for endpoint in each.get("endpoints") or []
            for address in endpoint["addresses"]
            if port.get("name") == "https"
        ]

    def get(self, path: str, *, metadata_only: bool = False) -> Json:
        """Read one object. path: below C(/api/v1), such as C(nodes/w1), or from the root with a leading slash.

        metadata_only: the API server leaves out all but C(metadata), so that the data of a Secret does not get here.
        """
        return self._request("GET", path, accept=_METADATA if metadata_only else _JSON)

    def find(self, path: str, *, metadata_only: bool = False) -> Json | None:
        """Read one object; None where there is none."""
        try:
            return self.get(path, metadata_only=metadata_only)
        except ApiError as exc:
            if exc.status != HTTPStatus.NOT_FOUND:
                raise
            return None

    def get_proxied(self, path: str, headers: t.Mapping[str, str]) -> ApiResponse:
        """Send a GET that the API server proxies to a pod or kubelet, and return its response, whatever that is. path: with C(proxy) in it.

        headers: besides the usual ones. Raises ApiError when the API server refuses the request or does not reach its target; that is
        not tried again, because a pod that does not respond is no outage of the API server.
        """
        return self._send_with_retries("GET", path, proxied=True, headers=headers)

    def create(self, path: str, content: Json, *, dry_run: bool) -> Json:
        """Make an object in the list at a path."""
        return self._request("POST", path, body=content, fieldManager=USER_AGENT, dryRun="All" if dry_run else "")

    def replace(self, path: str, content: Json, *, dry_run: bool) -> Json:
        """Write a whole object. It is refused (409) when the object is not at the resourceVersion in content any more."""
        return self._request("PUT", path, body=content, fieldManager=USER_AGENT, dryRun="All" if dry_run else "")

    def delete(self, path: str, *, dry_run: bool, **query: str) -> Json:
        """Remove an object, or those of a list that a query selects."""
        return self._request("DELETE", path, dryRun="All" if dry_run else "", **query)

    def poll(
        self,
        condition: t.Callable[[], bool],
        timeout: float,
        interval: float,
        refresh: t.Callable[[], object] = lambda: None,
    ) -> bool:
        """Wait, by our own clock, until a condition holds. Returns whether it does, which is checked once more when the time is over.

        timeout, interval: in seconds. refresh: reads again what the condition goes by, before each check but the first.
        """
        deadline = self.clock() + timeout
        while not condition():
            if self.clock() >= deadline:
                return False
            self.sleep(interval)
            refresh()
        return True

    def server_time(self) -> float:
        """The time by the API server's clock in its last response, in whole seconds since 1970."""
        try:
            return email.utils.parsedate_to_datetime(self._addresses.date).timestamp()
        except (TypeError, ValueError) as exc:
            raise KubeadmError(f"{self.url} does not tell the time: its responses have no Date header.") from exc

    def list(self, path: str, *, metadata_only: bool = False, **query: str) -> list[Json]:
        """Read all objects of a list, page by page. metadata_only: as of C(get)."""
        accept = _METADATA_LIST if metadata_only else _JSON
        items: list[Json] = []
        following = ""
        while True:
            try:
                page = self._request("GET", path, accept=accept, limit=str(PAGE), **{"continue": following}, **query)
            except ApiError as exc:
                if exc.status != HTTPStatus.GONE or not following:
                    raise
                # The continue token has expired, so the list is read from its start.
                items, following = [], ""
                continue
            items += page.get("items") or []
            following = page.get("metadata", {}).get("continue") or ""
            if not following:
                return items

    def patch(self, path: str, operations: t.Sequence[PatchOperation], *, dry_run: bool) -> Json:
        """Send a JSON Patch and return the object after it."""
        return self._request(
            "PATCH", path, body=list(operations), fieldManager=USER_AGENT, dryRun="All" if dry_run else ""
        )

    def strategic_merge(self, path: str, content: Json, *, dry_run: bool) -> Json:
        """Send a strategic merge patch, which finds entries of lists by their names, and return the object after it.

        It is refused (409) when content has a resourceVersion that the object is not at any more.
        """
        return self._request("PATCH", path, body=content, fieldManager=USER_AGENT, dryRun="All" if dry_run else "")

    def _request(self, verb: str, path: str, *, body: t.Any = None, accept: str = _JSON, **query: str) -> Json:
        response = self._send_with_retries(verb, path, body=body, query=query, headers={"Accept": accept})
        if response.body is None:
            raise KubeadmError(f"{self.url} is not a Kubernetes API server: its response to {verb} {path} is not JSON.")
        return response.body

    def _send_with_retries(
        self,
        verb: str,
        path: str,
        *,
        body: t.Any = None,
        query: t.Mapping[str, str] | None = None,
        proxied: bool = False,
        headers: t.Mapping[str, str] | None = None,
    ) -> ApiResponse:
        """Send a request until it gets a final response. proxied: the API server passes it on, and only a refusal of its own is an error."""
        arguments = urlencode({key: value for key, value in (query or {}).items() if value})
        place = path if path.startswith("/") else f"/api/v1/{path}"
        target = quote(place, safe="/:") + (f"?{arguments}" if arguments else "")
        timeout = _PROXY_TIMEOUT if proxied else _TIMEOUT
        busy = (HTTPStatus.TOO_MANY_REQUESTS,) if proxied else _BUSY
        pause, is_final = _FIRST_PAUSE, False
        self._check_once()
        while True:
            response = self._addresses.send(verb, target, body, headers=headers or {}, timeout=timeout)
            self.warnings.update(dict.fromkeys(response.warnings))
            if proxied and response.status is not None and (response.body or {}).get("kind") != _STATUS:
                self._outage.end()
                return response
            if response.status == HTTPStatus.FORBIDDEN and not is_final:
                # An API server that just started knows no client's rights yet and forbids everything.
                is_final = self._is_ready()
                if is_final:
                    continue
            elif response.status is not None and response.status not in busy:
                self._outage.end()
                if response.status >= 400:
                    raise ApiError(f"{self.url} refused {verb} {path}: {self._advise(response)}", response.status)
                return response
            problem = f"{verb} {path}: {response.problem}"
            self._outage.wait(max(response.wait, pause), url=self.url, problem=problem, status=response.status or 0)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _check_once(self) -> None:
        """Make the check that comes before the first request. Its own requests are made by the same thread."""
        if self._check is None:
            return
        with self._checking:
            check, self._check = self._check, None
            if check is not None:
                try:
                    check(self)
                except BaseException:
                    self._check = check
                    raise

    def _advise(self, response: ApiResponse) -> str:
        """What is wrong, and what to do about it."""
        own = self._advice.get(response.status or 0)
        if own is None or (response.status == HTTPStatus.FORBIDDEN and not _RBAC_DENIAL.search(response.problem)):
            return response.problem
        return f"{response.problem}. {own}"

    def _is_ready(self) -> bool:
        """Whether the API server reports that it has started."""
        return self._addresses.send("GET", "/readyz").status == HTTPStatus.OK


def _parse_response(response: Response) -> ApiResponse:
    wait = response.headers.get("Retry-After", "")
    body = _decode_object(response.data)
    return ApiResponse(
        response.status,
        _problem(response.status, body),
        body,
        "" if body else response.data.decode(errors="replace").strip(),
        float(wait) if wait.isdigit() else 0.0,
        tuple(
            re.sub(r"\\(.)", r"\1", text)
            for header in response.headers.get_all("Warning", [])
            for text in _WARNING.findall(header)
        ),
    )


def _decode_object(data: bytes) -> Json | None:
    try:
        decoded = json.loads(data)
    except ValueError:
        return None
    return decoded if isinstance(decoded, dict) else None


def _content_type(verb: str, body: t.Any) -> str:
    if verb != "PATCH":
        return "application/json"
    return _JSON_PATCH if isinstance(body, list) else _STRATEGIC_MERGE_PATCH


def _problem(status: int, body: Json | None) -> str:
    reason = (body or {}).get("message") or (body or {}).get("reason") or "no reason was given"
    return f"{status}, {reason}"

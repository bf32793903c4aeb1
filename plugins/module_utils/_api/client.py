# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests to the Kubernetes API: plain JSON over connections that are kept.

An API server that restarts is waited for. What it answers for good ends in an error that holds its own words.
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
PATIENCE = 60.0

_TIMEOUT = 30.0
_TIMEOUT_BEHIND = 15.0  # of what the API server passes a request on to
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 2.0
# Of a server that is busy, stops or starts (/readyz then has 500), or of a load balancer that reaches none.
_BUSY = (429, 500, 502, 503, 504)
_NO_BACKEND = (502, 503, 504)  # as a load balancer says it
# What there is to do about a refusal that Kubernetes' own words leave open.
_ADVICE: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "The credentials are not known there, or have expired.",
    HTTPStatus.FORBIDDEN: "Grant the account this right, or use another account for the task.",
}
_STATUS = "Status"  # the kind of what an API server says itself
_JSON = "application/json"
# An object without spec, data and status: what an API server does not send, nothing can show.
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
_JSON_PATCH = "application/json-patch+json"
_STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_LACKS_A_RIGHT = re.compile(r"\bcannot [a-z]+ (?:resource|path) ")  # admission forbids in other words


class ApiError(KubeadmError):
    """The API server declined. status: its HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class NoResponse(ApiError):
    """No API server answered in time: what was sent may have taken effect all the same. status: of the last answer in its place; 0 for none."""


class ApiAnswer(t.NamedTuple):
    """What came back. status: of HTTP; None for no answer. found: its JSON object, if it is one. text: else its words.

    wait: seconds for which the sender asks to be left alone. problem: what is wrong, as far as it is.
    warnings: what the API server says of a request that it accepts.
    """

    status: int | None
    problem: str
    found: Json | None = None
    text: str = ""
    wait: float = 0.0
    warnings: tuple[str, ...] = ()


class Addresses:
    """The addresses of one API. Sends a request, once, to each of them until one answers, which is asked first from then on.

    It is apart from C(Client) because it knows neither objects nor what a refusal means, and waits for nothing but an answer.

    headers: what each request carries (a list: one header for each entry), determined again because tokens run out.
    server: by which address an API server answered last, if any. date: what its clock said then.
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
    ) -> ApiAnswer:
        """Send one request, once, to each address until one answers."""
        sent = [*{"Accept": _JSON, "User-Agent": USER_AGENT, **(headers or {})}.items()]
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            sent.append(("Content-Type", _content_type(verb, body)))
        first = self.pool
        failure: ConnectionFailure | None = None
        answer: ApiAnswer | None = None
        for pool in (first, *(other for other in self._pools if other is not first)):
            try:
                answer = self._send_to(pool, verb, target, headers=sent, body=content, timeout=timeout)
            except ConnectionFailure as exc:
                failure = failure or exc
                continue
            if answer.status in _NO_BACKEND and answer.found is None:
                continue
            self.pool = pool
            return answer
        if answer is not None:
            return answer
        if failure is not None and failure.lasting:
            raise KubeadmError(f"no connection to the API server {first.url}: {failure}") from failure
        return ApiAnswer(None, str(failure))

    def _send_to(
        self, pool: Pool, verb: str, target: str, *, headers: Headers, body: bytes | None, timeout: float
    ) -> ApiAnswer:
        try:
            own = header_lines(self._headers())
            response = pool.request(verb, target, headers=[*headers, *own], body=body, timeout=timeout)
        except ReadTimeout as exc:
            # As an API server says it of what is behind it.
            return ApiAnswer(HTTPStatus.GATEWAY_TIMEOUT, str(exc), {"kind": _STATUS})
        except ValueError:  # its words would show the token
            raise KubeadmError(
                f"the request to {pool.url} cannot be sent: api_key or another credential has a line break or a character that"
                " no HTTP header may have."
            ) from None
        self.date = response.headers.get("Date", "")
        answer = _answer_of(response)
        if answer.found is not None or answer.status not in _NO_BACKEND:
            self.server = pool.url
        return answer


class Outage:
    """The time in which an API server does not answer. One for all threads of a client, or each would wait for it on its own.

    It is apart from C(Client) because it alone knows the time. patience: seconds for which it is asked again.
    """

    def __init__(self, patience: float, *, clock: t.Callable[[], float], sleep: t.Callable[[float], None]) -> None:
        self.patience = patience
        self._clock = clock
        self._sleep = sleep
        self._began: float | None = None

    def end(self) -> None:
        """Something was answered."""
        self._began = None

    def wait(self, seconds: float, *, url: str, problem: str, status: int) -> None:
        """Wait before the next attempt. Raises NoResponse when the time is over."""
        now, began = self._clock(), self._began
        if began is None:  # another thread may end it meanwhile
            began = self._began = now
        left = began + self.patience - now
        if left <= 0:
            raise NoResponse(
                f"the API server {url} did not answer for {self.patience:.0f} s. Check that it runs and that this is its address."
                f" The last attempt was {problem}",
                status,
            )
        self._sleep(min(seconds, left))


class Client:
    """One API. Its methods may be called from several threads at once.

    pools: connections to it; where there are several addresses, the next one is asked when one does not answer.
    headers: what each request carries (a list: one header for each entry), determined again because tokens run out.
    patience: seconds for which an API server that does not answer is asked again.
    advice: what there is to do about a refusal, by its status. check: called once, before the first request; what it raises ends that.
    reach: makes connections to another address of the same API.
    """

    def __init__(
        self,
        pools: t.Sequence[Pool],
        headers: t.Callable[[], HeaderValues],
        *,
        patience: float = PATIENCE,
        advice: t.Mapping[int, str] = MappingProxyType({}),
        check: t.Callable[[Client], None] | None = None,
        reach: t.Callable[[str], Pool] = lambda url: Pool(Server(url)),
        clock: t.Callable[[], float] = time.monotonic,
        sleep: t.Callable[[float], None] = time.sleep,
    ) -> None:
        self.clock = clock
        self.sleep = sleep
        self.warnings: dict[str, None] = {}  # the API server's own, each once
        self._addresses = Addresses(pools, headers)
        self._outage = Outage(patience, clock=clock, sleep=sleep)
        self._headers = headers
        self._advice = {**_ADVICE, **advice}
        self._check = check
        self._reach = reach
        self._checking = threading.RLock()

    @property
    def url(self) -> str:
        """The address that is asked at present."""
        return self._addresses.pool.url

    @property
    def server(self) -> str:
        """The address by which an API server answered last, if any."""
        return self._addresses.server

    def once(self) -> Client:
        """The same API server, but asked only once: for what is good to know, and not worth waiting for."""
        pools = [self._addresses.pool]
        return Client(pools, self._headers, patience=0.0, check=self._check, clock=self.clock, sleep=self.sleep)

    def at(self, url: str) -> Client:
        """One API server of the same cluster, at an address of its own, with the same credentials. It is asked only once."""
        return Client([self._reach(url)], self._headers, patience=0.0, clock=self.clock, sleep=self.sleep)

    def servers(self) -> list[str]:
        """The addresses of all API servers, as each of them notes its own."""
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

    def get_behind(self, path: str, headers: t.Mapping[str, str]) -> ApiAnswer:
        """Read what a pod answers to a request that the API server passes on, whatever it is. path: with C(proxy) in it.

        headers: besides the usual ones. Raises ApiError when the request is refused or does not get there; that is not tried
        again, because one pod that is silent says nothing of the API server.
        """
        return self._answer("GET", path, behind=True, headers=headers)

    def create(self, path: str, content: Json, *, dry_run: bool) -> Json:
        """Make an object in the list at a path."""
        return self._request("POST", path, body=content, fieldManager=USER_AGENT, dryRun="All" if dry_run else "")

    def replace(self, path: str, content: Json, *, dry_run: bool) -> Json:
        """Write a whole object. It is refused (409) when the object is not at the resourceVersion in content any more."""
        return self._request("PUT", path, body=content, fieldManager=USER_AGENT, dryRun="All" if dry_run else "")

    def delete(self, path: str, *, dry_run: bool) -> Json:
        """Remove an object."""
        return self._request("DELETE", path, dryRun="All" if dry_run else "")

    def poll(
        self,
        condition: t.Callable[[], bool],
        timeout: float,
        interval: float,
        look: t.Callable[[], object] = lambda: None,
    ) -> bool:
        """Wait, by our own clock, until something is so. Returns whether it is, which is checked once more when the time is over.

        interval: only tells how soon it is seen, and how many requests that takes. look: asks for what the condition goes by, before each check
        but the first.
        """
        deadline = self.clock() + timeout
        while not condition():
            if self.clock() >= deadline:
                return False
            self.sleep(interval)
            look()
        return True

    def server_time(self) -> float:
        """What the clock of the API server said in its last answer, in seconds since 1970. Whole seconds."""
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
                # The list as it was when it was begun is forgotten.
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

    def merge(self, path: str, content: Json, *, dry_run: bool) -> Json:
        """Send a strategic merge patch, which finds entries of lists by their names, and return the object after it.

        It is refused (409) when content has a resourceVersion that the object is not at any more.
        """
        return self._request("PATCH", path, body=content, fieldManager=USER_AGENT, dryRun="All" if dry_run else "")

    def _request(self, verb: str, path: str, *, body: t.Any = None, accept: str = _JSON, **query: str) -> Json:
        answer = self._answer(verb, path, body=body, query=query, headers={"Accept": accept})
        if answer.found is None:
            raise KubeadmError(f"{self.url} is not a Kubernetes API server: its response to {verb} {path} is not JSON.")
        return answer.found

    def _answer(
        self,
        verb: str,
        path: str,
        *,
        body: t.Any = None,
        query: t.Mapping[str, str] | None = None,
        behind: bool = False,
        headers: t.Mapping[str, str] | None = None,
    ) -> ApiAnswer:
        """Send a request until it is answered. behind: it is passed on, and only what the API server says itself is an error."""
        arguments = urlencode({key: value for key, value in (query or {}).items() if value})
        place = path if path.startswith("/") else f"/api/v1/{path}"
        target = quote(place, safe="/:") + (f"?{arguments}" if arguments else "")
        timeout = _TIMEOUT_BEHIND if behind else _TIMEOUT
        busy = (HTTPStatus.TOO_MANY_REQUESTS,) if behind else _BUSY
        pause, believed = _FIRST_PAUSE, False
        self._check_once()
        while True:
            answer = self._addresses.send(verb, target, body, headers=headers or {}, timeout=timeout)
            self.warnings.update(dict.fromkeys(answer.warnings))
            if behind and answer.status is not None and (answer.found or {}).get("kind") != _STATUS:
                self._outage.end()
                return answer
            if answer.status == HTTPStatus.FORBIDDEN and not believed:
                # An API server that just started knows no client's rights yet and forbids everything.
                believed = self._is_ready()
                if believed:
                    continue
            elif answer.status is not None and answer.status not in busy:
                self._outage.end()
                if answer.status >= 400:
                    raise ApiError(f"{self.url} refused {verb} {path}: {_advised(answer, self._advice)}", answer.status)
                return answer
            problem = f"{verb} {path}: {answer.problem}"
            self._outage.wait(max(answer.wait, pause), url=self.url, problem=problem, status=answer.status or 0)
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

    def _is_ready(self) -> bool:
        """Whether the API server says that its start is behind it."""
        return self._addresses.send("GET", "/readyz").status == HTTPStatus.OK


def _answer_of(response: Response) -> ApiAnswer:
    wait = response.headers.get("Retry-After", "")
    found = _decoded(response.data)
    return ApiAnswer(
        response.status,
        _problem(response.status, found),
        found,
        "" if found else response.data.decode(errors="replace").strip(),
        float(wait) if wait.isdigit() else 0.0,
        tuple(
            re.sub(r"\\(.)", r"\1", text)
            for header in response.headers.get_all("Warning", [])
            for text in _WARNING.findall(header)
        ),
    )


def _decoded(data: bytes) -> Json | None:
    try:
        found = json.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _advised(answer: ApiAnswer, advice: t.Mapping[int, str]) -> str:
    """What is wrong, and what there is to do about it."""
    own = advice.get(answer.status or 0)
    if own is None or (answer.status == HTTPStatus.FORBIDDEN and not _LACKS_A_RIGHT.search(answer.problem)):
        return answer.problem
    return f"{answer.problem}. {own}"


def _content_type(verb: str, body: t.Any) -> str:
    if verb != "PATCH":
        return "application/json"
    return _JSON_PATCH if isinstance(body, list) else _STRATEGIC_MERGE_PATCH


def _problem(status: int, answer: Json | None) -> str:
    words = (answer or {}).get("message") or (answer or {}).get("reason") or "no reason was given"
    return f"{status}, {words}"

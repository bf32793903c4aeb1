# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests against a real HTTP server: pages, busy and restarting API servers, refusals."""

from __future__ import annotations

import socketserver
import threading
import typing as t

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.client import PAGE, ApiError, Client
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._api.http_pool import Pool, ReadTimeout
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.http_requests import Server
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.common.errors import KubeadmError
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_api import Clock, FakeApi, HttpError, client_of
from ansible_collections.nodecraft.kubeadm.tests.unit.support.nodes import node

Serve = t.Callable[..., FakeApi]


def test_an_object_with_our_credentials(serve: Serve) -> None:
    api = serve(node("w1"))
    assert client_of(api.url, Clock()).get("nodes/w1")["metadata"]["name"] == "w1"
    assert api.headers[0]["authorization"] == "Bearer t"
    assert api.headers[0]["User-Agent"] == "nodecraft.kubeadm"


def test_an_object_that_may_not_exist(serve: Serve) -> None:
    api = serve(node("w1"))
    client = client_of(api.url, Clock())
    assert client.find("nodes/w2") is None
    found = client.find("nodes/w1")
    assert found is not None
    assert found["metadata"]["name"] == "w1"
    api.failures = [HttpError(400, "not so")]
    with pytest.raises(ApiError, match="not so"):
        client.find("nodes/w1")


def test_a_header_with_several_values(serve: Serve) -> None:
    api = serve(node("w1"))
    Client([Pool(Server(api.url))], lambda: {"Impersonate-Group": ["a", "b"]}).get("nodes/w1")
    assert api.headers[0].get_all("Impersonate-Group") == ["a", "b"]


@pytest.mark.parametrize("token", ["geh\neim", "geheim\u2603"])
def test_invalid_token_is_not_in_the_error(serve: Serve, token: str) -> None:
    client = Client([Pool(Server(serve(node("w1")).url))], lambda: {"authorization": f"Bearer {token}"})
    with pytest.raises(KubeadmError, match="api_key or another credential") as caught:
        client.get("nodes/w1")
    assert "geh" not in str(caught.value)


def test_token_that_became_unusable_is_an_error_of_the_task(serve: Serve) -> None:
    def headers() -> t.NoReturn:
        raise ValueError("invalid token")

    with pytest.raises(KubeadmError, match="cannot be sent: api_key or another credential"):
        Client([Pool(Server(serve(node("w1")).url))], headers).get("nodes/w1")


def test_a_token_may_end_with_its_line(serve: Serve) -> None:
    api = serve(node("w1"))
    Client([Pool(Server(api.url))], lambda: {"authorization": "Bearer t\n"}).get("nodes/w1")
    assert api.headers[0]["authorization"] == "Bearer t"


def test_a_list_comes_in_pages(serve: Serve) -> None:
    api = serve(*(node(f"n{number:04}") for number in range(PAGE + 1)))
    assert len(client_of(api.url, Clock()).list("nodes")) == PAGE + 1
    assert [path.partition("limit=500")[2] for path in api.paths("GET")] == ["", "&continue=500"]


def test_list_with_an_expired_token_is_read_from_its_start(serve: Serve) -> None:
    api = serve(*(node(f"n{number:04}") for number in range(PAGE + 1)))
    client = client_of(api.url, Clock())
    first = api._page

    def page(items: list[t.Any], query: dict[str, str]) -> t.Any:
        if len(api.requests) == 2:
            raise HttpError(410, "The provided continue parameter is too old")
        return first(items, query)

    api._page = page  # type: ignore[method-assign]
    assert len(client.list("nodes")) == PAGE + 1
    assert len(api.requests) == 4


def test_retry_after_of_a_busy_server_is_waited_for(serve: Serve) -> None:
    api, clock = serve(node("w1")), Clock()
    api.failures = [HttpError(429, "too many requests", Retry_After="7"), HttpError(429, "again")]
    assert client_of(api.url, clock).get("nodes/w1")
    assert clock.pauses == [7.0, 0.4]


@pytest.mark.parametrize("status", [500, 503, 504])
def test_a_server_that_restarts(serve: Serve, status: int) -> None:
    api, clock = serve(node("w1")), Clock()
    api.failures = [None, HttpError(status, "apiserver is shutting down"), None]
    assert client_of(api.url, clock).get("nodes/w1")
    assert clock.pauses == [0.2, 0.4, 0.8]


def test_a_server_that_knows_no_rights_yet(serve: Serve) -> None:
    api, clock = serve(node("w1")), Clock()
    api.ready = False

    def started() -> None:
        api.ready = clock.now > 1

    clock.on_sleep = started
    assert client_of(api.url, clock).get("nodes/w1")
    assert clock.pauses == [0.2, 0.4, 0.8]


def test_a_server_that_got_ready_between_two_requests(serve: Serve) -> None:
    api, clock = serve(node("w1")), Clock()
    api.failures = [HttpError(403, "forbidden")]
    assert client_of(api.url, clock).get("nodes/w1")
    assert (len(api.requests), clock.pauses) == (3, [])


class HangUp(socketserver.BaseRequestHandler):
    """A load balancer whose API servers are all gone: it reads the first bytes and closes the connection."""

    def handle(self) -> None:
        self.request.recv(1024)


def test_a_balancer_without_a_server_is_waited_for() -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), HangUp) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = client_of(f"https://127.0.0.1:{server.server_address[1]}", Clock())
        with pytest.raises(ApiError, match="did not answer for 60 s"):
            client.get("nodes/w1")
        server.shutdown()


def test_a_server_that_does_not_come_back(serve: Serve) -> None:
    api, clock = serve(), Clock()
    api.close()
    client = client_of(api.url, clock)
    with pytest.raises(
        ApiError, match=rf"the API server {api.url} did not answer for 60 s.*GET nodes/w1: Connection refused"
    ):
        client.get("nodes/w1")
    assert clock.now == 60.0
    # The next request does not begin to wait once more.
    with pytest.raises(ApiError):
        client.get("nodes/w2")
    assert clock.now == 60.0


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (403, 'User "x" cannot patch resource "nodes/status". Grant the account this right'),
        (401, "Unauthorized. The credentials are not known there"),
        (400, "the body is no patch"),
        # Admission forbids as well, and no right helps against it.
        (403, "exceeded quota: q, requested: requests.cpu=2$"),
    ],
)
def test_refusal_has_the_message_of_the_api_server(serve: Serve, status: int, message: str) -> None:
    api = serve(node("w1"))
    api.before_patch = lambda name: _raise(HttpError(status, message.partition(". ")[0].rstrip("$")))
    with pytest.raises(ApiError, match=f"refused PATCH nodes/w1/status: {status}, {message}") as caught:
        client_of(api.url, Clock()).patch("nodes/w1/status", [], dry_run=False)
    assert caught.value.status == status


def _raise(error: Exception) -> t.NoReturn:
    raise error


def test_a_dry_run_changes_nothing(serve: Serve) -> None:
    api = serve(node("w1"))
    add = {"op": "add", "path": "/metadata/labels/a", "value": "b"}
    client = client_of(api.url, Clock())
    assert client.patch("nodes/w1", [add], dry_run=True)["metadata"]["labels"]["a"] == "b"
    assert "a" not in api.objects["w1"]["metadata"]["labels"]
    client.patch("nodes/w1", [add], dry_run=False)
    assert api.objects["w1"]["metadata"]["labels"]["a"] == "b"
    assert api.headers[-1]["Content-Type"] == "application/json-patch+json"
    assert "fieldManager=nodecraft.kubeadm" in api.requests[-1]


def test_strategic_merge_patch_has_its_content_type(serve: Serve) -> None:
    api = serve(node("w1"))
    api._patch = lambda name, content, **_more: {"name": name, **content}  # type: ignore[method-assign]
    client = client_of(api.url, Clock())
    assert client.strategic_merge("nodes/w1", {"spec": {}}, dry_run=True) == {"name": "w1", "spec": {}}
    assert api.headers[-1]["Content-Type"] == "application/strategic-merge-patch+json"
    assert api.requests[-1].endswith("?fieldManager=nodecraft.kubeadm&dryRun=All")


def test_an_address_that_does_not_exist_is_not_waited_for() -> None:
    clock = Clock()
    with pytest.raises(KubeadmError, match=r"no connection to the API server http://no-such-host\.invalid:6443"):
        client_of("http://no-such-host.invalid:6443", clock).get("nodes")
    assert clock.pauses == []


def test_a_server_of_another_kind(serve: Serve) -> None:
    api = serve(node("w1"))
    api.objects["w1"] = []  # type: ignore[assignment]
    with pytest.raises(KubeadmError, match="is not a Kubernetes API server"):
        client_of(api.url, Clock()).get("nodes/w1")


def test_the_time_of_the_api_server(serve: Serve) -> None:
    api, now = serve(node("w1")), 1_800_000_000.0
    api.now = now
    client = client_of(api.url, Clock())
    with pytest.raises(KubeadmError, match="does not tell the time"):
        client.server_time()
    client.get("nodes/w1")
    assert client.server_time() == now


# ---- proxied requests ------------------------------------------------------------------------------------------------

PROXIED = "namespaces/s/pods/p:9808/proxy/pod-resources"


@pytest.mark.parametrize(
    ("sent", "status", "body", "text"),
    [
        ({"a": 1}, 200, {"a": 1}, ""),
        ((200, "message"), 200, None, "message"),
        ((503, "not now"), 503, None, "not now"),
        ((403, "a token"), 403, None, "a token"),
        ((429, "later"), 429, None, "later"),
    ],
)
def test_response_of_a_pod_is_returned_whatever_its_status(
    serve: Serve, sent: t.Any, status: int, body: t.Any, text: str
) -> None:
    api, clock = serve(), Clock()
    api.proxied["p"] = sent
    response = client_of(api.url, clock).get_proxied(PROXIED, {"X-Token": "secret"})
    assert (response.status, response.body, response.text) == (status, body, text)
    assert (len(api.requests), clock.pauses) == (1, [])
    assert (api.headers[0]["X-Token"], api.headers[0]["authorization"]) == ("secret", "Bearer t")


@pytest.mark.parametrize("status", [404, 500, 503])
def test_unreached_pod_gets_no_second_request(serve: Serve, status: int) -> None:
    api, clock = serve(), Clock()
    api.proxied["p"] = HttpError(status, "error trying to reach service: connection refused")
    with pytest.raises(ApiError, match="error trying to reach service: connection refused") as caught:
        client_of(api.url, clock).get_proxied(PROXIED, {})
    assert (caught.value.status, clock.pauses) == (status, [])


@pytest.mark.parametrize("trouble", [None, HttpError(429, "too many")])
def test_request_to_a_busy_api_server_is_repeated(serve: Serve, trouble: HttpError | None) -> None:
    api, clock = serve(), Clock()
    api.proxied["p"] = {}
    api.failures = [trouble]
    assert client_of(api.url, clock).get_proxied(PROXIED, {}).status == 200
    assert len(clock.pauses) == 1


def test_forbidden_is_final_once_the_api_server_is_ready(serve: Serve) -> None:
    api, clock = serve(), Clock()
    api.proxied["p"] = HttpError(403, 'cannot get resource "pods/proxy"')
    with pytest.raises(ApiError, match="Grant the account this right") as caught:
        client_of(api.url, clock).get_proxied(PROXIED, {})
    assert caught.value.status == 403
    assert [path for path in api.paths("GET") if path == "/readyz"]


class HangingPool:
    """Connections without responses. timeouts: of the requests, in seconds."""

    def __init__(self) -> None:
        self.timeouts: list[float] = []

    url = "http://api"

    def request(self, _verb: str, _target: str, *, timeout: float, **_more: t.Any) -> t.NoReturn:
        """Take no time."""
        self.timeouts.append(timeout)
        raise ReadTimeout(f"no answer within {timeout:.0f} s")


def test_a_pod_that_hangs_is_given_up_soon_and_an_api_server_is_not() -> None:
    pool, clock = HangingPool(), Clock()
    client = Client([t.cast(Pool, pool)], dict, clock=clock, sleep=clock.sleep)
    with pytest.raises(ApiError, match="no answer within 15 s") as caught:
        client.get_proxied(PROXIED, {})
    assert (caught.value.status, pool.timeouts, clock.pauses) == (504, [15.0], [])
    with pytest.raises(ApiError, match="did not answer for 60 s"):
        client.get("nodes/w1")
    assert set(pool.timeouts[1:]) == {30.0}


class Watch:
    """A condition that holds after this many refreshes. checks: when it was checked."""

    def __init__(self, refreshes: int) -> None:
        self.clock = Clock()
        self.client = client_of("http://127.0.0.1:1", self.clock)
        self.refreshes = refreshes
        self.checks: list[float] = []

    def refresh(self) -> None:
        self.refreshes -= 1

    def is_true(self) -> bool:
        self.checks.append(self.clock.now)
        return self.refreshes <= 0

    def poll(self, timeout: float) -> bool:
        return self.client.poll(self.is_true, timeout, 2.0, refresh=self.refresh)


@pytest.mark.parametrize(
    ("refreshes", "timeout", "came", "checks"),
    [
        (0, 0, True, [0.0]),
        (1, 0, False, [0.0]),
        (2, 60, True, [0.0, 2.0, 4.0]),
        (2, 4, True, [0.0, 2.0, 4.0]),  # at the last moment
        (2, 3, True, [0.0, 2.0, 4.0]),  # during the pause in which the time was over
        (3, 3, False, [0.0, 2.0, 4.0]),
    ],
)
def test_a_condition_is_polled(refreshes: int, timeout: float, came: bool, checks: list[float]) -> None:
    watch = Watch(refreshes)
    assert watch.poll(timeout) is came
    assert watch.checks == checks


def test_time_that_a_check_takes_counts() -> None:
    watch = Watch(9)

    def is_true() -> bool:
        watch.clock.now += 3
        return watch.is_true()

    assert not watch.client.poll(is_true, 4, 2.0)
    assert watch.checks == [3.0, 8.0]

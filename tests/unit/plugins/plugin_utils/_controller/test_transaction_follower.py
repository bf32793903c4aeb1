# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The follower: progress lines, reconnects, and what the end of a transaction makes of the task."""

from __future__ import annotations

import contextlib
import email.message
import http.client
import os
import types
import typing as t
import urllib.error
from pathlib import Path

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.plugins.connection import ConnectionBase
from ansible_collections.nodecraft.kubeadm.plugins.plugin_utils._controller import (
    confirmer,
    lock_waiter,
    transaction_follower,
)
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import SERVER, Authority
from ansible_collections.nodecraft.kubeadm.tests.unit.support.tls_server import Server, server_context

# As nodes give them; the follower's module takes no others.
ID = "20260101T000000.000000Z-abcdef"
STARTED = {
    "name": "kube-apiserver",
    "node": "cp1",
    "changed": True,
    "transaction": {"id": ID, "outcome": None, "longest_seconds": 400},
    "invocation": {"module_args": {"env": {"TOKEN": "secret"}}},
}
OUT_OF_REACH = AnsibleConnectionFailure("ssh: connection refused")


def ended(outcome: str) -> dict[str, t.Any]:
    reason = None if outcome == "committed" else "it was not healthy"
    transaction: dict[str, t.Any] = {"id": ID, "outcome": outcome, "reason": reason, "log": [], "healthy": True}
    return {"phase": "closed", "message": outcome, "running": False, "transaction": transaction}


def progress(message: str) -> dict[str, t.Any]:
    return {"phase": "waiting", "message": message, "running": True, "transaction": None}


class Connection(ConnectionBase):
    """A connection that stays open, and counts how often it was opened again."""

    transport = "fake"

    def __init__(self) -> None:
        """Without a play."""
        self.resets = 0

    def reset(self) -> None:
        self.resets += 1

    def _connect(self) -> t.Any:
        return self

    def exec_command(self, *args: t.Any, **options: t.Any) -> t.Any:
        raise NotImplementedError

    def put_file(self, *args: t.Any, **options: t.Any) -> t.Any:
        raise NotImplementedError

    def fetch_file(self, *args: t.Any, **options: t.Any) -> t.Any:
        raise NotImplementedError

    def close(self) -> None:
        """Nothing is open."""


class Run:
    """One run of the follower against results of the module and of C(node_transaction)."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lines: list[str] = []
        self.calls: list[tuple[str | None, t.Any]] = []
        self.now = 100.0
        self.connection = Connection()
        self.args: dict[str, t.Any] = {}
        self.check_mode = False
        self.checked: list[bool] = []
        self.warnings: list[str] = []
        # The plugin lives in Ansible's own process: its clock and its screen are not handed to it.
        clock = types.SimpleNamespace(monotonic=lambda: self.now, sleep=self._sleep)
        screen = types.SimpleNamespace(
            display=lambda line, stderr: self.lines.append(line),
            vvv=lambda message: None,
            warning=self.warnings.append,
        )
        for part in (lock_waiter, transaction_follower):
            monkeypatch.setattr(part, "time", clock)
            monkeypatch.setattr(part, "display", screen)
        monkeypatch.setattr(ActionBase, "run", lambda plugin, tmp=None, task_vars=None: {})

    def _sleep(self, seconds: float) -> None:
        self.now += seconds

    def __call__(self, first: dict[str, t.Any], *results: t.Any) -> dict[str, t.Any]:
        plugin = object.__new__(transaction_follower.TransactionFollower)
        plugin._connection = self.connection
        plugin._task = t.cast("t.Any", types.SimpleNamespace(args=self.args, check_mode=self.check_mode))
        queue = [first, *results]

        def execute(module_name: str | None = None, **options: t.Any) -> dict[str, t.Any]:
            self.calls.append((module_name, dict(options.get("module_args") or {})))
            if module_name is None:
                self.checked.append(plugin._task.check_mode)
            self.now += 1
            module_result = queue.pop(0) if len(queue) > 1 else queue[0]
            if isinstance(module_result, Exception):
                raise module_result
            return dict(module_result)

        # What it does needs a node.
        plugin._execute_module = t.cast("t.Any", execute)  # type: ignore[method-assign]
        result: dict[str, t.Any] = plugin.run(task_vars={})
        return result


@pytest.fixture(name="run")
def fixture_run(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch)


@pytest.mark.parametrize("transaction", [None, {"id": ID, "outcome": None, "longest_seconds": 1}])
def test_a_module_that_failed_is_not_followed(run: Run, transaction: t.Any) -> None:
    result = run({**STARTED, "failed": True, "msg": "no", "transaction": transaction})
    assert result["msg"] == "no"
    assert len(run.calls) == 1


def test_a_worker_whose_controller_was_killed_neither_queries_nor_confirms(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An acknowledged outcome would not be reported to the next run."""
    parents = iter((7, 7, 1))
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    result = run(STARTED, {"phase": "waiting", "message": "waits", "running": True, "transaction": None})
    assert result["failed"]
    assert "its controller was killed" in result["msg"]
    assert len(run.calls) == 2


def test_a_module_that_started_nothing_is_not_followed(run: Run) -> None:
    result = run({**STARTED, "changed": False, "transaction": None})
    assert result["changed"] is False
    assert len(run.calls) == 1


def test_a_commit_changes_the_task(run: Run) -> None:
    result = run(STARTED, progress("stops"), ended("committed"))
    assert result["changed"] is True
    assert "failed" not in result
    assert result["transaction"]["outcome"] == "committed"
    assert "invocation" not in result


def test_a_change_that_waits_to_be_observed_is_followed_no_further(run: Run) -> None:
    waits = {"phase": "observing", "message": "waits", "running": True, "transaction": None}
    result = run(STARTED, progress("stops"), waits, ended("committed"))
    assert result["transaction"] == {"id": ID, "phase": "observing"}
    assert (result["changed"], result.get("failed")) == (True, None)


@pytest.mark.parametrize(
    ("outcome", "changed"), [("rolled_back", False), ("aborted", False), ("unhealthy", True), ("alarm", True)]
)
def test_every_other_end_fails_the_task(run: Run, outcome: str, changed: bool) -> None:
    result = run(STARTED, ended(outcome))
    assert result["failed"] is True
    assert result["changed"] is changed
    assert "it was not healthy" in result["msg"]
    assert result["transaction"]["outcome"] == outcome


def test_each_step_is_shown_once(run: Run) -> None:
    run(STARTED, progress("stops"), progress("stops"), progress("is down"), progress("is down"), ended("committed"))
    assert [line.rpartition(",")[0] for line in run.lines] == [
        "cp1: kube-apiserver stops",
        "cp1: kube-apiserver is down",
    ]
    seen = [arguments["seen"] for name, arguments in run.calls if name]
    assert seen == ["", "stops", "stops", "is down", "is down"]
    assert {name for name, dummy in run.calls} == {None, "nodecraft.kubeadm.node_transaction"}


@pytest.mark.parametrize(("args", "acknowledges"), [({}, True), ({"acknowledge": False}, False)])
def test_the_outcome_is_acknowledged_unless_the_task_leaves_it(
    run: Run, args: dict[str, t.Any], acknowledges: bool
) -> None:
    run.args = args
    run(STARTED, ended("committed"))
    assert run.calls[-1][1]["acknowledge"] is acknowledges


def test_a_lost_connection_is_opened_again(run: Run) -> None:
    result = run(STARTED, OUT_OF_REACH, OUT_OF_REACH, progress("is down"), ended("committed"))
    assert result["changed"] is True
    assert run.connection.resets == 2
    notice = "cannot be followed (ssh: connection refused), trying again; the node continues by itself"
    assert sum(notice in line for line in run.lines) == 2


@pytest.mark.parametrize("module_result", [{"failed": True, "msg": "busy"}, {"unreachable": True, "msg": "no route"}])
def test_a_response_that_reports_nothing_is_requested_again_and_shown(
    run: Run, module_result: dict[str, t.Any]
) -> None:
    assert run(STARTED, module_result, ended("committed"))["changed"] is True
    assert any(f"cannot be followed ({module_result['msg']})" in line for line in run.lines)


# As of the module: its failures have the key, which a result without a run of the module does not have.
DECLINED = {"failed": True, "msg": f"transaction {ID} of kube-apiserver is not known on cp1.", "busy": False}


def test_a_node_that_knows_nothing_of_it_ends_the_wait_at_once_with_its_words(run: Run) -> None:
    result = run(STARTED, progress("stops"), OUT_OF_REACH, DECLINED)
    assert (result["failed"], result["changed"]) == (True, True)
    assert f"its end was not seen: {DECLINED['msg']} Check systemctl status" in result["msg"]
    assert len(run.calls) == 4
    assert result["transaction"]["id"] == ID


def test_an_engine_that_does_not_run_is_named(run: Run) -> None:
    result = run(STARTED, {**progress("stops"), "running": False})
    assert "its end was not seen: its engine does not run." in result["msg"]
    assert len(run.calls) == 4


def test_a_node_that_is_never_seen_again_fails_the_task_with_what_is_known(run: Run) -> None:
    result = run(STARTED, OUT_OF_REACH)
    assert result["failed"] is True
    assert result["changed"] is True
    assert f"transaction {ID} of kube-apiserver was started, but its end was not seen" in result["msg"]
    assert "no answer: ssh: connection refused" in result["msg"]
    assert result["transaction"]["id"] == ID
    assert 400 < run.now - 100 < 1000


# ---- the word of the controller --------------------------------------------------------------------------------------

URL = "https://lb:6443/readyz"
WAITS = {"phase": "confirming", "message": "waits for its confirmation", "running": True, "transaction": None}


class Api:
    """What the controller finds at confirm_url: one status, or error, for each attempt; the last one for all further."""

    def __init__(self, run: Run, monkeypatch: pytest.MonkeyPatch, *results: t.Any) -> None:
        self.results = list(results)
        self.requests: list[dict[str, t.Any]] = []
        run.args = {"confirm": "yes", "confirm_url": URL}
        monkeypatch.setattr(confirmer, "_https_opener", lambda _authority: types.SimpleNamespace(open=self._open))

    def _open(self, url: str, **options: t.Any) -> t.Any:
        self.requests.append({"url": url, **options})
        module_result = self.results.pop(0) if len(self.results) > 1 else self.results[0]
        if isinstance(module_result, Exception):
            raise module_result
        if module_result >= 300:
            raise urllib.error.HTTPError(url, module_result, "no", email.message.Message(), None)
        return contextlib.nullcontext(types.SimpleNamespace(status=module_result))


REFUSED = urllib.error.URLError("connection refused")


@pytest.mark.parametrize("status", [200, 401, 403, 404])
def test_any_response_of_the_api_server_confirms(run: Run, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    api = Api(run, monkeypatch, status)
    result = run(STARTED, progress("stops"), WAITS, ended("committed"))
    assert result["changed"] is True
    assert [arguments.get("confirm") for name, arguments in run.calls if name] == [None, None, ID]
    assert len(api.requests) == 2, "before the change, and when the node waits"


@pytest.mark.parametrize("module_result", [REFUSED, 503, http.client.BadStatusLine("no"), TimeoutError("timed out")])
def test_out_of_reach_before_the_change_nothing_is_changed(
    run: Run, monkeypatch: pytest.MonkeyPatch, module_result: t.Any
) -> None:
    Api(run, monkeypatch, module_result)
    planned = {**STARTED, "transaction": None, "operations": ["x"]}
    result = run(planned)
    assert run.checked == [True], "only planned"
    assert (result["failed"], result["changed"], result["operations"]) == (True, False, ["x"])
    assert f"kube-apiserver on cp1: this controller does not reach confirm_url {URL}" in result["msg"]
    assert run.check_mode is False


def test_with_nothing_to_change_nothing_has_to_be_reached(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Api(run, monkeypatch, REFUSED)
    result = run({**STARTED, "changed": False, "transaction": None})
    assert "failed" not in result


def test_a_change_that_is_still_open_is_no_success_out_of_reach(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Api(run, monkeypatch, REFUSED)
    left = {"id": ID, "phase": "waiting"}
    result = run({**STARTED, "changed": False, "transaction": None, "open_transaction": left})
    assert (result["failed"], result["changed"], run.checked) == (True, False, [True])
    assert "omit confirm where the API server is down" in result["msg"]


def test_without_confirm_nothing_is_queried(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api(run, monkeypatch, REFUSED)
    run.args = {"confirm": False, "confirm_url": URL}
    assert run(STARTED, ended("committed"))["changed"] is True
    assert (api.requests, run.checked) == ([], [False])


@pytest.mark.parametrize("url", [6443, [URL], "file:///etc/hosts", "lb:6443", "", None])
def test_what_is_no_address_is_left_to_the_module(run: Run, url: t.Any) -> None:
    run.args = {"confirm": True, "confirm_url": url}
    result = run({**STARTED, "failed": True, "msg": "confirm_url is ...", "transaction": None})
    assert (result["msg"], run.checked) == ("confirm_url is ...", [False])


def test_an_authority_that_is_not_there_is_named(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    api = Api(run, monkeypatch, 200)
    run.args["confirm_ca_cert"] = str(tmp_path / "ca.crt")
    result = run({**STARTED, "transaction": None})
    assert f"(confirm_ca_cert {tmp_path}/ca.crt is not a file on this controller)" in result["msg"]
    assert (api.requests, run.checked) == ([], [True])


def test_out_of_reach_after_the_change_there_is_no_word(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Api(run, monkeypatch, 200, REFUSED, REFUSED, 200)
    run(STARTED, WAITS, WAITS, WAITS, ended("committed"))
    assert [arguments.get("confirm") for name, arguments in run.calls if name] == [None, None, None, ID]
    assert any("confirm_url cannot be reached from this controller" in line for line in run.lines)


def test_a_word_that_may_not_have_been_heard_is_given_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Api(run, monkeypatch, 200)
    run(STARTED, WAITS, OUT_OF_REACH, WAITS, ended("committed"))
    assert [arguments.get("confirm") for name, arguments in run.calls if name] == [None, ID, None, ID]


def test_a_word_that_comes_too_late_is_no_reason_to_stop_following(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Api(run, monkeypatch, 200)
    late = {**DECLINED, "msg": f"transaction {ID} waits for no confirmation: it is in phase restoring."}
    result = run(STARTED, WAITS, late, progress("is put back"), ended("rolled_back"))
    assert result["transaction"]["outcome"] == "rolled_back"
    assert [arguments.get("confirm") for name, arguments in run.calls if name] == [None, ID, None, None]


class Site(t.NamedTuple):
    """A server of TLS that the controller connects to. authorities: who signed its certificate, and that one's issuer."""

    server: Server
    authorities: tuple[Authority, Authority]


@pytest.fixture(name="site")
def fixture_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> t.Iterator[Site]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    root = Authority(tmp_path / "root")
    intermediate = Authority(tmp_path / "kubernetes", issuer=root)
    server = Server(server_context(tmp_path, root, intermediate.issue(names="IP:127.0.0.1", usage=SERVER)))
    run.args = {"confirm": True, "confirm_url": f"{server.url}/readyz", "confirm_ca_cert": str(tmp_path / "ca.crt")}
    yield Site(server, (intermediate, root))
    server.close()


def test_an_authority_that_another_one_signed_vouches_for_the_api_server(run: Run, site: Site, tmp_path: Path) -> None:
    """As the file kubernetes-ca.crt of a cluster whose authority is an intermediate one."""
    (tmp_path / "ca.crt").write_bytes(site.authorities[0].certificate)
    assert run({**STARTED, "transaction": None})["changed"] is True
    assert [path for path, _headers in site.server.requests] == ["/readyz"]


def test_a_certificate_is_verified_when_its_authority_is_given(run: Run, site: Site, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(site.authorities[1].certificate)  # without the intermediate one
    assert "certificate verify failed" in run({**STARTED, "transaction": None})["msg"]
    del run.args["confirm_ca_cert"]
    assert run({**STARTED, "transaction": None})["changed"] is True


def test_a_file_without_an_authority_is_named(run: Run, site: Site, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(b"nothing")
    problem = f"(confirm_ca_cert {tmp_path}/ca.crt: the authority's file holds no certificate"
    assert problem in run({**STARTED, "transaction": None})["msg"]
    assert site.server.requests == []


def test_what_was_noticed_on_the_way_is_a_warning(run: Run) -> None:
    end = ended("committed")
    end["transaction"]["notes"] = ["a copy was damaged"]
    result = run({**STARTED, "warnings": ["beware"]}, end)
    assert result["warnings"] == ["beware", "cp1: kube-apiserver: a copy was damaged"]
    assert result["unverified"] == []


def test_what_could_not_be_verified_is_a_warning_and_in_the_result(run: Run) -> None:
    end = ended("committed")
    end["transaction"]["proof"] = {"unverified": ["whether feature gates A are as desired: 403"]}
    result = run(STARTED, end)
    assert result["warnings"] == ["cp1: kube-apiserver: not verified: whether feature gates A are as desired: 403"]
    assert result["unverified"] == ["whether feature gates A are as desired: 403"]
    assert result["changed"] is True


def test_what_the_preflight_could_not_observe_stays_in_the_result(run: Run) -> None:
    end = ended("committed")
    end["transaction"]["proof"] = {"unverified": ["whether its probes pass: no module_result"]}
    result = run({**STARTED, "unverified": ["whether the image a is in containerd: none shows it"]}, end)
    assert result["unverified"] == [
        "whether the image a is in containerd: none shows it",
        "whether its probes pass: no module_result",
    ]

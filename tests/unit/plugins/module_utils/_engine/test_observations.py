# SPDX-FileCopyrightText: 2026 nodecraft.kubeadm contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a component is for: what worked before a change has to work after it, or the node rolls back."""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
import types
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine import (
    observations,
    observed_api_server,
    observed_kubelet,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.files import Json
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.journal import (
    ALARM,
    COMMITTED,
    ROLLED_BACK,
    WAITING,
    load_journal,
    save_journal,
)
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.node import Host
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.observations import Observations
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._engine.probes import ApiResponse
from ansible_collections.nodecraft.kubeadm.plugins.module_utils._plan.transaction.messages import Leader
from ansible_collections.nodecraft.kubeadm.tests.unit.support.authority import Authority
from ansible_collections.nodecraft.kubeadm.tests.unit.support.fake_node import Clock, FakeNode
from ansible_collections.nodecraft.kubeadm.tests.unit.support.web import PAIR_PEM, Web, kubeconfig, served_web

OBSERVED = "the use of it"


class Use:
    """What a component is for in a test. problem: why it does not work; empty when it does. slow: how often it does not work yet."""

    def __init__(self) -> None:
        self.problem = ""
        self.slow = 0
        self.made = 0

    def observe(self, *_arguments: t.Any) -> dict[str, str]:
        self.made += 1
        if self.slow:
            self.slow -= 1
            return {OBSERVED: "not yet"}
        return {OBSERVED: self.problem}


@pytest.fixture(name="use")
def fixture_use(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> Use:
    use = Use()
    monkeypatch.setitem(Observations._KINDS, "use", use.observe)
    node.prepare()
    journal, _problem = load_journal(str(node.state))
    assert journal is not None
    journal["watch"]["observations"] = [{"kind": "use", "before": {}, "after": {}}]
    save_journal(str(node.state), journal)
    return use


def test_what_works_after_the_change_is_committed(node: FakeNode, use: Use) -> None:
    node.once(WAITING, lambda: setattr(use, "slow", 5))
    result = node.run()
    assert result["outcome"] == COMMITTED
    assert result["proof"]["observed"] == [OBSERVED]
    assert use.made == 7


def test_what_is_lost_is_rolled_back_and_named(node: FakeNode, use: Use) -> None:
    node.once(WAITING, lambda: setattr(use, "problem", "nothing answers"))
    node.once("verifying", lambda: setattr(use, "problem", ""))
    result = node.run()
    assert result["outcome"] == ROLLED_BACK
    assert result["reason"] == f"what worked before does not: {OBSERVED} (nothing answers)"


def test_what_is_still_lost_after_the_rollback_is_an_alarm(node: FakeNode, use: Use) -> None:
    node.once(WAITING, lambda: setattr(use, "problem", "nothing answers"))
    result = node.run()
    assert result["outcome"] == ALARM
    assert "rolled back to the former files, but what worked before does not" in result["reason"]


def test_what_did_not_work_before_is_named_and_no_reason(node: FakeNode, use: Use) -> None:
    use.problem = "nothing answers"
    result = node.run()
    assert result["outcome"] == COMMITTED
    unverified = f"whether it works: {OBSERVED} did not before the change either (nothing answers)"
    assert unverified in result["proof"]["unverified"]


def test_what_a_repair_brings_back_is_verified(node: FakeNode, use: Use) -> None:
    use.problem = "nothing answers"
    node.once(WAITING, lambda: setattr(use, "problem", ""))
    result = node.run()
    assert result["outcome"] == COMMITTED
    assert not [text for text in result["proof"]["unverified"] if OBSERVED in text]


# ---- how they are made ---------------------------------------------------------------------------------------------------


def observe(
    kind: str, parameters: Json, *, host: Host | None = None, node: Json | None = None
) -> tuple[Observations, Json]:
    """The observations of a journal with one of them, and what it finds before the change."""
    planned = {
        "kind": kind,
        "before": parameters,
        "after": parameters,
        "node": {"name": "w1", "kubeconfig": "/k"},
        "kubeconfig": "/admin",
    }
    journal: t.Any = {"phase": "prepared", "watch": {"observations": [planned]}}
    clock = Clock()
    made = Observations(journal, host or Host(), lambda *_arguments: (node, ""), clock, clock.sleep, lambda _: None)
    journal["before"] = {"observed": made.read_before()}
    return made, dict(journal["before"]["observed"][kind])


def test_each_address_of_a_node_shows_the_kubelets_certificate() -> None:
    addresses = [{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": "w1"}]
    with served_web(tls=True) as web:
        web.health_status = 401  # an answer
        made, found = observe("port", {"port": web.port}, node={"status": {"addresses": addresses}})
        assert found == {"the kubelet's server at 127.0.0.1": ""}
        assert made.find_losses() == ""
    assert "the kubelet's server at 127.0.0.1 (" in made.find_losses()


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (b"\x81\x80\0\1", ""),
        (b"\x81\x83\0\1", "it does not know kubernetes.default.svc.cluster.local (code 3)"),
        (b"\x81", "it answers something else"),
    ],
)
def test_name_servers_know_the_api(monkeypatch: pytest.MonkeyPatch, header: bytes, problem: str) -> None:
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    monkeypatch.setattr(observed_kubelet, "_DNS_PORT", server.getsockname()[1])
    monkeypatch.setattr(observed_kubelet, "_DNS_SECONDS", 0.5)
    questions = []

    def answer() -> None:
        question, address = server.recvfrom(512)
        questions.append(question)
        server.sendto(question[:2] + header + (question[6:] if len(header) > 1 else b""), address)

    thread = threading.Thread(target=answer)
    thread.start()
    made, found = observe("dns", {"servers": ["127.0.0.1"], "name": "kubernetes.default.svc.cluster.local"})
    thread.join()
    server.close()
    assert found == {"clusterDNS": problem and f"127.0.0.1: {problem}"}
    assert b"\x0akubernetes\x07default\x03svc\x07cluster\x05local\x00\x00\x01\x00\x01" in questions[0]
    losses = made.find_losses()
    assert losses == "" if problem else losses.startswith("what worked before does not: clusterDNS (127.0.0.1: ")


def test_kubelet_without_name_servers_has_none_to_observe() -> None:
    assert observe("dns", {"servers": [], "name": "a"})[1] == {}


class Tokens:
    """Pods of a node with their tokens, and an API server that refuses some. pods: names, as they were started."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, pods: t.Sequence[str]) -> None:
        self.host = Host(kubelet_root=str(directory))
        self.refused: set[str] = set()
        self.sent: list[str] = []
        self._directory = directory
        for number, pod in enumerate(pods):
            self.write(pod, pod)
            os.utime(directory / "pods" / pod, (1000 + number, 1000 + number))
        monkeypatch.setattr(observed_api_server, "token_problem", self._problem)

    def write(self, pod: str, token: str) -> None:
        path = self._directory / "pods" / pod / "volumes" / "kubernetes.io~projected" / "kube-api-access-x" / "token"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{token}\n", encoding="ascii")

    def end(self, pod: str) -> None:
        shutil.rmtree(self._directory / "pods" / pod)
        self.refused.add(pod)

    def _problem(self, _kubeconfig: str, _address: t.Any, token: str) -> str:
        self.sent.append(token)
        return "the API server answers 401" if token in self.refused else ""


def test_token_of_a_pod_is_still_accepted(tmp_path: Path) -> None:
    with served_web() as web:
        host = Host(kubelet_root=str(tmp_path), kubelet_conf=str(tmp_path / "kubelet.conf"))
        (tmp_path / "kubelet.conf").write_text(kubeconfig(f"http://127.0.0.1:{web.port}"), encoding="utf-8")
        token = tmp_path / "pods" / "uid" / "volumes" / "kubernetes.io~projected" / "kube-api-access-x" / "token"
        token.parent.mkdir(parents=True)
        token.write_text("issued\n", encoding="ascii")
        made, found = observe("tokens", {"server": web.address}, host=host)
        assert found == {"the token of a pod": ""}
        assert web.headers[-1]["Authorization"] == "Bearer issued"
        token.write_text("issued by the new one\n", encoding="ascii")
        assert made.find_losses() == ""
        assert web.headers[-1]["Authorization"] == "Bearer issued"
        web.health_status = 401
        assert made.find_losses() == "what worked before does not: the token of a pod (the API server answers 401)"


def test_tokens_are_those_of_the_pods_that_run_longest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = Tokens(tmp_path, monkeypatch, ["proxy", "network", "agent", "job"])
    tokens.refused = {"proxy", "network", "agent", "job"}
    _made, found = observe("tokens", {"server": {}}, host=tokens.host)
    assert found == {"the token of a pod": "the API server answers 401"}
    assert tokens.sent == ["proxy", "network", "agent"]


@pytest.mark.parametrize("pods", [["job", "proxy"], ["proxy", "job"]])
def test_token_of_a_pod_that_ended_is_no_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pods: t.Sequence[str]
) -> None:
    tokens = Tokens(tmp_path, monkeypatch, pods)
    made, found = observe("tokens", {"server": {}}, host=tokens.host)
    assert found == {"the token of a pod": ""}
    tokens.end("job")
    assert made.find_losses() == ""
    tokens.refused.add("proxy")
    assert made.find_losses() == "what worked before does not: the token of a pod (the API server answers 401)"


def test_token_whose_pod_the_api_has_removed_is_no_loss_beside_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = Tokens(tmp_path, monkeypatch, ["job", "proxy"])
    made, _found = observe("tokens", {"server": {}}, host=tokens.host)
    tokens.refused.add("job")
    assert made.find_losses() == ""


def test_tokens_of_pods_that_all_ended_are_not_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = Tokens(tmp_path, monkeypatch, ["job"])
    made, _found = observe("tokens", {"server": {}}, host=tokens.host)
    tokens.end("job")
    assert made.find_losses() == ""
    assert made.journal["unverified"] == [f"whether it works: the token of a pod: {AWAY}"]


def test_node_without_a_token_observes_none(tmp_path: Path, web: Web) -> None:
    assert observe("tokens", {"server": web.address}, host=Host(kubelet_root=str(tmp_path)))[1] == {}


@pytest.fixture(name="foreign", scope="module")
def fixture_foreign(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("foreign") / "authority")


@pytest.mark.parametrize(("status", "problem"), [(200, ""), (403, ""), (401, "it is rejected")])
def test_the_kubelet_knows_the_token_of_a_pod(tmp_path: Path, foreign: Authority, status: int, problem: str) -> None:
    token = tmp_path / "pods" / "uid" / "volumes" / "kubernetes.io~projected" / "kube-api-access-x" / "token"
    token.parent.mkdir(parents=True)
    token.write_text("issued", encoding="ascii")
    addresses = [{"type": "InternalIP", "address": "127.0.0.1"}]
    with served_web(tls=True) as web:
        pki = tmp_path / "pki"
        pki.mkdir()
        assert observe("metrics", {"port": web.port, "certificate": ""}, host=Host(kubelet_root=str(tmp_path)))[1] == {}
        (pki / "kubelet-server-current.pem").write_text(PAIR_PEM, encoding="ascii")
        made, found = observe(
            "metrics",
            {"port": web.port, "certificate": ""},
            host=Host(kubelet_root=str(tmp_path)),
            node={"status": {"addresses": addresses}},
        )
        name = "the token of a pod at the kubelet's server"
        assert found == {name: ""}
        assert web.headers[-1]["Authorization"] == "Bearer issued"
        web.health_status = status
        assert made.find_losses() == (problem and f"what worked before does not: {name} ({problem})")
        sent = len(web.headers)
        (pki / "kubelet-server-current.pem").write_bytes(foreign.certificate)
        assert "its certificate is not trusted" in made.find_losses()
        assert len(web.headers) == sent
        addresses.clear()  # the API is away
        assert made.find_losses() == ""
        assert f"whether it works: {name}: {AWAY}" in made.journal["unverified"]


class Aggregated:
    """An API server with an API of another server. status: of its answers. ready: whether its Service has a server."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.status, self.ready = 200, True
        self.groups = ["metrics.k8s.io"]
        monkeypatch.setattr(observed_api_server, "api_request", self.respond)

    def respond(self, _kubeconfig: str, path: str, _at: t.Any) -> ApiResponse:
        service = {"namespace": "kube-system", "name": "metrics-server"}
        specs = [{"group": group, "version": "v1", "service": service} for group in self.groups]
        specs.append({"group": "apps", "version": "v1"})
        endpoints = [{"addresses": ["10.1.0.1"], "conditions": {"ready": self.ready}}]
        items = [{"spec": each} for each in specs] if "apiservices" in path else [{"endpoints": endpoints}]
        status = self.status if path == "/apis/metrics.k8s.io/v1" else 200
        return ApiResponse(status, json.dumps({"items": items}).encode(), f"answers {status}", refused=False)


def test_apis_of_other_servers_still_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    apis = Aggregated(monkeypatch)
    made, found = observe("aggregated", {"server": {}})
    assert found == {"aggregated API metrics.k8s.io/v1": ""}
    apis.status = 503
    assert made.find_losses() == "what worked before does not: aggregated API metrics.k8s.io/v1 (answers 503)"
    # Its own server is away: no loss of this one.
    apis.ready = False
    assert made.find_losses() == ""
    assert f"whether it works: aggregated API metrics.k8s.io/v1: {AWAY}" in made.journal["unverified"]
    apis.groups = []
    assert made.find_losses() == ""


def test_a_privileged_pod_is_still_admitted(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [ApiResponse(201, b"{}", "", refused=False)]
    requests: list[tuple[str, str]] = []

    def respond(_kubeconfig: str, path: str, _at: t.Any, *, method: str, body: Json, timeout: float) -> ApiResponse:
        requests.append((method, path))
        assert body["spec"]["containers"][0]["securityContext"] == {"privileged": True}
        return answers[-1]

    monkeypatch.setattr(observed_api_server, "api_request", respond)
    made, found = observe("admission", {"server": {}})
    name = "the admission of a privileged pod in kube-system"
    assert found == {name: ""}
    assert requests == [("POST", "/api/v1/namespaces/kube-system/pods?dryRun=All")]
    body = b'{"message": "privileged: Forbidden: disallowed by cluster policy"}'
    answers.append(ApiResponse(422, body, "the API server answers 422", refused=False))
    why = "the API server answers 422: privileged: Forbidden: disallowed by cluster policy"
    assert made.find_losses() == f"what worked before does not: {name} ({why})"
    body = b'{"message": "Internal error occurred: failed calling webhook a.example"}'
    answers.append(ApiResponse(500, body, "the API server answers 500", refused=False))
    assert made.find_losses() == ""
    assert f"whether it works: {name}: {AWAY}" in made.journal["unverified"]


def test_stable_versions_of_the_api_are_still_served(monkeypatch: pytest.MonkeyPatch) -> None:
    served = ["apps/v1", "batch/v1", "a.example/v1"]
    specs = [("apps", "v1"), ("batch", "v1"), ("storage.k8s.io", "v1beta1"), ("", "v1")]

    def respond(kubeconfig_path: str, path: str, at: t.Any) -> ApiResponse:
        items = [{"spec": {"group": group, "version": version}} for group, version in specs]
        groups = [{"versions": [{"groupVersion": name}]} for name in served]
        return ApiResponse(200, json.dumps({"items": items, "groups": groups}).encode(), "", refused=False)

    monkeypatch.setattr(observed_api_server, "api_request", respond)
    made, found = observe("versions", {"server": {}})
    assert found == {"API version apps/v1": "", "API version batch/v1": ""}
    served.remove("apps/v1")
    assert made.find_losses() == "what worked before does not: API version apps/v1 (it is not served)"


class Peers:
    """API servers behind the Service kubernetes. rejects: pairs of who does not accept a token of whom. silent: who does not answer. issues: whether they issue
    tokens."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.hosts = ["10.0.0.11", "10.0.0.12"]
        self.rejects: set[tuple[str, str]] = set()
        self.silent: set[str] = set()
        self.status = 200
        self.issues = True
        monkeypatch.setattr(observed_api_server, "api_request", self.respond)
        monkeypatch.setattr(
            observed_api_server, "request_problem", lambda host, _port: "timed out" if host in self.silent else ""
        )
        monkeypatch.setattr(observed_api_server, "token_problem", self.check_token)

    def respond(self, _kubeconfig: str, path: str, at: t.Any, **_options: t.Any) -> ApiResponse:
        if path.endswith("/token") and not self.issues:
            return ApiResponse(500, b"{}", "answers 500", refused=False)
        if path.endswith("/token"):
            return ApiResponse(201, json.dumps({"status": {"token": at["host"]}}).encode(), "", refused=False)
        addresses = [{"addresses": [host]} for host in self.hosts]
        body = {"items": [{"ports": [{"name": "https", "port": 6443}], "endpoints": addresses}, {"endpoints": None}]}
        return ApiResponse(self.status, json.dumps(body).encode(), f"answers {self.status}", refused=False)

    def check_token(self, _kubeconfig: str, address: t.Any, issuer: str) -> str:
        return "401" if (address["host"], issuer) in self.rejects else ""


def peers_of(own: str = "10.0.0.11") -> tuple[Observations, Json]:
    return observe("peers", {"server": {"scheme": "https", "host": own, "port": 6443}, "advertised": own})


OTHER = "the API server 10.0.0.12"
AWAY = "what it needs besides this component is away"
ADDRESS = "its address in the Service kubernetes"


def test_servers_accept_the_tokens_of_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    peers = Peers(monkeypatch)
    made, found = peers_of()
    assert found == {ADDRESS: "", f"a token that {OTHER} issues": "", f"its token at {OTHER}": ""}
    peers.rejects = {("10.0.0.11", "10.0.0.12")}
    assert made.find_losses() == f"what worked before does not: a token that {OTHER} issues (it is refused)"
    peers.rejects = {("10.0.0.12", "10.0.0.11")}
    assert made.find_losses() == f"what worked before does not: its token at {OTHER} (it is refused)"


def test_another_server_that_does_not_do_its_part_is_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    peers = Peers(monkeypatch)
    made, _found = peers_of()
    peers.issues = False
    assert made.find_losses() == ""
    assert f"whether it works: a token that {OTHER} issues: {AWAY}" in made.journal["unverified"]
    peers.status = 503
    assert made.find_losses() == ""


def test_an_address_that_no_server_has_is_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    peers = Peers(monkeypatch)
    peers.hosts = ["10.0.0.11"]
    made, found = peers_of()
    assert found == {ADDRESS: ""}
    peers.silent = {"10.0.0.11"}
    assert made.find_losses() == f"what worked before does not: {ADDRESS} (10.0.0.11: timed out)"


# ---- a canary --------------------------------------------------------------------------------------------------------------


class Canaries:
    """Takes the place of C(Canary). found: what each look finds, in order; the last one is found from then on."""

    def __init__(self) -> None:
        self.found: list[tuple[dict[str, str], str]] = []
        self.calls: list[tuple[str, str, bool, float]] = []
        self.acts_after: float | None = None
        self.leader: dict[str, t.Any] | None = None

    def __call__(self, planned: t.Any, side: str, name: str, *, is_first: bool, **options: t.Any) -> t.Any:
        found, unverified = self.found.pop(0) if len(self.found) > 1 else self.found[0]

        def observe(seconds: float) -> dict[str, str]:
            self.calls.append((side, name, is_first, seconds))
            return found

        return types.SimpleNamespace(
            observe=observe,
            unverified=unverified,
            acted_at=None if self.acts_after is None else options["clock"]() + self.acts_after,
            leader=None if is_first else self.leader,
        )


@pytest.fixture(name="canaries")
def fixture_canaries(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> Canaries:
    canaries = Canaries()
    monkeypatch.setattr(observations, "Canary", canaries)
    node.prepare()
    journal, _problem = load_journal(str(node.state))
    assert journal is not None
    journal["watch"]["observations"] = [
        {"kind": "canary", "before": {"server": {}}, "after": {"server": {}}, "kubeconfig": "", "seconds": 300}
    ]
    save_journal(str(node.state), journal)
    return canaries


def test_a_canary_is_made_once_before_a_change_and_once_after_it(node: FakeNode, canaries: Canaries) -> None:
    canaries.found = [({"a pod": "", "its log": "none"}, "")]
    result = node.run()
    assert result["outcome"] == COMMITTED
    assert result["proof"]["observed"] == ["a pod"]
    assert "whether it works: its log did not before the change either (none)" in result["proof"]["unverified"]
    assert canaries.calls == [
        ("before", "kube-apiserver-abcdef-before", True, 30.0),
        ("after", "kube-apiserver-abcdef-after", False, 300),
    ]


def test_it_is_measured_when_pods_are_made_again(node: FakeNode, canaries: Canaries) -> None:
    canaries.found = [({"a pod": ""}, "")]
    canaries.acts_after = 5.0
    result = node.run()
    assert result["proof"]["acting_seconds"] > 5.0
    assert result["proof"]["acting_seconds"] > result["outage_seconds"]


def test_a_canary_that_is_lost_is_waited_for_once(node: FakeNode, canaries: Canaries) -> None:
    works, fails = ({"a pod": ""}, ""), ({"a pod": "none"}, "")
    canaries.found = [works, fails, works]
    result = node.run()
    assert (result["outcome"], result["reason"]) == (ROLLED_BACK, "what worked before does not: a pod (none)")
    assert [(side, name.rpartition("-")[2], seconds) for side, name, _is_first, seconds in canaries.calls] == [
        ("before", "before", 30.0),
        ("after", "after", 300),
        ("before", "restored", 300),
    ]


def test_what_a_canary_does_not_show_is_no_loss(node: FakeNode, canaries: Canaries) -> None:
    canaries.found = [({"a pod": ""}, ""), ({}, "cp2 leads")]
    canaries.leader = {"node": "cp2", "is_own": False, "is_changed": False, "is_proof": False}
    result = node.run()
    assert result["outcome"] == COMMITTED
    proof = result["proof"]
    assert Leader(**proof["leader"]).unverified in proof["unverified"]
    assert (proof["observed"], proof["leader"]) == ([], canaries.leader)


def test_proof_has_the_leader_that_was_observed(node: FakeNode, canaries: Canaries) -> None:
    canaries.found = [({"a pod": ""}, "")]
    canaries.leader = {"node": "cp2", "is_own": False, "is_changed": True, "is_proof": True}
    proof = node.run()["proof"]
    assert (proof["observed"], proof["leader"]) == (["a pod"], canaries.leader)


def test_a_cluster_that_did_not_work_is_not_waited_for(node: FakeNode, canaries: Canaries) -> None:
    canaries.found = [({"a pod": "none"}, "")]
    assert node.run()["outcome"] == COMMITTED
    assert [seconds for *_name, seconds in canaries.calls] == [30.0, 30.0]

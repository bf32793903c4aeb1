# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a component is for, observed before its change and after it: what worked before has to work after it.

A healthy process proves less: with another issuer every token of the cluster answered 401, and with C(enableServer) off logs and exec were gone, both
behind a change that was committed (1.37.2). Which observations are made is planned, and stands in the journal; how they are made is here.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import socket
import struct
import typing as t
from http import HTTPStatus

from . import tls
from .canary import SECONDS_BEFORE, TOKEN_REQUEST, Canary, token_of
from .engine_errors import CredentialError
from .files import POLL_SECONDS, Json, open_to_read
from .http_requests import REQUEST_ERRORS, Server, describe_failure, header_lines
from .journal import (
    LOST,
    PREPARED,
    VERIFYING,
    WAITING,
    Address,
    Journal,
    NodeObject,
    PlannedObservation,
    Side,
    add_unverified,
)
from .node import Host
from .probes import PROBE_TIMEOUT, ApiResponse, HttpGet, api_request, token_problem, url_of
from .watcher import SIDE_BY_PHASE

# Until then what does not work counts as slow: a component that has just been started is not yet used to its clients.
LOSS_SECONDS = 30.0
# An admission webhook may take as long.
_WRITE_SECONDS = 35.0
CANARY = "canary"
_SERVICE = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dkubernetes"
# An account that every cluster has.
_DEFAULT_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"
# Where a kubelet authenticates, and where it does not matter whether it allows that.
_KUBELET_METRICS = "/metrics/resource"
_KUBELET_SERVER = "the kubelet's server at "
_DNS_PORT, _DNS_SECONDS, _DNS_HEADER = 53, 2.0, 12
_IN_POD = "volumes/kubernetes.io~projected/kube-api-access-*/token"
_TOKENS_KEPT = 3
_API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
_STABLE = re.compile(r"v[0-9]+")
# The API versions of Kubernetes itself, not those of CustomResourceDefinitions or other servers, which come and go.
_BUILT_IN = f"{_API_SERVICES}?labelSelector=kube-aggregator.kubernetes.io%2Fautomanaged%3Donstart"

Problems = t.Mapping[str, str]  # what is observed -> why it does not work; empty where it does


class Observations:
    """The observations that a journal plans. Tokens are kept in memory alone, so an engine that takes over has none."""

    def __init__(
        self,
        journal: Journal,
        host: Host,
        http_get: HttpGet,
        clock: t.Callable[[], float],
        sleep: t.Callable[[float], None],
        publish: t.Callable[[str], None],
    ) -> None:
        self.journal = journal
        self.host = host
        self.http_get = http_get
        self.clock = clock
        self.sleep = sleep
        self.publish = publish
        self._tokens: dict[str, str] = {}
        self._unseen: dict[str, list[str]] = {}
        self._canaries: dict[str, dict[str, str]] = {}

    def read_before(self) -> dict[str, dict[str, str]]:
        """What works before the change, and what does not, by the kind of the observation."""
        return {each["kind"]: dict(self._observe(each, "before", None)) for each in self._planned()}

    def find_losses(self) -> str:
        """What worked before the change and does not now; empty when all of it does."""
        limit = self.clock() + LOSS_SECONDS
        quick = [each for each in self._planned() if each["kind"] != CANARY]
        losses = self._failing(quick, worked=True)
        while losses and self.clock() < limit:
            self.sleep(POLL_SECONDS)
            losses = self._failing(quick, worked=True)
        # It waits by itself, and would only wait for what is lost already.
        losses = losses or self._failing([each for each in self._planned() if each["kind"] == CANARY], worked=True)
        for name in (name for names in self._unseen.values() for name in names):
            add_unverified(self.journal, f"whether it works: {name}: what it needs besides this component is away")
        described = "; ".join(f"{name} ({problem})" for name, problem in losses)
        return f"{LOST}{described}" if losses else ""

    def record_failures(self) -> None:
        """Record what is no part of the proof, because it does not work and did not before the change either."""
        for name, problem in self._failing(self._planned(), worked=False):
            add_unverified(self.journal, f"whether it works: {name} did not before the change either ({problem})")
        for each in self._planned():
            tried = self._before().get(each["kind"], {})
            untried = [step["name"] for step in each.get("steps", ()) if step["name"] not in tried]
            if untried:
                add_unverified(self.journal, f"whether it works: not tried before the change: {', '.join(untried)}")

    def complete(self, proof: Json | None) -> Json | None:
        """A proof with what worked before, and so was demanded, and who led then. What works under another leader than a changed one proves nothing."""
        leader = self.journal.get("leader")
        worked = [
            name
            for kind, problems in self._before().items()
            for name, problem in problems.items()
            if not problem and (kind != CANARY or not leader or leader["is_proof"])
        ]
        times = self.journal["times"]
        seconds = round(times["acting"] - times["down"], 1) if {"acting", "down"} <= set(times) else None
        return {**proof, "observed": worked, "leader": leader, "acting_seconds": seconds} if proof else None

    def _failing(self, planned: t.Iterable[PlannedObservation], *, worked: bool) -> list[tuple[str, str]]:
        """What does not work now, with the reason, of what worked before the change or of what did not."""
        side = SIDE_BY_PHASE[self.journal["phase"]]
        failing = []
        for each in planned:
            before = self._before().get(each["kind"], {})
            names = [name for name, problem in before.items() if (not problem) is worked]
            problems = self._observe(each, side, names) if names else {}
            if worked and each["kind"] != CANARY:
                self._unseen[each["kind"]] = [name for name in names if name not in problems]
            failing += [(name, problem) for name, problem in problems.items() if problem and name in names]
        return failing

    def _planned(self) -> t.Sequence[PlannedObservation]:
        return self.journal["watch"].get("observations", ())

    def _before(self) -> t.Mapping[str, Problems]:
        return self.journal.get("before", {}).get("observed", {})

    def _observe(self, planned: PlannedObservation, side: Side, worked: t.Sequence[str] | None) -> Problems:
        """worked: what has to be observed; None before the change, when that is found."""
        return self._KINDS[planned["kind"]](self, planned, side, worked)

    # -- a kubelet -----------------------------------------------------------------------------------------------------

    def _observe_port(self, planned: PlannedObservation, side: Side, worked: t.Sequence[str] | None) -> Problems:
        """Each address of the Node shows a certificate at the kubelet's port; whatever it answers then counts. The API server reaches it there."""
        addresses = (
            self._node_addresses(planned["node"])
            if worked is None
            else [name.removeprefix(_KUBELET_SERVER) for name in worked]
        )
        return {
            f"{_KUBELET_SERVER}{address}": _request_problem(address, planned[side]["port"]) for address in addresses
        }

    def _observe_metrics(self, planned: PlannedObservation, side: Side, worked: t.Sequence[str] | None) -> Problems:
        """It knows the token of a pod, as metrics-server and Prometheus use one, whether or not it allows the request. It looks each one up at the API."""
        addresses, port = self._node_addresses(planned["node"]), planned[side]["port"]
        problem = (
            self._check_tokens(worked, lambda token: _bearer_problem(addresses[0], port, token)) if addresses else None
        )
        return {} if problem is None else {"the token of a pod at the kubelet's server": problem}

    def _node_addresses(self, node: NodeObject) -> list[str]:
        found, _why = self.http_get(node["kubeconfig"], f"/api/v1/nodes/{node['name']}")
        addresses = (found or {}).get("status", {}).get("addresses") or []
        return [address["address"] for address in addresses if address["type"] == "InternalIP"]

    def _observe_dns(self, planned: PlannedObservation, side: Side, worked: t.Sequence[str] | None) -> Problems:
        """Each address of clusterDNS knows the name of the Service kubernetes."""
        problems = [_dns_problem(server, planned[side]["name"]) for server in planned[side]["servers"]]
        return {"clusterDNS": "; ".join(filter(None, problems))} if problems or worked else {}

    # -- an API server -------------------------------------------------------------------------------------------------

    def _observe_tokens(self, planned: PlannedObservation, side: Side, worked: t.Sequence[str] | None) -> Problems:
        """The token of a pod of this node that was issued before the change is accepted."""
        server = planned[side]["server"]
        problem = self._check_tokens(worked, lambda token: token_problem(self.host.kubelet_conf, server, token))
        return {} if problem is None else {"the token of a pod": problem}

    def _check_tokens(self, worked: t.Sequence[str] | None, check: t.Callable[[str], str]) -> str | None:
        """Why none of the tokens works; None without one. A token ends with its pod, so one of those that are there is enough."""
        if worked is None:
            self._tokens = self._tokens or self._read_tokens()
        found = None
        for path, token in self._tokens.items():
            if os.path.exists(path) and not (found := check(token)):
                return ""
        return found

    def _read_tokens(self) -> dict[str, str]:
        """The tokens of the pods that have been there for the longest, and so will be after the change, by their files."""
        found: dict[str, str] = {}
        for pod in sorted(glob.glob(os.path.join(self.host.kubelet_root, "pods", "*")), key=_time_of):
            for path in glob.glob(os.path.join(glob.escape(pod), _IN_POD)):
                with contextlib.suppress(OSError, ValueError), open_to_read(os.path.realpath(path)) as stream:
                    found[path] = stream.read().decode("ascii").strip()
        return dict(list(found.items())[:_TOKENS_KEPT])

    def _observe_peers(self, planned: PlannedObservation, side: Side, worked: t.Sequence[str] | None) -> Problems:
        """Pods reach the address that this server has in the Service kubernetes, and whichever server issues a token, the others accept it: a pod has
        one of any of them. Another server that is away, or issues none, has a problem of its own."""
        kubeconfig, own, host = planned["kubeconfig"], planned[side]["server"], planned[side]["advertised"]
        silent = _request_problem(host, own["port"])
        problems = {"its address in the Service kubernetes": f"{host}: {silent}" if silent else ""}
        found = api_request(kubeconfig, _SERVICE, own)
        for each in _servers_of(found.body) if found.status == 200 else []:
            if each["host"] not in (own["host"], host):
                name = f"the API server {each['host']}"
                pairs = {f"a token that {name} issues": (each, own), f"its token at {name}": (own, each)}
                problems.update(
                    {
                        text: "" if is_accepted else "it is refused"
                        for text, (issuer, other) in pairs.items()
                        if (is_accepted := _is_token_accepted(kubeconfig, issuer, other)) is not None
                    }
                )
        return problems

    def _observe_aggregated(self, planned: PlannedObservation, side: Side, worked: t.Sequence[str] | None) -> Problems:
        """Each API that it takes from another server answers. Those come and go: one whose Service has no server that is ready is no problem of this one."""
        kubeconfig, address = planned["kubeconfig"], planned[side]["server"]
        found = api_request(kubeconfig, _API_SERVICES, address)
        problems = dict.fromkeys(worked or (), "" if found.status == HTTPStatus.OK else found.problem)
        for spec in _aggregated_of(found):
            name = f"aggregated API {spec['group']}/{spec['version']}"
            if worked is not None and name not in worked:
                continue
            response = api_request(kubeconfig, f"/apis/{spec['group']}/{spec['version']}", address)
            problems[name] = "" if response.status == HTTPStatus.OK else response.problem
            if problems[name] and not _has_servers(kubeconfig, address, spec["service"]):
                problems.pop(name)
        return problems

    def _observe_versions(self, planned: PlannedObservation, side: Side, worked: t.Sequence[str] | None) -> Problems:
        """Each stable version of Kubernetes' own API that was served is; others go with a feature gate or a release."""
        kubeconfig, address = planned["kubeconfig"], planned[side]["server"]
        wanted = self._built_in_versions(kubeconfig, address) if worked is None else worked
        response = api_request(kubeconfig, "/apis", address)
        try:
            groups = json.loads(response.body)["groups"] if response.status == 200 else []
        except (ValueError, LookupError, TypeError):
            groups = []
        served = {f"API version {version['groupVersion']}" for group in groups for version in group["versions"]}
        problem = response.problem if response.status != 200 else "it is not served"
        return {name: "" if name in served else problem for name in wanted}

    def _built_in_versions(self, kubeconfig: str, address: Address) -> list[str]:
        response = api_request(kubeconfig, _BUILT_IN, address)
        try:
            specs = [item["spec"] for item in json.loads(response.body)["items"]] if response.status == 200 else []
        except (ValueError, LookupError, TypeError):
            specs = []
        return [
            f"API version {spec['group']}/{spec['version']}"
            for spec in specs
            if spec.get("group") and _STABLE.fullmatch(spec["version"])
        ]

    # -- the cluster ---------------------------------------------------------------------------------------------------

    def _observe_canary(self, planned: PlannedObservation, side: Side, worked: t.Sequence[str] | None) -> Problems:
        """A canary, once in each phase. What does not work now because of others is no loss."""
        phase = self.journal["phase"]
        if phase not in self._canaries:
            suffix = {PREPARED: "before", VERIFYING: "restored"}.get(phase, "after")
            name = f"{self.journal['name']}-{self.journal['id'].rpartition('-')[2]}-{suffix}"
            canary = Canary(
                planned,
                side,
                name,
                send=self._sender(planned["kubeconfig"], planned[side]["server"]),
                clock=self.clock,
                sleep=self.sleep,
                is_first=worked is None,
                publish=lambda step: self.publish(f"is observed: {step}"),
            )
            is_demanded = worked is not None and any(not why for why in self._before().get(CANARY, {}).values())
            self._canaries[phase] = canary.observe(planned["seconds"] if is_demanded else SECONDS_BEFORE)
            self.journal["leader"] = canary.leader
            if phase == WAITING and canary.acted_at is not None:
                self.journal["times"]["acting"] = canary.acted_at
            add_unverified(self.journal, canary.unverified and f"whether the cluster works: {canary.unverified}")
        return self._canaries[phase]

    @staticmethod
    def _sender(kubeconfig: str, server: Address) -> t.Callable[[str, str, Json | None], ApiResponse]:
        """What sends a request to the API server of this node."""

        def send(method: str, path: str, body: Json | None) -> ApiResponse:
            timeout = PROBE_TIMEOUT if body is None else _WRITE_SECONDS
            return api_request(kubeconfig, path, server, method=method, body=body, timeout=timeout)

        return send

    _KINDS: t.ClassVar[dict[str, t.Callable[..., Problems]]] = {
        "port": _observe_port,
        "dns": _observe_dns,
        "tokens": _observe_tokens,
        "versions": _observe_versions,
        "peers": _observe_peers,
        "metrics": _observe_metrics,
        "aggregated": _observe_aggregated,
        CANARY: _observe_canary,
    }


def _time_of(path: str) -> float:
    try:
        return os.path.getmtime(path)
    except OSError:  # its pod has just ended
        return 0.0


def _request_problem(host: str, port: int) -> str:
    address: Address = {"scheme": "https", "host": host, "port": port}
    try:
        Server(url_of(address), context=tls.client_context(verify=False)).request(
            "GET", "/healthz", timeout=PROBE_TIMEOUT
        )
    except (CredentialError, *REQUEST_ERRORS) as exc:
        return describe_failure(exc)
    return ""


def _bearer_problem(host: str, port: int, token: str) -> str:
    """Why the kubelet does not know the bearer of a token."""
    address: Address = {"scheme": "https", "host": host, "port": port}
    server = Server(url_of(address), context=tls.client_context(verify=False))
    try:
        headers = header_lines({"Authorization": f"Bearer {token}"})
        status = server.request("GET", _KUBELET_METRICS, headers=headers, timeout=PROBE_TIMEOUT).status
    except (CredentialError, *REQUEST_ERRORS) as exc:
        return describe_failure(exc)
    return "it is rejected" if status == HTTPStatus.UNAUTHORIZED else ""


def _aggregated_of(response: ApiResponse) -> list[Json]:
    """The specifications of APIServices with a Service, which other servers answer for."""
    try:
        specs = (
            [item["spec"] for item in json.loads(response.body)["items"]] if response.status == HTTPStatus.OK else []
        )
    except (ValueError, LookupError, TypeError):
        return []
    return [spec for spec in specs if spec.get("service")]


def _has_servers(kubeconfig: str, address: Address, service: Json) -> bool:
    """Whether a Service has an endpoint that is ready; so it counts where that cannot be read."""
    path = f"/apis/discovery.k8s.io/v1/namespaces/{service['namespace']}/endpointslices"
    found = api_request(kubeconfig, f"{path}?labelSelector=kubernetes.io%2Fservice-name%3D{service['name']}", address)
    try:
        endpoints = [each for item in json.loads(found.body)["items"] for each in item.get("endpoints") or []]
    except (ValueError, LookupError, TypeError):
        return True
    return any((each.get("conditions") or {}).get("ready", True) for each in endpoints)


def _is_token_accepted(kubeconfig: str, issuer: Address, other: Address) -> bool | None:
    """Whether a server accepts a token that another one issues now; None where one of them does not do its part."""
    token = token_of(api_request(kubeconfig, f"{_DEFAULT_ACCOUNT}/token", issuer, method="POST", body=TOKEN_REQUEST))
    problem = token_problem(kubeconfig, other, token) if token else ""
    return None if not token or (problem and "401" not in problem) else not problem


def _servers_of(body: bytes) -> list[Address]:
    """The addresses in EndpointSlices."""
    try:
        slices = json.loads(body)["items"]
        return [
            {"scheme": "https", "host": host, "port": port["port"]}
            for each in slices
            for port in each.get("ports") or []
            for endpoint in each.get("endpoints") or []
            for host in endpoint["addresses"]
        ]
    except (ValueError, LookupError, TypeError):
        return []


def _dns_problem(server: str, name: str) -> str:
    """One question for the addresses of a name, over UDP."""
    question = b"".join(bytes([len(label)]) + label.encode("ascii") for label in name.rstrip(".").split("."))
    identifier = os.urandom(2)
    query = identifier + struct.pack(">HHHHH", 0x0100, 1, 0, 0, 0) + question + struct.pack(">BHH", 0, 1, 1)
    try:
        with socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(_DNS_SECONDS)
            client.connect((server, _DNS_PORT))
            client.send(query)
            answer = client.recv(4096)
    except OSError as exc:
        return f"{server}: {exc}"
    if answer[:2] != identifier or len(answer) < _DNS_HEADER:
        return f"{server}: it answers something else"
    # A name server on the way answers for every address, with NXDOMAIN. A cluster of IPv6 alone has the name, without an address of this type.
    code = answer[3] & 0x0F
    return f"{server}: it does not know {name} (code {code})" if code else ""

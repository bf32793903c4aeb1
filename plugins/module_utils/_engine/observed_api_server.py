# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an API server is for: it accepts tokens, its own and those of the others, serves the API that it did, and is reached where pods look for it."""

from __future__ import annotations

import json
import re
import typing as t
from http import HTTPStatus

from .canary import TOKEN_REQUEST, WRITE_SECONDS, problem_of, token_of
from .files import Json
from .journal import Address, PlannedObservation, Side
from .observed_node import ObservedNode, Problems, request_problem
from .probes import ApiResponse, api_request, token_problem

_SERVICE = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dkubernetes"
# An account that every cluster has.
_DEFAULT_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"
_API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
_SYSTEM_PODS = "/api/v1/namespaces/kube-system/pods?dryRun=All"
_PRIVILEGED_POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "nodecraft-kubeadm-"},
    "spec": {
        "hostNetwork": True,
        "priorityClassName": "system-node-critical",
        "containers": [{"name": "canary", "image": "canary", "securityContext": {"privileged": True}}],
    },
}
_NO_WEBHOOK = "failed calling webhook"
_STABLE = re.compile(r"v[0-9]+")
# The API versions of Kubernetes itself, not those of CustomResourceDefinitions or other servers, which come and go.
_BUILT_IN = f"{_API_SERVICES}?labelSelector=kube-aggregator.kubernetes.io%2Fautomanaged%3Donstart"


def observe_tokens(
    node: ObservedNode, planned: PlannedObservation, side: Side, worked: t.Sequence[str] | None
) -> Problems:
    """The token of a pod of this node that was issued before the change is accepted."""
    server = planned[side]["server"]
    problem = node.tokens.find_problem(lambda token: token_problem(node.host.kubelet_conf, server, token))
    return {} if problem is None else {"the token of a pod": problem}


def observe_peers(
    node: ObservedNode, planned: PlannedObservation, side: Side, worked: t.Sequence[str] | None
) -> Problems:
    """Pods reach the address that this server has in the Service kubernetes, and whichever server issues a token, the others accept it: a pod has
    one of any of them. Another server that is away, or issues none, has a problem of its own."""
    kubeconfig, own, host = planned["kubeconfig"], planned[side]["server"], planned[side]["advertised"]
    silent = request_problem(host, own["port"])
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


def observe_aggregated(
    node: ObservedNode, planned: PlannedObservation, side: Side, worked: t.Sequence[str] | None
) -> Problems:
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


def observe_admission(
    node: ObservedNode, planned: PlannedObservation, side: Side, worked: t.Sequence[str] | None
) -> Problems:
    """It admits a privileged pod in kube-system, as kube-proxy's and those of most networks are. Nothing is stored. A webhook that is away is no problem of
    this one."""
    found = api_request(
        planned["kubeconfig"],
        _SYSTEM_PODS,
        planned[side]["server"],
        method="POST",
        body=_PRIVILEGED_POD,
        timeout=WRITE_SECONDS,
    )
    problem = problem_of(found)
    return {} if _NO_WEBHOOK in problem else {"the admission of a privileged pod in kube-system": problem}


def observe_versions(
    node: ObservedNode, planned: PlannedObservation, side: Side, worked: t.Sequence[str] | None
) -> Problems:
    """Each stable version of Kubernetes' own API that was served is; others go with a feature gate or a release."""
    kubeconfig, address = planned["kubeconfig"], planned[side]["server"]
    wanted = _built_in_versions(kubeconfig, address) if worked is None else worked
    response = api_request(kubeconfig, "/apis", address)
    try:
        groups = json.loads(response.body)["groups"] if response.status == 200 else []
    except (ValueError, LookupError, TypeError):
        groups = []
    served = {f"API version {version['groupVersion']}" for group in groups for version in group["versions"]}
    problem = response.problem if response.status != 200 else "it is not served"
    return {name: "" if name in served else problem for name in wanted}


def _built_in_versions(kubeconfig: str, address: Address) -> list[str]:
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

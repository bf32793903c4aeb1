# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads what would keep pods from being resized, and which of that the account may not read."""

from __future__ import annotations

import typing as t
from fractions import Fraction
from http import HTTPStatus

from .._plan.common.batch import join_first
from .._plan.common.errors import KubeadmError
from .._plan.pod import resize_checks, resize_undo
from .._plan.pod.resize_checks import Resize
from .._plan.pod.resize_state import REFUSED
from .client import ApiError, Client, NoResponse
from .objects import read_nodes, read_pods
from .parallel import for_each
from .pod_targets import PodTarget

_ALL_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)  # of one kubelet: so it is of each


class PodChecks:
    """Compares the changes of pods with quotas, the room of nodes and the memory in use, before any of them is sent.

    It is apart from the steps because it only reads, and what it cannot read is no failure. workers: how many requests are under way at a
    time. unverified: what could not be looked at, each with the reason.
    """

    def __init__(self, client: Client, namespace: str, *, workers: int) -> None:
        self._client = client
        self._namespace = namespace
        self._workers = workers
        self.unverified: list[str] = []

    def run(self, targets: t.Sequence[PodTarget], *, allocatable: bool) -> None:
        """Fail each pod whose change cannot be done now. targets: those that change. allocatable: look at the room of nodes, too."""
        resizes = {
            target.name: (target.read, resize_undo.apply_changes(target.read, target.operations)) for target in targets
        }
        growing = {name: resize for name, resize in resizes.items() if resize_checks.requests_more(*resize)}
        by_name = {target.name: target for target in targets}
        self._check_quotas(by_name, growing)
        if allocatable:
            self._check_allocatable(by_name, growing)
        self._check_usage(targets)

    # ---- quotas --------------------------------------------------------------------------------------------------------

    def _check_quotas(self, targets: t.Mapping[str, PodTarget], growing: t.Mapping[str, Resize]) -> None:
        if len(growing) < 2:
            return  # the API server applies quotas to each patch by itself, also to a dry run
        question = "whether the quotas of the namespace have room for all pods together"
        try:
            quotas = self._client.list(f"namespaces/{self._namespace}/resourcequotas")
        except ApiError as exc:
            self._record_unread(question, exc)
            return
        problems, unknown = resize_checks.quota_problems(quotas, growing)
        for name, problem in problems.items():
            targets[name].fail(REFUSED, f"{problem}.")
        if unknown:
            self.unverified.append(f"{question}: {join_first(unknown)}")

    # ---- the room of nodes ---------------------------------------------------------------------------------------------

    def _check_allocatable(self, targets: t.Mapping[str, PodTarget], growing: t.Mapping[str, Resize]) -> None:
        by_node: dict[str, dict[str, Resize]] = {}
        for name, resize in growing.items():
            target = targets[name]
            if target.node and not target.error:
                by_node.setdefault(target.node, {})[name] = resize
        if not by_node:
            return
        question = f"whether these nodes have room for it: {join_first(by_node)}"
        try:
            nodes = read_nodes(self._client, list(by_node), None, workers=self._workers)
            on_node = read_pods(self._client, list(by_node))
        except ApiError as exc:
            self._record_unread(question, exc)
            return
        for node, resizes in by_node.items():
            if node not in nodes:
                self.unverified.append(f"whether the node {node} has room for it: there is no such node")
                continue
            for name, (outcome, problem) in resize_checks.allocatable_problems(
                nodes[node], on_node[node], resizes
            ).items():
                targets[name].fail(outcome, f"{problem}.")

    # ---- memory in use -------------------------------------------------------------------------------------------------

    def _check_usage(self, targets: t.Sequence[PodTarget]) -> None:
        """Compare lower limits of memory with what is in use: by the kubelets' own reports, else by the metrics API."""
        limits = {
            target.name: lower_limits
            for target in targets
            if target.node and not target.error
            for lower_limits in [resize_checks.lowered_memory(target.operations, target.restarts)]
            if lower_limits
        }
        if not limits:
            return
        lowering = [target for target in targets if target.name in limits]
        reports, problems = self._read_summaries(list(dict.fromkeys(target.node for target in lowering)))
        usage: dict[str, dict[str, Fraction]] = {
            target.name: reports[target.node].get(str(target.read["metadata"].get("uid")), {})
            for target in lowering
            if target.node in reports
        }
        self._compare([each for each in lowering if each.name in usage], limits, usage, "as its kubelet reports")
        others = [target for target in lowering if target.name not in usage]
        if others:
            self._check_metrics(others, limits, problems)

    def _check_metrics(
        self, targets: t.Sequence[PodTarget], limits: t.Mapping[str, t.Mapping[str, str]], problems: t.Mapping[str, str]
    ) -> None:
        try:
            usage = resize_checks.parse_metrics(
                self._client.without_retries().list(f"/apis/metrics.k8s.io/v1beta1/namespaces/{self._namespace}/pods")
            )
        except KubeadmError as exc:
            reasons = list(dict.fromkeys(problems.values()))
            names = join_first(target.full_name for target in targets)
            self.unverified.append(
                f"whether the new limits are above the memory in use of {names}: {join_first(reasons)}; {exc}"
            )
            return
        self._compare(targets, limits, usage, "as the metrics API reports")

    def _compare(
        self,
        targets: t.Sequence[PodTarget],
        limits: t.Mapping[str, t.Mapping[str, str]],
        usage: t.Mapping[str, t.Mapping[str, Fraction]],
        source: str,
    ) -> None:
        for target in targets:
            own, lower_limits = usage.get(target.name, {}), limits[target.name]
            problem = resize_checks.usage_problem(lower_limits, own, source)
            if problem:
                target.fail(REFUSED, f"{problem}.")
            unknown = [name for name in lower_limits if name not in own]
            if unknown:
                self.unverified.append(
                    f"whether the new limits are above the memory in use of {target.full_name}: nothing is reported of"
                    f" {', '.join(unknown)} yet"
                )

    def _read_summaries(
        self, nodes: t.Sequence[str]
    ) -> tuple[dict[str, dict[str, dict[str, Fraction]]], dict[str, str]]:
        """Memory in use by node, pod and container, and why it is not known of other nodes."""
        found: dict[str, dict[str, dict[str, Fraction]]] = {}
        problems: dict[str, str] = {}

        def read(node: str) -> bool:
            try:
                response = self._client.get_proxied(f"nodes/{node}/proxy/stats/summary", {})
            except ApiError as exc:
                problems[node] = str(exc)
                return exc.status not in _ALL_REFUSED
            if response.status == HTTPStatus.OK and response.body:
                found[node] = resize_checks.parse_summary(response.body)
            else:
                problems[node] = f"the kubelet of {node} answers {response.status} at /stats/summary"
            return True

        for_each(nodes, read, workers=self._workers, stop_at_failure=True)
        return found, problems

    def _record_unread(self, question: str, exc: ApiError) -> None:
        """Record what cannot be read. Raises what is no answer."""
        if isinstance(exc, NoResponse):
            raise exc
        self.unverified.append(f"{question}: {exc}")

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a component is for, observed before its change and after it: what worked before has to work after it.

A healthy process proves less: with another issuer every token of the cluster answered 401, and with C(enableServer) off logs and exec were gone, both
behind a change that was committed (1.37.2). Which observations are made is planned, and stands in the journal; how they are made is here.
"""

from __future__ import annotations

import typing as t

from . import observed_api_server, observed_kubelet
from .canary import SECONDS_BEFORE, WRITE_SECONDS, Canary
from .files import POLL_SECONDS, Json
from .journal import (
    LOST,
    PREPARED,
    VERIFYING,
    WAITING,
    Address,
    Journal,
    PlannedObservation,
    Side,
    add_unverified,
)
from .node import Host
from .observed_node import ObservedNode, PodTokens, Problems
from .probes import PROBE_TIMEOUT, ApiResponse, HttpGet, api_request
from .watcher import SIDE_BY_PHASE

# Until then what does not work counts as slow: a component that has just been started is not yet used to its clients.
LOSS_SECONDS = 30.0
CANARY = "canary"


class Observations:
    """The observations that a journal plans."""

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
        self.clock = clock
        self.sleep = sleep
        self.publish = publish
        self._node = ObservedNode(host, http_get, PodTokens(host.kubelet_root))
        self._unseen: dict[str, list[str]] = {}
        self._canaries: dict[str, dict[str, str]] = {}

    def read_before(self) -> dict[str, dict[str, str]]:
        """What works before the change, and what does not, by the kind of the observation."""
        self._node.tokens.read()
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
        if planned["kind"] == CANARY:
            return self._observe_canary(planned, side, worked)
        return self._KINDS[planned["kind"]](self._node, planned, side, worked)

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
            timeout = PROBE_TIMEOUT if body is None else WRITE_SECONDS
            return api_request(kubeconfig, path, server, method=method, body=body, timeout=timeout)

        return send

    _KINDS: t.ClassVar[dict[str, t.Callable[..., Problems]]] = {
        "port": observed_kubelet.observe_port,
        "metrics": observed_kubelet.observe_metrics,
        "dns": observed_kubelet.observe_dns,
        "tokens": observed_api_server.observe_tokens,
        "peers": observed_api_server.observe_peers,
        "aggregated": observed_api_server.observe_aggregated,
        "admission": observed_api_server.observe_admission,
        "versions": observed_api_server.observe_versions,
    }

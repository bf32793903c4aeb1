# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is verified of an API server whose probes pass: this very server knows its clients, and the kubelet reports to it.

No probe identifies the server, so an API server that trusts no client any more passes them all.
"""

from __future__ import annotations

import json
import typing as t
from http import HTTPStatus

from .files import POLL_SECONDS
from .journal import Address, Credential, Journal, PreviousState, Side, StaticPodWatch, add_unverified
from .pod_observation import config_hash
from .probes import ApiResponse, api_request
from .watcher import TRANSIENT_TIMEOUT

# A client that may not read this may do nothing that matters; a path of health is open to everybody.
AUTHORIZED_PATH = "/api/v1/namespaces/kube-system"
_REPORTED = "whether its kubelet reports the new instance to it"


class ApiServer(t.NamedTuple):
    """The API server of a journal; another component has no credentials there, and nothing is requested then."""

    journal: Journal
    watch: StaticPodWatch
    clock: t.Callable[[], float]
    sleep: t.Callable[[float], None]

    def read_previous_state(self, uid: str | None) -> PreviousState:
        """Which clients it accepts before the change: True and False, or None for no response. uid: of the instance that runs."""
        limit = self.clock() + TRANSIENT_TIMEOUT
        clients: dict[str, bool | None] = {}
        silent: dict[str, str] = {}
        for credential in self._credentials():
            kubeconfig = credential["kubeconfig"]
            response = self._request_until("before", kubeconfig, credential["path"], ApiResponse.is_ok, limit)
            clients[kubeconfig] = True if response.is_ok() else False if response.refused else None
            if not response.is_ok():
                silent[kubeconfig] = response.problem
        mirror = self.watch.get("mirror")
        if mirror is None or uid is None or not clients.get(mirror["kubeconfig"]):
            return {"clients": clients, "silent": silent}
        response = self._request_until("before", mirror["kubeconfig"], mirror["path"], _reports_uid(uid), limit)
        # A kubelet that got a response, and may not read its mirror pod, has none there: nothing relates the node to it.
        is_known = response.is_ok() or response.status == HTTPStatus.FORBIDDEN
        mirrored = _reports_uid(uid)(response) if is_known else None
        unverified = [f"{_REPORTED}: before the change {_describe_mirror(response, uid)}"] if mirrored is False else []
        return {"clients": clients, "silent": silent, "mirrored": mirrored, "unverified": unverified}

    def verify(self, uid: str) -> str | None:
        """Why the instance with this UID is not verified; None when it is. A server that has just been started forbids everything
        until it knows who may do what, and its kubelet reports it some seconds later."""
        limit = self.clock() + TRANSIENT_TIMEOUT
        accepted = []
        for credential in self._credentials():
            kubeconfig = credential["kubeconfig"]
            if not self._is_demanded(kubeconfig):
                why = self.journal["before"].get("silent", {}).get(kubeconfig, "it was not answered")
                add_unverified(self.journal, f"whether it answers the client of {kubeconfig}: before the change {why}")
                continue
            response = self._request_until("after", kubeconfig, credential["path"], ApiResponse.is_ok, limit)
            if not response.is_ok():
                return self._failure_message(kubeconfig, response)
            accepted.append(f"{kubeconfig}: {response.status}")
        self.journal["clients"] = accepted
        return self._check_mirror_pod(uid, max(limit, self.journal.get("deadline") or 0.0))

    def _check_mirror_pod(self, uid: str, limit: float) -> str | None:
        mirror = self.watch.get("mirror")
        if mirror is None or not self._is_demanded(mirror["kubeconfig"]):
            return None
        if self.journal["before"].get("mirrored") is False:
            return None
        response = self._request_until("after", mirror["kubeconfig"], mirror["path"], _reports_uid(uid), limit)
        if not _reports_uid(uid)(response):
            return f"the kubelet did not report the new {self.journal['name']} to it: {_describe_mirror(response, uid)}"
        self.journal["config_hash"] = uid
        return None

    def _credentials(self) -> t.Sequence[Credential]:
        return self.watch.get("credentials", [])

    def _server(self, side: Side) -> Address | None:
        return self.watch[side].get("server")

    def _is_demanded(self, kubeconfig: str) -> bool:
        """Whether a response is a part of the proof: where there was one before, or the server was not healthy then."""
        before = self.journal["before"]
        was_accepted = before.get("clients", {}).get(kubeconfig, False)
        return was_accepted is True or (was_accepted is None and not before["healthy"])

    def _request_until(
        self, side: Side, kubeconfig: str, path: str, is_enough: t.Callable[[ApiResponse], bool], limit: float
    ) -> ApiResponse:
        """The first response that is enough, or the last one within the limit."""
        while True:
            response = api_request(kubeconfig, path, self._server(side))
            if is_enough(response) or response.is_final or self.clock() >= limit:
                return response
            self.sleep(POLL_SECONDS)

    def _failure_message(self, kubeconfig: str, response: ApiResponse) -> str:
        result = f"answers {response.status}" if response.status else f"gives no answer ({response.problem})"
        admitted = (
            ", which it admitted before the change" if self.journal["before"].get("clients", {}).get(kubeconfig) else ""
        )
        return f"{self.journal['name']} {result} to the client of {kubeconfig}{admitted}"


def _reported_uid(response: ApiResponse) -> str | None:
    """The UID that a mirror pod has in its annotation; None when there is none."""
    try:
        return config_hash(json.loads(response.body)) if response.status == 200 else None
    except ValueError:
        return None


def _reports_uid(uid: str) -> t.Callable[[ApiResponse], bool]:
    return lambda response: _reported_uid(response) == uid


def _describe_mirror(response: ApiResponse, uid: str) -> str:
    if response.status != 200:
        return f"asked for its mirror pod, {response.problem}"
    return f"its mirror pod has the config.hash {_reported_uid(response)}, not {uid}"

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: no promise of stability to code outside it.

"""What is verified of an API server whose probes pass: this very server knows its clients, and the kubelet's word reaches it.

No probe says who it is, so an API server that trusts no client any more passes them all.
"""

from __future__ import annotations

import json
import typing as t

from .files import POLL_SECONDS
from .journal import Address, Credential, Former, Journal, Side, StaticPodWatch
from .mirror_pod import config_hash
from .probes import Answer, ask
from .watcher import HICCUP_SECONDS

# A client that may not read this may do nothing that matters; a path of health is open to everybody.
GUARDED = "/api/v1/namespaces/kube-system"


class ApiServer(t.NamedTuple):
    """The API server of a journal; another component has no credentials there, and nothing is asked then."""

    journal: Journal
    watch: StaticPodWatch
    clock: t.Callable[[], float]
    sleep: t.Callable[[float], None]

    def observe(self, uid: str | None) -> Former:
        """Whom it answers before the change: True and False, or None for no answer. uid: of the instance that runs."""
        limit = self.clock() + HICCUP_SECONDS
        clients: dict[str, bool | None] = {}
        for credential in self._credentials():
            answer = self._patiently("before", credential["kubeconfig"], credential["path"], Answer.is_ok, limit)
            clients[credential["kubeconfig"]] = True if answer.is_ok() else False if answer.refused else None
            if not answer.is_ok():
                so = ", so the verification does not cover that" if answer.refused else ""
                self._note(f"before the change, asked with {credential['kubeconfig']}, {answer.why}{so}")
        mirror = self.watch.get("mirror")
        if mirror is None or uid is None or not clients.get(mirror["kubeconfig"]):
            return {"clients": clients}
        answer = self._patiently("before", mirror["kubeconfig"], mirror["path"], _carries(uid), limit)
        if answer.is_ok() and not _carries(uid)(answer):
            self._note(f"before the change {_told_mirror(answer, uid)}, so the verification does not cover that")
        return {"clients": clients, "mirrored": _carries(uid)(answer) if answer.is_ok() else None}

    def failure(self, uid: str) -> str | None:
        """Why the instance with this UID is not verified; None when it is. A server that has just been started forbids everything
        until it knows who may do what, and its kubelet reports it some seconds later."""
        limit = self.clock() + HICCUP_SECONDS
        answers = []
        for credential in self._credentials():
            kubeconfig = credential["kubeconfig"]
            if self._is_demanded(kubeconfig):
                answer = self._patiently("after", kubeconfig, credential["path"], Answer.is_ok, limit)
                if not answer.is_ok():
                    return self._told(kubeconfig, answer)
                answers.append(f"{kubeconfig}: {answer.status}")
        self.journal["clients"] = answers
        return self._not_mirrored(uid, max(limit, self.journal.get("deadline") or 0.0))

    def _not_mirrored(self, uid: str, limit: float) -> str | None:
        mirror = self.watch.get("mirror")
        if mirror is None or not self._is_demanded(mirror["kubeconfig"]):
            return None
        if self.journal["before"].get("mirrored") is False:
            return None
        answer = self._patiently("after", mirror["kubeconfig"], mirror["path"], _carries(uid), limit)
        if not _carries(uid)(answer):
            return f"the kubelet did not report the new {self.journal['name']} to it: {_told_mirror(answer, uid)}"
        self.journal["config_hash"] = uid
        return None

    def _credentials(self) -> t.Sequence[Credential]:
        if "credentials" in self.watch:
            return self.watch["credentials"]
        client = self.watch.get("client")  # of a journal that a former version wrote
        return [{"kubeconfig": client["kubeconfig"], "path": GUARDED}] if client else []

    def _server(self, side: Side) -> Address | None:
        return self.watch[side].get("server") or self.watch.get("client")

    def _is_demanded(self, kubeconfig: str) -> bool:
        """Whether an answer is a part of the proof: where it was given before, and where no client was answered because the server
        was not healthy. An address that did not answer although the server was healthy is not the right one."""
        before = self.journal["before"]
        responded = before.get("clients", {}).get(kubeconfig, before.get("admits", False))
        return responded is True or (responded is None and not before["healthy"])

    def _patiently(
        self, side: Side, kubeconfig: str, path: str, is_enough: t.Callable[[Answer], bool], limit: float
    ) -> Answer:
        """The first answer that is enough, or the last one within the limit."""
        while True:
            answer = ask(kubeconfig, path, self._server(side))
            if is_enough(answer) or answer.is_final or self.clock() >= limit:
                return answer
            self.sleep(POLL_SECONDS)

    def _told(self, kubeconfig: str, answer: Answer) -> str:
        said = f"answers {answer.status}" if answer.status else f"gives no answer ({answer.why})"
        known = (
            ", which it admitted before the change" if self.journal["before"].get("clients", {}).get(kubeconfig) else ""
        )
        return f"{self.journal['name']} {said} to the client of {kubeconfig}{known}"

    def _note(self, text: str) -> None:
        self.journal.setdefault("notes", []).append(text)


def _hash(answer: Answer) -> str | None:
    """The UID that a mirror pod carries; None when there is none."""
    try:
        return config_hash(json.loads(answer.body)) if answer.status == 200 else None
    except ValueError:
        return None


def _carries(uid: str) -> t.Callable[[Answer], bool]:
    return lambda answer: _hash(answer) == uid


def _told_mirror(answer: Answer, uid: str) -> str:
    if answer.status != 200:
        return f"asked for its mirror pod, {answer.why}"
    return f"its mirror pod has the config.hash {_hash(answer)}, not {uid}"

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A member of etcd: how it is queried, and what is verified of one whose probes pass.

Its health shows that its cluster has a leader. It does not show that this member takes writes, that no alarm keeps them away, or that
the others have what it wrote. All requests are etcd's own JSON over HTTP, which needs no client library.
"""

from __future__ import annotations

import base64
import contextlib
import json
import ssl
import typing as t

from . import tls
from .engine_errors import CredentialError
from .files import POLL_SECONDS, Json, open_to_read
from .http_requests import REQUEST_ERRORS, Server, describe_failure
from .journal import (
    SIDES,
    EtcdClient,
    EtcdPreviousState,
    EtcdProof,
    Journal,
    PreviousState,
    Side,
    StaticPodWatch,
    add_note,
    add_unverified,
)
from .probes import PROBE_TIMEOUT
from .watcher import TRANSIENT_TIMEOUT

# Always the same: what an engine that was killed leaves there, the next proof deletes.
PROOF_KEY = "nodecraft-kubeadm/proof"
MEMBERS = "/v3/cluster/member/list"
STATUS = "/v3/maintenance/status"
ALARMS = "/v3/maintenance/alarm"
MOVE_LEADER = "/v3/maintenance/transfer-leadership"
PUT = "/v3/kv/put"
DELETE = "/v3/kv/deleterange"


class EtcdError(Exception):
    """A member did not respond, or refused. status: of its response; None when there is none."""

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


# ---- requests --------------------------------------------------------------------------------------------------------


def tls_context_of(client: EtcdClient) -> ssl.SSLContext | None:
    """For a member and the others of its cluster; None where they do without. Raises OSError, and CredentialError."""
    if not client["url"].startswith("https://"):
        return None
    pair = tls.read_pair(client["certificate"], client["key"]) if "certificate" in client and "key" in client else None
    if "authority" not in client:
        return tls.client_context(pair=pair, verify=False)
    with open_to_read(client["authority"]) as stream:
        # Each member is queried at an address that the cluster itself lists.
        return tls.client_context(stream.read(), pair, check_name=False)


class EtcdCluster:
    """The members of a cluster, queried with the certificate of one of them. Every request raises EtcdError."""

    def __init__(self, client: EtcdClient) -> None:
        self.url = client["url"]
        try:
            self._context = tls_context_of(client)
        except (OSError, CredentialError) as exc:
            raise EtcdError(f"{self.url}: {exc}") from exc

    def post(self, path: str, body: Json | None = None, url: str | None = None) -> Json:
        """The body of a member's response. url: of another member."""
        url = url or self.url
        try:
            server = Server(url, context=self._context)
            response = server.request("POST", path, body=json.dumps(body or {}).encode(), timeout=PROBE_TIMEOUT)
            content = json.loads(response.data) if response.status == 200 else None
        except (CredentialError, *REQUEST_ERRORS) as exc:
            raise EtcdError(f"{url}: {describe_failure(exc)}") from exc
        if not isinstance(content, dict):
            raise EtcdError(f"{url}{path} answers {response.status}{_error_message(response.data)}", response.status)
        return content

    def write_proof(self, value: str) -> int:
        """Write a key through this member and delete it again: the revision that its cluster has then."""
        key = _to_base64(PROOF_KEY)
        self.post(PUT, {"key": key, "value": _to_base64(value)})
        response = self.post(DELETE, {"key": key})
        if _to_int(response.get("deleted")) < 1:
            # With a status: there was a response.
            raise EtcdError(f"{self.url} did not delete the key that was written through it", 200)
        return revision_of(response)

    def alarms(self) -> list[str]:
        """The alarms of all members, each as kind and member."""
        alarms = self.post(ALARMS, {"action": "GET"}).get("alarms") or []
        return sorted(f"{entry.get('alarm', 'NONE')} of member {entry.get('memberID')}" for entry in alarms)

    def members(self) -> list[Json]:
        """All members of its cluster."""
        return list(self.post(MEMBERS).get("members") or [])

    def list_others(self) -> list[Json]:
        """Each other member. One that was not started yet has neither name nor addresses."""
        response = self.post(MEMBERS)
        this = _responder_id(response)
        return [entry for entry in response.get("members") or [] if entry.get("ID") != this]

    def status(self, urls: t.Sequence[str], member: str) -> Json | None:
        """The status of a member at these addresses; None when it does not respond. A response of another member
        does not count."""
        for url in urls:
            with contextlib.suppress(EtcdError):
                response = self.post(STATUS, url=url)
                if _responder_id(response) == member:
                    return response
        return None

    def move_leadership(self) -> str:
        """Have another voting member that responds lead the cluster, where this one does. Returns its name, empty where nothing was moved."""
        response = self.post(STATUS)
        if leader_of(response) != _responder_id(response):
            return ""
        voters = (entry for entry in self.list_others() if not entry.get("isLearner"))
        successor = next((each for each in voters if self.status(each.get("clientURLs") or [], str(each["ID"]))), None)
        if successor is None:
            return ""
        self.post(MOVE_LEADER, {"targetID": str(successor["ID"])})
        return member_name(successor)

    def revision(self, urls: t.Sequence[str], member: str) -> int | None:
        """The revision that a member with these addresses has reached; None when it does not respond."""
        status = self.status(urls, member)
        return None if status is None else revision_of(status)


def _to_base64(value: str) -> str:
    return base64.b64encode(value.encode("utf-8")).decode("ascii")


def _to_int(value: t.Any) -> int:
    """Numbers of 64 bits are texts in etcd's JSON, and omitted when they are 0."""
    try:
        return int(value or 0)
    except (TypeError, ValueError):
        return 0


def _responder_id(response: Json) -> str:
    """The ID of the member that responds."""
    return str((response.get("header") or {}).get("member_id"))


def leader_of(status: Json) -> str:
    """The ID of the leader in the status of a member; C(0) while there is none."""
    return str(status.get("leader") or 0)


def member_name(entry: Json) -> str:
    """The name of a member in the list; its ID when it was not started yet."""
    return entry.get("name") or str(entry.get("ID"))


def revision_of(response: Json) -> int:
    """The revision of the store in a response."""
    return _to_int((response.get("header") or {}).get("revision"))


def _error_message(body: bytes) -> str:
    try:
        message = json.loads(body).get("message")
    except (ValueError, AttributeError):
        return ""
    return f" ({message})" if message else ""


# ---- the proof -------------------------------------------------------------------------------------------------------


class EtcdMember(t.NamedTuple):
    """The member of a journal; of another component nothing is requested."""

    journal: Journal
    watch: StaticPodWatch
    clock: t.Callable[[], float]
    sleep: t.Callable[[float], None]

    def read_previous_state(self) -> PreviousState:
        """What it could do before the change: what it could not do then is no part of the proof."""
        if not all("etcd" in self.watch[side] for side in SIDES):
            return {}
        state: EtcdPreviousState = {"writes": None, "revision": None, "alarms": None, "members": None}
        try:
            state["revision"] = self._write("before")
            state["writes"] = True
        except EtcdError as exc:
            # That there is no leader for a moment is no property of the member.
            state["writes"] = None if exc.status is None or exc.status == 503 else False
            add_note(self.journal, f"before the change etcd accepted no write through this member: {exc}")
        unverified = []
        try:
            # Behind the write: an alarm that this one raised is none of the change.
            cluster = EtcdCluster(self.watch["before"]["etcd"])
            state["alarms"] = cluster.alarms()
            state["members"] = sorted(str(entry.get("ID")) for entry in cluster.members())
        except EtcdError as exc:
            unverified.append(f"whether it is in the same cluster as before: it did not list its members then ({exc})")
        return {"etcd": state, "unverified": unverified}

    def move_leadership(self) -> None:
        """Have another member lead before this one stops. Its cluster elects one otherwise, and takes no writes meanwhile."""
        if "etcd" not in self.watch["before"]:
            return
        try:
            successor = EtcdCluster(self.watch["before"]["etcd"]).move_leadership()
        except EtcdError as exc:
            add_note(self.journal, f"the leadership of etcd could not be moved before the change: {exc}")
            return
        add_note(
            self.journal, f"the leadership of etcd was moved to {successor} before the change" if successor else ""
        )

    def verify(self) -> str | None:
        """Why the changed member is not verified; None when it is."""
        former = self.journal["before"].get("etcd")
        if former is None:
            return None
        proof: EtcdProof = {"revision": 0, "members": [], "unreachable": [], "alarms": []}
        failure = (
            self._check_cluster(former)
            or self._check_write(former, proof)
            or self._check_alarms(former, proof)
            or self._check_revisions(proof)
        )
        if failure is None:
            self.journal["etcd"] = proof
        return failure

    def _check_cluster(self, former: EtcdPreviousState) -> str | None:
        """A member that makes a cluster of its own takes writes, has no alarm, and no member is behind it."""
        known = former.get("members")
        if not known:
            return None
        try:
            found = {str(entry.get("ID")) for entry in EtcdCluster(self.watch["after"]["etcd"]).members()}
        except EtcdError as exc:
            return f"etcd does not list its members: {exc}"
        gone = [member for member in known if member not in found]
        return f"etcd is another cluster than before: member {', '.join(gone)} is not in it" if gone else None

    def _write(self, side: Side) -> int:
        """A write may meet an election, so it is tried again for a moment."""
        limit = self.clock() + TRANSIENT_TIMEOUT
        while True:
            try:
                return EtcdCluster(self.watch[side]["etcd"]).write_proof(self.journal["id"])
            except EtcdError:
                if self.clock() >= limit:
                    raise
            self.sleep(POLL_SECONDS)

    def _check_write(self, former: EtcdPreviousState, proof: EtcdProof) -> str | None:
        try:
            proof["revision"] = self._write("after")
        except EtcdError as exc:
            failure = f"etcd accepts no write through the changed member: {exc}"
            # What was full before is not filled by the change. Of a member that was down nothing is known.
            if former["writes"] is False or (former["writes"] is None and self._has_alarm()):
                add_unverified(self.journal, f"whether this member takes writes: {exc}, as before the change")
                return None
            return failure
        known = former.get("revision") or 0
        if proof["revision"] < known:
            return f"etcd has other data than before: it is at revision {proof['revision']}, and was at {known}"
        return None

    def _has_alarm(self) -> bool:
        try:
            return bool(EtcdCluster(self.watch["after"]["etcd"]).alarms())
        except EtcdError:
            return False

    def _check_alarms(self, former: EtcdPreviousState, proof: EtcdProof) -> str | None:
        """An alarm that the write raised stands by now. One stays until it is disarmed, also where the change is rolled back."""
        try:
            proof["alarms"] = EtcdCluster(self.watch["after"]["etcd"]).alarms()
        except EtcdError as exc:
            return f"etcd does not list its alarms: {exc}"
        if former["alarms"] is None:
            if proof["alarms"]:
                alarms = ", ".join(proof["alarms"])
                add_unverified(
                    self.journal, f"whether the change causes the alarm {alarms}: the alarms before it are not known"
                )
            return None
        new = [alarm for alarm in proof["alarms"] if alarm not in former["alarms"]]
        if not new:
            return None
        return f"etcd has the alarm {', '.join(new)} since the change; it stays until etcdctl alarm disarm"

    def _check_revisions(self, proof: EtcdProof) -> str | None:
        """Whether every other member that can be reached has what was written through this one."""
        limit = self.clock() + TRANSIENT_TIMEOUT
        while True:
            try:
                cluster = EtcdCluster(self.watch["after"]["etcd"])
                others = cluster.list_others()
                names = {str(entry["ID"]): member_name(entry) for entry in others}
                revisions = {
                    each: cluster.revision(entry.get("clientURLs") or [], each) for each, entry in zip(names, others)
                }
            except EtcdError as exc:
                return f"etcd does not list its members: {exc}"
            behind = {names[each]: at for each, at in revisions.items() if at is not None and at < proof["revision"]}
            if not behind or self.clock() >= limit:
                break
            self.sleep(POLL_SECONDS)
        proof["members"] = sorted(names[each] for each, at in revisions.items() if at is not None)
        proof["unreachable"] = sorted(names[each] for each, at in revisions.items() if at is None)
        for name in proof["unreachable"]:
            add_unverified(
                self.journal, f"whether member {name} has reached revision {proof['revision']}: it did not answer"
            )
        positions = ", ".join(f"{name} is at {at}" for name, at in sorted(behind.items()))
        return f"not all members of etcd have reached revision {proof['revision']}: {positions}" if behind else None

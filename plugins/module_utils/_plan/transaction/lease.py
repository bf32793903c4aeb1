# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A Lease that lets one run at a time change a control plane, or kubelets: what there is to do about it as it stands.

Times are seconds since 1970 by the clock of the API server, of which every holder has the same one.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import typing as t

from ..common.errors import KubeadmError, Refusal
from ..common.times import format_micro_time, parse_time

Json = dict[str, t.Any]

LEASE_NAME = "nodecraft-kubeadm-control-plane"
LEASE_NAMESPACE = "kube-system"
WAIT_TIMEOUT = 600  # seconds for which another run is waited for, unless a task sets another timeout
HALTED = "nodecraft.kubeadm/halted"
MISSING_PROOFS = "nodecraft.kubeadm/missing-proofs"
LAST_HOLDER = "nodecraft.kubeadm/last-holder"

_TAKEOVER = "control_plane_lease_takeover or node_kubelet_lease_takeover"
_MARGIN = 5.0  # seconds by which the clocks of several API servers, and the whole seconds of their times, may differ
_LONGEST_REASON = 500  # characters; an annotation is no log
# The digest of a desired state, which may hold secrets, stands where others read it. A password that is the only unknown part of a value
# can be guessed from a plain checksum at millions of attempts a second. Every run of every controller has to get the same digest, so there
# is no key that others do not know: each attempt is made expensive instead.
_SALT = b"nodecraft.kubeadm"
_ITERATIONS = 100_000


@dataclasses.dataclass(frozen=True)
class Halt:
    """The mark of a rollout that failed. intent: digest of the desired state of the node. by: the holder. at: when, UTC."""

    node: str
    reason: str
    intent: str
    by: str = ""
    at: str = ""


def slow_digest(value: t.Any) -> str:
    """The digest by which a desired state is known again: the same for equal values, in hexadecimal digits, after some hundredths of a second.

    value: what JSON can represent; other values count as their text.
    """
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.pbkdf2_hmac("sha256", text.encode(), _SALT, _ITERATIONS).hex()


@dataclasses.dataclass(frozen=True)
class Lease:
    """The Lease as it was read. name: its own. holder: empty when it is not held. renewed: None when its holder never renewed it."""

    holder: str
    last_holder: str
    duration: float
    renewed: float | None
    halt: Halt | None
    name: str = LEASE_NAME

    def left(self, now: float) -> float:
        """Seconds until it expires; not above 0 when it did. One that was never renewed, such as one made manually, never does."""
        return float("inf") if self.renewed is None else self.renewed + self.duration - now


@dataclasses.dataclass(frozen=True)
class LeaseRequest:
    """A run's request for the Lease.

    name: of the Lease. holder: the run. duration: seconds for which it needs it. intents: digests of what it desires of the nodes.
    open_transactions: changes that nodes still have open, as text. plan_age: seconds since it planned.
    proofs: by an elected component that the run has changed, the changed C(nodes) and the C(leader) behind whom that is not proven; None where it is.
    gone: a holder that is known to have ended. takeover, resume: a human confirms that another holder is gone, and that a halted intent may be tried again.
    """

    holder: str
    duration: int
    name: str = LEASE_NAME
    intents: tuple[str, ...] = ()
    open_transactions: tuple[str, ...] = ()
    plan_age: float = 0.0
    proofs: t.Mapping[str, t.Mapping[str, t.Any] | None] = dataclasses.field(default_factory=dict)
    gone: str = ""
    takeover: bool = False
    resume: bool = False


@dataclasses.dataclass(frozen=True)
class LeasePlan:
    """What to do. body: the Lease to write; None when nothing is to be written now.

    wait: seconds until the present holder's time is over; 0.0 when there is nothing to wait for.
    stale: whether another run may have changed the control plane since the caller planned.
    taken_over_from: the holder whose Lease it was; empty when it was free or ours.
    """

    body: Json | None
    operations: tuple[Json, ...] = ()
    warnings: tuple[str, ...] = ()
    wait: float = 0.0
    stale: bool = False
    taken_over_from: str = ""


# ---- reading -----------------------------------------------------------------------------------------------------------


def parse(found: Json | None, name: str = LEASE_NAME) -> Lease:
    """Read a Lease; one that does not exist is free. Raises KubeadmError when another client made it unreadable."""
    if found is None:
        return Lease(holder="", last_holder="", duration=0.0, renewed=None, halt=None, name=name)
    spec, annotations = found.get("spec") or {}, _annotations_of(found)
    return Lease(
        holder=spec.get("holderIdentity") or "",
        last_holder=annotations.get(LAST_HOLDER, ""),
        duration=float(spec.get("leaseDurationSeconds") or 0),
        renewed=_parse_renew_time(spec.get("renewTime"), name),
        halt=_parse_halt(annotations.get(HALTED), name),
        name=name,
    )


def _parse_halt(text: str | None, name: str) -> Halt | None:
    if text is None:
        return None
    try:
        return Halt(**json.loads(text))
    except (ValueError, TypeError, AttributeError) as exc:
        raise KubeadmError(
            f"the annotation {HALTED} of the Lease {LEASE_NAMESPACE}/{name} cannot be read ({exc}). A rollout failed, and its mark was"
            f" changed. Check that the control plane is healthy, then remove it: kubectl -n {LEASE_NAMESPACE} annotate lease {name} {HALTED}-"
        ) from exc


def _annotations_of(lease: Json) -> dict[str, str]:
    return lease["metadata"].get("annotations") or {}


def parse_missing_proofs(found: Json | None) -> dict[str, Json]:
    """What a Lease keeps of changes that no instance which leads has proven, by component: C(nodes), C(leader), C(by) and C(at). Nothing of one that
    another client has changed, as it stops nothing."""
    try:
        marks = json.loads(_annotations_of(found).get(MISSING_PROOFS, "{}")) if found else {}
    except (ValueError, TypeError, AttributeError):
        return {}
    return {name: mark for name, mark in marks.items() if isinstance(mark, dict)} if isinstance(marks, dict) else {}


def _parse_renew_time(text: str | None, name: str) -> float | None:
    """A time of the Lease."""
    if not text:
        return None
    try:
        return parse_time(text)
    except ValueError as exc:
        raise KubeadmError(
            f"the Lease {LEASE_NAMESPACE}/{name} has the time {text!r}, which is not in the format of Kubernetes."
        ) from exc


# ---- planning ----------------------------------------------------------------------------------------------------------


def acquire(found: Json | None, request: LeaseRequest, now: float) -> LeasePlan:
    """Take the Lease, renew it, or wait for it. Raises Refusal when its mark, or an open change, stands in the way."""
    lease = parse(found, request.name)
    if lease.holder == request.holder:
        return LeasePlan(_acquired_body(found, request, now), operations=_operations(lease, holder=request.holder))
    _refuse_halted(lease, request)
    # A run that ended at the very moment of our plan changed something that it may not show.
    stale = lease.last_holder not in ("", request.holder) and _renewal_age(lease, now) <= request.plan_age + _MARGIN
    if lease.holder and not request.takeover:
        if lease.left(now) > 0 and lease.holder != request.gone:
            return LeasePlan(
                None,
                _operations(lease, holder=request.holder),
                (_holder_text(lease, now),),
                lease.left(now),
                stale=True,
            )
        _refuse_open_transactions(lease, request, now)
    return LeasePlan(
        _acquired_body(found, request, now),
        _operations(lease, holder=request.holder),
        stale=stale or bool(lease.holder),
        taken_over_from=lease.holder,
    )


def release(found: Json | None, request: LeaseRequest, now: float, *, completed: bool) -> LeasePlan:
    """Release the Lease. completed: the rollout came to its end, so that the mark of a former one has no meaning any more."""
    lease = parse(found, request.name)
    if lease.holder != request.holder:
        return LeasePlan(None, warnings=_loss_warnings(lease, now))
    halt = None if completed else lease.halt
    return LeasePlan(_released_body(found, request, now, halt), _operations(lease, holder="", halt=halt))


def halt(found: Json | None, request: LeaseRequest, now: float, mark: Halt) -> LeasePlan:
    """Release the Lease and leave the mark of a rollout that failed."""
    lease = parse(found, request.name)
    if lease.holder not in ("", request.holder):
        return LeasePlan(None, warnings=_loss_warnings(lease, now))
    mark = dataclasses.replace(mark, reason=mark.reason[:_LONGEST_REASON], by=request.holder, at=format_micro_time(now))
    if not lease.holder and lease.halt and dataclasses.replace(lease.halt, at=mark.at) == mark:
        return LeasePlan(None)  # written already, and the response was lost
    return LeasePlan(_released_body(found, request, now, mark), _operations(lease, holder="", halt=mark))


def timeout_message(found: Json | None, name: str, now: float, waited: float) -> str:
    """The error of a run that waited in vain for the Lease of this name."""
    lease = parse(found, name)
    return (
        f"waited {waited:.0f} s, and {_holder_text(lease, now)} Run again when it is done. When you know that it is dead, set"
        f" takeover: true (in the roles: {_TAKEOVER})."
    )


def _refuse_halted(lease: Lease, request: LeaseRequest) -> None:
    mark = lease.halt
    if mark and mark.intent in request.intents and not request.resume:
        raise Refusal(
            f"a rollout of the same desired state failed on {mark.node} at {mark.at} (run of {mark.by}): {mark.reason.rstrip('.')}."
            " Change the desired state, or repair the cause and set resume: true (in the roles: control_plane_resume or"
            " node_kubelet_resume)."
        )


def _refuse_open_transactions(lease: Lease, request: LeaseRequest, now: float) -> None:
    if request.open_transactions:
        raise Refusal(
            f"{_describe_lease(lease, now)}, and its run left changes open: {', '.join(request.open_transactions)}. Run again when they"
            " have ended, which nodes do by themselves. When you know that this run is dead, set takeover: true (in the"
            f" roles: {_TAKEOVER})."
        )


def _loss_warnings(lease: Lease, now: float) -> tuple[str, ...]:
    return (f"the Lease was lost: {_holder_text(lease, now)}",) if lease.holder else ()


def _holder_text(lease: Lease, now: float) -> str:
    return f"the run {lease.holder} is in progress: {_describe_lease(lease, now)}."


def _describe_lease(lease: Lease, now: float) -> str:
    name = f"the Lease {LEASE_NAMESPACE}/{lease.name}"
    if lease.renewed is None:
        return f"{name} has a holder and no renewTime, so it never expires"
    left = lease.left(now)
    ending = f"expires in {left:.0f} s" if left > 0 else f"expired {-left:.0f} s ago"
    ago = _renewal_age(lease, now)
    renewed = (
        f"was renewed {ago:.0f} s ago" if ago >= 0 else f"has a renewTime {-ago:.0f} s ahead of the API server's clock"
    )
    return f"{name} {renewed} and {ending}"


def _renewal_age(lease: Lease, now: float) -> float:
    return float("inf") if lease.renewed is None else now - lease.renewed


def _operations(lease: Lease, *, holder: str, halt: Halt | None = None) -> tuple[Json, ...]:
    """What changes, in the form of all modules. A renewal changes nothing else than its time."""
    found: list[Json] = [
        {"field": "lease", "key": "holderIdentity", "before": lease.holder or None, "after": holder or None}
    ]
    if not holder and lease.halt != halt:
        found.append({"field": "lease", "key": "halted", "before": _halt_value(lease.halt), "after": _halt_value(halt)})
    return tuple(found)


def _halt_value(mark: Halt | None) -> Json | None:
    return dataclasses.asdict(mark) if mark else None


# ---- writing -----------------------------------------------------------------------------------------------------------


def _acquired_body(found: Json | None, request: LeaseRequest, now: float) -> Json:
    """The Lease as ours; what others wrote into it stays."""
    body, spec = _copy_body(found, request.name)
    if spec.get("holderIdentity") != request.holder:
        spec["acquireTime"] = format_micro_time(now)
        spec["leaseTransitions"] = spec.get("leaseTransitions", -1) + 1
    spec.update(holderIdentity=request.holder, leaseDurationSeconds=request.duration, renewTime=format_micro_time(now))
    body["metadata"]["annotations"][LAST_HOLDER] = request.holder
    return body


def _released_body(found: Json | None, request: LeaseRequest, now: float, mark: Halt | None) -> Json:
    body, spec = _copy_body(found, request.name)
    spec.setdefault("leaseDurationSeconds", request.duration)
    spec.update(holderIdentity="", renewTime=format_micro_time(now))
    annotations = body["metadata"]["annotations"]
    annotations[LAST_HOLDER] = request.holder
    own = {"by": request.holder, "at": format_micro_time(now)}
    proofs = {name: each and {**each, **own} for name, each in request.proofs.items()}
    missing_proofs = {name: each for name, each in {**parse_missing_proofs(found), **proofs}.items() if each}
    for key, value in ((HALTED, mark and dataclasses.asdict(mark)), (MISSING_PROOFS, missing_proofs)):
        annotations.pop(key, None)
        if value:
            annotations[key] = json.dumps(value, sort_keys=True)
    return body


def _copy_body(found: Json | None, name: str) -> tuple[Json, Json]:
    body: Json = copy.deepcopy(found) if found else {"metadata": {"name": name, "namespace": LEASE_NAMESPACE}}
    body.update(apiVersion="coordination.k8s.io/v1", kind="Lease")
    body["metadata"]["annotations"] = _annotations_of(body)
    body["spec"] = body.get("spec") or {}
    return body, body["spec"]

# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a transaction ends, and what that means for its task. The outcomes are those of the engine, which has its own: nothing else is packed with it."""

from __future__ import annotations

import dataclasses
import typing as t

from ..common import typed

COMMITTED, ROLLED_BACK, ABORTED, UNHEALTHY, ALARM = "committed", "rolled_back", "aborted", "unhealthy", "alarm"
CONFIRMING, OBSERVING = (
    "confirming",
    "observing",
)  # the phases that wait for a confirmation, and for what a run observes
# How the reason of a rollback begins that only the use of a component has shown.
LOST = "what worked before does not: "
STANDING = (COMMITTED, UNHEALTHY)  # the change stays on the node

_ENDINGS = {
    ROLLED_BACK: "the change was rolled back and the former state is verified",
    ABORTED: "nothing was changed",
    UNHEALTHY: "the change was left in place, because rollback is off",
    ALARM: "the node needs manual repair",
}


@dataclasses.dataclass(frozen=True)
class Leader:
    """Who led an elected component behind a change of it. is_own: whether that is this node. is_changed: whether it has the same settings. is_proof: whether
    all of a canary worked under it, too."""

    node: str = ""
    is_own: bool = False
    is_changed: bool = False
    is_proof: bool = False

    @property
    def unverified(self) -> str:
        """What the change does not prove where another one leads, without the reason behind it."""
        return f"whether the cluster works: {self.node} leads"


@dataclasses.dataclass(frozen=True)
class Proof:
    """What was verified on the running process. uid: of the pod, or the unit's start. leader: None where none is elected, or nothing was observed.
    acting_seconds: from the first failed probe until a Deployment had its pod."""

    pid: int = 0
    uid: str = ""
    unverified: t.Sequence[str] = ()
    leader: Leader | None = typed.field_of(Leader)
    acting_seconds: float | None = None


@dataclasses.dataclass(frozen=True)
class Transaction:
    """A transaction as the node reports it. outcome: empty while its end was not seen. ended: when, UTC. Times are in seconds; None where not
    measured. healthy: whether the component was in the end; None where that was not checked. log: its last lines."""

    id: str = ""
    outcome: str = ""
    phase: str = ""
    reason: str = ""
    ended: str = ""
    seconds: float | None = None
    outage_seconds: float | None = None
    healthy: bool | None = None
    proof: Proof | None = typed.field_of(Proof)
    log: t.Sequence[str] = ()
    notes: t.Sequence[str] = ()

    @property
    def leader(self) -> Leader | None:
        """Who led behind the change; None where that is not known."""
        return self.proof.leader if self.proof else None

    @property
    def lost(self) -> str:
        """What worked before the change and did not behind it, so that it was rolled back, well or not; empty for every other outcome."""
        is_lost = self.outcome in (ROLLED_BACK, ALARM) and self.reason.startswith(LOST)
        return self.reason.removeprefix(LOST) if is_lost else ""

    @property
    def unverified(self) -> t.Sequence[str]:
        """What of the state that it left could not be verified, each with the reason: of a change that stands, or of the former state."""
        return self.proof.unverified if self.proof else ()


def to_phrase(outcome: str) -> str:
    """An outcome as part of a sentence."""
    return outcome.replace("_", " ")


def failure_message(name: str, node: str, transaction: t.Mapping[str, t.Any]) -> str | None:
    """Why a task failed, with the component's own error; None when the change was committed."""
    ended = typed.parse(Transaction, transaction)
    if ended.outcome == COMMITTED:
        return None
    ending = _ENDINGS[ended.outcome]
    if ended.outcome == ROLLED_BACK and not ended.healthy:
        ending = "the change was rolled back, and the component is as unhealthy as it was before"
    elif ended.outcome == ROLLED_BACK and ended.unverified:
        ending = f"the change was rolled back, but of the former state it is not verified {'; '.join(ended.unverified)}"
    if ended.outcome == ALARM:
        shows = "kubelet_info" if name == "kubelet" else "static_pod_info"
        ending = f"{ending}, {shows} shows what runs and what the files say"
    # A healthy process logs nothing of what was lost.
    logged = f" {name} logged last: {_error_line(ended.log)}" if ended.log and not ended.lost else ""
    return f"{name} on {node}: {ended.reason}; {ending} (transaction {ended.id}).{logged}"


def unhealthy_message(
    name: str,
    node: str,
    state_phrase: str,
    probes: t.Sequence[str],
    log: t.Sequence[str],
    last: t.Mapping[str, t.Any] | None,
) -> str:
    """Why a task that has nothing to change failed: the component does not run as its manifest has it, or is not ready."""
    results = f" ({'; '.join(probes)})" if probes else ""
    logged = f" {name} logged last: {_error_line(log)}." if log else ""
    ended = typed.parse(Transaction, last or {})
    former = (
        f" Its last transaction, {ended.id}, ended {to_phrase(ended.outcome)}: {ended.reason}." if ended.reason else ""
    )
    return (
        f"{name} on {node}: there is nothing to change, but it {state_phrase}{results}.{logged}{former}"
        " Set what repairs it, or repair its files."
    )


def down_message(name: str, node: str, state_phrase: str, probes: t.Sequence[str], log: t.Sequence[str]) -> str:
    """What is wrong with a component that does not work, with its own error."""
    results = f" ({'; '.join(probes)})" if probes else ""
    logged = f"; it logged last: {_error_line(log)}" if log else ""
    return f"{name} on {node} {state_phrase}{results}{logged}"


def kubelet_needed_message(problem: str) -> str:
    """Why a static pod is not changed where no kubelet would start it. problem: of down_message()."""
    return (
        f"{problem.rstrip('.')}. Nothing was changed, because no kubelet would start the changed component. When a setting of this collection"
        " keeps the kubelet down, the role node_kubelet repairs it, and so does site, which begins with it; otherwise check"
        " journalctl -u kubelet."
    )


def repair_message(problem: str) -> str:
    """The warning about a change of a kubelet that does not work now. problem: of down_message()."""
    return f"{problem.rstrip('.')}. The change is tried anyway: it may be what repairs that."


def unread_node_message(node: str, problem: str) -> str:
    """What is not known of a node whose kubelet has a credential that cannot be used here. problem: why, with its file."""
    return (
        f"{node}: {problem}. So the API is not asked about this node: whether its Node makes it a control plane is not known, and what"
        " becomes of its Node is not verified."
    )


def _error_line(log: t.Sequence[str]) -> str:
    """The line of a log that most likely has the reason why a component ended."""
    for marker in ("command failed", "panic:", "Error:", "unknown flag", "invalid argument"):
        for line in reversed(log):
            if marker in line:
                return line.strip()
    errors = [line for line in log if line[:1] in ("E", "F")]
    return (errors or list(log))[-1].strip()


def report_message(name: str, node: str, transaction: t.Mapping[str, t.Any]) -> str:
    """The message about a transaction that no run followed."""
    ended = typed.parse(Transaction, transaction)
    ending = (
        failure_message(name, node, transaction)
        or f"{name} on {node}: transaction {ended.id} of an earlier run, which was not followed to its end, was committed at {ended.ended}."
    )
    sentences = [ending, *(f"Not verified: {what}." for what in ended.unverified)]
    return " ".join([*sentences, *(f"Note: {note}." for note in ended.notes)])


def unverified_warning(name: str, node: str, what: str) -> str:
    """The warning about what could not be verified of a component. what: an entry of C(Transaction.unverified)."""
    return f"{node}: {name}: not verified: {what}"


def unverifiable_warning(name: str, node: str, what: str) -> str:
    """The warning before a change about what cannot be verified after it. what: as above."""
    return f"{node}: {name}: cannot be verified after this change: {what}"


def lock_wait_message(name: str) -> str:
    """Why a call that waited for another run to end does not go on."""
    return f"the run that kept {name} waiting has ended. A call that waited changes nothing. Run again."


def lock_timeout_message(reason: str, seconds: int) -> str:
    """Why a task failed that only waited. reason: what runs on the node."""
    return f"waited for {seconds} s (lock_timeout), nothing was changed: {reason}"


def has_changed_node(outcome: str) -> bool:
    """Whether the node differs from before."""
    return outcome in (*STANDING, ALARM)


def open_message(name: str, node: str, identifier: str, phase: str) -> str:
    """The message of check mode about a transaction whose engine does not run."""
    return (
        f"{name} on {node}: transaction {identifier} is open in phase {phase} and its engine does not run (it was stopped, or"
        " the node was rebooted). A run without check mode resumes it and ends it before it plans."
    )

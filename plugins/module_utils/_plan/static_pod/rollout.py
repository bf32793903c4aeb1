# Copyright (c) 2026, nodecraft.kubeadm contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role C(control_plane) decides: which nodes are changed in which order, which of them may begin, and what became of each.

Hosts and their results are those of C(_plan/transaction/rollout). The plan is the result of the module C(static_pod_plan), and of the pass:

- look: of a host that has its turn, what each host told of its static pods then. results: each with host, C(static_pods) and msg.
- turn: C(changes), the static pods to change, each with its name and the pass.
- change: the result of a loop over these, with each as C(item).
"""

from __future__ import annotations

import typing as t

from ..kubernetes import clusters, control_plane_nodes
from ..transaction import messages, rollout
from ..transaction.report import owned_settings
from ..transaction.rollout import NOTHING, Hosts, Registers, Result

Pods = t.Mapping[
    str, Result
]  # what is known of static pods, by name, with C(ready), C(problem) and C(open_transaction)

# One host asks for all, so these variables must be the same on all hosts.
SHARED = (
    "control_plane_lease",
    "control_plane_lease_takeover",
    "control_plane_resume",
    "control_plane_api_host",
    "control_plane_persist",
    "control_plane_persist_env",
    "control_plane_persist_feature_gates",
)

_ETCD = "etcd"
_VITAL = control_plane_nodes.COMPONENTS
_OFF = (None, False, "disabled")
# A plan says whether a node is ready; when it is older than this, in seconds, the node is asked again.
_FRESH_SECONDS = 30
_RESULT_KEYS = (
    "changed",
    "failed",
    "msg",
    "node",
    "manifest",
    "operations",
    "left_alone",
    "snapshot",
    "lost",
    "reverts",
    "rehearsal",
    "transaction",
    "unverified",
    "previous_transaction",
    "open_transaction",
)


# ---- before the first write ------------------------------------------------------------------------------------------


def refusal(hosts: Hosts, host: str, reachable: t.Collection[str], batch: t.Collection[str]) -> str:
    """Why the hosts that take part cannot be changed in one run; empty when they can.

    host: the one that tells it. reachable: the hosts that the play still has. batch: those of them that C(serial) lets in now.
    """
    found = (
        rollout.planning_refusal(hosts, reachable)
        or rollout.wrong_names(hosts, "control_plane_node_name")
        or clusters.conflict({each: registers["plan"].get("cluster") for each, registers in hosts.items()})
        or rollout.different_settings(hosts, SHARED)
    )
    if found:
        return f"Nothing was changed on {host}. {found}"
    kept_out = sorted(set(reachable).difference(batch))
    if not kept_out or not turns(hosts):
        return ""
    return (
        f"Nothing was changed on {host}, because serial excludes {', '.join(kept_out)}: whether their API servers and etcds are ready would not"
        " be checked. Remove serial from the play; the role changes one node after the other."
    )


def kubelet_refusal(hosts: Hosts, repaired: t.Collection[str]) -> str:
    """Why nothing is changed while a kubelet does not work: it would not start what is changed, and the next node would be one less. Empty when
    all work. repaired: the hosts whose kubelets this run has changed since everything was planned."""
    found = {host: registers.get("plan", NOTHING).get("kubelet_problem") for host, registers in hosts.items()}
    problems = [str(problem) for host, problem in found.items() if problem and host not in repaired]
    return messages.needs_kubelet("; ".join(problems)) if problems else ""


def order(registers: Registers) -> list[str]:
    """The static pods of a host to change, in this order. A change that an earlier run left open counts: this run ends it.

    etcd is first, because the others use it. These are in the order of the plan when something is switched on, else in the other one.
    """
    plans = _plans(registers)
    changing = [name for name, plan in plans.items() if plan.get("operations") or plan.get("open_transaction")]
    others = [name for name in changing if name != _ETCD]
    after = [each["after"] for name in others for each in plans[name].get("operations", ())]
    switches_on = any(value not in _OFF for value in after)
    return [name for name in changing if name == _ETCD] + (others if switches_on else others[::-1])


def repairs(registers: Registers) -> bool:
    """Whether the plan of a host changes what is down there."""
    return any(name in order(registers) for name in _unready(planned_pods(registers)))


def turns(hosts: Hosts) -> list[str]:
    """The hosts to change, in this order. A repair is first: until then no other node may be changed."""
    changing = [host for host, registers in hosts.items() if order(registers)]
    return sorted(changing, key=lambda host: not repairs(hosts[host]))


def impaired(hosts: Hosts) -> list[str]:
    """The hosts that do not ask the API while others can: what they have to ask is to be repaired."""
    return [host for host, registers in hosts.items() if repairs(registers)]


def cluster(hosts: Hosts) -> dict[str, t.Any]:
    """By what the API is verified to be that of these nodes, as the modules that ask it take it."""
    plans = [registers["plan"] for registers in hosts.values() if registers.get("plan", NOTHING).get("cluster")]
    return {
        "ca_sha256": ",".join(dict.fromkeys(plan["cluster"]["ca_sha256"] for plan in plans)),
        "machine_ids": {plan["node"]: plan["cluster"]["machine_id"] for plan in plans},
    }


def planned_pods(registers: Registers) -> Pods:
    """What the plan knows of the static pods of a host, also of those that are not planned."""
    plan = registers.get("plan", NOTHING)
    return {**plan.get("others", {}), **plan.get("static_pods", {})}


def unknown_readiness(pods: Pods, unreadable: t.Sequence[str]) -> str:
    """Why it is not known whether the API server and the etcd of a host are ready; empty when it is. unreadable: files in its directory of static
    pods that cannot be read: the kubelet starts nothing of such a file either, and stops what it started of it."""
    absent = [name for name in _VITAL if name not in pods]
    return f"{', '.join(unreadable)} cannot be read, and may be {' or '.join(absent)}" if unreadable and absent else ""


def _planned_readiness(registers: Registers) -> Pods | str:
    """What the plan of a host tells of its static pods, or why it does not."""
    pods = planned_pods(registers)
    return unknown_readiness(pods, registers.get("plan", NOTHING).get("unreadable_files", ())) or pods


def open_transactions(hosts: Hosts) -> list[str]:
    """The changes that were open when everything was planned, in words."""
    found = []
    for host, registers in hosts.items():
        for name, pod in planned_pods(registers).items():
            if pod.get("open_transaction"):
                phase = pod["open_transaction"].get("phase") or "its journal cannot be read"
                found.append(f"{name} on {host} ({phase})")
    return found


# ---- a turn ----------------------------------------------------------------------------------------------------------


def is_ready(hosts: Hosts, plan_age: float) -> bool:
    """Whether the first turn may begin by what was planned, so that no node has to be asked again.

    plan_age: seconds since everything was planned.
    """
    return plan_age <= _FRESH_SECONDS and not _blocked_by(
        {host: _planned_readiness(each) for host, each in hosts.items()}
    )


def awaited(registers: Registers, pods: t.Iterable[Result]) -> list[str]:
    """What a turn waits for on a host. pods: of this host, as just read.

    What is to be repaired does not get ready by itself. Others may only need a moment, such as after their own turn.
    """
    repaired = order(registers) if repairs(registers) and state(registers) != "done" else ()
    return [name for name in _unready(_named(pods)) if name not in repaired]


def turn_refusal(hosts: Hosts, host: str, reachable: t.Collection[str], planned: t.Sequence[str]) -> str:
    """Why the turn of a host must not begin; empty when it may, as far as other turns go.

    hosts: those that take part. reachable: the hosts that the play still has. planned: all turns, in their order.
    """
    stopped = stopped_by(hosts, reachable)
    if stopped:
        return f"{host} was not changed, because {', '.join(stopped)} failed or was lost."
    unfinished = [other for other in planned[: planned.index(host)] if state(hosts[other]) != "done"]
    if unfinished:
        return (
            f"{', '.join(unfinished)} is not changed yet, so this play does not keep its hosts in sync: its strategy must be linear. Nothing"
            f" was changed on {host}."
        )
    return ""


def readiness_refusal(hosts: Hosts, host: str) -> str:
    """Why a host must not be changed while others are not ready; empty when it may. Where no node was asked, the plans tell.

    What is down on the host itself and is to be changed may be down: that is what a repair is, and it takes nothing away.
    """
    found = _observed(hosts, host)
    if any(name in order(hosts[host]) for name in _unready(found[host])):
        return ""
    blocked_by = _blocked_by(found)
    if not blocked_by:
        return ""
    return (
        f"{host} was not changed, because not all API servers and etcds are ready, and this change would stop its own: {'; '.join(blocked_by)}."
        " Repair that first; a run that changes what is down may continue."
    )


def _observed(hosts: Hosts, host: str) -> dict[str, Pods | str]:
    """What is known of the static pods of each host before the turn of one; a text for one that could not be asked, which says why."""
    told = hosts[host].get("look", NOTHING).get("results")
    if not told:
        return {each: _planned_readiness(registers) for each, registers in hosts.items()}
    found: dict[str, Pods | str] = dict.fromkeys(hosts, "no answer")
    for result in told:
        pods = result.get("static_pods")
        found[result["host"]] = str(result.get("msg") or "no answer") if pods is None else _named(pods)
    return found


def _blocked_by(observed: t.Mapping[str, Pods | str]) -> list[str]:
    """What is not ready, or is not known, in words."""
    found = []
    for host, pods in observed.items():
        if isinstance(pods, str):
            found.append(f"{host} could not be checked ({pods.rstrip('.')})")
        else:
            found += [f"{name} on {host} {pods[name]['problem']}" for name in _unready(pods)]
    return found


def _named(pods: t.Iterable[Result]) -> Pods:
    return {pod["name"]: pod for pod in pods}


def _unready(pods: Pods | str) -> list[str]:
    """What is vital and not ready; nothing where that is not known."""
    if isinstance(pods, str):
        return []
    return [name for name, pod in pods.items() if name in _VITAL and not pod["ready"]]


# ---- after a turn ----------------------------------------------------------------------------------------------------


def state(registers: Registers) -> str:
    """How far a host is whose turn it was, is or will be.

    waiting: it has not begun. refused: it may not begin. unfinished: it began and has no end. lost: its connection broke. failed. done.
    """
    turn = rollout.of_pass(registers, "turn")
    if not turn:
        return "waiting"
    if turn.get("failed"):
        return "refused"
    found = rollout.changes(registers)
    if any(change.get("unreachable") for change in found):
        return "lost"
    if any(change.get("failed") for change in found):
        return "failed"
    return "done" if len(found) == len(turn["changes"]) else "unfinished"


def is_busy(registers: Registers) -> bool:
    """Whether a host failed only because it waited for another run in vain, which is no failed rollout."""
    found = rollout.changes(registers)
    return bool(found) and bool(found[-1].get("busy"))


def is_gone(registers: Registers) -> bool:
    """Whether the connection to a host broke while it was planned or changed."""
    return any(registers.get(step, NOTHING).get("unreachable") for step in ("plan", "change"))


def stopped_by(hosts: Hosts, reachable: t.Collection[str]) -> list[str]:
    """The hosts that failed or were lost, so that no other one is changed. reachable: the hosts that the play still has."""
    return [
        host
        for host, registers in hosts.items()
        if registers.get("plan", NOTHING).get("failed")
        or state(registers) in ("failed", "lost")
        or host not in reachable
    ]


# ---- the end ---------------------------------------------------------------------------------------------------------


def speaker(hosts: Hosts) -> str:
    """The host that reports for all and releases the Lease: the first one that was not lost; empty without one."""
    return next((host for host, registers in hosts.items() if not is_gone(registers)), "")


def reports(hosts: Hosts, *, dry: bool) -> dict[str, dict[str, dict[str, t.Any]]]:
    """What became of each host that was planned: host -> static pod -> its result. dry: whether nothing was to be changed.

    A static pod whose turn did not come has failed, with C(begun) false and a C(msg) that names who stopped the rollout.
    """
    found = {host: _report(registers) for host, registers in hosts.items()}
    for host, result in ({} if dry else _not_begun(hosts)).items():
        for name in order(hosts[host]):
            found[host][name].update(result)
    return {host: report for host, report in found.items() if report}


def left(reports_by_host: t.Mapping[str, t.Mapping[str, Result]]) -> dict[str, dict[str, bool]]:
    """What decides for each host how to go on: whether it failed, and whether it was begun."""
    return {
        host: {
            "failed": any(result.get("failed") for result in report.values()),
            "begun": all(result.get("begun", True) for result in report.values()),
        }
        for host, report in reports_by_host.items()
    }


def unverified(hosts: Hosts, skipped: t.Sequence[str]) -> list[str]:
    """What could not be verified before API servers and etcds were stopped, of the control planes that the run leaves out.

    skipped: those of the inventory that take no part. The API may not show them as control planes, and then only the inventory names them.
    """
    plans = [registers.get("plan", NOTHING) for registers in hosts.values()]
    known = next(
        (found for plan in plans if (found := (plan.get("kubeadm_config") or NOTHING).get("control_planes"))), ()
    )
    nodes = [plan.get("node") for plan in plans]
    absent = ", ".join(dict.fromkeys([*(name for name in known if name not in nodes), *skipped]))
    return [f"whether API server and etcd of {absent} are ready: this run leaves them out"] if absent else []


def assumed_ready(hosts: Hosts) -> list[tuple[str, str, str]]:
    """What is not known of the API servers and etcds that count as ready for the turns of this run: host, static pod, and what it is."""
    found = {
        (host, name, what): None
        for turn in turns(hosts)
        for host, pods in _observed(hosts, turn).items()
        for name, pod in ({} if isinstance(pods, str) else pods).items()
        for what in pod.get("unverified") or ()
        if name in _VITAL and pod["ready"]
    }
    return list(found)


def beside(hosts: Hosts) -> list[str]:
    """What is wrong with API servers and etcds that the run does not plan, in words."""
    found = []
    for host, registers in hosts.items():
        plan, pods = registers.get("plan", NOTHING), planned_pods(registers)
        if "others" in plan and control_plane_nodes.API_SERVER not in pods and not plan.get("unreadable_files"):
            found.append(f"{host}: there is no manifest of {control_plane_nodes.API_SERVER}, so it does not run there")
        found += [
            f"{host} {name}: it is not ready"
            for name in _VITAL
            if name in plan.get("others", {}) and not pods[name]["ready"]
        ]
    return found


def lost(hosts: Hosts) -> list[str]:
    """The hosts whose change began and has no end that was seen."""
    return [host for host, registers in hosts.items() if state(registers) in ("lost", "unfinished")]


def _report(registers: Registers) -> dict[str, dict[str, t.Any]]:
    """What was changed goes on top of what was planned: of a change whose node is lost, nothing else is known."""
    made = {rollout.item_of(change)["name"]: _ended(change) for change in rollout.changes(registers)}
    return {
        name: {key: value for key, value in {**plan, **made.get(name, {})}.items() if key in _RESULT_KEYS}
        for name, plan in _plans(registers).items()
    }


def _ended(change: Result) -> Result:
    """A lost connection is a failure, too."""
    return {**change, "failed": True} if change.get("unreachable") else change


def _not_begun(hosts: Hosts) -> dict[str, dict[str, t.Any]]:
    """The hosts that had something to change and were not begun, each with what is told of it."""
    waiting = [host for host in turns(hosts) if state(hosts[host]) in ("waiting", "refused")]
    return {host: {**rollout.not_begun(host, ()), "msg": _reason(hosts, host)} for host in waiting}


def _reason(hosts: Hosts, host: str) -> str:
    """Why a host was not begun, in one line: by its own turn, by the node that stopped the rollout, or by what was said of all."""
    own = rollout.of_pass(hosts[host], "turn")
    if own.get("failed"):
        return str(own["msg"])
    stopped = [
        each
        for each, registers in hosts.items()
        if registers.get("plan", NOTHING).get("failed")
        or is_gone(registers)
        or state(registers) in ("refused", "unfinished", "failed", "lost")
    ]
    if stopped:
        return f"{host} was not changed, because {', '.join(stopped)} failed or was lost."
    steps = (rollout.of_pass(registers, step) for registers in hosts.values() for step in ("decide", "admit"))
    return next((str(result["msg"]) for result in steps if result.get("failed")), f"{host} was not changed.")


def _plans(registers: Registers) -> t.Mapping[str, t.Any]:
    return registers.get("plan", NOTHING).get("static_pods") or {}


def variable_of(field: str) -> str:
    """The variable that says all of a field of a static pod."""
    return f"control_plane_{field}" if field in ("feature_gates", "admission_plugins") else "control_plane_components"


def left_alone(reports: t.Mapping[str, t.Mapping[str, Result]]) -> t.Iterator[tuple[str, str, str]]:
    """What is owned and no variable names, as C(report.left_alone) takes it. reports: by host and static pod."""
    for host, pods in reports.items():
        for name, found in pods.items():
            for field, key in owned_settings(found):
                variable, empty = variable_of(field), "[]" if field in ("volumes", "files") else "{}"
                inner = empty if variable.endswith(field) else f"{{{name}: {{{field}: {empty}}}}}"
                yield host, f"{name} {field} {key}", f"{variable}: {inner}"
